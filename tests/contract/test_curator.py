"""The curator contract: each operation, what is skipped, and that a batch is all of it or, where it breaks, nothing."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playbook_db import contract
from playbook_db.contract import update_playbook_data
from playbook_db.rules import operations as operation_rules
from playbook_db.services.editing import apply_batch, list_retired, restore
from playbook_db.services.project import Project
from playbook_db.services.revising import read, read_with_revision
from playbook_db.store.engine import Store
from tests.builders import a_flat_dict, a_sections_dict, an_entry, section_names
from tests.contract.playbooks import (
    CONTEXT,
    MISTAKES,
    OTHERS,
    PATTERNS,
    PREFERENCES,
    Outcome,
    after_a_batch,
    by_name,
    entries_of,
    outcome_of,
)

Curate = Callable[..., Outcome]


def a_stocked_playbook() -> dict[str, Any]:
    """Points in three sections, with votes that no two of them share."""
    return a_sections_dict(
        {
            PATTERNS: [an_entry("pat-001", "use types", 3, 1), an_entry("pat-003", "return types too", 5, 0)],
            MISTAKES: [an_entry("mis-002", "no globals", 1, 2)],
            OTHERS: [an_entry("kpt_001", "older advice", 8, 4)],
        }
    )


STOCK = outcome_of(a_stocked_playbook())


def without(*names: str) -> Outcome:
    """The stocked playbook without the points of these names."""
    return [point for point in STOCK if point[1] not in names]


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


# --- the batch ---


@pytest.mark.parametrize(
    "unknown",
    [
        [
            {"type": "RENAME", "target_id": "pat-003", "text": "new"},
            {"type": "add", "text": "new"},
            {"type": " ADD ", "text": "new"},
            {"type": None, "text": "new"},
            {"type": ["ADD"], "text": "new"},
            {"type": {"ADD": "ADD"}, "text": "new"},
            {"text": "new"},
        ],
        [{}, None, "ADD", ["ADD", "new"], 7, True, [{"type": "ADD", "text": "new"}]],
    ],
    ids=["unknown types", "no objects"],
)
def test_what_is_no_known_operation_is_skipped_and_the_rest_is_done(curate: Curate, unknown: list[Any]) -> None:
    """Types are matched to the letter; a missing or unknown one, or no object at all, never spoils the others."""
    after = curate(
        a_stocked_playbook(),
        {"type": "DELETE", "target_id": "pat-001"},
        *unknown,
        {"type": "DELETE", "target_id": "kpt_001"},
    )

    assert after == without("pat-001", "kpt_001")


def test_only_the_first_ten_operations_count(curate: Curate) -> None:
    """A batch is cut after ten entries, skipped ones counted."""
    additions = [{"type": "ADD", "text": f"text {number}", "section": CONTEXT} for number in range(1, 12)]

    after = curate(a_sections_dict({}), None, *additions)

    assert after == [(CONTEXT, f"ctx-{number:03d}", f"text {number}", 0, 0) for number in range(1, 10)]


def test_each_operation_sees_what_the_earlier_ones_left(curate: Curate) -> None:
    """Operations run in list order: a new point can be merged and deleted, one that left can't be touched."""
    after = curate(
        a_stocked_playbook(),
        {"type": "ADD", "text": "annotate", "section": PATTERNS},
        {"type": "MERGE", "source_ids": ["pat-004", "pat-001"], "merged_text": "annotate with types"},
        {"type": "UPDATE", "target_id": "pat-001", "text": "came too late"},
        {"type": "DELETE", "target_id": "mis-002"},
        {"type": "DELETE", "target_id": "mis-002"},
        {"type": "ADD", "text": "no globals", "section": MISTAKES},
        {"type": "UPDATE", "target_id": "pat-005", "text": "annotate all"},
    )

    assert after == [
        STOCK[1],
        (PATTERNS, "pat-005", "annotate all", 3, 1),
        (MISTAKES, "mis-003", "no globals", 0, 0),
        STOCK[3],
    ]


def test_the_name_of_a_point_that_left_in_the_batch_is_not_given_again(curate: Curate) -> None:
    """A point added after the last of its section was deleted gets a number of its own."""
    after = curate(
        a_stocked_playbook(),
        {"type": "DELETE", "target_id": "pat-003"},
        {"type": "ADD", "text": "new", "section": PATTERNS},
    )

    assert after[:2] == [STOCK[0], (PATTERNS, "pat-004", "new", 0, 0)]


def test_a_flat_playbook_takes_operations_and_stays_flat() -> None:
    """In the flat layout sections don't matter, new names are kpt_NNN, and no `sections` appear."""
    flat = a_flat_dict(
        an_entry("kpt_001", "one", 1, 0), an_entry("kpt_002", "two", 2, 1), an_entry("kpt_004", "four", 0, 2)
    )
    operations = [
        {"type": "MERGE", "source_ids": ["kpt_001", "kpt_004"], "merged_text": "one and four", "section": CONTEXT},
        {"type": "ADD", "text": "five", "section": PATTERNS},
        {"type": "UPDATE", "target_id": "kpt_002", "text": "two again"},
        {"type": "DELETE", "target_id": "kpt_001"},
    ]

    after = update_playbook_data(flat, {"operations": operations})

    assert list(after) == ["version", "last_updated", "key_points"]
    assert by_name(after) == {
        "kpt_002": an_entry("kpt_002", "two again", 2, 1),
        "kpt_005": an_entry("kpt_005", "one and four", 1, 2),
        "kpt_006": an_entry("kpt_006", "five"),
    }


@pytest.mark.parametrize(
    ("operation", "reason"),
    [
        ({"type": "ADD", "text": ""}, "blank"),
        ({"type": "DELETE", "target_id": "pat-999"}, "pat-999"),
        ({"type": "MERGE", "source_ids": ["pat-001", "pat-998"], "merged_text": "x"}, "source_ids"),
        ({"type": "RENAME"}, "RENAME"),
    ],
)
def test_what_a_dict_function_skips_is_told_on_stderr(
    capsys: pytest.CaptureFixture[str], operation: dict[str, Any], reason: str
) -> None:
    """An invalid operation is skipped with a reason, not in silence."""
    update_playbook_data(a_stocked_playbook(), {"operations": [operation]})

    assert reason in capsys.readouterr().err


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


# --- all or nothing ---


class BrokenError(Exception):
    """Something that no rule foresees."""


@pytest.fixture
def broken_operations(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rules carry out a batch and then break."""
    carry_out = operation_rules.apply_operations

    def break_after(draft: Any, operations: Any) -> Any:
        carry_out(draft, operations)
        raise BrokenError("unexpected")

    monkeypatch.setattr(operation_rules, "apply_operations", break_after)


DELETE_ONE = [{"type": "DELETE", "target_id": "pat-001"}]


def test_a_batch_that_breaks_leaves_the_dict_as_it_was(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Anything raised among the operations rolls them all back; the original comes back, and stderr says so."""

    def break_half_way(playbook: dict[str, Any], operations: list[Any]) -> dict[str, Any]:
        playbook["sections"].clear()
        raise BrokenError("unexpected")

    monkeypatch.setattr(contract, "_apply_curator_operations", break_half_way)
    playbook = a_stocked_playbook()

    after = update_playbook_data(playbook, {"operations": DELETE_ONE, "evaluations": []})

    assert after is playbook
    assert after == a_stocked_playbook()
    assert "rolled back" in capsys.readouterr().err


def test_votes_count_although_the_batch_was_rolled_back(broken_operations: None) -> None:
    """Evaluations are always applied, to the playbook as it was before the batch."""
    ratings = [{"name": "pat-001", "rating": "helpful"}]

    after = update_playbook_data(a_stocked_playbook(), {"operations": DELETE_ONE, "evaluations": ratings})

    assert outcome_of(after) == [(PATTERNS, "pat-001", "use types", 4, 1), *STOCK[1:]]


def test_a_batch_that_breaks_leaves_the_database_as_it_was(
    project: Project, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """One batch is one transaction: where anything unexpected is raised, no point and no revision of it is kept."""
    after_a_batch(project, a_stocked_playbook(), [])
    before = read_with_revision(project)
    request.getfixturevalue("broken_operations")

    with pytest.raises(BrokenError):
        apply_batch(project, DELETE_ONE, origin="a test")

    assert read_with_revision(project) == before


def test_a_batch_is_one_revision_and_keeps_what_it_skipped(project: Project) -> None:
    """However many operations, one revision; each skipped one is kept with its place and its reason."""
    after_a_batch(project, a_stocked_playbook(), [])
    before = read_with_revision(project)[1]
    operations = [
        {"type": "ADD", "text": "new"},
        {"type": "DELETE", "target_id": "pat-999"},
        {"type": "DELETE", "target_id": "kpt_001"},
        "nonsense",
    ]

    revised = apply_batch(project, operations, origin="a test")

    assert (revised.revision, read_with_revision(project)[1]) == (before + 1, before + 1)
    assert [(item.index, item.item) for item in revised.skipped] == [(1, operations[1]), (3, "nonsense")]
    assert all(item.reason for item in revised.skipped)


def test_points_that_a_batch_takes_out_are_retired_and_can_come_back(project: Project) -> None:
    """DELETE and MERGE never erase: the points are listed as retired, with the reason, and can be restored."""
    after_a_batch(
        project,
        a_stocked_playbook(),
        [
            {"type": "DELETE", "target_id": "kpt_001", "reason": "contradicts the rules"},
            {"type": "MERGE", "source_ids": ["pat-001", "mis-002"], "merged_text": "both"},
        ],
    )

    gone = list_retired(project)
    restore(project, "kpt_001")

    assert set(gone) == {"kpt_001", "pat-001", "mis-002"}
    assert "contradicts the rules" in str(gone["kpt_001"].reason)
    back = read(project).by_name["kpt_001"]
    assert (back.section, back.text, back.helpful, back.harmful) == (OTHERS, "older advice", 8, 4)


def test_a_rehearsed_batch_writes_nothing(project: Project) -> None:
    """With dry_run the outcome is told and the playbook stays as it is."""
    after_a_batch(project, a_stocked_playbook(), [])
    before = read_with_revision(project)

    rehearsed = apply_batch(project, DELETE_ONE, origin="a test", dry_run=True)

    assert "pat-001" not in rehearsed.playbook.by_name
    assert read_with_revision(project) == before


# --- a dict and the database agree ---

NAMES = ("pat-001", "pat-002", "mis-001", "kpt_001", "kpt_002", "oth-001")
FAR_NAMES = ("pat-101", "mis-101", "pref-101", "kpt_101", "oth-101")  # no batch gets as far by itself
some_texts = st.sampled_from(["use types", "Use types.", "no globals", "log", "test first", "", "  ", "läuft", "a\nb"])
some_sections = st.one_of(st.none(), section_names, st.sampled_from(["NO SUCH", "others "]))


def batches(names: tuple[str, ...]) -> st.SearchStrategy[list[Any]]:
    """Lists of operations, good and bad ones, on points of these names."""
    target = st.sampled_from(names)
    fields = st.fixed_dictionaries
    return st.lists(
        st.one_of(
            fields({"type": st.just("ADD"), "text": some_texts, "section": some_sections}),
            fields({"type": st.just("UPDATE"), "target_id": target, "text": some_texts}),
            fields({"type": st.just("DELETE"), "target_id": target}),
            fields(
                {
                    "type": st.just("MERGE"),
                    "source_ids": st.lists(target, max_size=4),
                    "merged_text": some_texts,
                    "section": some_sections,
                }
            ),
            st.sampled_from([None, "ADD", {"type": "add"}, {}]),
        ),
        max_size=12,
    )


@st.composite
def playbooks(draw: st.DrawFn, names: tuple[str, ...]) -> dict[str, Any]:
    """Sections dicts with some points of these names."""
    sections: dict[str, list[Any]] = {}
    for name in draw(st.lists(st.sampled_from(names), unique=True)):
        entry = an_entry(name, f"text of {name}", draw(st.integers(0, 9)), draw(st.integers(0, 9)))
        sections.setdefault(draw(section_names), []).append(entry)
    return a_sections_dict(sections)


@given(playbook=playbooks(NAMES), operations=batches(NAMES))
def test_a_batch_does_to_a_dict_what_it_does_in_the_database(
    store: Store, tmp_path: Path, playbook: dict[str, Any], operations: list[Any]
) -> None:
    """The rules are written once: same points, names, texts, counters, sections and order on both ways."""
    project = Project(store, str(tmp_path / uuid4().hex))  # of its own for each example

    in_database = after_a_batch(project, playbook, operations)

    assert outcome_of(contract.apply_structured_operations(playbook, operations)) == in_database


@given(playbook=playbooks(FAR_NAMES), operations=batches(FAR_NAMES))
def test_a_batch_does_to_a_flat_dict_what_it_does_to_sections(playbook: dict[str, Any], operations: list[Any]) -> None:
    """But for sections, names and order of new points, the layouts give the same."""
    flat = a_flat_dict(*copy.deepcopy(entries_of(playbook)))

    in_sections = contract.apply_structured_operations(playbook, operations)
    in_flat = contract.apply_structured_operations(flat, operations)

    assert said_by(in_flat) == said_by(in_sections)
    assert "sections" not in in_flat


def said_by(playbook: dict[str, Any]) -> list[tuple[str, int, int]]:
    """Texts and counters of a playbook, sorted."""
    return sorted((entry["text"], entry["helpful"], entry["harmful"]) for entry in entries_of(playbook))
