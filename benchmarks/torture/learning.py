"""Kills of the worker, two workers at once, and many sessions that end together.

Every vote and operation counts once, no saved answer is requested again, and no job is stuck.
"""

import contextlib
import io
import json
import multiprocessing
import os
import random
import re
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import crowd, sandbox
from benchmarks.torture.damage import HOOK_ENDS
from benchmarks.torture.promises import promise
from playbook_db.claude_code import learner, worker
from playbook_db.cli.main import main as playbook
from playbook_db.services import maintenance
from playbook_db.services.learning import queue
from playbook_db.services.playbook import edit, import_export
from playbook_db.services.project import Project
from playbook_db.services.sharing import mirror
from tests.messages_api import Answer, MessagesApi, Request, Rule
from tests.quoting import quoting
from tests.transcripts import TranscriptBuilder

BALLOT, EDITED = "pat-001", "pat-002"  # each chunk votes on the one and rewords the other
LIMIT_S = 120.0  # a worker that isn't through by then hangs
_JOBS, _CHUNKS = 4, 3  # of a life; the chunks are those of each job
_KILLS_A_LIFE = 8
_BY_COMMAND = 0.25  # so often it is `playbook learn` that is killed
_DELAY_S = 0.06  # of an answer
_LONGEST_LIFE_S = 0.8  # of a worker, its start included
_LONGEST_WAIT_S = 0.15  # between a request and the kill that it provokes
_SETTLED_S = 0.05  # after which what a killed worker sent has come in
_ROOM_CHARS = 1500  # of a chunk: one turn of ours
_GONE = (0, -signal.SIGKILL)
NURSERY = multiprocessing.get_context("forkserver")  # a worker's imports take longer than its work
NURSERY.set_forkserver_preload(["__main__", "anthropic", "playbook_db.services.learning.learn", __name__])
_MOST_ENDS = 5  # of one session, until its hook has had the time that it needs


@dataclass(slots=True)
class Learning:
    """The kills by the clock and after a request, their results and cost, the twins, and the crowd of sessions."""

    by_clock: int = 0
    after_a_request: int = 0
    commands: int = 0  # of those killed
    hit: Counter[str] = field(default_factory=Counter)
    lives: int = 0
    chunks: int = 0
    asked_again: Counter[str] = field(default_factory=Counter)  # calls beyond one a chunk
    calls_for_a_chunk: Counter[int] = field(default_factory=Counter)  # how many chunks took so many calls
    twins: int = 0
    twins_that_left: int = 0
    ends_at_once: int = 0
    cut_short: int = 0  # hooks that their own signal ended
    slowest_end_s: float = 0.0


@dataclass(slots=True)
class _Life:
    """One database with jobs, and the model that answers."""

    folder: Path
    api: MessagesApi
    chunks: tuple[str, ...]

    @property
    def environment(self) -> dict[str, str]:
        """The variables of a worker."""
        return environment_of(self.folder, self.api)

    def asked(self, since: int = 0) -> list[tuple[str, str]]:
        """What was asked from the request *since* on: the kind of call and the chunk."""
        return [_about(request) for request in self.api.messages()[since:]]


def run(folder: Path, *, kills: int, twins: int, ends: int, seed: int) -> Learning:
    """Kill the worker *kills* times, start two at once *twins* times, end *ends* sessions at once.

    Raises AssertionError where a promise is broken.
    """
    found = Learning()
    rng = random.Random(seed)
    killed = 0
    while killed < kills:
        life_folder = folder / f"life-{found.lives}"
        with MessagesApi(*model(random.Random(f"{seed}-{found.lives}"))) as api:
            life = _Life(life_folder, api, tuple(_queue(life_folder, _JOBS, _CHUNKS)))
            try:
                killed += _kill_often(life, min(_KILLS_A_LIFE, kills - killed), rng, found)
                _check_end(life, found)
            except AssertionError as broken:
                raise AssertionError(f"{broken}\n(kill {killed} or later of seed {seed}, in {life_folder})") from None
        found.lives += 1
    if twins:
        _twins(folder / "twins", twins, found)
    if ends:
        _ends(folder / "ends", ends, found)
    return found


def _kill_often(life: _Life, count: int, rng: random.Random, found: Learning) -> int:
    """Kill up to *count* workers and commands, fewer where a worker gets through before; how many were killed. One
    worker ends the work then."""
    killed = 0
    while killed < count:
        known, done = _kept(life)
        before = len(life.api.messages())
        by_command = rng.random() < _BY_COMMAND
        is_killed = _kill_one(life, rng, found, by_command=by_command)
        time.sleep(_SETTLED_S)
        asked = life.asked(before)
        again = [about for about in asked if about[1] in (done if about[0] == "curate" else known)]
        promise(not again, f"asked for again though the answer was kept: {again}")
        with sandbox.opened(life.folder) as (store, _):
            problems = maintenance.check(store)
        promise(not problems, f"the database is not sound: {problems}")
        _check_counts(life)
        if is_killed:
            killed += 1
            found.commands += by_command
            found.hit[_phase(life, asked)] += 1
        elif not by_command:
            return killed
    _let_end(life)
    return count


def _kill_one(life: _Life, rng: random.Random, found: Learning, *, by_command: bool) -> bool:
    """Kill a worker, or `playbook learn`, at a moment of chance; False where it was through before that."""
    by_clock = rng.random() < 0.5
    wanted = len(life.api.messages()) + rng.randint(1, 6)
    transcript = end_of(life.folder, rng.randrange(_JOBS))["transcript_path"] if by_command else None
    victim = NURSERY.Process(target=work, args=(life.environment, transcript))
    victim.start()
    if by_clock:
        victim.join(rng.uniform(0, _LONGEST_LIFE_S))
    else:
        wait_until(lambda: not victim.is_alive() or len(life.api.messages()) >= wanted, "a worker hangs")
        victim.join(rng.uniform(0, _LONGEST_WAIT_S))
    is_alive = victim.is_alive()
    victim.kill()
    victim.join()
    code = victim.exitcode
    promise(code in _GONE, f"the worker ended by itself with {code}: {_log(life)}")
    is_killed = is_alive and code == -signal.SIGKILL
    found.by_clock += is_killed and by_clock
    found.after_a_request += is_killed and not by_clock
    return is_killed


def _let_end(life: _Life) -> None:
    """Let one worker do all that is left; one must be enough."""
    last = NURSERY.Process(target=work, args=(life.environment,))
    last.start()
    last.join(LIMIT_S)
    code = last.exitcode
    last.kill()
    last.join()
    promise(code == 0, f"the last worker ended with {code}: {_log(life)}")


def work(environment: Mapping[str, str], transcript: str | None = None) -> None:
    """The worker, in a process of its own; with a *transcript* the command that learns from this one."""
    os.environ.clear()
    os.environ.update(environment)
    learner.CHUNK_CHARS = _ROOM_CHARS
    if transcript is None:
        worker.main()
    else:
        with contextlib.redirect_stdout(io.StringIO()):
            sys.exit(playbook(["learn", transcript]))


def _check_end(life: _Life, found: Learning) -> None:
    """Check what must hold once everything has been learned from."""
    rows = _rows(life, "SELECT state, error FROM jobs")
    promise(rows == [("done", None)] * len(rows) and rows, f"a job is stuck: {rows}\n{_log(life)}")
    _, done = _kept(life)
    promise(done == set(life.chunks), f"not learned from: {sorted(set(life.chunks) - done)}")
    _check_counts(life)
    with sandbox.opened(life.folder) as (_, project):
        text = import_export.export_playbook(project).encode()
        promise(Path(project.mirror_path).read_bytes() == text, "the mirror was left behind")
    promise(not _log(life), f"the worker's log tells: {_log(life)}")
    asked = Counter(life.asked())
    for kind in ("reflect", "curate"):
        found.asked_again[kind] += sum(asked[kind, chunk] - 1 for chunk in life.chunks)
    of_each = Counter(chunk for _, chunk in asked.elements())
    found.calls_for_a_chunk.update(of_each.values())
    found.chunks += len(life.chunks)


def _check_counts(life: _Life) -> None:
    check_counts(partial(_rows, life))


def check_counts(ask: Callable[[str], list[Any]]) -> set[str]:
    """Votes, operations and revisions are those of the chunks that were learned from: each once, all of each; which
    these are. *ask* asks the playbook's database."""
    done = sorted(kept(ask)[1])
    ((helpful,),) = ask(f"SELECT helpful FROM key_points WHERE name = '{BALLOT}'")
    promise(helpful == len(done), f"{BALLOT} has {helpful} votes after {len(done)} chunks")
    for what, query in (
        ("votes", "SELECT rationale FROM votes WHERE rationale IS NOT NULL"),
        ("added", "SELECT text FROM key_points WHERE section = 'pref'"),
        ("edited", "SELECT text FROM changes WHERE kind = 'edit'"),
        ("deleted", "SELECT reason FROM changes WHERE kind = 'retire'"),
        ("revisions", "SELECT curator_reasoning FROM reflections WHERE revision IS NOT NULL"),
    ):
        told = sorted(_chunks_in(str(row)) for (row,) in ask(query))
        promise(told == done, f"{what}: {Counter(told) - Counter(done)} too many, {Counter(done) - Counter(told)} lost")
    skipped = ask("SELECT operation, reason FROM skipped_operations")
    promise(not skipped, f"operations came twice: {skipped}")
    return set(done)


def _twins(folder: Path, rounds: int, found: Learning) -> None:
    """Two workers begin at the same instant, again and again: one works, and nothing is done twice."""
    with MessagesApi(*model(random.Random(rounds))) as api:
        life = _Life(folder, api, tuple(_queue(folder, rounds, 1, queued=False)))
        works = [
            (_work_in_rounds, {"folder": str(folder), "rounds": rounds, "queues": queues}) for queues in (True, False)
        ]
        both = crowd.together(works, life.environment)
        for number, done in enumerate(zip(*both, strict=True)):
            promise(sorted(done, key=str) in ([1, None], [0, 1]), f"round {number}: the twins did {done}")
            found.twins_that_left += None in done
        _check_end(life, Learning())
        promise(len(api.messages()) == 2 * rounds, f"{len(api.messages())} calls for {rounds} chunks")
        tries = _rows(life, "SELECT DISTINCT attempts FROM jobs")
        promise(tries == [(1,)], f"a job was claimed more than once: {tries}")
    found.twins = rounds


def _work_in_rounds(begin: Callable[[], object], folder: str, rounds: int, queues: bool) -> list[int | None]:
    """The lessons of the worker in each round, or None if it left the work to the other one.

    One of them *queues* the job of each round first.
    """
    import anthropic  # noqa: F401 - it costs most of a second, once

    counts: list[int | None] = []
    for number in range(rounds):
        if queues:
            with sandbox.opened(Path(folder)) as (store, project):
                queue.take_in(store, project.key, end_of(Path(folder), number))
        begin()
        done = worker.run(sandbox.database_url(Path(folder)))
        counts.append(done and done.learned)
        begin()  # nobody goes on before both are through
    return counts


def _ends(folder: Path, count: int, found: Learning) -> None:
    """*count* sessions end at once, each with its hook, which starts a worker; whatever waits then, the next takes."""
    with MessagesApi(*model(random.Random(count))) as api:
        life = _Life(folder, api, tuple(_queue(folder, count, 1, queued=False)))
        command = [sys.executable, "-I", "-S", str(sandbox.ROOT / "hooks" / "enqueue.py"), "user", sys.executable]
        waiting = list(range(count))
        for _ in range(
            _MOST_ENDS
        ):  # on a busy machine a hook's own signal may end it first; then the session ends again
            began = time.monotonic()
            hooks = [subprocess.Popen(command, env=life.environment, stdin=subprocess.PIPE) for _ in waiting]
            for number, hook in zip(waiting, hooks, strict=True):
                assert hook.stdin is not None
                with contextlib.suppress(BrokenPipeError):
                    hook.stdin.write(json.dumps(end_of(folder, number)).encode())
                    hook.stdin.close()
            codes = [hook.wait(LIMIT_S) for hook in hooks]
            promise(set(codes) <= set(HOOK_ENDS), f"a hook failed: {codes}")
            found.slowest_end_s = max(found.slowest_end_s, time.monotonic() - began)
            waiting = [number for number, code in zip(waiting, codes, strict=True) if code]
            found.cut_short += len(waiting)
        promise(not waiting, f"{len(waiting)} hooks were ended by their own signal {_MOST_ENDS} times")
        with sandbox.living_in(life.environment):
            wait_until(lambda: not worker.is_at_work(), "the worker hangs")
            for _ in range(2):  # a busy machine may begin the hooks' worker late, and the last one leaves then
                time.sleep(1.0)
                wait_until(lambda: not worker.is_at_work(), "the worker hangs")
                _let_end(life)
        _check_end(life, Learning())
        promise(len(api.messages()) == 2 * count, f"{len(api.messages())} calls for {count} chunks")
    found.ends_at_once = count


def _queue(folder: Path, jobs: int, chunks: int, *, queued: bool = True) -> Iterable[str]:
    """A project in *folder* with what `fill` makes and *jobs* of so many *chunks*, which come back."""
    with sandbox.opened(folder) as (store, project):
        names = [f"{job}.{chunk}" for job in range(jobs) for chunk in range(chunks)]
        fill(project, names)
        mirror.switch(project, on=True)
        end_sessions(folder, range(jobs), chunks)
        for job in range(jobs) if queued else ():
            queue.take_in(store, project.key, end_of(folder, job))
    return names


def fill(project: Project, chunks: Iterable[str]) -> None:
    """A point to vote on, one to reword, and one to delete for each of *chunks*."""
    for text in ("the ballot", "the one that is reworded"):
        edit.add(project, text, section="PATTERNS & APPROACHES")
    for chunk in chunks:
        edit.add(project, f"an errand to be deleted after {chunk}", section="MISTAKES TO AVOID")


def end_sessions(folder: Path, jobs: Iterable[int], chunks: int) -> None:
    """The transcripts of sessions in *folder*, of so many *chunks* each."""
    for job in jobs:
        session = TranscriptBuilder(f"s-{job}")
        for chunk in range(chunks):
            session.user(f"errand {job}.{chunk}: " + "and so on " * 90)
            session.assistant(f"Following [{BALLOT}].")
        session.write(Path(end_of(folder, job)["transcript_path"]))


def end_of(folder: Path, number: int) -> dict[str, str]:
    """The end of the session *number*, as a hook hears it and as a job."""
    path = folder / f"s-{number}.jsonl"
    cwd = str(sandbox.project_folder(folder))
    return {
        "hook_event_name": "SessionEnd",
        "reason": "other",
        "session_id": f"s-{number}",
        "transcript_path": str(path),
        "cwd": cwd,
    }


def model(rng: random.Random) -> tuple[Rule, Rule]:
    """A model that takes its time and whose answers name their chunk everywhere."""

    def reflected(request: Request) -> Answer:
        chunk = _about(request)[1]
        tags = [{"name": BALLOT, "tag": "helpful", "rationale": f"in {chunk}"}]
        return _said({"analysis": f"Errand-{chunk} went well.", "bullet_tags": tags})

    def curated(request: Request) -> Answer:
        chunk = _about(request)[1]
        deleted = re.findall(rf"\[(mis-\d+)\][^\n]*to be deleted after {re.escape(chunk)}\n", request.last_said + "\n")
        asked: list[dict[str, Any]] = [
            {"type": "ADD", "text": f"lesson of errand {chunk}", "section": "USER PREFERENCES"},
            {"type": "UPDATE", "target_id": EDITED, "text": f"reworded after errand {chunk}"},
            {"type": "DELETE", "target_id": deleted[0] if deleted else "none", "reason": f"after {chunk}"},
        ]
        return _said({"reasoning": f"after {chunk}", "operations": asked})

    def _said(content: object) -> Answer:
        return Answer(json.dumps(content), delay_s=rng.uniform(0, 2 * _DELAY_S))

    return Rule(quoting(reflected), when=_is_reflector), Rule(quoting(curated))


def _is_reflector(request: Request) -> bool:
    return "bullet_tags" in json.dumps(request.body)


def _about(request: Request) -> tuple[str, str]:
    """The kind of call that *request* is, and the chunk that it is about."""
    if _is_reflector(request):
        (chunk,) = re.findall(r"errand (\d+\.\d+):", request.last_said)
        return "reflect", chunk
    (chunk,) = re.findall(r"Errand-(\d+\.\d+) went", request.last_said)
    return "curate", chunk


def _kept(life: _Life) -> tuple[set[str], set[str]]:
    return kept(partial(_rows, life))


def kept(ask: Callable[[str], list[Any]]) -> tuple[set[str], set[str]]:
    """The chunks of which a reflection is kept, and those that were learned from."""
    rows = ask("SELECT analysis, finished_at IS NOT NULL FROM reflections")
    told = [(_chunks_in(analysis), done) for analysis, done in rows]
    promise(len({chunk for chunk, _ in told}) == len(told), f"a chunk was reflected on twice: {told}")
    return {chunk for chunk, _ in told}, {chunk for chunk, done in told if done}


def _phase(life: _Life, asked: list[tuple[str, str]]) -> str:
    """What was under way when the worker was killed that had *asked* so much."""
    if not asked:
        return "before a request"
    kind, chunk = asked[-1]
    known, done = _kept(life)
    if kind == "curate":
        return "between chunks" if chunk in done else "curating"
    return "between the calls" if chunk in known else "reflecting"


def _chunks_in(text: str) -> str:
    """The chunk that *text* names."""
    (chunk,) = re.findall(r"\d+\.\d+", text)
    return str(chunk)


def _rows(life: _Life, query: str) -> list[Any]:
    with closing(sqlite3.connect(sandbox.database_path(life.folder))) as connection:
        return connection.execute(query).fetchall()


def environment_of(folder: Path, api: MessagesApi) -> dict[str, str]:
    return {
        **sandbox.environment(folder),
        "ANTHROPIC_BASE_URL": api.url,
        "ANTHROPIC_API_KEY": "sk-ant-test",
        "AGENTIC_CONTEXT_BACKEND": "api",
    }


def _log(life: _Life) -> str:
    path = os.path.join(life.environment["CLAUDE_CONFIG_DIR"], "playbook", "logs", "worker.log")
    return Path(path).read_text(encoding="utf-8") if os.path.exists(path) else ""


def wait_until(wanted: Callable[[], object], problem: str) -> None:
    end = time.monotonic() + LIMIT_S
    while not wanted():
        promise(time.monotonic() < end, f"{problem} for {LIMIT_S:g} s")
        time.sleep(0.002)
