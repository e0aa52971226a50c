"""The curator contract on dicts: operations or new key points, batches, and the same outcome as in the database."""

import copy
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playbook_db import contract
from playbook_db.contract import update_playbook_data
from playbook_db.domain import operations as operation_rules
from playbook_db.services.playbook.edit import apply_batch, restore
from playbook_db.services.project import Project, read_playbook
from playbook_db.store.engine import Store
from tests.builders import a_flat_dict, a_sections_dict, an_entry, last_revision, list_retired, section_names
from tests.contract.playbooks import (
    CONTEXT,
    MISTAKES,
    OTHERS,
    PATTERNS,
    STOCK,
    Curate,
    a_stocked_playbook,
    after_a_batch,
    by_name,
    entries_of,
    outcome_of,
    without,
)

# --- operations or new key points ---


OLDER_ANSWER = [{"text": "Some new insight", "section": "PROJECT CONTEXT"}, "a bare text"]


def test_new_key_points_are_added_without_operations() -> None:
    after = update_playbook_data(a_stocked_playbook(), {"new_key_points": OLDER_ANSWER, "evaluations": []})

    assert outcome_of(after) == [
        *STOCK[:3],
        (CONTEXT, "ctx-001", "Some new insight", 0, 0),
        STOCK[3],
        (OTHERS, "oth-001", "a bare text", 0, 0),
    ]


@pytest.mark.parametrize("operations", [[], [{"type": "DELETE", "target_id": "kpt_001"}], [None]])
def test_operations_win_over_new_key_points(operations: list[Any]) -> None:
    result = {"new_key_points": OLDER_ANSWER, "operations": operations, "evaluations": []}

    after = update_playbook_data(a_stocked_playbook(), result)

    assert outcome_of(after) == (without("kpt_001") if any(operations) else STOCK)


@pytest.mark.parametrize("operations", [None, "ADD", {"type": "DELETE", "target_id": "kpt_001"}, 7, True])
def test_operations_must_be_a_list(operations: object) -> None:
    result = {"new_key_points": ["a bare text"], "operations": operations}

    after = update_playbook_data(a_stocked_playbook(), result)

    assert outcome_of(after) == [*STOCK, (OTHERS, "oth-001", "a bare text", 0, 0)]


@pytest.mark.parametrize("new_key_points", [None, "a text", {"text": "a text"}, [None, 7, "", {"section": OTHERS}]])
def test_odd_new_key_points_add_nothing(new_key_points: object) -> None:
    assert outcome_of(update_playbook_data(a_stocked_playbook(), {"new_key_points": new_key_points})) == STOCK


@pytest.mark.parametrize(
    "fields",
    [{"operations": []}, {"operations": [{"type": "DELETE", "target_id": "pat-003"}]}, {"new_key_points": []}, {}],
)
def test_evaluations_and_pruning_always_follow(fields: dict[str, Any]) -> None:
    ratings = [{"name": "kpt_001", "rating": "helpful"}, {"name": "mis-002", "rating": "harmful"}]

    after = by_name(update_playbook_data(a_stocked_playbook(), {**fields, "evaluations": ratings}))

    assert after["kpt_001"]["helpful"] == 9
    assert "mis-002" not in after
    assert ("pat-003" in after) is not bool(fields.get("operations"))


def test_contract_example_holds() -> None:
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


# --- the batch ---


def test_operations_run_in_order(curate: Curate) -> None:
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


def test_flat_playbook_stays_flat() -> None:
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
        ({"type": "MERGE", "source_ids": ["pat-001", "pat-998"], "merged_text": "x"}, "pat-998"),
        ({"type": "RENAME"}, "RENAME"),
    ],
)
def test_skipped_operations_are_named_on_stderr(
    capsys: pytest.CaptureFixture[str], operation: dict[str, Any], reason: str
) -> None:
    update_playbook_data(a_stocked_playbook(), {"operations": [operation]})

    assert reason in capsys.readouterr().err


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


@pytest.mark.postgres
def test_votes_count_after_a_rollback(broken_operations: None) -> None:
    ratings = [{"name": "pat-001", "rating": "helpful"}]

    after = update_playbook_data(a_stocked_playbook(), {"operations": DELETE_ONE, "evaluations": ratings})

    assert outcome_of(after) == [(PATTERNS, "pat-001", "use types", 4, 1), *STOCK[1:]]


@pytest.mark.postgres
def test_failed_batch_changes_nothing(
    project: Project, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    after_a_batch(project, a_stocked_playbook(), [])
    before = read_playbook(project), last_revision(project)
    request.getfixturevalue("broken_operations")

    with pytest.raises(BrokenError):
        apply_batch(project, DELETE_ONE, origin="a test")

    assert (read_playbook(project), last_revision(project)) == before


@pytest.mark.postgres
def test_batch_is_one_revision(project: Project) -> None:
    after_a_batch(project, a_stocked_playbook(), [])
    before = last_revision(project)
    operations = [
        {"type": "ADD", "text": "new"},
        {"type": "DELETE", "target_id": "pat-999"},
        {"type": "DELETE", "target_id": "kpt_001"},
        "nonsense",
    ]

    revised = apply_batch(project, operations, origin="a test")

    assert (revised.revision, last_revision(project)) == (before + 1, before + 1)
    assert [(item.index, item.item) for item in revised.skipped] == [(1, operations[1]), (3, "nonsense")]
    assert all(item.reason for item in revised.skipped)


@pytest.mark.postgres
def test_batch_retires_points(project: Project) -> None:
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
    back = read_playbook(project).by_name["kpt_001"]
    assert (back.section, back.text, back.helpful, back.harmful) == (OTHERS, "older advice", 8, 4)


def test_dry_run_writes_nothing(project: Project) -> None:
    after_a_batch(project, a_stocked_playbook(), [])
    before = read_playbook(project), last_revision(project)

    rehearsed = apply_batch(project, DELETE_ONE, origin="a test", dry_run=True)

    assert [(change.kind, change.point.name) for change in rehearsed.changes] == [("retire", "pat-001")]
    assert (read_playbook(project), last_revision(project)) == before


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
def test_batch_does_the_same_in_dict_and_database(
    store: Store, tmp_path: Path, playbook: dict[str, Any], operations: list[Any]
) -> None:
    project = Project.in_folder(store, str(tmp_path / uuid4().hex))  # of its own for each example

    in_database = after_a_batch(project, playbook, operations)

    assert outcome_of(contract.apply_structured_operations(playbook, operations)) == in_database


@given(playbook=playbooks(FAR_NAMES), operations=batches(FAR_NAMES))
def test_batch_does_the_same_in_both_layouts(playbook: dict[str, Any], operations: list[Any]) -> None:
    flat = a_flat_dict(*copy.deepcopy(entries_of(playbook)))

    in_sections = contract.apply_structured_operations(playbook, operations)
    in_flat = contract.apply_structured_operations(flat, operations)

    assert said_by(in_flat) == said_by(in_sections)
    assert "sections" not in in_flat


def said_by(playbook: dict[str, Any]) -> list[tuple[str, int, int]]:
    """Texts and counters of a playbook, sorted."""
    return sorted((entry["text"], entry["helpful"], entry["harmful"]) for entry in entries_of(playbook))
