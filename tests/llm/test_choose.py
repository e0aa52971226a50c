"""Which model is asked."""

from pathlib import Path

import pytest

from playbook_db.errors import NoModelError, SettingError
from playbook_db.llm.anthropic_api import AnthropicModel
from playbook_db.llm.choose import describe_access, find_model
from playbook_db.llm.claude_cli import ClaudeCli

KEYS = ("AGENTIC_CONTEXT_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_API_KEY")


@pytest.fixture
def claude(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A `claude` on the PATH."""
    program = tmp_path / "bin" / "claude"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent))
    return str(program)


@pytest.mark.parametrize("name", KEYS)
def test_key_wins_over_client(claude: str, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "sk-secret")

    assert isinstance(find_model(), AnthropicModel)
    assert describe_access("/nowhere") == f"claude-sonnet-5-5 at https://api.anthropic.com, key from {name}"


def test_client_is_used_without_a_key(claude: str) -> None:
    assert find_model() == ClaudeCli(claude)
    assert describe_access("/nowhere") == f"sonnet through Claude Code ({claude} -p)"


def test_playbook_claude_names_the_client(claude: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("PLAYBOOK_CLAUDE", claude)
    assert find_model() == ClaudeCli(claude)
    monkeypatch.chdir(Path(claude).parent)
    monkeypatch.setenv("PLAYBOOK_CLAUDE", "./claude")
    assert find_model() == ClaudeCli(claude)
    monkeypatch.setenv("PLAYBOOK_CLAUDE", "/nowhere/claude")
    with pytest.raises(NoModelError):
        find_model()


def test_no_key_and_no_client_is_an_error() -> None:
    with pytest.raises(NoModelError, match=r"PLAYBOOK_CLAUDE.*ANTHROPIC_API_KEY"):
        find_model()
    with pytest.raises(NoModelError):
        describe_access("/nowhere")


def test_backend_can_be_forced(claude: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTIC_CONTEXT_BACKEND", "api")
    with pytest.raises(NoModelError, match=r"only api\. Unset it, or set AGENTIC_CONTEXT_API_KEY"):
        find_model()
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    assert isinstance(find_model(), AnthropicModel)
    monkeypatch.setenv("AGENTIC_CONTEXT_BACKEND", "CLI")
    assert find_model() == ClaudeCli(claude)
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(NoModelError, match=r"only cli\. Unset it, or put `claude` on the PATH"):
        find_model()
    monkeypatch.setenv("AGENTIC_CONTEXT_BACKEND", "bedrock")
    with pytest.raises(SettingError, match="bedrock"):
        find_model()
