"""One clock for people: whatever a command prints of a time is local, says its offset, and can be given back."""

import re
import time
from collections.abc import Iterator

import pytest

from playbook_db.cli.output import table
from playbook_db.services.project import Project
from playbook_db.store.engine import open_store
from playbook_db.store.playbook.repository import RevisionOrigin
from tests.cli.conftest import Playbook

TIME = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d\S*")
COMMANDS = [
    ["log"], ["log", "oth-001"], ["show", "oth-001"], ["show", "r1"], ["diff", "1"], ["at", "1 week ago"],
    ["why", "oth-001"], ["sessions"], ["stats"], ["status"], ["project", "list"], ["backup", "--list"],
]  # fmt: skip


@pytest.fixture
def lived(playbook: Playbook, monkeypatch: pytest.MonkeyPatch) -> Iterator[Playbook]:
    """A playbook with a session and a backup, in a zone with an odd offset."""
    monkeypatch.setenv("TZ", "XYZ-05:45")
    time.tzset()
    playbook("add", "use ruff")
    playbook("backup")
    with open_store(f"sqlite:///{playbook('db', 'path').out.strip()}") as store:
        key = Project.in_folder(store, ".").key
        with store.write(key) as book:
            book.commit("learn", "learned from s-1", origin=RevisionOrigin("s-1"), even_if_unchanged=True)
    yield playbook
    monkeypatch.undo()
    time.tzset()


@pytest.mark.nightly(after=3)
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_times_have_an_offset_and_can_be_typed(lived: Playbook, command: list[str]) -> None:
    """With `--utc` they are in UTC."""
    said = lived(*command)
    times = TIME.findall(said.out + said.err)

    assert times
    for shown in (each.rstrip(");,") for each in times):
        assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\+05:45", shown)
        assert lived("at", shown).code == lived("diff", shown).code == lived("log", "--since", shown).code == 0
    in_utc = lived(*command, "--utc")
    for shown in TIME.findall(in_utc.out + in_utc.err):
        assert "+00:00" in shown


def test_times_in_tables_are_not_folded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    shown = "2026-03-01 14:30:05+05:45"

    for titles, row in (
        (["taken", "file"], [shown, "/a/long/path/" * 9]),
        (["file", "taken"], ["a word " * 30, shown]),
    ):
        assert shown in table(titles, [row, ["-", "-"]])
