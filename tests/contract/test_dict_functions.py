"""The documented functions on dicts: names, the text of the prompt, operations, pruning."""

import copy
from pathlib import Path
from typing import Any

import pytest

from playbook_db import contract
from playbook_db.contract import (
    apply_structured_operations,
    format_playbook,
    generate_keypoint_name,
    prune_harmful,
    update_playbook_data,
)
from tests.builders import a_flat_dict, a_sections_dict, an_entry
from tests.contract.playbooks import (
    PATTERNS,
    Layout,
    a_dict,
    by_name,
    diagnostics_in,
    entries_of,
)

# --- what there is ---


def test_all_documented_functions_exist() -> None:
    documented = """
        load_playbook save_playbook format_playbook update_playbook_data _apply_curator_operations
        apply_structured_operations apply_bullet_tags prune_harmful run_deduplication generate_keypoint_name
        extract_cited_ids extract_keypoints run_reflector run_curator load_transcript load_template load_settings
        is_diagnostic_mode save_diagnostic get_project_dir get_user_claude_dir
    """

    assert [name for name in documented.split() if not callable(getattr(contract, name, None))] == []


# --- generate_keypoint_name ---


@pytest.mark.parametrize(
    ("names", "slug", "expected"),
    [
        ([], "pat", "pat-001"),
        (["pat-001", "pat-007", "mis-009"], "pat", "pat-008"),
        (["kpt_001", "kpt_041", "pat-100"], "kpt", "kpt_042"),
    ],
)
def test_name_is_the_highest_plus_one(names: list[str], slug: str, expected: str) -> None:
    assert generate_keypoint_name([an_entry(name) for name in names], slug) == expected


def test_name_without_slug_is_kpt() -> None:
    assert generate_keypoint_name({"kpt_001", "kpt_004"}) == "kpt_005"
    assert generate_keypoint_name([an_entry("kpt_004")]) == "kpt_005"
    assert generate_keypoint_name([]) == "kpt_001"


# --- format_playbook ---


def test_sections_have_headers(plain_template: None) -> None:
    playbook = {
        "sections": {
            "OTHERS": [an_entry("kpt_001", "three", 0, 7)],
            "MISTAKES TO AVOID": [],
            "PATTERNS & APPROACHES": [an_entry("pat-002", "one", 5, 1), an_entry("pat-001", "two")],
        }
    }

    assert format_playbook(playbook) == (
        "<## PATTERNS & APPROACHES\n"
        "[pat-002] helpful=5 harmful=1 :: one\n"
        "[pat-001] helpful=0 harmful=0 :: two\n"
        "\n"
        "## OTHERS\n"
        "[kpt_001] helpful=0 harmful=7 :: three>"
    )


def test_flat_playbook_has_no_headers(plain_template: None) -> None:
    playbook = a_flat_dict(an_entry("kpt_002", "two", 1, 0), an_entry("kpt_001", "one"))

    assert format_playbook(playbook) == ("<[kpt_002] helpful=1 harmful=0 :: two\n[kpt_001] helpful=0 harmful=0 :: one>")


@pytest.mark.parametrize("empty", [{}, {"sections": {}}, {"key_points": []}, a_sections_dict({}), a_flat_dict()])
def test_no_points_give_no_text(plain_template: None, empty: dict[str, Any]) -> None:
    assert format_playbook(empty) == ""


def test_formatting_changes_nothing(layout: Layout) -> None:
    playbook = a_dict(layout, "bare", {"text": "two", "score": -3})
    before = copy.deepcopy(playbook)

    assert "harmful=3 :: two" in format_playbook(playbook)
    assert playbook == before


# --- update_playbook_data, apply_structured_operations ---


def test_operations_work_on_a_copy(layout: Layout) -> None:
    playbook = a_dict(layout, an_entry("kpt_001", "one", 1, 0), an_entry("kpt_002", "two"))
    before = copy.deepcopy(playbook)
    operations = [
        {"type": "UPDATE", "target_id": "kpt_001", "text": "one, reworded"},
        {"type": "DELETE", "target_id": "kpt_002"},
    ]

    structured = apply_structured_operations(playbook, operations)
    updated = update_playbook_data(
        playbook, {"operations": operations, "evaluations": [{"name": "kpt_001", "rating": "helpful"}]}
    )

    assert playbook == before
    assert entries_of(structured) == [an_entry("kpt_001", "one, reworded", 1, 0)]
    assert entries_of(updated) == [an_entry("kpt_001", "one, reworded", 2, 0)]


def test_given_operations_stay_unchanged() -> None:
    operations = [{"type": "MERGE", "source_ids": ["kpt_001", "kpt_002", "x"], "merged_text": " both ", "section": "x"}]
    before = copy.deepcopy(operations)

    apply_structured_operations(a_flat_dict("one", "two"), operations)

    assert operations == before


def test_no_operations_return_the_same_object(layout: Layout) -> None:
    playbook = a_dict(layout, "bare", {"text": "two", "score": 3})
    before = copy.deepcopy(playbook)

    assert apply_structured_operations(playbook, []) is playbook
    assert playbook == before


def test_operations_neither_vote_nor_prune(layout: Layout) -> None:
    playbook = a_dict(layout, an_entry("kpt_001", "bad", harmful=9))

    after = apply_structured_operations(playbook, [{"type": "ADD", "text": "new"}])

    assert by_name(after)["kpt_001"] == an_entry("kpt_001", "bad", harmful=9)
    assert len(entries_of(after)) == 2


class BrokenError(Exception):
    """Something that no rule foresees."""


def test_failing_operations_return_the_original(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    def break_half_way(playbook: dict[str, Any], operations: list[Any]) -> dict[str, Any]:
        playbook["key_points"].clear()
        raise BrokenError("unexpected")

    monkeypatch.setattr(contract, "_apply_curator_operations", break_half_way)
    (folder / ".claude" / "diagnostic_mode").touch()
    playbook = a_flat_dict(an_entry("kpt_001", "one"))

    after = apply_structured_operations(playbook, [{"type": "ADD", "text": "two"}])

    assert after is playbook
    assert playbook == a_flat_dict(an_entry("kpt_001", "one"))
    assert "unexpected" in capsys.readouterr().err
    assert any("unexpected" in content for content in diagnostics_in(folder).values())


def test_empty_result_changes_nothing(layout: Layout) -> None:
    playbook = a_dict(layout, an_entry("kpt_001", "one", 3, 1))
    before = copy.deepcopy(playbook)

    after = update_playbook_data(playbook, {})

    assert after is playbook
    assert after == before


# --- prune_harmful ---


def test_prune_harmful_works_in_place(layout: Layout) -> None:
    playbook = a_dict(layout, an_entry("kpt_001", "bad", harmful=3), an_entry("kpt_002", "good", 3, 3), team="x")
    survivor = entries_of(playbook)[1]

    after = prune_harmful(playbook)

    assert after is playbook
    assert [entry is survivor for entry in entries_of(playbook)] == [True]
    assert playbook["team"] == "x"


@pytest.mark.parametrize("result", [None, 5, "x", []])
def test_odd_result_changes_nothing(result: Any) -> None:
    playbook = a_sections_dict({PATTERNS: [an_entry("pat-001", "bad", 0, 9)]})
    before = copy.deepcopy(playbook)

    assert update_playbook_data(playbook, result) is playbook
    assert playbook == before
