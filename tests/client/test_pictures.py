"""The picture at the top of README.md is what the client shows."""

import pytest

from tests.client.harness import World
from tests.docs import pictures
from tests.docs.consoles import same


@pytest.mark.usefixtures("tmux")
def test_the_picture_of_a_second_session_is_what_the_client_shows(world: World) -> None:
    """What the user said in one session is the line at the start of the next one. Else: make pictures."""
    shown = pictures.text_of(pictures.as_svg(pictures.learned(world), "shop"))

    assert same(shown, pictures.text_of(pictures.LEARNED.read_text(encoding="utf-8")))
