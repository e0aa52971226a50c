"""The hook of SessionStart: it puts the playbook before the session, and says nothing rather than the wrong thing.

Started by `hooks/inject.py`. Standard library only. It opens the database to read; which points were shown is recorded
afterwards, unless somebody else is writing.
"""

import os
import sys
import time

from playbook_db import project_env, projects, settings
from playbook_db.claude_code import events, hook_runner
from playbook_db.domain import prompt_text
from playbook_db.services import templates
from playbook_db.store import hook_queries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

DEADLINE_S = 0.3
_WORKER_EVERY_S = 3600.0
_WAIT_S = 0.05  # for a database that somebody holds; another process that recovers the log needs no longer
SILENCE = b"{}\n"
EVENT = "SessionStart"


def main() -> "NoReturn":
    """Answer the event on standard input; the arguments are the scope of our registration and the worker's Python."""
    hook_runner.run("inject", _work, silence=SILENCE, deadline_s=DEADLINE_S)


def _work(hook: hook_runner.Hook) -> None:
    event = events.parse(hook.payload())
    if event is None:
        return hook.note("what came on standard input is no JSON object; the session went on without the playbook")
    if event.hook_event_name != EVENT:
        return None
    folder = event.project_folder()
    if folder is None:
        return hook.note("neither CLAUDE_PROJECT_DIR nor cwd says which project this is; no playbook was shown")
    if sys.argv[1:2] != ["user"]:  # the user's own settings always answer
        from playbook_db.claude_code import registration

        if registration.answers_elsewhere(EVENT, registration.own_scope(), folder):
            return None
    _answer(hook, event, folder)
    return None


def _answer(hook: hook_runner.Hook, event: events.Event, folder: str) -> None:
    """Give the session in *folder* its playbook, and start the worker where something waits for it."""
    path = settings.sqlite_file(project_env.database_url(folder))
    question = _question(event, folder)
    quiet = _message(question) if question else SILENCE
    work_waits = _is_spool_filled() or _is_set_up_missing() or _is_worker_overdue()
    project = None
    try:
        loss = hook_queries.loss_of(path) if path else ""
        if loss:
            hook.say(_message(f"{prompt_text.shown(loss)} {question}".rstrip()))
        elif path is not None and os.path.exists(path):
            connection = hook_queries.connect(path, wait_s=_WAIT_S)
            project = hook_queries.find_project(connection, projects.project_key(folder))
            if project is not None and project.is_ignored:
                question, quiet = "", SILENCE
            elif project is not None:
                template = templates.playbook_template()
                text, points = prompt_text.compose(template, *hook_queries.candidates(connection, project))
                work_waits = (
                    work_waits
                    or hook_queries.has_due_job(connection, project.id, now=hook_runner.timestamp())
                    or _has_mirror_changed(connection, project, folder)
                )
                if text and hook.say(_output(text, question)) and event.session_id:
                    _record(hook, connection, project, points, event)
        mirror = projects.mirror_path(folder)
        if (project is None or project.mirror == "undecided") and event.source == "startup" and os.path.exists(mirror):
            message = (
                f"{prompt_text.shown(mirror)} is here but not in use yet. To look at it and take it in: playbook init"
            )
            hook.say(_message(f"{message}. {question}" if question else message))
    except hook_queries.UnusableError as error:
        work_waits = work_waits or error.is_old
        hook.say(quiet)
        hook.note(str(error))
    except Exception as error:  # whatever the driver or the disk may raise; the session must not notice
        hook.say(quiet)
        hook.note(f"{path}: {error}. The session went on without the playbook; run: playbook doctor")
    hook.say(quiet)
    if question:
        _keep_asked(hook, folder)
    if work_waits:
        from playbook_db.claude_code import worker_start  # late: rarely needed

        worker_start.start(hook, folder)


def _question(event: events.Event, folder: str) -> str:
    """What the user is to decide about what the project brings to the environment, told once; `""` where nothing."""
    is_asked = event.source == "startup" and project_env.may_ask(folder)
    names = project_env.questions(folder) if is_asked else {}
    if not names or project_env.is_recorded(folder):
        return ""
    told = f"The settings of this project bring {', '.join(names)}, which playbook doesn't use until you have decided."
    return f"{told} To look at it and use it: playbook project trust. To use your own: playbook project trust --off"


def _keep_asked(hook: hook_runner.Hook, folder: str) -> None:
    try:
        project_env.keep(folder, agreed=None)
    except OSError as error:
        hook.note(f"{error}: that the user was asked about the project's settings is not on record")


def _message(text: str) -> bytes:
    """What the user is told, and the model isn't."""
    return f'{{"systemMessage":{_quoted(text)}}}\n'.encode("ascii")


def _output(text: str, message: str) -> bytes:
    context = f'{{"hookEventName":"{EVENT}","additionalContext":{_quoted(text)}}}'
    told = f'"systemMessage":{_quoted(message)},' if message else ""
    return f'{{{told}"hookSpecificOutput":{context}}}\n'.encode("ascii")


def _quoted(text: str) -> str:
    try:
        from _json import encode_basestring_ascii
    except ImportError:
        from json.encoder import encode_basestring_ascii
    quoted: str = encode_basestring_ascii(text)
    return quoted


def _is_spool_filled() -> bool:
    try:
        return any(name.endswith(".json") for name in os.listdir(settings.spool_dir()))
    except OSError:
        return False


def _is_worker_overdue() -> bool:
    """Whether it is time for a worker to find the sessions that ended without a word, as a kill lets them."""
    try:
        return not 0 <= time.time() - os.stat(settings.worker_lock()).st_mtime < _WORKER_EVERY_S
    except OSError:
        return os.path.exists(settings.data_dir())


def _is_set_up_missing() -> bool:
    """Whether this is the plugin, and what its worker needs isn't there yet."""
    return sys.argv[1:2] in ([], ["plugin"]) and not os.path.exists(settings.runtime_dir())


def _has_mirror_changed(
    connection: "hook_queries.Connection", project: hook_queries.StoredProject, folder: str
) -> bool:
    """Whether the project's mirror, where one is kept, isn't the file that was last in step with the database."""
    if project.mirror not in ("on", "found"):
        return False
    path = projects.mirror_path(folder)
    try:
        status = os.stat(path)
    except OSError:
        return project.mirror == "on"
    known = hook_queries.mirror_file(connection, project.id, projects.as_text(path))
    return known is None or known[:2] != (status.st_size, status.st_mtime_ns)


def _record(
    hook: hook_runner.Hook,
    connection: "hook_queries.Connection",
    project: hook_queries.StoredProject,
    points: "Sequence[hook_queries.StoredPoint]",
    event: events.Event,
) -> None:
    """Record which points the session was shown, unless somebody else is writing just now."""
    try:
        connection.execute("PRAGMA busy_timeout = 0")
        hook_queries.allow_writes(connection)
        hook_queries.add_injection(
            connection,
            project,
            points,
            session_id=event.session_id or "",
            source=event.source or "",
            now=hook_runner.timestamp(),
        )
    except Exception as error:  # the session has its playbook; this is for statistics
        if "locked" not in str(error):
            hook.note(f"{error}: what the session was shown is not on record")
