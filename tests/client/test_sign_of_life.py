"""The line that a session's start shows to the user, on a real screen."""

from dataclasses import replace

import pytest

from tests.client import ours
from tests.client.harness import World, wait_until
from tests.client.ours import REPOSITORY, ask_playbook, bring, fill, questions_of_the_worker, register
from tests.client.terminal import interactive
from tests.messages_api import MessagesApi

pytestmark = pytest.mark.usefixtures("tmux")

POINT = "say why before how"
AS_PLUGIN = ("--plugin-dir", str(REPOSITORY))


def _line(world: World, *arguments: str) -> str:
    """The line for the user at a session's start."""
    with interactive(world, *arguments) as session:
        session.say("hello")
        return session.first_line


def test_open_question_comes_before_lessons(world: World) -> None:
    register(world)
    fill(world, POINT, source="learn")
    bring(world, AGENTIC_CONTEXT_BASE_URL="http://127.0.0.1:9/")

    lines = [_line(world) for _ in range(2)]
    ask_playbook(world, "project", "trust", "--off")
    lines += [_line(world) for _ in range(2)]

    question = (
        "playbook: nothing is learned here: this project's settings set AGENTIC_CONTEXT_BASE_URL. "
        "To decide: playbook project trust"
    )
    assert lines == [question, question, f'playbook: learned 1 point ("{POINT}"); to see them: playbook log', ""]


@pytest.mark.parametrize("name", ["AGENTIC_CONTEXT_BASE_URL", "ANTHROPIC_BASE_URL"])
def test_projects_api_needs_consent(world: World, name: str) -> None:
    """No transcript goes there, or anywhere else, before the user agrees."""
    with MessagesApi() as gateway:
        of_client = replace(world, api=gateway) if name == "ANTHROPIC_BASE_URL" else world
        fill(world, POINT)
        ours.set_plugin_up(world)
        bring(world, **{name: gateway.url})
        with interactive(of_client, *AS_PLUGIN) as session:
            session.say("hello")
            first = session.first_line
            session.exit()
        wait_until(lambda: f"set {name}" in ask_playbook(world, "jobs", "--json"), "the worker to put the job off")
        second = _line(of_client, *AS_PLUGIN)
        before = questions_of_the_worker(gateway), questions_of_the_worker(world.api)
        ask_playbook(world, "project", "trust", "--yes")
        _line(of_client, *AS_PLUGIN)
        wait_until(lambda: questions_of_the_worker(gateway), "the question of a worker")

    assert first.startswith(f"playbook: nothing is learned here: this project's settings set {name}.")
    assert "!playbook project trust" in first
    assert second == first
    assert before == ([], [])
    assert questions_of_the_worker(world.api) == []
