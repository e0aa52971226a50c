"""Corners that were found by looking for them: several programs, other projects, broken helpers, links."""

import json
from pathlib import Path

import pytest

from playbook_db.contract import (
    load_playbook,
    run_deduplication,
    save_diagnostic,
    save_playbook,
    update_playbook_data,
)
from playbook_db.errors import DiagnosticsError, PlaybookFileError
from tests.builders import a_flat_dict, a_sections_dict, an_entry
from tests.contract.playbooks import (
    DATED,
    PATTERNS,
    an_addition,
    helpful,
    outcome_of,
    save,
    texts_of,
    write_file,
)


def _diagnostics(folder: Path) -> list[str]:
    return [path.read_text(encoding="utf-8") for path in (folder / ".claude" / "diagnostic").iterdir()]


def test_a_name_freed_in_one_call_is_not_given_in_the_next(folder: Path) -> None:
    """Within one load and save, too: a late vote for the point that left must not hit the new one."""
    entries = [an_entry("pat-001", "one"), an_entry("pat-002", "old", 7)]
    write_file(folder, a_sections_dict({PATTERNS: entries}, **DATED))
    late, playbook = load_playbook(), load_playbook()

    playbook = update_playbook_data(playbook, {"operations": [{"type": "DELETE", "target_id": "pat-002"}]})
    playbook = update_playbook_data(playbook, {"operations": [{"type": "ADD", "text": "new", "section": PATTERNS}]})
    save_playbook(playbook)
    save_playbook(update_playbook_data(late, helpful("pat-002")))

    assert outcome_of(load_playbook()) == [(PATTERNS, "pat-001", "one", 0, 0), (PATTERNS, "pat-003", "new", 0, 0)]


def test_what_two_programs_learn_at_once_is_there_once(folder: Path) -> None:
    """The same text under two names is one point; the names alone would not tell."""
    write_file(folder, a_sections_dict({PATTERNS: [an_entry("pat-001", "one")]}, **DATED))
    first, second = load_playbook(), load_playbook()

    save_playbook(update_playbook_data(update_playbook_data(first, an_addition("x")), an_addition("learnt twice")))
    save_playbook(update_playbook_data(second, an_addition("learnt twice")))

    assert sorted(texts_of(load_playbook())) == ["learnt twice", "one", "x"]


def test_a_playbook_saved_into_another_project_replaces_what_is_there(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it was loaded from is no ancestor there, so nothing is merged."""
    write_file(folder, a_sections_dict({PATTERNS: [an_entry("pat-001", "of A", 5)]}))
    loaded = load_playbook()
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(tmp_path / "B"))
    save_playbook(a_sections_dict({PATTERNS: [an_entry("pat-001", "of B", 9)]}))
    save(an_addition("second of B"))

    save_playbook(loaded)

    assert outcome_of(load_playbook()) == [(PATTERNS, "pat-001", "of A", 5, 0)]


@pytest.mark.parametrize("value", [{1, 2}, float("nan"), b"x"], ids=str)
def test_a_top_level_value_that_no_file_can_hold_is_refused(folder: Path, value: object) -> None:
    """With its key named, and nothing saved."""
    with pytest.raises(PlaybookFileError, match="`x`"):
        save_playbook({**a_sections_dict({PATTERNS: [an_entry("pat-001")]}), "x": value})

    assert texts_of(load_playbook()) == []


def test_a_file_without_version_and_time_loads_with_both(folder: Path) -> None:
    """Programs rely on the keys that the documents list."""
    write_file(folder, {"key_points": ["one"]})

    loaded = load_playbook()

    assert (loaded["version"], loaded["last_updated"]) == ("1.0", None)


def test_equal_vectors_are_similar_whatever_the_rounding(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At a threshold of 1, too."""
    (tmp_path / "same_vectors.py").write_text("def embed(texts):\n    return [[1.0, 3.0, 3.0] for _ in texts]\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PLAYBOOK_EMBEDDER", "same_vectors:embed")

    assert len(run_deduplication(a_flat_dict("a", "b"), 1.0)["key_points"]) == 1


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("raising", "raise RuntimeError('boom')"),
        ("too_few", "return [[1.0]]"),
        ("uneven", "return [[1.0], [1.0, 2.0]]"),
    ],
)
def test_a_broken_embedder_is_reported_and_changes_nothing(
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    name: str,
    body: str,
) -> None:
    """It is somebody else's code; whatever it does, the playbook comes back as it is."""
    (tmp_path / f"embedder_{name}.py").write_text(f"def embed(texts):\n    {body}\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PLAYBOOK_EMBEDDER", f"embedder_{name}:embed")
    playbook = a_flat_dict("a", "b")

    assert run_deduplication(playbook) is playbook
    assert "PLAYBOOK_EMBEDDER" in capsys.readouterr().err


def test_an_unknown_section_is_reported(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On stderr and in the diagnostics; the point goes to OTHERS all the same."""
    (folder / ".claude" / "diagnostic_mode").touch()

    update_playbook_data(a_sections_dict({}), {"operations": [{"type": "ADD", "text": "x", "section": "NO SUCH"}]})

    assert "NO SUCH" in capsys.readouterr().err
    assert any("NO SUCH" in told for told in _diagnostics(folder))


def test_a_migration_is_told_entry_by_entry(folder: Path) -> None:
    """As JSON with name, former shape and score, below one line that counts them."""
    (folder / ".claude" / "diagnostic_mode").touch()
    write_file(folder, a_flat_dict("one"))

    load_playbook()

    (told,) = _diagnostics(folder)
    title, _, entries = told.partition("\n")
    assert title == "Migrated 1 playbook entries:"
    assert json.loads(entries) == [{"name": "kpt_001", "from": "bare_string", "original_score": None}]


def test_a_dangling_link_for_the_diagnostics_is_refused_in_words(folder: Path, tmp_path: Path) -> None:
    """A clone may bring one."""
    (folder / ".claude" / "diagnostic").symlink_to(tmp_path / "nowhere")

    with pytest.raises(DiagnosticsError, match="link out of the project"):
        save_diagnostic("x", "y")


def test_diagnostics_make_nothing_outside_the_project(folder: Path, tmp_path: Path) -> None:
    """Where `.claude` itself leads out, not even a folder."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (folder / ".claude").rmdir()
    (folder / ".claude").symlink_to(outside)

    with pytest.raises(DiagnosticsError, match="Nothing was written"):
        save_diagnostic("x", "y")

    assert list(outside.iterdir()) == []
