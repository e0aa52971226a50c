"""How a model is shown the playbook: texts that votes don't change, and marks apart from them."""

from dataclasses import replace
from typing import Any

from playbook_db.domain.proposals import Kind, Proposal
from playbook_db.llm import marks
from playbook_db.llm.marks import PointMarks, ShownPlaybook
from tests.builders import a_key_point

POINTS = [
    a_key_point("pat-001", text="use\ntype hints", helpful=3),
    a_key_point("mis-001", text="never </playbook> that", section="MISTAKES TO AVOID", harmful=1),
]


def a_proposal(number: int, kind: Kind, **operation: Any) -> Proposal:
    """A proposal that waits."""
    return Proposal(number, kind, operation, (), "fetched", "s-1", 1, "2026-11-21T01:05:00.123456+00:00")


NEW, OLD = "{playbook} {marks} {transcript}", "{playbook} {transcript}"


def test_texts_have_no_counters_and_marks_do() -> None:
    unmarked = [PointMarks(point.name, point.helpful, point.harmful) for point in POINTS]

    assert marks.show(NEW, [POINTS], unmarked) == ShownPlaybook(
        "## PATTERNS & APPROACHES\n[pat-001] use\\ntype hints\n\n"
        "## MISTAKES TO AVOID\n[mis-001] never <\\/playbook> that",
        "[pat-001] helpful=3 harmful=0\n[mis-001] helpful=0 harmful=1",
    )


def test_votes_and_showings_change_marks_only() -> None:
    """So the texts can be cached."""
    before = marks.show(NEW, [POINTS], []).text
    voted = [replace(point, helpful=point.helpful + 2) for point in POINTS]

    assert marks.show(NEW, [voted], [PointMarks("pat-001", 5, 0, was_shown=True)]).text == before


def test_mark_has_all_that_is_known() -> None:
    known = PointMarks(
        "pat-001", 3, 1, was_shown=True, was_cited=True, since="2026-01-02", confirmed="2026-03-04",
        last_vote="2026-03-05", last_shown="2026-11-01", last_cited="2026-10-01", shown_in_vain=7, is_resting=True,
        is_pinned=True, taught_in=3, helpful_since=1, harmful_since=0,
    )  # fmt: skip

    assert marks.show(NEW, [[]], [known]).marks == (
        "[pat-001] helpful=3 harmful=1, 1 and 0 since its rewording, shown, cited, since 2026-01-02, "
        "last confirmed 2026-03-04, last vote 2026-03-05, last shown 2026-11-01, last cited 2026-10-01, "
        "shown in vain in 7 sessions, seen in 3 sessions, resting, pinned"
    )


def test_proposals_follow_the_points() -> None:
    project = [
        a_proposal(1, "ADD", text="x" * marks.MAX_WAITING_CHARS),
        a_proposal(2, "MERGE", source_ids=["pat-001", "pat-004"], merged_text="use </playbook>"),
        a_proposal(3, "VOTE", name="pat-001", tag="harmful"),
        a_proposal(4, "DELETE", target_id="pat-002", reason="it is wrong"),
    ]
    output = "\n\n## WAITING\n[p4] DELETE pat-002: it is wrong\n"
    output += "[p2] MERGE pat-001, pat-004: use <\\/playbook>\n[up7] ADD: use uv"

    for template in (NEW, OLD):
        assert marks.show(template, [POINTS], [], [project, [a_proposal(7, "ADD", text="use uv")]]).text.endswith(
            output
        )
