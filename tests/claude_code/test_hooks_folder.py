"""Where the hooks are found that an install registers."""

from pathlib import Path

import pytest

from playbook_db import files
from playbook_db.claude_code.setup import install
from playbook_db.errors import InstallError


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a package of ours that has no hooks yet."""
    made = tmp_path / "repository" / "playbook_db"
    made.mkdir(parents=True)
    monkeypatch.setattr(files, "_PACKAGE", str(made))
    return made


def _add_hooks(folder: Path) -> str:
    folder.mkdir()
    (folder / "inject.py").write_text("")
    return str(folder)


def test_the_hooks_are_the_installed_ones_else_those_of_the_repository(package: Path) -> None:
    """A wheel brings them inside the package; an editable install has them beside it."""
    beside = _add_hooks(package.parent / "hooks")
    assert install.hooks_folder() == beside

    inside = _add_hooks(package / "_hooks")
    assert install.hooks_folder() == inside


def test_an_installation_without_hooks_says_so(package: Path) -> None:
    """A folder of that name without our hooks isn't taken for it."""
    (package / "_hooks").mkdir()

    with pytest.raises(InstallError, match="lacks its hooks"):
        install.hooks_folder()
