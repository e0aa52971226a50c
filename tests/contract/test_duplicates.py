"""run_deduplication: what is folded into what, from which threshold, and with whose embedder."""

import copy
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from playbook_db.contract import (
    run_deduplication,
)
from tests.builders import a_flat_dict, an_entry
from tests.contract.playbooks import (
    Layout,
    a_dict,
    entries_of,
)

EMBEDDER = '''
import math

def embed(texts):
    """Each text is an angle in degrees, with a length that must not matter."""
    return [[7 * math.cos(math.radians(float(t))), 7 * math.sin(math.radians(float(t)))] for t in texts]
'''


@pytest.fixture
def embedder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An embedder of the user's own, in a module that can be imported."""
    module = f"embedder_{uuid4().hex}"
    (tmp_path / f"{module}.py").write_text(EMBEDDER)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PLAYBOOK_EMBEDDER", f"{module}:embed")


def angles(playbook: dict[str, Any]) -> list[str]:
    """The texts that are left."""
    return [entry["text"] for entry in entries_of(playbook)]


def test_similar_points_fold_into_the_first(embedder: None, layout: Layout) -> None:
    playbook = a_dict(
        layout, an_entry("kpt_001", "0", 1, 2), an_entry("kpt_002", "90", 5, 5), an_entry("kpt_003", "10", 3, 4)
    )

    after = run_deduplication(playbook)

    assert entries_of(after) == [an_entry("kpt_001", "0", 4, 6), an_entry("kpt_002", "90", 5, 5)]


@pytest.mark.parametrize(
    ("argument", "variable", "survivors"),
    [
        (None, None, "0 40 89 180"),  # 0.85, so that 30 folds and 40 does not
        (0.75, None, "0 89 180"),
        (None, "0.75", "0 89 180"),
        (0.75, "0.99", "0 89 180"),
        (0.99, "0.75", "0 30 40 89 180"),
        (None, "", "0 40 89 180"),
    ],
)
def test_threshold_is_argument_or_variable_or_085(
    embedder: None, monkeypatch: pytest.MonkeyPatch, argument: float | None, variable: str | None, survivors: str
) -> None:
    if variable is not None:
        monkeypatch.setenv("AGENTIC_CONTEXT_DEDUP_THRESHOLD", variable)
    texts = ("0", "0.0", "30", "40", "89", "180")
    playbook = a_flat_dict(*(an_entry(f"kpt_{place:03d}", text) for place, text in enumerate(texts)))

    assert angles(run_deduplication(playbook, argument)) == survivors.split()


def test_no_embedder_compares_nothing(capsys: pytest.CaptureFixture[str], layout: Layout) -> None:
    playbook = a_dict(layout, an_entry("kpt_001", "same"), an_entry("kpt_002", "same"))
    before = copy.deepcopy(playbook)

    after = run_deduplication(playbook, 0.5)

    assert after is playbook
    assert after == before
    assert "PLAYBOOK_EMBEDDER" in capsys.readouterr().err


@pytest.mark.parametrize("named", ["no_such_module_anywhere:embed", "json:no_such_function", "json", ":", "json:"])
def test_missing_embedder_is_reported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], named: str
) -> None:
    monkeypatch.setenv("PLAYBOOK_EMBEDDER", named)
    playbook = a_flat_dict(an_entry("kpt_001", "same"), an_entry("kpt_002", "same"))

    assert run_deduplication(playbook) is playbook
    assert len(entries_of(playbook)) == 2
    assert repr(named) in capsys.readouterr().err


def test_odd_threshold_is_reported(
    embedder: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AGENTIC_CONTEXT_DEDUP_THRESHOLD", "high")
    playbook = a_flat_dict(an_entry("kpt_001", "0"), an_entry("kpt_002", "1"))

    assert angles(run_deduplication(playbook)) == ["0", "1"]
    output = capsys.readouterr().err
    assert "AGENTIC_CONTEXT_DEDUP_THRESHOLD" in output
    assert "high" in output


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("raising", "raise RuntimeError('boom')"),
        ("too_few", "return [[1.0]]"),
        ("uneven", "return [[1.0], [1.0, 2.0]]"),
    ],
)
def test_broken_embedder_changes_nothing(
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    name: str,
    body: str,
) -> None:
    (tmp_path / f"embedder_{name}.py").write_text(f"def embed(texts):\n    {body}\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PLAYBOOK_EMBEDDER", f"embedder_{name}:embed")
    playbook = a_flat_dict("a", "b")

    assert run_deduplication(playbook) is playbook
    assert "PLAYBOOK_EMBEDDER" in capsys.readouterr().err
