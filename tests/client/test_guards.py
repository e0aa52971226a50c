"""A guard asks or refuses before the call, in its point's words, and no other call starts it.

With the oldest supported client and the newest tried one.
"""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.client.harness import FAKE_KEY, World, is_turn, run_print, turns, wait_until
from tests.client.install import OLDEST
from tests.client.ours import ask_playbook, fill, jobs, log, register
from tests.client.terminal import interactive
from tests.client.test_reminders import client
from tests.learning.conftest import curation, is_reflector
from tests.messages_api import Answer, MessagesApi, Rule, ToolCall

__all__ = ["client"]  # a fixture

POINT = "Ask before you push: the release branch deploys itself"
WORDS = "use the release script instead"
_ASKS = "Do you want to proceed?"


def _push(command: str) -> Rule:
    call = ToolCall("Bash", {"command": command, "description": "push"})
    return Rule(Answer(tools=(call,)), said="please", when=is_turn, times=1)


@pytest.mark.smoke
@pytest.mark.parametrize("mode", ["--ask", "--deny"])
def test_guard_refuses_if_nobody_can_be_asked(world: World, mode: str) -> None:
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


def test_guard_asks_the_person(world: World, tmux: None) -> None:
    fill(world, POINT)
    register(world)
    ask_playbook(world, "guard", "oth-001", "--on", "Bash(touch *)")
    with MessagesApi(_push("touch pushed")) as api, interactive(replace(world, api=api)) as session:
        if world.client.version == OLDEST:  # at each start, it warns of the event for shell lines
            assert "The values listed above were skipped; the rest of the file is in effect." in session.screen
            session.press_until(lambda screen: "Settings Warning" not in screen, "Enter")
            session.wait_idle()
        session.send("please go on")
        wait_until(lambda: _ASKS in session.screen, "the question")
        assert "deploys itself" in " ".join(session.screen.split())
        session.press_until(lambda screen: _ASKS not in screen, "1")  # Yes
        wait_until(Path(world.project, "pushed").exists, "the command")
        wait_until(lambda: len(turns(api)) == 2, "the next turn")
        session.exit()

    (listed,) = json.loads(ask_playbook(world, "guard", "--list", "--json"))
    assert (listed["fired"], listed["went_on"]) == (1, 1)


@pytest.mark.parametrize("mode", ["--ask", "--deny"])
def test_guard_refuses_a_slash_commands_shell_line(world: World, mode: str) -> None:
    commands = world.project / ".claude" / "commands"
    commands.mkdir(parents=True)
    (commands / "ship.md").write_text("---\nallowed-tools: Bash\n---\n!`touch pushed`\n\n!`echo other`\n")
    fill(world, POINT)
    ask_playbook(world, "guard", "oth-001", "--on", "Bash(touch *)", mode)

    run = run_print(world, "/ship")

    assert (run.code, run.err) == (0, "")
    assert "hook event" not in run.out
    if world.client.version != OLDEST:
        assert f"[oth-001] {POINT}" in world.api.messages()[-1].said
        assert not (world.project / "pushed").exists()
    assert "other" in world.api.messages()[-1].said


def test_answer_to_a_guard_becomes_a_lesson(world: World, tmux: None) -> None:
    """In print mode, neither a guard nor a missing permission teaches."""
    if world.client.version == OLDEST:
        pytest.skip("this client doesn't keep the words apart")
    fill(world, POINT)
    register(world)
    ask_playbook(world, "guard", "oth-001", "--on", "Bash(touch *)")
    write = ToolCall("Write", {"file_path": str(world.project / "pushed"), "content": "x"})
    missing = Rule(Answer(tools=(write,)), said="please", when=is_turn, times=1)
    for call, is_read in ((_push("touch pushed"), False), (missing, True)):
        with MessagesApi(call) as api:
            run_print(replace(world, api=api), "please go on")
            refusal = [each for each in api.messages() if is_turn(each)][-1].last_said
        _learn(world, f"Never touch it: {refusal}"[:300], refusal, is_read=is_read)
    assert _texts(world) == [POINT]

    with MessagesApi(_push("touch pushed")) as api, interactive(replace(world, api=api)) as session:
        session.send("please go on")
        wait_until(lambda: _ASKS in session.screen, "the question")
        session.press_until(lambda screen: "\u276f 2. No" in screen, "Down")
        session.press_until(lambda screen: "tell Claude" in screen, "Tab")
        session.type(WORDS)
        session.press_until(lambda screen: _ASKS not in screen, "Enter")
        wait_until(lambda: len(turns(api)) == 2, "the next turn")
        session.exit()
    _learn(world, WORDS, WORDS)
    assert _texts(world) == [WORDS, POINT]
    assert not Path(world.project, "pushed").exists()


def _learn(world: World, text: str, quote: str, *, is_read: bool = True) -> None:
    """The worker learns from what waits, by a model that makes *quote* the evidence of a lesson *text*.

    *is_read*: whether the model read the quote.
    """
    lesson = {"kind": "worked", "text": text, "cause": "", "fix": "", "applies_to": "", "evidence": [quote]}
    reflected = json.dumps({"analysis": "The user refused.", "bullet_tags": [], "lessons": [lesson]})
    curated = curation({"type": "ADD", "text": text, "section": "USER PREFERENCES", "evidence": [quote]})
    before = len(jobs(world))
    with MessagesApi(Rule(reflected, when=is_reflector), curated) as model:
        asks = {"ANTHROPIC_API_KEY": FAKE_KEY, "ANTHROPIC_BASE_URL": model.url}
        ask_playbook(replace(world, variables=asks), "work")
        assert (quote in model.messages()[0].said) == is_read
    assert [job.state for job in jobs(world)] == ["done"] * before


def _texts(world: World) -> list[str]:
    return [each["text"] for each in json.loads(ask_playbook(world, "list", "--json"))]
