"""Alembic's own commands, as a developer runs them in a checkout."""

import functools
import io
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing, redirect_stderr, redirect_stdout
from pathlib import Path

import pytest
from alembic import config

from playbook_db.services import edit
from playbook_db.services.projects import Project
from playbook_db.store.engine import open_store
from playbook_db.store.hook_queries import SCHEMA
from tests.databases import put_empty_database

pytestmark = pytest.mark.slow  # some start processes, the others migrate

ROOT = Path(__file__).parents[2]
HEAD = f"{SCHEMA:04d}"
READING = ["current", "check", "history", "heads"]


def alembic_process(*arguments: str, cwd: Path = ROOT, code: int = 0) -> str:
    """What `python -m alembic` says to *arguments* in a home of the test's own."""
    done = subprocess.run([sys.executable, "-m", "alembic", *arguments], cwd=cwd, text=True, capture_output=True)
    assert done.returncode == code, done.stderr
    return done.stdout + done.stderr


def alembic(*arguments: str, code: int = 0, **environment: str) -> str:
    """The same without a process, which takes twenty times as long as most commands."""
    said = io.StringIO()
    ended = 0
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(said), redirect_stderr(said):
        patch.chdir(ROOT)
        patch.setattr(sys, "path", [*sys.path])  # the ini file adds to it
        patch.setattr(config, "Config", functools.partial(config.Config, stdout=said))
        for name, value in environment.items():
            patch.setenv(name, value)
        try:
            config.main(list(arguments), prog="alembic")
        except SystemExit as exit_code:
            ended = int(exit_code.code or 0) & 0xFF
    assert ended == code, said.getvalue()
    return said.getvalue()


@pytest.fixture
def default(home: Path) -> Path:
    """Where the user's database is, or would be."""
    return home / ".claude" / "playbook" / "playbook.db"


def tables(path: Path) -> set[str]:
    """What there is in the database."""
    with closing(sqlite3.connect(path)) as connection:
        return {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}


def version(path: Path) -> tuple[int, list[tuple[str]]]:
    """The schema's number, as a hook reads it and as Alembic does."""
    with closing(sqlite3.connect(path)) as connection:
        (number,) = connection.execute("PRAGMA user_version").fetchone()
        return number, connection.execute("SELECT version_num FROM alembic_version").fetchall()


def state(path: Path) -> dict[str, bytes | None]:
    """What stands at *path* and beside it."""
    return {file.name: file.read_bytes() for file in path.parent.iterdir()} if path.parent.is_dir() else {}


def test_upgrade_without_options_makes_the_user_s_database(default: Path) -> None:
    """On a machine that never saw playbook-db; for its owner alone, whole, and usable at once."""
    alembic_process("upgrade", "head")

    assert oct(default.stat().st_mode & 0o777) == "0o600"
    assert oct(default.parent.stat().st_mode & 0o777) == "0o700"
    assert version(default) == (SCHEMA, [(HEAD,)])
    assert {"key_points", "live_key_points", "changes_no_update"} <= tables(default)
    with open_store(f"sqlite:///{default}") as store:
        edit.add(Project(store, "/work/harbour"), "use type hints")


@pytest.mark.parametrize("way", ["-x", "-x path", "ini", "environment"])
def test_another_database_can_be_named(tmp_path: Path, default: Path, way: str) -> None:
    """By an option, in the ini file or by a variable; the user's own is left alone."""
    path = tmp_path / "elsewhere" / "other.db"
    url = f"sqlite:///{path}"
    if way == "ini":
        ini = tmp_path / "other.ini"
        ini.write_text(
            f"[alembic]\nscript_location = {ROOT / 'migrations'}\npath_separator = os\nsqlalchemy.url = {url}\n"
        )
        alembic("-c", str(ini), "upgrade", "head", PLAYBOOK_DB_URL=f"sqlite:///{tmp_path / 'not this.db'}")
    elif way == "environment":
        alembic("upgrade", "head", PLAYBOOK_DB_URL=url)
    else:
        alembic("-x", f"db={url if way == '-x' else path}", "upgrade", "head")

    assert version(path) == (SCHEMA, [(HEAD,)])
    assert oct(path.stat().st_mode & 0o777) == "0o600"
    assert not default.exists()
    assert not (tmp_path / "not this.db").exists()


@pytest.mark.parametrize("command", READING)
@pytest.mark.parametrize("kind", ["missing", "empty", "current"])
def test_commands_that_look_change_no_byte(default: Path, kind: str, command: str) -> None:
    """Nor do they make a file, or leave one beside the database."""
    if kind == "empty":
        default.parent.mkdir(parents=True)
        default.touch()
    elif kind == "current":
        put_empty_database(default)
        with closing(sqlite3.connect(default)) as connection:
            connection.execute("CREATE VIEW mine AS SELECT 1")  # which remaking all views would drop
    before = state(default)

    is_behind = command == "check" and kind in ("missing", "empty")
    said = alembic(*command.split(), code=255 if is_behind else 0)

    assert state(default) == before
    if is_behind:
        assert "FAILED: Target database is not up to date." in said
    elif command == "check":
        assert "No new upgrade operations detected." in said
    if command == "current":
        assert (f"{HEAD} (head)" in said) == (kind == "current")


def test_stamp_writes_the_version_alone(default: Path) -> None:
    """In both places where it is read; tables, views and triggers stay as they are."""
    put_empty_database(default)
    before = tables(default)

    alembic("stamp", "base")
    assert version(default) == (0, [])
    alembic("stamp", "head")

    assert version(default) == (SCHEMA, [(HEAD,)])
    assert tables(default) == before


def test_upgrade_goes_step_by_step(default: Path) -> None:
    """`+1` is the next migration."""
    alembic("upgrade", "+1")

    assert version(default) == (1, [("0001",)])


@pytest.mark.parametrize("target", ["base", "-1"])
def test_downgrade_is_refused_in_one_sentence(default: Path, target: str) -> None:
    """It says why, and what to do instead; nothing is changed."""
    put_empty_database(default)
    with closing(sqlite3.connect(default)) as connection:
        before = list(connection.iterdump())

    said = alembic("downgrade", target, code=255)

    assert said.startswith("FAILED: playbook-db doesn't migrate down")
    assert len(said.splitlines()) == 1
    assert "playbook restore-backup FILE" in said
    with closing(sqlite3.connect(default)) as connection:
        assert list(connection.iterdump()) == before


@pytest.mark.parametrize("command", ["current", "upgrade head", "stamp head"])
def test_the_database_of_another_program_is_refused_in_one_line(default: Path, command: str) -> None:
    """And left as it is."""
    default.parent.mkdir(parents=True)
    with closing(sqlite3.connect(default)) as connection:
        connection.execute("CREATE TABLE moz_places (url)")
    before = default.read_bytes()

    said = alembic(*command.split(), code=255)

    assert said == f"FAILED: {default} is the database of another program. Name another with --db.\n"
    assert default.read_bytes() == before


def test_offline_mode_is_refused_in_one_sentence() -> None:
    """Views, triggers and the version's mirror need a database."""
    said = alembic("upgrade", "head", "--sql", code=255)

    assert said == "FAILED: playbook-db migrates a real database only; run it without --sql.\n"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout in which the tables have a column and a table more than the migrations make."""
    made = tmp_path / "checkout"
    for folder in ("playbook_db", "migrations"):
        shutil.copytree(ROOT / folder, made / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "alembic.ini", made)
    description = made / "playbook_db" / "store" / "tables.py"
    text = description.read_text().replace(
        'Column("forgotten", Integer', 'Column("note", Text),\n    Column("forgotten", Integer'
    )
    description.write_text(f'{text}\nlabels = table("labels", Column("name", Text, primary_key=True))\n')
    return made


def test_autogenerate_gives_the_next_migration_and_it_can_be_applied(checkout: Path, default: Path) -> None:
    """It is numbered in order, holds what is missing, and makes it; the points that are there stay."""
    alembic_process("upgrade", "head", cwd=checkout)
    with open_store(f"sqlite:///{default}") as store:
        edit.add(Project(store, "/work/harbour"), "use type hints")

    assert "FAILED: New upgrade operations detected" in alembic_process("check", cwd=checkout, code=255)
    alembic_process("revision", "--autogenerate", "-m", "Labels and a note", cwd=checkout)
    made = checkout / "migrations" / "versions" / f"{SCHEMA + 1:04d}_labels_and_a_note.py"
    alembic_process("upgrade", "+1", cwd=checkout)

    assert f'down_revision = "{HEAD}"' in made.read_text().replace("'", '"')
    assert version(default) == (SCHEMA + 1, [(f"{SCHEMA + 1:04d}",)])
    assert {"labels", "live_key_points", "changes_no_update"} <= tables(default)
    with closing(sqlite3.connect(default)) as connection:
        assert connection.execute("SELECT text, note FROM key_points").fetchall() == [("use type hints", None)]
    assert "No new upgrade operations detected." in alembic_process("check", cwd=checkout)


def test_a_migration_that_is_written_by_hand_is_numbered_too(checkout: Path, default: Path) -> None:
    """Without a database, and unless it is given an id."""
    alembic_process("revision", "-m", "by hand", cwd=checkout)
    alembic_process("revision", "--rev-id", "0099", "-m", "with an id", cwd=checkout)

    made = sorted(file.name for file in (checkout / "migrations" / "versions").glob("0*.py"))
    assert made[SCHEMA:] == [f"{SCHEMA + 1:04d}_by_hand.py", "0099_with_an_id.py"]
    assert not default.exists()
