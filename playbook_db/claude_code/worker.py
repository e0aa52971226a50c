"""The background worker, which learns from the queued transcripts. Each data folder has at most one at a time.

Hooks start it as a program; `playbook work` calls `run`. It reads the spool, syncs mirrors and teams' replicas, finds
sessions whose end no hook recorded, and learns from transcripts that are due. It also finishes erasures and makes the
daily backup. It merges the write-ahead log into the database, so that the next hook opens it quickly. It ends if
nothing is left to do, or after half an hour.
"""

import contextlib
import functools
import glob
import json
import math
import os
import random
import shutil
import sys
import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from playbook_db import project_env, projects, settings
from playbook_db.claude_code import learner, registration
from playbook_db.claude_code.hooks import spool
from playbook_db.claude_code.hooks.hook_runner import append_line
from playbook_db.claude_code.setup import guards
from playbook_db.claude_code.transcripts.finding import is_subagents, present_path
from playbook_db.claude_code.transcripts.transcript import session_of
from playbook_db.domain.redaction.redact import redact_message
from playbook_db.errors import (
    AccountError,
    BudgetError,
    DatabaseError,
    ModelError,
    NoModelError,
    OtherProjectError,
    PlaybookError,
    RefusalError,
    ServerAwayError,
    SettingError,
)
from playbook_db.files import alone
from playbook_db.services import identity, maintenance
from playbook_db.services.learning import queue
from playbook_db.services.learning.budget import check_budget
from playbook_db.services.opening import join_strays, of_team
from playbook_db.services.playbook import forget
from playbook_db.services.project import Project, Servers, Store, open_store, place_of
from playbook_db.services.sharing import mirror, team

if TYPE_CHECKING:
    from playbook_db.llm.model import Model
    from playbook_db.store.queries.list_queries import Job

MAX_MINUTES = 30  # of one worker; the rest waits for the next one
SILENT_S = 3600.0  # a transcript that grew within this time may belong to a running session
_LAST_WORDS_S = 60.0  # for which a transcript may grow after its session's end was recorded
_FORGET_START_S = 30 * 86400.0  # after which nobody waits for a session's end; Claude Code keeps transcripts as long
_KEEP_TOUCHED_S = 7 * 86400.0  # since a session last touched a new file
_ROUNDS = 3  # how often the spool is read: a job may arrive meanwhile
_LATE_S = 0.2  # a subagent's transcript, or its last line, may be written so much later
_WAIT_S = 3600.0  # of a job that is put off; each worker tries it again when it starts
AWAY_WAIT_S = 10.0, 30.0  # between which a team's server is asked again in the same run, each machine at its own time
_OTHER_WORKER_WAIT_S = 60.0  # for a worker that another session starts
_LAST_LINES = 20  # of the log; a problem in them isn't logged again
_WAITED_FOR = NoModelError, AccountError, BudgetError, SettingError, DatabaseError


@dataclass(slots=True)
class WorkResult:
    """The result of a run of the worker.

    All fields but `changed` are numbers: jobs read from the spool, updated replicas and mirrors, and `lost` sessions
    that were found and queued. Jobs that were tried are `learned` from, `failed` or `put_off`; `away` counts those that
    wait for a team's server. `changed` has the keys of projects with new revisions.
    """

    spooled: int = 0
    replicas: int = 0
    mirrors: int = 0
    lost: int = 0
    learned: int = 0
    put_off: int = 0
    away: int = 0
    failed: int = 0
    changed: list[str] = field(default_factory=list, compare=False)


def main() -> None:
    """Run the worker as a program. It reports problems only in its log."""
    try:
        if not settings.is_disabled():
            run(settings.database_url())
    except Exception as error:  # the outer door: nobody is there to read a traceback
        note(_described(error))
        sys.exit(1)


def run(url: str) -> WorkResult | None:
    """Do the waiting work for the database at *url*. Return None if another worker runs. Raises DatabaseError."""
    result = WorkResult()
    models: _Models = {}
    ends_at = time.monotonic() + MAX_MINUTES * 60
    has_waited = False
    for _ in range(_ROUNDS):
        with contextlib.ExitStack() as stack:
            with alone(settings.worker_lock()) as is_alone:
                if not is_alone:
                    return None
                _prepare()
                store = stack.enter_context(open_store(url))
                _work(store, url, result, models, ends_at)
            has_come_in = bool(spool.waiting()) or queue.is_any_due(store)  # hooks start no worker while this one runs
        if result.away and not has_waited:
            has_waited = True
            time.sleep(random.uniform(*AWAY_WAIT_S))  # noqa: S311 - no secret hangs on it
        elif time.monotonic() > ends_at or not has_come_in:
            break
    return result


def is_at_work() -> bool:
    """Return whether a worker is running now."""
    if not os.path.exists(settings.worker_lock()):
        return False
    with alone(settings.worker_lock()) as is_alone:
        return not is_alone


def note(problem: str, *, once: bool = False) -> None:
    """Append *problem* to the worker's log as a line. With *once*, skip it if it is among the last lines."""
    path = os.path.join(settings.logs_dir(), "worker.log")
    line = f"worker: {' '.join(redact_message(problem, os.environ).split())}"
    if once:
        with contextlib.suppress(OSError):
            content = projects.read_plain(path, settings.MAX_FILE_BYTES).decode("utf-8", "replace")
            if any(line[:1000] in each for each in content.splitlines()[-_LAST_LINES:]):
                return
    append_line(path, line)


def take_in_spool(store: Store) -> int:
    """Import the spool. Return how many jobs were queued. Learning needs its showings: only shown points are judged."""
    return sum(_take_in(store, path) for path in spool.waiting())


def find_lost_sessions(store: Store) -> Iterator[tuple[str, dict[str, str | None]]]:
    """Yield a project and a job for each session whose end no hook recorded, as after a kill or on a full disk.

    The start of such a session is recorded. Its transcript has grown since it was last learned from, has no job, and
    hasn't changed for SILENT_S seconds. `playbook bootstrap` handles all others, such as those before the installation.
    """
    known: dict[str, tuple[Mapping[str, int], Collection[str]] | None] = {}
    for path in spool.waiting((spool.STARTED, spool.ENDED)):
        try:
            noted_at = os.stat(path).st_mtime
            start = json.loads(projects.read_plain(path))
            folder, transcript = str(start["folder"]), present_path(projects.as_path(str(start["transcript_path"])))
            key = _key(store, {"project": str(start["project"]), "folder": folder})
        except (OSError, ValueError, LookupError, TypeError, RecursionError):
            continue  # a hook was killed while it wrote it, or has just renamed it
        is_over = path.endswith(spool.ENDED)
        until = noted_at + _LAST_WORDS_S if is_over else math.inf
        if key not in known:
            known[key] = queue.known_transcripts(store, key)
        cursors, with_jobs = known[key] or ({}, ())
        with_jobs = set(map(present_path, with_jobs))
        for each in _transcripts_of(transcript) if known[key] and not _is_gone(key, folder) else ():
            if each not in with_jobs and _is_lost(each, cursors.get(each, 0), until, folder):
                parent = transcript if is_subagents(each) else None
                job = {"session_id": session_of(each), "transcript_path": each, "parent_path": parent}
                yield key, {**job, "reason": "found", "folder": folder}
        kept_s = SILENT_S + _LAST_WORDS_S if is_over else _FORGET_START_S
        if known[key] is None or time.time() - noted_at > kept_s:
            with contextlib.suppress(OSError):
                os.unlink(path)


# The models by the environment that names them, maybe a project's; or the error if its account was refused.
_Models = dict[frozenset[tuple[str, str]], "Model | AccountError"]


def _environment(folder: str) -> frozenset[tuple[str, str]]:
    return frozenset(project_env.job_environment(folder).items())


def _model(folder: str, models: _Models) -> "Model":
    """Return the model for the project in *folder*. Raises NoModelError, SettingError, AccountError."""
    from playbook_db.llm import choose

    environment = _environment(folder)
    if environment not in models:
        models[environment] = choose.find_model(folder)
    model = models[environment]
    if isinstance(model, AccountError):
        raise model
    return model


def _prepare() -> None:
    """Remove the records of touched files that are older than a compaction or than a week."""
    with contextlib.suppress(OSError):
        for session in os.scandir(settings.touched_dir()):
            if "." in session.name or time.time() - session.stat().st_mtime > _KEEP_TOUCHED_S:
                shutil.rmtree(session.path, ignore_errors=True)
    with contextlib.suppress(OSError):
        os.utime(settings.worker_lock())  # tells the hook of SessionStart when a worker last ran


def _work(store: Store, url: str, result: WorkResult, models: _Models, ends_at: float) -> None:
    note_once = functools.partial(note, once=True)
    with Servers() as servers:
        asks_again = not models or result.away > 0  # nobody was asked in this run yet, or a server is asked again
        queue.release_all(store, ends_waits=asks_again)  # no other worker is alive
        if asks_again:
            result.put_off = result.away = 0
        join_strays(store, note)
        result.spooled += take_in_spool(store)
        result.replicas += len(team.serve(store, servers, note_once))  # first: a session's first prompt may need it
        _sync(store, result)
        result.lost += sum(queue.take_in(store, key, job) for key, job in find_lost_sessions(store))
        if _learn(store, servers, result, models, ends_at):
            _sync(store, result)
            result.replicas += len(team.serve(store, servers, note_once))
        try:
            forget.finish_waiting(store)
        except PlaybookError as error:  # somebody still reads it; the next worker tries again
            note(f"erased text is still in the file of the database or of a backup: {error}")
        guards.remove_retired(note_once)
        store.tidy()
    try:
        maintenance.take_daily(url)
    except (PlaybookError, OSError) as error:  # what was learned is kept all the same
        note(f"no backup was made: {error}")


def _take_in(store: Store, path: str) -> bool:
    """Import and remove the spool file at *path*. Return whether a job was queued. Rename an unreadable file."""
    is_queued = False
    try:
        content = json.loads(projects.read_plain(path))
        if not isinstance(content, dict) or not isinstance(content.get("project"), str):
            raise ValueError("it names no project")
        if content.get("kind") == spool.SHOWING:
            queue.take_in_showing(store, content["project"], content)
        else:
            texts = {name: value for name, value in content.items() if isinstance(value, str)}
            is_queued = queue.take_in(store, _key(store, texts), texts)
        store.to_disk()
    except FileNotFoundError:
        return False
    except (ValueError, RecursionError) as error:
        with contextlib.suppress(FileNotFoundError):  # another process had it, too
            os.replace(path, path + ".unreadable")
        note(f"{path} is not a valid file of the spool ({error}); it was renamed to {path}.unreadable")
        return False
    except (PlaybookError, OSError) as error:
        note(f"{path} waits on: {error}")
        return False
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    return is_queued


def _key(store: Store, content: Mapping[str, str]) -> str:
    """Return the key of the project of a session, from its record. If its folder is gone, its hooks knew it better."""
    folder = projects.as_path(content.get("folder", ""))
    return identity.settle(store, place_of(store, folder)[0]) if os.path.isdir(folder) else content["project"]


def _is_gone(key: str, folder: str) -> bool:
    """Return whether a session's project was in a temporary folder that is gone."""
    return all(projects.is_gone_for_good(projects.as_path(each)) for each in (key, folder))


def _sync(store: Store, result: WorkResult) -> None:
    for synced in mirror.sync_changed(store):
        if synced.result is not None:
            result.mirrors += 1
            result.changed.append(synced.result.key)
        for message in synced.notes:
            note(message)


def _learn(store: Store, servers: Servers, result: WorkResult, models: _Models, ends_at: float) -> bool:
    """Learn from the jobs that are due, one after the other. Return whether there were any."""
    was_any = False
    while time.monotonic() < ends_at and (job := queue.claim(store)) is not None:
        was_any = True
        try:
            _do(store, servers, job, result, models, ends_at)
            result.learned += 1
        except _WAITED_FOR as error:
            if isinstance(error, AccountError):
                models[_environment(projects.as_path(job.folder or job.key))] = error
            queue.put_off(store, job, str(error), until=_until(error))
            result.put_off += 1
            result.away += isinstance(error, ServerAwayError)
        except Exception as error:  # whatever it is, the other jobs must have their turn
            for_good = isinstance(error, ModelError) and error.is_lasting
            reason = queue.note_failure(store, job, _described(error), for_good=for_good)
            note(f"job {job.id} of {job.key}: {reason}")
            result.failed += 1
    return was_any


def _do(store: Store, servers: Servers, job: "Job", result: WorkResult, models: _Models, ends_at: float) -> None:
    project, path = Project.of_key(store, job.key), present_path(job.transcript_path or "")
    folder = projects.as_path(job.folder or job.key)
    if os.path.isdir(folder):
        identity.settle(store, place_of(store, folder)[0])
    if job.agent_id is not None:
        time.sleep(_LATE_S)
    if not os.path.exists(path):  # a session in which nothing was said leaves none
        return queue.finish(store, job, note=f"Claude Code left no transcript at {path}, so nothing was learned")
    if _is_gone(job.key, folder):
        return queue.finish(store, job, note=f"{folder} was temporary and is gone, so nothing was learned")
    with of_team(project, servers) as playbook:
        if learner.pass_over(playbook, path):
            return queue.finish(store, job)
        check_budget(playbook)
        model = _model(folder, models)
        done = learner.learn_transcript(playbook, path, model, folder=folder, finishes=job, until=ends_at)
        result.changed += [job.key] * bool(done.revisions)
        if done.refused:
            raise RefusalError(" ".join(done.refused))
    return None


def _described(error: Exception) -> str:
    """Return the text of *error*. An error that isn't a PlaybookError is a bug, so add its type."""
    return str(error) if isinstance(error, PlaybookError) else f"{type(error).__name__}: {error}"


def _until(error: PlaybookError) -> str | None:
    """Return the time at which a job is tried again after *error*. None means that the next worker tries it."""
    if isinstance(error, BudgetError):
        return error.until
    return queue.later(_OTHER_WORKER_WAIT_S if isinstance(error, OtherProjectError) else _WAIT_S)


def _transcripts_of(path: str) -> list[str]:
    """Return the transcripts of a session: first those of its subagents, then the session's own at *path*."""
    pattern = os.path.join(glob.escape(os.path.splitext(path)[0]), "subagents", "*.jsonl")
    return [*filter(os.path.isfile, (*sorted(glob.iglob(pattern, include_hidden=True)), path))]


def _is_lost(path: str, learned_to: int, until: float, folder: str) -> bool:
    """Return whether the transcript at *path* has over *learned_to* bytes, and hasn't grown after *until* or lately.

    The session in *folder* may have been cleared or killed, so its settings must allow learning after both.
    """
    status = os.stat(path)
    if status.st_size <= learned_to or status.st_mtime > min(until, time.time() - SILENT_S):
        return False
    if settings.is_disabled({**os.environ, **project_env.project_variables(folder)}):
        return False
    ends = ("subagent_stop",) if is_subagents(path) else ("exit", "clear")
    return all(registration.is_on(f"playbook_update_on_{end}", folder) for end in ends)


if __name__ == "__main__":
    main()
