"""undo and restore."""

from pathlib import Path

import pytest

from playbook_db import settings
from playbook_db.domain.playbook import KeyPoint
from playbook_db.domain.sections import OTHERS
from playbook_db.services.project import Project
from playbook_db.store.engine import open_store
from playbook_db.store.playbook.repository import RevisionOrigin
from tests.cli.conftest import Playbook


def test_dry_run_writes_nothing(playbook: Playbook) -> None:
    playbook("add", "use ruff")

    rehearsed = playbook("undo", "--dry-run").out.splitlines()
    assert rehearsed[1:] == ["retire    oth-001: revision 1 was undone", "dry run: nothing was changed"]
    assert playbook("undo").out.splitlines()[-1] == f"revision 2 of {Path.cwd()}"


@pytest.fixture
def taught(playbook: Playbook, folder: Path) -> Playbook:
    """Revisions 1, 2 and 4 are session s-1's."""
    with open_store(settings.database_url()) as store:
        key = Project.in_folder(store, str(folder)).key
        for session, text in (("s-1", "one"), ("s-1", "two"), ("t-2", "three"), ("s-1", "four")):
            with store.write(key) as book:
                book.draft.add(KeyPoint(book.draft.new_name(OTHERS), text, OTHERS))
                book.commit("learn", f"learned {text}", origin=RevisionOrigin(session, session))
    playbook("vote", "oth-002", "helpful")
    return playbook


def test_session_can_be_undone(taught: Playbook) -> None:
    """What others did stays."""
    undone = taught("undo", "--session", "s")

    assert [line for line in undone.out.splitlines() if line.startswith("undid")] == [
        "undid revision 4 (session s-1)",
        "undid revisions 1 to 2 (session s-1)",
    ]
    assert [point["text"] for point in taught("list", "--json").json] == ["three"]
    assert "nothing is left to undo from session s-1" in taught("undo", "--session", "s-1").out
    assert "`playbook undo 7` brings it back" in undone.err
    taught("undo", "7")
    assert [point["text"] for point in taught("list", "--json").json] == ["one", "two", "three"]
    assert taught("undo", "--session", "s-1", "--json").json[0]["undoes"] == {"first": 1, "last": 2}
