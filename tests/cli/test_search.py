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


def test_as_prompt_says_why_a_session_gets_each_point(harbour: Playbook, folder: Path) -> None:
    """With the prompt, then with the file. As JSON, too."""
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


def test_as_prompt_is_about_a_project_s_sessions(harbour: Playbook) -> None:
    """A text without a word that counts brings nothing more; a file that isn't there is a mistake."""
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
def test_no_words_are_an_error(harbour: Playbook, words: str) -> None:
    """Operators, quotes, a hundred kilobytes."""
    answer = harbour("search", "--", words)

    assert answer.code == 0
    assert "no matches" in answer.err or "too common to search for" in answer.err or "oth-002" in answer.out
    assert harbour("search", "--all", "--json", "--", words).code == harbour("list", "--", words).code == 0


def test_a_damaged_index_is_done_without_and_made_anew(harbour: Playbook) -> None:
    """The answer comes by parts of words, with a line that says what helps; and that does help."""
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
def told(harbour: Playbook, folder: Path) -> Playbook:
    """Also an older text, a reason, a rationale, evidence and a proposal, each with the word `lantern`."""
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


def test_all_finds_what_else_was_said_and_says_what_it_is(told: Playbook) -> None:
    """The live points come first; each of the others with its kind, its name and its revision."""
    rows = [line.split("\t") for line in told("search", "--all", "-n", "20", "lantern").out.splitlines()]

    assert rows[0] == ["live", "oth-005", "", "A lantern needs oil"]
    assert sorted(map(tuple, rows[1:])) == [
        ("old text", "oth-001", "5", "The lantern in src/api/users.py must be closed"),
        ("proposed", "p1", "", "Buy a lantern"),
        ("proposed", "p1", "", "lanterns for all"),
        ("reason", "oth-004", "8", "no lantern hangs there"),
        ("retired", "oth-004", "8", "The lantern hangs high"),
        ("vote", "oth-002", "9", "the lantern was lit by it"),
    ]
    found = told("search", "--all", "--json", "-n", "3", "lantern").json
    assert found[0]["kind"] == "live"
    assert len(found) == 3
    assert found[1].keys() == {"kind", "name", "revision", "text", "score"}
    assert told("search", "lantern").out.count("\n") == 1


def test_a_session_is_shown_no_proposal(told: Playbook, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a page had one propose, another must not read; it is told that something is left out."""
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "s2")

    answer = told("search", "--all", "lantern")

    assert "Buy a lantern" not in answer.out
    assert "retired" in answer.out
    assert "proposals are left out inside a session" in answer.err


def test_what_was_forgotten_is_not_found(told: Playbook) -> None:
    """Nor any of what was said of it."""
    told("forget", "oth-004", "--yes")

    assert "oth-004" not in told("search", "--all", "lantern hangs high forgotten").out


def test_a_point_that_rests_says_so(told: Playbook) -> None:
    """As in a list."""
    with closing(sqlite3.connect(_database(told))) as connection, connection:
        connection.execute("UPDATE key_points SET resting = 1 WHERE name = 'oth-005'")

    assert told("search", "lantern").out.endswith("A lantern needs oil\trests\n")
    assert told("search", "lantern", "--json").json[0]["resting"] is True


def test_list_takes_words_in_any_form_and_as_parts(told: Playbook) -> None:
    """All of them, in the playbook's order."""

    def names(*words: str) -> list[str]:
        return [line.split("\t")[0] for line in told("list", *words).out.splitlines()]

    assert names("cache") == ["oth-002"]
    assert names("needed") == ["oth-002", "oth-005"]
    assert names("needed", "lantern") == ["oth-005"]
    assert names("needed", "-n", "1", "--sort", "age") == ["oth-005"]
    assert names("ser", "open") == ["oth-001"]
    assert names("oth-00") == ["oth-001", "oth-002", "oth-005"]


@pytest.mark.slow
def test_a_terminal_shows_what_was_found_and_nothing_steers_it(told: Playbook) -> None:
    """Bold, in lines that fit; a control character in a text is shown, not sent."""
    told("add", "The \x1b[31mlantern\x1b[0m burns " + "and burns " * 12)

    seen = on_terminal("search", "lanterns", "burning", "--all", columns=60)

    assert "\x1b[1mlantern\x1b[0m needs oil" in seen
    assert "\x1b[31m" not in seen
    assert "oth-004" in seen
    plain = [re.sub(r"\x1b\[\d+m", "", line) for line in seen.splitlines()]
    assert max(map(len, plain)) <= 60
    assert all("\x1b" not in line for line in plain)


def test_nothing_found_says_what_to_try(harbour: Playbook) -> None:
    """Other words, all points, or what else was said; the answer for programs is an empty list."""
    answer = harbour("search", "xyzzy")

    assert (answer.code, answer.out) == (0, "")
    assert "try other words" in answer.err
    assert "playbook search --all WORDS" in answer.err
    assert harbour("search", "xyzzy", "--json").json == []
    assert "--all" not in harbour("search", "xyzzy", "--all").err
    assert harbour("search").code == 2
