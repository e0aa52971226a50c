"""Which key points leave the playbook because their votes say they harm."""

import pytest
from hypothesis import given

from playbook_db.domain.draft import Draft
from playbook_db.domain.operations import is_harmful, prune
from playbook_db.domain.playbook import Playbook
from tests.builders import a_draft, a_key_point, playbooks_of_few_texts


@pytest.mark.parametrize(
    ("helpful", "harmful", "leaves"),
    [
        (0, 0, False),
        (0, 2, False),
        (0, 3, True),
        (1, 4, True),
        (10, 4, False),
        (3, 3, False),
        (5, 6, True),
        (0, 100, True),
        (2, 3, True),
        (4, 3, False),
        (0, 1, False),
    ],
)
def test_point_leaves_only_with_three_harmful_votes_and_more_than_helpful_ones(
    helpful: int, harmful: int, leaves: bool
) -> None:
    """The decision table of the scoring contract: both conditions, not one of them."""
    point = a_key_point(helpful=helpful, harmful=harmful)
    draft = a_draft(point)

    left = prune(draft)

    assert is_harmful(point) == leaves
    assert [gone.name for gone in left] == (["pat-001"] if leaves else [])
    assert ("pat-001" in draft) != leaves


def test_pruned_points_are_retired_with_their_votes_as_the_reason() -> None:
    """A point that leaves can be looked up: it is retired, never erased, and its name stays used."""
    draft = a_draft(a_key_point(helpful=1, harmful=4))

    prune(draft)

    (change,) = draft.changes
    assert (change.kind, change.point.name, change.reason) == ("retire", "pat-001", "pruned: 4 harmful, 1 helpful")
    assert draft.is_used("pat-001")


@given(playbooks_of_few_texts())
def test_pruning_takes_the_harmful_points_and_leaves_the_others_as_they_are(playbook: Playbook) -> None:
    """What leaves and what stays is the whole playbook, each in canonical order; pruning again takes nothing."""
    draft = Draft(playbook)

    left = prune(draft)

    assert left == tuple(point for point in playbook.points if is_harmful(point))
    assert draft.playbook().points == tuple(point for point in playbook.points if not is_harmful(point))
    assert prune(draft) == ()
