"""undo and restore, as a script sees them."""

from dataclasses import replace
from pathlib import Path

import pytest

from playbook_db import settings
from playbook_db.domain.playbook import KeyPoint
from playbook_db.domain.sections import OTHERS
from playbook_db.services.project import Project
from playbook_db.store.engine import open_store
from playbook_db.store.playbook.repository import RevisionOrigin
from tests.cli.conftest import Playbook


def test_the_last_revision_is_taken_back_without_asking_which(playbook: Playbook) -> None:
    """It says which one it was and what that did, and how to bring it back."""
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


def test_a_second_undo_says_what_it_redoes(playbook: Playbook) -> None:
    """It names the revision whose changes are back, and its message doesn't nest."""
    playbook("add", "one")
    playbook("undo")

    redone = playbook("undo")
    again = playbook("undo")

    assert redone.out.startswith("undid revision 2 (the undo of revision 1), the last one\n")
    assert "this redid revision 1, which revision 2 had undone" in redone.err
    assert "further back" not in redone.err  # nothing is before
    assert again.out.startswith("undid revision 3 (the undo of revision 2), the last one\n")


def test_an_undo_says_how_to_go_further_back(playbook: Playbook) -> None:
    """After one undo, and after a second one, which redid the change; the command that it names does so."""
    for text in ("one", "two", "three"):
        playbook("add", text)

    assert playbook("undo").err.endswith("`playbook undo 4` brings it back; to go further back: playbook undo 2\n")
    assert playbook("undo").err.endswith("`playbook undo 5` brings it back; to go further back: playbook undo 2..3\n")
    playbook("undo", "2..3")

    assert playbook("list").out.splitlines() == ["oth-001\t0\t0\tOTHERS\tone"]


def test_a_revision_or_a_range_is_named(playbook: Playbook) -> None:
    """As JSON too: what was undone, the changes, and the revision that keeps them."""
    for text in ("one", "two", "three"):
        playbook("add", text)

    first = playbook("undo", "1").out
    assert first.startswith("undid revision 1 (edit: added oth-001)\n")
    undone = playbook("undo", "r2..r3", "--json").json

    assert undone["undoes"] == {"first": 2, "last": 3}
    assert (undone["revision"], undone["dry_run"]) == (5, False)
    assert [(change["kind"], change["name"]) for change in undone["changes"]] == [
        ("retire", "oth-002"),
        ("retire", "oth-003"),
    ]
    assert playbook("list").out == ""


def test_a_collision_shows_both_sides_and_how_to_go_on(playbook: Playbook) -> None:
    """Exit code 1, nothing on stdout, nothing written; the two commands that it names work."""
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


def test_a_dry_run_shows_the_same_and_writes_nothing(playbook: Playbook) -> None:
    """And the undo then does what it showed."""
    playbook("add", "use ruff")

    rehearsed = playbook("undo", "--dry-run").out.splitlines()
    assert rehearsed[1:] == ["retire    oth-001: revision 1 was undone", "dry run: nothing was changed"]
    assert playbook("undo").out.splitlines()[-1] == f"revision 2 of {Path.cwd()}"


def test_where_nothing_is_left_to_take_back_there_is_no_revision(playbook: Playbook) -> None:
    """That is no error, and JSON tells it too."""
    playbook("add", "use ruff")
    playbook("vote", "oth-001", "neutral")

    undone = playbook("undo")

    assert (undone.code, undone.out) == (0, "nothing changed\n")
    assert "nothing is left to undo in revision 2" in undone.err
    told = playbook("undo", "--json").json
    assert (told["revision"], told["undoes"], told["changes"]) == (None, None, [])
    assert told["notes"] == ["nothing is left to undo in revision 2; to find another revision: playbook log"]


def test_the_whole_playbook_is_restored_as_it_was(playbook: Playbook) -> None:
    """By number or by time, and one undo brings all of it back."""
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


def test_one_point_is_restored_as_it_was(playbook: Playbook) -> None:
    """Without --at only a retired one, as it left."""
    playbook("add", "one")
    playbook("edit", "oth-001", "--text", "uno")
    playbook("retire", "oth-001")

    assert playbook("restore", "oth-001").out == f"restore   oth-001 [OTHERS] uno\nrevision 4 of {Path.cwd()}\n"
    again = playbook("restore", "oth-001", "--at", "1").out
    assert again == f"edit      oth-001 [OTHERS] one\nrevision 5 of {Path.cwd()}\n"
    assert playbook("restore", "oth-001", "--at", "1").out == "nothing changed\n"


def test_what_a_revision_says_of_itself_can_not_steer_the_terminal(playbook: Playbook, folder: Path) -> None:
    """It may quote a file's name."""
    (folder / "a\x1b[2Jb").write_text('[{"type": "ADD", "text": "use ruff", "section": "OTHERS"}]')
    playbook("apply", "a\x1b[2Jb")

    assert playbook("undo").out.startswith("undid revision 1 (edit: applied a batch from a\ufffd[2Jb), the last one\n")


@pytest.mark.nightly(after=3)
@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("undo", "9"), 1, "There is no revision 9"),
        (("undo", "2..1"), 1, "put the older revision first (1..2)"),
        (("undo", "yesterday"), 1, "a range like 3..8"),
        (("undo", "--ours", "--theirs"), 2, "not both"),
        (("restore",), 2, "NAME of a key point, --at, or both"),
        (("restore", "oth-001", "--dry-run"), 2, "--dry-run needs --at"),
        (("restore", "--at", "some day"), 1, "is not a revision or a time"),
    ],
    ids=str,
)
def test_a_mistake_is_explained_and_changes_nothing(
    playbook: Playbook, arguments: tuple[str, ...], code: int, told: str
) -> None:
    """The message names what is wrong and what to do, on stderr; stdout stays empty."""
    playbook("add", "use ruff")
    before = playbook("export").out

    result = playbook(*arguments)

    assert (result.code, result.out) == (code, "")
    assert told in result.err
    assert playbook("export").out == before


def test_a_mirror_that_can_not_be_taken_in_is_told_of_once(playbook: Playbook, folder: Path) -> None:
    """Though each command looks at it before and after."""
    playbook("add", "use ruff")
    playbook("mirror", "on")
    (folder / ".claude" / "playbook.json").write_text('{"sections": {"OTHERS": [{"name": "oth-009"}]}}')

    assert playbook("undo").err.count("Nothing was imported from it.") == 1


@pytest.fixture
def taught(playbook: Playbook, folder: Path) -> Playbook:
    """A playbook that two sessions and a person changed in turn: revisions 1, 2 and 4 are session s-1's."""
    with open_store(settings.database_url()) as store:
        key = Project.in_folder(store, str(folder)).key
        for session, text in (("s-1", "one"), ("s-1", "two"), ("t-2", "three"), ("s-1", "four")):
            with store.write(key) as book:
                book.draft.add(KeyPoint(book.draft.new_name(OTHERS), text, OTHERS))
                book.commit("learn", f"learned {text}", origin=RevisionOrigin(session, session))
    playbook("vote", "oth-002", "helpful")
    return playbook


def test_what_a_session_taught_is_taken_back(taught: Playbook) -> None:
    """What others did stays; neighbouring revisions become one, and each can be brought back."""
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


def test_a_sessions_undo_is_rehearsed_to_the_end(taught: Playbook) -> None:
    """--dry-run shows what all of it would do, and keeps nothing."""
    before = taught("export").out

    shown = taught("undo", "--session", "s-1", "--dry-run", "--json").json

    assert [(each["revision"], each["dry_run"]) for each in shown] == [(None, True)] * 2
    assert [change["name"] for each in shown for change in each["changes"]] == ["oth-004", "oth-001", "oth-002"]
    assert taught("export").out == before


def test_where_a_sessions_undo_collides_nothing_of_it_is_done(taught: Playbook, folder: Path) -> None:
    """The command that decides is named with the session."""
    with open_store(settings.database_url()) as store, store.write(Project.in_folder(store, str(folder)).key) as book:
        book.draft.change(replace(book.draft["oth-003"], text="theirs"), kind="edit")
        book.commit("learn", "reworded", origin=RevisionOrigin("s-1"))
    taught("edit", "oth-003", "--text", "mine")
    before = taught("export").out

    refused = taught("undo", "--session", "s-1")

    assert (refused.code, "playbook undo --session=s-1 --ours" in refused.err) == (1, True)
    assert taught("export").out == before
    assert taught("undo", "--session=s-1", "--ours").code == 0
    assert [point["text"] for point in taught("list", "--json").json] == ["mine"]


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [(["--session", "nobody"], 1, "No revision came from"), (["3", "--session", "s-1"], 2, "not both")],
)
def test_an_undo_of_no_session_is_explained(taught: Playbook, arguments: list[str], code: int, told: str) -> None:
    """Nothing is done."""
    result = taught("undo", *arguments)

    assert (result.code, result.out) == (code, "")
    assert told in result.err
