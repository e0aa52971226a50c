"""Reading the pages of a damaged file, and putting the rows into a staging."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from playbook_db.services import edit, revise
from playbook_db.services.projects import Project
from playbook_db.store.hook_queries import SCHEMA
from playbook_db.store.salvaging import salvage, staging
from playbook_db.store.sqlite.page_reader import Pages, open_pages, page_size_of
from tests.sample_database import write_sample_database

_PAGE = 4096


def _rows(path: Path, tables: tuple[str, ...] = ("playbooks", "revisions", "key_points", "changes", "votes")) -> Any:
    """The rows of *tables* in their first columns."""
    with closing(sqlite3.connect(path)) as connection:
        return {table: sorted(row[:5] for row in connection.execute(f"SELECT * FROM {table}")) for table in tables}


def _salvaged(folder: Path, data: bytes, log: bytes = b"") -> tuple[Path, salvage.Salvaged, bool]:
    copy, staged = folder / "copy.db", folder / "staging.db"
    copy.write_bytes(data)
    if log:
        Path(f"{copy}-wal").write_bytes(log)
    staged.unlink(missing_ok=True)
    opened = salvage.open_file(str(copy))
    return staged, salvage.salvage_file(str(copy), opened, str(staged)), opened.passed_over


def _over(data: bytes, place: int, new: bytes) -> bytes:
    return data[:place] + new + data[place + len(new) :]


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with a bit of everything in it; not to be changed."""
    return write_sample_database(tmp_path_factory.mktemp("sample") / "playbook.db")


@pytest.mark.parametrize("lost", [0, 100, _PAGE], ids=["nothing", "the header", "the first page"])
def test_all_rows_are_found_without_the_first_page(tmp_path: Path, sample: Path, lost: int) -> None:
    """The schema's rows stand on other pages too, and rows know their tables by their shape."""
    staged, found, _ = _salvaged(tmp_path, _over(sample.read_bytes(), 0, bytes(lost)))

    assert _rows(staged) == _rows(sample)
    assert found.schema == SCHEMA
    assert not found.foreign


def test_a_page_of_rows_without_a_schema_or_a_tree_is_still_read(tmp_path: Path, sample: Path) -> None:
    """Every page but those of one table is gone: its rows are recognised."""
    data = sample.read_bytes()
    with closing(sqlite3.connect(sample)) as connection:
        (root,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'key_points'").fetchone()
    pages = open_pages(data).pages
    kept = set(pages.tree(root)) - {root}
    bare = b"".join(pages.page(n) if n in kept else bytes(_PAGE) for n in range(1, pages.count + 1))

    staged, _, _ = _salvaged(tmp_path, bare)

    assert _rows(staged, ("key_points",)) == _rows(sample, ("key_points",))


def test_a_text_that_flows_over_many_pages_is_read_whole(tmp_path: Path, project: Project) -> None:
    """From the chain of its pages, in order."""
    long = "é" * 30_000
    edit.add(project, long)
    edit.add(project, "short")
    project.store.tidy()
    data = Path(project.store.where).read_bytes()

    staged, _, _ = _salvaged(tmp_path, _over(data, 0, bytes(_PAGE)))

    with closing(sqlite3.connect(staged)) as connection:
        assert [text for (text,) in connection.execute("SELECT text FROM key_points ORDER BY id")] == [long, "short"]


def test_commits_after_a_damaged_frame_of_the_log_are_read(tmp_path: Path, project: Project) -> None:
    """SQLite stops there; but each frame is proved by the one before it."""
    edit.add(project, "use type hints")
    project.store.tidy()
    for number in range(8):
        edit.add(project, f"advice {number}")
    data, log = (Path(f"{project.store.where}{suffix}").read_bytes() for suffix in ("", "-wal"))
    garbled = _over(log, 32 + 24 + 100, b"garbage")

    staged, _, log_is_damaged = _salvaged(tmp_path, data, garbled)

    assert log_is_damaged
    with closing(sqlite3.connect(staged)) as connection:
        texts = {text for (text,) in connection.execute("SELECT text FROM key_points")}
    assert {point.text for point in revise.read(project).points} == texts


def test_what_was_never_committed_is_not_read(tmp_path: Path, project: Project) -> None:
    """The last frames of a log without a commit belong to nobody."""
    edit.add(project, "use type hints")
    project.store.tidy()
    edit.add(project, "the last commit, half of it on the disk")
    data, log = (Path(f"{project.store.where}{suffix}").read_bytes() for suffix in ("", "-wal"))

    staged, _, log_is_damaged = _salvaged(tmp_path, data, log[: -_PAGE - 24])

    assert not log_is_damaged
    with closing(sqlite3.connect(staged)) as connection:
        assert connection.execute("SELECT text FROM key_points").fetchall() == [("use type hints",)]


@pytest.mark.parametrize("size", [512, 1024, 4096, 65536])
def test_the_size_of_the_pages_is_found_where_the_header_is_gone(tmp_path: Path, size: int) -> None:
    """Rows fill their pages from the end; that shows."""
    path = tmp_path / "sized.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA page_size = {size}")
        connection.execute("CREATE TABLE t (a TEXT)")
        connection.executemany("INSERT INTO t VALUES (?)", [("some text" * (n % 9),) for n in range(9000)])
        connection.commit()

    assert page_size_of(_over(path.read_bytes(), 0, bytes(100))) == size


@settings(max_examples=150)
@given(st.binary(max_size=3000), st.sampled_from([512, 1024]))
def test_no_bytes_make_the_reader_stumble_or_turn_in_circles(data: bytes, size: int) -> None:
    """Whatever stands in the file, it is rows or it is none."""
    pages = Pages(size, data)
    for number in range(1, pages.count + 1):
        list(pages.records(number))
        list(pages.tree(number))
    open_pages(data, data)


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 2**20), st.binary(min_size=1, max_size=40)), max_size=12))
def test_no_damage_to_a_real_file_makes_the_reader_stumble(sample: Path, damages: list[tuple[int, bytes]]) -> None:
    """The same for bytes that are nearly right."""
    data = sample.read_bytes()
    for place, new in damages:
        data = _over(data, place % len(data), new)[: 50 * _PAGE]
    pages = open_pages(data).pages
    for number in range(1, pages.count + 1):
        list(pages.records(number))


def test_the_staging_takes_no_row_that_its_table_could_not_have(tmp_path: Path) -> None:
    """Checks, types and keys are those of our tables."""
    path = str(tmp_path / "staging.db")
    staging.make_staging(path)
    table = staging.TABLES["votes"]
    good = (1, 1, 1, 1, None, "helpful", None)
    rows = [
        good,
        (1, 1, 2, 1, None, "lovely", None),
        (1, 1, 1, 9, None, "harmful", None),
        (1, 1, 3, 1, "x", "helpful", None),
    ]

    with closing(sqlite3.connect(path)) as connection:
        staging.keep(connection, table, rows)
        assert connection.execute("SELECT * FROM votes").fetchall() == [good]
    assert not staging.fits(table, (1, "1", 1, 1, None, "helpful", None))
