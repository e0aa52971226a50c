"""The hook of PreCompact, SubagentStop and SessionEnd, which queues the session's transcript for learning.

Started by `hooks/enqueue.py`. Standard library only. The job is a row in the database, or a file in the spool if the
database can't be written. The worker does the rest in the background. The hook never prints anything, because the
client adds the output of PreCompact to the summary.
"""

import os

from playbook_db import project_env, projects, settings
from playbook_db.claude_code import registration
from playbook_db.claude_code.hooks import hook_runner, spool, worker_start
from playbook_db.store import sqlite_open
from playbook_db.store.queries import hook_queries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

DEADLINE_S = 1.0  # of the 1.5 s that Claude Code gives at a session's end
_WAIT_S = 0.2  # for a database that somebody holds
_END = "SessionEnd"


def main() -> "NoReturn":
    """Answer the event on standard input. The arguments are the hook's scope and the worker's Python."""
    hook_runner.run("enqueue", _work, silence=b"", deadline_s=DEADLINE_S, spool=_spool)


def _work(hook: hook_runner.Hook) -> None:
    job = _job(hook)
    if job is None:
        return
    hook.pending = [job]
    why = _store(job)
    if why is None or _spool(hook, job, why):
        hook.pending = []
        if (job["reason"] or "").startswith(_END):
            spool.note_end(job["session_id"] or "", is_kept=True)
    worker_start.start(hook, projects.as_path(job["folder"] or ""))


def _job(hook: hook_runner.Hook) -> "dict[str, str | None] | None":
    """Return the job for the event on standard input, or None if there is nothing to learn from."""
    read = hook_runner.read(hook, ("PreCompact", "SubagentStop", "SessionEnd"), "nothing was queued")
    if read is None:
        return None
    event, folder = read
    name = event.hook_event_name or ""
    if not _may_be_learned_from(event, folder):
        if name == _END:
            spool.note_end(event.session_id or "", is_kept=False)
        return None
    if registration.answers_elsewhere(name, registration.own_scope(), folder):
        return None
    path, parent = event.transcript_path, None
    if name == "SubagentStop":
        path, parent = event.agent_transcript_path, path
        if not event.agent_type and not (path and os.path.exists(projects.as_path(path))):
            return None  # a compaction's own agent; it leaves no transcript
    if not path:
        hook.note(f"{name} named no transcript; nothing was queued")
        return None
    detail = event.reason or event.trigger or event.agent_type
    start = {} if os.path.isdir(folder) else spool.read_start(event.session_id or "")
    return {
        "project": start.get("project") or projects.project_key(projects.project_of(folder)),
        "folder": projects.as_text(folder),
        "session_id": event.session_id,
        "transcript_path": path,
        "parent_path": parent,
        "agent_id": event.agent_id,
        "reason": f"{name}:{detail}" if detail else name,
        "queued_at": hook_runner.timestamp(),
    }


def _may_be_learned_from(event: hook_runner.Event, folder: str) -> bool:
    """Return whether the user's settings allow learning from *event*."""
    if event.hook_event_name == "PreCompact":
        return True
    end = "clear" if event.reason == "clear" else "exit"
    if event.hook_event_name == "SubagentStop":
        end = "subagent_stop"
    return registration.is_on(f"playbook_update_on_{end}", folder)


def _store(job: "dict[str, str | None]") -> "str | None":
    """Queue *job* in the database. Return None if that worked, else the reason, or `""` without a database."""
    path, folder = None, projects.as_path(job["folder"] or "")
    try:
        path = settings.sqlite_file(project_env.database_url(folder))
        if path is None or not os.path.exists(path):
            return ""  # it doesn't exist yet, or a hook can't open it
        connection = sqlite_open.connect(path, wait_s=_WAIT_S)
        sqlite_open.allow_writes(connection)
        if os.path.isdir(folder):  # else the session's start knows the project
            job["project"] = hook_queries.place_of(connection.execute, folder)[1]
        hook_queries.add_job(connection, job["project"] or "", job, now=job["queued_at"] or "")
    except Exception as error:  # whatever the driver or the disk may raise; the spool takes it
        return f"{path}: {error}" if path else str(error)
    return None


def _spool(hook: hook_runner.Hook, job: "dict[str, str | None]", why: str) -> bool:
    """Write *job* to the spool and *why* to the log. Return whether that worked."""
    try:
        path = spool.keep(job)
    except OSError as error:
        hook.note(
            f"{job['transcript_path']} is not queued: {why or 'there is no database yet'}, and "
            f"{settings.spool_dir()} can't be written either ({error.strerror})"
        )
        return False
    if why:
        hook.note(f"{why}; the job waits in {path}")
    return True
