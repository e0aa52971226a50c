"""config: each setting with its source, and how to change it."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from playbook_db.claude_code import registration
from tests.cli.conftest import Playbook
from tests.docs.test_readme import ROOT

Read = Callable[[str], str]
NOT_THE_USERS = {"PLAYBOOK_PLUGIN_ROOT", "CLAUDE_PROJECT_DIR", "CLAUDE_PLUGIN_ROOT"}  # set by us or the client


def _put(path: Path, content: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=2))
    return path


def _one(playbook: Playbook, name: str) -> tuple[str, str, str]:
    (record,) = playbook("config", name, "--json").json
    assert record["name"] == name
    return record["value"], record["source"], record["note"]


def test_config_shows_each_documented_setting(playbook: Playbook) -> None:
    page = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
    variables = page.partition("## Environment variables")[2].partition("\n`HOME`")[0]
    switches = page.partition("## Settings of Claude Code")[2].partition("## Settings of a project")[0]
    documented = set(re.findall(r"`([A-Z_]+)`", "".join(re.findall(r"^\|([^|]*)\|", variables, re.MULTILINE))))
    documented = {name for name in documented - NOT_THE_USERS if not name.startswith("CLAUDE_CODE_")}
    documented |= set(re.findall(r"^\| `(\w+)`", switches, re.MULTILINE))

    assert {record["name"] for record in playbook("config", "--json").json} == documented


def test_each_value_has_its_source(
    playbook: Playbook, folder: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "PLAYBOOK_DAILY_TOKENS"
    assert _one(playbook, name) == ("1000000", "default", "")
    settings_file = _put(home / ".claude/settings.json", {"env": {name: "2"}})
    assert _one(playbook, name) == ("2", str(settings_file), "")
    settings_file.unlink()
    monkeypatch.setenv(name, "1")
    assert _one(playbook, name) == ("1", "the environment", "")
    for number, path in enumerate((home / ".claude/settings.json", folder / ".claude/settings.local.json"), 2):
        _put(path, {"env": {name: str(number)}})
        assert _one(playbook, name) == (str(number), str(path), "this terminal has 1")


def test_project_settings_wait_for_consent(playbook: Playbook, folder: Path) -> None:
    _put(folder / ".claude" / "settings.json", {"env": {"ANTHROPIC_BASE_URL": "https://user:pw@elsewhere.example"}})

    value, _, note = _one(playbook, "ANTHROPIC_BASE_URL")

    assert "project trust" in note
    assert "pw" not in value


@pytest.mark.parametrize(
    ("name", "default", "loose", "strict", "read"),
    [
        ("playbook_review", "fetched", "none", "all", registration.review_mode),
        ("playbook_mcp_writes", "propose", "live", "propose", lambda folder: registration.mcp_choice(folder)[0]),
    ],
)
def test_project_settings_can_only_be_stricter(
    playbook: Playbook, folder: Path, home: Path, name: str, default: str, loose: str, strict: str, read: Read
) -> None:
    """A clone's file may come from anybody."""
    own = home / ".claude/settings.json"
    assert _one(playbook, name) == (default, "default", "")
    _put(folder / ".claude/settings.json", {name: loose})
    assert _one(playbook, name) == (default, "default", "")
    assert playbook("config", name, loose).code == 0
    assert _one(playbook, name) == (loose, str(own), "")
    for odd in ("everything", True, [strict], None):
        _put(folder / ".claude/settings.local.json", {name: odd})
        assert read(str(folder)) == loose
    _put(folder / ".claude/settings.local.json", {name: strict})
    assert (read(str(folder)), read(str(home))) == (strict, loose)


@pytest.mark.parametrize(
    ("value", "types"),
    [
        ("[]", []),
        ('["*", "Plan"]', ["*", "Plan"]),
        ("général, tester", ["général", "tester"]),
    ],
)
def test_subagent_types_are_a_list(playbook: Playbook, home: Path, value: str, types: list[str]) -> None:
    """It is saved as a list, and explains what `*` leaves out."""
    path = home / ".claude" / "settings.json"
    assert _one(playbook, "playbook_subagents") == ('["*"]', "default", "* is all but Explore and Plan")

    assert playbook("config", "playbook_subagents", value).code == 0

    assert json.loads(path.read_text()) == {"playbook_subagents": types}
    note = "* is all but Explore and Plan" if "*" in types else ""
    assert _one(playbook, "playbook_subagents") == (json.dumps(types, ensure_ascii=False), str(path), note)
    assert playbook("config", "playbook_subagents", "--unset").code == 0
    assert not json.loads(path.read_text())


def test_no_key_is_shown(playbook: Playbook, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-nobodys")

    shown = playbook("config")

    assert "sk-ant" not in shown.out + shown.err
    assert "ANTHROPIC_API_KEY\tset (not shown)\tthe environment" in shown.out
    assert re.search(r"learning asks claude-\S+ at https://api.anthropic.com, key from ANTHROPIC_API_KEY", shown.err)


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("PLAYBOOK_CLAUDE", "/opt/check --password Kestrel-49-moss", "/opt/check --password [masked: password]"),
        ("PLAYBOOK_DB_URL", "postgresql://me:Kestrel@49/mo ss@here/all", "postgresql://here/all"),
        ("PLAYBOOK_CLAUDE", "/opt/claude", "/opt/claude"),
    ],
)
def test_no_secret_in_a_value_is_shown(
    playbook: Playbook, monkeypatch: pytest.MonkeyPatch, name: str, value: str, shown: str
) -> None:
    monkeypatch.setenv(name, value)

    assert _one(playbook, name) == (shown, "the environment", "")


@pytest.mark.parametrize(
    ("name", "value", "way"),
    [
        ("PLAYBOOK_DAILY_TOKENS", "5000", ("env", "PLAYBOOK_DAILY_TOKENS")),
        ("playbook_on_prompt", "false", ("playbook_on_prompt",)),
    ],
)
def test_unset_restores_the_settings_file(
    playbook: Playbook, home: Path, name: str, value: str, way: tuple[str, ...]
) -> None:
    """Everything else in the file stays, to the byte."""
    path = _put(home / ".claude" / "settings.json", {"model": "opus", "env": {"A": "1"}, "permissions": {"allow": []}})
    before = path.read_bytes()

    assert "changed /" in playbook("config", name, value).err
    content = json.loads(path.read_text())
    for key in way:
        content = content[key]
    assert content == (False if value == "false" else value)
    assert "has that value already" in playbook("config", name, value).err
    assert _one(playbook, name)[:2] == (value, str(path))
    playbook("config", name, "--unset")

    assert path.read_bytes() == before


def test_new_settings_file_is_private(playbook: Playbook, home: Path) -> None:
    playbook("config", "AGENTIC_CONTEXT_BACKEND", "cli")

    path = home / ".claude" / "settings.json"
    assert json.loads(path.read_text()) == {"env": {"AGENTIC_CONTEXT_BACKEND": "cli"}}
    assert path.stat().st_mode & 0o077 == 0


@pytest.mark.nightly(after=1)
@pytest.mark.slow
@pytest.mark.parametrize(("shell", "counts"), [("", 5), ("7", 7)])
def test_terminals_use_the_users_settings(home: Path, folder: Path, shell: str, counts: int) -> None:
    """A variable of the shell wins."""
    _put(home / ".claude" / "settings.json", {"env": {"PLAYBOOK_DAILY_TOKENS": "5"}})
    environ = {**os.environ, "PLAYBOOK_DAILY_TOKENS": shell}

    command = [sys.executable, "-m", "playbook_db", "status", "--json"]
    done = subprocess.run(command, env=environ, cwd=folder, capture_output=True, check=True)

    assert json.loads(done.stdout)["today"]["daily_tokens"] == counts


@pytest.mark.parametrize("text", ['{"env": {"PLAYBOOK_CLAUDE": "a", "PLAYBOOK_CLAUDE": "b"}}', "{,}"])
def test_malformed_settings_file_is_unchanged(playbook: Playbook, home: Path, text: str) -> None:
    """The error names the file."""
    path = home / ".claude" / "settings.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)

    result = playbook("config", "PLAYBOOK_CLAUDE", "claude")

    assert (result.code, str(path) in result.err, path.read_text()) == (1, True, text)
