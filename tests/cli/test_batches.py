"""apply, with a batch from standard input."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Playbook


@pytest.mark.parametrize(
    ("content", "words"), [("{", "is not valid JSON"), ('{"operations": null}', "holds no operations")]
)
def test_file_without_operations_is_refused(playbook: Playbook, content: str, words: str) -> None:
    result = playbook("apply", "-", stdin=content)

    assert result.code == 1
    assert words in result.err
    assert playbook("list", "--json").json == []


def test_batch_may_hold_votes(playbook: Playbook, folder: Path) -> None:
    """Votes are in the same revision as the operations."""
    playbook("add", "use type hints")
    votes = [{"name": name, "rating": rating} for name, rating in (("oth-001", "helpful"), ("oth-001", "great"))]
    batch = {"evaluations": [*votes, {"name": "oth-009", "rating": "harmful"}]}

    alone = playbook("apply", "-", stdin=json.dumps(batch))
    both = playbook(
        "apply", "-", "--json", stdin=json.dumps(batch | {"operations": [{"type": "ADD", "text": "prefer pathlib"}]})
    )

    assert alone.out == f"vote      oth-001: 1 helpful, 0 harmful\nrevision 2 of {folder}\n"
    assert "evaluation 2 is skipped" in alone.err
    assert "there is no point oth-009" in alone.err
    assert both.json["revision"] == 3
    assert playbook("show", "oth-001", "--json").json["helpful"] == 2
    votes = playbook("show", "2", "--json").json["votes"]
    assert [(vote["name"], vote["matched"]) for vote in votes] == [("oth-001", True), ("oth-009", False)]
