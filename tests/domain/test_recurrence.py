"""What a session says again: which points it confirms, and which waiting points count then."""

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
    """A lesson that a point says already."""
    return {"text": "Round at the end.", "again": again, "evidence": [quote]}


def waiting(kind: Any = "ADD", **changed: Any) -> Proposal:
    """The waiting proposal p3 of the session s-1."""
    operation = {"type": kind, "text": "round prices late", **changed}
    return Proposal(3, kind, operation, (), OUTSIDE, "s-1", 1, "2026-11-21T01:05:00.123456+00:00")


def judged(*lessons: dict[str, Any], proposal: Proposal | None = None, **changed: Any) -> Recurrence:
    """What the lessons of the session s-2 say again."""
    given: dict[str, Any] = {"playbook": PLAYBOOK, "places": [SAID], "session": "s-2", "review": "fetched"}
    return judge_again(waiting=[proposal or waiting()], lessons=lessons, **given | changed)


def test_a_live_point_is_confirmed_once_on_evidence() -> None:
    """However many lessons name it, in brackets or not."""
    (vote,) = judged(a_lesson("pat-001"), a_lesson("[pat-001]")).votes

    assert (vote.name, vote.tag, vote.rationale) == ("pat-001", "again", "Round at the end.")
    assert [each.trust for each in vote.evidence] == [USER]


@pytest.mark.parametrize("lesson", [a_lesson("pat-009"), a_lesson("p4"), a_lesson("pat-001", "a page about tax"), {}])
def test_an_unknown_name_or_a_page_confirms_nothing(lesson: dict[str, Any]) -> None:
    """The curator sees such a lesson all the same."""
    assert judged(lesson, places=[SAID, PAGE]) == Recurrence()


def test_a_waiting_point_counts_when_another_session_says_it_again() -> None:
    """With the evidence of that session."""
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
def test_a_waiting_change_that_may_be_wrong_waits_on(proposal: Proposal, changed: dict[str, Any]) -> None:
    """It was said beside a page, it may be risky, or a person wants to see it. The session is counted."""
    found = judged(a_lesson(changed.pop("name", "p3")), proposal=proposal, **changed)

    assert (found.counting, [each.operation for each in found.proposed]) == ([], [proposal.operation])


def test_the_session_that_proposed_a_point_cannot_say_it_again() -> None:
    """It would confirm itself."""
    assert judged(a_lesson("p3"), session="s-1") == Recurrence()


def test_a_full_batch_leaves_no_space_for_what_waits() -> None:
    """It waits on. Votes on points that the session itself taught don't count."""
    tags, full = JudgedTags(), JudgedOperations(counting=[{}] * MAX_OPERATIONS)

    judged(a_lesson("pat-001"), a_lesson("p3")).add_to(tags, full, taught={"pat-001"})

    assert (tags.votes, full.counting, full.evidence) == ([], [{}] * MAX_OPERATIONS, [])


@pytest.mark.parametrize("marks", [{}, {"round prices late": True}])
def test_a_waiting_change_without_a_safe_mark_waits_on(marks: dict[str, bool]) -> None:
    """A model says which texts are risky; without an answer nothing counts."""
    found = judged(a_lesson("p3"), proposal=waiting())
    found.hold_back(marks)

    assert (found.counting, found.evidence, len(found.proposed)) == ([], [], 1)
