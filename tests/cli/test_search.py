"""`playbook search`: the best answer first, whatever the words are, with or without the index."""

import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from playbook_db import settings
from playbook_db.domain.trust.evidence import Evidence
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


def _database(playbook: Playbook) -> Path:
    return Path(playbook("db", "path").out.strip())


def test_best_answer_comes_first(harbour: Playbook) -> None:
    assert [line.split("\t")[0] for line in harbour("search", "why does users.py fail? cache").out.splitlines()] == [
        "oth-001",
        "oth-002",
    ]
    assert len(harbour("search", "-n", "1", "users.py cache").out.splitlines()) == 1


def test_as_prompt_gives_the_reason_of_each_point(harbour: Playbook, folder: Path) -> None:
    (folder / "src").mkdir()
    (folder / "src" / "cache.py").write_text("class CacheStore: ...\n")
    harbour("add", "`CacheStore` needs a lock")
    asked = ("search", "--as-prompt", "why does uv fail?", "--file", "src/cache.py")

    lines = [line.split("\t") for line in harbour(*asked).out.splitlines()]
    at_start = "shown at the session's start, whatever the prompt"
    assert {tuple(line[1:3]) for line in lines} == {("start", at_start)}
    assert {line[0]: line[3] for line in lines}["oth-002"] == "uv"
    assert len({line[0] for line in lines}) == len(lines) == len(harbour("list").out.splitlines())
    found = json.loads(harbour(*asked, "--json").out)
    assert [[each["name"], each["moment"], each["reason"], ", ".join(each["shares"])] for each in found] == [
        line[:4] for line in lines
    ]


def test_as_prompt_refuses_other_options(harbour: Playbook) -> None:
    assert "brings no further key point" in harbour("search", "--as-prompt", "zebra").err
    assert "no file none.py" in harbour("search", "--as-prompt", "uv", "--file", "none.py").err
    for option in (["--user"], ["-n", "3"], ["--all"]):
        assert harbour("search", "--as-prompt", "uv", *option).code == 2
    assert harbour("search", "uv", "--file", "src/cache.py").code == 2


@pytest.mark.nightly(after=2)
@pytest.mark.parametrize(
    "words",
    ["AND", 'OR "NOT', "a*b(c^", "please do it", "x" * 100_000, "x " * 50_000, "\x1b[2J", "NEAR(uv,", "", "🚀", "-:*"],
)
def test_any_words_can_be_searched(harbour: Playbook, words: str) -> None:
    answer = harbour("search", "--", words)

    assert answer.code == 0
    assert "no matches" in answer.err or "too common to search for" in answer.err or "oth-002" in answer.out
    assert harbour("search", "--all", "--json", "--", words).code == harbour("list", "--", words).code == 0


def test_search_works_with_a_damaged_index(harbour: Playbook) -> None:
    path = _database(harbour)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE point_search_data SET block = x'ffffffffffffffffffff' WHERE id > 10")

    answer = harbour("search", "users.py")

    assert answer.out.startswith("oth-001\t")
    assert "playbook db check --rebuild-search" in answer.err
    harbour("db", "check", "--rebuild-search")
    answer = harbour("search", "users.py")
    assert (answer.out[:7], answer.err) == ("oth-001", "")


@pytest.fixture
def rich(harbour: Playbook, folder: Path) -> Playbook:
    """Each other kind of text has the word `lantern`, too."""
    harbour("edit", "oth-001", "--text", "The lantern in src/api/users.py must be closed")
    harbour("edit", "oth-001", "--text", "Close what src/api/users.py opens")
    harbour("add", "The lantern hangs high")
    harbour("retire", "oth-004", "--reason", "no lantern hangs there")
    batch = {"evaluations": [{"name": "oth-002", "rating": "helpful", "rationale": "the lantern was lit by it"}]}
    harbour("apply", "-", stdin=json.dumps(batch))
    evidence = Evidence("lanterns for all", "WebFetch https://a.example", "outside")
    with open_store(settings.database_url()) as store, store.write(project_key(str(folder))) as book:
        assert book.add_proposal({"type": "ADD", "text": "Buy a lantern"}, "ADD", (evidence,), "outside", "s1")
    harbour("add", "A lantern needs oil")
    return harbour


def test_all_searches_every_kind_of_text(rich: Playbook) -> None:
    rows = [line.split("\t") for line in rich("search", "--all", "-n", "20", "lantern").out.splitlines()]

    assert rows[0] == ["live", "oth-005", "", "A lantern needs oil"]
    assert sorted(map(tuple, rows[1:])) == [
        ("old text", "oth-001", "5", "The lantern in src/api/users.py must be closed"),
        ("proposed", "p1", "", "Buy a lantern"),
        ("proposed", "p1", "", "lanterns for all"),
        ("reason", "oth-004", "8", "no lantern hangs there"),
        ("retired", "oth-004", "8", "The lantern hangs high"),
        ("vote", "oth-002", "9", "the lantern was lit by it"),
    ]
    found = rich("search", "--all", "--json", "-n", "3", "lantern").json
    assert found[0]["kind"] == "live"
    assert len(found) == 3
    assert found[1].keys() == {"kind", "name", "revision", "text", "score"}
    assert rich("search", "lantern").out.count("\n") == 1


def test_sessions_find_no_proposals(rich: Playbook, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "s2")

    answer = rich("search", "--all", "lantern")

    assert "Buy a lantern" not in answer.out
    assert "retired" in answer.out
    assert "proposals are left out inside a session" in answer.err


def test_list_finds_word_forms_and_parts(rich: Playbook) -> None:
    def names(*words: str) -> list[str]:
        return [line.split("\t")[0] for line in rich("list", *words).out.splitlines()]

    assert names("cache") == ["oth-002"]
    assert names("needed") == ["oth-002", "oth-005"]
    assert names("needed", "lantern") == ["oth-005"]
    assert names("needed", "-n", "1", "--sort", "age") == ["oth-005"]
    assert names("ser", "open") == ["oth-001"]
    assert names("oth-00") == ["oth-001", "oth-002", "oth-005"]


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


def test_search_without_result_suggests_more(harbour: Playbook) -> None:
    answer = harbour("search", "xyzzy")

    assert (answer.code, answer.out) == (0, "")
    assert "try other words" in answer.err
    assert "playbook search --all WORDS" in answer.err
    assert harbour("search", "xyzzy", "--json").json == []
    assert "--all" not in harbour("search", "xyzzy", "--all").err
    assert harbour("search").code == 2
