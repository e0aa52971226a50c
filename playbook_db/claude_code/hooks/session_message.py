"""The one line that the user is told at a session's start, and the model isn't: the most urgent there is, or none.

For the hook. Standard library only. What is broken or waits for a decision is told each time, a question once, and what
was learned or proposed once: a small file in the data folder says up to where that was told. The first
session of all is told that playbook is on.
"""

import os

from playbook_db import project_env, projects, settings
from playbook_db.claude_code.hooks.events import session_folder_name
from playbook_db.domain import prompt_text
from playbook_db.store import hook_sql

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playbook_db.claude_code.hooks.events import Event
    from playbook_db.store.hook_sql import Book

    Line = tuple[str, Callable[[], object]]  # a text, and what keeps that it was told; it may raise OSError

_IS_ON = "playbook is on: this session will be learned from when it ends"
SETTING = "playbook_session_message"  # in Claude Code's settings; on where no file says otherwise
_SOURCES = ("startup", "clear")  # a session that is resumed or compacted has been told
_MOST_CHARS = 100  # of a point's text
_MOST_ERROR_CHARS = 200


def choose(
    event: "Event", folder: str, *, problem: str, book: "Book | None", shown: "Book | None", is_plugin: bool
) -> "Line":
    """The line for the session that *event* begins in *folder*; `""` where there is none. Writes nothing.

    *problem* is why it has no playbook; *book* its project's, where there is one; *shown* the same, or the team's that
    the session is shown in its place.
    """
    # Nobody reads it in `claude -p`, nor where doctor tries the hook.
    is_read = os.environ.get("CLAUDE_CODE_SESSION_ATTENDED") != "0" and event.session_id is not None
    if event.source not in _SOURCES or not is_read or (book and book.project.is_ignored):
        return "", _keep_nothing
    command = "!playbook" if is_plugin else "playbook"  # a terminal doesn't have the plugin's
    urgent = next((line for line in _urgent_lines(folder, problem, book, is_plugin, command) if line[0]), None)
    text, keep = urgent or ("", _keep_nothing)
    is_on = bool(text) and _is_on(folder)
    if book and shown and not is_on:
        joined_at = hook_sql.joined_at(book.connection, book.project.id) if book.project.team_name else ""
        key = book.project.team_name or projects.project_key(folder)
        text, keep = _news(key, command, shown, book, since=joined_at)
        is_on = bool(text) and urgent is None and _is_on(folder)
    if not text and urgent is None and not os.path.exists(_messages_dir()):
        text, is_on = _IS_ON, _is_on(folder)
        keep = keep if keep is not _keep_nothing else _make_messages_dir  # what keeps news makes the folder, too
    # What is new is on record as told if nobody wants to be told, too: else each start would read it again.
    return (_one_line(text), keep) if is_on else ("", keep)


def _is_on(folder: str) -> bool:
    from playbook_db.claude_code import registration  # late: mostly there is nothing to tell

    return registration.is_on(SETTING, folder)


def _one_line(text: str) -> str:
    return prompt_text.shown(" ".join((text if text.startswith("playbook") else f"playbook: {text}").split()))


def _urgent_lines(folder: str, problem: str, book: "Book | None", is_plugin: bool, command: str) -> "Iterator[Line]":
    """What is broken or waits for a decision, the most urgent first; what costs a look is looked for in its turn."""
    yield problem.replace(": playbook ", f": {command} "), _keep_nothing
    if is_plugin and not os.path.exists(settings.runtime_dir()):
        yield _set_up(), _keep_nothing
    question = _question(folder, command)
    yield question, (lambda: project_env.record_consent(folder, agreed=None)) if question else _keep_nothing
    # What is only tried again later, or waits for tomorrow's budget, goes on by itself.
    errors = hook_sql.job_errors(book.connection, book.project.id) if book else []
    reasons = [error for error, failed_at in errors if not failed_at and error.startswith(hook_sql.WAITS)]
    waits = [error[len(hook_sql.WAITS) :] for error in reasons if project_env.BUDGET not in error]
    if waits:
        yield f"learning waits: {_cut(waits[0], _MOST_ERROR_CHARS)} See: {command} jobs", _keep_nothing
    mirror = projects.mirror_path(folder)
    is_team = book is not None and book.project.team_name is not None
    if not is_team and (book is None or book.project.mirror == "undecided") and os.path.exists(mirror):
        text = f"{mirror} is here but not in use yet. To look at it and take it in: {command} init"
        yield f"{text}. To leave it alone: {command} mirror off", _keep_nothing


def _question(folder: str, command: str) -> str:
    """What the user is to decide about what the project brings to the environment; `""` where nothing, or it was
    told."""
    names = project_env.questions(folder) if project_env.may_ask(folder) else {}
    if not names or project_env.is_recorded(folder):
        return ""
    text = f"the settings of this project bring {', '.join(names)}; nothing of that is used until you have decided."
    return f"{text} To look at it and use it: {command} project trust. To use your own: {command} project trust --off"


def _set_up() -> str:
    """How the plugin's set-up, which isn't done, stands: that it begins, or that it failed."""
    if os.environ.get("PLAYBOOK_NO_SETUP"):
        return ""
    try:
        state = projects.read_plain(settings.runtime_dir() + ".json")
    except OSError:
        return "its environment is being set up in the background, this once; then it learns from your sessions"
    if b'"failed"' not in state:
        return ""
    from playbook_db.claude_code import plugin_env  # late: heavy

    return plugin_env.describe()


def _news(key: str, command: str, book: "Book", home: "Book", *, since: str) -> "Line":
    """What sessions taught the playbook *key* since that was told last, else after the time *since*, how many could not
    be learned from, and how many proposals wait, if one of them is new: for this playbook, or the user's own, which is
    at *home*, as the jobs are."""
    failures = [at for _, at in hook_sql.job_errors(home.connection, home.project.id) if at]
    path = os.path.join(_messages_dir(), session_folder_name(key)[-200:])
    try:
        marks = f"{projects.read_plain(path).decode('ascii', 'replace')}   ".split(" ")
    except OSError:
        marks = ["", since, "", ""]
    learned_to, failed_to = marks[:2]
    proposals_to, user_proposals_to = [int(number) if number.isdigit() else 0 for number in marks[2:4]]
    connection, project = book.connection, book.project
    proposals, newest = hook_sql.proposals_waiting(connection, project.id)
    user_proposals, newest_user = hook_sql.proposals_waiting_for(home.connection, projects.USER_KEY)
    latest = max([failed_to, *failures])
    new_marks = f"{project.revision} {latest} {max(proposals_to, newest)} {max(user_proposals_to, newest_user)}"
    if new_marks == f"{learned_to} {failed_to} {proposals_to} {user_proposals_to}":
        return "", _keep_nothing
    learned_to, after = (learned_to, "") if learned_to.isdigit() else ("0", since)
    points = hook_sql.learned_points(connection, project.id, since=int(learned_to), after=after)
    failed = len([time for time in failures if time > failed_to])
    parts = []
    if points:
        more = f" and {len(points) - 1} more ({command} log)" if points[1:] else ""
        parts.append(f'learned "{_cut(points[0][1], _MOST_CHARS)}" [{points[0][0]}]{more}')
    if failed:
        parts.append(f"{failed} session{'s' if failed > 1 else ''} could not be learned from ({command} jobs)")
    if newest > proposals_to or newest_user > user_proposals_to:
        proposals += user_proposals
        parts.append(f"{proposals} proposal{'s wait' if proposals > 1 else ' waits'}: playbook review")
    return "; ".join(parts), lambda: _keep(path, new_marks)  # also where that is nothing: it is never looked at again


def _messages_dir() -> str:
    """The folder of those small files. If it exists, a session was told something before."""
    return os.path.join(settings.data_dir(), "told")


def _make_messages_dir() -> None:
    for folder in (settings.data_dir(), _messages_dir()):  # the mode is the last folder's alone
        os.makedirs(folder, mode=0o700, exist_ok=True)


def _keep(path: str, text: str) -> None:
    _make_messages_dir()
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        os.write(file, text.encode("ascii", "replace"))
    finally:
        os.close(file)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 4].rpartition(" ")[0] + " ..."


def _keep_nothing() -> None:
    """A line that is told each time."""
