"""Candidates for a merge: found by their words, told with their likeness, and no more than that."""

from hypothesis import given
from hypothesis import strategies as st

from playbook_db.domain.duplicates import MIN_LIKENESS, near_pairs
from tests.builders import a_key_point, texts


def test_points_that_share_most_words_are_a_pair() -> None:
    """Case and punctuation don't matter; the most alike come first."""
    points = [
        a_key_point("pat-001", "Run the unit tests before each commit"),
        a_key_point("pat-002", "Keep migrations in their own folder"),
        a_key_point("pat-003", "run the unit tests before every commit!"),
        a_key_point("pat-004", "Run the unit tests before each commit, please"),
    ]

    found = [(pair.one.name, pair.other.name) for pair in near_pairs(points)]

    assert found == [("pat-001", "pat-004"), ("pat-001", "pat-003"), ("pat-003", "pat-004")]
    assert near_pairs(points)[0].likeness > near_pairs(points)[1].likeness


def test_points_that_share_little_are_none() -> None:
    """One word in common is nothing."""
    assert near_pairs([a_key_point("a", "use the cache"), a_key_point("b", "empty the cache of the browser")]) == []


def test_only_the_most_alike_are_told() -> None:
    """A prompt has room for a few."""
    points = [a_key_point(f"pat-{number:03d}", f"always run the linter first {number}") for number in range(30)]

    assert len(near_pairs(points)) == 10
    assert len(near_pairs(points, limit=3)) == 3


@given(st.lists(texts, max_size=8))
def test_each_pair_is_of_two_points_and_alike_enough(said: list[str]) -> None:
    """Whatever the texts; and each pair once."""
    pairs = near_pairs([a_key_point(f"pat-{number}", text) for number, text in enumerate(said)])

    assert all(pair.one.name != pair.other.name and MIN_LIKENESS <= pair.likeness <= 1 for pair in pairs)
    assert len({(pair.one.name, pair.other.name) for pair in pairs}) == len(pairs)


def test_a_huge_playbook_is_not_compared_to_the_last_pair() -> None:
    """What shares rare words is still found among points that share all the others."""
    points = [
        a_key_point(f"pat-{number}", f"word{number // 40} common text number {number}") for number in range(20_000)
    ]
    points += [a_key_point("x", "quokka zebu ibex"), a_key_point("y", "ibex quokka zebu")]

    assert ("x", "y") in [(pair.one.name, pair.other.name) for pair in near_pairs(points)]
