"""Changes of a draft: operations of the curator, votes, pruning."""

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playbook_db.domain.draft import Draft
from playbook_db.domain.operations import (
    MAX_OPERATIONS,
    TAGS,
    apply_new_points,
    apply_operations,
    cast_votes,
    is_harmful,
    prune,
    read_votes,
    unknown_sections,
)
from playbook_db.domain.playbook import MAX_NAME_LENGTH, Playbook, Vote
from tests.builders import a_draft, a_key_point, few_texts, json_values, playbooks_of_few_texts

_TWO_DIFFERENT = "`source_ids` must name two different points that exist"

PATTERNS, MISTAKES, OTHERS = "PATTERNS & APPROACHES", "MISTAKES TO AVOID", "OTHERS"
some_names = st.sampled_from(["pat-001", "pat-002", "kpt_001", "kpt_002", "oth-001", "oth-003", "mis-004"])
operation_dicts = st.fixed_dictionaries(
    {"type": st.sampled_from(["ADD", "UPDATE", "MERGE", "DELETE"]) | json_values},
    optional={
        "text": few_texts | json_values,
        "merged_text": few_texts | json_values,
        "target_id": some_names | json_values,
        "source_ids": st.lists(some_names | json_values, max_size=4) | json_values,
        "section": st.sampled_from([PATTERNS, "others", "nowhere"]) | json_values,
        "reason": json_values,
    },
)
batches = st.lists(operation_dicts | json_values, max_size=MAX_OPERATIONS)


def three_points() -> Draft:
    """A draft with points in two sections, of which each has votes."""
    return a_draft(
        a_key_point("pat-001", "use type hints", helpful=5, harmful=1),
        a_key_point("pat-002", "annotate returns", helpful=3, harmful=2),
        a_key_point("mis-001", "globals", section=MISTAKES, helpful=1, harmful=1),
    )


def reasons(draft: Draft, *operations: object) -> list[str]:
    """Why each of *operations* was skipped, in order."""
    return [item.reason for item in apply_operations(draft, operations)]


# --- ADD ---


def test_added_point_is_new_and_has_no_votes() -> None:
    """It gets the section's next name and 0/0, at the end of its section."""
    draft = three_points()

    skipped = apply_operations(draft, [{"type": "ADD", "text": " use structured logging\n", "section": PATTERNS}])

    assert skipped == ()
    assert draft.playbook().content[2] == ("pat-003", "use structured logging", PATTERNS, 0, 0)


@pytest.mark.parametrize(
    ("fields", "section", "name"),
    [
        ({"section": "mistakes to avoid "}, MISTAKES, "mis-002"),
        ({"section": "SOMETHING ELSE"}, OTHERS, "oth-001"),
        ({"section": ""}, OTHERS, "oth-001"),
        ({"section": None}, OTHERS, "oth-001"),
        ({"section": 5}, OTHERS, "oth-001"),
        ({}, OTHERS, "oth-001"),
    ],
)
def test_section_of_an_added_point_is_resolved(fields: dict[str, Any], section: str, name: str) -> None:
    """Without case; missing, empty or unknown ones mean OTHERS."""
    draft = three_points()

    apply_operations(draft, [{"type": "ADD", "text": "new", **fields}])

    assert draft[name].section == section


@pytest.mark.parametrize("text", ["globals", " GLOBALS. "])
def test_text_that_is_there_already_is_not_added(text: str) -> None:
    """Anywhere in the playbook, up to what makes no difference."""
    draft = three_points()

    assert reasons(draft, {"type": "ADD", "text": text, "section": PATTERNS}) == ["the playbook says this already"]
    assert draft.changes == []


def test_same_text_twice_in_a_batch_is_added_once() -> None:
    """The second sees what the first did."""
    draft = three_points()
    add = {"type": "ADD", "text": "new"}

    assert reasons(draft, add, dict(add)) == ["the playbook says this already"]
    assert [change.point.name for change in draft.changes] == ["oth-001"]


def test_text_of_a_point_that_left_may_be_added_again() -> None:
    """Only live points say something; the name is a new one."""
    draft = three_points()

    skipped = apply_operations(
        draft, [{"type": "DELETE", "target_id": "mis-001"}, {"type": "ADD", "text": "globals", "section": MISTAKES}]
    )

    assert skipped == ()
    assert "mis-001" not in draft
    assert draft["mis-002"].text == "globals"


@pytest.mark.parametrize("text", [None, "", "  ", 5, ["new"], "half \ud800"])
@pytest.mark.parametrize(
    ("operation", "key"),
    [
        ({"type": "ADD"}, "text"),
        ({"type": "UPDATE", "target_id": "pat-001"}, "text"),
        ({"type": "MERGE", "source_ids": ["pat-001", "pat-002"]}, "merged_text"),
    ],
)
def test_operation_without_a_usable_text_is_skipped(operation: dict[str, Any], key: str, text: object) -> None:
    """Missing, blank, no string, no Unicode: the reason names the field."""
    draft = three_points()

    (reason,) = reasons(draft, {**operation, key: text})

    assert reason.startswith(f"`{key}`: a text must")
    assert draft.changes == []


# --- UPDATE ---


def test_update_changes_the_text_and_nothing_else() -> None:
    """Name, counters, section and place stay."""
    draft = three_points()

    apply_operations(draft, [{"type": "UPDATE", "target_id": "pat-001", "text": " type all ", "section": OTHERS}])

    assert draft.playbook().content[0] == ("pat-001", "type all", PATTERNS, 5, 1)
    assert [(change.kind, change.reworded) for change in draft.changes] == [("edit", True)]


def test_update_to_the_same_text_is_skipped() -> None:
    """Nothing would change, and the curator hears so."""
    draft = three_points()

    assert reasons(draft, {"type": "UPDATE", "target_id": "mis-001", "text": "globals "}) == [
        "mis-001 has this text already"
    ]


# --- MERGE ---


def test_merged_point_has_the_summed_votes_and_its_sources_leave() -> None:
    """The new name is made before the sources leave, so it is none of theirs; they say who took over."""
    draft = three_points()

    skipped = apply_operations(
        draft,
        [{"type": "MERGE", "source_ids": ["pat-001", "pat-002"], "merged_text": " annotate all ", "section": PATTERNS}],
    )

    assert skipped == ()
    assert draft.playbook().content == (
        ("pat-003", "annotate all", PATTERNS, 8, 3),
        ("mis-001", "globals", MISTAKES, 1, 1),
    )
    assert [(c.kind, c.point.name, c.reason, c.successor) for c in draft.changes] == [
        ("add", "pat-003", "merged from pat-001, pat-002", None),
        ("retire", "pat-001", "merged into pat-003", "pat-003"),
        ("retire", "pat-002", "merged into pat-003", "pat-003"),
    ]


@pytest.mark.parametrize(
    ("fields", "section"),
    [
        ({"section": "user preferences"}, "USER PREFERENCES"),
        ({"section": "nowhere"}, MISTAKES),
        ({"section": " "}, MISTAKES),
        ({"section": None}, MISTAKES),
        ({}, MISTAKES),
    ],
)
def test_merged_point_goes_to_the_section_given_else_to_that_of_the_first_existing_source(
    fields: dict[str, Any], section: str
) -> None:
    """A name that doesn't exist is passed over when the first is looked for."""
    draft = three_points()
    merge = {"type": "MERGE", "source_ids": ["pat-999", "mis-001", "pat-001"], "merged_text": "both", **fields}

    apply_operations(draft, [merge])

    assert [point.section for point in draft.points() if point.text == "both"] == [section]


def test_source_named_twice_counts_once() -> None:
    """Its votes must not be doubled."""
    draft = three_points()

    apply_operations(draft, [{"type": "MERGE", "source_ids": ["pat-001", "pat-001", "pat-002"], "merged_text": "all"}])

    assert (draft["pat-003"].helpful, draft["pat-003"].harmful) == (8, 3)


def test_sources_that_do_not_exist_are_passed_over() -> None:
    """Two that do are enough; what is no name is no source."""
    draft = three_points()

    skipped = apply_operations(
        draft,
        [{"type": "MERGE", "source_ids": ["pat-999", "pat-001", None, {"a": 1}, "mis-001"], "merged_text": "all"}],
    )

    assert skipped == ()
    assert [point.name for point in draft.points()] == ["pat-002", "pat-003"]


@pytest.mark.parametrize(
    ("source_ids", "reason"),
    [
        (None, "`source_ids` must list two points or more"),
        ([], "`source_ids` must list two points or more"),
        (["pat-001"], "`source_ids` must list two points or more"),
        ("pat-001", "`source_ids` must list two points or more"),
        ({"pat-001": 1, "pat-002": 1}, "`source_ids` must list two points or more"),
        (
            ["pat-001", "pat-001"],
            f"{_TWO_DIFFERENT} (found: pat-001; missing: none)",
        ),
        (
            ["pat-001", "pat-9"],
            f"{_TWO_DIFFERENT} (found: pat-001; missing: pat-9)",
        ),
        (["x", 5], f"{_TWO_DIFFERENT} (found: none; missing: x, 5)"),
    ],
)
def test_merge_of_fewer_than_two_different_points_is_skipped(source_ids: object, reason: str) -> None:
    """The reason says which one there is."""
    draft = three_points()

    assert reasons(draft, {"type": "MERGE", "source_ids": source_ids, "merged_text": "all"}) == [reason]
    assert draft.changes == []


# --- DELETE ---


@pytest.mark.parametrize(
    ("fields", "reason"),
    [({"reason": "outdated"}, "outdated"), ({}, "deleted"), ({"reason": " "}, "deleted"), ({"reason": 7}, "deleted")],
)
def test_deleted_point_is_retired_with_the_reason(fields: dict[str, Any], reason: str) -> None:
    """It leaves the playbook, but stays in the history, and its name stays used."""
    draft = three_points()

    apply_operations(draft, [{"type": "DELETE", "target_id": "mis-001", **fields}])

    (change,) = draft.changes
    assert (change.kind, change.point.text, change.reason) == ("retire", "globals", reason)
    assert "mis-001" not in draft
    assert draft.is_used("mis-001")


@pytest.mark.parametrize("kind", ["DELETE", "UPDATE"])
@pytest.mark.parametrize(
    ("target", "reason"),
    [
        (None, "no `target_id`"),
        ("", "no `target_id`"),
        (5, "no `target_id`"),
        (["pat-001"], "no `target_id`"),
        ("pat-999", "there is no point pat-999"),
        ("PAT-001", "there is no point PAT-001"),
    ],
)
def test_operation_on_a_point_that_is_not_there_is_skipped(kind: str, target: object, reason: str) -> None:
    """Names are exact, and a missing one is told from an unknown one."""
    assert reasons(three_points(), {"type": kind, "target_id": target, "text": "new"}) == [reason]


# --- batches ---


@pytest.mark.parametrize(
    ("operation", "reason"),
    [
        (None, "not an object"),
        ("ADD", "not an object"),
        (["ADD", "new"], "not an object"),
        ({}, "no `type`"),
        ({"type": None, "text": "new"}, "no `type`"),
        ({"type": "", "text": "new"}, "no `type`"),
        ({"type": "add", "text": "new"}, "unknown type 'add'; it must be one of ADD, UPDATE, MERGE, DELETE"),
        ({"type": ["ADD"], "text": "new"}, "unknown type ['ADD']; it must be one of ADD, UPDATE, MERGE, DELETE"),
    ],
)
def test_operation_that_is_none_is_skipped_and_the_others_are_carried_out(operation: object, reason: str) -> None:
    """Types are case-sensitive; the skipped one comes back with its place, itself and the reason."""
    draft = three_points()

    (skipped,) = apply_operations(draft, [{"type": "ADD", "text": "a"}, operation, {"type": "ADD", "text": "b"}])

    assert (skipped.index, skipped.item, skipped.reason) == (1, operation, reason)
    assert [change.point.text for change in draft.changes] == ["a", "b"]


def test_batch_holds_ten_operations() -> None:
    """The first ten are carried out, whatever becomes of them; the rest is skipped and said to be."""
    draft = three_points()
    batch = [{"type": "NONE"}, *({"type": "ADD", "text": f"tip {number}"} for number in range(11))]

    skipped = apply_operations(draft, batch)

    assert [change.point.text for change in draft.changes] == [f"tip {number}" for number in range(9)]
    assert [(item.index, item.reason) for item in skipped[1:]] == [
        (10, "a batch holds at most 10 operations"),
        (11, "a batch holds at most 10 operations"),
    ]


def test_each_operation_sees_what_the_earlier_ones_left() -> None:
    """A point may be added, reworded, merged and deleted in one batch; one that left can't be hit again."""
    draft = three_points()

    skipped = apply_operations(
        draft,
        [
            {"type": "ADD", "text": "a", "section": PATTERNS},
            {"type": "UPDATE", "target_id": "pat-003", "text": "b"},
            {"type": "MERGE", "source_ids": ["pat-003", "pat-001"], "merged_text": "c"},
            {"type": "DELETE", "target_id": "pat-001"},
            {"type": "MERGE", "source_ids": ["pat-004", "pat-003", "pat-002"], "merged_text": "d"},
            {"type": "DELETE", "target_id": "mis-001"},
        ],
    )

    assert [(item.index, item.reason) for item in skipped] == [(3, "there is no point pat-001")]
    assert draft.playbook().content == (("pat-005", "d", PATTERNS, 8, 3),)


def test_order_of_the_list_decides() -> None:
    """The same operations in another order have another outcome."""
    delete, update = {"type": "DELETE", "target_id": "mis-001"}, {"type": "UPDATE", "target_id": "mis-001", "text": "x"}

    assert reasons(three_points(), update, delete) == []
    assert reasons(three_points(), delete, update) == ["there is no point mis-001"]


def test_name_of_a_deleted_point_is_not_given_again() -> None:
    """Neither in the batch, nor if it left long ago."""
    draft = a_draft(a_key_point("pat-004"), spent=("pat-007",))

    apply_operations(
        draft, [{"type": "DELETE", "target_id": "pat-004"}, {"type": "ADD", "text": "new", "section": PATTERNS}]
    )

    assert [point.name for point in draft.points()] == ["pat-008"]


def test_flat_playbook_gets_legacy_names() -> None:
    """A flat file stays flat."""
    draft = a_draft(a_key_point("kpt_001", "a", section=OTHERS), a_key_point("kpt_002", "b", section=OTHERS), flat=True)

    apply_operations(
        draft,
        [{"type": "ADD", "text": "c"}, {"type": "MERGE", "source_ids": ["kpt_001", "kpt_002"], "merged_text": "ab"}],
    )

    assert [(point.name, point.text) for point in draft.points()] == [("kpt_003", "c"), ("kpt_004", "ab")]


@given(playbooks_of_few_texts(), batches)
def test_skipped_operations_leave_no_trace(playbook: Playbook, batch: list[Any]) -> None:
    """Any list is carried out without raising, and as if the skipped ones had never stood in it."""
    draft, without = Draft(playbook), Draft(playbook)

    skipped = apply_operations(draft, batch)
    left_out = [item.index for item in skipped]
    again = apply_operations(without, [item for index, item in enumerate(batch) if index not in left_out])

    assert again == ()
    assert without.changes == draft.changes
    assert [item.item for item in skipped] == [batch[index] for index in sorted(left_out)]


@given(playbooks_of_few_texts(), batches)
def test_no_operation_changes_what_was_counted_or_gives_a_name_twice(playbook: Playbook, batch: list[Any]) -> None:
    """Votes are summed by MERGE and leave by DELETE only; every added point has a name that nobody had."""
    draft = Draft(playbook)

    apply_operations(draft, batch)

    added = [change.point.name for change in draft.changes if change.kind == "add"]
    assert len({*added, *playbook.by_name}) == len(added) + len(playbook.points)
    deleted = [change.point for change in draft.changes if change.kind == "retire" and change.successor is None]
    for counter in ("helpful", "harmful"):
        kept = sum(getattr(point, counter) for point in draft.points())
        assert kept + sum(getattr(point, counter) for point in deleted) == sum(
            getattr(point, counter) for point in playbook.points
        )


# --- the older form of an answer, and sections ---


def test_new_points_are_texts_or_objects() -> None:
    """The older form of an answer lists them; each is added like an ADD."""
    draft = three_points()

    skipped = apply_new_points(draft, ["be brief", {"text": "ask first", "section": "user preferences"}])

    assert skipped == ()
    assert [(c.point.name, c.point.text) for c in draft.changes] == [("oth-001", "be brief"), ("pref-001", "ask first")]


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        (5, "not an object"),
        (None, "not an object"),
        (" ", "`text`: a text must not be blank"),
        ({}, "`text`: a text must be a string"),
        ("Globals", "the playbook says this already"),
    ],
)
def test_new_point_that_breaks_a_rule_is_skipped(entry: object, reason: str) -> None:
    """And never spoils the others."""
    draft = three_points()

    (skipped,) = apply_new_points(draft, [entry, "be brief"])

    assert (skipped.index, skipped.item, skipped.reason) == (0, entry, reason)
    assert [change.point.text for change in draft.changes] == ["be brief"]


@pytest.mark.parametrize("entries", [None, "be brief", {"text": "be brief"}, 5])
def test_new_points_that_are_no_list_add_nothing(entries: object) -> None:
    """Nothing is guessed at."""
    draft = three_points()

    assert apply_new_points(draft, entries) == ()
    assert draft.changes == []


def test_unknown_sections_are_told_with_their_operations() -> None:
    """Only those that were meant to be one: a missing section is nothing to report."""
    sections = ["NOWHERE", "others", None, "", 5, "NOWHERE", "pat"]

    told = unknown_sections(["ADD", *({"type": "ADD", "section": section} for section in sections), None, {}])

    assert told == ((1, "NOWHERE"), (5, "5"), (6, "NOWHERE"), (7, "pat"))


@pytest.mark.parametrize(
    "operation",
    [{"type": "DELETE", "target_id": "\ud800"}, {"type": "DELETE", "target_id": "pat-001", "reason": "\ud800"}],
)
def test_half_a_surrogate_pair_in_a_name_or_reason_spoils_no_batch(operation: dict[str, str]) -> None:
    """JSON can say it and no database can hold it: what is kept of it can be written."""
    draft = a_draft(a_key_point())

    skipped = apply_operations(draft, [operation])

    told = [*(item.reason for item in skipped), *(change.reason or "" for change in draft.changes)]
    assert len(told) == 1
    assert told[0].encode("utf-8")


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
    votes, skipped = read_votes([{"name": "kpt_001", "tag": tag}])

    assert votes == []
    assert [item.reason for item in skipped] == ["`tag` must be one of helpful, harmful, neutral"]


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


def test_of_a_name_that_none_could_have_the_beginning_is_kept() -> None:
    """A model, or a file, may name anything; a server's index takes no more."""
    (taken,) = cast_votes(a_draft(), [Vote("鱼" * 5000, "helpful")])

    assert taken.name == "鱼" * MAX_NAME_LENGTH


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
    votes, skipped = read_votes(
        [
            {"name": "pat-001", "tag": "helpful", "rationale": "Applied correctly"},
            {"name": "mis-001", "tag": "harmful", "rationale": 5},
            {"name": "pref-001", "tag": "neutral"},
        ]
    )

    assert skipped == ()
    assert votes == [
        Vote("pat-001", "helpful", "Applied correctly"),
        Vote("mis-001", "harmful"),
        Vote("pref-001", "neutral"),
    ]


def test_key_of_the_tag_is_the_callers() -> None:
    """Evaluations say `rating` where the reflector says `tag`."""
    evaluations = [{"name": "pat-001", "rating": "helpful"}, {"name": "pat-001", "tag": "helpful"}]

    votes, skipped = read_votes(evaluations, tag_key="rating")

    assert votes == [Vote("pat-001", "helpful")]
    assert [(item.index, item.reason[:8]) for item in skipped] == [(1, "`rating`")]


def test_null_is_no_votes() -> None:
    """A model that has nothing to tag may say null."""
    assert read_votes(None) == read_votes([]) == ([], ())


@pytest.mark.parametrize("raw", ["helpful", {"name": "pat-001", "tag": "helpful"}, 5, True])
def test_votes_that_are_no_list_are_skipped_as_a_whole(raw: object) -> None:
    """What isn't a list isn't guessed at, and it is told."""
    votes, skipped = read_votes(raw)

    assert votes == []
    assert [(item.item, item.reason) for item in skipped] == [(raw, "the votes are not a list")]


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
    votes, skipped = read_votes([{"name": "pat-001", "tag": "helpful"}, item, {"name": "pat-002", "tag": "harmful"}])

    assert [vote.name for vote in votes] == ["pat-001", "pat-002"]
    assert [(each.index, each.item, each.reason) for each in skipped] == [(1, item, reason)]


@given(st.lists(json_values | st.fixed_dictionaries({"name": st.just("pat-001"), "tag": st.sampled_from(TAGS)})))
def test_every_item_is_a_vote_or_skipped(raw: list[object]) -> None:
    """Whatever stands in the list, nothing is lost and nothing raised."""
    votes, skipped = read_votes(raw)

    assert len(votes) + len(skipped) == len(raw)
    assert all(raw[each.index] is each.item for each in skipped)


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
