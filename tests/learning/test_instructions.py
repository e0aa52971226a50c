"""Which instruction files the reflector is shown, and how much of them."""

from pathlib import Path

import pytest

from playbook_db.services.learning.instructions import MAX_CHARS, read_instructions


def test_both_files_fit_into_the_limit(tmp_path: Path) -> None:
    """A long file is masked before it is cut."""
    (tmp_path / "CLAUDE.md").write_text("secret" * 2000)
    (tmp_path / "AGENTS.md").write_text("b" * 9000)

    text = read_instructions(str(tmp_path), lambda content: content.replace("secret", "masked"))

    assert MAX_CHARS - 20 < len(text) <= MAX_CHARS
    assert text.startswith("## CLAUDE.md\nmaskedmasked")
    assert "\n[...]\n\n## AGENTS.md\nbbb" in text
    assert "secret" not in text


def test_equal_files_count_once(tmp_path: Path) -> None:
    """Many projects link one file to the other."""
    (tmp_path / "CLAUDE.md").write_text("Use uv.\n")
    (tmp_path / "AGENTS.md").symlink_to("CLAUDE.md")

    assert read_instructions(str(tmp_path), str) == "## CLAUDE.md\nUse uv."


@pytest.mark.parametrize("folder", [None, "missing", "."])
def test_unreadable_files_give_no_text(tmp_path: Path, folder: str | None) -> None:
    """A link out of the project isn't followed."""
    (tmp_path / "outside.txt").write_text("a key")
    inside = tmp_path / "project"
    (inside / "AGENTS.md").mkdir(parents=True)
    (inside / "CLAUDE.md").symlink_to(tmp_path / "outside.txt")

    assert read_instructions(folder and str(inside / folder), str) == ""
