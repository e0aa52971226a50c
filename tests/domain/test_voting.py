"""Votes: which tags count, and what they do to the counters."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playbook_db.domain.draft import Draft
from playbook_db.domain.operations import TAGS, cast_votes, read_votes
from playbook_db.domain.playbook import Playbook, Vote
from tests.builders import a_draft, a_key_point, json_values, playbooks_of_few_texts

votes = st.lists(st.builds(Vote, st.sampled_from(["pat-001", "kpt_002", "oth-003", "pat-999"]), st.sampled_from(TAGS)))


@pytest.mark.parametrize(("tag", "helpful", "harmful"), [("helpful", 4, 1), ("harmful", 3, 2), ("neutral", 3, 1)])
def test_vote_raises_its_own_counter_by_one(tag: str, helpful: int, harmful: int) -> None:
    """`helpful` and `harmful` count one each, `neutral` nothing."""
    draft = a_draft(a_key_point("kpt_001", helpful=3, harmful=1))

    cast_votes(draft, [Vote("kpt_001", tag)])

    assert (draft["kpt_001"].helpful, draft["kpt_001"].harmful) == (helpful, harmful)


@pytest.mark.parametrize("tag", ["bogus", "HELPFUL", "", None, 1, ["helpful"], {}])
def test_unknown_tag_is_skipped_with_a_reason(tag: object) -> None:
    """Anything but the three tags counts nowhere, and it is said which ones there are."""
    ballot = read_votes([{"name": "kpt_001", "tag": tag}])

    assert ballot.votes == ()
    assert [item.reason for item in ballot.skipped] == ["`tag` must be one of helpful, harmful, neutral"]


def test_votes_reach_points_of_every_section() -> None:
    """A name is unique over the whole playbook, so a vote needs no section."""
    draft = a_draft(a_key_point(helpful=3, harmful=1), a_key_point("oth-001", section="OTHERS"))

    cast_votes(draft, [Vote("pat-001", "helpful"), Vote("oth-001", "harmful")])

    assert (draft["pat-001"].helpful, draft["oth-001"].harmful) == (4, 1)


def test_vote_for_an_unknown_name_comes_back_unmatched_and_counts_nowhere() -> None:
    """A phantom entry is no error; the caller can tell which votes were for one."""
    draft = a_draft(a_key_point())

    taken = cast_votes(draft, [Vote("pat-999", "helpful", "phantom"), Vote("pat-001", "neutral")])

    assert taken == (Vote("pat-999", "helpful", "phantom", matched=False), Vote("pat-001", "neutral", matched=True))
    assert draft.changes == []


def test_vote_for_a_point_that_has_left_hits_no_other() -> None:
    """A late vote finds nobody: the name isn't given again."""
    draft = a_draft(a_key_point("pat-002"), spent=("pat-001",))

    (taken,) = cast_votes(draft, [Vote("pat-001", "harmful")])

    assert not taken.matched
    assert draft["pat-002"].harmful == 0


def test_two_votes_for_a_point_both_count_and_make_one_change() -> None:
    """Nothing is deduplicated within a list, and the history shows one change of the point."""
    draft = a_draft(a_key_point())

    cast_votes(draft, [Vote("pat-001", "helpful"), Vote("pat-001", "helpful"), Vote("pat-001", "harmful")])

    (change,) = draft.changes
    assert (change.kind, change.point.helpful, change.point.harmful) == ("vote", 2, 1)
    assert not change.reworded


def test_votes_are_read_with_their_rationale() -> None:
    """All that the model said of a point is kept; a rationale that is no text is left out."""
    ballot = read_votes(
        [
            {"name": "pat-001", "tag": "helpful", "rationale": "Applied correctly"},
            {"name": "mis-001", "tag": "harmful", "rationale": 5},
            {"name": "pref-001", "tag": "neutral"},
        ]
    )

    assert ballot.skipped == ()
    assert ballot.votes == (
        Vote("pat-001", "helpful", "Applied correctly"),
        Vote("mis-001", "harmful"),
        Vote("pref-001", "neutral"),
    )


def test_key_of_the_tag_is_the_callers() -> None:
    """Evaluations say `rating` where the reflector says `tag`."""
    evaluations = [{"name": "pat-001", "rating": "helpful"}, {"name": "pat-001", "tag": "helpful"}]

    ballot = read_votes(evaluations, tag_key="rating")

    assert ballot.votes == (Vote("pat-001", "helpful"),)
    assert [(item.index, item.reason[:8]) for item in ballot.skipped] == [(1, "`rating`")]


def test_null_is_no_votes() -> None:
    """A model that has nothing to tag may say null."""
    assert read_votes(None) == read_votes([])
    assert read_votes(None).skipped == ()


@pytest.mark.parametrize("raw", ["helpful", {"name": "pat-001", "tag": "helpful"}, 5, True])
def test_votes_that_are_no_list_are_skipped_as_a_whole(raw: object) -> None:
    """What isn't a list isn't guessed at, and it is told."""
    ballot = read_votes(raw)

    assert ballot.votes == ()
    assert [(item.item, item.reason) for item in ballot.skipped] == [(raw, "the votes are no list")]


@pytest.mark.parametrize(
    ("item", "reason"),
    [
        (None, "a vote must be an object"),
        ("pat-001", "a vote must be an object"),
        (["pat-001", "helpful"], "a vote must be an object"),
        ({"tag": "helpful"}, "a vote must have a `name`"),
        ({"name": "", "tag": "helpful"}, "a vote must have a `name`"),
        ({"name": 1, "tag": "helpful"}, "a vote must have a `name`"),
        ({"id": "pat-001", "tag": "helpful"}, "a vote must have a `name`"),
        ({"name": "pat-001"}, "`tag` must be one of helpful, harmful, neutral"),
    ],
)
def test_vote_that_cannot_be_read_is_skipped_and_the_rest_counts(item: object, reason: str) -> None:
    """One bad entry spoils no other; its place and the reason are kept."""
    ballot = read_votes([{"name": "pat-001", "tag": "helpful"}, item, {"name": "pat-002", "tag": "harmful"}])

    assert [vote.name for vote in ballot.votes] == ["pat-001", "pat-002"]
    assert [(skipped.index, skipped.item, skipped.reason) for skipped in ballot.skipped] == [(1, item, reason)]


@given(st.lists(json_values | st.fixed_dictionaries({"name": st.just("pat-001"), "tag": st.sampled_from(TAGS)})))
def test_every_item_is_a_vote_or_skipped(raw: list[object]) -> None:
    """Whatever stands in the list, nothing is lost and nothing raised."""
    ballot = read_votes(raw)

    assert len(ballot.votes) + len(ballot.skipped) == len(raw)
    assert all(raw[skipped.index] is skipped.item for skipped in ballot.skipped)


@given(playbooks_of_few_texts(), votes)
def test_counters_grow_by_the_votes_of_their_point_and_by_nothing_else(playbook: Playbook, cast: list[Vote]) -> None:
    """Each counter gains as many votes as its point got of that tag; texts, order and all else stay."""
    draft = Draft(playbook)
    tally = Counter((vote.name, vote.tag) for vote in cast)

    taken = cast_votes(draft, cast)

    assert [(vote.name, vote.tag, vote.matched) for vote in taken] == [
        (vote.name, vote.tag, vote.name in playbook.by_name) for vote in cast
    ]
    assert draft.playbook().content == tuple(
        (name, text, section, helpful + tally[name, "helpful"], harmful + tally[name, "harmful"])
        for name, text, section, helpful, harmful in playbook.content
    )
    assert len(draft.changes) == len({change.point.name for change in draft.changes})
