"""Creating, migrating and refusing databases."""

import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from benchmarks.torture import damage
from playbook_db.domain import prompt_text
from playbook_db.errors import DatabaseError, SchemaError
from playbook_db.services import maintenance
from playbook_db.services.playbook import edit
from playbook_db.services.project import Project
from playbook_db.store import migrate, sqlite_open
from playbook_db.store.engine import open_store
from playbook_db.store.sqlite_open import SCHEMA

Migrate = Callable[[str], str | None]
_FROZEN = Path(__file__).parents[1] / "frozen"
_NEXT = SCHEMA + 1
_NEXT_MIGRATION = """
import sqlalchemy as sa
from alembic import op
revision = "{next:04d}"
down_revision = "{now:04d}"
branch_labels = None
depends_on = None

def upgrade() -> None:
    op.add_column("key_points", sa.Column("note", sa.Text))
    {then}
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A database of our schema with one point."""
    path = tmp_path / "playbook.db"
    with open_store(f"sqlite:///{path}") as store:
        edit.add(Project(store, "/work/harbour"), "use type hints")
    return path


@pytest.fixture
def migration(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Migrate:
    """The code one migration later: write the migration, which ends with a statement, and migrate the database."""
    folder = tmp_path / "migrations"
    shutil.copytree(migrate.migrations_folder(), folder)
    monkeypatch.setattr(migrate, "migrations_folder", lambda: str(folder))
    monkeypatch.setattr(migrate, "SCHEMA", _NEXT)

    def run(statement: str) -> str | None:
        script = _NEXT_MIGRATION.format(next=_NEXT, now=SCHEMA, then=statement)
        (folder / "versions" / f"{_NEXT:04d}_note.py").write_text(script)
        return migrate.ensure_current(f"sqlite:///{path}")

    return run


def _version(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
    return int(version)


def _require_whole(path: Path) -> None:
    """The database has its point, and its triggers."""
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT text FROM live_key_points").fetchall() == [("use type hints",)]
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            connection.execute("DELETE FROM changes")


def test_half_transaction_is_rolled_back(path: Path) -> None:
    """Whoever opens the file first does so, even a backup, which only reads."""
    damage.cut_off_a_write(path)

    backup = maintenance.take(f"sqlite:///{path}").path

    for file in (path, Path(backup)):
        with closing(sqlite3.connect(file)) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            assert not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'half'").fetchall()


def test_older_database_is_upgraded_after_a_backup(path: Path, migration: Migrate) -> None:
    backup = migration("pass")

    assert backup is not None
    assert Path(backup).parent == path.parent / "backups"
    assert Path(backup).name.endswith(f".schema-{SCHEMA:04d}.db")
    assert (_version(path), _version(Path(backup))) == (_NEXT, SCHEMA)
    _require_whole(path)
    _require_whole(Path(backup))


def test_no_backup_no_migration(path: Path, migration: Migrate) -> None:
    (path.parent / "backups").write_text("a file in its place")

    with pytest.raises(DatabaseError, match=r"backups can't be made: File exists"):
        migration("pass")

    assert _version(path) == SCHEMA


def test_failed_migration_changes_nothing(path: Path, migration: Migrate) -> None:
    with pytest.raises(ZeroDivisionError):
        migration("raise ZeroDivisionError")

    assert _version(path) == SCHEMA
    _require_whole(path)
    with closing(sqlite3.connect(path)) as connection:
        assert "note" not in [row[1] for row in connection.execute("PRAGMA table_info(key_points)")]


def test_newer_database_is_refused_and_untouched(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 99")
    before = path.read_bytes()

    with pytest.raises(SchemaError, match=rf"schema 0099.*knows {SCHEMA:04d}.*git pull"):
        open_store(f"sqlite:///{path}")
    with pytest.raises(sqlite_open.UnusableError, match="bring playbook-db up to date"):
        sqlite_open.connect(str(path), wait_s=1)

    assert path.read_bytes() == before


def test_other_file_is_refused_and_untouched(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("dear diary " * 1000)

    with pytest.raises(DatabaseError, match=r"notes.txt is damaged or not an SQLite database .*playbook db repair"):
        open_store(f"sqlite:///{path}")

    assert path.read_text() == "dear diary " * 1000


def test_other_programs_database_is_untouched(tmp_path: Path) -> None:
    path = tmp_path / "firefox.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE bookmarks (url)")
    before = path.read_bytes()

    with pytest.raises(DatabaseError, match="another program"):
        open_store(f"sqlite:///{path}")

    assert path.read_bytes() == before


@pytest.mark.nightly
@pytest.mark.slow
def test_processes_create_one_database_together(tmp_path: Path) -> None:
    path = tmp_path / "playbook.db"
    script = (
        "import sys; from playbook_db.services.playbook import edit; from playbook_db.services.project import Project\n"
        "from playbook_db.store.engine import open_store\n"
        f"with open_store('sqlite:///{path}') as store:\n"
        f"    edit.add(Project.in_folder(store, {str(tmp_path)!r}), sys.argv[1])\n"
    )

    command = [sys.executable, "-c", script]
    running = [subprocess.Popen([*command, f"lesson {number}"], stderr=subprocess.PIPE) for number in range(4)]

    assert [(child.communicate()[1], child.returncode) for child in running] == [(b"", 0)] * 4
    with closing(sqlite3.connect(path)) as connection:
        count = "SELECT count(*), count(DISTINCT name) FROM live_key_points"
        assert connection.execute(count).fetchone() == (4, 4)


def test_each_older_schema_has_a_frozen_database() -> None:
    assert [path.stem for path in sorted(_FROZEN.glob("*.db"))] == [f"{number:04d}" for number in range(1, SCHEMA)]


@pytest.mark.parametrize("schema", range(1, SCHEMA))
def test_each_older_database_keeps_its_points(tmp_path: Path, schema: int) -> None:
    """Its history and costs stay the same, too."""
    path = _frozen(tmp_path, schema)
    points = "SELECT playbook, name, section, text, helpful, harmful FROM live_key_points"
    columns = "playbook, revision, seq, kind, name, section, helpful, harmful, text, reason, actor"
    history = f"SELECT {columns} FROM history ORDER BY playbook, revision, seq"
    costs = "SELECT * FROM cost_by_day"
    with closing(sqlite3.connect(path)) as connection:
        before = [connection.execute(query).fetchall() for query in (points, history, costs)]

    migrate.ensure_current(f"sqlite:///{path}")

    with closing(sqlite3.connect(path)) as connection:
        assert [connection.execute(query).fetchall() for query in (points, history, costs)] == before
    assert len(before[0]) > 20
    with open_store(f"sqlite:///{path}") as store:
        assert maintenance.check(store) == []


def _frozen(tmp_path: Path, schema: int) -> Path:
    """A copy of the database that the code wrote when it had this schema."""
    return Path(shutil.copy(_FROZEN / f"{schema:04d}.db", tmp_path / "playbook.db"))


def test_upgrade_ranks_points_as_new_ones(tmp_path: Path) -> None:
    """Votes stay, and no point rests for what was shown before."""
    path = _frozen(tmp_path, 5)
    ranked = (
        "SELECT k.helpful, k.harmful, max(c.revision), k.rank FROM key_points AS k JOIN changes AS c"
        " ON c.playbook_id = k.playbook_id AND c.point_id = k.id GROUP BY k.playbook_id, k.id"
    )
    with closing(sqlite3.connect(path)) as connection:
        before = connection.execute(ranked).fetchall()

    migrate.ensure_current(f"sqlite:///{path}")

    with closing(sqlite3.connect(path)) as connection:
        after = connection.execute(ranked).fetchall()
        assert connection.execute(
            "SELECT count(*) FROM showing_counts WHERE sessions_at_last_use <> sessions"
        ).fetchone() == (0,)
        assert connection.execute("SELECT count(*) FROM key_points WHERE resting = 1 OR pinned = 1").fetchone() == (0,)
    assert [row[:3] for row in after] == [row[:3] for row in before]
    assert [row[3] for row in after] == pytest.approx([prompt_text.rank(*row[:3]) for row in before])
    assert all(late[3] > early[3] for late, early in zip(after, before, strict=True))


def test_upgrade_renames_trust_of_proposals(tmp_path: Path) -> None:
    path = _frozen(tmp_path, 12)
    evidence = '[{"quote": "q", "place": "p", "trust": "files"}]'
    with closing(sqlite3.connect(path)) as connection, connection:
        ((playbook,),) = connection.execute("SELECT min(id) FROM playbooks")
        for number, trust in enumerate(("user", "tests", "files", "fetched"), 50):
            connection.execute(
                "INSERT INTO proposals (playbook_id, id, kind, operation, evidence, trust, created_at)"
                " VALUES (?, ?, 'ADD', '{}', ?, ?, '2026')",
                (playbook, number, evidence, trust),
            )
        ((key,),) = connection.execute("SELECT key FROM playbooks WHERE id = ?", (playbook,))
    maintenance.upgrade(f"sqlite:///{path}")

    with open_store(f"sqlite:///{path}") as store, store.read(key) as book:
        waiting = book.waiting_proposals()
    assert [each.trust for each in waiting] == ["user", "seen", "seen", "outside"]
    assert {each.evidence[0].trust for each in waiting} == {"seen"}


def test_upgrade_renames_tables_of_showings(tmp_path: Path) -> None:
    path = _frozen(tmp_path, 16)
    renamed = {"injections": "showings", "unsent_injections": "unsent_showings", "showings": "showing_counts"}
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(
            "INSERT INTO unsent_injections VALUES (1, 's', '2026', 'startup', 3, '[1]', 2, 'SubagentStart', '7', 'x')"
        )
        connection.execute("UPDATE showings SET sessions_at_last_use = 1 WHERE (playbook_id, point_id) = (1, 2)")
        before = {new: connection.execute(f"SELECT * FROM {old}").fetchall() for old, new in renamed.items()}

    migrate.ensure_current(f"sqlite:///{path}")

    assert all(before.values())
    with closing(sqlite3.connect(path)) as connection, connection:
        assert {new: connection.execute(f"SELECT * FROM {new}").fetchall() for new in before} == before
        names = " ".join(sql or name for name, sql in connection.execute("SELECT name, sql FROM sqlite_master"))
        assert "injections" not in names
        assert "ck_showing_counts_by_prompt" in names


def test_upgrade_finds_causes_of_retirements(tmp_path: Path) -> None:
    """A reason in a person's own words gives no cause."""
    path = _frozen(tmp_path, 16)
    rows = (
        ("prune", "pruned 1 point", "pruned: 4 harmful, 1 helpful", "harmful"),
        ("edit", "retired mis-003", "pruned: 4 harmful, 1 helpful", "user"),
        ("edit", "pat-003: promoted to upat-001", "promoted to upat-001", "moved"),
        ("edit", "changed by a program", "promoted to upat-001", None),
        ("import", "imported a.json", "not in the imported playbook", "import"),
        ("sync", "merged a.json", "removed on the other side", "other_side"),
        ("undo", "undid revision 3", "revision 3 was undone", "undo"),
        ("undo", "undid revision 3", "it didn't help", None),
        ("learn", "learned", "never needed", "curator"),
        ("edit", "applied a batch from a test", "deleted", "curator"),
    )
    with closing(sqlite3.connect(path)) as connection, connection:
        (last,) = connection.execute("SELECT max(number) FROM revisions WHERE playbook_id = 1").fetchone()
        for number, (source, message, reason, _) in enumerate(rows, last + 1):
            revision = (number, f"2027-01-{number % 28 + 1:02}", source, message)
            connection.execute("INSERT INTO revisions (playbook_id, number, time, source, actor, message)"
                               " VALUES (1, ?, ?, ?, 'ann', ?)", revision)  # fmt: skip
            connection.execute("INSERT INTO changes (playbook_id, revision, seq, point_id, kind, section, position,"
                               " helpful, harmful, reason) VALUES (1, ?, 1, 3, 'retire', 'pat', 3, 0, 0, ?)",
                               (number, reason))  # fmt: skip

    migrate.ensure_current(f"sqlite:///{path}")

    with closing(sqlite3.connect(path)) as connection:
        causes = "SELECT cause FROM changes WHERE playbook_id = 1 AND revision > ? ORDER BY revision"
        assert connection.execute(causes, (last,)).fetchall() == [(cause,) for *_, cause in rows]
        retired = "SELECT DISTINCT name, cause FROM history WHERE revision <= ? AND kind = 'retire' ORDER BY name"
        assert connection.execute(retired, (last,)).fetchall() == [
            ("mis-001", "merged"), ("mis-002", "merged"), ("oth-002", "user"),
        ]  # fmt: skip
