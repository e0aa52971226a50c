"""On a server a point is what its history says: what anybody's SQL makes of it otherwise isn't kept."""

import os
import runpy
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import make_url

from playbook_db.errors import DatabaseError, ServerError
from playbook_db.services import maintenance, repair
from playbook_db.services.playbook import edit
from playbook_db.services.project import Project, read_playbook
from playbook_db.services.reading import history
from playbook_db.store.engine import Store, open_store
from playbook_db.store.migrate import migrations_folder
from playbook_db.store.postgres.postgres_dialect import PostgresDialect
from tests import postgres
from tests.databases import DISTRIBUTED, empty

KEY = "/work/harbour"
pytestmark = [pytest.mark.slow, pytest.mark.skipif(DISTRIBUTED, reason="Citus knows no such triggers")]
Shell = psycopg.Connection[tuple[object, ...]]
REVISION = "INSERT INTO revisions (playbook_id, number, time, source, actor{}) VALUES (1, 3, '2999', 'edit', 'ann'{})"
CHANGE = (
    "INSERT INTO changes (playbook_id, revision, seq, point_id, kind, section, position, helpful, harmful, text)"
    " VALUES (1, 3, 1, 1, 'edit', 'oth', 1, {}, 0, {})"
)


@pytest.fixture(scope="module")
def fresh() -> Iterator[str]:
    """The URL of a database on a server that the migrations have just made."""
    postgres.require_server()
    made = postgres.new_database()
    open_store(made.render_as_string(hide_password=False)).close()
    yield made.render_as_string(hide_password=False)
    postgres.drop_database(made)


@pytest.fixture
def store(fresh: str) -> Iterator[Store]:
    """The same with a playbook of one point and one vote."""
    empty(make_url(fresh))
    with open_store(fresh) as opened:
        edit.add(Project(opened, KEY), "use type hints")
        edit.vote(Project(opened, KEY), "oth-001", "helpful")
        yield opened


@pytest.fixture
def shell(fresh: str, store: Store) -> Iterator[Shell]:
    """A connection of somebody's own; each of its transactions is kept when it ends."""
    with closing(postgres.connected(make_url(fresh))) as connection:
        yield connection


def _run(shell: Shell, *statements: str) -> None:
    with shell.transaction():
        for statement in statements:
            shell.execute(statement.encode())


@pytest.mark.parametrize(
    "statements",
    [
        ["UPDATE key_points SET text = 'owned'"],
        ["UPDATE key_points SET text = 'owned'", "UPDATE key_points SET helpful = helpful"],
        [REVISION.format("", ""), "UPDATE key_points SET text = 'owned'"],
        [REVISION.format("", ""), CHANGE.format(1, "'another'")],
        [REVISION.format("", ""), CHANGE.format(9, "NULL")],
        [REVISION.format("", ""), CHANGE.format(1, "'owned'"), "UPDATE key_points SET text = 'other'"],
        [REVISION.format("", ""), CHANGE.format(1, "NULL"), "UPDATE key_points SET retired_in = 3"],
    ],
    ids=str,
)
def test_a_point_that_its_last_change_does_not_give_is_not_kept(shell: Shell, statements: list[str]) -> None:
    """Whatever a transaction did in between: the point's name is told, and nothing of it is there."""
    with pytest.raises(psycopg.IntegrityError, match="the key point oth-001 is not what its last change says"):
        _run(shell, *statements)

    assert shell.execute("SELECT text, helpful FROM key_points").fetchall() == [("use type hints", 1)]
    assert shell.execute("SELECT max(number) FROM revisions").fetchall() == [(2,)]


def test_nothing_is_added_to_a_revision_that_was_committed(shell: Shell) -> None:
    """Else what one member did would stand as another's; with a revision of one's own it is kept, in one's name."""
    late = CHANGE.format(1, "'owned'").replace("1, 3, 1, 1", "1, 2, 2, 1")
    for statements in (
        [late, "UPDATE key_points SET text = 'owned'"],
        ["INSERT INTO votes (playbook_id, revision, seq, point_id, tag) VALUES (1, 2, 9, 1, 'helpful')"],
    ):
        with pytest.raises(psycopg.IntegrityError, match="appended to the last revision"):
            _run(shell, *statements)

    _run(shell, REVISION.format("", ""), CHANGE.format(1, "'mine'"), "UPDATE key_points SET text = 'mine'")

    assert shell.execute("SELECT text FROM key_points").fetchall() == [("mine",)]


def test_the_server_says_who_made_a_revision(shell: Shell, store: Store) -> None:
    """The role that logged in, whatever the row or a SET ROLE says; no update changes it, and a log has it."""
    _run(shell, "SET LOCAL ROLE pg_read_all_data; RESET ROLE", REVISION.format(", role", ", 'another'"))
    user = make_url(str(store.url)).username

    assert shell.execute("SELECT DISTINCT role FROM revisions").fetchall() == [(user,)]
    with pytest.raises(psycopg.IntegrityError, match="revisions are append-only"):
        shell.execute("UPDATE revisions SET role = 'another'")
    assert {each.role for each in history.log(Project(store, KEY), history.LogQuery())} == {user}


def test_a_copy_in_a_file_keeps_the_roles_and_one_on_a_server_gets_its_own(
    fresh: str, store: Store, shell: Shell, tmp_path: Path
) -> None:
    """Both are compared row by row; who copies a history to a server has written it there."""
    file = f"sqlite:///{tmp_path / 'copy.db'}"
    user = make_url(fresh).username

    assert maintenance.transfer(fresh, file) == {KEY: 2}

    with open_store(file) as copy:
        assert {each.role for each in history.log(Project(copy, KEY), history.LogQuery())} == {user}
        edit.vote(Project(copy, KEY), "oth-001", "helpful")
        assert next(iter(history.log(Project(copy, KEY), history.LogQuery()))).role is None
    empty(make_url(fresh))
    assert maintenance.transfer(file, fresh) == {KEY: 3}
    assert shell.execute("SELECT role, count(*) FROM revisions GROUP BY role").fetchall() == [(user, 3)]


def test_what_was_wrong_before_is_told_where_the_point_is_changed(shell: Shell, store: Store) -> None:
    """In one sentence, with the command that puts it right; a repair does, and the vote counts."""
    _spoil(shell, "UPDATE key_points SET text = 'owned'")

    with pytest.raises(ServerError, match=r"oth-001 is not what its last change says\. .* playbook --db URL db repair"):
        edit.vote(Project(store, KEY), "oth-001", "helpful")


def _spoil(shell: Shell, *statements: str) -> None:
    """What a superuser does past all triggers, or a member did before there were any."""
    _run(shell, "SET LOCAL session_replication_role = replica", *statements)


_ADDED = (
    "INSERT INTO key_points (playbook_id, id, name, section, position, text, created_in) VALUES"
    " (1, 9, 'oth-009', 'oth', 9, 'owned', 1)"
)


@pytest.mark.nightly(after=2)
@pytest.mark.parametrize(
    ("damage", "named"),
    [
        ("UPDATE key_points SET text = 'owned', helpful = 7 WHERE (playbook_id, id) = (1, 1)", "oth-001"),
        ("UPDATE key_points SET section = 'pat', position = 7 WHERE (playbook_id, id) = (1, 1)", "oth-001"),
        ("UPDATE key_points SET retired_in = 1, retired_reason = 'owned' WHERE (playbook_id, id) = (1, 1)", "oth-001"),
        ("UPDATE key_points SET retired_in = NULL, retired_reason = NULL WHERE (playbook_id, id) = (1, 2)", "oth-002"),
        ("UPDATE key_points SET rank = 99 WHERE (playbook_id, id) = (1, 1)", "oth-001"),
        (_ADDED, "oth-009"),
        ("UPDATE heads SET live_points = 7 WHERE playbook_id = 1", "stored counts"),
        (
            """UPDATE heads SET header = '{"version": "9", "sections": null}' WHERE playbook_id = 1""",
            "stored counts",
        ),
        (
            "INSERT INTO undone_ranges (playbook_id, first, last, undo) VALUES (1, 1, 1, 2)",
            "stored counts",
        ),
    ],
    ids=str,
)
def test_a_playbook_is_put_back_to_what_its_history_says(
    fresh: str, shell: Shell, store: Store, damage: str, named: str
) -> None:
    """By one revision that says so, and no other playbook is touched; a dry run changes nothing, nor does a second."""
    harbour, lighthouse = Project(store, KEY), Project(store, "/work/lighthouse")
    edit.add(harbour, "it goes")
    edit.retire(harbour, "oth-002")
    edit.add(lighthouse, "stays")
    before = read_playbook(harbour)
    _spoil(shell, damage)
    report = maintenance.check_database(fresh)
    assert report.problems
    assert "playbook --db URL db repair" in str(report.remedy)

    for dry_run in (True, False):
        (done,) = repair.repair(fresh, folder="", dry_run=dry_run).corrected
        assert (done.key, done.revision, done.summary) == (KEY, 5, f"corrected: {named}")

    assert maintenance.check_database(fresh).problems == ()
    after = read_playbook(harbour)
    assert (after.points, after.header.get("version")) == (before.points, before.header.get("version"))
    assert [each.number for each in history.log(harbour, history.LogQuery())] == [5, 4, 3, 2, 1]
    assert len([*history.log(lighthouse, history.LogQuery())]) == 1
    assert not repair.repair(fresh, folder="").is_damaged
    edit.vote(harbour, "oth-001", "harmful")


def test_what_no_history_puts_right_is_told(fresh: str, shell: Shell) -> None:
    """Nothing is called well that isn't."""
    _run(shell, "SET LOCAL session_replication_role = replica", "UPDATE revisions SET number = 9 WHERE number = 2")

    with pytest.raises(DatabaseError, match=r"don't go from 1 to 2, but from 1 to 9\. No history can repair that"):
        repair.repair(fresh, folder="")


def _rename_back(shell: Shell) -> None:
    """Give tables, columns and constraints the names that they had before migration 0010."""
    later = runpy.run_path(os.path.join(migrations_folder(), "versions", "0017_showings.py"))
    for old, new in reversed(later["_TABLES"].items()):
        for (name,) in shell.execute(str(later["_CONSTRAINTS"]).replace(":name", "%s"), [new]).fetchall():
            shell.execute(f"ALTER TABLE {new} RENAME CONSTRAINT {name} TO {name.replace(new, old)}")
        shell.execute(f"ALTER TABLE {new} RENAME TO {old}")
    names = runpy.run_path(os.path.join(migrations_folder(), "versions", "0010_final_names.py"))
    for table, constraints in names["_CONSTRAINTS"].items():
        now = names["_TABLES"].get(table, table)
        for old, new in constraints.items():
            shell.execute(f"ALTER TABLE {now} RENAME CONSTRAINT {new} TO {old}")
        for old, new in names["_COLUMNS"].get(table, {}).items():
            shell.execute(f"ALTER TABLE {now} RENAME COLUMN {new} TO {old}")
        if now != table:
            shell.execute(f"ALTER TABLE {now} RENAME TO {table}")


def _drop_later(shell: Shell) -> None:
    """Drop the table and the columns that came after migration 0010, and add the table that left since."""
    shell.execute("DROP TABLE trials; CREATE TABLE session_outcomes ()")
    for table in ("showings", "unsent_showings"):
        shell.execute(f"ALTER TABLE {table} DROP COLUMN held_back")
    shell.execute("ALTER TABLE playbooks DROP COLUMN initialized, DROP COLUMN root_commit, DROP COLUMN origin")
    shell.execute("ALTER TABLE jobs DROP COLUMN folder; ALTER TABLE changes DROP COLUMN cause")


def test_a_server_from_before_gets_the_triggers_by_its_upgrade(fresh: str, store: Store, shell: Shell) -> None:
    """Nobody knows who wrote the revisions that were there; what was wrong is told, and no reason to refuse."""
    dialect = PostgresDialect(make_url(fresh))
    with dialect.make_engine().begin() as connection:
        dialect.drop_views_and_triggers(connection)
    dialect.close()
    columns = "playbook_id integer, point_id bigint, event text, sessions bigint"
    shell.execute(f"CREATE TABLE folded_showings ({columns}); CREATE TABLE folded_sessions ()")
    shell.execute("ALTER TABLE revisions DROP COLUMN role; UPDATE alembic_version SET version_num = '0007'")
    _drop_later(shell)
    _rename_back(shell)
    shell.execute("UPDATE key_points SET text = 'owned'")

    maintenance.upgrade(fresh)

    assert maintenance.check_database(fresh).problems == (
        f"the playbook of {KEY} doesn't match its history (revision 2)",
    )
    assert [each.role for each in history.log(Project(store, KEY), history.LogQuery())] == [None, None]
    with pytest.raises(psycopg.IntegrityError, match="oth-001 is not what its last change says"):
        shell.execute("UPDATE key_points SET harmful = 7")
