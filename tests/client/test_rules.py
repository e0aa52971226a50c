"""A rule of `playbook export --rules` reaches the model when it reads the file, in a subagent, too."""

import sqlite3
from contextlib import closing
from dataclasses import replace

from tests.client.harness import World, is_of_subagent, is_turn, run_print
from tests.client.ours import ask_playbook, data_folder, fill, log, register
from tests.messages_api import Answer, MessagesApi, Request, Rule, ToolCall

TEXT = "In billing/invoice.py amounts are Decimal, never float"
LINE = f"- [oth-001] {TEXT}"


def _ask(world: World) -> list[Request]:
    """Let a session read the file, then its subagent, and return all that the API was asked."""
    read = ToolCall("Read", {"file_path": str(world.project / "billing" / "invoice.py")})
    task = ToolCall("Agent", {"description": "d", "prompt": "look again", "subagent_type": "general-purpose"})
    rules = [
        Rule(Answer(tools=(read,)), said="please", when=is_turn, times=1),
        Rule(Answer(tools=(task,)), said="total = 0.1", when=is_turn, times=1),
        Rule(Answer(tools=(read,)), said="look again", when=is_of_subagent, times=1),
    ]
    with MessagesApi(*rules) as api:
        run = run_print(replace(world, api=api), "please go on")
        assert (run.code, run.err, log(world)) == (0, "", "")
        return api.messages()


def test_rule_comes_with_its_file(world: World) -> None:
    """The hooks don't show its point, neither at the start nor with the file."""
    fill(world, TEXT)
    with closing(sqlite3.connect(data_folder(world) / "playbook.db")) as connection, connection:
        connection.execute("UPDATE key_points SET helpful = 5")
    register(world)
    file = world.project / "billing" / "invoice.py"
    file.parent.mkdir()
    file.write_text("total = 0.1\n")
    ask_playbook(world, "export", "--rules", "--yes")
    (world.project / "AGENTS.md").unlink()  # the client reads it if there is no CLAUDE.md
    asked = _ask(world)
    turns = [each for each in asked if is_turn(each)]
    of_subagent = [each for each in asked if is_of_subagent(each)]

    assert [LINE in each.said for each in turns[:2]] == [False, True]
    assert [LINE in each.said for each in of_subagent[:2]] == [False, True]
    assert "helpful=5" not in "".join(each.said for each in asked)

    ask_playbook(world, "retire", "oth-001")
    ask_playbook(world, "export", "--rules", "--yes")
    assert not any(TEXT in each.said for each in _ask(world))
