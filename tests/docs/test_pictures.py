"""The pictures of the documentation show what there is, and bring nothing from elsewhere."""

import re

import pytest

from tests.docs import pictures
from tests.docs.consoles import ROOT


@pytest.mark.nightly
@pytest.mark.slow
def test_the_recorded_terminal_shows_what_the_commands_print() -> None:
    """Typed again in a home of their own, they give the words that stand in the picture. Else: make pictures."""
    with pictures.short_folder() as root, pictures.hafen(root / "terminal") as (folder, env):
        shown = pictures.as_svg(pictures.recorded(folder, env), "hafen")

    assert pictures.text_of(pictures.TERMINAL.read_text(encoding="utf-8")) == pictures.text_of(shown)


def test_the_recorded_terminal_fetches_nothing() -> None:
    """No font, style or script from another place."""
    drawn = pictures.TERMINAL.read_text(encoding="utf-8")

    assert not re.search(r"@import|@font-face|url\((?!#)|href=|<script|<image", drawn)


def test_the_readme_shows_pictures_that_are_there() -> None:
    """Each with words for who can't see it; and each picture is shown somewhere."""
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    texts = {page: page.read_text(encoding="utf-8") for page in pages}
    shown = {
        (page.parent / target).resolve()
        for page, text in texts.items()
        for target in re.findall(r'(?:src|srcset)="([^":]+)"|!\[[^\]]+\]\(([^):]+)\)', text)
        for target in target
        if target
    }

    assert shown == set(pictures.PICTURES.iterdir())
    assert all('alt="' in tag for text in texts.values() for tag in re.findall(r"<img [^>]*>", text))
