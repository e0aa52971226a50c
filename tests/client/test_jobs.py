"""The end of a session, of a subagent, of a context: each leaves one job, and the client isn't kept waiting."""

import signal
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from tests.client.conftest import SUMMARY
from tests.client.harness import World, finish, is_of_subagent, run_print, start_print
from tests.client.ours import REPOSITORY, fill, foreign_hook, jobs, log, our_hooks, register, spooled, times_told
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
def test_the_end_of_a_print_session_leaves_one_job_in_time(world: World, arguments: tuple[str, ...]) -> None:
    """Claude Code cancels the hooks of a session's end that take longer than 1.5 s together, and says so."""
    _set_up(world, arguments)

    run = run_print(world, *arguments, "hello")

    [transcript] = world.transcripts()
    [job] = jobs(world)
    assert (job.session_id, job.transcript_path) == (transcript.stem, str(transcript))
    assert (job.parent_path, job.agent_id, job.reason, job.state) == (None, None, "SessionEnd:other", "queued")
    assert (run.code, run.out.strip(), run.err) == (0, "Done.", "")  # no "Hook cancelled"
    assert spooled(world) == []
    assert log(world) == ""


@pytest.mark.usefixtures("tmux")
@KINDS
def test_an_interactive_session_leaves_one_job_for_each_conversation(world: World, arguments: tuple[str, ...]) -> None:
    """PreCompact and SessionEnd speak of one transcript: one job waits for it. /clear begins another; the agent that
    compacts has no transcript, and no job."""
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
def test_the_end_of_a_subagent_leaves_a_job_of_its_own(world: World) -> None:
    """It names the agent's transcript, which is there, and the session's beside it."""
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
    assert of_agent.agent_id
    assert of_agent.agent_id in Path(of_agent.transcript_path).name
    assert (of_session.transcript_path, of_session.reason) == (str(transcript), "SessionEnd:other")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_session_that_is_told_to_end_leaves_its_job(world: World, number: signal.Signals) -> None:
    """In the middle of an answer: Ctrl-C, a closed terminal, a shutdown."""
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
def test_settings_and_plugin_together_act_once(world: World) -> None:
    """Whoever installs both is told once, and learned from once."""
    _set_up(world, ())

    run = run_print(world, *AS_PLUGIN, "hello")

    assert (run.code, run.err) == (0, "")
    assert times_told(world.api.messages()[0], POINT) == 1
    assert [job.reason for job in jobs(world)] == ["SessionEnd:other"]
    assert spooled(world) == []


@KINDS
def test_a_session_that_is_told_to_do_without_us_leaves_nothing(world: World, arguments: tuple[str, ...]) -> None:
    """PLAYBOOK_DISABLE=1: no playbook, no job, no log."""
    world = replace(world, variables={"PLAYBOOK_DISABLE": "1"})
    _set_up(world, arguments)

    run = run_print(world, *arguments, "hello")

    assert (run.code, run.err) == (0, "")
    assert times_told(world.api.messages()[0], POINT) == 0
    assert (jobs(world), spooled(world), log(world)) == ([], [], "")


def test_other_hooks_at_a_sessions_end_still_get_their_time(world: World) -> None:
    """Ours neither use up the time of somebody else's nor stand in their way."""
    fill(world, POINT)
    done = world.home / "done"
    hooks = our_hooks()
    register(world, {**hooks, "SessionEnd": hooks["SessionEnd"] + foreign_hook(f"sleep 1; echo done > '{done}'")})

    run = run_print(world, "hello")

    assert (run.code, run.err) == (0, "")
    assert done.exists()
    assert [job.reason for job in jobs(world)] == ["SessionEnd:other"]
