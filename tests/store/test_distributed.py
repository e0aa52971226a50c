"""Playbooks distributed over the servers of Citus."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest
from sqlalchemy import make_url

from playbook_db.errors import DatabaseError
from playbook_db.services import maintenance
from playbook_db.services.playbook import import_export
from playbook_db.services.project import Project
from playbook_db.store.engine import open_store
from playbook_db.store.postgres import distributed
from playbook_db.store.tables import metadata
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
