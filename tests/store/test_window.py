"""Programs of different versions at one database: who may write is up to the newest migration."""

import importlib.util
from contextlib import closing
from pathlib import Path
from types import ModuleType

import pytest

from playbook_db.errors import SchemaTooNewError
from playbook_db.services import maintenance
from playbook_db.services.playbook import edit, undo
from playbook_db.services.project import Project, read_playbook
from playbook_db.store import at_hand
from playbook_db.store.at_hand import OLDEST_PROGRAM, SCHEMA, WINDOW
from playbook_db.store.engine import Store, open_store
from playbook_db.store.migrate import migrations_folder
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
            run(f"COMMENT ON TABLE alembic_version IS '{oldest:04d}'")
        else:
            run("COMMENT ON TABLE alembic_version IS NULL")
    return store.url.render_as_string(hide_password=False)


def _put_back(store: Store) -> None:
    """The databases of a server are used again."""
    if store.is_shared:
        with store.transaction() as connection:
            run = connection.exec_driver_sql
            run("ALTER TABLE key_points DROP COLUMN mood")
            run("DROP TABLE moods")
            run(f"UPDATE alembic_version SET version_num = '{SCHEMA:04d}'")
            run(f"COMMENT ON TABLE alembic_version IS '{OLDEST_PROGRAM:04d}'")


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
            assert again.is_as_opened()
        assert maintenance.upgrade(url)[0] == SCHEMA
        if not store.is_shared:
            with closing(at_hand.connect(store.where, wait_s=1)) as connection:  # as a hook does it
                assert connection.execute("SELECT count(*) FROM key_points").fetchone() == (2,)
    finally:
        _put_back(store)


@pytest.mark.parametrize("oldest", [SCHEMA + 1, None])
def test_one_that_may_not_is_refused_and_told_what_to_do(store: Store, oldest: int | None) -> None:
    """So is every older program where nothing is said."""
    url = _migrate_further(store, oldest)
    try:
        with pytest.raises(SchemaTooNewError, match=f"is at schema {NEWER:04d}; .* bring playbook-db up to date"):
            open_store(url)
        if not store.is_shared:
            with pytest.raises(at_hand.UnusableError, match="bring playbook-db up to date"):
                at_hand.connect(store.where, wait_s=1)
    finally:
        _put_back(store)


@pytest.mark.parametrize(
    ("schema", "oldest", "marked"), [(10, 10, 10), (11, 10, 100_011), (12, 11, 110_012), (11, 11, 11)]
)
def test_a_file_tells_both_in_one_number(schema: int, oldest: int, marked: int) -> None:
    """Where no older program may write it is the schema alone, as it always was."""
    assert at_hand.marked_version(schema, oldest) == marked


def test_the_migrations_say_which_programs_may_write() -> None:
    """The one that lets in the fewest counts. Those that say nothing let in none that is older."""
    folder = Path(migrations_folder(), "versions")
    oldest = max(int(getattr(each, "oldest_program", each.revision)) for each in map(_loaded, folder.glob("*.py")))

    assert oldest == OLDEST_PROGRAM
    assert "oldest_program = " in (folder.parent / "script.py.mako").read_text("utf-8")


def _loaded(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
