"""Points with the same advice: equal, similar and near ones."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.quality.duplicates import SPLITS, alike, read_pairs, recall_and_precision
from playbook_db.domain.draft import Draft
from playbook_db.domain.duplicates import (
    DEFAULT_THRESHOLD,
    MIN_LIKENESS,
    candidates,
    fold_similar,
    names_in,
    near_pairs,
    near_points,
    words_of,
)
from playbook_db.domain.playbook import KeyPoint, Playbook, normalised, playbook_of
from tests.builders import a_draft, a_key_point, key_point_lists, playbooks_of_few_texts

numbered_points = key_point_lists(of=st.integers(0, 20).map(str), votes=st.integers(0, 5))


def nearness(one: KeyPoint, other: KeyPoint) -> float:
    """1 if both texts are the same number, 0 for numbers 10 or more apart."""
    return max(0.0, 1 - abs(int(one.text) - int(other.text)) / 10)


def votes_of(playbook: Playbook) -> tuple[int, int]:
    return sum(point.helpful for point in playbook.points), sum(point.harmful for point in playbook.points)


def _fold_equal(draft: Draft) -> tuple[KeyPoint, ...]:
    return fold_similar(draft, lambda one, other: normalised(one.text) == normalised(other.text), threshold=1.0)


def test_equal_texts_become_the_first_point() -> None:
    draft = a_draft(
        a_key_point("oth-001", "use ruff", section="OTHERS", helpful=1, harmful=2),
        a_key_point("pat-001", "Use  Ruff.", helpful=3, harmful=1),
        a_key_point("pat-002", "use mypy"),
    )

    folded = _fold_equal(draft)

    assert [point.name for point in folded] == ["oth-001"]
    assert draft.playbook().content == (
        ("pat-001", "Use  Ruff.", "PATTERNS & APPROACHES", 4, 3),
        ("pat-002", "use mypy", "PATTERNS & APPROACHES", 0, 0),
    )
    left = draft.changes[-1]
    assert (left.kind, left.point.name, left.reason, left.successor) == (
        "retire", "oth-001", "duplicate of pat-001", "pat-001",
    )  # fmt: skip


def test_near_texts_stay_apart() -> None:
    draft = a_draft(a_key_point("pat-001", "use X, not Y"), a_key_point("pat-002", "use Y, not X"))

    assert _fold_equal(draft) == ()
    assert draft.changes == []


@given(playbooks_of_few_texts())
def test_folding_leaves_no_equal_texts_and_all_votes(playbook: Playbook) -> None:
    draft = Draft(playbook)
    firsts = {normalised(point.text): point.name for point in reversed(playbook.points)}

    folded = _fold_equal(draft)

    after = draft.playbook()
    assert [p.name for p in after.points] == [p.name for p in playbook.points if p.name in firsts.values()]
    assert all(playbook.by_name[p.name].text == p.text for p in after.points)
    assert votes_of(after) == votes_of(playbook)
    assert len(folded) + len(after.points) == len(playbook.points)
    assert _fold_equal(Draft(after)) == ()


def test_similar_points_become_the_first() -> None:
    draft = a_draft(a_key_point("pat-001", "0", helpful=1), a_key_point("pat-002", "2", helpful=2, harmful=1))

    assert fold_similar(draft, nearness, threshold=0.81) == ()
    folded = fold_similar(draft, nearness, threshold=0.8)

    assert [point.name for point in folded] == ["pat-002"]
    assert [(p.name, p.text, p.helpful, p.harmful) for p in draft.points()] == [("pat-001", "0", 3, 1)]


@pytest.mark.parametrize(
    ("chain", "left"),
    [(["0", "1", "2", "3", "4", "5", "6"], ["0", "2", "4", "6"]), (["0", "1", "5", "2", "3"], ["0", "5", "2"])],
)
def test_chain_of_neighbors_is_not_one_point(chain: list[str], left: list[str]) -> None:
    """A folded point is similar to the point that stays."""
    draft = a_draft(*(a_key_point(f"pat-{number:03d}", text) for number, text in enumerate(chain, 1)))

    fold_similar(draft, nearness, threshold=0.9)

    assert [point.text for point in draft.points()] == left


@pytest.mark.parametrize(
    ("threshold", "left"),
    [(7.0, ["0", "1", "20"]), (1.0, ["0", "1", "20"]), (-3.0, ["0"]), (float("nan"), ["0", "20"])],
)
def test_threshold_is_between_0_and_1(threshold: float, left: list[str]) -> None:
    draft = a_draft(*(a_key_point(f"pat-{n:03d}", text) for n, text in enumerate(["0", "0", "1", "20"], 1)))

    fold_similar(draft, nearness, threshold=threshold)

    assert [point.text for point in draft.points()] == left


def test_default_threshold_is_documented() -> None:
    assert DEFAULT_THRESHOLD == 0.85


@given(numbered_points, st.sampled_from([0.7, 0.8, 0.9, 1.0]) | st.floats(0, 1))
def test_folding_keeps_votes_and_the_threshold(points: list[KeyPoint], threshold: float) -> None:
    playbook = playbook_of(points)
    draft = Draft(playbook)

    folded = fold_similar(draft, nearness, threshold=threshold)

    left = draft.playbook()
    pairs = [(one, other) for one in left.points for other in left.points if one.name != other.name]
    assert all(nearness(one, other) < threshold for one, other in pairs)
    into = {change.point.name: str(change.successor) for change in draft.changes if change.kind == "retire"}
    assert sorted(into) == sorted(point.name for point in folded)
    assert all(nearness(playbook.by_name[name], left.by_name[kept]) >= threshold for name, kept in into.items())
    assert votes_of(left) == votes_of(playbook)
    assert all(playbook.by_name[p.name].text == p.text for p in left.points)


def test_points_with_the_same_words_are_a_pair() -> None:
    """The most similar pair is first."""
    points = [
        a_key_point("pat-001", "Run the unit tests before each commit"),
        a_key_point("pat-002", "Keep migrations in their own folder"),
        a_key_point("pat-003", "run the unit tests before every commit!"),
        a_key_point("pat-004", "Run the unit tests before each commit, twice"),
    ]

    found = [(one.name, other.name) for one, other, _ in near_pairs(points)]

    assert found == [("pat-001", "pat-003"), ("pat-001", "pat-004"), ("pat-003", "pat-004")]
    assert [likeness for _, _, likeness in near_pairs(points)] == [1, 3 / 4, 3 / 4]
    assert near_pairs([a_key_point("a", "use the cache"), a_key_point("b", "empty the cache of the browser")]) == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Commit: commits, committing", {"comm"}),
        ("pytest -x, not --exitfirst", {"pyte", "-x", "exit"}),
        ("uv on port 10001", {"uv", "port", "10001"}),
        ("Do not use it!", {"do", "not", "use", "it"}),
        ("...", set()),
    ],
)
def test_words_are_compared_by_their_beginning(text: str, words: set[str]) -> None:
    """Numbers are compared as a whole. Common words count only if there are no others."""
    assert words_of(text) == words


def test_chinese_characters_are_words() -> None:
    assert near_points("使用 uv 安装依赖", [a_key_point("pat-001", "安装依赖时使用uv")])


def test_pairs_to_keep_apart_are_left_out() -> None:
    points = [a_key_point(f"pat-00{n}", f"always run the linter first {n}") for n in range(3)]

    found = near_pairs(points, apart=[("pat-001", "pat-000")], limit=2)

    assert [(one.name, other.name) for one, other, _ in found] == [("pat-000", "pat-002"), ("pat-001", "pat-002")]


def test_nearest_points_come_first() -> None:
    points = [
        a_key_point("pat-001", "Never write to the staging database"),
        a_key_point("pat-002", "Use uv, not pip, for packages"),
        a_key_point("pat-003", "pip breaks the lock file: install packages with uv"),
    ]

    found = near_points("Install packages with uv and not with pip", points)

    assert [point.name for point, _ in found] == ["pat-002", "pat-003"]
    assert found[0][1] > found[1][1]
    assert (
        len(near_points("run the linter first", [a_key_point(f"p-{n}", f"linter first {n}") for n in range(12)])) == 10
    )


def test_curator_gets_pairs_and_known_texts() -> None:
    points = [
        a_key_point("pat-001", "Never write to the staging database"),
        a_key_point("pat-002", "Use uv, not pip, for packages"),
        a_key_point("pat-003", "Packages come with uv, not with pip"),
    ]

    assert candidates(points, ["Answer in German", "The staging database is never written to"]) == (
        [("pat-002", "pat-003")],
        {1: ["pat-001"]},
    )
    assert candidates(points, apart=[("pat-003", "pat-002")]) == ([], {})


@pytest.mark.parametrize("split", SPLITS)
def test_paraphrases_are_found(split: str) -> None:
    """The bound was chosen without one half of these labeled pairs."""
    recall, precision = recall_and_precision(read_pairs(split), alike, MIN_LIKENESS)

    assert recall >= 0.95
    assert precision >= 0.7


@pytest.mark.nightly
@pytest.mark.slow
def test_rare_words_are_found_in_a_huge_playbook() -> None:
    points = [
        a_key_point(f"pat-{number}", f"word{number // 40} common text number {number}") for number in range(20_000)
    ]
    points += [a_key_point("x", "quokka zebu ibex"), a_key_point("y", "ibex quokka zebu")]

    found = near_pairs(points)

    assert [(one.name, other.name) for one, other, _ in found[:1]] == [("x", "y")]
    assert [point.name for point, _ in near_points("a zebu, an ibex and a quokka", points)] == ["x", "y"]


def test_points_named_by_a_lesson_are_found() -> None:
    lesson = {
        "text": "pat-001's advice is wrong",
        "cause": "[mis-002] is right",
        "again": "pref-1",
        "evidence": ["oth-1"],
    }

    assert names_in(lesson, ["mis-002", "pat-001", "pat-0010", "pref-1", "oth-1"]) == ["mis-002", "pat-001", "pref-1"]
    assert names_in(None, ["pat-001"]) == []
