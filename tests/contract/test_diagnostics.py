"""What a project with the flag file is told in `.claude/diagnostic/`, and that others are told nothing."""

import json
from pathlib import Path

import pytest

from playbook_db import settings
from playbook_db.contract import (
    is_diagnostic_mode,
    load_playbook,
    prune_harmful,
    save_diagnostic,
    update_playbook_data,
)
from playbook_db.errors import DiagnosticsError
from tests.builders import a_flat_dict, a_sections_dict, an_entry
from tests.contract.playbooks import (
    PATTERNS,
    diagnostics_in,
    entries_of,
    write_file,
)


@pytest.fixture
def diagnosed(folder: Path) -> Path:
    """The project's folder, its flag file there."""
    (folder / ".claude" / "diagnostic_mode").touch()
    return folder


def test_the_flag_file_turns_diagnostics_on(folder: Path) -> None:
    """`.claude/diagnostic_mode` in the project, whatever it holds."""
    before = is_diagnostic_mode()
    (folder / ".claude" / "diagnostic_mode").touch()

    assert (before, is_diagnostic_mode()) == (False, True)


def test_a_diagnostic_is_a_file_of_its_own(diagnosed: Path) -> None:
    """Its content to the letter, its name after the one given, in `.claude/diagnostic/`."""
    save_diagnostic("läuft\nzweite Zeile", "an event")
    save_diagnostic("other", "an/../event")

    contents = sorted(path.read_text(encoding="utf-8") for path in (diagnosed / ".claude" / "diagnostic").iterdir())
    assert contents == ["läuft\nzweite Zeile", "other"]
    assert "an_event.txt" in diagnostics_in(diagnosed)


def test_a_migration_is_told(diagnosed: Path) -> None:
    """A line that counts the entries, and as JSON the name, former shape and score of each; not at every load."""
    entries = ["bare", {"name": "kpt_007", "text": "two"}, {"text": "three", "score": -3}, an_entry("kpt_004", "four")]
    write_file(diagnosed, a_flat_dict(*entries))

    load_playbook()
    load_playbook()

    assert len(list((diagnosed / ".claude" / "diagnostic").iterdir())) == 1
    title, _, migrated = diagnostics_in(diagnosed)["playbook_migration.txt"].partition("\n")
    assert title == "Migrated 3 playbook entries:"
    assert json.loads(migrated) == [
        {"name": "kpt_001", "from": "bare_string", "original_score": None},
        {"name": "kpt_007", "from": "dict_no_score", "original_score": None},
        {"name": "kpt_008", "from": "dict_with_score", "original_score": -3},
    ]


def test_a_file_in_canonical_form_tells_of_no_migration(diagnosed: Path) -> None:
    """Nothing was migrated, so nothing is written."""
    write_file(diagnosed, a_sections_dict({PATTERNS: [an_entry("pat-001")]}))

    load_playbook()

    assert diagnostics_in(diagnosed) == {}


def test_pruned_points_are_told(diagnosed: Path) -> None:
    """How many, and of each its name, its text cut to 80 characters, its counts and the reason."""
    text = "x" * 79 + "yz"
    playbook = a_flat_dict(
        an_entry("kpt_001", text, 1, 4), an_entry("kpt_002", "fine", 9, 4), an_entry("kpt_003", "short", 0, 3)
    )

    prune_harmful(playbook)

    assert diagnostics_in(diagnosed) == {
        "playbook_pruning.txt": (
            "Pruned 2 key points:\n"
            f'  - kpt_001: "{"x" * 79}y" (helpful=1, harmful=4) reason: harmful >= 3 AND harmful > helpful\n'
            '  - kpt_003: "short" (helpful=0, harmful=3) reason: harmful >= 3 AND harmful > helpful'
        )
    }


def test_pruning_in_an_update_is_told_too(diagnosed: Path) -> None:
    """update_playbook_data prunes as its last step and says so the same way."""
    update_playbook_data(
        a_flat_dict(an_entry("kpt_001", "bad", 0, 2)), {"evaluations": [{"name": "kpt_001", "rating": "harmful"}]}
    )

    assert "kpt_001" in diagnostics_in(diagnosed)["playbook_pruning.txt"]


def test_a_batch_of_operations_is_summed_up(diagnosed: Path) -> None:
    """How many operations there were, and which were skipped and why."""
    operations = [
        {"type": "ADD", "text": "new"},
        {"type": "DELETE", "target_id": "pat-999"},
        *[{"type": "ADD", "text": f"text {number}"} for number in range(10)],
    ]

    update_playbook_data(a_sections_dict({}), {"operations": operations})

    told = diagnostics_in(diagnosed)["curator_operations.txt"]
    assert "12 operations" in told
    assert "3 skipped" in told
    assert "pat-999" in told
    assert "at most 10" in told


def test_nothing_is_told_without_the_flag_file(folder: Path) -> None:
    """No flag, no files: a migration, a pruning and operations leave no trace in the work tree."""
    path = write_file(folder, a_flat_dict("bare", an_entry("kpt_002", "bad", 0, 9)))

    update_playbook_data(load_playbook(), {"operations": [{"type": "DELETE", "target_id": "pat-999"}]})

    assert list((folder / ".claude").iterdir()) == [path]


def test_old_diagnostics_are_rotated_away_and_nothing_else(diagnosed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the newest of our own files stay; a file that somebody else put there is left alone."""
    monkeypatch.setattr(settings, "DIAGNOSTIC_FILES_KEPT", 3)
    kept = diagnosed / ".claude" / "diagnostic"
    kept.mkdir()
    (kept / "a note of mine.txt").write_text("mine")

    for number in range(5):
        save_diagnostic(str(number), f"event-{number}")

    ours = sorted(path.read_text() for path in kept.iterdir() if path.name != "a note of mine.txt")
    assert ours == ["2", "3", "4"]
    assert (kept / "a note of mine.txt").read_text() == "mine"


def test_a_folder_that_links_out_of_the_project_gets_no_diagnostics(diagnosed: Path, tmp_path: Path) -> None:
    """A clone may bring such a link: writing is refused, and what would have been told of is done all the same."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (diagnosed / ".claude" / "diagnostic").symlink_to(outside)

    with pytest.raises(DiagnosticsError, match="link out of the project"):
        save_diagnostic("content", "an event")
    after = prune_harmful(a_flat_dict(an_entry("kpt_001", "bad", 0, 9)))

    assert list(outside.iterdir()) == []
    assert entries_of(after) == []


def test_an_unknown_section_is_reported(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On stderr and in the diagnostics; the point goes to OTHERS all the same."""
    (folder / ".claude" / "diagnostic_mode").touch()

    update_playbook_data(a_sections_dict({}), {"operations": [{"type": "ADD", "text": "x", "section": "NO SUCH"}]})

    assert "NO SUCH" in capsys.readouterr().err
    assert any("NO SUCH" in told for told in diagnostics_in(folder).values())


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
