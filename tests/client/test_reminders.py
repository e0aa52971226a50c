"""What fits a prompt, an error and a subagent reaches the model: at once, once, and nothing else of a session changes.

With the oldest client that we promise and the newest that we tried, registered in the settings and by the plugin.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from playbook_db.claude_code import registration
from tests.client.conftest import installed
from tests.client.harness import World, is_of_subagent, is_turn, run_print, turns
from tests.client.install import OLDEST, VERSION, Client
from tests.client.ours import REPOSITORY, fill, foreign_hook, log, our_hooks, register, shown_events, times_told
from tests.messages_api import Answer, MessagesApi, Request, Rule, ToolCall

OF_PROMPT = "In billing/invoice.py amounts are Decimal, never float: rounding differs otherwise"
OF_ERROR = "When tools/reindex.sh ends with E4711, its lock is left over: remove var/reindex.lock first"
BEST = "Say why before how"
FILLERS = [
    f"Number {number}: the kettle in the kitchen wants descaling with vinegar {'and patience ' * 5}"
    for number in range(90)
]
PROMPT = "The rounding in billing/invoice.py is wrong for some amounts"
ALL_OFF = {"playbook_on_prompt": False, "playbook_on_error": False, "playbook_subagents": []}
FAILS = ToolCall(
    "Bash", {"command": "echo 'tools/reindex.sh: E4711' >&2; exit 1", "description": "Make the index anew"}
)
_CHANGING = (
    (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "UUID"),
    (r"\ba[0-9a-f]{16}\b", "AGENT"),
    (r"(duration_ms\W+)\d+", r"\1N"),
    (r"toolu_\d+|msg_\d+", "ID"),
    (r"cch=\w+", "cch"),
)


def _agent(kind: str) -> ToolCall:
    return ToolCall("Agent", {"description": "look", "prompt": f"work as {kind}", "subagent_type": kind})


SCRIPT = (
    Rule(Answer(tools=(FAILS,)), said="rounding", times=1),
    Rule(Answer(tools=(_agent("general-purpose"),)), said="E4711", times=1),
)


@pytest.fixture(params=[OLDEST, VERSION])
def client(request: pytest.FixtureRequest) -> Client:
    """In the place of the one client of all other tests: each of two."""
    return installed(request.param)


@pytest.fixture(params=[(), ("--plugin-dir", str(REPOSITORY))], ids=["settings", "plugin"])
def arguments(request: pytest.FixtureRequest) -> tuple[str, ...]:
    """How the client is started so that it has our hooks; `begin` registers them where nothing is in it."""
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


def test_what_fits_a_prompt_reaches_the_model_in_its_turn(world: World, arguments: tuple[str, ...]) -> None:
    """In the request that the prompt makes; a prompt that nothing fits brings nothing."""
    begin(world, arguments)
    run = run_print(world, *arguments, PROMPT)
    run_print(world, *arguments, "Good morning to you")

    fitting, other = world.api.messages()
    assert (run.code, run.out.strip(), run.err, log(world)) == (0, "Done.", "", "")
    assert (times_told(fitting, OF_PROMPT), times_told(fitting, OF_ERROR)) == (1, 0)
    assert times_told(fitting, BEST) == 1  # by the start
    assert times_told(other, OF_PROMPT) == 0
    assert shown_events(world) == ["SessionStart", "UserPromptSubmit", "SessionStart"]


@pytest.mark.smoke
def test_what_fits_an_error_reaches_the_model_with_the_tool_s_result(world: World, arguments: tuple[str, ...]) -> None:
    """In the next request after the call that failed, and not before."""
    begin(world, arguments)
    (before, after), _ = _scripted(world, *arguments, rules=[Rule(Answer(tools=(FAILS,)), said="rounding", times=1)])

    assert [times_told(each, OF_ERROR) for each in (before, after)] == [0, 1]
    assert [times_told(each, OF_PROMPT) for each in (before, after)] == [1, 1]
    assert shown_events(world) == ["SessionStart", "UserPromptSubmit", "PostToolUseFailure"]
    assert log(world) == ""


@pytest.mark.parametrize(("kind", "is_told"), [("general-purpose", True), ("Explore", False)])
def test_a_subagent_that_works_is_told_and_one_that_looks_is_not(
    world: World, arguments: tuple[str, ...], kind: str, is_told: bool
) -> None:
    """In its first request; what the client then tells the session of its end brings nothing more."""
    begin(world, arguments)
    turns, (first, *_) = _scripted(
        world, *arguments, rules=[Rule(Answer(tools=(_agent(kind),)), said="rounding", times=1)]
    )

    assert f"work as {kind}" in first.said
    assert times_told(first, BEST) == int(is_told)
    assert {times_told(turn, BEST) for turn in turns} == {1}  # by the start
    assert shown_events(world) == ["SessionStart", "UserPromptSubmit", *["SubagentStart"] * is_told]
    assert log(world) == ""


def test_what_fits_a_subagent_s_error_reaches_the_subagent_alone(world: World, arguments: tuple[str, ...]) -> None:
    """With the result of its own call."""
    begin(world, arguments)
    rules = [
        Rule(Answer(tools=(_agent("general-purpose"),)), said="rounding", times=1),
        Rule(Answer(tools=(FAILS,)), said="work as general-purpose", times=1),
    ]
    turns, (first, second) = _scripted(world, *arguments, rules=rules)

    assert [times_told(each, OF_ERROR) for each in (first, second)] == [0, 1]
    assert {times_told(turn, OF_ERROR) for turn in turns} == {0}
    assert log(world) == ""


def test_nothing_is_told_twice_in_a_session(world: World, arguments: tuple[str, ...]) -> None:
    """The same prompt and the same error again, and a prompt that asks for what an error has brought."""
    begin(world, arguments)
    _scripted(world, *arguments)
    again, _ = _scripted(world, "--continue", *arguments)
    with MessagesApi() as api:
        run_print(replace(world, api=api), "--continue", *arguments, "Why does tools/reindex.sh end with E4711?")

    last = turns(api)[-1]
    assert "E4711?" in last.said
    for each in again[-1], last:
        assert (times_told(each, OF_PROMPT), times_told(each, OF_ERROR)) == (1, 1)
    assert [shown_events(world).count(event) for event in ("UserPromptSubmit", "PostToolUseFailure")] == [1, 1]


def test_a_session_with_all_of_it_differs_in_nothing_else(world: World, arguments: tuple[str, ...]) -> None:
    """Request by request, but for the blocks that say what the hooks said; without: the hooks of the version before,
    or in a plugin, which brings them all, each switched off."""
    begin(world, arguments)
    with_it = _comparable(world, _scripted(world, *arguments))
    if arguments:
        world.settings_file.write_text(json.dumps({**json.loads(world.settings_file.read_text()), **ALL_OFF}))
    else:
        before = ("SessionStart", "PreCompact", "SubagentStop", "SessionEnd")
        register(world, {event: hooks for event, hooks in our_hooks().items() if event in before})
    without = _comparable(world, _scripted(world, *arguments))

    assert shown_events(world) == [
        "SessionStart", "UserPromptSubmit", "PostToolUseFailure", "SubagentStart", "SessionStart",
    ]  # fmt: skip
    assert len(with_it) >= 4
    assert with_it == without


@pytest.mark.parametrize(
    ("name", "value", "event"),
    [
        ("playbook_on_prompt", False, "UserPromptSubmit"),
        ("playbook_on_error", False, "PostToolUseFailure"),
        ("playbook_subagents", [], "SubagentStart"),
        ("playbook_subagents", ["Explore"], "SubagentStart"),
    ],
)
def test_each_is_off_by_its_setting(
    world: World, arguments: tuple[str, ...], name: str, value: object, event: str
) -> None:
    """And only that one."""
    begin(world, arguments, **{name: value})
    turns, (first, *_) = _scripted(world, *arguments)

    others = [other for other, (hook, _) in registration.EVENTS.items() if hook == "remind" and other != event]
    assert shown_events(world) == ["SessionStart", *others]
    assert times_told(turns[-1], OF_PROMPT) == int(name != "playbook_on_prompt")
    assert times_told(turns[-1], OF_ERROR) == int(name != "playbook_on_error")
    assert times_told(first, BEST) == int(name != "playbook_subagents")


def test_a_slash_command_brings_nothing(world: World, arguments: tuple[str, ...]) -> None:
    """Not even where its words fit; what the user then says does."""
    begin(world, arguments)
    commands = world.project / ".claude" / "commands"
    commands.mkdir(parents=True)
    (commands / "mend.md").write_text("Mend $ARGUMENTS")
    run_print(world, *arguments, "/mend the rounding of amounts in billing/invoice.py")
    run_print(world, "--continue", *arguments, PROMPT)

    command, prompt = world.api.messages()
    assert "Mend the rounding of amounts" in command.said
    assert [times_told(each, OF_PROMPT) for each in (command, prompt)] == [0, 1]


def test_a_client_that_does_not_know_an_event_goes_on_with_the_others(world: World) -> None:
    """As an older one would with ours: the oldest passes over it in silence, the newest names it on stderr."""
    begin(world, ("registered below",))
    register(world, {**our_hooks(), "SomethingLater": foreign_hook("echo never; exit 2")})
    run = run_print(world, PROMPT)

    (asked,) = world.api.messages()
    assert (run.code, run.out.strip(), times_told(asked, OF_PROMPT)) == (0, "Done.", 1)
    named = re.findall(r'hook event "(\w+)"', run.err)
    assert (named, bool(run.err)) == (([], False) if world.client.version == OLDEST else (["SomethingLater"], True))


def _comparable(world: World, asked: tuple[list[Request], list[Request]]) -> list[Any]:
    """The requests without what differs between any two sessions, and without what hooks of ours said to a prompt, an
    error and a subagent; as the client keeps that in its transcripts."""
    told = []
    for path in (world.home / ".claude" / "projects").rglob("*.jsonl"):
        kept = [json.loads(line).get("attachment") or {} for line in path.read_text().splitlines()]
        told += [each for each in kept if each.get("type") == "hook_additional_context"]
    blocks = [
        f"{each['hookName']} hook additional context: {text}"
        for each in told for text in each["content"] if each["hookEvent"] != "SessionStart"
    ]  # fmt: skip
    made = []
    for request in (request for requests in asked for request in requests):
        messages = [(message["role"], _plain(message["content"], blocks)) for message in request.body["messages"]]
        rest = {name: value for name, value in request.body.items() if name != "messages"}
        made.append((_plain(rest, blocks), [message for message in messages if message[1] not in ("", [])]))
    return made


def _plain(value: Any, blocks: list[str]) -> Any:
    """*value* without the *blocks*, without what is in no two sessions the same, and without where a cache ends: that
    is at the last block there is."""
    if isinstance(value, dict):
        return {name: _plain(each, blocks) for name, each in value.items() if name != "cache_control"}
    if isinstance(value, list):
        plain = [_plain(each, blocks) for each in value]
        plain = [each for each in plain if each != {"type": "text", "text": ""}]
        is_one_text = len(plain) == 1 and isinstance(plain[0], dict) and plain[0].get("type") == "text"
        return plain[0]["text"] if is_one_text else plain
    if isinstance(value, str):
        for block in blocks:
            for around in (f"<system-reminder>\n{block}\n</system-reminder>", f"\n\n{block}", f"{block}\n\n", block):
                value = value.replace(around, "")
        for pattern, same in _CHANGING:
            value = re.sub(pattern, same, value)
    return value
