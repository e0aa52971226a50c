"""The hook of SessionStart, which gives the session its playbook. If in doubt, it prints nothing.

Started by `hooks/inject.py`. Standard library only. It opens the database read-only. Afterwards it records which points
were shown: in the database, or in the spool if the database is locked.
"""

import os
import sys
import time

from playbook_db import project_env, projects, settings
from playbook_db.claude_code.hooks import hook_runner, session_message, showing, spool
from playbook_db.store import at_hand, hook_sql

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn


DEADLINE_S = 0.3
_WORKER_EVERY_S = 3600.0
_REPLICA_FOR_S = 60.0  # for which a team's playbook counts as current
_WAIT_S = 0.05  # for a database that somebody holds; another process that recovers the log needs no longer
EVENT = "SessionStart"


def main() -> "NoReturn":
    """Answer the event on standard input. The arguments are the hook's scope and the worker's Python."""
    hook_runner.run("inject", _work, silence=showing.SILENCE, deadline_s=DEADLINE_S, spool=showing.keep_in_spool)


def _work(hook: hook_runner.Hook) -> None:
    read = hook_runner.read(hook, (EVENT,), "no playbook was shown")
    if read is None:
        return
    event, folder = read
    if sys.argv[1:2] != ["user"]:  # the user's own settings always answer
        from playbook_db.claude_code import registration

        if registration.answers_elsewhere(EVENT, registration.own_scope(), folder):
            return
    _answer(hook, event, folder)


def _answer(hook: hook_runner.Hook, event: hook_runner.Event, folder: str) -> None:
    """Give the session in *folder* its playbook, and start the worker if jobs wait."""
    path = settings.sqlite_file(project_env.database_url(folder))
    work_waits = bool(spool.waiting()) or _is_set_up_missing() or _is_worker_overdue()
    book = shown = None
    problem = text = replica = key = ""
    is_ignored = False
    points_shown: Sequence[showing.Shown] = ()
    try:
        problem = at_hand.loss_of(path) if path else ""
        if not problem and path is not None and os.path.exists(path):
            connection = at_hand.connect(path, wait_s=_WAIT_S)
            key = projects.project_key(folder)
            project = hook_sql.find_project(connection, key)
            book = shown = hook_sql.Book(connection, project) if project is not None else None
            is_ignored = project is not None and project.is_ignored
            if project is not None and not is_ignored:
                work_waits = work_waits or hook_sql.has_due_job(connection, project.id, now=hook_runner.timestamp())
                if project.team_name is None:
                    work_waits = work_waits or _has_mirror_changed(connection, project, folder)
                else:
                    replica = at_hand.replica_of(path, project.id)
                    work_waits = work_waits or _is_old(replica, _REPLICA_FOR_S)
                    shown = showing.of_team(replica, project.team_name)
            if not is_ignored:
                sources = showing.sources(connection, book, shown)
                text, points_shown = showing.compose(hook, event, sources)
                # The line for the user comes last: if it takes too long, the session has its playbook already.
                hook.fallback = showing.output(EVENT, text, "")
                showing.prepare(hook, event, points_shown)
    except at_hand.UnusableError as error:
        work_waits, problem = work_waits or error.is_old or bool(replica), "" if error.is_old else str(error)
        hook.note(str(error))
    except Exception as error:  # whatever the driver or the disk may raise; the session must not notice
        work_waits = work_waits or bool(replica)
        what = str(error).rstrip(".") if "/" in str(error) else f"{replica or path}: {error}"  # the driver names none
        problem = f"{what}. {'' if text else 'The session continued without the playbook; '}run: playbook doctor"
        hook.note(problem)
        problem = "" if "locked" in what else problem
    if not problem and spool.is_disk_full():
        problem = f"the disk of {settings.claude_dir()} is full. Free some space, or this session may teach nothing."
    is_plugin = sys.argv[1:2] in ([], ["plugin"])
    message, record_message = hook.attempt(
        lambda: session_message.choose(event, folder, problem=problem, book=book, shown=shown, is_plugin=is_plugin),
        "the line for the user was not shown",
    ) or ("", lambda: None)
    if hook.say(showing.output(EVENT, text, message) if message else hook.fallback):
        hook.attempt(record_message, "the line for the user was shown, but not recorded")
        showing.keep(hook, event, points_shown)
    if event.source == "compact":
        from playbook_db.claude_code.hooks import touched  # late: rarely needed

        touched.forget(event.session_id)
    if not is_ignored:
        _keep_start(hook, event, folder, key)
    if work_waits:
        from playbook_db.claude_code.hooks import worker_start  # late: rarely needed

        worker_start.start(hook, folder)


def _keep_start(hook: hook_runner.Hook, event: hook_runner.Event, folder: str, key: str) -> None:
    """Record that the session began. The worker then finds the session even if no hook records its end."""
    path = event.transcript_path
    if not event.session_id or not path:
        return
    values = {"project": key or projects.project_key(folder), "folder": folder, "transcript_path": path}
    content = ",".join([f'"{name}":{showing.quoted(text)}' for name, text in values.items()])
    session, start = event.session_id, f"{{{content}}}".encode("ascii")
    hook.attempt(lambda: spool.keep_start(session, start), "the session's start was not recorded")


def _is_old(path: str, seconds: float) -> bool:
    """Return whether the file at *path* is missing, or was last written more than *seconds* ago."""
    try:
        return not 0 <= time.time() - os.stat(path).st_mtime < seconds
    except OSError:
        return True


def _is_worker_overdue() -> bool:
    """Return whether a worker should look for sessions that ended without a hook, for example by a kill."""
    return _is_old(settings.worker_lock(), _WORKER_EVERY_S) and os.path.exists(settings.data_dir())


def _is_set_up_missing() -> bool:
    """Return whether the plugin registered this hook, and the environment of its worker isn't set up yet."""
    return sys.argv[1:2] in ([], ["plugin"]) and not os.path.exists(settings.runtime_dir())


def _has_mirror_changed(connection: "at_hand.Connection", project: hook_sql.StoredProject, folder: str) -> bool:
    """Return whether the project's mirror has changed since the last sync."""
    if project.mirror not in ("on", "found"):
        return False
    path = projects.mirror_path(folder)
    try:
        status = os.stat(path)
    except OSError:
        return project.mirror == "on"
    known = hook_sql.mirror_file(connection, project.id, projects.as_text(path))
    return known is None or known[:2] != (status.st_size, status.st_mtime_ns)
