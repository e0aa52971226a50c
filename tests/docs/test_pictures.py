"""The pictures of the documentation are current, and fetch nothing."""

import re

import pytest

from tests.docs import pictures
from tests.docs.consoles import ROOT


@pytest.mark.nightly
@pytest.mark.slow
def test_terminal_picture_shows_the_output() -> None:
    """If it doesn't, run `make pictures`."""
    with pictures.short_folder() as root, pictures.hafen(root / "terminal") as (folder, env):
        shown = pictures.as_svg(pictures.recorded(folder, env), "hafen")

    assert pictures.text_of(pictures.TERMINAL.read_text(encoding="utf-8")) == pictures.text_of(shown)


def test_terminal_picture_fetches_nothing() -> None:
    drawn = pictures.TERMINAL.read_text(encoding="utf-8")

    assert not re.search(r"@import|@font-face|url\((?!#)|href=|<script|<image", drawn)


def test_pictures_exist_and_are_used() -> None:
    """Each has a text for people who can't see it."""
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
