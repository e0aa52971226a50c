"""Whether a large playbook has a text already: the index for full text tells what reading all points tells."""

import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playbook_db.domain.playbook import exact_phrases, normalised
from playbook_db.errors import PointRuleError
from playbook_db.services.playbook import edit
from playbook_db.services.project import Project, read_playbook
from playbook_db.store.engine import open_store
from playbook_db.store.playbook import playbook_rows
from playbook_db.store.playbook.repository import PlaybookRepository
from playbook_db.store.sqlite import full_text
from tests.builders import a_key_point
from tests.tiers import few

TEXTS = (
    "Use the cache of the parser",
    "Die Stra\u00dfe zum Ca\u0301fe hei\u00dft \ufb01xed 17",
    "\u212aeep E4711 and RETRY \u2026",
    "naïve \u017fort: keep it small",
    "改了配置要重启服务 uv",
    "src/api/users.py, --no-cache; parse_header!",
    "???",
)
_SAID_OTHERWISE: dict[str, Callable[[str], str]] = {
    "small": str.lower,
    "large": str.upper,
    "folded": str.casefold,
    "spaced": lambda text: f"  {text.replace(' ', chr(0xA0) + ' ')}\n",
    "ended": lambda text: f"{text}...",
    "as it is": str,
}


@pytest.fixture(autouse=True)
def _few_points_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(playbook_rows, "_FEW_POINTS", -1)


@pytest.fixture
def _nothing_is_read_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise AssertionError("all live points were read")

    monkeypatch.setattr(PlaybookRepository, "live_points", refused)
    monkeypatch.setattr(PlaybookRepository, "playbook", refused)


@pytest.mark.parametrize("said", _SAID_OTHERWISE.values(), ids=_SAID_OTHERWISE)
@pytest.mark.parametrize("text", TEXTS)
def test_a_text_is_found_however_it_is_written(project: Project, text: str, said: Callable[[str], str]) -> None:
    """Up to case, white space and trailing punctuation, and with letters that are two in another spelling."""
    for each in TEXTS:
        edit.add(project, each)
    is_same = normalised(said(text)) == normalised(text)

    with project.store.read(project.key) as book:
        found = book.draft.find_text(said(text))

    assert (found is not None and found.text == text) == is_same


@few
@given(
    text=st.text(st.sampled_from("aßs ﬁiſKkft1É.-\u0301"), max_size=12), other=st.text(st.sampled_from("aßs ﬁiſKkft1."))
)
def test_the_words_that_are_asked_for_are_in_every_same_text(text: str, other: str) -> None:
    """Whatever equals a text has them, too."""
    for said in (*(otherwise(text) for otherwise in _SAID_OTHERWISE.values()), other):
        if normalised(said) == normalised(text):
            assert exact_phrases(said) == exact_phrases(text)


@pytest.mark.usefixtures("_nothing_is_read_whole")
def test_a_large_playbook_is_not_read_for_one_text(project: Project) -> None:
    """To add a point, by itself or in a batch, and to bring one back; what a batch did before counts."""
    for text in ("use ruff 1", "use mypy 2"):
        edit.add(project, text)

    with pytest.raises(PointRuleError, match="already: oth-001"):
        edit.add(project, "Use Ruff 1.")
    result = edit.apply_batch(
        project,
        [
            {"type": "UPDATE", "target_id": "oth-001", "text": "use uv 3"},
            {"type": "ADD", "text": "use ruff 1"},
            {"type": "ADD", "text": "USE RUFF 1"},
            {"type": "ADD", "text": "use uv 3"},
            {"type": "DELETE", "target_id": "oth-002"},
            {"type": "ADD", "text": "use mypy 2"},
        ],
        origin="a test",
    )

    assert [skipped.index for skipped in result.skipped] == [2, 3]
    assert edit.restore(project, "oth-002").revision is not None


@pytest.mark.usefixtures("_nothing_is_read_whole")
def test_a_point_returns_to_its_place_unless_that_is_taken(project: Project) -> None:
    """Without a look at all others."""
    for number in range(3):
        edit.add(project, f"advice {number}")
    edit.retire(project, "oth-002")
    assert edit.restore(project, "oth-002").changes[0].point.position == 2
    edit.retire(project, "oth-002")
    with project.store.write(project.key) as book:
        book.draft.place(replace(book.draft["oth-001"], position=2), kind="move")
        book.commit("edit", "a test")

    assert edit.restore(project, "oth-002").changes[0].point.position == 4


def test_many_changes_at_once_are_compared_in_memory(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of hundreds of notes asks the index only for its first few."""
    asked = []
    monkeypatch.setattr(PlaybookRepository, "points_like", lambda _, text: asked.append(text) or ())

    with project.store.read(project.key) as book:
        for number in range(120):
            text = f"advice {number}"
            book.draft.add(a_key_point(f"oth-{number:03d}", text, section="OTHERS"))
            assert book.draft.find_text(text)
            assert not book.draft.find_text(f"{text} of another kind")

    assert len(asked) < 120


@pytest.mark.sqlite
def test_an_index_that_is_behind_is_not_asked(project: Project) -> None:
    """What it doesn't know yet is found all the same."""
    edit.add(project, "use ruff 1")
    with closing(sqlite3.connect(project.store.where)) as connection:
        connection.execute("UPDATE key_points SET text = 'use uv 2'")
        connection.commit()

    with pytest.raises(PointRuleError, match="already: oth-001"):
        edit.add(project, "use uv 2")


@pytest.mark.sqlite
def test_a_damaged_page_of_the_index_stops_no_write(tmp_path: Path) -> None:
    """Wherever it is: the points are read instead, and what is said already isn't added."""
    path = tmp_path / "large.db"
    with open_store(f"sqlite:///{path}") as store:
        project = Project(store, "/work/harbour")
        for first in range(0, 400, 10):
            texts = [f"advice {number} of many" for number in range(first, first + 10)]
            edit.apply_batch(project, [{"type": "ADD", "text": text} for text in texts], origin="a test")
        store.tidy()
    with closing(sqlite3.connect(path)) as connection:
        pages = connection.execute(f"SELECT pageno FROM dbstat WHERE name IN {full_text.OF_FTS5}").fetchall()
        (size,) = connection.execute("PRAGMA page_size").fetchone()
    content = path.read_bytes()
    for (page,) in pages:
        damaged = bytearray(content)
        damaged[(page - 1) * size : page * size] = random.Random(page).randbytes(size)
        path.write_bytes(damaged)
        with open_store(f"sqlite:///{path}") as store:
            project = Project(store, "/work/harbour")
            with pytest.raises(PointRuleError, match="already: oth-007"):
                edit.add(project, "Advice 6 of many")
            edit.add(project, "advice of another kind")
            assert len(read_playbook(project).points) == 401, page
