"""The playbook reaches a session that starts, is cleared, compacted, resumed or forked."""

from dataclasses import replace

import pytest

from playbook_db.domain.prompt_text import CLIENT_LIMIT_UNITS, utf16_units
from tests.client.harness import World, run_print, turns
from tests.client.ours import TITLE, fill, injected_sources, log, register, times_shown
from tests.client.terminal import interactive

POINT = "say why before how"
LATER = "learned while the session slept"


@pytest.mark.smoke
def test_resumed_session_gets_the_newest_playbook(world: World) -> None:
    register(world)
    fill(world, POINT)
    run = run_print(world, "hello")
    session = world.transcripts()[0].stem
    fill(world, LATER)
    run_print(world, "--continue", "go on")
    run_print(world, "--resume", session, "--fork-session", "another way")

    first, resumed, forked = turns(world.api)
    assert (run.code, run.out.strip(), run.err) == (0, "Done.", "")
    assert TITLE in first.said
    assert times_shown(first, POINT) == 1
    assert times_shown(resumed, LATER) == 1
    assert times_shown(forked, LATER) >= 1
    assert injected_sources(world) == ["startup", "resume", "fork"]
    assert log(world) == ""


@pytest.mark.usefixtures("tmux")
@pytest.mark.smoke
def test_cleared_session_gets_the_playbook_again(world: World) -> None:
    register(world)
    fill(world, POINT)
    with interactive(world) as session:
        session.say("hello")
        session.say("again")
        session.say("/compact")
        session.say("compacted")
        session.say("/clear")
        session.say("cleared")
        run = session.exit()

    asked = turns(world.api)
    assert run.code == 0
    assert [times_shown(turn, POINT) for turn in asked] == [1, 1, 1, 1]
    assert "They greeted each other" in asked[2].said  # it is the compacted conversation
    assert "hello" not in asked[3].last_said
    assert injected_sources(world) == ["startup", "compact", "clear"]


@pytest.mark.parametrize("words", ["naïve café ", "漢字かな🙂👩‍👩‍👧‍👦"])
def test_client_cuts_no_large_playbook(world: World, words: str) -> None:
    texts = [f"{number}: {words * 12}".strip() for number in range(500)]
    register(world)
    fill(world, *texts)

    run_print(world, "hello")

    said = turns(world.api)[0].said
    shown = said[said.index(TITLE) : said.index("skip the others.")]
    assert "<persisted-output>" not in said
    assert "more key points aren't shown here" in shown
    assert CLIENT_LIMIT_UNITS * 0.85 < utf16_units(shown) <= CLIENT_LIMIT_UNITS
    assert sum(f":: {text}\n" in shown for text in texts) == shown.count("helpful=0")


@pytest.mark.smoke
def test_variable_disables_the_playbook(world: World) -> None:
    world = replace(world, variables={"PLAYBOOK_DISABLE": "1"})
    register(world)
    fill(world, POINT)

    run = run_print(world, "hello")

    assert run.code == 0
    assert TITLE not in turns(world.api)[0].said
    assert injected_sources(world) == []


@pytest.mark.usefixtures("tmux")
@pytest.mark.smoke
def test_lessons_are_shown_once_on_the_screen(world: World) -> None:
    register(world)
    fill(world, POINT, source="learn")
    line = f'playbook: learned 1 point ("{POINT}"); to see them: playbook log'
    with interactive(world) as session:
        session.say("hello")
        begun = session.first_line
        session.say("/compact")
        session.say("compacted")
        shown = session.screen.count(line)
    with interactive(world) as session:
        session.say("hello")
        again = session.first_line

    assert begun == line
    assert shown <= 1
    assert again == ""
    assert all("playbook: learned" not in request.said for request in world.api.messages())
