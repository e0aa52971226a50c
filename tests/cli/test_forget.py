"""forget."""

from pathlib import Path

import pytest

from tests.cli.conftest import Playbook

_TEXT = "the staging token is Zanzibar 4711"


@pytest.fixture(autouse=True)
def _said(playbook: Playbook) -> None:
    """A playbook of two points, one with a secret."""
    playbook("add", _TEXT)
    playbook("add", "use ruff", "--section", "pat")


def test_forgotten_point_leaves_no_text(playbook: Playbook) -> None:
    """Its row stays."""
    result = playbook("forget", "oth-001", "--yes")

    assert result.code == 0
    assert result.out.startswith("forget    oth-001\n")
    assert result.out.endswith(f"\nrevision 3 of {Path.cwd()}\n")
    assert "Zanzibar" not in result.out + result.err
    assert "git's history" in result.err
    assert [point["name"] for point in playbook("list", "--json").json] == ["pat-001"]
    (gone,) = playbook("list", "--retired", "--json").json
    assert (gone["name"], gone["text"], gone["retired_reason"]) == ("oth-001", "[forgotten]", "forgotten")


def test_forget_needs_yes_without_a_terminal(playbook: Playbook) -> None:
    result = playbook("forget", "oth-001")

    assert (result.code, result.out) == (2, "")
    assert "--yes" in result.err
    assert playbook("show", "oth-001", "--json").json["text"] == _TEXT


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

    assert result.code == 0
    assert _TEXT in result.err
    assert ("revision 3" in result.out) == is_gone
    assert (playbook("show", "oth-001", "--json").json["text"] == _TEXT) != is_gone


def test_dry_run_lists_all_wordings(playbook: Playbook) -> None:
    playbook("edit", "oth-001", "--text", "the staging token is in the vault")
    playbook("vote", "oth-001", "helpful")
    playbook("retire", "oth-001", "--reason", f"because {_TEXT}")

    lines = playbook("forget", "oth-001", "--dry-run").out.splitlines()

    assert lines == [
        "forget    oth-001: the staging token is in the vault",
        f"erase     {_TEXT}",
        "in the history: 2 wordings, 1 reason (revisions 1, 3, 5)",
        "dry run: nothing was erased",
    ]


def test_pattern_erases_older_wordings_only(playbook: Playbook) -> None:
    """A reworded point stays."""
    playbook("edit", "oth-001", "--text", "the staging token is in the vault")

    answer = playbook("forget", "--match", r"Zanzibar \d+", "--yes", "--json").json

    (share,) = answer["playbooks"]
    assert (share["forgotten"], share["fields"], share["revisions"]) == ([], {"changes.text": 1}, [1])
    assert answer["purged"] is True
    assert playbook("show", "oth-001", "--json").json["text"] == "the staging token is in the vault"


def test_replaced_backups_are_named(playbook: Playbook) -> None:
    old = playbook("backup", "--json").json["path"]

    dry_run = playbook("forget", "oth-001", "--dry-run")
    result = playbook("forget", "oth-001", "--yes")

    (new,) = [backup["path"] for backup in playbook("backup", "--list", "--json").json]
    assert f"backup    {old}, replaced by a new one" in dry_run.out.splitlines()
    assert f"backup    {old}, replaced by {new}" in result.out.splitlines()
    assert all("older states of the database are deleted with them" in done.err for done in (dry_run, result))


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ((), 2, "Give the NAME"),
        (("oth-001", "--all-projects"), 2, "Give the NAME"),
        (("oth-009",), 1, "Did you mean oth-001?"),
        (("--match", "a(b"), 1, "at character 2"),
    ],
    ids=str,
)
def test_mistake_erases_nothing(playbook: Playbook, arguments: tuple[str, ...], code: int, message: str) -> None:
    result = playbook("forget", *arguments, "--yes")

    assert (result.code, result.out) == (code, "")
    assert message in result.err
    assert len(playbook("list", "--json").json) == 2
