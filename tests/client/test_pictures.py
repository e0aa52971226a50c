"""The picture at the top of README.md is what the client shows."""

import pytest

from tests.client.harness import World
from tests.docs import pictures
from tests.docs.consoles import same


@pytest.mark.usefixtures("tmux")
def test_picture_shows_what_the_client_shows(world: World) -> None:
    """If not, run `make pictures`."""
    shown = pictures.text_of(pictures.as_svg(pictures.learned(world), "shop"))
    assert same(shown, pictures.text_of(pictures.LEARNED.read_text(encoding="utf-8")))
