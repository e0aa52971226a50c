"""The one line that a session's start may show to the user, on a real screen; and what it asks about stays unused."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.client.harness import World, wait_until
from tests.client.ours import (
    REPOSITORY,
    ask_playbook,
    bring,
    data_folder,
    fill,
    questions_of_the_worker,
    register,
    set_plugin_up,
)
from tests.client.terminal import interactive
from tests.messages_api import MessagesApi

pytestmark = pytest.mark.usefixtures("tmux")

POINT = "say why before how"
AS_PLUGIN = ("--plugin-dir", str(REPOSITORY))


def _told(world: World, *arguments: str) -> str:
    """What a session says to the user when it begins; the client answers nobody before the hooks have."""
    with interactive(world, *arguments) as session:
        session.say("hello")
        return session.told


def _garbage(world: World) -> None:
    (data_folder(world) / "playbook.db").write_bytes(b"not a database " * 1000)


def _lost(world: World) -> None:
    ask_playbook(world, "backup")
    (data_folder(world) / "playbook.db").unlink()


def _mirror(world: World) -> None:
    (world.project / ".claude").mkdir(exist_ok=True)
    (world.project / ".claude" / "playbook.json").write_text("{}")


@pytest.mark.parametrize(
    ("spoil", "expected"),
    [
        (_garbage, ("file is not a database", "The session continued without the playbook; run: playbook doctor")),
        (_lost, ("but backups of it exist. Restore the newest: playbook restore-backup", "playbook init --new")),
        (_mirror, ("is here but not in use yet.", "playbook init. To leave it alone: playbook mirror off")),
    ],
)
def test_what_is_broken_or_waits_is_told_each_time(
    world: World, spoil: Callable[[World], None], expected: tuple[str, str]
) -> None:
    """With what to do; and what was learned isn't told on top."""
    register(world)
    fill(world, POINT, source="learn")
    spoil(world)

    first, second = _told(world), _told(world)

    assert first == second
    assert first.startswith("playbook: ")
    assert [words for words in expected if words not in first] == []
    assert POINT not in first


def test_a_question_is_told_until_it_is_decided_and_then_what_was_learned_once(world: World) -> None:
    """Each session's start has one line at most."""
    register(world)
    fill(world, POINT, source="learn")
    bring(world, AGENTIC_CONTEXT_BASE_URL="http://127.0.0.1:9/")

    told = [_told(world) for _ in range(2)]
    ask_playbook(world, "project", "trust", "--off")
    told += [_told(world) for _ in range(2)]

    asked = (
        "playbook: nothing is learned here: this project's settings set AGENTIC_CONTEXT_BASE_URL. "
        "To decide: playbook project trust"
    )
    assert told == [
        asked,
        asked,
        f'playbook: learned 1 point ("{POINT}"); playbook log',
        "",
    ]


def test_a_session_that_is_resumed_has_no_line_of_its_own(world: World) -> None:
    """The client shows again what that session's start said; what was learned since waits for the next that begins."""
    register(world)
    fill(world, POINT)
    with interactive(world) as session:
        session.say("hello")
        session.exit()
    fill(world, "learned since", source="learn")

    with interactive(world, "--continue") as session:
        session.say("again")
        assert "playbook: " not in session.screen
    assert _told(world) == 'playbook: learned 1 point ("learned since"); playbook log'


def test_the_user_s_settings_switch_the_line_off(world: World) -> None:
    """`playbook_session_message`, which the client lets be."""
    register(world)
    fill(world, POINT, source="learn")
    chosen = json.loads(world.settings_file.read_text())
    world.settings_file.write_text(json.dumps({**chosen, "playbook_session_message": False}))

    assert _told(world) == ""


def test_the_plugin_says_that_it_sets_itself_up_and_what_became_of_it(world: World, tmp_path: Path) -> None:
    """The first session with it; and where that failed, each session, with what to do."""
    fill(world, POINT)
    uv = tmp_path / "bin" / "uv"
    uv.parent.mkdir()
    uv.write_text("#!/bin/sh\necho 'there is no network' >&2; exit 1\n")
    uv.chmod(0o755)
    path = f"{uv.parent}:{world.environment['PATH']}"
    world = replace(world, variables={"PLAYBOOK_NO_SETUP": "", "PATH": path})

    first = _told(world, *AS_PLUGIN)
    wait_until(lambda: '"failed"' in (data_folder(world) / "runtime.json").read_text(), "the end of the set-up")
    second = _told(world, *AS_PLUGIN)

    assert first.startswith("playbook: its environment is being set up in the background, only this time")
    assert second.startswith("playbook's environment could not be set up (")
    assert "there is no network. It is tried again an hour later, or now with: python3 " in second


@pytest.mark.parametrize("name", ["AGENTIC_CONTEXT_BASE_URL", "ANTHROPIC_BASE_URL"])
def test_what_a_project_s_settings_bring_is_not_used_before_the_user_has_said_so(world: World, name: str) -> None:
    """The client asks its own questions there, which is its matter; no transcript goes there unasked, nor elsewhere."""
    with MessagesApi() as gateway:
        of_client = replace(world, api=gateway) if name == "ANTHROPIC_BASE_URL" else world
        fill(world, POINT)
        set_plugin_up(world)
        bring(world, **{name: gateway.url})
        with interactive(of_client, *AS_PLUGIN) as session:
            session.say("hello")
            first = session.told
            session.exit()
        wait_until(lambda: f"set {name}" in ask_playbook(world, "jobs", "--json"), "the worker to put the job off")
        second = _told(of_client, *AS_PLUGIN)
        before = questions_of_the_worker(gateway), questions_of_the_worker(world.api)
        ask_playbook(world, "project", "trust", "--yes")
        _told(of_client, *AS_PLUGIN)
        wait_until(lambda: questions_of_the_worker(gateway), "the question of a worker")

    assert first.startswith(f"playbook: nothing is learned here: this project's settings set {name}.")
    assert "!playbook project trust" in first
    assert second == first
    assert before == ([], [])
    assert questions_of_the_worker(world.api) == []
