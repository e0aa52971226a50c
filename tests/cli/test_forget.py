"""forget."""

import pytest

from tests.cli.conftest import Playbook

_TEXT = "the staging token is Zanzibar 4711"


@pytest.fixture(autouse=True)
def _said(playbook: Playbook) -> None:
    """A playbook of two points, one with a secret."""
    playbook("add", _TEXT)
    playbook("add", "use ruff", "--section", "pat")


def test_session_can_only_try_to_forget(playbook: Playbook, monkeypatch: pytest.MonkeyPatch) -> None:
    """Claude may run the command there, and forgetting can't be undone."""
    playbook("add", "use ruff")
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "5f1c2e1a")

    refused = playbook("forget", "oth-001", "--yes")

    assert (refused.code, refused.out) == (1, "")
    assert "Run it in your own terminal: playbook forget " in refused.err
    assert playbook("forget", "oth-001", "--dry-run").code == 0
    assert "use ruff" in playbook("list").out


@pytest.mark.parametrize(("answer", "is_gone"), [("y\n", True), ("\n", False)])
def test_forget_asks_on_a_terminal(
    playbook: Playbook, monkeypatch: pytest.MonkeyPatch, answer: str, is_gone: bool
) -> None:
    """Only a yes erases."""
    monkeypatch.setattr("playbook_db.cli.history.history_commands.is_interactive", lambda: True)

    result = playbook("forget", "oth-001", stdin=answer)

    assert playbook("forget", "--match", "zebra").out == "nothing matches\n"
    assert result.code == 0
    assert _TEXT in result.err
    assert ("revision 3" in result.out) == is_gone
    assert (playbook("show", "oth-001", "--json").json["text"] == _TEXT) != is_gone
