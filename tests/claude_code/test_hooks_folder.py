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


def test_installed_hooks_come_first(package: Path) -> None:
    beside = _add_hooks(package.parent / "hooks")
    assert install.hooks_folder() == beside
    inside = _add_hooks(package / "_hooks")
    assert install.hooks_folder() == inside


def test_missing_hooks_are_an_error(package: Path) -> None:
    (package / "_hooks").mkdir()
    with pytest.raises(InstallError, match="lacks its hooks"):
        install.hooks_folder()
