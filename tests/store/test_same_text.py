"""Whether a playbook already has a text."""

from collections.abc import Callable

import pytest

from playbook_db.domain.playbook import normalised
from playbook_db.errors import PointRuleError
from playbook_db.services.playbook import edit
from playbook_db.services.project import Project

pytestmark = pytest.mark.postgres

TEXTS = (
    "Die Stra\u00dfe zum Ca\u0301fe hei\u00dft \ufb01xed 17",
    "\u212aeep E4711 and RETRY \u2026",
    "改了配置要重启服务 uv",
    "src/api/users.py, --no-cache; parse_header!",
    "???",
)
_SPELLINGS: dict[str, Callable[[str], str]] = {
    "upper": str.upper,
    "folded": str.casefold,
    "spaced": lambda text: f"  {text.replace(' ', chr(0xA0) + ' ')}\n",
    "with dots": lambda text: f"{text}...",
}


@pytest.mark.parametrize("spelled", _SPELLINGS.values(), ids=_SPELLINGS)
@pytest.mark.parametrize("text", TEXTS)
def test_text_is_found_in_any_spelling(project: Project, text: str, spelled: Callable[[str], str]) -> None:
    """Case, white space and final punctuation don't matter."""
    for each in TEXTS:
        edit.add(project, each)
    is_same = normalised(spelled(text)) == normalised(text)

    with project.store.read(project.key) as book:
        found = book.draft.find_text(spelled(text))

    assert (found is not None and found.text == text) == is_same


@pytest.mark.sqlite
def test_batch_sees_its_own_changes(project: Project) -> None:
    """A text that the batch removed can be used again."""
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
