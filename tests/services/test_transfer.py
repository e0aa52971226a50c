"""Copying playbooks into another database."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from playbook_db import projects
from playbook_db.domain import playbook_file
from playbook_db.domain.trust.following import Trial
from playbook_db.errors import DatabaseError
from playbook_db.services import maintenance
from playbook_db.services.playbook import edit, forget
from playbook_db.services.playbook.forget import Request
from playbook_db.services.project import Project, read_playbook
from playbook_db.services.reading import statistics
from playbook_db.store.engine import Store, open_store
from playbook_db.store.tables import EVENTS
from playbook_db.store.team import memberships
from playbook_db.store.upkeep import transfer
from tests.sample_database import write_sample_database
from tests.showings import wrong_counts

pytestmark = [pytest.mark.sqlite, pytest.mark.slow]
_LONG_AGO = "2024-01-05T10:00:00.000000+00:00"
KEYS = ["/work/harbour", "/work/lighthouse"]


@pytest.fixture
def lived(tmp_path: Path) -> str:
    """The URL of an SQLite file with a bit of everything in two playbooks."""
    path = write_sample_database(tmp_path / "lived" / "playbook.db")
    with open_store(f"sqlite:///{path}") as store:
        project = Project(store, KEYS[0])
        forget.forget(project, Request(name="oth-003"))
        edit.add(project, "the last advice \0")
        with store.write(project.key) as book:
            book.add_citations(["pat-001", "oth-002"], session_id="a session")
            book.add_trial(1, Trial(True, 2, 1), session_id="a session")
            book.move_cursor("/t/1.jsonl", 99, session_id="a session")
            for text in ("waits", "was rejected"):
                book.add_proposal({"text": f"it {text} \0"}, "ADD", (), "outside", "a session")
            book.decide([2], "rejected", "ann", None)
            live = [point.name for point in book.live_points()]
            book.keep_apart([(live[0], live[1])])
            shown = [memberships.Showing("long ago", _LONG_AGO, "startup", 1, "[1,2]", 0, EVENTS[0])]
            shown += [memberships.Showing("long ago", _LONG_AGO[:-7] + "1+00:00", "", 1, "[3]", 0, EVENTS[1])]
            memberships.add_showings(book, shown)
    return f"sqlite:///{path}"


def _states(store: Store, key: str) -> list[str]:
    """The file of the playbook as it was after each revision."""
    with store.read(key) as book:
        return [playbook_file.encode(book.at(number)) for number in range(book.revision + 1)]


def _uses(store: Store, key: str) -> object:
    return statistics.gather(Project(store, key)).use


def _trials(store: Store, key: str) -> list[tuple[object, ...]]:
    columns = "session_id, point_id, followed, ignored, failed_calls"
    with store.read(key) as book:
        query = f"SELECT {columns} FROM trials WHERE playbook_id = {book.playbook_id}"
        return [tuple(row) for row in book.connection.exec_driver_sql(query)]


@pytest.mark.postgres
def test_all_revisions_are_copied_unchanged(
    lived: str, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There and back again, in small portions."""
    monkeypatch.setattr(transfer, "_ROWS_AT_ONCE", 3)
    there, back = store.url.render_as_string(hide_password=False), f"sqlite:///{tmp_path / 'back.db'}"

    maintenance.transfer(lived, there)
    copied = maintenance.transfer(there, back)

    assert list(copied) == KEYS
    with open_store(lived) as source, open_store(back) as target:
        for key in KEYS:
            assert _states(target, key) == _states(source, key)
            with source.read(key) as was, target.read(key) as now:
                assert now.distinct_points() == was.distinct_points()
                assert [now.proposal(1), now.proposal(2)] == [was.proposal(1), was.proposal(2)]
            assert len(_states(target, key)) == copied[key] + 1
            assert _trials(target, key) == _trials(source, key)
            assert _uses(target, key) == _uses(source, key)
        assert _trials(target, KEYS[0]) == [("a session", 1, 1, 2, 1)]
        assert maintenance.check(target) == []
        with target.snapshot() as connection:
            assert wrong_counts(connection) == []


@pytest.mark.postgres
def test_one_playbook_can_be_copied_alone(lived: str, store: Store) -> None:
    url = store.url.render_as_string(hide_password=False)

    assert list(maintenance.transfer(lived, url, KEYS[1])) == KEYS[1:]

    with pytest.raises(DatabaseError, match="has no playbook of /work/nowhere"):
        maintenance.transfer(lived, url, "/work/nowhere")


def test_existing_playbook_stops_the_whole_copy(lived: str, store: Store) -> None:
    edit.add(Project(store, KEYS[1]), "another history")

    with pytest.raises(DatabaseError, match=r"already has a playbook of /work/lighthouse\. Nothing was copied\."):
        maintenance.transfer(lived, store.url.render_as_string(hide_password=False))

    assert len(_states(store, KEYS[1])) == 2
    assert len(_states(store, KEYS[0])) == 1


def test_copy_with_a_difference_is_rolled_back(lived: str, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    insert = transfer._insert

    def spoiled(connection: object, table: object, number: int, rows: Iterator[transfer.Row]) -> None:
        insert(connection, table, number, ({**row, "tag": "neutral"} if "tag" in row else row for row in rows))  # type: ignore[arg-type]

    monkeypatch.setattr(transfer, "_insert", spoiled)

    with pytest.raises(DatabaseError, match=r"A copied row of /work/harbour differs \(votes .*\)"):
        maintenance.transfer(lived, store.url.render_as_string(hide_password=False))

    with store.snapshot() as connection:
        assert transfer.keys_to_copy(connection, None) == []


@pytest.mark.postgres
def test_personal_playbook_stays_personal(lived: str, store: Store, tmp_path: Path) -> None:
    url, back = store.url.render_as_string(hide_password=False), f"sqlite:///{tmp_path / 'back.db'}"
    with open_store(lived) as source:
        edit.add(Project.of_user(source), "say it briefly", section="pref")

    own = Project.of_user(store).key
    assert maintenance.transfer(lived, url, projects.USER_KEY) == {own: 1}
    assert list(maintenance.transfer(url, back)) == [projects.USER_KEY]

    with open_store(back) as target:
        assert list(read_playbook(Project.of_user(target)).by_name) == ["upref-001"]
    with pytest.raises(DatabaseError, match="already has your personal playbook"):
        maintenance.transfer(lived, url)
    with store.read(KEYS[0]) as book:
        assert not book.playbook_id
