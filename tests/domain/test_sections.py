"""The canonical sections, and how a name finds one of them."""

import ast
import inspect

import pytest

from playbook_db.domain import sections
from playbook_db.domain.sections import SECTION_SLUGS, SLUG_SECTIONS, find_section, is_unknown_section


def test_sections_have_the_documented_order_and_slugs() -> None:
    assert list(SECTION_SLUGS.items()) == [
        ("PATTERNS & APPROACHES", "pat"),
        ("MISTAKES TO AVOID", "mis"),
        ("USER PREFERENCES", "pref"),
        ("PROJECT CONTEXT", "ctx"),
        ("OTHERS", "oth"),
    ]
    assert [sections.SECTION_ORDER[title] for title in SECTION_SLUGS] == [0, 1, 2, 3, 4]
    assert {slug: title for title, slug in SECTION_SLUGS.items()} == SLUG_SECTIONS


@pytest.mark.parametrize("given", ["USER PREFERENCES", "  User preferences\n"])
def test_section_ignores_case_and_space(given: str) -> None:
    assert (find_section(given), is_unknown_section(given)) == ("USER PREFERENCES", False)


@pytest.mark.parametrize(
    ("given", "is_unknown"),
    [(None, False), (" ", False), ("pat", True), (["OTHERS"], True)],
)
def test_unknown_section_is_reported(given: object, is_unknown: bool) -> None:
    """A missing one is not."""
    assert (find_section(given), is_unknown_section(given)) == (None, is_unknown)


def test_sections_import_nothing() -> None:
    """Hooks pay for each import."""
    tree = ast.parse(inspect.getsource(sections))

    assert not [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
