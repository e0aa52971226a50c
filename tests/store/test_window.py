"""Programs of different versions at one database: who may write is up to the newest migration."""

from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest

from playbook_db.errors import SchemaTooNewError
from playbook_db.services import maintenance
from playbook_db.services.playbook import edit, undo
from playbook_db.services.project import Project, read_playbook
from playbook_db.store import migrate, sqlite_open
from playbook_db.store.engine import Store, open_store
from playbook_db.store.migrate import migrations_folder
from playbook_db.store.sqlite_open import SCHEMA, WINDOW
from playbook_db.store.team import replica

NEWER = SCHEMA + 2


def _migrate_further(store: Store, oldest: int | None) -> str:
    """As a newer program does it: it adds a column and a table, and says which programs may still write."""
    with store.transaction() as connection:
        run = connection.exec_driver_sql
        run("ALTER TABLE key_points ADD COLUMN mood TEXT")
        run("CREATE TABLE moods (name TEXT)")
        run(f"UPDATE alembic_version SET version_num = '{NEWER:04d}'")
        if not store.is_shared:
            run(f"PRAGMA user_version = {(oldest or 0) * WINDOW + NEWER}")
        elif oldest is not None:
            run(f"COMMENT ON TABLE alembic_version IS '{NEWER:04d} {oldest:04d}'")
    return store.url.render_as_string(hide_password=False)


def _put_back(store: Store) -> None:
    """The databases of a server are used again."""
    if store.is_shared:
        with store.transaction() as connection:
            run = connection.exec_driver_sql
            run("ALTER TABLE key_points DROP COLUMN mood")
            run("DROP TABLE moods")
            run(f"UPDATE alembic_version SET version_num = '{SCHEMA:04d}'")
            run(f"COMMENT ON TABLE alembic_version IS '{SCHEMA:04d} {SCHEMA:04d}'")


@pytest.mark.slow  # an upgrade starts processes
def test_an_older_program_that_may_write_does_all_it_did(store: Store, tmp_path: Path) -> None:
    """Everyone on a team can go on after one has upgraded, and so can a plugin beside a newer installation."""
    edit.add(Project(store, "/work/harbour"), "use uv")
    url = _migrate_further(store, SCHEMA)
    try:
        with open_store(url) as again:
            project = Project(again, "/work/harbour")
            edit.add(project, "use ruff")
            edit.vote(project, "oth-001", "helpful")
            undo.undo(project)
            replica.write(str(tmp_path / "replica.db"), replica.read(again, project.key))
            assert [point.text for point in read_playbook(project).points] == ["use uv", "use ruff"]
            assert again.is_current()
        assert maintenance.upgrade(url)[0] == SCHEMA
        if not store.is_shared:
            with closing(sqlite_open.connect(store.where, wait_s=1)) as connection:  # as a hook does it
                assert connection.execute("SELECT count(*) FROM key_points").fetchone() == (2,)
    finally:
        _put_back(store)


@pytest.mark.sqlite
def test_an_older_program_refuses_triggers_that_it_does_not_know(store: Store) -> None:
    """A newer program made them, though it says that this one may write: nobody is told to drop them."""
    edit.add(Project(store, "/work/harbour"), "use uv")
    with store.transaction() as connection:
        connection.exec_driver_sql("CREATE TRIGGER moody AFTER INSERT ON key_points BEGIN SELECT 1; END")
    url = _migrate_further(store, SCHEMA)
    store.close()

    with pytest.raises(SchemaTooNewError, match=f"is at schema {NEWER:04d}"), open_store(url) as again:
        read_playbook(Project(again, "/work/harbour"))


@pytest.mark.parametrize("oldest", [SCHEMA + 1, None])
def test_one_that_may_not_is_refused_and_told_what_to_do(store: Store, oldest: int | None) -> None:
    """So is every older program where nothing is said."""
    url = _migrate_further(store, oldest)
    try:
        with pytest.raises(SchemaTooNewError, match=f"is at schema {NEWER:04d}; .* bring playbook-db up to date"):
            open_store(url)
        if not store.is_shared:
            with pytest.raises(sqlite_open.UnusableError, match="bring playbook-db up to date"):
                sqlite_open.connect(store.where, wait_s=1)
    finally:
        _put_back(store)


@pytest.mark.parametrize(
    ("schema", "oldest", "marked"), [(10, 10, 10), (11, 10, 100_011), (12, 11, 110_012), (11, 11, 11)]
)
def test_a_file_tells_both_in_one_number(schema: int, oldest: int, marked: int) -> None:
    """Where no older program may write it is the schema alone, as it always was."""
    assert sqlite_open.marked_version(schema, oldest) == marked


@pytest.mark.parametrize(
    ("version", "oldest"), [(2, 2), (3, 2), (4, 2), (5, 4)], ids=["says nothing", "expands", "expands", "contracts"]
)
def test_the_migration_that_lets_in_the_fewest_counts(version: int, oldest: int) -> None:
    """One that says nothing lets in no older program."""
    stated = {"0001": None, "0002": None, "0003": "0002", "0004": "0001", "0005": "0004"}
    scripts = [
        SimpleNamespace(revision=each, module=SimpleNamespace(**({"oldest_program": says} if says else {})))
        for each, says in stated.items()
    ]

    assert migrate._oldest_program(SimpleNamespace(walk_revisions=lambda: scripts), version) == oldest


def test_a_new_migration_says_it() -> None:
    """As the template has it: no older program, unless somebody thinks again."""
    text = Path(migrations_folder(), "script.py.mako").read_text("utf-8")

    assert "\noldest_program = ${repr(up_revision)}\n" in text
