"""Diagnostics in `.claude/diagnostic/` of a project that has the flag file."""

import json
import os
import subprocess
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
from playbook_db.errors import PlaybookError
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


def test_flag_file_turns_diagnostics_on(folder: Path) -> None:
    before = is_diagnostic_mode()
    (folder / ".claude" / "diagnostic_mode").touch()

    assert (before, is_diagnostic_mode()) == (False, True)


def test_diagnostics_are_private(diagnosed: Path) -> None:
    before = os.umask(0o022)
    try:
        save_diagnostic("anything", "an event")
    finally:
        os.umask(before)

    target = diagnosed / ".claude" / "diagnostic"
    assert {path.stat().st_mode & 0o777 for path in target.iterdir()} == {0o600}
    assert target.stat().st_mode & 0o777 == 0o700


def _git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always"]
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def origin(tmp_path: Path) -> Path:
    """A repository that has the flag file, and before it a file with almost its name."""
    made = tmp_path / "origin"
    (made / ".claude").mkdir(parents=True)
    _git(made, "init")
    for name in ("diagnostic_mod", "diagnostic_mode"):
        (made / ".claude" / name).touch()
    _git(made, "add", "--all")
    _git(made, "commit", "--message", "on")
    return made


@pytest.mark.slow
@pytest.mark.parametrize("how", ["plain", "version 4", "split", "worktree", "submodule", "link"])
def test_flag_file_of_a_clone_counts_for_nothing(
    origin: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    clone = tmp_path / "clone"
    if how == "submodule":
        inner = tmp_path / "inner"
        inner.mkdir()
        _git(inner, "init")
        (inner / "diagnostic_mode").touch()
        _git(inner, "add", "--all")
        _git(inner, "commit", "--message", "on")
        clone.mkdir()
        _git(clone, "init")
        _git(clone, "submodule", "add", str(inner), ".claude")
    else:
        if how == "link":
            (origin / ".claude").rename(origin / "x")
            (origin / ".claude").symlink_to("x")
            _git(origin, "add", "--all")
            _git(origin, "commit", "--message", "a link")
        _git(tmp_path, "clone", str(origin), str(clone))
    if how == "version 4":
        _git(clone, "update-index", "--index-version", "4")
        assert b"diagnostic_mode\0" not in (clone / ".git" / "index").read_bytes()
    if how == "split":
        _git(clone, "update-index", "--split-index")
    if how == "worktree":
        _git(clone, "worktree", "add", str(tmp_path / "linked"))
        clone = tmp_path / "linked"
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(clone))
    assert (clone / ".claude" / "diagnostic_mode").exists()

    assert not is_diagnostic_mode()

    in_git = clone / ".claude" if how == "submodule" else clone / ("x" if how == "link" else ".claude")
    _git(in_git, "rm", "--cached", "diagnostic_mode")
    assert is_diagnostic_mode()


@pytest.mark.slow
def test_users_flag_file_counts_in_a_repository(diagnosed: Path) -> None:
    _git(diagnosed, "init")
    before = is_diagnostic_mode()
    (diagnosed / "code.py").touch()
    _git(diagnosed, "add", "code.py")

    assert (before, is_diagnostic_mode()) == (True, True)
    (diagnosed / ".git" / "index").write_bytes(b"damaged")
    assert not is_diagnostic_mode()
    (diagnosed / ".git").rename(diagnosed / "elsewhere")
    (diagnosed / ".git").write_bytes(b"gitdir: \0")
    assert not is_diagnostic_mode()


def test_each_diagnostic_is_a_file(diagnosed: Path) -> None:
    save_diagnostic("läuft\nzweite Zeile", "an event")
    save_diagnostic("other", "an/../event")

    contents = sorted(path.read_text(encoding="utf-8") for path in (diagnosed / ".claude" / "diagnostic").iterdir())
    assert contents == ["läuft\nzweite Zeile", "other"]
    assert "an_event.txt" in diagnostics_in(diagnosed)


def test_migration_is_recorded(diagnosed: Path) -> None:
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


def test_pruned_points_are_recorded(diagnosed: Path) -> None:
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


def test_batch_is_summed_up(diagnosed: Path) -> None:
    operations = [
        {"type": "ADD", "text": "new"},
        {"type": "DELETE", "target_id": "pat-999"},
        *[{"type": "ADD", "text": f"text {number}"} for number in range(10)],
    ]

    update_playbook_data(a_sections_dict({}), {"operations": operations})

    output = diagnostics_in(diagnosed)["curator_operations.txt"]
    assert "12 operations" in output
    assert "3 skipped" in output
    assert "pat-999" in output
    assert "at most 10" in output


def test_batch_record_has_each_change(diagnosed: Path) -> None:
    playbook = a_sections_dict(
        {PATTERNS: [an_entry("pat-001", "one"), an_entry("pat-002", "two"), an_entry("pat-003")]}
    )
    operations = [
        {"type": "MERGE", "source_ids": ["pat-001", "pat-404", "pat-002"], "merged_text": "both"},
        {"type": "DELETE", "target_id": "pat-003", "reason": "it is wrong"},
        {"type": "UPDATE", "target_id": "pat-004", "text": "all"},
    ]

    update_playbook_data(playbook, {"operations": operations})

    assert diagnostics_in(diagnosed)["curator_operations.txt"].splitlines()[:6] == [
        "3 operations, 3 applied, 0 skipped:",
        "  - added pat-004: merged from pat-001, pat-002 (missing: pat-404)",
        "  - retired pat-001: merged into pat-004",
        "  - retired pat-002: merged into pat-004",
        "  - retired pat-003: it is wrong",
        "  - reworded pat-004",
    ]


def test_no_flag_file_no_diagnostics(folder: Path) -> None:
    path = write_file(folder, a_flat_dict("bare", an_entry("kpt_002", "bad", 0, 9)))

    update_playbook_data(load_playbook(), {"operations": [{"type": "DELETE", "target_id": "pat-999"}]})

    assert list((folder / ".claude").iterdir()) == [path]


def test_old_diagnostics_are_deleted(diagnosed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "MAX_DIAGNOSTIC_FILES", 3)
    kept = diagnosed / ".claude" / "diagnostic"
    kept.mkdir()
    (kept / "a note of mine.txt").write_text("mine")

    for number in range(5):
        save_diagnostic(str(number), f"event-{number}")

    ours = sorted(path.read_text() for path in kept.iterdir() if path.name != "a note of mine.txt")
    assert ours == ["2", "3", "4"]
    assert (kept / "a note of mine.txt").read_text() == "mine"


def test_link_out_of_the_project_gets_no_diagnostics(diagnosed: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (diagnosed / ".claude" / "diagnostic").symlink_to(outside)

    with pytest.raises(PlaybookError, match="outside the project"):
        save_diagnostic("content", "an event")
    after = prune_harmful(a_flat_dict(an_entry("kpt_001", "bad", 0, 9)))

    assert list(outside.iterdir()) == []
    assert entries_of(after) == []
    (diagnosed / ".claude" / "diagnostic").unlink()
    (diagnosed / ".claude" / "diagnostic").touch()
    with pytest.raises(PlaybookError, match=r"an_event\.txt can't be written"):
        save_diagnostic("content", "an event")


def test_unknown_section_is_reported(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / ".claude" / "diagnostic_mode").touch()

    update_playbook_data(a_sections_dict({}), {"operations": [{"type": "ADD", "text": "x", "section": "NO SUCH"}]})

    assert "NO SUCH" in capsys.readouterr().err
    assert any("NO SUCH" in output for output in diagnostics_in(folder).values())
