"""From the older system, whose hooks keep the playbook in JSON files alone: `init` and `install --replace`."""

import json
from pathlib import Path
from typing import Any

import pytest

from playbook_db.claude_code import registration
from playbook_db.claude_code.setup import install, older_hooks
from tests.cli.conftest import Playbook

SCRIPTS = {"UserPromptSubmit": "user_prompt_inject", "SessionEnd": "session_end", "PreCompact": "precompact"}


@pytest.fixture(autouse=True)
def _hooks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Puts hooks into a folder."""
    made = tmp_path / "hooks"
    made.mkdir()
    for hook, _ in registration.EVENTS.values():
        (made / f"{hook}.py").write_text("")
    monkeypatch.setattr(install, "hooks_folder", lambda: str(made))


@pytest.fixture
def settings_file(home: Path) -> Path:
    """The user's settings with hooks of the older system, and one of somebody else."""
    folder = home / ".claude" / "hooks"
    folder.mkdir(parents=True)
    (folder / "common.py").write_text("import json\n\n\ndef load_playbook() -> dict:\n    ...\n")
    hooks: dict[str, Any] = {}
    for event, script in SCRIPTS.items():
        (folder / f"{script}.py").write_text("")
        command = f'/opt/uv run --project "/opt/a c e" python "{folder}/{script}.py"'
        hooks[event] = [{"hooks": [{"type": "command", "command": command, "timeout": 120}]}]
    hooks["SessionEnd"].append({"hooks": [{"type": "command", "command": "python3 /elsewhere/session_end.py"}]})
    path = home / ".claude" / "settings.json"
    path.write_text(json.dumps({"model": "opus", "hooks": hooks}, indent=4))
    return path


def _commands(path: Path) -> list[str]:
    hooks = json.loads(path.read_text())["hooks"]
    return [hook["command"] for groups in hooks.values() for group in groups for hook in group["hooks"]]


def test_init_names_older_hooks(playbook: Playbook, settings_file: Path) -> None:
    """Without a terminal it replaces nothing."""
    before = settings_file.read_text()

    result = playbook("init")

    assert result.code == 0
    assert f"{settings_file} has hooks of the older system" in result.err
    assert "playbook install --replace" in result.err
    assert settings_file.read_text() == before


def test_init_asks_to_replace_older_hooks(
    playbook: Playbook, settings_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = settings_file.read_text()
    monkeypatch.setattr("playbook_db.cli.setup.is_interactive", lambda: True)

    refused = playbook("init", stdin="n\n")
    assert (refused.code, settings_file.read_text()) == (0, before)

    result = playbook("init", stdin="y\n")
    assert result.code == 0
    assert "removed 3 hooks of the older system" in result.out
    assert [command.endswith("# playbook-db") for command in _commands(settings_file)] == [
        False, *[True] * len(registration.EVENTS)
    ]  # fmt: skip


def test_install_can_replace_older_hooks(playbook: Playbook, settings_file: Path) -> None:
    """Other hooks and settings stay, and a copy of the file."""
    before = settings_file.read_text()

    asked = playbook("install")
    assert "playbook install --replace" in asked.err
    result = playbook("install", "--replace")
    again = playbook("install", "--replace")

    (kept,) = [line for line in result.out.splitlines() if line.startswith("a copy of the earlier file: ")]
    assert before in [path.read_text() for path in settings_file.parent.glob("settings.json.before-playbook-*")]
    assert Path(kept.removeprefix("a copy of the earlier file: ")).exists()
    others = [command for command in _commands(settings_file) if not registration.is_ours({"command": command})]
    assert others == ["python3 /elsewhere/session_end.py"]
    assert len(_commands(settings_file)) == 1 + len(registration.EVENTS)
    assert "user_prompt_inject.py" not in settings_file.read_text()
    assert json.loads(settings_file.read_text())["model"] == "opus"
    assert "no settings file has hooks of the older system" in again.err


def test_unusable_templates_are_renamed(playbook: Playbook, settings_file: Path) -> None:
    prompts = settings_file.parent / "prompts"
    prompts.mkdir()
    texts = {
        "curator.txt": "{reflector_output}\n{playbook}\n",
        "reflector.txt": '{transcript} {playbook} {{"analysis": ""}}',
        "reflection.txt": "{transcript}",
        "playbook.txt": "{key_points}",
    }
    for name, text in texts.items():
        (prompts / name).write_text(text)

    result = playbook("install", "--replace")

    assert sorted(path.name for path in prompts.iterdir()) == [
        "curator.txt.before-playbook", "playbook.txt", "reflection.txt", "reflector.txt.before-playbook",
    ]  # fmt: skip
    assert result.out.count("its template, which doesn't fit this version, is now ") == 2


@pytest.mark.parametrize(
    "command",
    [
        '/x/.venv/bin/python3 "{folder}/session_end.py"',
        "python3 ~/.claude/hooks/session_end.py",
        "python3 ${{HOME}}/.claude/hooks/subagent_stop.py",
    ],
)
def test_older_hooks_are_found_by_their_script(settings_file: Path, folder: Path, command: str) -> None:
    hooks = settings_file.parent / "hooks"
    shown = command.format(folder=hooks)
    commands = [{"command": each} for each in ("echo 'unbalanced", shown)]
    settings_file.write_text(json.dumps({"hooks": {"SessionEnd": [{"hooks": commands}]}}))

    assert [found.commands for found in older_hooks.find(str(folder))] == [(shown,)]


def test_init_offers_to_learn_earlier_sessions(
    playbook: Playbook, home: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-api03-not-a-real-key")
    sessions = home / ".claude" / "projects" / "".join(char if char.isalnum() else "-" for char in str(folder))
    sessions.mkdir(parents=True)
    message = {"role": "user", "content": "hello"}
    line = {"type": "user", "uuid": "1", "sessionId": "s", "cwd": str(folder), "message": message}
    (sessions / "s.jsonl").write_text(json.dumps(line) + "\n")

    shown = playbook("init")
    assert "1 transcript to learn from, at most about " in shown.err
    assert "To learn from them: playbook bootstrap" in shown.err

    for module in ("setup", "learn"):
        monkeypatch.setattr(f"playbook_db.cli.{module}.is_interactive", lambda: True)
    asked = playbook("init", stdin="n\n")
    assert asked.code == 0
    assert "Start?" in asked.err

    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "s")  # it has only begun
    assert "transcript" not in playbook("init").err
    monkeypatch.delenv("CLAUDE_CODE_SESSION_ID")

    monkeypatch.delenv("ANTHROPIC_API_KEY")
    monkeypatch.setenv("PATH", "")
    assert "transcript" not in playbook("init").err
