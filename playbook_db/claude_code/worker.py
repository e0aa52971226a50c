"""The worker: what the hooks leave to be done, done apart from any session. One at a time for each data folder.

Hooks start it as a program; `playbook work` calls `run`. It takes in the spool, brings mirrors in step that changed
under us, finds sessions that ended without a word, learns from what waits, clears away what erasures left in the file's
bytes, works the write-ahead log into the database, so that the next hook opens it quickly, and takes the daily backup.
It ends when there is nothing left, or its time is over.
"""

import contextlib
import gc
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
from playbook_db.claude_code.hooks.events import session_folder_name
from playbook_db.claude_code.hooks.hook_runner import append_line
from playbook_db.claude_code.setup import guards
from playbook_db.claude_code.transcripts.transcript import session_of
from playbook_db.domain.redaction.redact import redact_message
from playbook_db.errors import (
    AccountError,
    BudgetError,
    DatabaseError,
    MissingExtraError,
    ModelError,
    NoModelError,
    PlaybookError,
    RefusalError,
    ServerAwayError,
    SettingError,
    TemplateError,
    TimeOverError,
    WithheldError,
)
from playbook_db.files import alone
from playbook_db.services import maintenance
from playbook_db.services.learning import queue
from playbook_db.services.learning.budget import check_budget
from playbook_db.services.opening import of_team
from playbook_db.services.playbook import forget
from playbook_db.services.project import Project, Servers, Store, open_store
from playbook_db.services.sharing import mirror, team

if TYPE_CHECKING:
    from playbook_db.llm.model import Model
    from playbook_db.store.quick_sql import Job

MAX_MINUTES = 30  # alive; what remains then waits for the next worker
SILENT_S = 3600.0  # a transcript that grew later than that may belong to a session that goes on
_LAST_WORDS_S = 60.0  # that a transcript may grow after its session's end was noted
_FORGET_START_S = 30 * 86400.0  # after which nobody waits for a session's end; Claude Code keeps transcripts as long
_KEEP_TOUCHED_S = 7 * 86400.0  # since a session last touched a new file
_ROUNDS = 3  # times that the spool is read: a job may come in while the last round is under way
_LATE_S = 0.2  # so much later a subagent's transcript, or its last line, may come
_WAIT_S = 3600.0  # of a job for what isn't its own fault; each worker looks again when it begins
AWAY_WAIT_S = 10.0, 30.0  # between which a team's server is asked once more in the same run, each machine at its time
_OTHER_WORKER_WAIT_S = 60.0  # for one that another session starts
_LAST_LINES = 20  # of the log, in which what stays wrong isn't said again
_WAITED_FOR = (
    NoModelError, AccountError, BudgetError, SettingError, TemplateError, TimeOverError, DatabaseError,
    MissingExtraError,
)  # fmt: skip


@dataclass(slots=True)
class WorkResult:
    """What a run of the worker did: jobs taken in from the spool, mirrors taken in, replicas of teams' playbooks
    written anew, lost sessions queued, jobs learned from, put off and failed, those that wait for a team's server
    (`away`); `changed` are the keys of the projects whose playbooks got revisions."""

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
    """Work until nothing is left, and end; what goes wrong is noted in the log alone."""
    gc.set_threshold(settings.COLLECT_AFTER)
    try:
        if not settings.is_disabled():
            run(settings.database_url())
    except Exception as error:  # the outer door: nobody is there to read a traceback
        note(_described(error))
        sys.exit(1)


def run(url: str) -> WorkResult | None:
    """Do what waits for the database at *url*; None where another worker is at it. Raises DatabaseError."""
    result, models = WorkResult(), _Models()
    ends_at = time.monotonic() + MAX_MINUTES * 60
    has_waited = False
    for _ in range(_ROUNDS):
        with alone(settings.worker_lock()) as is_alone:
            if not is_alone:
                return None
            _work(url, result, models, ends_at)
        if result.away and not has_waited:
            has_waited = True
            time.sleep(random.uniform(*AWAY_WAIT_S))  # noqa: S311 - no secret hangs on it
        elif time.monotonic() > ends_at or not _has_come_in(url):
            break
    return result


def is_at_work() -> bool:
    """Whether a worker is at work just now."""
    if not os.path.exists(settings.worker_lock()):
        return False
    with alone(settings.worker_lock()) as is_alone:
        return not is_alone


def note(problem: str) -> None:
    """Keep one line about what went wrong in the worker's log."""
    append_line(_log(), f"worker: {redact_message(problem, os.environ)}")


def _log() -> str:
    return os.path.join(settings.logs_dir(), "worker.log")


def _note_once(problem: str) -> None:
    """The same, unless the log's end says it already: of what each run comes upon until somebody mends it."""
    try:
        content = projects.read_plain(_log(), settings.MAX_FILE_BYTES)
    except OSError:
        content = b""
    last = content.decode("utf-8", "replace").splitlines()[-_LAST_LINES:]
    line = f"worker: {' '.join(redact_message(problem, os.environ).split())[:1000]}"
    if not any(line in each for each in last):
        note(problem)


def take_in_spool(store: Store) -> int:
    """Take in what waits in the spool, before anything is learned: whether a session was shown a point counts there.
    How many jobs were queued with that."""
    return sum(_take_in(store, path) for path in spool.waiting())


def find_lost_sessions(store: Store) -> Iterator[tuple[str, dict[str, str | None]]]:
    """The projects and jobs of the sessions whose end nobody noted, as after a kill or on a full disk: transcripts that
    grew since they were learned from, wait in no queue, and have been silent for SILENT_S.

    Their starts are on record. All others, such as those from before the installation, are for `playbook bootstrap`.
    """
    known: dict[str, tuple[Mapping[str, int], Collection[str]] | None] = {}
    for path in spool.waiting((spool.STARTED, spool.ENDED)):
        try:
            noted_at = os.stat(path).st_mtime
            start = json.loads(projects.read_plain(path))
            key, folder, transcript = (str(start[name]) for name in ("project", "folder", "transcript_path"))
        except (OSError, ValueError, LookupError, TypeError, RecursionError):
            continue  # a hook was killed while it wrote it, or has just renamed it
        is_over = path.endswith(spool.ENDED)
        until = noted_at + _LAST_WORDS_S if is_over else math.inf
        if key not in known:
            known[key] = queue.known_transcripts(store, key)
        cursors, with_jobs = known[key] or ({}, ())
        for each in _transcripts_of(projects.as_path(transcript)) if known[key] and os.path.isdir(folder) else ():
            if each not in with_jobs and _is_lost(each, cursors.get(each, 0), until, folder):
                parent = transcript if _is_subagents(each) else None
                job = {"session_id": session_of(each), "transcript_path": each, "parent_path": parent}
                yield key, {**job, "reason": "found"}
        kept_s = SILENT_S + _LAST_WORDS_S if is_over else _FORGET_START_S
        if known[key] is None or time.time() - noted_at > kept_s:
            with contextlib.suppress(OSError):
                os.unlink(path)


def list_transcripts(key: str) -> list[str]:
    """All transcripts that Claude Code keeps of sessions in the folder *key*, subagents' included, oldest first."""
    patterns = ("*.jsonl", os.path.join("*", "subagents", "*.jsonl"))
    folder = glob.escape(os.path.join(settings.claude_dir(), "projects", session_folder_name(key)))
    paths = [path for each in patterns for path in glob.iglob(os.path.join(folder, each), include_hidden=True)]
    return sorted(filter(os.path.isfile, paths), key=lambda path: (os.stat(path).st_mtime, path))


_Environment = frozenset[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class _Models:
    """The models of one run by the environment that names them, which a project may bring; in the place of one whose
    account has refused, why: it is asked once a run."""

    by_environment: dict[_Environment, "Model | AccountError"] = field(default_factory=dict)

    def of(self, folder: str) -> "Model":
        """The model for the project in *folder*. Raises NoModelError, SettingError, AccountError."""
        from playbook_db.llm import choose

        environment = self._environment(folder)
        if environment not in self.by_environment:
            self.by_environment[environment] = choose.find_model(folder)
        model = self.by_environment[environment]
        if isinstance(model, AccountError):
            raise model
        return model

    def note_refusal(self, folder: str, error: AccountError) -> None:
        """Let nobody else ask the model for the project in *folder*."""
        self.by_environment[self._environment(folder)] = error

    def _environment(self, folder: str) -> _Environment:
        return frozenset(project_env.job_environment(folder).items())


def _work(url: str, result: WorkResult, models: _Models, ends_at: float) -> None:
    spool.keep_reserve()
    _tidy_touched()
    with contextlib.suppress(OSError):
        os.utime(settings.worker_lock())  # says to the hook of SessionStart when a worker last was at work
    with open_store(url) as store, Servers() as servers:
        queue.release_all(store)  # no other worker is alive
        if not models.by_environment or result.away:  # nobody was asked in this run yet, or a server is asked again
            queue.release_waiting(store)
            result.put_off = result.away = 0
        result.spooled += take_in_spool(store)
        result.replicas += len(team.serve(store, servers, _note_once))  # first: a session's first prompt may need it
        _sync(store, result)
        result.lost += sum(queue.take_in(store, key, job) for key, job in find_lost_sessions(store))
        if _learn(store, servers, result, models, ends_at):
            _sync(store, result)
            result.replicas += len(team.serve(store, servers, _note_once))
        try:
            forget.finish_waiting(store)
        except PlaybookError as error:  # somebody still reads it; the next worker tries again
            note(f"what was forgotten is still in the bytes of the database or a backup: {error}")
        try:
            guards.remove_retired(store)
        except PlaybookError as error:  # a settings file that can't be edited; the guard says nothing without its point
            _note_once(str(error))
        store.tidy()
    try:
        maintenance.take_daily(url)
    except (PlaybookError, OSError) as error:  # what was learned is kept all the same
        note(f"no backup was taken: {error}")


def _tidy_touched() -> None:
    """Remove what is kept of the files that sessions touched, of those that a compaction or a week has made old."""
    with contextlib.suppress(OSError):
        for session in os.scandir(settings.touched_dir()):
            if "." in session.name or time.time() - session.stat().st_mtime > _KEEP_TOUCHED_S:
                shutil.rmtree(session.path, ignore_errors=True)


def _has_come_in(url: str) -> bool:
    """Whether something waits that came after the last round, from a hook whose own worker found this one at work."""
    if spool.waiting():
        return True
    with open_store(url) as store:
        return queue.is_any_due(store)


def _take_in(store: Store, path: str) -> bool:
    """Take in the spool file at *path* and remove it, and whether a job was queued with that; one that is neither a job
    nor a showing is moved out of the way."""
    is_queued = False
    try:
        content = json.loads(projects.read_plain(path))
        if not isinstance(content, dict) or not isinstance(content.get("project"), str):
            raise ValueError("it names no project")
        if content.get("kind") == spool.SHOWING:
            queue.take_in_showing(store, content["project"], content)
        else:
            texts = {name: value for name, value in content.items() if isinstance(value, str)}
            is_queued = queue.take_in(store, content["project"], texts)
        store.to_disk()
    except FileNotFoundError:
        return False
    except (ValueError, RecursionError) as error:
        with contextlib.suppress(FileNotFoundError):  # another process had it, too
            os.replace(path, path + ".unreadable")
        note(f"{path} holds neither a job nor a showing ({error}); it was moved to {path}.unreadable")
        return False
    except (PlaybookError, OSError) as error:
        note(f"{path} waits on: {error}")
        return False
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    return is_queued


def _sync(store: Store, result: WorkResult) -> None:
    for synced in mirror.sync_changed(store):
        if synced.result is not None:
            result.mirrors += 1
            result.changed.append(synced.result.key)
        for message in synced.notes:
            note(message)


def _learn(store: Store, servers: Servers, result: WorkResult, models: _Models, ends_at: float) -> bool:
    """Learn from the jobs that are due, one after the other; whether there was any."""
    was_any = False
    while time.monotonic() < ends_at and (job := queue.claim(store)) is not None:
        was_any = True
        project = Project.in_folder(store, job.key)
        try:
            if job.agent_id is not None:
                time.sleep(_LATE_S)
            path = job.transcript_path or ""
            if not os.path.exists(path):  # a session in which nothing was said leaves none
                queue.finish(store, job)
            else:
                with of_team(project, servers) as playbook:
                    _learn_from(playbook, path, job, result, models, ends_at)
            result.learned += 1
        except _WAITED_FOR as error:
            if isinstance(error, AccountError):
                models.note_refusal(job.key, error)
            queue.put_off(store, job, str(error), until=_until(error))
            result.put_off += 1
            result.away += isinstance(error, ServerAwayError)
        except Exception as error:  # whatever it is, the other jobs must have their turn
            for_good = isinstance(error, ModelError) and error.is_lasting
            reason = queue.note_failure(store, job, _described(error), for_good=for_good)
            note(f"job {job.id} of {job.key}: {reason}")
            result.failed += 1
    return was_any


def _learn_from(project: Project, path: str, job: "Job", result: WorkResult, models: _Models, ends_at: float) -> None:
    if learner.pass_over(project, path):
        return queue.finish(project.own.store, job)
    check_budget(project)
    model = models.of(job.key)
    done = learner.learn_transcript(project, path, model, finishes=job, until=ends_at)
    result.changed += [job.key] * bool(done.revisions)
    if done.refused:
        raise RefusalError(" ".join(done.refused))
    return None


def _described(error: Exception) -> str:
    """The sentence of our own error; of any other, which is a bug, its type too."""
    return str(error) if isinstance(error, PlaybookError) else f"{type(error).__name__}: {error}"


def _until(error: PlaybookError) -> str | None:
    """Until when a job waits because of *error*; None: until the next worker."""
    if isinstance(error, BudgetError):
        return error.until
    if isinstance(error, TimeOverError):
        return None
    return queue.later(_OTHER_WORKER_WAIT_S if isinstance(error, WithheldError) else _WAIT_S)


# Where Claude Code keeps transcripts: a folder for each project's folder, and one below each session for its subagents.


def _transcripts_of(path: str) -> list[str]:
    """Those of the subagents of the session whose transcript is at *path*, and that one."""
    pattern = os.path.join(glob.escape(os.path.splitext(path)[0]), "subagents", "*.jsonl")
    return [*filter(os.path.isfile, (*sorted(glob.iglob(pattern, include_hidden=True)), path))]


def _is_subagents(path: str) -> bool:
    return os.path.basename(os.path.dirname(path)) == "subagents"


def _is_lost(path: str, learned_to: int, until: float, folder: str) -> bool:
    """Whether the transcript at *path* has more than was *learned_to*, all of it from before *until*, has been silent
    since, and may be learned from however the session in *folder* ended: nobody knows if it was cleared or killed."""
    status = os.stat(path)
    if status.st_size <= learned_to or status.st_mtime > min(until, time.time() - SILENT_S):
        return False
    if settings.is_disabled({**os.environ, **project_env.project_variables(folder)}):
        return False
    ends = ("subagent_stop",) if _is_subagents(path) else ("exit", "clear")
    return all(registration.is_on(f"playbook_update_on_{end}", folder) for end in ends)


if __name__ == "__main__":
    main()
