"""A guard asks or refuses before the call is made, in its point's words, and no other call starts it.

With the oldest client that we promise and the newest that we tried.
"""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from playbook_db.claude_code.transcripts.chunks import ChunkReader
from playbook_db.claude_code.transcripts.project_files import ProjectFiles
from playbook_db.claude_code.transcripts.transcript import Transcript
from playbook_db.domain.trust.evidence import USER
from tests.client.harness import World, is_turn, run_print, turns, wait_until
from tests.client.install import OLDEST
from tests.client.ours import ask_playbook, fill, log, register
from tests.client.terminal import interactive
from tests.client.test_reminders import client
from tests.messages_api import Answer, MessagesApi, Rule, ToolCall

__all__ = ["client"]  # a fixture

POINT = "Ask before you push: the release branch deploys itself"


def _push(command: str) -> Rule:
    call = ToolCall("Bash", {"command": command, "description": "push"})
    return Rule(Answer(tools=(call,)), said="please", when=is_turn, times=1)


@pytest.mark.smoke
@pytest.mark.parametrize("mode", ["--ask", "--deny"])
def test_a_guard_refuses_where_nobody_can_be_asked(world: World, mode: str) -> None:
    """The command isn't run, and the model reads why; another command is run, and no guard was started for it."""
    fill(world, POINT)
    register(world)
    ask_playbook(world, "guard", "oth-001", "--on", "Bash(touch *)", mode)
    with MessagesApi(_push("cd . && touch pushed")) as api:
        refused = run_print(replace(world, api=api), "please go on")
        _, after = [each for each in api.messages() if is_turn(each)]
    with MessagesApi(_push("echo touch > other")) as api:
        passed = run_print(replace(world, api=api), "please go on")

    assert (refused.code, passed.code, log(world)) == (0, 0, "")
    assert f"[oth-001] {POINT} (your guard; to remove it: playbook unguard oth-001)" in after.last_said
    assert not Path(world.project, "pushed").exists()
    assert Path(world.project, "other").exists()
    (listed,) = json.loads(ask_playbook(world, "guard", "--list", "--json"))
    assert (listed["fired"], listed["went_on"]) == (1, 0)


def test_a_guard_asks_the_person_and_counts_who_goes_on(world: World, tmux: None) -> None:
    """In the words of the point; after "Yes" the command is run."""
    fill(world, POINT)
    register(world)
    ask_playbook(world, "guard", "oth-001", "--on", "Bash(touch *)")
    with MessagesApi(_push("touch pushed")) as api, interactive(replace(world, api=api)) as session:
        session.send("please go on")
        wait_until(lambda: "deploys itself" in " ".join(session.screen.split()), "the question")
        session.type("1")  # Yes
        wait_until(Path(world.project, "pushed").exists, "the command")
        wait_until(lambda: len(turns(api)) == 2, "the next turn")
        session.exit()

    (listed,) = json.loads(ask_playbook(world, "guard", "--list", "--json"))
    assert (listed["fired"], listed["went_on"]) == (1, 1)


def test_what_the_person_says_to_a_guard_is_their_own_words(world: World, tmux: None) -> None:
    """With a "No"; in print mode the same guard brings none."""
    if world.client.version == OLDEST:
        pytest.skip("this client doesn't keep the words apart")
    fill(world, POINT)
    register(world)
    ask_playbook(world, "guard", "oth-001", "--on", "Bash(touch *)")
    with MessagesApi(_push("touch pushed")) as api:
        run_print(replace(world, api=api), "please go on")
    with MessagesApi(_push("touch pushed")) as api, interactive(replace(world, api=api)) as session:
        session.send("please go on")
        wait_until(lambda: "deploys itself" in " ".join(session.screen.split()), "the question")
        session.press("Down", "Tab")
        session.send("use the release script instead")
        wait_until(lambda: len(turns(api)) == 2, "the next turn")
        session.exit()

    files = ProjectFiles.of(str(world.project), 0.0)
    places = [
        place.text for path in world.transcripts()
        for chunk in ChunkReader(Transcript(str(path)), 50_000, redact=str, files=files).chunks()
        for place in chunk.places if place.trust == USER
    ]  # fmt: skip
    assert places == ["please go on", "please go on", "use the release script instead"]
