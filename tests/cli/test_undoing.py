"""undo and restore."""

from pathlib import Path

import pytest

from playbook_db import settings
from playbook_db.domain.playbook import KeyPoint
from playbook_db.domain.sections import OTHERS
from playbook_db.services.project import Project
from playbook_db.store.engine import open_store
from playbook_db.store.playbook.repository import RevisionOrigin
from tests.cli.conftest import Playbook


def test_undo_reverts_the_last_revision(playbook: Playbook) -> None:
    """It says how to bring it back."""
    playbook("add", "use ruff")
    playbook("vote", "oth-001", "helpful")

    undone = playbook("undo")

    assert undone.out.splitlines() == [
        "undid revision 2 (edit: voted oth-001 helpful), the last one",
        "vote      oth-001: 0 helpful, 0 harmful",
        f"revision 3 of {Path.cwd()}",
    ]
    assert "`playbook undo 3` brings it back" in undone.err
    assert playbook("undo").out.splitlines()[-1] == f"revision 4 of {Path.cwd()}"
    assert playbook("show", "oth-001", "--json").json["helpful"] == 1


def test_second_undo_is_a_redo(playbook: Playbook) -> None:
    playbook("add", "one")
    playbook("undo")

    redone = playbook("undo")

    assert redone.out.startswith("undid revision 2 (the undo of revision 1), the last one\n")
    assert "this redid revision 1, which revision 2 had undone" in redone.err
    assert "further back" not in redone.err  # nothing is before


def test_undo_says_how_to_go_further_back(playbook: Playbook) -> None:
    for text in ("one", "two", "three"):
        playbook("add", text)

    assert playbook("undo").err.endswith("`playbook undo 4` brings it back; to go further back: playbook undo 2\n")
    assert playbook("undo").err.endswith("`playbook undo 5` brings it back; to go further back: playbook undo 2..3\n")
    playbook("undo", "2..3")

    assert playbook("list").out.splitlines() == ["oth-001\t0\t0\tOTHERS\tone"]


def test_undo_takes_a_revision_or_a_range(playbook: Playbook) -> None:
    for text in ("one", "two", "three"):
        playbook("add", text)

    first = playbook("undo", "1").out
    assert first.startswith("undid revision 1 (edit: added oth-001)\n")
    undone = playbook("undo", "r2..r3", "--json").json

    assert (undone["undoes"], undone["revision"]) == ({"first": 2, "last": 3}, 5)
    assert [change["name"] for change in undone["changes"]] == ["oth-002", "oth-003"]
    assert playbook("list").out == ""


def test_collision_shows_both_sides(playbook: Playbook) -> None:
    """Nothing is written; the commands that it names work."""
    playbook("add", "use ruff")
    playbook("edit", "oth-001", "--text", "use ruff always")
    playbook("edit", "oth-001", "--text", "never\x1b[2J mind")

    refused = playbook("undo", "2")

    assert (refused.code, refused.out) == (1, "")
    for part in ("oth-001", "now:  never [2J mind", "undo: use ruff\n", "undo 2 --ours", "undo 2 --theirs"):
        assert part in refused.err
    ours = playbook("undo", "2", "--ours", "--dry-run")
    assert (ours.code, ours.out) == (0, "dry run: nothing was changed\n")
    assert "oth-001, its text: stays as it is now" in ours.err
    assert playbook("undo", "2", "--theirs").out.splitlines()[1:] == [
        "edit      oth-001 [OTHERS] use ruff",
        f"revision 4 of {Path.cwd()}",
    ]


def test_dry_run_writes_nothing(playbook: Playbook) -> None:
    playbook("add", "use ruff")

    rehearsed = playbook("undo", "--dry-run").out.splitlines()
    assert rehearsed[1:] == ["retire    oth-001: revision 1 was undone", "dry run: nothing was changed"]
    assert playbook("undo").out.splitlines()[-1] == f"revision 2 of {Path.cwd()}"


def test_playbook_is_restored_by_number_or_time(playbook: Playbook) -> None:
    playbook("add", "one")
    before = playbook("list").out
    playbook("edit", "oth-001", "--text", "uno")
    playbook("add", "two")
    after = playbook("list").out

    restored = playbook("restore", "--at", "1")
    assert restored.out.splitlines()[0] == "undid revisions 2 to 3 (all after revision 1)"
    assert playbook("list").out == before
    assert playbook("undo").code == 0
    assert playbook("list").out == after
    assert playbook("restore", "--at", "2020-01-01", "--dry-run").out.startswith("undid revisions 1 to 5 ")
    assert "there is nothing to undo after revision 5" in playbook("restore", "--at", "now").err


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("undo", "9"), 1, "There is no revision 9"),
        (("undo", "2..1"), 1, "put the older revision first (1..2)"),
        (("undo", "--ours", "--theirs"), 2, "not both"),
        (("restore", "oth-001", "--dry-run"), 2, "--dry-run needs --at"),
        (("restore", "--at", "some day"), 1, "is not a revision or a time"),
    ],
    ids=str,
)
def test_mistakes_change_nothing(playbook: Playbook, arguments: tuple[str, ...], code: int, message: str) -> None:
    playbook("add", "use ruff")
    before = playbook("export").out

    result = playbook(*arguments)

    assert (result.code, result.out) == (code, "")
    assert message in result.err
    assert playbook("export").out == before


@pytest.fixture
def taught(playbook: Playbook, folder: Path) -> Playbook:
    """Revisions 1, 2 and 4 are session s-1's."""
    with open_store(settings.database_url()) as store:
        key = Project.in_folder(store, str(folder)).key
        for session, text in (("s-1", "one"), ("s-1", "two"), ("t-2", "three"), ("s-1", "four")):
            with store.write(key) as book:
                book.draft.add(KeyPoint(book.draft.new_name(OTHERS), text, OTHERS))
                book.commit("learn", f"learned {text}", origin=RevisionOrigin(session, session))
    playbook("vote", "oth-002", "helpful")
    return playbook


def test_session_can_be_undone(taught: Playbook) -> None:
    """What others did stays."""
    undone = taught("undo", "--session", "s")

    assert [line for line in undone.out.splitlines() if line.startswith("undid")] == [
        "undid revision 4 (session s-1)",
        "undid revisions 1 to 2 (session s-1)",
    ]
    assert [point["text"] for point in taught("list", "--json").json] == ["three"]
    assert "nothing is left to undo from session s-1" in taught("undo", "--session", "s-1").out
    assert "`playbook undo 7` brings it back" in undone.err
    taught("undo", "7")
    assert [point["text"] for point in taught("list", "--json").json] == ["one", "two", "three"]
    assert taught("undo", "--session", "s-1", "--json").json[0]["undoes"] == {"first": 1, "last": 2}
