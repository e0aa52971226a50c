"""The ways on which one scenario is played: on dicts of both layouts, through the file, and in the database."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from playbook_db.contract import update_playbook_data
from playbook_db.services.project import Project
from playbook_db.store.engine import open_store
from tests.contract.playbooks import (
    LAYOUTS,
    Layout,
    Outcome,
    Session,
    a_dict,
    after_a_batch,
    after_a_session,
    by_name,
    outcome_of,
)


@pytest.fixture(scope="session")
def empty_database(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A database that holds nothing yet."""
    path = tmp_path_factory.mktemp("database") / "playbook.db"
    open_store(f"sqlite:///{path}").close()
    return path.read_bytes()


@pytest.fixture(autouse=True)
def _databases_are_there(home: Path, tmp_path: Path, empty_database: bytes) -> None:
    """The databases of the programs and of `store` exist already: making them anew takes most of a test's time."""
    data_folder = home / ".claude" / "playbook"
    data_folder.mkdir(mode=0o700, parents=True)
    for path in (data_folder / "playbook.db", tmp_path / "playbook.db"):
        path.write_bytes(empty_database)


@pytest.fixture(params=LAYOUTS)
def layout(request: pytest.FixtureRequest) -> Layout:
    """Both layouts of a playbook, one after the other."""
    return request.param


@pytest.fixture(params=["on a dict", "through the database"])
def session(request: pytest.FixtureRequest, layout: Layout, folder: Path) -> Session:
    """Takes entries through a session with the extraction result given; the entries afterwards, by name."""

    def run(entries: list[Any], result: dict[str, Any]) -> dict[str, dict[str, Any]]:
        playbook = a_dict(layout, *entries)
        if request.param == "on a dict":
            return by_name(update_playbook_data(playbook, result))
        return by_name(after_a_session(folder, playbook, result))

    return run


@pytest.fixture(params=["on a dict", "through the file", "as a batch in the database"])
def curate(request: pytest.FixtureRequest, folder: Path, project: Project) -> Callable[..., Outcome]:
    """Takes a sections dict through a list of operations; section, name, text and counters of each point after it."""

    def run(playbook: dict[str, Any], *operations: Any) -> Outcome:
        playbook = copy.deepcopy(playbook)
        if request.param == "on a dict":
            return outcome_of(update_playbook_data(playbook, {"operations": list(operations)}))
        if request.param == "through the file":
            return outcome_of(after_a_session(folder, playbook, {"operations": list(operations)}))
        return after_a_batch(project, playbook, list(operations))

    return run
