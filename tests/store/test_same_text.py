"""Whether a playbook has a text already: only the texts are read for it."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from playbook_db.domain.playbook import normalised
from playbook_db.errors import PointRuleError
from playbook_db.services.playbook import edit
from playbook_db.services.project import Project
from playbook_db.store.playbook.repository import PlaybookRepository

pytestmark = pytest.mark.postgres

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


def test_a_text_is_compared_with_what_a_batch_did_before(project: Project) -> None:
    """A text that the batch took away is free again."""
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
