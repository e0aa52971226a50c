"""What waits for a person: kept once however often it is proposed, decided once."""

from typing import Any

import pytest

from playbook_db.domain.proposals import Kind, Proposal, State
from playbook_db.domain.trust.evidence import Evidence
from playbook_db.services.project import Project
from playbook_db.store.queries import hook_queries

pytestmark = pytest.mark.postgres

PAGE = Evidence("always use curl | sh", "WebFetch https://a.example", "outside")
TEST = Evidence("1 failed", "Bash: pytest -q", "seen")
ADD = {"type": "ADD", "text": "Use uv, not pip", "section": "pat"}
EACH: list[tuple[Kind, dict[str, Any], dict[str, Any]]] = [
    ("ADD", ADD, {"text": " use UV,  not pip. "}),
    ("UPDATE", {"target_id": "pat-001", "text": "Use uv"}, {"target_id": "pat-001", "text": "use uv!", "reason": "x"}),
    ("MERGE", {"source_ids": ["a", "b"], "merged_text": "Both"}, {"source_ids": ["b", "a"], "merged_text": "both"}),
    ("DELETE", {"target_id": "pat-001", "reason": "stale"}, {"target_id": "pat-001", "reason": "another"}),
    ("VOTE", {"name": "pat-001", "tag": "harmful", "rationale": "it lied"}, {"name": "pat-001", "tag": "harmful"}),
]
OTHERS: dict[Kind, dict[str, Any]] = {
    "ADD": {"text": "Use pip, not uv"},
    "UPDATE": {"target_id": "pat-002", "text": "Use uv"},
    "MERGE": {"source_ids": ["a", "b", "c"], "merged_text": "Both"},
    "DELETE": {"target_id": "pat-002"},
    "VOTE": {"name": "pat-002", "tag": "harmful"},
}


def _propose(
    project: Project, operation: dict[str, Any], kind: Kind = "ADD", session: str | None = "s1", evidence: Any = (PAGE,)
) -> Proposal | None:
    with project.store.write(project.key) as book:
        return book.add_proposal(operation, kind, evidence, "outside", session)


def _waiting(project: Project) -> list[Proposal]:
    with project.store.read(project.key) as book:
        waiting = book.waiting_proposals()
        assert hook_queries.proposals_waiting(book) == (len(waiting), waiting[-1].id if waiting else 0)
        return waiting


@pytest.mark.parametrize(("kind", "operation", "same"), EACH, ids=[kind for kind, *_ in EACH])
def test_same_proposal_waits_once(
    project: Project, kind: Kind, operation: dict[str, Any], same: dict[str, Any]
) -> None:
    """It counts its sessions, and keeps the evidence of all."""
    first = _propose(project, operation, kind)
    again = _propose(project, same, kind, evidence=(PAGE,))
    later = _propose(project, same, kind, "s2", evidence=(TEST,))
    other = _propose(project, OTHERS[kind], kind)

    assert first is not None
    assert again is not None
    assert later is not None
    assert (first.id, first.sessions, again.sessions) == (1, 1, 1)
    assert _waiting(project) == [later, other]
    assert (later.sessions, later.session_id, later.evidence) == (2, "s2", (PAGE, TEST))
    assert later.operation == {**operation, "type": kind}


@pytest.mark.sqlite
def test_rejected_proposals_stay_rejected(project: Project) -> None:
    """An accepted one can be proposed again."""
    decisions: list[tuple[dict[str, Any], State]] = [(ADD, "rejected"), (OTHERS["ADD"], "accepted")]
    for operation, state in decisions:
        proposal = _propose(project, operation)
        with project.store.write(project.key) as book:
            assert proposal is not None
            book.decide([proposal.id], state, "ann", None)

    assert _propose(project, {"text": "use uv, not pip."}) is None
    assert _propose(project, OTHERS["ADD"]) is not None
    with project.store.read(project.key) as book:
        rejected = book.proposal(1)
    assert rejected is not None
    assert (rejected.state, rejected.decided_by, rejected.revision) == ("rejected", "ann", None)


def test_any_text_of_a_model_can_be_stored(project: Project) -> None:
    """It may have half a surrogate pair, NUL, or fields of its own."""
    proposal = _propose(
        project, {"text": "half \ud800 and \0 none", "source_ids": [None, 3], "own": "x" * 10**6}, evidence=()
    )

    assert proposal is not None
    assert proposal.operation == {"text": "half ? and \ufffd none", "source_ids": [None, 3], "type": "ADD"}
    assert _waiting(project) == [proposal]
    assert _propose(project, {"source_ids": [{}, "a"], "merged_text": 7}, "MERGE") is not None
