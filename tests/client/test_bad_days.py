"""What is wrong on our side is never the session's trouble: it goes on, and nothing it did is lost."""

import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest

from playbook_db.claude_code import registration
from playbook_db.claude_code.hooks.spool import SHOWING
from tests.client.harness import Run, World, run_print
from tests.client.ours import (
    NO_WORKER,
    PYTHON,
    REPOSITORY,
    data_folder,
    fill,
    foreign_hook,
    jobs,
    log,
    register,
    spooled,
    times_told,
)

POINT = "say why before how"
KINDS = pytest.mark.parametrize("arguments", [(), ("--plugin-dir", str(REPOSITORY))], ids=["settings", "plugin"])


@contextmanager
def _held(world: World) -> Iterator[None]:
    """The database, in the hands of somebody who lets nobody write."""
    with closing(sqlite3.connect(data_folder(world) / "playbook.db", isolation_level=None)) as connection:
        connection.execute("BEGIN EXCLUSIVE")
        yield
        connection.execute("ROLLBACK")


def _went_well(run: Run) -> bool:
    return (run.code, run.out.strip(), run.err) == (0, "Done.", "")


def _waits_in_the_spool(world: World) -> bool:
    transcripts = [str(path) for path in world.transcripts()]
    return [job["transcript_path"] for job in spooled(world) if job.get("kind") != SHOWING] == transcripts


def _start(world: World, arguments: tuple[str, ...]) -> None:
    if not arguments:
        register(world)


@KINDS
@pytest.mark.smoke
def test_a_database_that_is_garbage_costs_the_session_nothing(world: World, arguments: tuple[str, ...]) -> None:
    """No playbook, but an answer; the job is in the spool, the log says what is wrong, the file is as it was."""
    _start(world, arguments)
    garbage = b"not a database " * 1000
    data_folder(world).mkdir(parents=True)
    (data_folder(world) / "playbook.db").write_bytes(garbage)

    run = run_print(world, *arguments, "hello")

    assert _went_well(run)
    assert _waits_in_the_spool(world)
    assert "playbook.db" in log(world)
    assert (data_folder(world) / "playbook.db").read_bytes() == garbage


@KINDS
def test_a_database_that_somebody_holds_costs_the_session_nothing(world: World, arguments: tuple[str, ...]) -> None:
    """Who writes doesn't keep us from reading: the session is told; its job waits in the spool."""
    _start(world, arguments)
    fill(world, POINT)
    with _held(world):
        run = run_print(world, *arguments, "hello")

    assert _went_well(run)
    assert times_told(world.api.messages()[0], POINT) == 1
    assert _waits_in_the_spool(world)
    assert jobs(world) == []


def _hooks_that(world: World, change: str) -> dict[str, Any]:
    """Our hooks, of which each does *change* before it begins."""
    made = {}
    for event, (hook, timeout_s) in registration.EVENTS.items():
        folder = world.home / "hooks" / event
        folder.mkdir(parents=True)
        module = "remind" if hook == "tool" else hook
        (folder / f"{hook}.py").write_text(
            f"import os, sys, time\nsys.path.append({str(REPOSITORY)!r})\n"
            f"from playbook_db.claude_code.hooks import {module}\n{change.format(hook=module)}\n{module}.main()\n"
        )
        command = registration.command(
            hook, scope="user", python=PYTHON, hooks_folder=str(folder), worker_python=NO_WORKER
        )
        made[event] = foreign_hook(command, timeout_s)
    return made


def _kept_of_hooks(world: World) -> list[tuple[str, int, str]]:
    """What the client noted in the transcript of each hook that ended: how, its exit code, what it said on stderr."""
    [transcript] = world.transcripts()
    lines = map(json.loads, transcript.read_text().splitlines())
    noted = [line["attachment"] for line in lines if line["type"] == "attachment"]
    return [(each["type"], each["exitCode"], each["stderr"]) for each in noted if "exitCode" in each]


@pytest.mark.parametrize(
    ("change", "is_told", "says"),
    [
        # A disk that is away: whoever opens a file of ours waits, and so does who writes the log. The database is read.
        ("was = os.open\nos.open = lambda path, *_: time.sleep(60) if '/playbook/' in path else was(path, *_)", 1, ""),
        # A function in C that lets no thread run: only the signal ends it.
        ("{hook}.sqlite_open.connect = lambda *_, **__: sum(range(10**12))", 0, "Alarm clock\n"),
    ],
    ids=["hung disk", "no thread"],
)
def test_a_hook_that_the_last_resort_ends_is_none_of_the_user_s_trouble(
    world: World, change: str, is_told: int, says: str
) -> None:
    """The client takes it for one that went well: what was said until then counts, whole, and it shows no error."""
    fill(world, POINT)
    register(world, _hooks_that(world, change))

    run = run_print(world, "hello")

    assert _went_well(run)
    assert times_told(world.api.messages()[0], POINT) == is_told
    assert _kept_of_hooks(world) == [("hook_success", 0, says)]


@KINDS
def test_a_log_that_is_a_named_pipe_keeps_no_session_waiting(world: World, arguments: tuple[str, ...]) -> None:
    """What there would be to note is left out; the answer and the job are there."""
    _start(world, arguments)
    (data_folder(world) / "logs").mkdir(parents=True)
    os.mkfifo(data_folder(world) / "logs" / "hooks.log")
    (data_folder(world) / "playbook.db").write_bytes(b"not a database " * 1000)

    run = run_print(world, *arguments, "hello")

    assert _went_well(run)
    assert _kept_of_hooks(world) == [("hook_success", 0, "")]
    assert _waits_in_the_spool(world)


@KINDS
def test_the_first_session_ever_leaves_its_job_though_there_is_no_database(
    world: World, arguments: tuple[str, ...]
) -> None:
    """Nothing to tell yet, and nobody has made the database: the worker will."""
    _start(world, arguments)

    run = run_print(world, *arguments, "hello")

    assert _went_well(run)
    assert _waits_in_the_spool(world)
    assert log(world) == ""
