"""A session in its own worktree (`claude -w`), which the client removes before the session's end."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.client.conftest import SUMMARY, installed
from tests.client.harness import FAKE_KEY, World, fresh_home, run_print, turns
from tests.client.install import OLDEST
from tests.client.ours import ask_playbook, jobs, register, times_shown
from tests.client.terminal import interactive
from tests.learning.conftest import answers, curation, is_reflector, reflection
from tests.messages_api import MessagesApi, Request, Rule

NEWEST = "2.1.332"
LESSON = "run the tests with uv"
ADD = {"type": "ADD", "text": LESSON, "section": "PATTERNS & APPROACHES"}


def _is_curator(request: Request) -> bool:
    return not request.body.get("tools") and "source_ids" in json.dumps(request.body) and not is_reflector(request)


@pytest.mark.usefixtures("tmux")
@pytest.mark.parametrize("version", [OLDEST, NEWEST])
def test_worktree_session_teaches_its_repository(home: Path, folder: Path, version: str) -> None:
    reflector, curator = answers(reflection(), curation(ADD))
    learning = (reflector, Rule(curator.answer, when=_is_curator))
    for command in (["init", "-q"], ["commit", "-qm", "first", "--allow-empty"]):
        subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@t", *command], cwd=folder, check=True)
    with MessagesApi(*learning, SUMMARY) as api:
        fresh_home(home, folder)
        variables = {"ANTHROPIC_API_KEY": FAKE_KEY, "ANTHROPIC_BASE_URL": api.url}
        world = World(installed(version), home, folder, api, variables)
        ask_playbook(world, "init")
        register(world)
        with interactive(world, "-w", "one") as session:
            session.say("always use uv for tests, please")
            session.exit()
        ask_playbook(world, "work")
        said = [job["error"] for job in json.loads(ask_playbook(world, "jobs", "--json"))]
        run_print(world, "-w", "two", "hello")

    assert [job.state for job in jobs(world)][:1] == ["done"], said
    assert [each["project"] for each in json.loads(ask_playbook(world, "project", "list", "--json"))] == [str(folder)]
    assert times_shown(turns(api)[-1], LESSON) == 1
