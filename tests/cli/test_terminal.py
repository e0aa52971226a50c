"""The output on a terminal: tables with titles that fit, folded sentences, and a sentence if there is nothing."""

import re
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest
from rich.cells import cell_len

from playbook_db.services.project import Project
from playbook_db.store.engine import open_store
from playbook_db.store.playbook.repository import RevisionOrigin
from tests.cli.conftest import Playbook, on_terminal

SESSION = "0b6f3a52-7c1d-4e8f-9a2b-5d4c3b2a1908"
WIDE = (
    "資料庫遷移前一定要先備份並確認備份檔案可以開啟否則遷移失敗時無法復原任何資料請先執行 playbook backup 🎉 each time"
)
LONG = "run the narrowest pytest selection first, and the whole suite before each commit, however small it is"


@pytest.fixture
def lived(playbook: Playbook, folder: Path) -> Playbook:
    """A playbook with a pinned and a retired point, a session that taught one, and a job."""
    playbook("add", LONG, "--section", "pat")
    playbook("add", "use mypy")
    playbook("pin", "pat-001")
    playbook("retire", "oth-001", "--reason", "settled by the linter, which says so at each commit without being asked")
    with open_store(f"sqlite:///{playbook('db', 'path').out.strip()}") as store:
        key = Project.in_folder(store, str(folder)).key
        with store.write(key) as book:
            book.commit("learn", "learned", origin=RevisionOrigin(SESSION, SESSION), even_if_unchanged=True)
        from playbook_db.services.learning import queue

        queue.take_in(store, key, {"session_id": SESSION, "transcript_path": "/x.jsonl", "reason": "exit"})
    return playbook


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "columns", "titles"),
    [
        ("list", 80, "name + - text"),
        ("list", 120, "name + - since confirmed text"),
        ("list --retired", 80, "name + - retired reason text"),
        ("sessions", 80, "session first revisions calls tokens cost"),
        ("why pat-001", 80, "in time what text or reason by"),
        ("jobs", 80, "id state tries session queued at error"),
        ("log", 80, ""),
        ("show oth-001", 80, ""),
    ],
)
def test_output_fits_the_terminal(lived: Playbook, folder: Path, command: str, columns: int, titles: str) -> None:
    """Tables have titles in their first lines."""
    seen = on_terminal(*command.split(), columns=columns)

    assert not [line for line in seen.splitlines() if cell_len(line) > columns and str(folder) not in line]
    assert titles in [" ".join(line.split()) for line in seen.splitlines()[:2]] or not titles
    assert SESSION not in seen
    assert "\t" not in seen
    assert "pat-001  pinned  " in seen or command != "list"


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("list", "has no key points yet"),
        ("sessions", "nothing was learned from a session yet"),
        ("jobs", "no jobs yet"),
        ("bootstrap", "had no session yet"),
        ("project list", "no project has a playbook yet"),
    ],
)
def test_empty_answers_say_so(playbook: Playbook, command: str, sentence: str) -> None:
    playbook("db", "upgrade")

    result = playbook(*command.split())

    assert result.code == 0
    assert sentence in result.out + result.err


@pytest.mark.slow
def test_wide_characters_take_two_columns(playbook: Playbook, folder: Path) -> None:
    playbook("add", "use mypy")
    commands = [("add", WIDE), ("list",), ("show", "oth-002"), ("log",), ("why", "oth-002")]
    commands += [("sql", "SELECT name, text, helpful FROM live_key_points")]

    for command in commands:
        seen = on_terminal(*command)
        assert not [line for line in seen.splitlines() if cell_len(line) > 80 and str(folder) not in line]

    rows = playbook("sql", f"SELECT '{WIDE}' AS text, 1 AS number UNION SELECT 'short', 2").out.splitlines()[2:]
    assert len({cell_len(row) for row in rows}) == 1


@pytest.mark.slow
@pytest.mark.usefixtures("quick_doctor")
def test_sentences_are_folded_between_words(playbook: Playbook, folder: Path) -> None:
    """A path stays whole."""
    playbook("add", LONG)
    commands = (("init",), ("install",), ("doctor",), ("undo",), ("list", "nothing like that"))
    seen = re.sub(r"\x1b\[\d+m", "", "\n".join(on_terminal(*command) for command in commands))

    lines = [line for line in seen.splitlines() if not any(len(word) > 60 for word in line.split())]
    assert not [line for line in lines if len(line) > 80]
    assert [line for line in seen.splitlines() if line.endswith("/playbook.db")]


def test_long_step_is_named(playbook: Playbook, monkeypatch: pytest.MonkeyPatch) -> None:
    playbook("init")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr(threading, "Timer", lambda _, show: SimpleNamespace(start=show, cancel=list, join=list))

    assert "checking the database ..." in playbook("db", "check").err


@pytest.mark.slow
@pytest.mark.usefixtures("lived")
def test_in_a_session_a_list_is_a_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Claude Code keeps the output of `!playbook list` in a file, and shows it; a pipe gets lines with tabs."""
    command = [sys.executable, "-m", "playbook_db", "list"]
    monkeypatch.setenv("CLAUDECODE", "1")
    with (tmp_path / "shown").open("w") as file:
        subprocess.run(command, stdout=file, check=True)
    piped = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout

    shown = (tmp_path / "shown").read_text()
    assert "\t" not in shown
    assert "name             +  -" in shown
    assert piped.count("\t") >= 4
