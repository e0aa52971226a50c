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
    """Two sections; each point has votes."""
    return a_draft(
        a_key_point("pat-001", "use type hints", helpful=5, harmful=1),
        a_key_point("pat-002", "annotate returns", helpful=3, harmful=2),
        a_key_point("mis-001", "globals", section=MISTAKES, helpful=1, harmful=1),
    )


def reasons(draft: Draft, *operations: object) -> list[str]:
    return [item.reason for item in apply_operations(draft, operations)]


def test_added_point_has_no_votes() -> None:
    """It is the last of its section."""
    draft = three_points()

    skipped = apply_operations(draft, [{"type": "ADD", "text": " use structured logging\n", "section": PATTERNS}])

    assert skipped == ()
    assert draft.playbook().content[2] == ("pat-003", "use structured logging", PATTERNS, 0, 0)


@pytest.mark.parametrize(
    ("fields", "section", "name"),
    [
        ({"section": "mistakes to avoid "}, MISTAKES, "mis-002"),
        ({"section": "SOMETHING ELSE"}, OTHERS, "oth-001"),
        ({"section": 5}, OTHERS, "oth-001"),
        ({}, OTHERS, "oth-001"),
    ],
)
def test_section_of_an_added_point(fields: dict[str, Any], section: str, name: str) -> None:
    draft = three_points()

    apply_operations(draft, [{"type": "ADD", "text": "new", **fields}])

    assert draft[name].section == section


@pytest.mark.parametrize("text", ["globals", " GLOBALS. "])
def test_known_text_is_not_added(text: str) -> None:
    draft = three_points()

    assert reasons(draft, {"type": "ADD", "text": text, "section": PATTERNS}) == ["the playbook says this already"]
    assert draft.changes == []


def test_retired_text_can_be_added_again() -> None:
    """The point gets a new name."""
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
def test_operation_without_a_text_is_skipped(operation: dict[str, Any], key: str, text: object) -> None:
    draft = three_points()

    (reason,) = reasons(draft, {**operation, key: text})

    assert reason.startswith(f"`{key}`: a text must")
    assert draft.changes == []


def test_update_changes_only_the_text() -> None:
    draft = three_points()

    apply_operations(draft, [{"type": "UPDATE", "target_id": "pat-001", "text": " type all ", "section": OTHERS}])

    assert draft.playbook().content[0] == ("pat-001", "type all", PATTERNS, 5, 1)
    assert [(change.kind, change.reworded) for change in draft.changes] == [("edit", True)]


def test_update_to_the_same_text_is_skipped() -> None:
    draft = three_points()

    assert reasons(draft, {"type": "UPDATE", "target_id": "mis-001", "text": "globals "}) == [
        "mis-001 has this text already"
    ]


def test_merge_sums_votes_and_retires_its_sources() -> None:
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
        ({}, MISTAKES),
    ],
)
def test_section_of_a_merged_point(fields: dict[str, Any], section: str) -> None:
    """Without a section, it is that of the first source that exists."""
    draft = three_points()
    merge = {"type": "MERGE", "source_ids": ["pat-999", "mis-001", "pat-001"], "merged_text": "both", **fields}

    apply_operations(draft, [merge])

    assert [point.section for point in draft.points() if point.text == "both"] == [section]


def test_double_source_counts_once() -> None:
    """An unknown one is ignored."""
    draft = three_points()

    apply_operations(
        draft, [{"type": "MERGE", "source_ids": ["pat-001", "pat-9", "pat-001", "pat-002"], "merged_text": "all"}]
    )

    assert (draft["pat-003"].helpful, draft["pat-003"].harmful) == (8, 3)


@pytest.mark.parametrize(
    ("source_ids", "reason"),
    [
        (None, "`source_ids` must list two points or more"),
        ("pat-001", "`source_ids` must list two points or more"),
        (["pat-001", "pat-001"], f"{_TWO_DIFFERENT} (found: pat-001; missing: none)"),
        (["pat-001", "pat-9"], f"{_TWO_DIFFERENT} (found: pat-001; missing: pat-9)"),
        (["x", 5], f"{_TWO_DIFFERENT} (found: none; missing: x, 5)"),
    ],
)
def test_merge_needs_two_points(source_ids: object, reason: str) -> None:
    draft = three_points()

    assert reasons(draft, {"type": "MERGE", "source_ids": source_ids, "merged_text": "all"}) == [reason]
    assert draft.changes == []


@pytest.mark.parametrize(
    ("fields", "reason"),
    [({"reason": "outdated"}, "outdated"), ({}, "deleted"), ({"reason": " "}, "deleted"), ({"reason": 7}, "deleted")],
)
def test_delete_retires_with_a_reason(fields: dict[str, Any], reason: str) -> None:
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
        (5, "no `target_id`"),
        ("pat-999", "there is no point pat-999"),
        ("PAT-001", "there is no point PAT-001"),
    ],
)
def test_operation_on_an_unknown_point_is_skipped(kind: str, target: object, reason: str) -> None:
    assert reasons(three_points(), {"type": kind, "target_id": target, "text": "new"}) == [reason]


@pytest.mark.parametrize(
    ("operation", "reason"),
    [
        (None, "not an object"),
        ("ADD", "not an object"),
        ({"type": None, "text": "new"}, "no `type`"),
        ({"type": "add", "text": "new"}, "unknown type 'add'; it must be one of ADD, UPDATE, MERGE, DELETE"),
    ],
)
def test_invalid_operation_is_skipped(operation: object, reason: str) -> None:
    draft = three_points()

    (skipped,) = apply_operations(draft, [{"type": "ADD", "text": "a"}, operation, {"type": "ADD", "text": "b"}])

    assert (skipped.index, skipped.item, skipped.reason) == (1, operation, reason)
    assert [change.point.text for change in draft.changes] == ["a", "b"]


def test_batch_has_ten_operations_at_most() -> None:
    """A skipped operation counts."""
    draft = three_points()
    batch = [{"type": "NONE"}, *({"type": "ADD", "text": f"tip {number}"} for number in range(11))]

    skipped = apply_operations(draft, batch)

    assert [change.point.text for change in draft.changes] == [f"tip {number}" for number in range(9)]
    assert [(item.index, item.reason) for item in skipped[1:]] == [
        (10, "a batch holds at most 10 operations"),
        (11, "a batch holds at most 10 operations"),
    ]


def test_operations_see_the_earlier_ones() -> None:
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


def test_flat_playbook_gets_legacy_names() -> None:
    draft = a_draft(a_key_point("kpt_001", "a", section=OTHERS), a_key_point("kpt_002", "b", section=OTHERS), flat=True)

    apply_operations(
        draft,
        [{"type": "ADD", "text": "c"}, {"type": "MERGE", "source_ids": ["kpt_001", "kpt_002"], "merged_text": "ab"}],
    )

    assert [(point.name, point.text) for point in draft.points()] == [("kpt_003", "c"), ("kpt_004", "ab")]


@given(playbooks_of_few_texts(), batches)
def test_skipped_operations_change_nothing(playbook: Playbook, batch: list[Any]) -> None:
    draft, without = Draft(playbook), Draft(playbook)

    skipped = apply_operations(draft, batch)
    left_out = [item.index for item in skipped]
    again = apply_operations(without, [item for index, item in enumerate(batch) if index not in left_out])

    assert again == ()
    assert without.changes == draft.changes
    assert [item.item for item in skipped] == [batch[index] for index in sorted(left_out)]


@given(playbooks_of_few_texts(), batches)
def test_operations_keep_votes_and_names_unique(playbook: Playbook, batch: list[Any]) -> None:
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


def test_new_points_are_texts_or_objects() -> None:
    """This is the older form of an answer."""
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
def test_invalid_new_point_is_skipped(entry: object, reason: str) -> None:
    draft = three_points()

    (skipped,) = apply_new_points(draft, [entry, "be brief"])

    assert (skipped.index, skipped.item, skipped.reason) == (0, entry, reason)
    assert [change.point.text for change in draft.changes] == ["be brief"]


def test_unknown_sections_are_reported() -> None:
    sections = ["NOWHERE", "others", None, "", 5, "NOWHERE", "pat"]

    output = unknown_sections(["ADD", *({"type": "ADD", "section": section} for section in sections), None, {}])

    assert output == ((1, "NOWHERE"), (5, "5"), (6, "NOWHERE"), (7, "pat"))


@pytest.mark.parametrize(
    "operation",
    [{"type": "DELETE", "target_id": "\ud800"}, {"type": "DELETE", "target_id": "pat-001", "reason": "\ud800"}],
)
def test_half_a_surrogate_pair_can_be_stored(operation: dict[str, str]) -> None:
    """A database accepts no half pair."""
    draft = a_draft(a_key_point())

    skipped = apply_operations(draft, [operation])

    output = [*(item.reason for item in skipped), *(change.reason or "" for change in draft.changes)]
    assert len(output) == 1
    assert output[0].encode("utf-8")


votes = st.lists(st.builds(Vote, st.sampled_from(["pat-001", "kpt_002", "oth-003", "pat-999"]), st.sampled_from(TAGS)))


@pytest.mark.parametrize(("tag", "helpful", "harmful"), [("helpful", 4, 1), ("harmful", 3, 2), ("neutral", 3, 1)])
def test_vote_raises_its_own_counter_by_one(tag: str, helpful: int, harmful: int) -> None:
    draft = a_draft(a_key_point("kpt_001", helpful=3, harmful=1))

    cast_votes(draft, [Vote("kpt_001", tag)])

    assert (draft["kpt_001"].helpful, draft["kpt_001"].harmful) == (helpful, harmful)


def test_vote_on_an_unknown_point_counts_nowhere() -> None:
    draft = a_draft(a_key_point())

    taken = cast_votes(draft, [Vote("pat-999", "helpful", "phantom"), Vote("pat-001", "neutral")])

    assert taken == (Vote("pat-999", "helpful", "phantom", matched=False), Vote("pat-001", "neutral", matched=True))
    assert draft.changes == []


def test_long_name_in_a_vote_is_cut() -> None:
    """A server's index accepts no longer name."""
    (taken,) = cast_votes(a_draft(), [Vote("鱼" * 5000, "helpful")])

    assert taken.name == "鱼" * MAX_NAME_LENGTH


def test_votes_are_read_with_their_rationale() -> None:
    votes, skipped = read_votes(
        [
            {"name": "pat-001", "tag": "helpful", "rationale": "Applied correctly"},
            {"name": "mis-001", "tag": "harmful", "rationale": 5},
        ]
    )

    assert skipped == ()
    assert votes == [
        Vote("pat-001", "helpful", "Applied correctly"),
        Vote("mis-001", "harmful"),
    ]


def test_evaluations_may_say_rating() -> None:
    evaluations = [{"name": "pat-001", "rating": "helpful"}, {"name": "pat-001", "tag": "helpful"}]

    votes, skipped = read_votes(evaluations, tag_key="rating")

    assert votes == [Vote("pat-001", "helpful")]
    assert [(item.index, item.reason[:8]) for item in skipped] == [(1, "`rating`")]


@pytest.mark.parametrize("raw", ["helpful", {"name": "pat-001", "tag": "helpful"}, 5, True])
def test_votes_must_be_a_list(raw: object) -> None:
    votes, skipped = read_votes(raw)

    assert votes == []
    assert [(item.item, item.reason) for item in skipped] == [(raw, "the votes are not a list")]
    assert read_votes(None) == ([], ())


@pytest.mark.parametrize(
    ("item", "reason"),
    [
        (None, "a vote must be an object"),
        ("pat-001", "a vote must be an object"),
        ({"tag": "helpful"}, "a vote must have a `name`"),
        ({"name": 1, "tag": "helpful"}, "a vote must have a `name`"),
        ({"name": "pat-001"}, "`tag` must be one of helpful, harmful, neutral"),
    ],
)
def test_invalid_vote_is_skipped(item: object, reason: str) -> None:
    votes, skipped = read_votes([{"name": "pat-001", "tag": "helpful"}, item, {"name": "pat-002", "tag": "harmful"}])

    assert [vote.name for vote in votes] == ["pat-001", "pat-002"]
    assert [(each.index, each.item, each.reason) for each in skipped] == [(1, item, reason)]


@given(playbooks_of_few_texts(), votes)
def test_votes_change_only_their_counters(playbook: Playbook, cast: list[Vote]) -> None:
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
        (0, 2, False),
        (0, 3, True),
        (1, 4, True),
        (10, 4, False),
        (3, 3, False),
        (5, 6, True),
    ],
)
def test_three_harmful_votes_prune_a_point(helpful: int, harmful: int, leaves: bool) -> None:
    """They must be more than the helpful ones."""
    point = a_key_point(helpful=helpful, harmful=harmful)
    draft = a_draft(point)

    left = prune(draft)

    assert is_harmful(point) == leaves
    assert [gone.name for gone in left] == (["pat-001"] if leaves else [])
    assert ("pat-001" in draft) != leaves


def test_pruned_points_are_retired_with_a_reason() -> None:
    draft = a_draft(a_key_point(helpful=1, harmful=4))

    prune(draft)

    (change,) = draft.changes
    assert (change.kind, change.point.name, change.reason) == ("retire", "pat-001", "pruned: 4 harmful, 1 helpful")
    assert draft.is_used("pat-001")
