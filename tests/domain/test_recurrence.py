"""A session confirms points, and makes waiting proposals count."""

from typing import Any

import pytest

from playbook_db.domain.operations import MAX_OPERATIONS
from playbook_db.domain.playbook import Playbook, playbook_of
from playbook_db.domain.proposals import Proposal
from playbook_db.domain.trust.evidence import OUTSIDE, USER, Place
from playbook_db.domain.trust.judging import JudgedOperations, JudgedTags
from playbook_db.domain.trust.recurrence import Recurrence, judge_again
from tests.builders import a_key_point

PLAYBOOK = playbook_of([a_key_point("pat-001", text="round prices at the end")])
SAID = Place(USER, "the user's words", "please round prices at the end")
PAGE = Place(OUTSIDE, "WebFetch: https://docs.example", "a page about tax")


def a_lesson(again: str, quote: str = SAID.text) -> dict[str, Any]:
    return {"text": "Round at the end.", "again": again, "evidence": [quote]}


def waiting(kind: Any = "ADD", **changed: Any) -> Proposal:
    operation = {"type": kind, "text": "round prices late", **changed}
    return Proposal(3, kind, operation, (), OUTSIDE, "s-1", 1, "2026-11-21T01:05:00.123456+00:00")


def judged(*lessons: dict[str, Any], proposal: Proposal | None = None, **changed: Any) -> Recurrence:
    given: dict[str, Any] = {"playbook": PLAYBOOK, "places": [SAID], "session": "s-2", "review": "fetched"}
    return judge_again(waiting=[proposal or waiting()], lessons=lessons, **given | changed)


def test_session_confirms_a_point_once() -> None:
    (vote,) = judged(a_lesson("pat-001"), a_lesson("[pat-001]")).votes

    assert (vote.name, vote.tag, vote.rationale) == ("pat-001", "again", "Round at the end.")
    assert [each.trust for each in vote.evidence] == [USER]


@pytest.mark.parametrize("lesson", [a_lesson("pat-009"), a_lesson("p4"), a_lesson("pat-001", "a page about tax"), {}])
def test_unknown_name_or_page_confirms_nothing(lesson: dict[str, Any]) -> None:
    assert judged(lesson, places=[SAID, PAGE]) == Recurrence()


def test_second_session_makes_a_proposal_count() -> None:
    found = judged(a_lesson("p3"))

    assert found.counting == [{"type": "ADD", "text": "round prices late"}]
    assert [each.quote for each in found.evidence[0]] == [SAID.text]


@pytest.mark.parametrize(
    ("proposal", "changed"),
    [
        (waiting(), {"places": [SAID, PAGE]}),
        (waiting(doubt="marked as risky"), {}),
        (waiting("UPDATE", target_id="pat-001"), {}),
        (waiting(), {"review": "all"}),
        (waiting(), {"playbook": Playbook(is_users=True), "name": "up3"}),
    ],
)
def test_doubtful_proposal_keeps_waiting(proposal: Proposal, changed: dict[str, Any]) -> None:
    found = judged(a_lesson(changed.pop("name", "p3")), proposal=proposal, **changed)

    assert (found.counting, [each.operation for each in found.proposed]) == ([], [proposal.operation])


def test_session_cannot_confirm_its_own_proposal() -> None:
    assert judged(a_lesson("p3"), session="s-1") == Recurrence()


def test_full_batch_takes_no_proposal() -> None:
    """Votes on points that the session itself added don't count."""
    tags, full = JudgedTags(), JudgedOperations(counting=[{}] * MAX_OPERATIONS)

    judged(a_lesson("pat-001"), a_lesson("p3")).add_to(tags, full, taught={"pat-001"})

    assert (tags.votes, full.counting, full.evidence) == ([], [{}] * MAX_OPERATIONS, [])


@pytest.mark.parametrize("marks", [{}, {"round prices late": True}])
def test_proposal_without_a_safe_mark_waits(marks: dict[str, bool]) -> None:
    found = judged(a_lesson("p3"), proposal=waiting())
    found.hold_back(marks)

    assert (found.counting, found.evidence, len(found.proposed)) == ([], [], 1)
