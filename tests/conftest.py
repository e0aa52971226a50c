"""What every test gets: no network, a home and a data folder of its own, no settings of the machine's."""

import functools
import gc
import os
import ssl
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from playbook_db.services.project import Project
from playbook_db.store import migrate
from playbook_db.store.engine import Store, open_store
from tests.databases import KINDS, Kind, NewProject, copy_or_migrate, share_compiled_statements, wait_for_no_disk
from tests.postgres import making_roles, require_server
from tests.tiers import (  # noqa: F401 - hooks of pytest
    pytest_addoption,
    pytest_collection_modifyitems,
    pytest_configure,
    pytest_report_header,
    pytest_unconfigure,
)

if TYPE_CHECKING:
    from tests.members import NewMember

gc.set_threshold(50_000, 20, 20)

_STARTS = {"os.fork", "os.forkpty", "os.posix_spawn", "os.system", "subprocess.Popen"}
_started: list[str] = []
sys.addaudithook(lambda event, _: _started.append(event) if event in _STARTS else None)


def pytest_collection_finish() -> None:
    """What was imported and collected stays to the end: the garbage collector need not look at it again and again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _no_network(socket_disabled: None) -> None:
    """No test reaches the network."""


@pytest.fixture(scope="session", autouse=True)
def _what_takes_long_is_done_once() -> Iterator[None]:
    """SQLAlchemy's compiling, reading all certificates of the machine, as each client of an API does; and no waiting
    for the disk."""
    with pytest.MonkeyPatch.context() as patch:
        wait_for_no_disk(patch)
        share_compiled_statements(patch)
        patch.setattr(ssl, "create_default_context", functools.cache(ssl.create_default_context))
        yield


@pytest.fixture(autouse=True)
def _processes_are_slow(request: pytest.FixtureRequest) -> Iterator[None]:
    """No test starts a process unless it is marked `slow`: those without the mark are the fast ones."""
    _started.clear()
    yield
    assert not _started or request.node.get_closest_marker("slow"), "it starts a process: mark it `slow`"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fresh home folder; no variable of this machine is heard."""
    for name in list(os.environ):
        if name.startswith(("CLAUDE_", "PLAYBOOK_", "ANTHROPIC_", "AGENTIC_CONTEXT_")) or name in ("COLUMNS", "LINES"):
            monkeypatch.delenv(name)
    made = tmp_path / "home"
    made.mkdir()
    monkeypatch.setenv("HOME", str(made))
    return made


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a project, which is the current one."""
    made = tmp_path / "project"
    (made / ".claude").mkdir(parents=True)
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(made))
    monkeypatch.chdir(made)
    return made


@pytest.fixture(autouse=True)
def _new_databases_are_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever opens a database that isn't there yet gets a copy of one that was migrated before."""
    monkeypatch.setattr(migrate, "migrate", copy_or_migrate)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test of a database runs on both kinds: without the mark `postgres`, on PostgreSQL in the nightly tier only."""
    if "database_kind" in metafunc.fixturenames:
        kinds: list[object] = ["sqlite"]
        marked = (mark.name for mark in metafunc.definition.iter_markers())  # the test's own before its file's
        choice = next((name for name in marked if name in ("postgres", "sqlite")), None)
        is_for_both = choice == "postgres"
        if choice != "sqlite":
            marks = [pytest.mark.slow] if is_for_both else [pytest.mark.slow, pytest.mark.nightly]
            kinds.append(pytest.param("postgres", marks=marks))
        metafunc.parametrize("database_kind", kinds, indirect=True)


@pytest.fixture
def database_kind(request: pytest.FixtureRequest) -> Kind:
    """Each kind of database, one after the other; without a server, its tests are skipped."""
    if request.param == "postgres":
        require_server()
    return KINDS[request.param]


@pytest.fixture
def store(database_kind: Kind, tmp_path: Path) -> Iterator[Store]:
    """An open, empty database."""
    with open_store(database_kind.new(tmp_path)) as opened:
        yield opened


@pytest.fixture
def project(store: Store, folder: Path) -> Project:
    """The project in `folder`, with an empty playbook."""
    return Project.in_folder(store, str(folder))


@pytest.fixture
def new_project(database_kind: Kind, project: Project) -> NewProject:
    """Gives the project with an empty playbook in an empty database again, for each example of a property."""

    def empty() -> Project:
        database_kind.empty(project.store)
        return project

    return empty


@pytest.fixture
def team_url(tmp_path: Path) -> str:
    """A team's database, empty, for the user who owns it."""
    require_server()
    return KINDS["postgres"].new(tmp_path)


@pytest.fixture
def team_server(team_url: str) -> Iterator[Store]:
    with open_store(team_url) as store:
        yield store


@pytest.fixture
def server_roles() -> Iterator[None]:
    """No other test may make roles, or change who may log in, at the same time."""
    require_server()
    with making_roles():
        yield


@pytest.fixture
def new_member(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> "NewMember":
    """Gives members of a team, each with their own home."""
    from tests.members import members_in  # late: few tests have members, who bring the worker with them

    return members_in(tmp_path, monkeypatch)
