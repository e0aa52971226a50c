"""The end of a session, a subagent or a context leaves one job, and doesn't delay the client."""

import signal
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from playbook_db.claude_code.hooks.spool import SHOWING
from tests.client.conftest import SUMMARY
from tests.client.harness import World, finish, is_of_subagent, run_print, start_print
from tests.client.ours import (
    REPOSITORY,
    data_folder,
    fill,
    jobs,
    log,
    register,
    spooled,
    times_shown,
)
from tests.client.terminal import interactive
from tests.messages_api import Answer, MessagesApi, Request, Rule, ToolCall

POINT = "say why before how"
AS_PLUGIN = ("--plugin-dir", str(REPOSITORY))
KINDS = pytest.mark.parametrize("arguments", [(), AS_PLUGIN], ids=["settings", "plugin"])


def _set_up(world: World, arguments: tuple[str, ...]) -> None:
    fill(world, POINT)
    if not arguments:
        register(world)


@KINDS
@pytest.mark.smoke
def test_session_end_leaves_one_job(world: World, arguments: tuple[str, ...]) -> None:
    """The client cancels hooks that take longer than 1.5 s together."""
    _set_up(world, arguments)

    run = run_print(world, *arguments, "hello")

    [transcript] = world.transcripts()
    [job] = jobs(world)
    assert (job.session_id, job.transcript_path) == (transcript.stem, str(transcript))
    assert (job.parent_path, job.agent_id, job.reason, job.state) == (None, None, "SessionEnd:other", "queued")
    assert (run.code, run.out.strip(), run.err) == (0, "Done.", "")  # no hook was interrupted
    assert spooled(world) == []
    assert log(world) == ""


@pytest.mark.usefixtures("tmux")
@KINDS
def test_each_conversation_leaves_one_job(world: World, arguments: tuple[str, ...]) -> None:
    _set_up(world, arguments)
    with interactive(world, *arguments) as session:
        session.say("hello")
        session.say("/compact")
        after_compaction = jobs(world)
        session.say("/clear")
        after_clear = jobs(world)
        session.say("cleared")
        run = session.exit()

    first, second = world.transcripts()
    assert [(job.transcript_path, job.reason) for job in after_compaction] == [(str(first), "PreCompact:manual")]
    assert after_clear == after_compaction
    assert jobs(world)[:-1] == after_clear
    last = jobs(world)[-1]
    assert (last.transcript_path, last.session_id) == (str(second), second.stem)
    assert last.reason == "SessionEnd:prompt_input_exit"
    assert run.code == 0
    assert "Hook cancelled" not in run.out
    assert spooled(world) == []
    assert log(world) == ""


@pytest.mark.smoke
def test_subagent_end_leaves_its_own_job(world: World) -> None:
    delegate = ToolCall("Agent", {"description": "d", "prompt": "greet", "subagent_type": "general-purpose"})
    rules = (
        Rule(Answer(tools=(delegate,)), said="delegate$", times=1),
        Rule("The agent greets.", when=is_of_subagent),
    )
    with MessagesApi(*rules, SUMMARY) as api:
        world = replace(world, api=api)
        _set_up(world, ())
        run = run_print(world, "delegate")

    [transcript] = world.transcripts()
    of_agent, of_session = sorted(jobs(world), key=lambda job: job.agent_id is None)
    assert run.code == 0
    assert (of_agent.parent_path, of_agent.session_id) == (str(transcript), transcript.stem)
    assert of_agent.reason == "SubagentStop:general-purpose"
    assert "The agent greets." in Path(of_agent.transcript_path).read_text()
    assert Path(of_agent.transcript_path).name == f"agent-{of_agent.agent_id}.jsonl"
    assert (of_session.transcript_path, of_session.reason) == (str(transcript), "SessionEnd:other")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_killed_session_leaves_its_job(world: World, number: signal.Signals) -> None:
    is_over = threading.Event()

    def too_late(_: Request) -> str:
        is_over.wait(300)
        return "too late"

    with MessagesApi(too_late) as api:
        world = replace(world, api=api)
        _set_up(world, ())
        with start_print(world, "hello") as process:
            api.wait_for(len)
            process.send_signal(number)
            run = finish(process)
        is_over.set()

    [transcript] = world.transcripts()
    assert [(job.transcript_path, job.reason) for job in jobs(world)] == [(str(transcript), "SessionEnd:other")]
    assert "too late" not in run.out
    assert "Hook cancelled" not in run.err


@pytest.mark.smoke
def test_settings_and_plugin_act_once(world: World) -> None:
    _set_up(world, ())
    run = run_print(world, *AS_PLUGIN, "hello")
    assert (run.code, run.err) == (0, "")
    assert times_shown(world.api.messages()[0], POINT) == 1
    assert [job.reason for job in jobs(world)] == ["SessionEnd:other"]
    assert spooled(world) == []


@KINDS
@pytest.mark.smoke
def test_broken_database_disturbs_no_session(world: World, arguments: tuple[str, ...]) -> None:
    _set_up(world, arguments)
    database, garbage = data_folder(world) / "playbook.db", b"not a database " * 1000
    database.write_bytes(garbage)

    run = run_print(world, *arguments, "hello")

    (transcript,) = world.transcripts()
    assert (run.code, run.out.strip(), run.err) == (0, "Done.", "")
    assert [job["transcript_path"] for job in spooled(world) if job.get("kind") != SHOWING] == [str(transcript)]
    assert "playbook.db" in log(world)
    assert database.read_bytes() == garbage
