"""The playbook's tools in a session of the real client: by the plugin, and by `claude mcp add`."""

import json
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.client.harness import Run, World, is_turn, run_command, run_print, turns
from tests.client.ours import REPOSITORY, ask_playbook, data_folder, fill, revisions, set_plugin_up
from tests.messages_api import Answer, MessagesApi, Request, Rule, ToolCall

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
def test_a_session_searches_adds_votes_and_undoes(world: World, server: str) -> None:
    """It is told of all tools; what it adds waits for the user, its vote counts and is undone.

    The plugin's hooks have shown it both points, so that it may judge the other, too: without evidence, that waits.
    """
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


def test_a_session_that_writes_nothing_loads_no_library(world: World, tmp_path: Path) -> None:
    """Each session of a plugin's user starts the server, used or not: reading loads no library."""
    fill(world, POINT)
    record = tmp_path / "imported"  # the client kills its servers, so each import is written down at once
    script = tmp_path / "server.py"
    script.write_text(
        "import sys\n"
        "class Recorder:\n"
        "    def find_spec(name, path=None, target=None):\n"
        f"        open({str(record)!r}, 'a').write(name + '\\n')\n"
        "sys.meta_path.insert(0, Recorder)\n"
        "sys.argv = ['playbook', 'mcp']\n"
        "from playbook_db.__main__ import run\n"
        "run()\n"
    )
    added = run_command(
        world, "mcp", "add", "playbook", "-e", f"PYTHONPATH={REPOSITORY}", "--", sys.executable, "-P", str(script)
    )
    assert added.code == 0, added

    _, last, [found] = _session(world, BY_COMMAND, [("search", {"question": "which pytest selection"})])

    assert f"{BY_COMMAND}__search" in last
    assert POINT in found
    imported = {*record.read_text().split()}
    assert "playbook_db.mcp_server.tools" in imported
    assert imported.isdisjoint({"mcp", "sqlalchemy", "click", "pydantic"})


def test_until_the_plugin_is_set_up_there_are_no_tools_and_no_error(world: World) -> None:
    """The client is connected; the model is told what is missing."""
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
        return run, json.dumps(last.body), _results(last)


def _results(request: Request) -> list[str]:
    """What the tools answered, in the order of the calls."""
    results = []
    for message in request.body["messages"]:
        for block in message["content"] if isinstance(message["content"], list) else ():
            if block.get("type") == "tool_result":
                given = block["content"]
                results.append(given if isinstance(given, str) else "".join(each.get("text", "") for each in given))
    return results
