"""The hook of SessionStart: it puts the playbook before the session, and says nothing rather than the wrong thing.

Started by `hooks/inject.py`. Standard library only. It opens the database to read; which points were shown is recorded
afterwards: in the spool where the database can't take it at once.
"""

import os
import sys
import time

from playbook_db import project_env, projects, settings
from playbook_db.claude_code import events, hook_runner, session_message
from playbook_db.domain import prompt_text
from playbook_db.services import templates
from playbook_db.store import hook_queries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, NoReturn

    _Told = tuple[session_message.Book, Sequence[hook_queries.StoredPoint]]  # a playbook, and its points in the text

DEADLINE_S = 0.3
_WORKER_EVERY_S = 3600.0
_REPLICA_FOR_S = 60.0  # that a team's playbook is taken for current without asking
_WAIT_S = 0.05  # for a database that somebody holds; another process that recovers the log needs no longer
SILENCE = b"{}\n"
EVENT = "SessionStart"


def main() -> "NoReturn":
    """Answer the event on standard input; the arguments are the scope of our registration and the worker's Python."""
    pending: list[dict[str, Any]] = []  # what the session was shown, until that is on record

    def at_deadline(hook: hook_runner.Hook) -> None:
        for showing in pending:
            _spool(hook, showing, "the database didn't answer in time")

    def work(hook: hook_runner.Hook) -> None:
        _work(hook, pending)

    hook_runner.run("inject", work, silence=SILENCE, deadline_s=DEADLINE_S, at_deadline=at_deadline)


def _work(hook: hook_runner.Hook, pending: "list[dict[str, Any]]") -> None:
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
    _answer(hook, event, folder, pending)
    return None


def _answer(hook: hook_runner.Hook, event: events.Event, folder: str, pending: "list[dict[str, Any]]") -> None:
    """Give the session in *folder* its playbook, and start the worker where something waits for it."""
    path = settings.sqlite_file(project_env.database_url(folder))
    work_waits = _is_spool_filled() or _is_set_up_missing() or _is_worker_overdue()
    book = shown = None
    problem = text = replica = key = ""
    told: list[_Told] = []
    try:
        problem = hook_queries.loss_of(path) if path else ""
        if not problem and path is not None and os.path.exists(path):
            connection = hook_queries.connect(path, wait_s=_WAIT_S)
            key = projects.project_key(folder)
            project = hook_queries.find_project(connection, key)
            book = shown = (connection, project) if project is not None else None
            if project is not None and not project.is_ignored:
                work_waits = work_waits or hook_queries.has_due_job(connection, project.id, now=hook_runner.timestamp())
                if project.team_name is None:
                    work_waits = work_waits or _has_mirror_changed(connection, project, folder)
                else:
                    replica = hook_queries.replica_of(path, project.id)
                    work_waits = work_waits or _is_replica_old(replica)
                    shown = _of_team(replica, project.team_name)
            if project is None or not project.is_ignored:
                own = hook_queries.find_project(connection, projects.USER_KEY)
                text, told = _text(hook, event, shown, (connection, own) if own is not None else None)
    except hook_queries.UnusableError as error:
        work_waits, problem = work_waits or error.is_old or bool(replica), "" if error.is_old else str(error)
        hook.note(str(error))
    except Exception as error:  # whatever the driver or the disk may raise; the session must not notice
        work_waits = work_waits or bool(replica)
        what = str(error).rstrip(".") if "/" in str(error) else f"{replica or path}: {error}"  # the driver names none
        problem = f"{what}. {'' if text else 'The session went on without the playbook; '}run: playbook doctor"
        hook.note(problem)
        problem = "" if "locked" in what else problem
    message, keep_told = _message(hook, event, folder, problem, book, shown)
    if hook.say(_output(text, message)):
        _keep(hook, keep_told)
        showings = [
            (each, book if book and each is shown else each, key if each is shown else projects.USER_KEY, points)
            for each, points in told
            if event.session_id
        ]
        pending += [_showing(of, here[1], each[1], points, event) for each, here, of, points in showings]
        for each, here, _, points in showings:
            _record(hook, here, each[1], points, pending[0])
            del pending[0]
    if work_waits:
        from playbook_db.claude_code import worker_start  # late: rarely needed

        worker_start.start(hook, folder)


def _text(
    hook: hook_runner.Hook,
    event: events.Event,
    shown: "session_message.Book | None",
    own: "session_message.Book | None",
) -> "tuple[str, list[_Told]]":
    """What the session is told of the playbook *shown* and of the user's *own*, and which points of each."""
    books = [each for each in (shown, own) if each is not None and each[1].live_points]
    if not books:
        return "", []
    if _is_held_out(hook, event):
        return "", [(each, []) for each in books]
    of_both = [
        hook_queries.candidates(each[0].execute, each[1]) if each in books else ((), 0, "") for each in (shown, own)
    ]
    text, of_project, of_user = prompt_text.compose_both(templates.playbook_template(), *of_both)
    return text, [
        (each, points) for each, points in ((shown, of_project), (own, of_user)) if each is not None and points
    ]


def _message(
    hook: hook_runner.Hook,
    event: events.Event,
    folder: str,
    problem: str,
    book: "session_message.Book | None",
    shown: "session_message.Book | None",
) -> "session_message.Line":
    try:
        is_plugin = sys.argv[1:2] in ([], ["plugin"])
        return session_message.choose(event, folder, problem=problem, book=book, shown=shown, is_plugin=is_plugin)
    except Exception as error:  # the session has its playbook all the same
        hook.note(f"{error}: what there is to tell the user was not told")
        return "", lambda: None


def _keep(hook: hook_runner.Hook, keep_told: "Callable[[], object]") -> None:
    try:
        keep_told()
    except OSError as error:
        hook.note(f"{error}: what the user was told is not on record")


def _output(text: str, message: str) -> bytes:
    """The answer: *text* for the model, *message* for the user and not for the model."""
    parts = [f'"systemMessage":{_quoted(message)}'] if message else []
    if text:
        parts.append(f'"hookSpecificOutput":{{"hookEventName":"{EVENT}","additionalContext":{_quoted(text)}}}')
    return f"{{{','.join(parts)}}}\n".encode("ascii")


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


def _of_team(replica: str, name: str) -> "session_message.Book | None":
    """The team's playbook *name*, as the worker last put it into the file *replica*; None where it hasn't yet. Raises
    UnusableError or the driver's Error."""
    if not os.path.exists(replica):
        return None
    connection = hook_queries.open_replica(replica)
    project = hook_queries.find_project(connection, name)
    return (connection, project) if project is not None else None


def _is_replica_old(replica: str) -> bool:
    """Whether it is time for a worker to ask whether the team has learned anything."""
    try:
        return not 0 <= time.time() - os.stat(replica).st_mtime < _REPLICA_FOR_S
    except OSError:
        return True


def _is_held_out(hook: hook_runner.Hook, event: events.Event) -> bool:
    """Whether the session is one of those that are shown nothing, so that they can be compared with the others."""
    if not os.environ.get(settings.HOLDOUT):
        return False
    try:
        return event.session_id is not None and settings.is_held_out(event.session_id, settings.holdout())
    except Exception as error:  # a SettingError, whose module no session that goes well loads
        hook.note(f"{error} It counts as 0.")
        return False


def _showing(
    key: str,
    project: hook_queries.StoredProject,
    shown: hook_queries.StoredProject,
    points: "Sequence[hook_queries.StoredPoint]",
    event: events.Event,
) -> "dict[str, Any]":
    """Which points of the playbook *shown* the session has got, as the spool keeps it for the *project* of *key*."""
    return {
        "project": key,
        "team": project.team_name,
        "session_id": event.session_id,
        "source": event.source or "",
        "event": EVENT,
        "revision": shown.revision,
        "points": [point.id for point in points],
        "left_out": shown.live_points - len(points),
        "time": hook_runner.timestamp(),
    }


def _record(
    hook: hook_runner.Hook,
    book: "session_message.Book",
    shown: hook_queries.StoredProject,
    points: "Sequence[hook_queries.StoredPoint]",
    showing: "dict[str, Any]",
) -> None:
    """Record the *showing*; in the spool where that can't be at once, as somebody else is writing."""
    connection, project = book
    try:
        connection.execute("PRAGMA busy_timeout = 0")
        hook_queries.allow_writes(connection)
        hook_queries.add_injection(
            connection,
            shown,
            points,
            session_id=showing["session_id"],
            source=showing["source"],
            now=showing["time"],
            event=EVENT,
            unsent_of=None if project.team_name is None else project.id,
        )
    except Exception as error:  # whatever the driver may raise; the session has its playbook
        _spool(hook, showing, "" if "locked" in str(error) else str(error))


def _spool(hook: hook_runner.Hook, showing: "dict[str, Any]", why: str) -> None:
    """Keep *showing* in the spool, since *why* (`""` where nothing is wrong)."""
    from playbook_db.claude_code import spool  # late: mostly the database takes it

    try:
        path = spool.keep({"kind": spool.SHOWING, **showing})
    except OSError as error:
        reason = f"{why or 'the database is being written'}, and {settings.spool_dir()} can't be written either"
        hook.note(f"{reason} ({error.strerror}): what the session was shown is not on record")
    else:
        if why:
            hook.note(f"{why}; what the session was shown waits in {path}")
