"""The wheel, installed into an empty environment outside the checkout, does the main job."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from playbook_db import files
from playbook_db.errors import DatabaseError
from playbook_db.services.sql import read_docs
from playbook_db.store.migrate import migrations_folder
from tests.builders import a_flat_dict

pytestmark = pytest.mark.slow  # starts processes

_ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout."""
    target = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(target), str(_ROOT)]
    subprocess.run(build, check=True, capture_output=True)
    (made,) = target.glob("*.whl")
    return made


@pytest.mark.slow
def test_the_wheel_carries_migrations_hooks_templates_sql_and_its_documentation(wheel: Path) -> None:
    """What is read at run time lies inside the package."""
    names = set(zipfile.ZipFile(wheel).namelist())

    assert {
        "playbook_db/_migrations/env.py",
        "playbook_db/_migrations/versions/0001_first_schema.py",
        "playbook_db/prompts/playbook.txt",
        "playbook_db/store/views.sql",
        "playbook_db/store/triggers.sql",
        "playbook_db/_docs/sql.md",
        "playbook_db/py.typed",
    } <= names
    assert any(name.startswith("playbook_db/_hooks/") for name in names)
    assert not any(name.startswith(("tests/", "benchmarks/")) for name in names)


@pytest.mark.slow
def test_the_installed_wheel_runs_init_import_render_and_export(wheel: Path, tmp_path: Path) -> None:
    """Outside the checkout, with nothing on the path but the environment: its files come from the package."""
    environment = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
    python = environment / "bin" / "python"
    site = next((environment / "lib").glob("python3*/site-packages"))
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(site), str(wheel)]
    subprocess.run(install, check=True, capture_output=True)
    # The dependencies are lent by the environment of this test: the network is not to be asked for them.
    lent = [path for path in sys.path if path.endswith("site-packages")]
    (site / "lent.pth").write_text("\n".join(lent) + "\n")
    project = tmp_path / "project"
    project.mkdir()
    (project / "old.json").write_text(json.dumps(a_flat_dict("use type hints"), indent=2) + "\n")
    settings = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONSAFEPATH": "1"}

    def playbook(*arguments: str) -> str:
        code = "import sys; from playbook_db.cli.main import main; sys.exit(main(sys.argv[1:]))"
        done = subprocess.run(
            [str(python), "-c", code, *arguments], cwd=project, env=settings, capture_output=True, text=True
        )
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    where = "import playbook_db.store.migrate as u; print(u.migrations_folder())"
    found = subprocess.run([str(python), "-c", where], env=settings, cwd=project, capture_output=True, text=True)
    assert found.stdout.strip() == str(site / "playbook_db" / "_migrations")
    described = json.loads(playbook("db", "metadata", "--db", "x.db"))["databases"]["x"]
    assert (len(described["queries"]), "live_key_points" in described["tables"]) == (29, True)
    playbook("init")
    assert "1 added" in playbook("import", "old.json")
    assert "[kpt_001] helpful=0 harmful=0 :: use type hints" in playbook("render")
    assert json.loads(playbook("export"))["sections"]["OTHERS"][0]["name"] == "kpt_001"


def test_an_editable_install_finds_the_repositorys_own_migrations_and_documentation() -> None:
    """There the package's folder has none, and the checkout's serve."""
    assert migrations_folder() == str(_ROOT / "migrations")
    assert read_docs() == (_ROOT / "docs" / "sql.md").read_text(encoding="utf-8")


def test_documentation_of_the_package_comes_first_and_none_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What stands in a folder `docs` beside an installed package is another's."""
    package = tmp_path / "site-packages" / "playbook_db"
    monkeypatch.setattr(files, "_PACKAGE", str(package))
    with pytest.raises(DatabaseError, match=r"lacks docs/sql\.md"):
        read_docs()

    for folder, text in ((package.parent / "docs", "another's"), (package / "_docs", "ours")):
        folder.mkdir(parents=True)
        (folder / "sql.md").write_text(text)
    assert read_docs() == "ours"
