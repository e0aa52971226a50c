"""On a server a point is what its history says, whatever SQL somebody runs."""

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
    """The URL of a new database on a server."""
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
    """A plain connection, which commits each of its transactions."""
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
        [REVISION.format("", ""), "UPDATE key_points SET text = 'owned'"],
        [REVISION.format("", ""), CHANGE.format(9, "NULL")],
        [REVISION.format("", ""), CHANGE.format(1, "'owned'"), "UPDATE key_points SET text = 'other'"],
        [REVISION.format("", ""), CHANGE.format(1, "NULL"), "UPDATE key_points SET retired_in = 3"],
    ],
    ids=str,
)
def test_point_must_match_its_last_change(shell: Shell, statements: list[str]) -> None:
    """The transaction is rolled back, and the error names the point."""
    with pytest.raises(psycopg.IntegrityError, match="the key point oth-001 is not what its last change says"):
        _run(shell, *statements)

    assert shell.execute("SELECT text, helpful FROM key_points").fetchall() == [("use type hints", 1)]
    assert shell.execute("SELECT max(number) FROM revisions").fetchall() == [(2,)]


def test_committed_revisions_are_final(shell: Shell) -> None:
    """Otherwise one member could write in another's name."""
    late = CHANGE.format(1, "'owned'").replace("1, 3, 1, 1", "1, 2, 2, 1")
    for statements in (
        [late, "UPDATE key_points SET text = 'owned'"],
        ["INSERT INTO votes (playbook_id, revision, seq, point_id, tag) VALUES (1, 2, 9, 1, 'helpful')"],
    ):
        with pytest.raises(psycopg.IntegrityError, match="appended to the last revision"):
            _run(shell, *statements)

    _run(shell, REVISION.format("", ""), CHANGE.format(1, "'mine'"), "UPDATE key_points SET text = 'mine'")

    assert shell.execute("SELECT text FROM key_points").fetchall() == [("mine",)]


def test_server_signs_each_revision(shell: Shell, store: Store) -> None:
    """The role that logged in counts, whatever the row or SET ROLE says."""
    _run(shell, "SET LOCAL ROLE pg_read_all_data; RESET ROLE", REVISION.format(", role", ", 'another'"))
    user = make_url(str(store.url)).username

    assert shell.execute("SELECT DISTINCT role FROM revisions").fetchall() == [(user,)]
    with pytest.raises(psycopg.IntegrityError, match="revisions are append-only"):
        shell.execute("UPDATE revisions SET role = 'another'")
    assert {each.role for each in history.log(Project(store, KEY), history.LogQuery())} == {user}


def test_copies_in_files_keep_the_roles(fresh: str, store: Store, shell: Shell, tmp_path: Path) -> None:
    """A copy on a server has the role that copied."""
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


def test_older_damage_is_reported_at_a_write(shell: Shell, store: Store) -> None:
    _spoil(shell, "UPDATE key_points SET text = 'owned'")

    with pytest.raises(ServerError, match=r"oth-001 is not what its last change says\. .* playbook --db URL db repair"):
        edit.vote(Project(store, KEY), "oth-001", "helpful")


def _spoil(shell: Shell, *statements: str) -> None:
    """What a superuser can do past all triggers."""
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
        ("UPDATE heads SET live_points = 7 WHERE playbook_id = 1", "stored counts"),
        ("UPDATE key_points SET retired_in = NULL, retired_reason = NULL WHERE (playbook_id, id) = (1, 2)", "oth-002"),
        (_ADDED, "oth-009"),
        ("INSERT INTO undone_ranges (playbook_id, first, last, undo) VALUES (1, 1, 1, 2)", "stored counts"),
    ],
    ids=str,
)
def test_repair_restores_what_the_history_says(fresh: str, shell: Shell, store: Store, damage: str, named: str) -> None:
    """It writes one revision, and touches no other playbook."""
    harbour, lighthouse = Project(store, KEY), Project(store, "/work/lighthouse")
    edit.add(harbour, "it goes")
    edit.retire(harbour, "oth-002")
    edit.add(lighthouse, "stays")
    before = read_playbook(harbour)
    _spoil(shell, damage)
    assert "playbook --db URL db repair" in str(maintenance.check_database(fresh).remedy)

    for dry_run in (True, False):
        (done,) = repair.repair(fresh, folder="", dry_run=dry_run).corrected
        assert (done.key, done.revision, done.summary) == (KEY, 5, f"corrected: {named}")

    assert maintenance.check_database(fresh).problems == ()
    after = read_playbook(harbour)
    assert (after.points, after.header.get("version")) == (before.points, before.header.get("version"))
    assert len([*history.log(lighthouse, history.LogQuery())]) == 1
    assert not repair.repair(fresh, folder="").is_damaged


def test_missing_revisions_can_not_be_repaired(fresh: str, shell: Shell) -> None:
    _spoil(shell, "UPDATE revisions SET number = 9 WHERE number = 2")

    with pytest.raises(DatabaseError, match=r"don't go from 1 to 2, but from 1 to 9\. No history can repair that"):
        repair.repair(fresh, folder="")
