"""The playbook's tools in the real client: by the plugin, and by `claude mcp add`."""

import json
import re
import sys
from dataclasses import replace
from typing import Any

import pytest

from tests.client.harness import Run, World, is_turn, run_command, run_print, tool_results, turns
from tests.client.ours import REPOSITORY, ask_playbook, data_folder, fill, revisions, set_plugin_up
from tests.messages_api import Answer, MessagesApi, Rule, ToolCall

POINT = "Run the narrowest pytest selection first"
OTHER = "Compare columns, never the repr of a row"
TOOLS = {"search", "why", "list", "history", "add", "propose_edit", "propose_retirement", "vote", "undo"}
BY_PLUGIN, BY_COMMAND = "mcp__plugin_playbook_playbook", "mcp__playbook"


@pytest.fixture(params=[BY_PLUGIN, BY_COMMAND])
def server(request: pytest.FixtureRequest, world: World) -> str:
    """What the tools' names begin with: of the plugin that is set up, or of a server that was added."""
    fill(world, POINT, OTHER)
    if request.param == BY_PLUGIN:
        set_plugin_up(world)
    else:
        command = [sys.executable, "-P", "-m", "playbook_db", "mcp"]
        added = run_command(world, "mcp", "add", "playbook", "-e", f"PYTHONPATH={REPOSITORY}", "--", *command)
        assert added.code == 0, added
    return str(request.param)


@pytest.mark.smoke
def test_session_uses_the_tools(world: World, server: str) -> None:
    calls = [
        ("search", {"question": "which pytest selection"}),
        ("vote", {"name": "oth-001", "tag": "helpful", "reason": "it saved a run"}),
        ("vote", {"name": "oth-002", "tag": "harmful"}),
        ("add", {"text": "Use uv, not pip", "section": "PROJECT CONTEXT"}),
        ("undo", {}),
        ("undo", {"what": "2"}),
        ("undo", {"what": "1"}),
    ]
    run, last, results = _session(world, server, calls)
    found, voted, judged, added, withdrawn, undone, not_its = results
    [begun] = [event for event in map(json.loads, run.out.splitlines()) if event.get("subtype") == "init"]
    session = begun["session_id"]

    assert (run.code, run.err) == (0, "")
    assert [each["status"] for each in begun["mcp_servers"]] in (["pending"], ["connected"])
    assert {*re.findall(rf"{server}__(\w+)", last)} == TOOLS
    assert found.startswith(f"[oth-001] helpful=0 harmful=0 :: {POINT}")
    assert "voted helpful on oth-001, in revision 2" in voted
    proposed = "p2" if server == BY_PLUGIN else "p1"
    assert ("proposed as p1" if server == BY_PLUGIN else "neither shown to this session nor cited") in judged
    assert f"proposed as {proposed}" in added
    assert withdrawn == f"withdrew the proposal {proposed}"
    assert undone.startswith("undid revision 2")
    assert "so it can't undo that" in not_its or "has done nothing that could be undone" in not_its
    assert revisions(world)[1:] == [(session, session), (session, None)]
    waiting = json.loads(ask_playbook(world, "review", "--json"))
    assert [each["operation"]["name"] for each in waiting] == ["oth-002"] * (server == BY_PLUGIN)


def test_plugin_has_no_tools_before_its_setup(world: World) -> None:
    fill(world, POINT)
    (data_folder(world) / "runtime.json").write_text('{"state": "working", "step": "installing", "at": 0}')

    run = run_print(world, "--plugin-dir", str(REPOSITORY), "--output-format", "stream-json", "--verbose", "hello")

    [begun] = [event for event in map(json.loads, run.out.splitlines()) if event.get("subtype") == "init"]
    assert (run.code, run.err) == (0, "")
    assert [(each["name"], each["status"]) for each in begun["mcp_servers"]] == [
        ("plugin:playbook:playbook", "connected")
    ]
    assert [tool for tool in begun["tools"] if "playbook" in tool] == []
    assert any("environment is being set up since" in json.dumps(each.body) for each in world.api.messages())


def _session(world: World, server: str, calls: list[tuple[str, dict[str, Any]]]) -> tuple[Run, str, list[str]]:
    """A session in which the model makes these *calls*, one after the other; the last request, and what each gave."""
    settings = json.loads(world.settings_file.read_text())
    settings["permissions"]["allow"].append(server)
    world.settings_file.write_text(json.dumps(settings))
    answers = [Answer(tools=(ToolCall(f"{server}__{name}", given),)) for name, given in calls]
    with MessagesApi(*[Rule(answer, when=is_turn, times=1) for answer in answers]) as api:
        plugin = ["--plugin-dir", str(REPOSITORY)] if server == BY_PLUGIN else []
        run = run_print(replace(world, api=api), *plugin, "--output-format", "stream-json", "--verbose", "hello")
        last = turns(api)[-1]
        return run, json.dumps(last.body), tool_results(last)
