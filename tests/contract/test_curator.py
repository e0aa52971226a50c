"""The curator contract: each operation, what is skipped, and operations or new key points."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playbook_db import contract
from playbook_db.contract import update_playbook_data
from tests.builders import a_sections_dict, an_entry
from tests.contract.playbooks import (
    CONTEXT,
    MISTAKES,
    OTHERS,
    PATTERNS,
    PREFERENCES,
    STOCK,
    Curate,
    a_stocked_playbook,
    by_name,
    outcome_of,
    without,
)

# --- ADD ---


def test_an_added_point_stands_last_in_its_section_without_votes(curate: Curate) -> None:
    """ADD makes a point with a generated name and 0/0 in the section it names."""
    after = curate(a_stocked_playbook(), {"type": "ADD", "text": "log with structure", "section": PATTERNS})

    assert after == [*STOCK[:2], (PATTERNS, "pat-004", "log with structure", 0, 0), *STOCK[2:]]


@pytest.mark.parametrize("named", ["mistakes to avoid", "  Mistakes To Avoid\n"])
def test_a_section_is_found_whatever_its_case_and_surrounding_space(curate: Curate, named: str) -> None:
    """The section of an operation is stripped and matched without case."""
    after = curate(a_sections_dict({}), {"type": "ADD", "text": "new", "section": named})

    assert after == [(MISTAKES, "mis-001", "new", 0, 0)]


@pytest.mark.parametrize("fields", [{}, {"section": None}, {"section": ""}, {"section": "NO SUCH"}, {"section": 7}])
def test_an_added_point_without_a_known_section_goes_to_others(curate: Curate, fields: dict[str, Any]) -> None:
    """A section that is missing, null, empty or unknown means OTHERS."""
    assert curate(a_sections_dict({}), {"type": "ADD", "text": "new", **fields}) == [(OTHERS, "oth-001", "new", 0, 0)]


def test_an_addition_without_a_text_is_skipped(curate: Curate) -> None:
    """A text that is missing, blank or no string adds nothing."""
    texts = ["", " \n", None, 5, ["new"], {"text": "new"}]
    additions = [{"type": "ADD", "section": PATTERNS, "text": text} for text in texts]

    assert curate(a_stocked_playbook(), {"type": "ADD", "section": PATTERNS}, *additions) == STOCK


def test_a_text_that_the_playbook_has_anywhere_is_not_added_again(curate: Curate) -> None:
    """ADD of a text that is present in any section, or was added earlier in the batch, is skipped."""
    after = curate(
        a_stocked_playbook(),
        {"type": "ADD", "text": "no globals", "section": PATTERNS},
        {"type": "ADD", "text": "twice", "section": CONTEXT},
        {"type": "ADD", "text": "twice", "section": PREFERENCES},
    )

    assert [point for point in after if point not in STOCK] == [(CONTEXT, "ctx-001", "twice", 0, 0)]


# --- UPDATE ---


def test_an_update_changes_the_text_and_nothing_else(curate: Curate) -> None:
    """Name, counters, section and place stay."""
    after = curate(a_stocked_playbook(), {"type": "UPDATE", "target_id": "pat-001", "text": "use strict types"})

    assert after == [(PATTERNS, "pat-001", "use strict types", 3, 1), *STOCK[1:]]


def test_an_update_without_a_target_or_a_text_is_skipped(curate: Curate) -> None:
    """An UPDATE needs a live target and a text that is not blank."""
    after = curate(
        a_stocked_playbook(),
        {"type": "UPDATE", "text": "new"},
        {"type": "UPDATE", "target_id": "", "text": "new"},
        {"type": "UPDATE", "target_id": "pat-999", "text": "new"},
        {"type": "UPDATE", "target_id": ["pat-001"], "text": "new"},
        {"type": "UPDATE", "target_id": "pat-001"},
        {"type": "UPDATE", "target_id": "pat-001", "text": "  "},
        {"type": "UPDATE", "target_id": "pat-001", "text": 5},
    )

    assert after == STOCK


# --- MERGE ---


def test_a_merged_point_sums_the_votes_and_its_sources_leave(curate: Curate) -> None:
    """MERGE makes a point with the sums of helpful and harmful, named before the sources leave."""
    after = curate(
        a_stocked_playbook(),
        {"type": "MERGE", "source_ids": ["pat-001", "pat-003"], "merged_text": "types everywhere", "section": PATTERNS},
    )

    assert after == [(PATTERNS, "pat-004", "types everywhere", 8, 1), *STOCK[2:]]


def test_points_of_different_sections_merge_into_the_section_that_is_named(curate: Curate) -> None:
    """The sources may stand anywhere; a valid section of the operation decides."""
    after = curate(
        a_stocked_playbook(),
        {"type": "MERGE", "source_ids": ["pat-001", "kpt_001", "mis-002"], "merged_text": "all", "section": CONTEXT},
    )

    assert after == [STOCK[1], (CONTEXT, "ctx-001", "all", 12, 7)]


@pytest.mark.parametrize("fields", [{}, {"section": None}, {"section": ""}, {"section": "NO SUCH"}])
def test_a_merge_without_a_known_section_stays_with_the_first_source_that_exists(
    curate: Curate, fields: dict[str, Any]
) -> None:
    """The default section is that of the first source, those that do not exist left aside."""
    after = curate(
        a_stocked_playbook(),
        {"type": "MERGE", "source_ids": ["pat-999", "mis-002", "pat-001"], "merged_text": "both", **fields},
    )

    assert after == [STOCK[1], (MISTAKES, "mis-003", "both", 4, 3), STOCK[3]]


def test_a_merge_of_fewer_than_two_different_points_is_skipped(curate: Curate) -> None:
    """After names that do not exist are left out, two different ones must remain."""
    sources = [
        None,
        "pat-001",
        [],
        ["pat-001"],
        ["pat-001", "pat-999"],
        ["pat-998", "pat-999"],
        ["pat-001", "pat-001"],
        ["pat-001", None, 7, ["pat-003"]],
    ]
    merges = [{"type": "MERGE", "source_ids": listed, "merged_text": f"merged {listed}"} for listed in sources]

    assert curate(a_stocked_playbook(), {"type": "MERGE", "merged_text": "merged"}, *merges) == STOCK


def test_a_source_named_twice_counts_once(curate: Curate) -> None:
    """The votes of a source go into the sum once, however often it is listed."""
    after = curate(
        a_stocked_playbook(),
        {"type": "MERGE", "source_ids": ["pat-001", "pat-003", "pat-001"], "merged_text": "types everywhere"},
    )

    assert after[0] == (PATTERNS, "pat-004", "types everywhere", 8, 1)


def test_a_merge_without_a_text_is_skipped(curate: Curate) -> None:
    """A merged text that is missing, blank or no string merges nothing, and the sources stay."""
    merge = {"type": "MERGE", "source_ids": ["pat-001", "pat-003"]}
    merges = [{**merge, "merged_text": text} for text in ("", "\t ", None, 5, ["new"])]

    assert curate(a_stocked_playbook(), merge, *merges) == STOCK


@given(votes=st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), min_size=2, max_size=6))
def test_no_vote_is_lost_or_invented_in_a_merge(votes: list[tuple[int, int]]) -> None:
    """The merged counters are the sums over all sources."""
    entries = [an_entry(f"pat-{place:03d}", f"text {place}", *pair) for place, pair in enumerate(votes, 1)]
    merge = {"type": "MERGE", "source_ids": [entry["name"] for entry in entries], "merged_text": "all of it"}

    (merged,) = contract.apply_structured_operations(a_sections_dict({PATTERNS: entries}), [merge])["sections"][
        PATTERNS
    ]

    assert (merged["helpful"], merged["harmful"]) == tuple(map(sum, zip(*votes, strict=True)))


# --- DELETE ---


def test_a_deleted_point_is_gone_and_the_others_stay(curate: Curate) -> None:
    """DELETE takes its target out of the playbook."""
    after = curate(a_stocked_playbook(), {"type": "DELETE", "target_id": "mis-002", "reason": "no longer so"})

    assert after == without("mis-002")


def test_a_deletion_without_a_target_that_exists_is_skipped(curate: Curate) -> None:
    """DELETE needs the name of a live point."""
    deletions = [{"type": "DELETE", "target_id": target} for target in ("", None, 1, ["pat-001"], "pat-999", "pat-00")]

    assert curate(a_stocked_playbook(), {"type": "DELETE"}, *deletions) == STOCK


def test_the_reason_of_a_deletion_may_be_anything(curate: Curate) -> None:
    """The reason is optional and never a cause for skipping."""
    reasons = [None, "", 7, ["because"]]
    deletions = [
        {"type": "DELETE", "target_id": point[1], "reason": reason}
        for point, reason in zip(STOCK, reasons, strict=True)
    ]

    assert curate(a_stocked_playbook(), *deletions) == []


def test_the_reason_of_a_deletion_is_not_kept_in_the_playbook() -> None:
    """It is told elsewhere; no trace of it in what comes back."""
    after = update_playbook_data(
        a_stocked_playbook(), {"operations": [{"type": "DELETE", "target_id": "mis-002", "reason": "a telling reason"}]}
    )

    assert "a telling reason" not in repr(after)


# --- operations or new key points ---


OLDER_ANSWER = [{"text": "Some new insight", "section": "PROJECT CONTEXT"}, "a bare text"]


def test_new_key_points_are_added_where_no_operations_are_given() -> None:
    """The older form of the answer: texts, or objects with a text and perhaps a section."""
    after = update_playbook_data(a_stocked_playbook(), {"new_key_points": OLDER_ANSWER, "evaluations": []})

    assert outcome_of(after) == [
        *STOCK[:3],
        (CONTEXT, "ctx-001", "Some new insight", 0, 0),
        STOCK[3],
        (OTHERS, "oth-001", "a bare text", 0, 0),
    ]


@pytest.mark.parametrize("operations", [[], [{"type": "DELETE", "target_id": "kpt_001"}], [None]])
def test_new_key_points_are_ignored_where_operations_are_present(operations: list[Any]) -> None:
    """Operations win, even an empty list of them."""
    result = {"new_key_points": OLDER_ANSWER, "operations": operations, "evaluations": []}

    after = update_playbook_data(a_stocked_playbook(), result)

    assert outcome_of(after) == (without("kpt_001") if any(operations) else STOCK)


@pytest.mark.parametrize("operations", [None, "ADD", {"type": "DELETE", "target_id": "kpt_001"}, 7, True])
def test_operations_that_are_no_list_count_as_absent(operations: object) -> None:
    """Anything but a list leaves the new key points in force."""
    result = {"new_key_points": ["a bare text"], "operations": operations}

    after = update_playbook_data(a_stocked_playbook(), result)

    assert outcome_of(after) == [*STOCK, (OTHERS, "oth-001", "a bare text", 0, 0)]


@pytest.mark.parametrize("new_key_points", [None, "a text", {"text": "a text"}, [None, 7, "", {"section": OTHERS}]])
def test_new_key_points_that_are_none_add_nothing(new_key_points: object) -> None:
    """What is no list adds nothing; in a list, what has no text is passed over."""
    assert outcome_of(update_playbook_data(a_stocked_playbook(), {"new_key_points": new_key_points})) == STOCK


@pytest.mark.parametrize(
    "fields",
    [{"operations": []}, {"operations": [{"type": "DELETE", "target_id": "pat-003"}]}, {"new_key_points": []}, {}],
)
def test_evaluations_and_pruning_follow_whatever_came_before(fields: dict[str, Any]) -> None:
    """Votes always count and pruning always runs, after operations and after new key points alike."""
    ratings = [{"name": "kpt_001", "rating": "helpful"}, {"name": "mis-002", "rating": "harmful"}]

    after = by_name(update_playbook_data(a_stocked_playbook(), {**fields, "evaluations": ratings}))

    assert after["kpt_001"]["helpful"] == 9
    assert "mis-002" not in after
    assert ("pat-003" in after) is not bool(fields.get("operations"))


def test_the_example_of_the_contract_does_what_it_says() -> None:
    """The data contract's own JSON example of an answer with operations."""
    playbook = a_sections_dict(
        {
            PATTERNS: [an_entry(f"pat-00{number}", f"text {number}", number, 1) for number in (1, 2, 5)],
            MISTAKES: [an_entry("mis-003", "not like this")],
            OTHERS: [an_entry("kpt_001", "older advice")],
        }
    )
    result = {
        "evaluations": [{"name": "pat-001", "rating": "helpful"}, {"name": "kpt_001", "rating": "neutral"}],
        "operations": [
            {"type": "ADD", "text": "Use structured logging", "section": "PATTERNS & APPROACHES"},
            {
                "type": "MERGE",
                "source_ids": ["pat-002", "pat-005"],
                "merged_text": "Combined guidance on error handling",
            },
            {"type": "DELETE", "target_id": "mis-003", "reason": "No longer relevant after refactor"},
        ],
    }

    assert outcome_of(update_playbook_data(playbook, result)) == [
        (PATTERNS, "pat-001", "text 1", 2, 1),
        (PATTERNS, "pat-006", "Use structured logging", 0, 0),
        (PATTERNS, "pat-007", "Combined guidance on error handling", 7, 2),
        (OTHERS, "kpt_001", "older advice", 0, 0),
    ]
