"""forget, as a person and a script see it."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Playbook

_TEXT = "the staging token is Zanzibar 4711"


@pytest.fixture(autouse=True)
def _said(playbook: Playbook) -> None:
    """A playbook of two points, one of which says what is to be forgotten."""
    playbook("add", _TEXT)
    playbook("add", "use ruff", "--section", "pat")


def test_a_point_is_forgotten_at_the_command_line(playbook: Playbook) -> None:
    """The answer names what went, never its text; the point is a tombstone afterwards."""
    result = playbook("forget", "oth-001", "--yes")

    assert (result.code, result.out.splitlines()[0], result.out.splitlines()[-1]) == (
        0, "forget    oth-001", f"revision 3 of {Path.cwd()}"
    )  # fmt: skip
    assert "Zanzibar" not in result.out + result.err
    assert "git's history" in result.err
    assert [point["name"] for point in playbook("list", "--json").json] == ["pat-001"]
    (gone,) = playbook("list", "--retired", "--json").json
    assert (gone["name"], gone["text"], gone["retired_reason"]) == ("oth-001", "[forgotten]", "forgotten")


def test_without_a_terminal_it_wants_a_yes(playbook: Playbook) -> None:
    """It can't be taken back; nothing is done."""
    result = playbook("forget", "oth-001")

    assert (result.code, result.out) == (2, "")
    assert "--yes" in result.err
    assert playbook("show", "oth-001", "--json").json["text"] == _TEXT


def test_within_a_session_nothing_is_forgotten(playbook: Playbook, monkeypatch: pytest.MonkeyPatch) -> None:
    """Claude may run the command there, and this one can't be undone: a dry run is all it gets."""
    playbook("add", "use ruff")
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "5f1c2e1a")

    refused = playbook("forget", "oth-001", "--yes")

    assert (refused.code, refused.out) == (1, "")
    assert "Run it in your own terminal: playbook forget " in refused.err
    assert playbook("forget", "oth-001", "--dry-run").code == 0
    assert "use ruff" in playbook("list").out


@pytest.mark.parametrize(("answer", "is_gone"), [("y\n", True), ("n\n", False), ("\n", False)])
def test_on_a_terminal_it_shows_what_goes_and_asks(
    playbook: Playbook, monkeypatch: pytest.MonkeyPatch, answer: str, is_gone: bool
) -> None:
    """Only a yes erases."""
    monkeypatch.setattr("playbook_db.cli.history.history_commands.is_interactive", lambda: True)

    result = playbook("forget", "oth-001", stdin=answer)

    assert result.code == 0
    assert _TEXT in result.err
    assert ("revision 3" in result.out) == is_gone
    assert (playbook("show", "oth-001", "--json").json["text"] == _TEXT) != is_gone


def test_a_dry_run_shows_what_would_go(playbook: Playbook) -> None:
    """Point, text and fields; nothing is written."""
    result = playbook("forget", "oth-001", "--dry-run")

    assert result.out.splitlines() == [
        f"forget    oth-001: {_TEXT}",
        "in the history: 1 wording (revision 1)",
        "dry run: nothing was erased",
    ]
    assert playbook("show", "oth-001", "--json").json["text"] == _TEXT


def test_what_goes_is_told_in_words_and_shown(playbook: Playbook) -> None:
    """Earlier wordings too; two revisions of one reason are two reasons."""
    playbook("edit", "oth-001", "--text", "the staging token is in the vault")
    playbook("vote", "oth-001", "helpful")
    playbook("retire", "oth-001", "--reason", f"because {_TEXT}")

    lines = playbook("forget", "oth-001", "--dry-run").out.splitlines()

    assert lines[:3] == [
        "forget    oth-001: the staging token is in the vault",
        f"erase     {_TEXT}",
        "in the history: 2 wordings, 1 reason (revisions 1, 3, 5)",
    ]


def test_a_pattern_leaves_the_advice_that_was_reworded(playbook: Playbook) -> None:
    """Edit first, then forget what matches: the point stays."""
    playbook("edit", "oth-001", "--text", "the staging token is in the vault")

    answer = playbook("forget", "--match", r"Zanzibar \d+", "--yes", "--json").json

    (share,) = answer["playbooks"]
    assert (share["forgotten"], share["fields"], share["revisions"], share["revision"]) == (
        [], {"changes.text": 1}, [1], 4
    )  # fmt: skip
    assert answer["purged"] is True
    assert playbook("show", "oth-001", "--json").json["text"] == "the staging token is in the vault"


def test_backups_that_hold_it_are_named_before_and_after(playbook: Playbook) -> None:
    """And so is the new one that replaces them; what is lost by that is said each time."""
    old = playbook("backup", "--json").json["path"]

    dry_run = playbook("forget", "oth-001", "--dry-run")
    result = playbook("forget", "oth-001", "--yes")

    (new,) = [backup["path"] for backup in playbook("backup", "--list", "--json").json]
    assert f"backup    {old}, replaced by a new one" in dry_run.out.splitlines()
    assert f"backup    {old}, replaced by {new}" in result.out.splitlines()
    assert all("older states of the database are deleted with them" in said.err for said in (dry_run, result))


def test_what_matches_nothing_is_nothing(playbook: Playbook) -> None:
    """No revision is made for it."""
    result = playbook("forget", "--match", "nowhere", "--yes")

    assert (result.code, result.out) == (0, "nothing matches\n")
    assert playbook("vote", "oth-001", "helpful").out.endswith(f"revision 3 of {Path.cwd()}\n")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ((), 2, "Give the NAME"),
        (("oth-001", "--match", "x"), 2, "Give the NAME"),
        (("oth-001", "--all-projects"), 2, "Give the NAME"),
        (("oth-009",), 1, "Did you mean oth-001?"),
        (("--match", "a(b"), 1, "at character 2"),
    ],
    ids=str,
)
def test_a_mistake_is_explained_and_erases_nothing(
    playbook: Playbook, arguments: tuple[str, ...], code: int, message: str
) -> None:
    """The message says what is wrong, on stderr."""
    result = playbook("forget", *arguments, "--yes")

    assert (result.code, result.out) == (code, "")
    assert message in result.err
    assert len(playbook("list", "--json").json) == 2


def test_a_wrong_pattern_is_refused_before_a_database_is_made(playbook: Playbook, home: Path) -> None:
    """Nothing is opened for it, and no mirror is merged."""
    database = home / "none.db"

    result = playbook("--db", f"sqlite:///{database}", "forget", "--match", "a(b", "--yes")

    assert (result.code, database.exists()) == (1, False)
    assert "at character 2" in result.err


def test_a_text_that_goes_can_not_steer_the_terminal(playbook: Playbook) -> None:
    """It is shown on one line, without escapes; and so is a name that came in with a file."""
    playbook("add", "red \x1b[31m\nalert")
    points = [{"name": "x\x1b[2J", "text": "red \x1b[31m\nalert, and more", "helpful": 0, "harmful": 0}]
    playbook("import", "-", stdin=json.dumps({"version": "1.0", "key_points": points}))

    assert "\x1b" not in playbook("forget", "oth-002", "--dry-run").out
    assert "forget    oth-002: red \ufffd[31m alert\n" in playbook("forget", "oth-002", "--dry-run").out
