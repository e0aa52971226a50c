"""A folder that looks like no project gets a playbook only where somebody wants one; what changes one says which."""

from pathlib import Path

import pytest

from playbook_db.cli import context
from tests.cli.conftest import Playbook

CHANGING = [
    ["add", "use ruff"], ["apply", "-"], ["prune"], ["import", "-"], ["learn", "session.jsonl"], ["bootstrap"],
    ["mirror", "on"], ["project", "ignore"], ["restore", "--at", "now"],
]  # fmt: skip
STDIN = {"apply": "[]", "import": '{"sections": {}}'}


@pytest.fixture
def stray(folder: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home folder, with Claude Code's own folder in it, as the current one; no project is named."""
    (home / ".claude").mkdir()
    monkeypatch.delenv("CLAUDE_PROJECT_DIR")
    monkeypatch.chdir(home)
    (home / "session.jsonl").touch()
    return home


@pytest.mark.parametrize("command", CHANGING, ids=lambda command: command[0])
def test_without_a_terminal_it_is_refused(
    playbook: Playbook, stray: Path, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    """It names the folder and what to do; no playbook is made."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "never used")

    result = playbook(*command, stdin=STDIN.get(command[0], ""))

    assert (result.code, result.out) == (1, "")
    assert f"{stray} doesn't look like a project" in result.err
    assert "playbook init" in result.err
    assert playbook("project", "list").out == ""


def test_a_point_to_restore_in_no_project_is_refused_for_the_folder(
    playbook: Playbook, stray: Path, tmp_path: Path
) -> None:
    """The database is there and lacks the point, but the folder is the mistake."""
    playbook("--project", str(tmp_path), "add", "use ruff", "--section", "pat")

    assert f"{stray} doesn't look like a project" in playbook("restore", "pat-001").err


def test_on_a_terminal_it_is_asked_about_once(playbook: Playbook, stray: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who says no has changed nothing; who says yes isn't asked again."""
    monkeypatch.setattr(context, "is_interactive", lambda: True)

    refused = playbook("add", "use ruff", stdin="n\n")
    assert refused.code == 1
    assert "Create a playbook for it?" in refused.err
    assert "Nothing was changed" in refused.err
    assert playbook("project", "list").out == ""
    assert playbook("add", "use ruff", stdin="y\n").out.endswith(f"revision 1 of {stray}\n")
    again = playbook("add", "use mypy")
    assert (again.code, again.err) == (0, "")


@pytest.mark.parametrize(
    "way", ["init", "--project", "CLAUDE_PROJECT_DIR", "CLAUDE_CODE_SESSION_ID", ".git", ".claude"]
)
def test_who_says_which_folder_is_meant_is_not_asked(
    playbook: Playbook, stray: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """By `playbook init`, by naming it, by a session of Claude Code there, or by what makes a folder a project."""
    options = []
    if way == "init":
        assert playbook("init").out.startswith(f"{stray} has 0 key points")
    elif way == "--project":
        options = ["--project", str(stray)]
    elif way.startswith("CLAUDE_"):
        monkeypatch.setenv(way, str(stray))
    else:
        made = stray / "made"
        (made / way).mkdir(parents=True)
        monkeypatch.chdir(made)

    result = playbook("add", "use ruff", *options)

    assert (result.code, result.err) == (0, "")
    assert result.out.endswith(f"revision 1 of {Path.cwd()}\n")


def test_looking_asks_nothing(playbook: Playbook, stray: Path) -> None:
    """And makes no playbook."""
    for command in (["list"], ["log"], ["render"], ["stats"], ["export"], ["sessions"], ["jobs"]):
        assert playbook(*command).code == 0
    assert playbook("project", "list").out == ""


def test_what_changes_a_playbook_says_which_as_json_too(playbook: Playbook) -> None:
    """Under `project`, as elsewhere."""
    playbook("add", "use ruff")

    for command in (["apply", "-"], ["prune"], ["undo"]):
        assert playbook(*command, "--json", stdin="[]").json["project"] == str(Path.cwd())
