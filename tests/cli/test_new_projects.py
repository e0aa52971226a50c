"""A folder that looks like no project gets a playbook only where somebody wants one; what changes one says which."""

from pathlib import Path

import pytest

from playbook_db.cli import context
from tests.cli.conftest import Playbook


@pytest.fixture
def stray(folder: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home folder as the current one; no project is named."""
    (home / ".claude").mkdir()
    monkeypatch.delenv("CLAUDE_PROJECT_DIR")
    monkeypatch.chdir(home)
    (home / "session.jsonl").touch()
    return home


@pytest.mark.parametrize("command", ["add x", "import -", "learn session.jsonl", "bootstrap", "restore --at now"])
def test_stray_folders_get_no_playbook(
    playbook: Playbook, stray: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "never used")

    result = playbook(*command.split(), stdin='{"sections": {}}')

    assert (result.code, result.out) == (1, "")
    assert f"{stray} doesn't look like a project" in result.err
    assert "playbook init" in result.err
    assert playbook("project", "list").out == ""


def test_terminal_asks_about_a_stray_folder_once(
    playbook: Playbook, stray: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
def test_named_folders_are_not_asked_about(
    playbook: Playbook, stray: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
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


def test_reading_creates_no_playbook(playbook: Playbook, stray: Path) -> None:
    for command in (["list"], ["log"], ["render"], ["stats"], ["export"], ["sessions"], ["jobs"]):
        assert playbook(*command).code == 0
    assert playbook("project", "list").out == ""
