"""Votes and operations of the models: which ones count, wait or become a note."""

from typing import Any

import pytest

from playbook_db.domain.operations import split_tags
from playbook_db.domain.playbook import KeyPoint, Playbook, playbook_of
from playbook_db.domain.sections import SLUG_SECTIONS
from playbook_db.domain.trust.evidence import Place
from playbook_db.domain.trust.judging import (
    JudgedOperations,
    Review,
    judge_operations,
    judge_tags,
    texts_to_mark,
)

_USER = Place("user", "the user", "Please mend the booking clash, and always run make reset-db first.")
_TESTS = Place("seen", "Bash: pytest -q", "E   AssertionError: booking 7 clashes\n1 failed, 3 passed in 0.12s")
_PAGE = Place("outside", "WebFetch: https://example.org", "The library returns 409 where two bookings clash at night.")
_PLAYBOOK = playbook_of(
    [
        KeyPoint("pat-001", "run the tests first", SLUG_SECTIONS["pat"]),
        KeyPoint("pat-002", "write the failing pytest first", SLUG_SECTIONS["pat"]),
    ]
)
_WISH = "always run make reset-db first"
_CLASH = "1 failed, 3 passed in 0.12s"
_NIGHT = "The library returns 409 where two bookings clash at night."


def _tag(name: str, tag: str, *evidence: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "tag": tag, "rationale": "so it was", "evidence": list(evidence), **more}


def _judged(playbook: Playbook, raw: list[Any], places: list[Place], review: Review) -> JudgedOperations:
    judged, own = judge_operations([playbook, Playbook(is_users=True)], raw, places, review)
    assert own == JudgedOperations()
    return judged


def test_tag_counts_if_the_session_had_the_point() -> None:
    """Otherwise it becomes a note."""
    tags = [_tag("pat-001", "helpful"), _tag("pat-002", "helpful", _CLASH)]

    judged = judge_tags(_PLAYBOOK, tags, {"pat-001"}, [_USER, _TESTS], "fetched")

    assert [vote.name for vote in judged.votes] == ["pat-001"]
    assert [(note.index, note.item) for note in judged.notes] == [(1, tags[1])]
    assert "neither shown pat-002 nor cited it" in judged.notes[0].reason


def test_vote_keeps_its_evidence() -> None:
    tag = _tag("pat-001", "harmful", _WISH, ignored=True)

    (vote,) = judge_tags(_PLAYBOOK, [tag], {"pat-001"}, [_USER, _TESTS], "fetched").votes

    assert vote.ignored
    assert [(one.quote, one.place, one.trust) for one in vote.evidence] == [(_WISH, "the user", "user")]


def test_doubtful_harmful_vote_is_proposed() -> None:
    """A doubtful helpful vote is a note."""
    tags = [_tag("pat-001", "harmful", _CLASH), _tag("pat-002", "helpful", _NIGHT)]

    judged = judge_tags(_PLAYBOOK, tags, {"pat-001", "pat-002"}, [_USER, _TESTS, _PAGE], "fetched")

    assert not judged.votes
    ((operation, trust),) = [(each.operation, each.trust) for each in judged.proposed]
    assert (operation["name"], operation["doubt"], trust) == ("pat-001", f"the session read {_PAGE.label}", "outside")
    assert [note.reason for note in judged.notes] == ["a note: a quote is from outside"]


def test_invalid_tag_is_a_note() -> None:
    judged = judge_tags(
        _PLAYBOOK, ["pat-001", {"name": 3}, _tag("pat-001", "neutral")], {"pat-001"}, [_USER], "fetched"
    )

    assert [(vote.name, vote.tag) for vote in judged.votes] == [("pat-001", "neutral")]
    assert [note.index for note in judged.notes] == [0, 1]


_ADD = {"type": "ADD", "text": "Run make reset-db before the tests.", "section": "OTHERS"}


@pytest.mark.parametrize(
    ("operation", "quote", "counts"),
    [
        (_ADD, _WISH, True),
        (_ADD, _CLASH, False),
        ({"type": "UPDATE", "target_id": "pat-001", "text": "reset the db twice"}, _WISH, True),
        ({"type": "MERGE", "source_ids": ["pat-001", "pat-002"], "merged_text": "pytest goes ahead"}, _CLASH, False),
        ({"type": "MERGE", "source_ids": ["pat-001", "pat-003"], "merged_text": "run the tests first"}, "", True),
        ({"type": "DELETE", "target_id": "pat-004", "reason": "no use"}, "Please mend the booking clash", True),
        ({"type": "DELETE", "target_id": "pat-001", "reason": "no use"}, _CLASH, False),
    ],
)
def test_operation_counts_by_its_evidence(operation: dict[str, Any], quote: str, *, counts: bool) -> None:
    """Equal points can become one without evidence."""
    same = KeyPoint("pat-003", "Tests first: run", SLUG_SECTIONS["pat"])
    playbook = playbook_of([*_PLAYBOOK.points, same, KeyPoint("pat-004", "bookings clash", SLUG_SECTIONS["pat"])])

    judged = _judged(playbook, [{**operation, "evidence": [quote]}], [_USER, _TESTS], "fetched")

    assert len(judged.counting) == counts
    assert [bool(each.operation["doubt"]) for each in judged.proposed] == [True] * (not counts)


def test_risky_or_unmarked_text_waits() -> None:
    texts = ["make reset-db first", "make reset-db as root", "make reset-db last", "clashes are fine"]
    raw = [{**_ADD, "text": text, "evidence": [_WISH]} for text in texts]
    unmarked = judge_operations([_PLAYBOOK], raw, [_USER], "fetched")
    marks = {texts[0]: False, texts[1]: True}

    (judged,) = judge_operations([_PLAYBOOK], raw, [_USER], "fetched", marks)

    assert texts_to_mark(unmarked) == texts[:3]
    assert [each["text"] for each in judged.counting] == texts[:1]
    assert [(each.operation["text"], each.operation["doubt"]) for each in judged.proposed][:2] == [
        (texts[1], "marked as risky"), (texts[2], "not checked for risk yet"),
    ]  # fmt: skip
    assert len(judge_operations([_PLAYBOOK], raw, [_USER], "none", {})[0].counting) == 4


def test_review_may_be_all_or_none() -> None:
    trusted, bare = {**_ADD, "evidence": [_WISH]}, {**_ADD, "text": "another thing", "evidence": []}

    everything, nothing = (_judged(_PLAYBOOK, [trusted, bare], [_USER, _TESTS], review) for review in ("all", "none"))

    assert (len(everything.proposed), len(everything.counting)) == (2, 0)
    assert (len(nothing.proposed), len(nothing.counting)) == (0, 2)


def test_invalid_operation_is_never_proposed() -> None:
    operations = [
        {"type": "DELETE", "target_id": "pat-404", "evidence": []},
        {**_ADD, "text": "Run the tests first.", "evidence": []},
        "nonsense",
        *[{**_ADD, "text": f"reset {number}", "evidence": [_WISH]} for number in range(9)],
    ]

    judged = _judged(_PLAYBOOK, operations, [_USER, _TESTS], "fetched")

    assert [each.index for each in judged.skipped] == [0, 1, 2, 10, 11]
    assert not judged.proposed
    assert len(judged.counting) == 7


def test_session_votes_once_on_a_point() -> None:
    """A tool of the session may have voted before."""
    tags = [_tag("pat-001", "helpful"), _tag("pat-002", "helpful")]

    judged = judge_tags(_PLAYBOOK, tags, {"pat-001", "pat-002"}, [_USER], "fetched", {"pat-001"})

    assert [vote.name for vote in judged.votes] == ["pat-002"]
    assert ["has voted on pat-001 itself" in note.reason for note in judged.notes] == [True]


def test_vote_after_a_page_needs_related_evidence() -> None:
    places, about = [_USER, _TESTS, _PAGE], "Please mend the booking clash"
    playbook = playbook_of([KeyPoint("pat-001", "a booking never collides", SLUG_SECTIONS["pat"])])
    for quote, counts in ((about, True), (_CLASH, False)):
        vote = _tag("pat-001", "helpful", quote)

        assert bool(judge_tags(playbook, [vote], {"pat-001"}, places, "fetched").votes) is counts


_OWN = Playbook((KeyPoint("upref-001", "answer briefly", SLUG_SECTIONS["pref"]),), is_users=True)


@pytest.mark.parametrize(
    ("quotes", "is_own"), [([_WISH], True), ([_CLASH], False), ([_WISH, _CLASH], True), ([], False)],
    ids=["the user's words", "a test's", "both", "none"],
)  # fmt: skip
def test_only_the_users_words_make_personal_points(quotes: list[str], is_own: bool) -> None:
    wish = {**_ADD, "scope": "user", "evidence": quotes}

    judged, own = judge_operations([_PLAYBOOK, _OWN], [wish], [_USER, _TESTS], "fetched")

    assert bool(own.proposed) is is_own
    assert bool(judged.counting or judged.proposed) is not is_own
    assert all("scope" not in each.operation for each in own.proposed)


@pytest.mark.parametrize("review", ["all", "fetched", "none"])
def test_changes_of_personal_points_are_proposed(review: Any) -> None:
    given = [
        {"type": "UPDATE", "target_id": "upref-001", "text": "answer in a sentence", "evidence": [_WISH]},
        {"type": "DELETE", "target_id": "upref-001", "reason": "no use", "evidence": [_WISH]},
        {"type": "MERGE", "source_ids": ["pat-001", "upref-001"], "merged_text": "both", "evidence": [_WISH]},
        {"type": "DELETE", "target_id": "upref-404", "reason": "no use", "evidence": [_WISH]},
    ]

    judged, own = judge_operations([_PLAYBOOK, _OWN], given, [_USER, _TESTS], review)

    assert [each.operation["type"] for each in own.proposed] == ["UPDATE", "DELETE"]
    assert [each.index for each in own.skipped] == [2, 3]
    assert not judged.counting + judged.proposed + judged.skipped


@pytest.mark.parametrize("is_empty", [False, True])
def test_tags_go_to_the_playbook_of_their_name(is_empty: bool) -> None:
    tags: list[Any] = [_tag("upref-001", "helpful"), _tag("pat-001", "helpful"), "upref-001", {"tag": "helpful"}]

    split = split_tags([_PLAYBOOK, Playbook(is_users=True) if is_empty else _OWN], tags)

    assert split == ([tags, []] if is_empty else [tags[1:], tags[:1]])
