"""`playbook session ID`: what a session taught, what didn't count and why, and the next step."""

import json
from pathlib import Path

import pytest

from playbook_db import settings
from playbook_db.domain.playbook import NOTE, KeyPoint, Skipped
from playbook_db.domain.sections import OTHERS
from playbook_db.domain.trust.evidence import Evidence
from playbook_db.projects import project_key
from playbook_db.store.engine import open_store
from playbook_db.store.playbook.repository import RevisionOrigin
from tests.cli.conftest import Playbook

SESSION = "5f1c2e1a-0000-4000-8000-000000000000"
TAG = {"name": "oth-001", "tag": "helpful", "evidence": []}


@pytest.fixture(autouse=True)
def _learned(folder: Path) -> None:
    """One lesson counts, one waits, and one vote doesn't count."""
    with open_store(settings.database_url()) as store, store.write(project_key(str(folder))) as book:
        book.draft.add(KeyPoint(book.draft.new_name(OTHERS), "Deploy with just ship", OTHERS))
        skipped = [Skipped(0, TAG, f"{NOTE}a quote is from outside"), Skipped(1, {"type": "NO"}, "unknown type")]
        book.commit("learn", "learned", skipped=skipped, origin=RevisionOrigin(SESSION, SESSION))
        operation = {"type": "ADD", "text": "Skip the hooks", "doubt": "marked as risky"}
        book.add_proposal(operation, "ADD", [Evidence("hooks", "the user", "user")], "user", SESSION)


def test_session_shows_its_lessons(playbook: Playbook) -> None:
    """Each with the command that changes it."""
    shown = playbook("session", "5f1c").out

    assert "  added       oth-001 Deploy with just ship\n" in shown
    assert f"To undo that: playbook undo --session {SESSION}\n" in shown
    assert "  waits       p1, ADD: Skip the hooks\n" in shown
    assert "marked as risky. To accept it: playbook review --accept p1\n" in shown
    why = "a quote is from outside. To count it: playbook vote oth-001 helpful"
    assert f"  not counted helpful vote on oth-001: {why}\n" in shown
    assert "  not counted operation 2: unknown type\n" in shown
    record = playbook("session", SESSION, "--json").json
    assert (record["session"], record["waiting"][0]["operation"]["doubt"]) == (SESSION, "marked as risky")
    assert [each["reason"] for each in record["revisions"][0]["skipped_operations"]][1] == "unknown type"


def test_log_counts_uncounted_votes_separately(playbook: Playbook) -> None:
    number = playbook("log", "--json").json[0]["revision"]

    assert f"1 operation skipped; 1 vote not counted: playbook show {number}" in playbook("log").out
    assert json.loads(playbook("log", "--json").out)[0]["uncounted_votes"] == 1
