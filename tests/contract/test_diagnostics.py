"""What a project with the flag file is told in `.claude/diagnostic/`, and that others are told nothing."""

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


def test_the_flag_file_turns_diagnostics_on(folder: Path) -> None:
    """`.claude/diagnostic_mode` in the project, whatever it holds."""
    before = is_diagnostic_mode()
    (folder / ".claude" / "diagnostic_mode").touch()

    assert (before, is_diagnostic_mode()) == (False, True)


def test_a_diagnostic_is_its_owner_s_alone(diagnosed: Path) -> None:
    """A model's exchange may say much; the folder too, where it is made."""
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
def test_a_flag_file_that_a_clone_brought_turns_nothing_on(
    origin: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """Whatever its git's index looks like, and however it came; out of the index it is the user's own."""
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
def test_a_flag_file_of_the_user_s_own_counts_in_a_repository(diagnosed: Path) -> None:
    """Before and after the first commit of something else; an index that can't be read tells nothing, so it is off."""
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


def test_batch_tells_what_it_did(diagnosed: Path) -> None:
    """What came, a merge with the ids that it named in vain, what left and why."""
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


def test_nothing_is_told_without_the_flag_file(folder: Path) -> None:
    """No flag, no files: a migration, a pruning and operations leave no trace in the work tree."""
    path = write_file(folder, a_flat_dict("bare", an_entry("kpt_002", "bad", 0, 9)))

    update_playbook_data(load_playbook(), {"operations": [{"type": "DELETE", "target_id": "pat-999"}]})

    assert list((folder / ".claude").iterdir()) == [path]


def test_old_diagnostics_are_rotated_away_and_nothing_else(diagnosed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the newest of our own files stay; a file that somebody else put there is left alone."""
    monkeypatch.setattr(settings, "MAX_DIAGNOSTIC_FILES", 3)
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

    with pytest.raises(PlaybookError, match="outside the project"):
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

    with pytest.raises(PlaybookError, match="outside the project"):
        save_diagnostic("x", "y")


def test_diagnostics_make_nothing_outside_the_project(folder: Path, tmp_path: Path) -> None:
    """Where `.claude` itself leads out, not even a folder."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (folder / ".claude").rmdir()
    (folder / ".claude").symlink_to(outside)

    with pytest.raises(PlaybookError, match="Nothing was written"):
        save_diagnostic("x", "y")

    assert list(outside.iterdir()) == []
