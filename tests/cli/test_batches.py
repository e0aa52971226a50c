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


def _batch(folder: Path, content: object) -> str:
    file = folder / "batch.json"
    file.write_text(json.dumps(content))
    return str(file)


def test_batch_without_effect_is_an_error(playbook: Playbook, folder: Path) -> None:
    (folder / "batch.json").write_text('[{"type": "UPDATE", "target_id": "x-1", "text": "a"}]')

    done = playbook("apply", "batch.json")

    assert done.code == 1
    assert "no operation was applied" in done.err
    assert "there is no point x-1" in done.out
    assert playbook("log", "--json").json == []


def test_batch_is_one_revision(playbook: Playbook, folder: Path) -> None:
    playbook("add", "use type hints")

    result = playbook("apply", _batch(folder, _BATCH), "--json").json

    assert result["revision"] == 2
    assert [(change["kind"], change["name"]) for change in result["changes"]] == [
        ("add", "oth-002"),
        ("edit", "oth-001"),
    ]
    assert {skip["number"]: skip["reason"] for skip in result["skipped"]} == {
        2: "the playbook says this already",
        4: "there is no point oth-404",
        5: "not an object",
    }


def test_batch_dry_run_changes_nothing(playbook: Playbook, folder: Path) -> None:
    """It shows what the batch would do."""
    playbook("add", "use type hints")
    before = playbook("export").out

    rehearsed = playbook("apply", _batch(folder, _BATCH), "--dry-run", "--json").json
    assert playbook("export").out == before
    done = playbook("apply", _batch(folder, _BATCH), "--json").json

    assert (rehearsed["revision"], rehearsed["dry_run"]) == (None, True)
    assert (rehearsed["changes"], rehearsed["skipped"]) == (done["changes"], done["skipped"])


@pytest.mark.parametrize("content", [{"operations": _BATCH, "reasoning": "because"}, _BATCH], ids=["object", "list"])
def test_batch_is_read_from_stdin(playbook: Playbook, content: object) -> None:
    """It is a list, or an object with `operations`."""
    assert playbook("apply", "-", stdin=json.dumps(content)).code == 0
    assert "Use type hints!" in playbook("list").out


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("{", "is not valid JSON"),
        ('{"operations": null}', "holds no operations"),
    ],
)
def test_file_without_operations_is_refused(playbook: Playbook, content: str, told: str) -> None:
    result = playbook("apply", "-", stdin=content)

    assert result.code == 1
    assert told in result.err
    assert playbook("list", "--json").json == []


def test_prune_retires_harmful_points(playbook: Playbook) -> None:
    content = a_sections_dict({"OTHERS": [an_entry("oth-001", "good", 9, 3), an_entry("oth-002", "bad", 1, 4)]})
    playbook("import", "-", stdin=json.dumps(content))

    assert "oth-002: pruned: 4 harmful, 1 helpful" in playbook("prune", "--dry-run").out
    assert len(playbook("list", "--json").json) == 2
    assert playbook("prune", "--json").json["changes"][0]["name"] == "oth-002"
    assert [point["name"] for point in playbook("list", "--json").json] == ["oth-001"]
    assert playbook("prune").out == "nothing changed\n"


def test_users_template_replaces_ours(playbook: Playbook, home: Path) -> None:
    """One without the placeholder is refused."""
    playbook("add", "use {braces}")
    assert "\n## OTHERS\n[oth-001] helpful=0 harmful=0 :: use {braces}\n" in playbook("render").out

    prompts = home / ".claude" / "prompts"
    prompts.mkdir(parents=True)
    (prompts / "playbook.txt").write_text("<<{key_points}>>")
    assert playbook("render").out == "<<## OTHERS\n[oth-001] helpful=0 harmful=0 :: use {braces}>>\n"

    (prompts / "playbook.txt").write_text("nothing here")
    result = playbook("render")
    assert result.code == 1
    assert "playbook.txt lacks {key_points}" in result.err


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
    said = playbook("show", "2", "--json").json
    assert [(vote["name"], vote["tag"], vote["matched"]) for vote in said["votes"]] == [
        ("oth-001", "helpful", True),
        ("oth-009", "harmful", False),
    ]
