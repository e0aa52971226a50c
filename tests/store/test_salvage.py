"""Reading the pages of a damaged file, and what they say of its playbooks together."""

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from playbook_db.domain.erasure import MARK
from playbook_db.domain.playbook import Header
from playbook_db.domain.sections import SLUG_SECTIONS
from playbook_db.services.playbook import edit, forget
from playbook_db.services.project import Project, read_playbook
from playbook_db.store.at_hand import SCHEMA
from playbook_db.store.revision_log import header_of
from playbook_db.store.sqlite.page_reader import Pages, open_pages, page_size_of
from playbook_db.store.upkeep import salvage
from playbook_db.store.upkeep.salvage import SavedPlaybook
from tests.sample_database import write_sample_database

pytestmark = pytest.mark.sqlite

_PAGE = 4096
_POINTS = "SELECT name, text, section, helpful, harmful, position, retired_in IS NULL FROM key_points"


def _stored(path: Path, key: str | None = None) -> set[tuple[object, ...]]:
    """The points of the sound database *path*, of one playbook or of all."""
    with closing(sqlite3.connect(path)) as connection:
        ids = "SELECT id FROM playbooks" + (" WHERE key = ?" if key else "")
        return set(connection.execute(f"{_POINTS} WHERE playbook_id IN ({ids})", (key,) if key else ()))


def _saved(*playbooks: SavedPlaybook) -> set[tuple[object, ...]]:
    """The points that were saved, as `_stored` gives them."""
    slugs = {name: slug for slug, name in SLUG_SECTIONS.items()}
    return {
        (
            each.point.name, each.point.text, slugs[each.point.section], each.point.helpful, each.point.harmful,
            each.point.position, each.is_live,
        )
        for playbook in playbooks
        for each in playbook.points
    }  # fmt: skip


def _files(project: Project) -> tuple[bytes, bytes]:
    """The bytes of the project's database and of its log."""
    path, log = Path(project.store.where), Path(f"{project.store.where}-wal")
    return path.read_bytes(), log.read_bytes() if log.exists() else b""


def _over(data: bytes, place: int, new: bytes) -> bytes:
    return data[:place] + new + data[place + len(new) :]


def _without(data: bytes, path: Path, *names: str) -> bytes:
    """*data* with the pages of the tables or indexes *names* zeroed."""
    with closing(sqlite3.connect(path)) as connection:
        for name in names:
            for (number,) in connection.execute("SELECT pageno FROM dbstat WHERE name = ?", (name,)):
                data = _over(data, (number - 1) * _PAGE, bytes(_PAGE))
    return data


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with a bit of everything in it; not to be changed."""
    return write_sample_database(tmp_path_factory.mktemp("sample") / "playbook.db")


@pytest.mark.parametrize("lost", [0, 100, _PAGE], ids=["nothing", "the header", "the first page"])
def test_all_points_are_found_without_the_first_page(sample: Path, lost: int) -> None:
    """The schema's rows stand on other pages too, and rows know their tables by their shape."""
    pages = open_pages(_over(sample.read_bytes(), 0, bytes(lost)))

    saved = salvage.read(pages)

    assert [each.keys[0] for each in saved] == ["/work/harbour", "/work/lighthouse"]
    assert _saved(*saved) == _stored(sample)
    with closing(sqlite3.connect(sample)) as connection:
        times = dict(connection.execute("SELECT number, time FROM revisions WHERE playbook_id = 1"))
    assert saved[0].times == times
    assert not salvage.is_foreign(pages)


def test_the_schema_is_known_where_the_header_and_the_table_agree(sample: Path) -> None:
    """A turned byte in one of them must not make the file one of a later version."""
    data = sample.read_bytes()

    assert salvage.schema(open_pages(data)) == SCHEMA
    assert salvage.schema(open_pages(_over(data, 60, b"\0\0\0\x63"))) == 0


def test_a_page_of_rows_without_a_schema_or_a_tree_is_still_read(sample: Path) -> None:
    """Every page but those of one table is gone: its rows are recognised."""
    data = sample.read_bytes()
    with closing(sqlite3.connect(sample)) as connection:
        (root,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'key_points'").fetchone()
    pages = open_pages(data)
    kept = set(pages.tree(root)) - {root}
    bare = b"".join(pages.page(n) if n in kept else bytes(_PAGE) for n in range(1, pages.count + 1))

    assert _saved(*salvage.read(open_pages(bare))) == _stored(sample)


def test_points_whose_rows_are_lost_are_read_from_their_changes_and_indexes(sample: Path) -> None:
    """The history has all but their names, and two indexes together have these."""
    saved = salvage.read(open_pages(_without(sample.read_bytes(), sample, "key_points")))

    assert _saved(*saved) == _stored(sample)


def test_points_whose_changes_are_lost_are_read_from_their_rows(sample: Path) -> None:
    """And the last revision is known from their ranks."""
    saved = salvage.read(open_pages(_without(sample.read_bytes(), sample, "changes", "revisions")))

    assert _saved(*saved) == _stored(sample)
    assert [each.last_revision for each in saved] == [53, 23]
    assert [each.times for each in saved] == [{}, {}]


def test_revisions_that_are_out_of_line_are_not_believed(sample: Path) -> None:
    """A number or a time that damage changed stands against those around it."""
    data = sample.read_bytes()
    (edited,) = re.finditer(rb"\x2c(?=.editctx)", data, re.DOTALL)  # in revision 44
    with closing(sqlite3.connect(sample)) as connection:
        (time,) = connection.execute("SELECT time FROM revisions WHERE playbook_id = 1 AND number = 7").fetchone()
    data = _over(data, edited.start(), bytes([120]))
    data = _over(data, data.rindex(time.encode()), b"9")  # points know it, too

    saved, _ = salvage.read(open_pages(data))

    assert saved.last_revision == 53
    assert saved.times.keys() == set(range(1, 54)) - {7}


def test_the_key_of_a_playbook_whose_row_is_lost_stands_in_its_index(sample: Path) -> None:
    """Its header and settings are lost."""
    harbour, _ = salvage.read(open_pages(_without(sample.read_bytes(), sample, "playbooks", "heads")))

    assert (harbour.keys, harbour.header) == (("/work/harbour",), None)


def test_headers_and_settings_of_older_databases_are_found() -> None:
    """By the schema's rows as by their shape alone, since schema 5."""
    for frozen in sorted((Path(__file__).parents[1] / "frozen").glob("*.db"))[4:]:
        for data in (frozen.read_bytes(), _over(frozen.read_bytes(), 0, bytes(_PAGE))):
            read = salvage.read(open_pages(data))

            assert [each.header for each in read] == [
                _header_of(frozen, key) for key in ("/work/harbour", "/work/lighthouse")
            ]
            assert [each.settings for each in read] == [{"kind": "project", "mirror": "undecided", "ignored": 0}] * 2


def _header_of(path: Path, key: str) -> Header:
    with closing(sqlite3.connect(path)) as connection:
        query = "SELECT header, final_newline FROM heads JOIN playbooks ON id = playbook_id WHERE key = ?"
        return header_of(*connection.execute(query, [key]).fetchone())


def test_a_text_that_flows_over_many_pages_is_read_whole(project: Project) -> None:
    """From the chain of its pages, in order."""
    long = "é" * 8_800  # 17,600 bytes
    edit.add(project, long)
    edit.add(project, "short")
    project.store.tidy()

    (saved,) = salvage.read(open_pages(_over(_files(project)[0], 0, bytes(_PAGE))))

    assert [each.point.text for each in saved.points] == [long, "short"]


def test_commits_after_a_damaged_frame_of_the_log_are_read(project: Project) -> None:
    """SQLite stops there; but each frame is proved by the one before it."""
    edit.add(project, "use type hints")
    project.store.tidy()
    for number in range(8):
        edit.add(project, f"advice {number}")
    data, log = _files(project)

    pages = open_pages(data, _over(log, 32 + 24 + 100, b"garbage"))
    (saved,) = salvage.read(pages)

    assert pages.log_is_damaged
    assert {point.text for point in read_playbook(project).points} == {each.point.text for each in saved.points}


def test_of_several_copies_of_a_row_the_latest_counts(project: Project) -> None:
    """Whichever page comes first, and also one whose newer copy is damaged."""
    edit.add(project, "use type hints")
    project.store.tidy()
    copies = []
    for _ in range(2):
        edit.vote(project, "oth-001", "helpful")
        project.store.tidy()
        pages = open_pages(_files(project)[0])
        all_pages = map(pages.page, range(2, pages.count + 1))
        copies.append(next(page for page in all_pages if b"oth-001" in page and b"use type hints" in page))
    older, newer = copies
    empty = bytes(_PAGE)

    for found in (
        Pages(_PAGE, empty + older + newer),
        Pages(_PAGE, empty + newer + older),
        Pages(_PAGE, empty * 3, older=[(2, older), (2, newer)]),
    ):
        (saved,) = salvage.read(found)

        assert [each.point.helpful for each in saved.points] == [2]


def test_what_was_never_committed_is_not_read(project: Project) -> None:
    """The last frames of a log without a commit belong to nobody. The index for full text has a commit of its own,
    after that of the points."""
    edit.add(project, "use type hints")
    project.store.tidy()
    edit.add(project, "the last commit, half of it on the disk")
    data, log = _files(project)

    frames = range(32, len(log), _PAGE + 24)  # each with the file's size in its head where it ends a commit
    commit = next(frame for frame in frames if any(log[frame + 4 : frame + 8]))

    pages = open_pages(data, log[:commit])
    (saved,) = salvage.read(pages)

    assert not pages.log_is_damaged
    assert [each.point.text for each in saved.points] == ["use type hints"]


def test_what_was_forgotten_is_known_though_a_copy_of_its_row_is_left(project: Project) -> None:
    """An older page may hold the text: the erasure says that it must not come back."""
    edit.add(project, "the code of the door is 4711", section="oth")
    project.store.tidy()
    row_with_text = _files(project)[0]
    forget.forget(project, forget.Request(name="oth-001"))
    project.store.tidy()
    data = _files(project)[0]
    path = Path(project.store.where)
    data = _without(data, path, "key_points", "changes") + row_with_text

    (saved,) = salvage.read(open_pages(data))

    assert [(each.point.name, each.point.text, each.is_forgotten) for each in saved.points] == [("oth-001", MARK, True)]


def test_what_was_saved_of_the_learning_takes_the_place_of_what_is_older(project: Project) -> None:
    """A row that no table of ours could have is left out."""
    with project.store.write(project.key) as book:
        for path, offset in (("/t/a.jsonl", 10), ("/t/b.jsonl", 20)):
            book.move_cursor(path, offset, session_id="s")
    project.store.tidy()
    (saved,) = salvage.read(open_pages(*_files(project)))
    a, b = saved.beside["transcripts"]

    with project.store.write(project.key) as book:
        a["learned_offset"], b["learned_offset"] = 50, -1
        salvage.put_rest(book, saved, None)

        assert book.cursors() == {"/t/a.jsonl": 50, "/t/b.jsonl": 20}


@pytest.mark.parametrize(
    ("times", "descends"),
    [
        ({}, True),
        ({1: "a", 2: "b"}, True),
        ({1: "a", 2: "b", 3: "c"}, True),
        ({1: "a", 2: "x"}, False),  # the same numbers, another way
        ({1: "a", 2: "b", 3: "c", 4: "d"}, False),  # the file was put back to before that
        ({1: "damaged", 2: "b"}, True),
    ],
)
def test_a_playbook_descends_from_a_backup_whose_last_revision_it_has(times: dict[int, str], descends: bool) -> None:
    """Revisions never change; the header says which of those that are left is the last."""
    header = Header().stamped("c")
    saved = SavedPlaybook(1, ("/a",), header, {1: "a", 2: "b", 3: "c"}, (), (), {}, {}, {})

    assert saved.descends_from(times) == descends


@pytest.mark.parametrize("size", [512, 1024, 4096, 65536])
def test_the_size_of_the_pages_is_the_usual_one_unless_the_header_is_whole(tmp_path: Path, size: int) -> None:
    """A header that contradicts the file's length is damaged."""
    path = tmp_path / "sized.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA page_size = {size}")
        connection.execute("CREATE TABLE t (a TEXT)")
    data = path.read_bytes()

    assert page_size_of(data) == size
    assert page_size_of(_over(data, 16, b"\x20\x00")) == 4096  # another size
    assert page_size_of(_over(data, 0, bytes(100))) == page_size_of(data[:-1]) == page_size_of(b"") == 4096


@settings(max_examples=150)
@given(st.binary(max_size=3000), st.sampled_from([512, 1024]))
def test_no_bytes_make_the_reader_stumble_or_turn_in_circles(data: bytes, size: int) -> None:
    """Whatever stands in the file, it is rows or it is none."""
    pages = Pages(size, data)
    for number in range(1, pages.count + 1):
        list(pages.records(number))
        list(pages.tree(number))
    open_pages(data, data)


@pytest.mark.slow
@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 2**20), st.binary(min_size=1, max_size=40)), max_size=12))
def test_no_damage_to_a_real_file_makes_the_reading_fail(sample: Path, damages: list[tuple[int, bytes]]) -> None:
    """The same for bytes that are nearly right."""
    data = sample.read_bytes()
    for place, new in damages:
        data = _over(data, place % len(data), new)[: 50 * _PAGE]
    salvage.read(open_pages(data))
