"""What counts of what the models say: by what the session had, and by where its evidence stands."""

from dataclasses import replace
from typing import Any

import pytest

from playbook_db.domain.playbook import KeyPoint, Playbook, playbook_of
from playbook_db.domain.sections import SLUG_SECTIONS
from playbook_db.domain.trust.evidence import Place
from playbook_db.domain.trust.judging import JudgedOperations, Review, judge_operations, judge_tags, split_tags

_USER = Place("user", "the user", "Please mend the booking clash, and always run make reset-db first.")
_TESTS = Place("tests", "Bash: pytest -q", "E   AssertionError: booking 7 clashes\n1 failed, 3 passed in 0.12s")
_PAGE = Place("fetched", "WebFetch: https://example.org", "The library returns 409 where two bookings clash at night.")
_NOTE = "The schema comes first, then its tests."
_FILE = Place("files", "NOTES.md", f"# How we work\n{_NOTE}")
_SHELL = Place("fetched", "Bash: git push", "Everything up-to-date")
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
    """What counts for a project whose user has no points of their own."""
    judged, own = judge_operations([playbook, Playbook(is_users=True)], raw, places, review)
    assert own == JudgedOperations()
    return judged


def test_a_tag_counts_for_a_point_that_the_session_had() -> None:
    """One on another point is kept as a note."""
    tags = [_tag("pat-001", "helpful"), _tag("pat-002", "helpful", _CLASH)]

    judged = judge_tags(_PLAYBOOK, tags, {"pat-001"}, [_USER, _TESTS], "fetched")

    assert [vote.name for vote in judged.votes] == ["pat-001"]
    assert [(note.index, note.item) for note in judged.notes] == [(1, tags[1])]
    assert "neither shown pat-002 nor cited it" in judged.notes[0].reason


def test_a_vote_keeps_its_evidence_and_whether_the_point_was_ignored() -> None:
    """With the place that we found it in, whatever the model says of it."""
    tag = _tag("pat-001", "harmful", _WISH, ignored=True)

    (vote,) = judge_tags(_PLAYBOOK, [tag], {"pat-001"}, [_USER, _TESTS], "fetched").votes

    assert vote.ignored
    assert [(one.quote, one.place, one.trust) for one in vote.evidence] == [(_WISH, "the user", "user")]


@pytest.mark.parametrize(
    ("evidence", "read"),
    [((), []), ((_CLASH,), []), (("a line that is nowhere in it",), []), ((_WISH,), [_PAGE])],
    ids=["none", "a test's", "made up", "beside a page"],
)
def test_a_harmful_vote_counts_by_the_users_words_alone(evidence: tuple[str, ...], read: list[Place]) -> None:
    """Otherwise it is proposed."""
    judged = judge_tags(
        _PLAYBOOK, [_tag("pat-001", "harmful", *evidence)], {"pat-001"}, [_USER, _TESTS, *read], "fetched"
    )

    assert not judged.votes
    assert [(each.operation["type"], each.operation["name"]) for each in judged.proposed] == [("VOTE", "pat-001")]


@pytest.mark.parametrize(
    ("evidence", "read", "review", "counts"),
    [
        ((_NOTE,), [], "fetched", True),
        ((_NOTE, _WISH), [_SHELL], "fetched", True),
        ((_NOTE, _CLASH), [], "fetched", False),
        ((_NOTE, "a line that is nowhere in it"), [], "fetched", False),
        ((_NOTE,), [_PAGE], "fetched", False),
        ((_NOTE,), [replace(_SHELL, text="pat-001 is wrong")], "fetched", False),
        ((_NOTE,), [replace(_SHELL, text=_NOTE)], "fetched", False),
        ((_NOTE,), [], "all", False),
    ],
    ids=["files", "beside the user", "beside a test", "made up", "a page", "the name", "said elsewhere", "all asked"],
)
def test_a_harmful_vote_by_files_counts_as_a_weak_one(
    evidence: tuple[str, ...], read: list[Place], review: Review, counts: bool
) -> None:
    """Otherwise it is proposed: with a test or a text from outside, if a fetched text names the point or the words."""
    places = [_USER, _TESTS, _FILE, *read]

    judged = judge_tags(_PLAYBOOK, [_tag("pat-001", "harmful", *evidence)], {"pat-001"}, places, review)

    assert [vote.is_weak for vote in judged.votes] == [True] * counts
    assert len(judged.proposed) == (not counts)


def test_only_harmful_votes_by_files_are_weak() -> None:
    """Neither helpful ones nor those by the user's words, nor any where the user wants no review."""
    tags = [_tag("pat-001", "harmful", _WISH), _tag("pat-002", "helpful", _NOTE)]
    had, places = {"pat-001", "pat-002"}, [_USER, _FILE]

    asked = judge_tags(_PLAYBOOK, tags, had, places, "fetched")
    unasked = judge_tags(_PLAYBOOK, [_tag("pat-001", "harmful", _NOTE)], had, places, "none")

    assert [vote.is_weak for vote in (*asked.votes, *unasked.votes)] == [False, False, False]


def test_a_helpful_vote_needs_evidence_where_the_session_read_pages() -> None:
    """A page may say of any point that it helped."""
    tags = [_tag("pat-001", "helpful"), _tag("pat-002", "helpful", _CLASH)]
    had = {"pat-001", "pat-002"}

    with_pages, without = (judge_tags(_PLAYBOOK, tags, had, each, "fetched") for each in ([_TESTS, _PAGE], [_TESTS]))

    assert [vote.name for vote in with_pages.votes] == ["pat-002"]
    assert len(with_pages.notes) == 1
    assert [vote.name for vote in without.votes] == ["pat-001", "pat-002"]


def test_what_is_no_tag_is_a_note_and_spoils_nothing() -> None:
    """As a model gives it that makes a slip."""
    judged = judge_tags(
        _PLAYBOOK, ["pat-001", {"name": 3}, _tag("pat-001", "neutral")], {"pat-001"}, [_USER], "fetched"
    )

    assert [(vote.name, vote.tag) for vote in judged.votes] == [("pat-001", "neutral")]
    assert [note.index for note in judged.notes] == [0, 1]


_ADD = {"type": "ADD", "text": "Run make reset-db before the tests.", "section": "OTHERS"}


@pytest.mark.parametrize(
    "operation",
    [
        _ADD,
        {"type": "UPDATE", "target_id": "pat-001", "text": "run the tests twice"},
    ],
    ids=lambda operation: operation["type"],
)
def test_an_operation_counts_by_its_lowest_evidence(operation: dict[str, Any]) -> None:
    """Whatever it is; without any, it is proposed."""
    places = [_USER, _TESTS]
    good, bad, none = (
        _judged(_PLAYBOOK, [{**operation, "evidence": quotes}], [*places, *read], "fetched")
        for quotes, read in (([_CLASH], []), ([_CLASH, _NIGHT], [_PAGE]), ([], []))
    )

    assert good.counting == [{**operation, "evidence": [_CLASH]}]
    assert [one.trust for one in good.evidence[0]] == ["tests"]
    assert not good.proposed
    for judged in (bad, none):
        assert not judged.counting
        ((proposed, trust),) = [(dict(each.operation), each.trust) for each in judged.proposed]
        assert ({**operation, "doubt": proposed["doubt"]}, "fetched") == (proposed, trust)


@pytest.mark.parametrize(
    "operation",
    [
        {"type": "MERGE", "source_ids": ["pat-001", "pat-002"], "merged_text": "tests first"},
        {"type": "DELETE", "target_id": "pat-001", "reason": "no use"},
    ],
    ids=lambda operation: operation["type"],
)
def test_what_takes_points_away_counts_by_the_users_words_alone(operation: dict[str, Any]) -> None:
    """Where nothing was fetched; a page can have a test fail, or the user complain."""
    for quotes, read, counts in (
        ([_WISH], [], True),
        ([_WISH], [_PAGE], False),
        ([_CLASH], [], False),
        ([_WISH, _CLASH], [], False),
    ):
        judged = _judged(_PLAYBOOK, [{**operation, "evidence": quotes}], [_USER, _TESTS, *read], "fetched")

        assert bool(judged.counting) is counts
        assert bool(judged.proposed) is not counts


def test_review_may_be_asked_for_all_or_nothing() -> None:
    """As the user sets it."""
    trusted, bare = {**_ADD, "evidence": [_CLASH]}, {**_ADD, "text": "another thing", "evidence": []}

    everything, nothing = (_judged(_PLAYBOOK, [trusted, bare], [_USER, _TESTS], review) for review in ("all", "none"))

    assert (len(everything.proposed), len(everything.counting)) == (2, 0)
    assert (len(nothing.proposed), len(nothing.counting)) == (0, 2)


def test_what_breaks_a_rule_is_skipped_and_never_proposed() -> None:
    """A person is asked about what could be done alone."""
    operations = [
        {"type": "DELETE", "target_id": "pat-404", "evidence": []},
        {**_ADD, "text": "Run the tests first.", "evidence": []},
        "nonsense",
        *[{**_ADD, "text": f"thing {number}", "evidence": [_CLASH]} for number in range(9)],
    ]

    judged = _judged(_PLAYBOOK, operations, [_USER, _TESTS], "fetched")

    assert [each.index for each in judged.skipped] == [0, 1, 2, 10, 11]
    assert not judged.proposed
    assert len(judged.counting) == 7


def test_a_point_that_the_session_voted_on_itself_gets_no_second_vote_of_it() -> None:
    """By its tools, while it ran; what was learned from it afterwards is on record as a note."""
    tags = [_tag("pat-001", "helpful"), _tag("pat-002", "helpful")]

    judged = judge_tags(_PLAYBOOK, tags, {"pat-001", "pat-002"}, [_USER], "fetched", {"pat-001"})

    assert [vote.name for vote in judged.votes] == ["pat-002"]
    assert ["has voted on pat-001 itself" in note.reason for note in judged.notes] == [True]


def test_a_tag_on_a_name_that_no_point_has_counts_nothing_and_is_on_record() -> None:
    """As a vote that met no point, as ever."""
    judged = judge_tags(_PLAYBOOK, [_tag("pat-777", "helpful")], set(), [_USER], "fetched")

    assert [vote.name for vote in judged.votes] == ["pat-777"]
    assert not judged.notes


def test_a_vote_is_judged_by_the_points_text() -> None:
    """Beside a page, evidence has to speak of it."""
    places, about = [_USER, _TESTS, _PAGE], "Please mend the booking clash"
    playbook = playbook_of([KeyPoint("pat-001", "a booking never clashes", SLUG_SECTIONS["pat"])])
    for quote, counts in ((about, True), (_CLASH, False)):
        vote = _tag("pat-001", "helpful", quote)

        assert bool(judge_tags(playbook, [vote], {"pat-001"}, places, "fetched").votes) is counts


def test_a_proposal_says_what_a_page_may_have_to_do_with_it() -> None:
    """Where the evidence is the user's own, so that it alone wouldn't tell."""
    operation = {"type": "ADD", "text": _NIGHT, "section": "OTHERS", "evidence": ["mend the booking clash"]}

    (proposed,) = _judged(_PLAYBOOK, [operation], [_USER, _PAGE], "fetched").proposed

    assert proposed.evidence[0].trust == "user"
    assert proposed.operation["doubt"].startswith("WebFetch: https://example.org says ")


def test_a_proposal_to_take_a_point_away_says_which_page_has_the_points_words() -> None:
    """The operation has none of its own."""
    playbook = playbook_of([KeyPoint("pat-001", _NIGHT, SLUG_SECTIONS["pat"])])
    removal = {"type": "DELETE", "target_id": "pat-001", "reason": "no use", "evidence": ["mend the booking clash"]}

    (proposed,) = _judged(playbook, [removal], [_USER, _PAGE], "fetched").proposed

    assert proposed.operation["doubt"].startswith("WebFetch: https://example.org says ")


_OWN = Playbook((KeyPoint("upref-001", "answer briefly", SLUG_SECTIONS["pref"]),), is_users=True)


@pytest.mark.parametrize(
    ("quotes", "is_own"), [([_WISH], True), ([_CLASH], False), ([_WISH, _CLASH], True), ([], False)],
    ids=["the user's words", "a test's", "both, where the user's carry it", "none"],
)  # fmt: skip
def test_only_the_users_own_words_speak_for_all_projects(quotes: list[str], is_own: bool) -> None:
    """What rests on anything else is for the project, by its rules."""
    wish = {**_ADD, "scope": "user", "evidence": quotes}

    judged, own = judge_operations([_PLAYBOOK, _OWN], [wish], [_USER, _TESTS], "fetched")

    assert bool(own.proposed) is is_own
    assert bool(judged.counting or judged.proposed) is not is_own
    assert all("scope" not in each.operation for each in own.proposed)


@pytest.mark.parametrize("review", ["all", "fetched", "none"])
def test_what_would_change_the_users_own_points_is_always_proposed(review: Any) -> None:
    """By the names that an operation has; what breaks a rule is skipped there, too."""
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
def test_tags_go_to_the_users_own_playbook_by_the_name_if_it_has_points(is_empty: bool) -> None:
    """All others, and what is no tag, are for the project."""
    tags: list[Any] = [_tag("upref-001", "helpful"), _tag("pat-001", "helpful"), "upref-001", {"tag": "helpful"}]

    split = split_tags([_PLAYBOOK, Playbook(is_users=True) if is_empty else _OWN], tags)

    assert split == ([tags, []] if is_empty else [tags[1:], tags[:1]])
