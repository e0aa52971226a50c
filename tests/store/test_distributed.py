"""Playbooks distributed over the servers of Citus."""

import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest
from sqlalchemy import event, make_url

from playbook_db.domain.trust.following import Trial
from playbook_db.errors import DatabaseError
from playbook_db.services import maintenance
from playbook_db.services.playbook import edit, import_export, undo
from playbook_db.services.project import Project
from playbook_db.services.reading import history
from playbook_db.store.engine import Store, open_store
from playbook_db.store.postgres import distributed
from playbook_db.store.tables import metadata
from playbook_db.store.team import memberships, replica
from tests import postgres
from tests.sample_database import write_sample_database

pytestmark = pytest.mark.slow


@pytest.fixture
def url() -> Iterator[str]:
    """A new database on the server."""
    postgres.require_server()
    made = postgres.new_database()
    open_store(made.render_as_string(hide_password=False)).close()
    yield made.render_as_string(hide_password=False)
    postgres.drop_database(made)


@pytest.fixture
def with_citus(url: str) -> str:
    """The same; skipped if the server has no Citus."""
    query = "SELECT current_setting('citus.shard_count', true) IS NOT NULL"
    if _ask(url, query) != [(True,)]:
        pytest.skip("THE SERVER HAS NO CITUS: nothing was distributed; see PLAYBOOK_TEST_DISTRIBUTE")
    return url


def _ask(url: str, query: str) -> list[tuple[object, ...]]:
    with postgres.connected(make_url(url)) as connection:
        return connection.execute(query.encode()).fetchall()


def test_server_without_citus_is_unchanged(url: str) -> None:
    if _ask(url, "SELECT 1 FROM pg_available_extensions WHERE name = 'citus'"):
        pytest.skip("this server has Citus")

    with pytest.raises(DatabaseError, match=r"can't be distributed: its server has no Citus\. Install that extension"):
        maintenance.distribute(url)

    assert maintenance.check_database(url).problems == ()


@pytest.mark.parametrize(
    ("found", "message"),
    [
        ({"is_installed": False}, "its server has no Citus. Install that extension"),
        ({"is_loaded": False}, "doesn't load Citus. Put citus first in its shared_preload_libraries, and restart"),
        ({"may_create": False}, "Ask a superuser to run in this database: CREATE EXTENSION citus"),
    ],
    ids=str,
)
def test_first_missing_requirement_is_named(found: dict[str, bool], message: str) -> None:
    state = {"is_there": False, "is_installed": True, "is_loaded": True, "may_create": True, **found}

    with pytest.raises(DatabaseError) as error:
        distributed.require_citus(_of(state), "postgresql://db/team")

    assert message in str(error.value)
    assert distributed.require_citus(_of({**state, "is_there": True}), "") is True
    assert distributed.require_citus(_of(dict.fromkeys(state, True) | {"is_there": False}), "") is False


def _of(state: dict[str, bool]) -> Any:
    return SimpleNamespace(execute=lambda _: SimpleNamespace(one=lambda: SimpleNamespace(**state)))


def test_tables_are_distributed_by_playbook(with_citus: str, tmp_path: Path) -> None:
    """The rows stay, the history stays append-only, and a second run changes nothing."""
    sample = f"sqlite:///{write_sample_database(tmp_path / 'sample.db')}"
    maintenance.transfer(sample, with_citus, "/work/harbour")

    *_, is_new = maintenance.distribute(with_citus)
    maintenance.transfer(sample, with_citus, "/work/lighthouse")

    assert is_new
    assert maintenance.distribute(with_citus)[2] is False
    methods = dict(_ask(with_citus, "SELECT CAST(logicalrelid AS text), partmethod FROM pg_dist_partition"))
    assert methods == dict.fromkeys(metadata.tables, "h") | {"playbooks": "n", "sections": "n"}
    assert maintenance.check_database(with_citus).problems == ()
    for statement in ("DELETE FROM changes", "UPDATE revisions SET message = 'x'", "DELETE FROM key_points"):
        with pytest.raises(psycopg.IntegrityError, match=r"append-only|never deleted"):
            _ask(with_citus, statement)
    maintenance.transfer(with_citus, f"sqlite:///{tmp_path / 'back.db'}")
    with open_store(sample) as was, open_store(f"sqlite:///{tmp_path / 'back.db'}") as now:
        for key in ("/work/harbour", "/work/lighthouse"):
            assert import_export.export_playbook(Project(was, key)) == import_export.export_playbook(Project(now, key))


def test_each_query_asks_one_server(with_citus: str) -> None:
    """Otherwise more servers would give no more speed."""
    maintenance.distribute(with_citus)
    asked: list[tuple[str, Any]] = []
    with open_store(with_citus) as store:
        project = Project(store, "/work/harbour")

        @event.listens_for(store._engine, "before_cursor_execute")
        def note(_: object, __: object, statement: str, values: Any, ___: object, many: bool) -> None:
            asked.append((statement, values[0] if many else values))

        for number in range(3):
            edit.add(project, f"advice number {number}")
        edit.vote(project, "oth-001", "helpful")
        edit.retire(project, "oth-002")
        undo.undo(project)
        list(history.log(project, history.LogQuery()))
        history.point_in_full(project, "oth-001")
        asked += [
            (each.replace(":playbook_id", "%(playbook_id)s"), {"playbook_id": 1}) for each in replica._READ.values()
        ]
        with store.write(project.key) as book:
            memberships.add_showings(
                book, [memberships.Showing("s", book.now, "startup", 1, "[1, 2]", 0, "SessionStart")]
            )
            book.move_cursor("/t.jsonl", 9, session_id="s")
            book.add_citations(["oth-001"], session_id="s")
            book.add_trial(1, Trial(True), session_id="s")
            book.sessions()

        event.remove(store._engine, "before_cursor_execute", note)
        spread = {statement: _parts_asked(store, statement, values) for statement, values in asked}

    assert {statement for statement, parts in spread.items() if parts != {"1"}} == set()
    assert len(spread) > 30


def _parts_asked(store: Store, statement: str, values: Any) -> set[str]:
    """On how many servers each part of *statement* runs; a table that all servers have counts as one."""
    if not statement.lstrip().startswith(("SELECT", "INSERT", "UPDATE", "DELETE", "WITH")) or "pg_" in statement:
        return {"1"}
    with postgres.connected(store.url) as connection:
        whole = psycopg.ClientCursor(connection).mogrify(statement, values)
        plan = "\n".join(str(line) for (line,) in connection.execute(f"EXPLAIN (COSTS OFF) {whole}".encode()))
    return {*re.findall(r"Task Count: (\d+)", plan)} or {"1"}
