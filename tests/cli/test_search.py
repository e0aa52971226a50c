"""`playbook search`: the best answer first, whatever the words are, with or without the index."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from playbook_db.store.sqlite import full_text
from tests.cli.conftest import Playbook

pytestmark = pytest.mark.sqlite


@pytest.fixture
def harbour(playbook: Playbook) -> Playbook:
    """Three points, one of them retired."""
    for text in ("Close the session in src/api/users.py", "Caching needs uv 0.9", "Close nothing in users.py"):
        playbook("add", text)
    playbook("retire", "oth-003")
    return playbook


def _database(playbook: Playbook) -> Path:
    return Path(playbook("db", "path").out.strip())


def test_the_best_answer_comes_first(harbour: Playbook) -> None:
    """A line for each point, as `list` has it; retired ones aren't among them."""
    assert [line.split("\t")[0] for line in harbour("search", "why does users.py fail? cache").out.splitlines()] == [
        "oth-001",
        "oth-002",
    ]
    assert len(harbour("search", "-n", "1", "users.py cache").out.splitlines()) == 1


def test_as_json_each_point_has_its_score(harbour: Playbook) -> None:
    """It tells how much better one answers than the next."""
    found = json.loads(harbour("search", "--json", "uv", "cached").out)

    assert [(each["name"], each["text"]) for each in found] == [("oth-002", "Caching needs uv 0.9")]
    assert found[0]["score"] > 0


@pytest.mark.parametrize("words", ["AND", 'OR "NOT', "a*b(c^", "please do it", "x" * 100_000, "\x1b[2J", "NEAR(uv,"])
def test_no_words_are_an_error(harbour: Playbook, words: str) -> None:
    """Operators, quotes, a hundred kilobytes."""
    answer = harbour("search", "--", words)

    assert answer.code == 0
    assert "no key point says any of that" in answer.err or "oth-002" in answer.out


def test_a_damaged_index_is_done_without_and_made_anew(harbour: Playbook) -> None:
    """The answer comes by parts of words, with a line that says what helps; and that does help."""
    path = _database(harbour)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE point_search_data SET block = x'ffffffffffffffffffff'")

    answer = harbour("search", "users.py")

    assert answer.out.startswith("oth-001\t")
    assert "playbook db check --rebuild-search" in answer.err
    harbour("db", "check", "--rebuild-search")
    answer = harbour("search", "users.py")
    assert (answer.out[:7], answer.err) == ("oth-001", "")


def test_without_fts5_parts_of_words_are_found(harbour: Playbook, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where Python brings an SQLite without it."""
    monkeypatch.setattr(full_text, "can_index", lambda execute: False)

    answer = harbour("search", "sessio")

    assert (answer.out[:7], answer.err) == ("oth-001", "")
