"""The full-text index of a file: it always matches the live points."""

import json
import re
import sqlite3
import sys
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
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
from playbook_db.store.sqlite import full_text
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
    with suppress(PointRuleError, NotFoundError):
        deeds[what]()


def _reword_by_hand(project: Project, name: str, text: str) -> None:
    """Edit a text in the program `sqlite3`."""
    with closing(sqlite3.connect(project.store.where)) as connection, connection:
        connection.execute("UPDATE key_points SET text = ? WHERE name = ? AND forgotten = 0", (text, name))


def _require_true(path: str | Path) -> None:
    """Compare the index with the texts by FTS5, and each word's matches with the live points."""
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
def test_index_always_matches_the_live_points(new_project: NewProject, histories: Sequence[Any]) -> None:
    """This holds through every kind of write in two projects, edits in a shell, and a transfer."""
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
    """A database with rows in every table."""
    path = tmp_path / "lived" / "playbook.db"
    path.parent.mkdir()
    write_sample_database(path)
    with open_store(f"sqlite:///{path}") as store:
        edit.add(Project(store, "/work/harbour"), "restart the cache with uv 缓存")
        store.tidy()
    return path


_DAMAGES = {
    "its structure": "UPDATE point_search_data SET block = x'ffffffffffffffffffff'",
    "a part is gone": "DELETE FROM point_search_data WHERE id > 10",
    "it is gone": "DROP TABLE point_search",
    "another version": "UPDATE point_search_config SET v = 99",
}
_UNOPENED = [_DAMAGES[name] for name in ("its structure", "another version")]


@pytest.fixture
def ruled(tmp_path: Path) -> Path:
    """A closed database with four points."""
    path = tmp_path / "ruled.db"
    with open_store(f"sqlite:///{path}") as store:
        for text in ("use ruff", "use mypy", "use pytest", "use uv"):
            edit.add(Project(store, "/work/harbour"), text)
        store.tidy()
    return path


def _searched(project: Project, question: str) -> Searched:
    with project.store.read(project.key) as book:
        return book.search(question)


@pytest.mark.parametrize("damage", _DAMAGES.values(), ids=_DAMAGES)
def test_damaged_index_stops_no_write(ruled: Path, damage: str) -> None:
    """The check reports it, a search works without it, and a write repairs it if the index can be opened."""
    with closing(sqlite3.connect(ruled)) as connection:
        connection.executescript(damage)

    report = maintenance.check_database(f"sqlite:///{ruled}")
    assert report.problems == ("the full-text index doesn't match the points",)
    assert report.remedy == maintenance.REBUILD_SEARCH
    with open_store(f"sqlite:///{ruled}") as store:
        project = Project(store, "/work/harbour")
        assert _searched(project, "pytes").is_damaged
        edit.edit(project, "oth-002", text="use mypy and the cache")
        edit.add(project, "a parser wants bytes")
        edit.retire(project, "oth-003")

    after = maintenance.check_database(f"sqlite:///{ruled}")
    assert after.problems in ((), report.problems)
    if after.problems:
        assert damage in (*_UNOPENED, _DAMAGES["a part is gone"])
    else:
        _require_true(ruled)


@pytest.mark.parametrize("damage", _DAMAGES.values(), ids=_DAMAGES)
def test_damaged_index_can_be_rebuilt(ruled: Path, damage: str) -> None:
    """`db repair` always can; `db check --rebuild-search` only if the index can be opened."""
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


def test_sqlite_without_fts5_is_refused(ruled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(full_text, "is_supported", lambda: False)

    with pytest.raises(DatabaseError, match=f"{sys.executable} has SQLite [0-9.]+ without FTS5; .* Use another Python"):
        open_store(f"sqlite:///{ruled}")


def test_edit_in_a_shell_hides_the_old_words(ruled: Path) -> None:
    """The next write brings the index up to date; until then a hook finds nothing wrong."""
    with open_store(f"sqlite:///{ruled}") as store:
        project = Project(store, "/work/harbour")
        _reword_by_hand(project, "oth-001", "use the parser")
        assert (_found(project, "ruff"), _found(project, "mypy")) == ([], ["oth-002"])
        assert [point.name for point, _ in _searched(project, "parser").points] == ["oth-001"]
        edit.vote(project, "oth-003", "helpful")

        assert (_found(project, "ruff"), _found(project, "parser")) == ([], ["oth-001"])


def test_forgotten_text_leaves_the_index(project: Project) -> None:
    """FTS5 alone would keep a deleted word until it merges segments."""
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


def _fitting(project: Project, question: str, *, strongly: bool = False) -> list[str]:
    with closing(sqlite3.connect(project.store.where)) as connection:
        found = hook_queries.fitting(_book(connection, project), search_words.terms(question), strongly=strongly)
    return [point.name for point, _ in found]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("the total in billing/invoice.py is off by a cent", ["oth-001"]),
        ("is the VAT right?", ["oth-001"]),
        ("fix the error", []),
        ("", []),
        ("VAT " + " ".join(f"other{n}" for n in range(30)), []),
    ],
)
def test_prompts_get_only_points_that_fit(project: Project, question: str, expected: list[str]) -> None:
    """One rare word is enough in a short question; common words aren't."""
    for text in (
        "billing/invoice.py: round VAT once per line, never the sum",
        "Run the tests before each commit; the errors stand in a file",
        "The linker on staging breaks at umlauts",
        "Answer in English",
    ):
        edit.add(project, text)

    assert _fitting(project, question) == expected
    assert set(expected) <= set(_found(project, question))


def test_errors_get_only_points_that_fit_strongly(project: Project) -> None:
    """The point names the error, not just the program."""
    edit.add(project, "npm install ends with ERESOLVE for eslint: raise eslint in package.json")
    edit.add(project, "Answer in English")
    error = "npm install\nnpm ERR! code ERESOLVE\nCould not resolve dependency: peer eslint@^8"

    assert _fitting(project, error, strongly=True) == ["oth-001"]
    assert _fitting(project, "npm start\nnpm ERR! Missing script: start", strongly=True) == []


def test_long_points_need_two_words(project: Project) -> None:
    """A search finds the point by one word."""
    edit.add(project, "The linker on staging breaks at umlauts. " + "Some jobs have to wait for others. " * 12)
    edit.add(project, "Answer in English")

    assert _found(project, "what about umlauts?") == ["oth-001"]
    assert _fitting(project, "what about umlauts?") == []
    assert _fitting(project, "what about umlauts on staging?") == ["oth-001"]


def test_resting_points_are_found_but_not_shown(project: Project) -> None:
    edit.add(project, "The linker on staging breaks at umlauts")
    edit.add(project, "Answer in English")
    with closing(sqlite3.connect(project.store.where)) as connection, connection:
        connection.execute("UPDATE key_points SET resting = 1 WHERE name = 'oth-001'")

    assert _found(project, "linker umlauts") == ["oth-001"]
    assert _fitting(project, "linker umlauts") == []


def test_points_with_most_words_come_first(project: Project) -> None:
    texts = [f"{'cache' if number % 2 else 'parser'} {number}" for number in range(300)]
    entries = [{"name": f"oth-{at:03d}", "text": text} for at, text in enumerate([*texts, "cache of the parser"], 1)]
    content = json.dumps({"sections": {"OTHERS": entries}}).encode()
    import_export.import_playbook(project, playbook_file.decode(content, source="a test"), source="a test")

    assert _found(project, "cache parser zebra")[0] == "oth-301"
    assert _fitting(project, "cache parser zebra") == []
