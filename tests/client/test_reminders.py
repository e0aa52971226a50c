"""Points that fit a prompt, an error or a subagent reach the model once, at once.

With the oldest supported client and the newest tried one, registered in the settings and by the plugin.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from tests.client.conftest import installed
from tests.client.harness import World, is_of_subagent, is_turn, run_print, turns
from tests.client.install import OLDEST, VERSION, Client
from tests.client.ours import REPOSITORY, fill, foreign_hook, log, our_hooks, register, shown_events, times_shown
from tests.messages_api import Answer, MessagesApi, Request, Rule, ToolCall

OF_PROMPT = "In billing/invoice.py amounts are Decimal, never float: rounding differs otherwise"
OF_ERROR = "When tools/reindex.sh ends with E4711, its lock is left over: remove var/reindex.lock first"
BEST = "Say why before how"
FILLERS = [
    f"Number {number}: the kettle in the kitchen wants descaling with vinegar {'and patience ' * 5}"
    for number in range(90)
]
PROMPT = "The rounding in billing/invoice.py is wrong for some amounts"
FAILS = ToolCall("Bash", {"command": "echo 'tools/reindex.sh: E4711' >&2; exit 1", "description": "Rebuild the index"})


def _agent(kind: str) -> ToolCall:
    return ToolCall("Agent", {"description": "look", "prompt": f"work as {kind}", "subagent_type": kind})


SCRIPT = (
    Rule(Answer(tools=(FAILS,)), said="rounding", times=1),
    Rule(Answer(tools=(_agent("general-purpose"),)), said="E4711", times=1),
)


@pytest.fixture(params=[OLDEST, VERSION])
def client(request: pytest.FixtureRequest) -> Client:
    """Both clients, one after the other."""
    return installed(request.param)


@pytest.fixture(params=[(), ("--plugin-dir", str(REPOSITORY))], ids=["settings", "plugin"])
def arguments(request: pytest.FixtureRequest) -> tuple[str, ...]:
    """Options that bring the hooks; without options, `begin` registers them."""
    chosen: tuple[str, ...] = request.param
    return chosen


def begin(world: World, arguments: tuple[str, ...], **settings: Any) -> None:
    """A playbook that a session's start shows only the end of, the hooks, and *settings* of the user's."""
    fill(world, OF_PROMPT, OF_ERROR)
    fill(world, *FILLERS)
    fill(world, BEST)
    if not arguments:
        register(world)
    chosen = json.loads(world.settings_file.read_text())
    world.settings_file.write_text(json.dumps({**chosen, **settings}))


def _scripted(world: World, *arguments: str, rules: Sequence[Rule] = SCRIPT) -> tuple[list[Request], list[Request]]:
    """What the session and its subagent ask while a prompt, an error and a subagent come; nobody says a word beside."""
    with MessagesApi(*rules) as api:
        run = run_print(replace(world, api=api), *arguments, PROMPT)
    assert (run.code, run.err) == (0, "")
    asked = api.messages()
    return [each for each in asked if is_turn(each)], [each for each in asked if is_of_subagent(each)]


def test_model_sees_points_that_fit_a_prompt(world: World, arguments: tuple[str, ...]) -> None:
    begin(world, arguments)
    run = run_print(world, *arguments, PROMPT)
    run_print(world, *arguments, "Good morning to you")

    fitting, other = world.api.messages()
    assert (run.code, run.out.strip(), run.err, log(world)) == (0, "Done.", "", "")
    assert (times_shown(fitting, OF_PROMPT), times_shown(fitting, OF_ERROR)) == (1, 0)
    assert times_shown(fitting, BEST) == 1  # by the start
    assert times_shown(other, OF_PROMPT) == 0
    assert shown_events(world) == ["SessionStart", "UserPromptSubmit", "SessionStart"]


@pytest.mark.smoke
def test_model_sees_points_that_fit_an_error(world: World, arguments: tuple[str, ...]) -> None:
    begin(world, arguments)
    (before, after), _ = _scripted(world, *arguments, rules=[Rule(Answer(tools=(FAILS,)), said="rounding", times=1)])
    assert [times_shown(each, OF_ERROR) for each in (before, after)] == [0, 1]
    assert [times_shown(each, OF_PROMPT) for each in (before, after)] == [1, 1]
    assert shown_events(world) == ["SessionStart", "UserPromptSubmit", "PostToolUseFailure"]
    assert log(world) == ""


@pytest.mark.parametrize(("kind", "has_points"), [("general-purpose", True), ("Explore", False)])
def test_working_subagents_see_points(world: World, arguments: tuple[str, ...], kind: str, has_points: bool) -> None:
    begin(world, arguments)
    turns, (first, *_) = _scripted(
        world, *arguments, rules=[Rule(Answer(tools=(_agent(kind),)), said="rounding", times=1)]
    )

    assert f"work as {kind}" in first.said
    assert times_shown(first, BEST) == int(has_points)
    assert {times_shown(turn, BEST) for turn in turns} == {1}  # by the start
    assert shown_events(world) == ["SessionStart", "UserPromptSubmit", *["SubagentStart"] * has_points]
    assert log(world) == ""


def test_model_sees_each_point_once(world: World, arguments: tuple[str, ...]) -> None:
    begin(world, arguments)
    _scripted(world, *arguments)
    again, _ = _scripted(world, "--continue", *arguments)
    with MessagesApi() as api:
        run_print(replace(world, api=api), "--continue", *arguments, "Why does tools/reindex.sh end with E4711?")

    last = turns(api)[-1]
    assert "E4711?" in last.said
    for each in again[-1], last:
        assert (times_shown(each, OF_PROMPT), times_shown(each, OF_ERROR)) == (1, 1)
    assert [shown_events(world).count(event) for event in ("UserPromptSubmit", "PostToolUseFailure")] == [1, 1]


def test_client_ignores_unknown_events(world: World) -> None:
    """The oldest client is silent, the newest names it on stderr."""
    begin(world, ("registered below",))
    register(world, {**our_hooks(), "SomethingLater": foreign_hook("echo never; exit 2")})
    run = run_print(world, PROMPT)

    (asked,) = world.api.messages()
    assert (run.code, run.out.strip(), times_shown(asked, OF_PROMPT)) == (0, "Done.", 1)
    named = re.findall(r'hook event "(\w+)"', run.err)
    assert (named, bool(run.err)) == (([], False) if world.client.version == OLDEST else (["SomethingLater"], True))
