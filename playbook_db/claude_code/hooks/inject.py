"""The hook of SessionStart, which gives the session its playbook, and the user a line. If in doubt, it prints nothing.

Started by `hooks/inject.py`. Standard library only. It opens the database read-only. Afterwards it records which points
were shown: in the database, or in the spool if the database is locked.

The model doesn't see the line: the most urgent one, or none. Faults and decisions that wait are shown at each start, a
question once. New lessons, failures and proposals are shown once: a small file in the data folder records the last
ones. The very first session is told that playbook is on.
"""

import json
import os
import sys
import time

from playbook_db import project_env, projects, settings
from playbook_db.claude_code.hooks import hook_runner, showing, spool
from playbook_db.domain import prompt_text
from playbook_db.services.open_decisions import Waiting
from playbook_db.store import sqlite_open
from playbook_db.store.queries import hook_queries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import NoReturn

    from playbook_db.store.queries.hook_queries import Book, Execute

    Line = tuple[str, Callable[[], object]]  # a text, and what records that it was shown; it may raise OSError


DEADLINE_S = 0.3
_WORKER_EVERY_S = 3600.0
_REPLICA_FOR_S = 60.0  # for which a team's playbook counts as current
_WAIT_S = 0.05  # for a database that somebody holds; another process that recovers the log needs no longer
EVENT = "SessionStart"
_IS_ON = "playbook is on: this session will be learned from when it ends"
_SOURCES = ("startup", "clear")  # a session that is resumed or compacted has seen the line for the user
_MOST_CHARS = 100  # of a point's text in that line
_MOST_ERROR_CHARS = 200


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
    book = shown = execute = None
    place = projects.project_of(folder)
    key = projects.project_key(place)
    problem = text = replica = ""
    is_ignored = False
    points_shown: Sequence[showing.Shown] = ()
    try:
        problem = sqlite_open.loss_of(path) if path else ""
        if not problem and path is not None and os.path.exists(path):
            connection = sqlite_open.connect(path, wait_s=_WAIT_S)
            execute = connection.execute
            place, key = hook_queries.place_of(execute, folder)
            project = hook_queries.find_project(execute, key)
            book = shown = hook_queries.Book(connection, project) if project is not None else None
            is_ignored = project.is_ignored if project else hook_queries.is_ignored(execute, key)
            if project is not None and book is not None and not is_ignored:
                work_waits = work_waits or hook_queries.has_due_job(book, now=hook_runner.timestamp())
                if project.team_name is None:
                    work_waits = work_waits or _has_mirror_changed(book, place)
                else:
                    replica = sqlite_open.replica_of(path, project.id)
                    work_waits = work_waits or _is_old(replica, _REPLICA_FOR_S)
                    shown = showing.of_team(replica, project.team_name)
            if not is_ignored:
                sources = showing.sources(connection, book, shown, place)
                text, points_shown = showing.compose(sources)
                # The line for the user comes last: if it takes too long, the session has its playbook already.
                hook.fallback = showing.output(EVENT, text, "")
                showing.prepare(hook, event, points_shown)
    except sqlite_open.UnusableError as error:
        work_waits, problem = work_waits or error.is_old or bool(replica), "" if error.is_old else str(error)
        hook.note(str(error))
    except Exception as error:  # whatever the driver or the disk may raise; the session must not notice
        work_waits = work_waits or bool(replica)
        what = str(error).rstrip(".") if "/" in str(error) else f"{replica or path}: {error}"  # the driver names none
        problem = f"{what}. {'' if text else 'The session continued without the playbook; '}run: playbook doctor"
        hook.note(problem)
        problem = "" if "locked" in what else problem
    if obstacle := sqlite_open.unwritable(path):
        problem = _describe_obstacle(obstacle)
    is_plugin = sys.argv[1:2] in ([], ["plugin"])
    message, record_message = hook.attempt(
        lambda: choose_line(
            event, folder, (place, key, execute), problem=problem, book=book, shown=shown, is_plugin=is_plugin
        ),
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


def _describe_obstacle(obstacle: str) -> str:
    from playbook_db import platforms  # late: rarely needed

    reason, command = platforms.why_unwritable(obstacle, settings.data_dir())
    return f"nothing of this session can be kept: {reason}. Run: {command}"


def _keep_start(hook: hook_runner.Hook, event: hook_runner.Event, folder: str, key: str) -> None:
    """Record that the session began. The worker then finds the session even if no hook records its end."""
    path = event.transcript_path
    if not event.session_id or not path:
        return
    values = {"project": key, "folder": folder, "transcript_path": path}
    session, start = event.session_id, json.dumps(values).encode("ascii")
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


def _has_mirror_changed(book: "Book", folder: str) -> bool:
    """Return whether the project's mirror has changed since the last sync."""
    if book.project.mirror not in ("on", "found"):
        return False
    path = projects.mirror_path(folder)
    try:
        status = os.stat(path)
    except OSError:
        return book.project.mirror == "on" and projects.git_dir(folder) is None  # git may have removed it
    known = hook_queries.mirror_file(book, projects.as_text(path))
    return known is None or known[:2] != (status.st_size, status.st_mtime_ns)


def choose_line(
    event: hook_runner.Event,
    folder: str,
    place_key_execute: "tuple[str, str, Execute | None]",
    *,
    problem: str,
    book: "Book | None",
    shown: "Book | None",
    is_plugin: bool,
) -> "Line":
    """Return the line for the user of the session that *event* starts in *folder*, or `""`. Writes nothing.
    *place_key_execute* has the project's folder and key, and what runs SQL.

    *problem* says why there is no playbook. *book* is the project's own playbook. *shown* is the playbook that the
    session gets: *book* or the team's.
    """
    # Nobody reads it in `claude -p`, nor when doctor tries the hook.
    is_read = os.environ.get("CLAUDE_CODE_SESSION_ATTENDED") != "0" and event.session_id is not None
    if event.source not in _SOURCES or not is_read or (book and book.project.is_ignored):
        return "", _keep_nothing
    command = "!playbook" if is_plugin else "playbook"  # a terminal doesn't have the plugin's
    place, key, execute = place_key_execute
    waiting = Waiting(folder, book.project if book else None, execute, place)
    if projects.OTHER in key and not book:
        problem = problem or projects.replaced(key)
    lines = _urgent_lines(folder, waiting, problem, is_plugin, command)
    urgent, keep = next((line for line in lines if line[0]), ("", _keep_nothing))
    if urgent and _is_line_on(folder):
        return _shown(urgent), keep
    text, keep = _news(command, book, shown, waiting.failures) if book and shown else ("", _keep_nothing)
    if urgent:  # the user switched these lines off: news counts as shown, else each start would read it again
        return "", keep
    if not text and not os.path.exists(_messages_dir()):
        text, keep = _IS_ON, keep if keep is not _keep_nothing else _make_messages_dir  # else the news creates it
    return _shown(text) if text and _is_line_on(folder) else "", keep


def _shown(line: str) -> str:
    return prompt_text.one_line(line if line.startswith("playbook") else f"playbook: {line}")


def _is_line_on(folder: str) -> bool:
    from playbook_db.claude_code import registration  # late: mostly there is nothing to show

    return registration.is_on(registration.SESSION_MESSAGE, folder)


def _urgent_lines(folder: str, waiting: Waiting, problem: str, is_plugin: bool, command: str) -> "Iterator[Line]":
    """Yield lines about faults and waiting decisions, the most urgent first. Some may be empty."""
    yield problem.replace(": playbook ", f": {command} "), _keep_nothing
    if is_plugin and not os.path.exists(settings.runtime_dir()):
        yield _set_up(), _keep_nothing
    if waiting.settings and project_env.consent(folder) is None:
        names = ", ".join(waiting.settings)
        text = f"nothing is learned here: this project's settings set {names}. To decide: {command} project trust"
        yield text, _keep_nothing
    # A job that is only tried again, or waits for tomorrow's budget, goes on by itself.
    for error in waiting.errors:
        if error.startswith(hook_queries.WAITS) and project_env.BUDGET not in error:
            reason = _cut(error[len(hook_queries.WAITS) :], _MOST_ERROR_CHARS)
            yield f"learning waits: {reason} See: {command} jobs", _keep_nothing
    if waiting.moved:
        yield projects.moved(waiting.moved).replace(": playbook ", f": {command} "), _keep_nothing
    yield waiting.conflict.replace(": playbook ", f": {command} "), _keep_nothing
    if waiting.mirror:
        text = f"{waiting.mirror} is here but not in use yet. To look at it and import it: {command} init"
        yield f"{text}. To leave it alone: {command} mirror off", _keep_nothing


def _set_up() -> str:
    """Describe the plugin's unfinished set-up: it is running, or it failed."""
    if not settings.may_set_up():
        return ""
    try:
        state = projects.read_plain(settings.runtime_dir() + ".json")
    except OSError:
        state = b""  # it has just started
    if b'"failed"' not in state:
        return "its environment is being set up in the background, only this time; then it learns from your sessions"
    from playbook_db.claude_code import plugin_env  # late: heavy

    return plugin_env.describe()


def _news(command: str, book: "Book", shown: "Book", failures: "Sequence[str]") -> "Line":
    """Return a line about lessons in the playbook *shown* since the last such line. It also counts failed sessions and,
    if one is new, waiting proposals. No lesson is news in a member's first session with the team's playbook."""
    name = hook_runner.session_folder_name(book.project.team_name or book.project.key)
    path = os.path.join(_messages_dir(), name[-200:])
    try:
        before = projects.read_plain(path).decode("ascii", "replace").split(" ")
    except OSError:
        before = []
    learned_to, failed_to, *proposals_to = [*before, "", "", "", ""][:4]
    project, users = shown.project, hook_queries.find_project(book.execute, projects.USER_KEY)
    playbooks = [shown, *([hook_queries.Book(book.connection, users)] if users else [])]
    proposals = [*map(hook_queries.proposals_waiting, playbooks), (0, 0)][:2]
    shown_to = [int(number) if number.isdigit() else 0 for number in proposals_to]
    newest = list(map(max, shown_to, [last for _, last in proposals]))
    marks = [str(project.revision), max([failed_to, *failures]), *map(str, newest)]
    if marks == [learned_to, failed_to, *map(str, shown_to)]:
        return "", _keep_nothing
    if book.project.team_name and not before:
        learned_to, failed_to = marks[:2]
    since = int(learned_to) if learned_to.isdigit() else 0
    points = hook_queries.learned_points(shown, since=since)
    waiting = sum([count for count, _ in proposals]) if newest != shown_to else 0
    review = "/playbook:review" if command.startswith("!") else f"{command} review"  # a session can't decide
    parts = []
    if points:
        more = f" and {len(points) - 1} more" if points[1:] else ""
        waits = f", {waiting} wait{'s' * (waiting == 1)}" if waiting else ""
        number = f"{len(points)} point{'s' * (len(points) > 1)}"
        sessions = {session for session, _ in points}
        is_one = len(sessions) == 1 and "" not in sessions
        way = f"to undo: {command} undo --session {sessions.pop()[:8]}" if is_one else f"to see them: {command} log"
        parts.append(f'learned {number} ("{_cut(points[0][1], _MOST_CHARS)}"{more}){waits}; {way}')
    if failed := len([time for time in failures if time > failed_to]):
        parts.append(f"{failed} session{'s' if failed > 1 else ''} could not be learned from ({command} jobs)")
    if waiting and not points:
        parts.append(f"{waiting} proposal{'s wait' if waiting > 1 else ' waits'}: {review}")
    return "; ".join(parts), lambda: _keep(path, " ".join(marks))  # even if there is no news: it isn't read again


def _messages_dir() -> str:
    """Return the folder of the files that record shown lines. If it exists, a line was shown before."""
    return os.path.join(settings.data_dir(), "told")


def _make_messages_dir() -> None:
    for folder in (settings.data_dir(), _messages_dir()):  # the mode is the last folder's alone
        os.makedirs(folder, mode=0o700, exist_ok=True)


def _keep(path: str, text: str) -> None:
    _make_messages_dir()
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(text.encode("ascii", "replace"))


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 4].rpartition(" ")[0] + " ..."


def _keep_nothing() -> None:
    """Do nothing, so that the line is shown again at the next start."""
