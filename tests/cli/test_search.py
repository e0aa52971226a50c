"""`playbook search`, with and without the index."""

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from playbook_db import settings
from playbook_db.projects import project_key
from playbook_db.store.engine import open_store
from tests.cli.conftest import Playbook, on_terminal

pytestmark = pytest.mark.sqlite


@pytest.fixture
def harbour(playbook: Playbook) -> Playbook:
    for text in ("Close the session in src/api/users.py", "Caching needs uv 0.9", "Close nothing in users.py"):
        playbook("add", text)
    playbook("retire", "oth-003")
    return playbook


@pytest.mark.parametrize("words", ['OR "NOT', "a*b(c^", "please do it", "x " * 50_000, "NEAR(uv,", ""])
def test_any_words_can_be_searched(harbour: Playbook, words: str) -> None:
    answer = harbour("search", "--", words)

    assert answer.code == 0
    assert "no matches" in answer.err or "too common to search for" in answer.err or "oth-002" in answer.out
    assert harbour("search", "--all", "--json", "--", words).code == harbour("list", "--", words).code == 0


def test_search_works_with_a_damaged_index(harbour: Playbook) -> None:
    with closing(sqlite3.connect(harbour("db", "path").out.strip())) as connection, connection:
        connection.execute("UPDATE point_search_data SET block = x'ffffffffffffffffffff' WHERE id > 10")

    answer = harbour("search", "users.py")

    assert answer.out.startswith("oth-001\t")
    assert "playbook db check --rebuild-search" in answer.err
    harbour("db", "check", "--rebuild-search")
    answer = harbour("search", "users.py")
    assert (answer.out[:7], answer.err) == ("oth-001", "")


@pytest.fixture
def rich(harbour: Playbook, folder: Path) -> Playbook:
    """A retired, a proposed and a live text have the word `lantern`."""
    harbour("add", "The lantern hangs high")
    harbour("retire", "oth-004", "--reason", "no lantern hangs there")
    with open_store(settings.database_url()) as store, store.write(project_key(str(folder))) as book:
        assert book.add_proposal({"type": "ADD", "text": "Buy a lantern"}, "ADD", (), "outside", "s1")
    harbour("add", "A lantern needs oil")
    return harbour


def test_sessions_find_no_proposals(rich: Playbook, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "s2")

    answer = rich("search", "--all", "lantern")

    assert "Buy a lantern" not in answer.out
    assert "retired" in answer.out
    assert "proposals are left out inside a session" in answer.err


@pytest.mark.slow
def test_terminal_shows_matches_in_bold(rich: Playbook) -> None:
    """Lines fit, and control characters are shown."""
    rich("add", "The \x1b[31mlantern\x1b[0m burns " + "and burns " * 12)

    seen = on_terminal("search", "lanterns", "burning", "--all", columns=60)

    assert "\x1b[1mlantern\x1b[0m needs oil" in seen
    assert "\x1b[31m" not in seen
    assert "oth-004" in seen
    plain = [re.sub(r"\x1b\[\d+m", "", line) for line in seen.splitlines()]
    assert max(map(len, plain)) <= 60
    assert all("\x1b" not in line for line in plain)
