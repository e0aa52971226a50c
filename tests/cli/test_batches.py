"""apply, prune, render."""

import json
from pathlib import Path

import pytest

from tests.builders import a_sections_dict, an_entry
from tests.cli.conftest import Playbook

_BATCH = [
    {"type": "ADD", "text": "prefer pathlib", "section": "pat"},
    {"type": "ADD", "text": "Use type hints!"},
    {"type": "UPDATE", "target_id": "oth-001", "text": "use type hints everywhere"},
    {"type": "DELETE", "target_id": "oth-404"},
    "nonsense",
]


def test_batch_without_effect_is_an_error(playbook: Playbook, folder: Path) -> None:
    (folder / "batch.json").write_text('[{"type": "UPDATE", "target_id": "x-1", "text": "a"}]')

    done = playbook("apply", "batch.json")

    assert done.code == 1
    assert "no operation was applied" in done.err
    assert "there is no point x-1" in done.out
    assert playbook("log", "--json").json == []


def test_batch_is_one_revision(playbook: Playbook) -> None:
    """A dry run shows the same, and changes nothing."""
    playbook("add", "use type hints")
    before = playbook("export").out

    rehearsed = playbook("apply", "-", "--dry-run", "--json", stdin=json.dumps(_BATCH)).json
    assert playbook("export").out == before
    result = playbook("apply", "-", "--json", stdin=json.dumps(_BATCH)).json

    assert (rehearsed["revision"], rehearsed["dry_run"], result["revision"]) == (None, True, 2)
    assert (rehearsed["changes"], rehearsed["skipped"]) == (result["changes"], result["skipped"])
    assert [(change["kind"], change["name"]) for change in result["changes"]] == [
        ("add", "oth-002"),
        ("edit", "oth-001"),
    ]
    assert {skip["number"]: skip["reason"] for skip in result["skipped"]} == {
        2: "the playbook says this already",
        4: "there is no point oth-404",
        5: "not an object",
    }


@pytest.mark.parametrize(
    ("content", "words"), [("{", "is not valid JSON"), ('{"operations": null}', "holds no operations")]
)
def test_file_without_operations_is_refused(playbook: Playbook, content: str, words: str) -> None:
    result = playbook("apply", "-", stdin=content)

    assert result.code == 1
    assert words in result.err
    assert playbook("list", "--json").json == []


def test_prune_retires_harmful_points(playbook: Playbook) -> None:
    content = a_sections_dict({"OTHERS": [an_entry("oth-001", "good", 9, 3), an_entry("oth-002", "bad", 1, 4)]})
    playbook("import", "-", stdin=json.dumps(content))

    assert "oth-002: pruned: 4 harmful, 1 helpful" in playbook("prune", "--dry-run").out
    assert len(playbook("list", "--json").json) == 2
    assert playbook("prune", "--json").json["changes"][0]["name"] == "oth-002"
    assert [point["name"] for point in playbook("list", "--json").json] == ["oth-001"]
    assert playbook("prune").out == "nothing changed\n"


def test_batch_may_hold_votes(playbook: Playbook, folder: Path) -> None:
    """Votes are in the same revision as the operations."""
    playbook("add", "use type hints")
    votes = [{"name": name, "rating": rating} for name, rating in (("oth-001", "helpful"), ("oth-001", "great"))]
    batch = {"evaluations": [*votes, {"name": "oth-009", "rating": "harmful"}]}

    alone = playbook("apply", "-", stdin=json.dumps(batch))
    both = playbook("apply", "-", "--json", stdin=json.dumps(batch | {"operations": _BATCH}))

    assert alone.out == f"vote      oth-001: 1 helpful, 0 harmful\nrevision 2 of {folder}\n"
    assert "evaluation 2 is skipped" in alone.err
    assert "there is no point oth-009" in alone.err
    assert both.json["revision"] == 3
    assert playbook("show", "oth-001", "--json").json["helpful"] == 2
    votes = playbook("show", "2", "--json").json["votes"]
    assert [(vote["name"], vote["matched"]) for vote in votes] == [("oth-001", True), ("oth-009", False)]
