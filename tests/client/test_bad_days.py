"""What is wrong on our side is never the session's trouble: it goes on, and nothing it did is lost."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest

from tests.client.harness import Run, World, run_print
from tests.client.ours import REPOSITORY, data_folder, fill, jobs, log, register, spooled, times_told

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
    return [job["transcript_path"] for job in spooled(world)] == transcripts


def _start(world: World, arguments: tuple[str, ...]) -> None:
    if not arguments:
        register(world)


@KINDS
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
