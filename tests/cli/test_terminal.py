"""What a person sees on a terminal: tables with titles that fit, whole sentences, and a word where there is nothing."""

import re
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

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
    """A playbook with a live and a retired point, a session that taught one, and a job."""
    playbook("add", LONG, "--section", "pat")
    playbook("add", "use mypy")
    playbook("retire", "oth-001", "--reason", "settled by the linter, which says so at each commit without being asked")
    with open_store(f"sqlite:///{playbook('db', 'path').out.strip()}") as store:
        key = Project.in_folder(store, str(folder)).key
        with store.write(key) as book:
            book.commit("learn", "learned", origin=RevisionOrigin(SESSION, SESSION), even_if_unchanged=True)
        from playbook_db.services.learning import queue

        queue.take_in(store, key, {"session_id": SESSION, "transcript_path": "/x.jsonl", "reason": "exit"})
    return playbook


@pytest.mark.nightly(after=4)
@pytest.mark.slow
@pytest.mark.parametrize("columns", [80, pytest.param(120, marks=pytest.mark.nightly)])
@pytest.mark.parametrize(
    ("command", "titles"),
    [
        (["list"], "name + - text"),
        (["list", "--retired"], "name + - retired reason text"),
        (["sessions"], "session first revisions calls tokens cost"),
        (["why", "pat-001"], "in time what text or reason by"),
        (["jobs"], "id state tries session queued at error"),
        (["project", "list"], "project points revisions last change note"),
        (["log"], ""),
        (["stats"], ""),
        (["show", "3"], ""),
        (["show", "pat-001"], ""),
        (["show", "oth-001"], ""),
        (["edit", "pat-001", "--text", f"{LONG}, always"], ""),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_output_fits_the_terminal(lived: Playbook, folder: Path, command: list[str], titles: str, columns: int) -> None:
    """Tables have titles in their first lines."""
    seen = on_terminal(*command, columns=columns)
    if columns > 100:
        titles = titles.replace("- text", "- since confirmed text")

    assert not [line for line in seen.splitlines() if cell_len(line) > columns and str(folder) not in line]
    assert titles in [" ".join(line.split()) for line in seen.splitlines()[:2]] or not titles
    assert SESSION not in seen
    assert "\t" not in seen


@pytest.mark.slow
def test_short_session_ids_are_accepted(lived: Playbook) -> None:
    """In a pipe an id is whole."""
    assert re.search(rf"^{SESSION[:8]} ", on_terminal("sessions"), re.MULTILINE)
    assert lived("log", "--session", SESSION[:8]).code == 0
    assert lived("sessions").out.startswith(SESSION)


class _Timer:
    """A timer that ends at once, or never."""

    is_over = False

    def __init__(self, interval: float, function: Callable[[], object]) -> None:
        assert interval == 1.0
        self.start = function if self.is_over else list

    def cancel(self) -> None:
        """Too late."""

    def join(self) -> None:
        """It has ended."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "step"),
    [
        (["dedup"], "comparing key points ..."),
        (["db", "check"], "checking the database ..."),
        (["import", "notes.json"], "importing key points ..."),
        (["bootstrap"], "looking for transcripts ..."),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_long_steps_are_named(
    lived: Playbook, folder: Path, monkeypatch: pytest.MonkeyPatch, command: list[str], step: str
) -> None:
    """Only on a terminal."""
    (folder / "notes.json").write_text(lived("export").out)
    monkeypatch.setattr(threading, "Timer", _Timer)
    assert step not in on_terminal(*command, term="xterm")
    monkeypatch.setattr(_Timer, "is_over", True)

    assert step in on_terminal(*command, term="xterm")
    piped = lived(*command)
    assert step not in piped.out + piped.err


@pytest.mark.parametrize(
    ("command", "word"),
    [
        (["list"], "has no key points yet"),
        (["list", "--retired"], "no retired key points yet"),
        (["sessions"], "nothing was learned from a session yet"),
        (["jobs"], "no jobs yet"),
        (["log"], "this playbook has no revisions yet"),
        (["backup", "--list"], "there is no backup yet"),
        (["bootstrap"], "had no session yet"),
        (["prune"], "nothing changed"),
        (["project", "list"], "no project has a playbook yet"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_empty_answers_say_so(playbook: Playbook, command: list[str], word: str) -> None:
    playbook("db", "upgrade")

    result = playbook(*command)

    assert result.code == 0
    assert word in result.out + result.err


@pytest.mark.slow
@pytest.mark.parametrize("columns", [80, pytest.param(120, marks=pytest.mark.nightly)])
def test_wide_characters_take_two_columns(playbook: Playbook, folder: Path, columns: int) -> None:
    playbook("add", "use mypy")
    commands = [
        ("add", WIDE), ("edit", "oth-002", "--text", f"{WIDE} 一"), ("list",), ("show", "oth-002"), ("log",),
        ("show", "3"), ("diff", "1"), ("why", "oth-002"), ("sql", "SELECT * FROM history"),
        ("sql", "SELECT name, text, helpful FROM live_key_points"),
    ]  # fmt: skip

    for command in commands:
        seen = on_terminal(*command, columns=columns)
        assert not [line for line in seen.splitlines() if cell_len(line) > columns and str(folder) not in line]

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


@pytest.mark.slow
def test_wide_tables_are_shown_by_line(lived: Playbook) -> None:
    question = "SELECT * FROM history WHERE revision = 1"

    seen = on_terminal("sql", question)

    lines = [line for line in seen.splitlines() if not any(len(word) > 60 for word in line.split())]
    assert not [line for line in lines if len(line) > 80]
    assert re.search(r"^text {6,}run the narrowest pytest", seen, re.MULTILINE)
    assert re.search(r"^ +[a-z ]*commit, however small it is$", seen, re.MULTILINE)
    assert f"text        {LONG}\n" in lived("sql", "--line", question).out


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
    assert "name     +  -" in shown
    assert piped.count("\t") >= 4
