"""Points that fit a file reach the model after its first call on the file.

With the oldest supported client and the newest tried one, registered in the settings and by the plugin.
"""

from dataclasses import replace

import pytest

from tests.client.harness import World, is_of_subagent, is_turn, run_print
from tests.client.ours import PYTHON, log, our_hooks, register, shown_events, times_shown
from tests.client.test_reminders import OF_PROMPT, PROMPT, arguments, begin, client
from tests.messages_api import Answer, MessagesApi, Rule, ToolCall

__all__ = ["arguments", "client"]  # fixtures


@pytest.mark.smoke
def test_model_sees_points_before_it_edits(world: World, arguments: tuple[str, ...]) -> None:
    begin(world, arguments, permissions={"defaultMode": "acceptEdits", "allow": ["Read", "Edit"]})
    file = world.project / "billing" / "invoice.py"
    file.parent.mkdir()
    file.write_text("total = 0.1\n")
    read = ToolCall("Read", {"file_path": str(file)})
    edit = ToolCall("Edit", {"file_path": str(file), "old_string": "0.1", "new_string": "0.2"})
    rules = [
        Rule(Answer(tools=(read,)), said="please", times=1),
        Rule(Answer(tools=(edit,)), said="total = 0.1", times=1),
    ]
    with MessagesApi(*rules) as api:
        run = run_print(replace(world, api=api), *arguments, "please go on")
    before, after_read, after_edit = [each for each in api.messages() if is_turn(each)]

    assert (run.code, run.err, log(world)) == (0, "", "")
    assert file.read_text() == "total = 0.2\n"
    assert [times_shown(each, OF_PROMPT) for each in (before, after_read, after_edit)] == [0, 1, 1]
    assert shown_events(world) == ["SessionStart", "UserPromptSubmit"]


def test_later_calls_start_no_python(world: World) -> None:
    begin(world, ("registered below",))
    starts = world.home / "starts"
    python = world.home / "python3"
    python.write_text(f"#!/bin/sh\necho >> '{starts}'\nexec '{PYTHON}' \"$@\"\n")
    python.chmod(0o755)
    register(world, {"PreToolUse": our_hooks(python=str(python))["PreToolUse"]})
    (world.project / "a b.py").write_text("total = 0.1\n")
    read = ToolCall("Read", {"file_path": str(world.project / "a b.py")})
    with MessagesApi(Rule(Answer(tools=(read, read)), times=3)) as api:
        run = run_print(replace(world, api=api), "please go on")

    assert (run.code, run.err, log(world)) == (0, "", "")
    assert len([each for each in api.messages() if is_turn(each)]) == 4
    assert len(starts.read_text().splitlines()) <= 2  # the first two ran at once


def test_subagent_sees_points_that_fit_its_task(world: World, arguments: tuple[str, ...]) -> None:
    begin(world, arguments)
    task = {"description": "d", "prompt": PROMPT, "subagent_type": "general-purpose"}
    with MessagesApi(Rule(Answer(tools=(ToolCall("Agent", task),)), said="please", when=is_turn, times=1)) as api:
        run = run_print(replace(world, api=api), *arguments, "please go on")
    first = next(each for each in api.messages() if is_of_subagent(each))

    assert (run.code, run.err, log(world)) == (0, "", "")
    assert PROMPT in first.said
    assert times_shown(first, OF_PROMPT) == 1
    assert {times_shown(each, OF_PROMPT) for each in api.messages() if is_turn(each)} == {0}
    assert sorted(shown_events(world)) == ["SessionStart", "SubagentStart", "SubagentStart"]
