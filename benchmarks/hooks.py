"""The hooks as Claude Code starts them, beside a bare interpreter and one that imports sqlite3 and json."""

import itertools
import json
import os
import resource
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from benchmarks import sandbox
from benchmarks.figures import Figures, alternate, milliseconds, ratio, times
from playbook_db.claude_code import registration
from playbook_db.claude_code.hooks.remind import DEADLINE_S
from playbook_db.claude_code.hooks.showing import SILENCE
from playbook_db.services.playbook import edit
from playbook_db.store.sqlite import sqlite_files
from playbook_db.store.sqlite.sqlite_dialect import SqliteDialect

_SIZES = ((0, 0), (60, 0), (60, 1_000_000), (500, 10_000), (10_000, 100_000), (100_000, 1_000_000))  # points, history
_VOTES_A_REVISION = 20
_HOOKS = ("sqlite3, json", "inject", "enqueue")
_REMINDERS = ("a prompt", "one that nothing fits", "an error", "a file", "a subagent")
_PLACE = "billing/invoice.py"
_TEXTS = (
    f"In {_PLACE} amounts are Decimal, never float: rounding differs otherwise",
    "When tools/reindex.sh ends with E4711, its lock is left over: remove var/reindex.lock first",
)
_PROMPT = (  # each word is in a third of the points, except for the place
    f"Before the next migration verify what {_PLACE} does with a timeout of the server: the client should retry the "
    "query after the rollback, keep the cache small and write an explicit error message with the schema to the log"
)
_ROUNDS = 60
_CALLS, _FILES = 300, 40  # of a session
Event = Callable[[str], dict[str, Any]]  # what Claude Code sends in the session of that id


def run(folder: Path, *, quick: bool) -> Figures:
    """The hooks on playbooks of 0 to 100,000 points with a history of up to 1,000,000 rows."""
    python = os.path.realpath(getattr(sys, "_base_executable", sys.executable))
    rows, reminders = [], []
    for points, history in _SIZES:
        if quick and max(points, history) > 100:
            continue
        taken = measure(folder, python, points, history, rounds=2 if quick else _ROUNDS)
        bare = taken["bare"]
        size = f"{points:,} points, {history:,} rows"
        (importing, *ours), prompts = _HOOKS, _REMINDERS
        beside = [cell for name in ours for cell in (milliseconds(taken[name]), times(ratio(taken[name], bare)))]
        slowest = " / ".join(f"{_nineteen_of_20(taken[name]) * 1000:.1f}" for name in ours)
        rows.append((size, milliseconds(bare), times(ratio(taken[importing], bare)), *beside, f"{slowest} ms"))
        beside = [cell for name in prompts for cell in (milliseconds(taken[name]), times(ratio(taken[name], bare)))]
        reminders.append((size, *beside, f"{max(_nineteen_of_20(taken[name]) for name in prompts) * 1000:.1f} ms"))
    return Figures(
        "The hooks, from start to end of the process",
        ("", "bare", "sqlite3, json", "inject", "/ bare", "enqueue", "/ bare", "19 of 20 under"),
        rows,
        (
            f"bare: {python} -I -S -c pass; all works of both tables in turns, medians; {_ROUNDS} rounds",
            "inject prints the playbook and records what it showed; enqueue waits until its row is on the disk",
        ),
        [
            Figures(
                "The hook that reminds",
                ("", *(cell for name in _REMINDERS for cell in (name, "/ bare")), "19 of 20 under"),
                reminders,
                (
                    "each but the second shows points and records that, where there are any",
                    "a file: the first call on it, without the shell; like each hook, it should take at most 3x",
                    f"the prompts have {len(_PROMPT.split())} words",
                ),
            ),
            _session(folder, python),
        ],
    )


def _session(folder: Path, python: str) -> Figures:
    """The processor time that our hook adds to a session of _CALLS tool calls, started as `install` has it."""
    with tempfile.TemporaryDirectory(dir=folder) as made:
        home = Path(made)
        with sandbox.opened(home) as (_, project):
            sandbox.fill(project, 60)
        (home / "home" / ".claude" / "playbook").mkdir(parents=True, exist_ok=True)
        command = registration.command(
            "tool", scope="user", python=python, hooks_folder=str(sandbox.ROOT / "hooks"), worker_python="/bin/true"
        )
        environment = sandbox.environment(home)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        for number in range(_CALLS):
            event = reading("a-session", home, place=f"src/{number % _FILES}.py")
            payload = json.dumps(event, separators=(",", ":")).encode()  # as the client writes it
            subprocess.run(
                ["/bin/sh", "-c", command], input=payload, env=environment, stdout=subprocess.DEVNULL, check=True
            )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        took_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        kept = len(list((home / "home/.claude/playbook/touched/a-session").iterdir()))
        assert kept == _FILES, kept
    note = "user and system time of the hook's processes; it should take at most 4 s"
    row = (f"{_CALLS} tool calls on {_FILES} files", f"{took_s:.2f} s")
    return Figures("A session that reads and changes files", ("", "processor time"), [row], (note,))


def _nineteen_of_20(seconds: Sequence[float]) -> float:
    return statistics.quantiles(seconds, n=20)[-1]


def measure(folder: Path, python: str, points: int, history: int, *, rounds: int) -> dict[str, list[float]]:
    """The seconds of each round: a bare interpreter, one that imports sqlite3 and json, inject, enqueue, and each event
    that reminds."""
    with tempfile.TemporaryDirectory(dir=folder) as made:
        home = Path(made)
        with sandbox.opened(home) as (_, project):
            if points:
                sandbox.fill(project, points - len(_TEXTS))
                for text in _TEXTS:
                    edit.add(project, text)
        data = home / "home" / ".claude" / "playbook"
        data.mkdir(parents=True, exist_ok=True)
        (data / "told").mkdir()  # a session was shown a line before; the first one of all says that playbook is on
        (data / "worker.lock").touch()  # a worker has looked, as after each session; inject starts none then
        if history and points:
            _add_history(sandbox.database_path(home), points, history)
        has = points > 0
        sessions, late = itertools.count(), list[float]()

        def work(command: list[str], event: Event, at_least: int) -> Callable[[], None]:
            return _work(home, command, event, sessions, at_least, late)

        remind = hook(python, "remind")
        works = {
            "bare": work([python, "-I", "-S", "-c", "pass"], lambda _: {}, 0),
            "sqlite3, json": work([python, "-I", "-S", "-c", "import sqlite3, json"], lambda _: {}, 0),
            "inject": work(hook(python, "inject"), session_start, 1000 * has),
            "enqueue": work(hook(python, "enqueue"), session_end, 0),
            "a prompt": work(remind, prompt, 100 * has),
            "one that nothing fits": work(remind, unfitting_prompt, 0),
            "an error": work(remind, error, 100 * has),
            "a file": work(hook(python, "tool"), lambda session: reading(session, home), 100 * has),
            "a subagent": work(remind, subagent, 1000 * has),
        }
        *taken, _ = alternate(*works.values(), lambda: _be_the_worker(sandbox.database_path(home)), rounds=rounds)
        _check(home, rounds, late)
        return dict(zip(works, taken, strict=True))


def _be_the_worker(path: str) -> None:
    """What the worker leaves after each session: the jobs done, the write-ahead log worked in."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE jobs SET state = 'done' WHERE state = 'queued'")
    SqliteDialect(path).move_log()


def hook(python: str, name: str, *, root: Path = sandbox.ROOT) -> list[str]:
    """What starts the hook *name* of the checkout *root*."""
    return [python, "-I", "-S", str(root / "hooks" / f"{name}.py"), "user", "/bin/true"]


def session_start(session: str) -> dict[str, str]:
    """The input that Claude Code gives to `inject`."""
    return {"hook_event_name": "SessionStart", "source": "startup", **_of(session)}


def session_end(session: str) -> dict[str, str]:
    """The input that it gives to `enqueue`."""
    return {"hook_event_name": "SessionEnd", "reason": "other", **_of(session)}


def prompt(session: str) -> dict[str, Any]:
    """The input that it gives to `remind` for a prompt that one point fits."""
    return {"hook_event_name": "UserPromptSubmit", "prompt": _PROMPT, **_of(session)}


def unfitting_prompt(session: str) -> dict[str, Any]:
    """The same for a prompt that no point fits, though points hold all of its words but the place."""
    return {**prompt(session), "prompt": _PROMPT.replace(_PLACE, "somewhere")}


def error(session: str) -> dict[str, Any]:
    """The input for a tool call that failed, in words that one point knows."""
    tool_input = {"command": "tools/reindex.sh --all", "description": "Make the index anew"}
    message = (
        "Exit code 1\n" + "adding a row to the index\n" * 40 + "tools/reindex.sh: E4711, var/reindex.lock is there"
    )
    return {
        "hook_event_name": "PostToolUseFailure", "tool_name": "Bash", "tool_input": tool_input, "error": message,
        "is_interrupt": False, **_of(session),
    }  # fmt: skip


def reading(session: str, home: Path, *, place: str = _PLACE) -> dict[str, Any]:
    """The input for a call on a file, which one point knows."""
    file = {"file_path": str(sandbox.project_folder(home) / place)}
    return {"hook_event_name": "PreToolUse", "tool_name": "Read", "tool_input": file, **_of(session)}


def subagent(session: str) -> dict[str, Any]:
    """The input for a subagent's start."""
    return {
        "hook_event_name": "SubagentStart", "agent_id": "a1", "agent_type": "general-purpose", **_of(session)
    }  # fmt: skip


def _of(session: str) -> dict[str, str]:
    """The fields that each event of a *session* has; without them a hook takes the program for another host."""
    return {"session_id": session, "transcript_path": f"/transcripts/{session}.jsonl"}


def _work(
    home: Path, command: list[str], event: Event, sessions: Iterator[int], at_least: int, late: list[float]
) -> Callable[[], None]:
    """Start *command* on *event* of the next of *sessions*; it says *at_least* so many bytes, or for 0 hardly any. What
    a busy machine kept until its deadline says nothing, and is in *late* with the seconds that it took."""
    environment = sandbox.environment(home)

    def work() -> None:
        payload = json.dumps(event(f"session-{next(sessions)}")).encode()
        began = time.perf_counter()
        done = subprocess.run(command, input=payload, env=environment, capture_output=True, check=True)
        took_s = time.perf_counter() - began
        if at_least and done.stdout == SILENCE and took_s > DEADLINE_S:
            late.append(took_s)
        else:
            assert len(done.stdout) > at_least if at_least else len(done.stdout) <= len(SILENCE), done.stdout

    return work


def _add_history(path: str, points: int, rows: int) -> None:
    """Let the points have been voted on *rows* times; what the points are afterwards doesn't matter here."""
    with closing(sqlite3.connect(path)) as connection:
        triggers = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")]
        for name in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        (last,) = connection.execute("SELECT max(number) FROM revisions").fetchone()
        revisions = range(last + 1, last + 1 + rows // _VOTES_A_REVISION)
        connection.executemany(
            "INSERT INTO revisions (playbook_id, number, time, source, actor) VALUES (1, ?, ?, 'learn', 'ann@laptop')",
            ((number, f"2026-01-01T00:00:00.{number:08d}+00:00") for number in revisions),
        )
        connection.executemany(
            "INSERT INTO changes (playbook_id, revision, seq, point_id, kind, section, position, helpful, harmful)"
            " VALUES (1, ?, ?, ?, 'vote', 'pat', 1, 1, 0)",
            (
                (number, seq, (number * _VOTES_A_REVISION + seq) % points + 1)
                for number in revisions
                for seq in range(1, _VOTES_A_REVISION + 1)
            ),
        )
        for statement in sqlite_files.statements("triggers.sql"):
            connection.execute(statement)
        connection.commit()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _check(home: Path, rounds: int, late: Collection[float]) -> None:
    """Each end of a session has left its job, and each that was shown something its record."""
    with closing(sqlite3.connect(sandbox.database_path(home))) as connection:
        (jobs,) = connection.execute("SELECT count(*) FROM jobs").fetchone()
        (live,) = connection.execute("SELECT sum(live_points) FROM heads").fetchone()
        (shown,) = connection.execute("SELECT count(*) FROM showings").fetchone()
    assert jobs == rounds, jobs
    assert late or shown == (5 * rounds if live else 0), shown
