"""Alembic's own commands, as a developer runs them in a checkout."""

import functools
import io
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from alembic import config
from sqlalchemy.engine import make_url

from playbook_db.services import maintenance
from playbook_db.services.playbook import edit
from playbook_db.services.project import Project
from playbook_db.services.reading import command_reads
from playbook_db.store import migrate
from playbook_db.store.connect import dialect_for
from playbook_db.store.engine import open_store
from playbook_db.store.sqlite_open import SCHEMA
from playbook_db.store.urls import sqlite_path
from tests import postgres
from tests.databases import put_database, put_empty_database

pytestmark = pytest.mark.slow  # some start processes, the others migrate

ROOT = Path(__file__).parents[2]
HEAD = f"{SCHEMA:04d}"


def alembic_process(*arguments: str, cwd: Path = ROOT, code: int = 0) -> str:
    """The output of `python -m alembic` with *arguments*."""
    done = subprocess.run([sys.executable, "-m", "alembic", *arguments], cwd=cwd, text=True, capture_output=True)
    assert done.returncode == code, done.stderr
    return done.stdout + done.stderr


def alembic(*arguments: str, code: int = 0) -> str:
    """The same in this process, which is 20 times as fast."""
    output = io.StringIO()
    ended = 0
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(output), redirect_stderr(output):
        patch.chdir(ROOT)
        patch.setattr(sys, "path", [*sys.path])  # the ini file adds to it
        patch.setattr(config, "Config", functools.partial(config.Config, stdout=output))
        try:
            config.main(list(arguments), prog="alembic")
        except SystemExit as exit_code:
            ended = int(exit_code.code or 0) & 0xFF
    assert ended == code, output.getvalue()
    return output.getvalue()


@pytest.fixture
def default(home: Path) -> Path:
    return home / ".claude" / "playbook" / "playbook.db"


@dataclass(frozen=True)
class Database:
    """A database of either kind, at first without tables."""

    url: str

    def alembic(self, *arguments: str, code: int = 0) -> str:
        return alembic("-x", f"db={self.url}", *arguments, code=code)

    def rows(self, query: str) -> list[Any]:
        """The first column of the answer to *query*."""
        path = sqlite_path(self.url)
        with closing(sqlite3.connect(path) if path else postgres.connected(make_url(self.url))) as shell:
            return [row[0] for row in shell.execute(query).fetchall()]

    def names(self) -> set[str]:
        """Its tables, indexes, views and triggers."""
        schema = "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace"
        triggers = "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal"
        in_file = "SELECT name FROM sqlite_master"
        return set(self.rows(in_file if sqlite_path(self.url) else f"{schema} UNION {triggers}"))

    def version(self) -> tuple[int | None, list[str]]:
        """The schema's number, as a hook and as Alembic read it."""
        with closing(dialect_for(self.url)) as dialect:
            return dialect.schema_version(), self.rows("SELECT version_num FROM alembic_version")

    def fill(self) -> None:
        """Bring it to the newest schema, and add a point."""
        migrate.migrate(self.url)
        with open_store(self.url) as store:
            edit.add(Project(store, "/work/harbour"), "use type hints")


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest, default: Path) -> Database:
    if request.param == "sqlite":
        default.parent.mkdir(parents=True, mode=0o700)
        default.touch()
        return Database(f"sqlite:///{default}")
    return Database(server_database())


def server_database() -> str:
    postgres.require_server()
    return postgres.new_database().render_as_string(hide_password=False)


def state(path: Path) -> dict[str, bytes | None]:
    """The content of each file in the folder of *path*."""
    return {file.name: file.read_bytes() for file in path.parent.iterdir()} if path.parent.is_dir() else {}


@pytest.mark.nightly
def test_upgrade_creates_the_default_database(default: Path) -> None:
    alembic_process("upgrade", "head")

    assert oct(default.stat().st_mode & 0o777) == "0o600"
    assert oct(default.parent.stat().st_mode & 0o777) == "0o700"
    made = Database(f"sqlite:///{default}")
    assert made.version() == (SCHEMA, [HEAD])
    assert {"key_points", "live_key_points", "changes_no_update"} <= made.names()
    with open_store(made.url) as store:
        edit.add(Project(store, "/work/harbour"), "use type hints")


@pytest.mark.parametrize("command", ["current", "check"])
@pytest.mark.parametrize("kind", ["missing", "current"])
def test_reading_commands_change_no_byte(default: Path, kind: str, command: str) -> None:
    """They create no file either."""
    if kind == "current":
        put_empty_database(default)
        with closing(sqlite3.connect(default)) as connection:
            connection.execute("CREATE VIEW mine AS SELECT 1")  # which remaking all views would drop
    before = state(default)
    is_behind = command == "check" and kind == "missing"

    output = alembic(command, code=255 if is_behind else 0)

    assert state(default) == before
    assert ("Target database is not up to date." in output) == is_behind
    if kind == "current":
        assert (f"{HEAD} (head)" if command == "current" else "No new upgrade operations detected.") in output


def test_reading_commands_leave_a_server_as_it_is() -> None:
    server = Database(server_database())
    assert server.alembic("current") == ""
    assert "FAILED: Target database is not up to date." in server.alembic("check", code=255)
    assert "alembic_version" not in server.names()
    server.fill()
    before = server.names()

    output = "".join(server.alembic(command) for command in ("current", "check", "history"))

    assert f"{HEAD} (head)" in output
    assert "No new upgrade operations detected." in output
    assert server.names() == before


def test_stamp_writes_the_version(database: Database) -> None:
    """Each place that holds the version gets it."""
    migrate.migrate(database.url)
    before = database.names()

    database.alembic("stamp", "base")
    assert database.version() == (0, [])
    database.alembic("stamp", "head")

    assert database.version() == (SCHEMA, [HEAD])
    assert database.names() == before


def test_upgrade_goes_step_by_step(database: Database) -> None:
    """The last migration creates views and triggers."""
    for number in range(1, SCHEMA + 1):
        assert "live_key_points" not in database.names()
        database.alembic("upgrade", "+1")
        assert database.version() == (number, [f"{number:04d}"])

    assert "live_key_points" in database.names()
    assert maintenance.check_database(database.url).problems == ()
    assert "No new upgrade operations detected." in database.alembic("check")


def test_file_is_backed_up_before_an_upgrade(default: Path) -> None:
    """A file at the newest schema needs no backup."""
    put_database(default, (ROOT / "tests" / "frozen" / f"{SCHEMA - 1:04d}.db").read_bytes())

    alembic("upgrade", "head")
    alembic("upgrade", "head")

    ((backup, schema),) = command_reads.backups(f"sqlite:///{default}")
    assert backup.kind == f"schema-{SCHEMA - 1:04d}"
    assert schema == SCHEMA - 1


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout of the next schema, whose tables have a column and a table more than the migrations create."""
    made = tmp_path / "checkout"
    for folder in ("playbook_db", "migrations"):
        shutil.copytree(ROOT / folder, made / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "alembic.ini", made)
    number = made / "playbook_db" / "store" / "sqlite_open.py"
    number.write_text(number.read_text().replace(f"SCHEMA = {SCHEMA}", f"SCHEMA = {SCHEMA + 1}"))
    description = made / "playbook_db" / "store" / "tables.py"
    text = description.read_text().replace(
        'sa.Column("forgotten", sa.Integer', 'sa.Column("note", sa.Text),\n    sa.Column("forgotten", sa.Integer'
    )
    description.write_text(f'{text}\nlabels = table("labels", sa.Column("name", sa.Text, primary_key=True))\n')
    return made


@pytest.mark.nightly
def test_autogenerate_writes_the_next_migration(checkout: Path, database: Database) -> None:
    """The migration adds what is missing, and keeps all points."""
    database.fill()
    of_database = functools.partial(alembic_process, "-x", f"db={database.url}", cwd=checkout)

    assert "FAILED: New upgrade operations detected" in of_database("check", code=255)
    of_database("revision", "--autogenerate", "--rev-id", f"{SCHEMA + 1:04d}", "-m", "Labels and a note")
    made = checkout / "migrations" / "versions" / f"{SCHEMA + 1:04d}_labels_and_a_note.py"
    of_database("upgrade", "+1")

    assert f'down_revision = "{HEAD}"' in made.read_text().replace("'", '"')
    assert "drop_" not in made.read_text().partition("def downgrade")[0]
    assert database.version() == (SCHEMA + 1, [f"{SCHEMA + 1:04d}"])
    assert {"labels", "live_key_points"} <= database.names()
    assert database.rows("SELECT text FROM key_points WHERE note IS NULL") == ["use type hints"]
    assert "No new upgrade operations detected." in of_database("check")
