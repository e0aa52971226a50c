"""The index for full text is what the live points give, whatever happened to them."""

import _sqlite3
import ctypes
import json
import random
import re
import sqlite3
import sys
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playbook_db.domain import playbook_file, search_words
from playbook_db.domain.merging.undo_rules import RevisionRange
from playbook_db.errors import DamagedError, DatabaseError, NotFoundError, PointRuleError
from playbook_db.services import maintenance, repair
from playbook_db.services.playbook import edit, import_export, undo
from playbook_db.services.playbook.forget import Request, forget
from playbook_db.services.project import Project
from playbook_db.store.engine import open_store
from playbook_db.store.playbook.searching import Searched
from playbook_db.store.queries import hook_queries
from playbook_db.store.queries.hook_queries import Book
from playbook_db.store.sqlite import backups, full_text
from playbook_db.store.team import replica
from tests.builders import few_texts, playbooks_of_few_texts
from tests.databases import NewProject
from tests.sample_database import write_sample_database
from tests.tiers import few

pytestmark = pytest.mark.sqlite

WORDS = "ruff mypy pytest cache uv parser 缓存 重启 設定"
_names = st.sampled_from([f"{slug}-{number:03d}" for slug in ("oth", "pat") for number in (1, 2, 3)])
_texts = st.one_of(few_texts, st.lists(st.sampled_from(WORDS.split()), min_size=1, max_size=4).map(" ".join))
_operations = st.one_of(
    st.builds(lambda text: {"type": "ADD", "text": text, "section": "pat"}, _texts),
    st.builds(lambda name, text: {"type": "UPDATE", "target_id": name, "text": text}, _names, _texts),
    st.builds(lambda name: {"type": "DELETE", "target_id": name}, _names),
    st.builds(
        lambda names, text: {"type": "MERGE", "source_ids": names, "merged_text": text},
        st.lists(_names, min_size=2, max_size=3, unique=True),
        _texts,
    ),
)
_deeds = st.one_of(
    st.tuples(st.just("apply"), st.lists(_operations, min_size=1, max_size=4)),
    st.tuples(st.just("restore"), _names),
    st.tuples(st.just("forget"), _names),
    st.tuples(st.sampled_from(["import", "replace"]), playbooks_of_few_texts()),
    st.tuples(st.sampled_from(["undo", "go back"]), st.integers(1, 8)),
    st.tuples(st.just("by hand"), st.tuples(_names, _texts)),
)


def _do(project: Project, what: str, of: Any) -> None:
    def bring_in(*, replaces: bool) -> None:
        reading = playbook_file.decode(playbook_file.encode(of), source="a test")
        import_export.import_playbook(project, reading, source="a test", replace=replaces)

    deeds: dict[str, Callable[[], object]] = {
        "apply": lambda: edit.apply_batch(project, of, origin="a test"),
        "restore": lambda: edit.restore(project, of),
        "forget": lambda: forget(project, Request(name=of)),
        "import": lambda: bring_in(replaces=False),
        "replace": lambda: bring_in(replaces=True),
        "undo": lambda: undo.undo(project, RevisionRange(of, of), prefer="theirs"),
        "go back": lambda: undo.go_back(project, str(of)),
        "by hand": lambda: _reword_by_hand(project, *of),
    }
    with suppress(PointRuleError, NotFoundError, PointRuleError, NotFoundError):
        deeds[what]()


def _reword_by_hand(project: Project, name: str, text: str) -> None:
    """As somebody does it who has the program `sqlite3`."""
    with closing(sqlite3.connect(project.store.where)) as connection, connection:
        connection.execute("UPDATE key_points SET text = ? WHERE name = ? AND forgotten = 0", (text, name))


def _require_true(path: str | Path) -> None:
    """The index by FTS5's own comparison with the texts; and each word is found in the live points that have it."""
    with closing(sqlite3.connect(path)) as connection:
        assert full_text.is_true(connection.execute)
        live = "SELECT playbook_id * 4294967296 + id, text FROM key_points WHERE retired_in IS NULL"
        points = dict(connection.execute(live))
        for word in WORDS.split():
            phrase = word if word.isascii() else " ".join(word)
            query = "SELECT rowid FROM point_search WHERE point_search MATCH ?"
            found = {number for (number,) in connection.execute(query, (f'text : "{phrase}"',))}
            assert found == {number for number, text in points.items() if word in _words(text, whole=word.isascii())}
        connection.rollback()


def _words(text: str, *, whole: bool) -> Sequence[str]:
    return re.findall(r"\w+", text.casefold()) if whole else text


@pytest.mark.slow
@few
@given(histories=st.lists(st.lists(_deeds, max_size=6), min_size=2, max_size=2))
def test_the_index_is_what_the_live_points_give(new_project: NewProject, histories: Sequence[Any]) -> None:
    """Through batches, merges, imports, undos, restores and erasures, of two projects in one database, what is written
    by hand in between, and a transfer."""
    project = new_project()
    other = Project(project.store, f"{project.key}/other")
    for each, history in zip((project, other), histories, strict=True):
        edit.add(each, "use ruff and mypy", section="pat")
        for what, of in history:
            _do(each, what, of)
    edit.add(project, "a last write takes in what waits")

    _require_true(project.store.where)
    if any(what == "by hand" for history in histories for what, _ in history):
        return  # what isn't as its history says is never transferred
    with TemporaryDirectory() as folder:
        maintenance.transfer(f"sqlite:///{project.store.where}", f"sqlite:///{folder}/other.db")
        _require_true(f"{folder}/other.db")


@pytest.fixture
def lived(tmp_path: Path) -> Path:
    """A database with a bit of everything."""
    path = tmp_path / "lived" / "playbook.db"
    path.parent.mkdir()
    write_sample_database(path)
    with open_store(f"sqlite:///{path}") as store:
        edit.add(Project(store, "/work/harbour"), "restart the cache with uv 缓存")
        store.tidy()
    return path


@pytest.mark.slow
def test_it_goes_along_into_copies(lived: Path, tmp_path: Path) -> None:
    """Into another database, a backup and a team's replica."""
    other = tmp_path / "other.db"
    maintenance.transfer(f"sqlite:///{lived}", f"sqlite:///{other}")
    backup = backups.take(str(lived), backups.BY_HAND, now=datetime.now(UTC)).path
    with open_store(f"sqlite:///{lived}") as store:
        replica.write(str(tmp_path / "replica.db"), replica.read(store, "/work/harbour"))

    for path in (lived, other, Path(backup), tmp_path / "replica.db"):
        _require_true(path)


def test_a_difference_is_noticed(project: Project) -> None:
    """A text that somebody changed past the triggers isn't what the index has."""
    edit.add(project, "use ruff")
    with closing(sqlite3.connect(project.store.where)) as connection:
        connection.execute("DROP TRIGGER point_search_changed")
        connection.execute("UPDATE key_points SET text = 'use mypy'")

        with pytest.raises(sqlite3.DatabaseError):
            full_text.is_true(connection.execute)
        full_text.make(connection.execute)
        assert full_text.is_true(connection.execute)


_DAMAGES = {
    "its structure": "UPDATE point_search_data SET block = x'ffffffffffffffffffff'",
    "its words": "UPDATE point_search_data SET block = x'ffffffffffffffffffff' WHERE id > 10",
    "a part of it is gone": "DELETE FROM point_search_data WHERE id > 10",
    "a table of it is gone": "DROP TABLE point_search_idx",
    "it is gone": "DROP TABLE point_search",
    "another version's": "UPDATE point_search_config SET v = 99",
    "another one's": (
        "DROP TABLE point_search; CREATE VIRTUAL TABLE point_search USING fts5(name, text, tokenize = 'trigram')"
    ),
    "it can't be opened": (
        "PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql = replace(sql, 'porter', 'none')"
        " WHERE name = 'point_search'"
    ),
}
_UNOPENED = [_DAMAGES[name] for name in ("its structure", "another version's", "it can't be opened")]


@pytest.fixture
def ruled(tmp_path: Path) -> Path:
    """A database with four points, at rest."""
    path = tmp_path / "ruled.db"
    with open_store(f"sqlite:///{path}") as store:
        for text in ("use ruff", "use mypy", "use pytest", "use uv"):
            edit.add(Project(store, "/work/harbour"), text)
        store.tidy()
    return path


def _searched(project: Project, question: str) -> Searched:
    with project.store.read(project.key) as book:
        return book.search(question)


def _write_all_kinds(path: Path) -> None:
    with open_store(f"sqlite:///{path}") as store:
        project = Project(store, "/work/harbour")
        edit.vote(project, "oth-001", "helpful")
        edit.edit(project, "oth-002", text="use mypy and the cache")
        edit.add(project, "a parser wants bytes")
        edit.retire(project, "oth-003")
        edit.apply_batch(project, [{"type": "ADD", "text": "restart the cache", "section": "pat"}], origin="a test")


@pytest.mark.nightly(after=2)
@pytest.mark.parametrize("damage", _DAMAGES.values(), ids=_DAMAGES)
def test_a_damaged_index_stops_no_write(ruled: Path, damage: str) -> None:
    """The check names it and what helps, a search does without it and says so. A write that meets the damage mends it
    if the index can be opened; otherwise the check still says so."""
    with closing(sqlite3.connect(ruled)) as connection:
        connection.executescript(damage)

    report = maintenance.check_database(f"sqlite:///{ruled}")
    assert report.problems == ("the full-text index doesn't match the points",)
    assert report.remedy == maintenance.REBUILD_SEARCH
    with open_store(f"sqlite:///{ruled}") as store:
        found = _searched(Project(store, "/work/harbour"), "pytes")
    assert found.is_damaged or damage == _DAMAGES["another one's"]
    _write_all_kinds(ruled)

    after = maintenance.check_database(f"sqlite:///{ruled}")
    assert after.problems in ((), report.problems)
    if after.problems:
        assert damage in (*_UNOPENED, _DAMAGES["its words"], _DAMAGES["a part of it is gone"])
    else:
        _require_true(ruled)


@pytest.mark.nightly(after=2)
@pytest.mark.parametrize("damage", _DAMAGES.values(), ids=_DAMAGES)
def test_a_damaged_index_is_made_anew_when_asked(ruled: Path, damage: str) -> None:
    """By `db repair`, which takes nothing else for damaged, and by `db check --rebuild-search` if it can be opened."""
    url = f"sqlite:///{ruled}"
    with closing(sqlite3.connect(ruled)) as connection:
        connection.executescript(damage)
    if damage in _UNOPENED:
        with pytest.raises(DamagedError, match="playbook db repair"):
            maintenance.rebuild_search(url)
    else:
        maintenance.rebuild_search(url)
        _require_true(ruled)
        with closing(sqlite3.connect(ruled)) as connection:
            connection.executescript(damage)
    repaired = repair.repair(url, folder="/")

    assert (repaired.has_wrong_search, repaired.is_damaged) == (True, damage in _UNOPENED)
    _require_true(ruled)


def test_an_sqlite_without_fts5_is_refused_in_a_sentence(ruled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It says which Python has it."""
    monkeypatch.setattr(full_text, "is_supported", lambda: False)

    with pytest.raises(DatabaseError, match=f"{sys.executable} has SQLite [0-9.]+ without FTS5; .* Use another Python"):
        open_store(f"sqlite:///{ruled}")


def test_what_waits_isn_t_found_by_its_old_words(ruled: Path) -> None:
    """A change that somebody made by hand waits for the next write; until then a hook finds nothing wrong."""
    with open_store(f"sqlite:///{ruled}") as store:
        project = Project(store, "/work/harbour")
        _reword_by_hand(project, "oth-001", "use the parser")
        assert (_found(project, "ruff"), _found(project, "mypy")) == ([], ["oth-002"])
        assert [point.name for point, _ in _searched(project, "parser").points] == ["oth-001"]
        edit.vote(project, "oth-003", "helpful")

        assert (_found(project, "ruff"), _found(project, "parser")) == ([], ["oth-001"])


def test_what_was_forgotten_is_in_none_of_the_index_s_segments(project: Project) -> None:
    """A word that is taken out of FTS5's index stays in it until segments are merged; an erasure doesn't wait."""
    edit.add(project, "the password is hunterxyzzy")

    forget(project, Request(name="oth-001"))

    with closing(sqlite3.connect(project.store.where)) as connection:
        blocks = [block for (block,) in connection.execute("SELECT block FROM point_search_data")]
    assert not [block for block in blocks if b"xyzzi" in block or b"xyzzy" in block]
    assert b"hunterxyzz" not in Path(project.store.where).read_bytes()


def _book(connection: sqlite3.Connection, project: Project) -> Book:
    stored = hook_queries.find_project(connection.execute, project.key)
    assert stored is not None
    return Book(connection, stored)


def _found(project: Project, question: str) -> list[str]:
    with closing(sqlite3.connect(project.store.where)) as connection:
        found = hook_queries.search(_book(connection, project), question)
    return [point.name for point, _ in found]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("why does users.py fail", ["oth-001"]),
        ("src/api/users.py", ["oth-001"]),
        ("api", ["oth-001"]),
        ("--no-cache", ["oth-002"]),
        ("parse_header", ["oth-003"]),
        ("the header", ["oth-003"]),
        ("uv", ["oth-002"]),
        ("E1101", ["oth-004"]),
        ("服务", ["oth-005"]),
        ("caching", ["oth-002"]),
        ("oth-004", ["oth-004"]),
        ("oth", []),
        ("retired", []),
        ('" OR rowid:1 --', []),
    ],
)
def test_what_is_found(project: Project, question: str, expected: list[str]) -> None:
    """Files, options, identifiers and error codes whole and by their parts; short words; Chinese; other forms of a
    word; a point by its name, but not all by what their names have in common."""
    for text in (
        "In src/api/users.py the session must be closed",
        "Install with uv and --no-cache",
        "parse_header wants bytes",
        "E1101 comes from a stale stub",
        "改了配置要重启服务",
        "retired advice",
    ):
        edit.add(project, text)
    edit.retire(project, "oth-006")

    assert _found(project, question) == expected


def test_retired_points_and_other_projects_change_neither_order_nor_scores(project: Project) -> None:
    """Also where they hold the words a hundred times."""
    for text in ("parser tests", "parser of headers, for tests", "tests of all kinds"):
        edit.add(project, text)

    def answer() -> list[tuple[str, float]]:
        with closing(sqlite3.connect(project.store.where)) as connection:
            found = hook_queries.search(_book(connection, project), "parser headers tests")
        return [(point.name, score) for point, score in found]

    before = answer()
    other = Project(project.store, "/other")
    for number in range(50):
        edit.add(other, f"parser parser headers {number}")
    edit.add(project, "headers headers headers")
    edit.retire(project, "oth-004")

    assert answer() == before
    assert [name for name, _ in before] == ["oth-002", "oth-001", "oth-003"]


def _fitting(project: Project, question: str, *, strongly: bool = False) -> list[str]:
    with closing(sqlite3.connect(project.store.where)) as connection:
        found = hook_queries.fitting(_book(connection, project), search_words.terms(question), strongly=strongly)
    return [point.name for point, _ in found]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("the total in billing/invoice.py is off by a cent", ["oth-001"]),
        ("is the VAT right?", ["oth-001"]),
        ("continue", []),
        ("fix the error", []),
        ("write some tests", []),
        ("", []),
        ("VAT " + " ".join(f"other{n}" for n in range(30)), []),
        ("the linker of staging says umlauts break", ["oth-003"]),
    ],
)
def test_only_what_fits_is_shown_unasked(project: Project, question: str, expected: list[str]) -> None:
    """One plain word that a point alone has is enough in a short question; common words aren't, nor is one word of
    many."""
    for text in (
        "billing/invoice.py: round VAT once per line, never the sum",
        "Run the tests before each commit; the errors stand in a file",
        "The linker on staging breaks at umlauts",
        "Answer in English",
    ):
        edit.add(project, text)

    assert _fitting(project, question) == expected
    assert set(expected) <= set(_found(project, question))


def test_for_an_error_a_point_has_to_fit_strongly(project: Project) -> None:
    """It names that error, not just the program; an error of another kind brings nothing."""
    edit.add(project, "npm install ends with ERESOLVE for eslint: raise eslint in package.json")
    edit.add(project, "Answer in English")
    error = "npm install\nnpm ERR! code ERESOLVE\nCould not resolve dependency: peer eslint@^8"

    assert _fitting(project, error, strongly=True) == ["oth-001"]
    assert _fitting(project, "npm start\nnpm ERR! Missing script: start", strongly=True) == []


def test_one_word_of_a_long_point_is_too_little_to_show_it_unasked(project: Project) -> None:
    """It is found by a search; with a second word it is shown."""
    edit.add(project, "The linker on staging breaks at umlauts. " + "Some jobs have to wait for others. " * 12)
    edit.add(project, "Answer in English")

    assert _found(project, "what about umlauts?") == ["oth-001"]
    assert _fitting(project, "what about umlauts?") == []
    assert _fitting(project, "what about umlauts on staging?") == ["oth-001"]


def test_a_point_that_rests_is_found_and_never_shown_unasked(project: Project) -> None:
    """Who searches gets it all the same."""
    edit.add(project, "The linker on staging breaks at umlauts")
    edit.add(project, "Answer in English")
    with closing(sqlite3.connect(project.store.where)) as connection, connection:
        connection.execute("UPDATE key_points SET resting = 1 WHERE name = 'oth-001'")

    assert _found(project, "linker umlauts") == ["oth-001"]
    assert _fitting(project, "linker umlauts") == []


def _of_many_words(seed: int, count: int = 300) -> playbook_file.Reading:
    """A file of *count* points that all speak of the same few things."""
    rng = random.Random(seed)
    words = [f"{word}{end}" for word in _THINGS for end in ("", "s", "_id", ".py", "-fast")]
    texts = (" ".join(rng.choice(words) for _ in range(22)) for _ in range(count))
    entries = [{"name": f"oth-{at:05d}", "text": text, "helpful": 0, "harmful": 0} for at, text in enumerate(texts, 1)]
    return playbook_file.decode(json.dumps({"sections": {"OTHERS": entries}}).encode(), source="a test")


_THINGS = ("cache", "parser", "header", "token", "build", "mirror", "index", "worker", "config", "module", "uv", "ci")


def _cost(project: Project) -> tuple[list[str], int, int]:
    """What a question of twelve words finds, in how many hundreds of steps of SQLite's machine, and how many pages it
    looks at, of the index too."""
    library, steps, pages = ctypes.CDLL(_sqlite3.__file__), [0], ctypes.c_int()
    with closing(sqlite3.connect(project.store.where)) as connection:
        book = _book(connection, project)

        def count() -> int:
            steps[0] += 1
            return 0

        connection.set_progress_handler(count, 100)
        handle = ctypes.c_void_p.from_address(id(connection) + object.__basicsize__)
        looked_at = 0
        for of_cache in (7, 8):  # SQLITE_DBSTATUS_CACHE_HIT and SQLITE_DBSTATUS_CACHE_MISS
            library.sqlite3_db_status(handle, of_cache, ctypes.byref(pages), ctypes.byref(ctypes.c_int()), 1)
        found = hook_queries.search(book, " ".join(_THINGS))
        for of_cache in (7, 8):
            library.sqlite3_db_status(handle, of_cache, ctypes.byref(pages), ctypes.byref(ctypes.c_int()), 0)
            looked_at += pages.value
    return [point.name for point, _ in found], steps[0], looked_at


@pytest.mark.parametrize("question", ["cache parser", "cache parser zebra"])
def test_frequent_words_find_the_points_with_most_of_them(project: Project, question: str) -> None:
    """Even if a word of the question is in no point. A hook shows none of them then."""
    texts = [f"{'cache' if number % 2 else 'parser'} {number}" for number in range(300)]
    entries = [
        {"name": f"oth-{number:03d}", "text": text, "helpful": 0, "harmful": 0}
        for number, text in enumerate([*texts, "cache of the parser"], 1)
    ]
    content = json.dumps({"sections": {"OTHERS": entries}}).encode()
    import_export.import_playbook(project, playbook_file.decode(content, source="a test"), source="a test")

    assert _found(project, question)[0] == "oth-301"

    with closing(sqlite3.connect(project.store.where)) as connection:
        assert not hook_queries.fitting(_book(connection, project), search_words.terms("cache parser zebra"))


@pytest.mark.nightly
@pytest.mark.slow
def test_retired_points_and_other_projects_cost_a_search_next_to_nothing(project: Project) -> None:
    """A question about 300 points among 60 times as many takes the same steps, and looks at a few pages more, by which
    the index's pieces are gone through."""
    import_export.import_playbook(project, _of_many_words(1), source="a test")
    found, steps, pages = _cost(project)

    import_export.import_playbook(project, _of_many_words(2, 3_300), source="a test", replace=True)
    import_export.import_playbook(project, _of_many_words(1), source="a test", replace=True)
    for number in range(50):
        other = Project(project.store, f"/other/{number}")
        import_export.import_playbook(other, _of_many_words(number + 3), source="a test")

    with project.store.read(project.key) as book:
        assert len(book.retired()) >= 3_000
    again, more_steps, more_pages = _cost(project)
    assert again == found
    assert more_steps < 1.2 * steps
    assert more_pages < 5 * pages
