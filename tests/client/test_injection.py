"""The playbook goes into a session: at its start, when it is cleared, compacted, resumed, forked; once each."""

import threading
from dataclasses import replace

import pytest

from playbook_db.domain.prompt_text import CLIENT_LIMIT_UNITS, utf16_units
from tests.client.conftest import SUMMARY
from tests.client.harness import World, finish, is_compaction, is_turn, run_print, start_print
from tests.client.ours import TITLE, fill, foreign_hook, injected_sources, log, our_hooks, register, times_told
from tests.client.terminal import interactive
from tests.messages_api import Answer, MessagesApi, Request, Rule, ToolCall

POINT = "say why before how"
LATER = "learnt while the session slept"


def _turns(world: World) -> list[Request]:
    return [request for request in world.api.messages() if is_turn(request)]


@pytest.mark.smoke
def test_a_print_session_is_told_and_told_anew_when_resumed_or_forked(world: World) -> None:
    """`-p`, `-p --continue`, `--fork-session`: the newest playbook is there, not only the one of the first start."""
    register(world)
    fill(world, POINT)
    run = run_print(world, "hello")
    session = world.transcripts()[0].stem
    fill(world, LATER)
    run_print(world, "--continue", "go on")
    run_print(world, "--resume", session, "--fork-session", "another way")

    first, resumed, forked = _turns(world)
    assert (run.code, run.out.strip(), run.err) == (0, "Done.", "")
    assert TITLE in first.said
    assert times_told(first, POINT) == 1
    assert times_told(resumed, LATER) == 1
    assert times_told(forked, LATER) >= 1
    assert injected_sources(world) == ["startup", "resume", "fork"]
    assert log(world) == ""


@pytest.mark.usefixtures("tmux")
@pytest.mark.smoke
def test_an_interactive_session_is_told_again_after_clear_and_compact(world: World) -> None:
    """Whatever empties the context brings the playbook back, exactly once."""
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

    turns = _turns(world)
    assert run.code == 0
    assert [times_told(turn, POINT) for turn in turns] == [1, 1, 1, 1]
    assert "They greeted each other" in turns[2].said  # it is the compacted conversation
    assert "hello" not in turns[3].last_said
    assert injected_sources(world) == ["startup", "compact", "clear"]


def test_two_sessions_of_a_project_at_once_are_each_told_once(world: World) -> None:
    """The first requests of both have come before either is answered, and each goes on with a tool's result."""
    both_are_here = threading.Barrier(2, timeout=300)

    def with_the_other(_: Request) -> Answer:
        both_are_here.wait()
        return Answer(tools=(ToolCall("Bash", {"command": "echo from the tool", "description": "echo"}),))

    with MessagesApi(Rule(with_the_other, said="number (one|two)$", times=2)) as api:
        world = replace(world, api=api)
        register(world)
        fill(world, POINT)
        with start_print(world, "number one") as one, start_print(world, "number two") as two:
            codes = finish(one).code, finish(two).code

    assert codes == (0, 0)
    for session in "number one", "number two":
        turns = [turn for turn in _turns(world) if session in turn.said]
        assert [times_told(turn, POINT) for turn in turns] == [1, 1]
    assert set(injected_sources(world)) == {"startup"}  # a hook doesn't wait where the other is just keeping its record


@pytest.fixture(params=["naïve café ", "漢字かな🙂👩‍👩‍👧‍👦"])
def long_texts(request: pytest.FixtureRequest) -> list[str]:
    """500 long texts in one script."""
    return [f"{number}: {request.param * 12}".strip() for number in range(500)]


def test_a_large_playbook_arrives_whole(world: World, long_texts: list[str]) -> None:
    """What doesn't fit is left out by us, point by point, and said so; the client never cuts."""
    register(world)
    fill(world, *long_texts)

    run_print(world, "hello")

    said = _turns(world)[0].said
    told = said[said.index(TITLE) : said.index("pass over what does not.")]
    assert "<persisted-output>" not in said
    assert "more key points aren't shown here" in told
    assert CLIENT_LIMIT_UNITS * 0.85 < utf16_units(told) <= CLIENT_LIMIT_UNITS
    assert sum(f":: {text}\n" in told for text in long_texts) == told.count("helpful=0")


@pytest.mark.usefixtures("tmux")
def test_a_compaction_is_asked_for_in_the_same_words_with_and_without_us(world: World) -> None:
    """What a hook prints at PreCompact goes into the summary's instructions: ours prints nothing."""
    fill(world, POINT)
    asked = []
    for hooks in {}, our_hooks(), {"PreCompact": foreign_hook("echo heed the hook")}:
        register(world, hooks)
        with MessagesApi(SUMMARY) as api, interactive(replace(world, api=api)) as session:
            session.say("hello")
            session.say("/compact")
        asked += [request.last_said for request in api.messages() if is_compaction(request)]

    without, with_us, with_a_talker = asked
    assert without == with_us
    assert "heed the hook" in with_a_talker


@pytest.mark.smoke
def test_a_session_that_is_told_to_do_without_us_does(world: World) -> None:
    """PLAYBOOK_DISABLE=1: nothing goes in."""
    world = replace(world, variables={"PLAYBOOK_DISABLE": "1"})
    register(world)
    fill(world, POINT)

    run = run_print(world, "hello")

    assert run.code == 0
    assert TITLE not in _turns(world)[0].said
    assert injected_sources(world) == []


@pytest.mark.usefixtures("tmux")
@pytest.mark.smoke
def test_what_was_learned_is_shown_to_the_user_and_once(world: World) -> None:
    """A line on the screen at the start, which the model doesn't see; none after a compaction or at the next start."""
    register(world)
    fill(world, POINT, source="learn")
    line = f'playbook: learned 1 point ("{POINT}"); playbook log'
    with interactive(world) as session:
        session.say("hello")
        begun = session.told
        session.say("/compact")
        session.say("compacted")
        shown = session.screen.count(line)
    with interactive(world) as session:
        session.say("hello")
        again = session.told

    assert begun == line
    assert shown <= 1
    assert again == ""
    assert all("playbook: learned" not in request.said for request in world.api.messages())
