"""The ways on which one scenario is played: on dicts of both layouts, through the file, and in the database."""

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from playbook_db import contract, settings
from playbook_db.contract import update_playbook_data
from playbook_db.services.project import Project
from playbook_db.store.engine import open_store
from tests.contract.playbooks import (
    LAYOUTS,
    Carried,
    Curate,
    Layout,
    Outcome,
    Session,
    a_dict,
    after_a_batch,
    after_a_session,
    by_json,
    by_name,
    outcome_of,
)
from tests.databases import KINDS, Kind


@pytest.fixture(autouse=True)
def _user_has_a_claude_folder(home: Path) -> None:
    """Claude Code has run before, and made its folder."""
    (home / ".claude").mkdir()


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
def curate(
    request: pytest.FixtureRequest, folder: Path, project: Project, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Curate]:
    """Takes a sections dict through a list of operations; section, name, text and counters of each point after it.

    Fails where the operations were not carried out or skipped but raised, which a rollback would hide.
    """
    raised: list[Exception] = []
    carry_out = contract._apply_curator_operations

    def watched(playbook: dict[str, Any], operations: list[Any]) -> dict[str, Any]:
        try:
            return carry_out(playbook, operations)
        except Exception as error:
            raised.append(error)
            raise

    monkeypatch.setattr(contract, "_apply_curator_operations", watched)

    def run(playbook: dict[str, Any], *operations: Any) -> Outcome:
        playbook = copy.deepcopy(playbook)
        if request.param == "on a dict":
            return outcome_of(update_playbook_data(playbook, {"operations": list(operations)}))
        if request.param == "through the file":
            return outcome_of(after_a_session(folder, playbook, {"operations": list(operations)}))
        return after_a_batch(project, playbook, list(operations))

    yield run
    assert raised == []


@pytest.fixture(
    params=[lambda playbook: playbook, copy.deepcopy, dict, by_json], ids=["itself", "deep", "dict", "json"]
)
def carried(request: pytest.FixtureRequest) -> Carried:
    """The ways on which a program may carry a loaded playbook to where it saves it."""
    return request.param


@pytest.fixture(autouse=True)
def _each_kind_of_database(database_kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What load_playbook() and save_playbook() use is the user's own file, or a database on a server."""
    if database_kind is not KINDS["sqlite"]:
        monkeypatch.setenv("PLAYBOOK_DB_URL", database_kind.new(tmp_path))


@pytest.fixture
def kept(folder: Path) -> Iterator[Project]:
    """The project in the database that load_playbook() and save_playbook() use."""
    with open_store(settings.database_url()) as store:
        yield Project.in_folder(store, str(folder))


@pytest.fixture
def plain_template(home: Path) -> None:
    """A template of the user's with next to nothing around the points."""
    prompts = home / ".claude" / "prompts"
    prompts.mkdir(parents=True)
    (prompts / "playbook.txt").write_text("<{key_points}>", encoding="utf-8")
