"""Choosing the line that the user, not the model, sees at a session's start: the most urgent one, or none.

For the hook; standard library only. Faults and decisions that wait are shown at each start, a question once. New
lessons, failures and proposals are shown once: a small file in the data folder records the last ones. The very first
session is told that playbook is on.
"""

import os

from playbook_db import project_env, projects, settings
from playbook_db.claude_code.hooks.hook_runner import session_folder_name
from playbook_db.domain import prompt_text
from playbook_db.services.waiting import Waiting
from playbook_db.store import hook_sql

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from playbook_db.claude_code.hooks.hook_runner import Event
    from playbook_db.store.hook_sql import Book

    Line = tuple[str, Callable[[], object]]  # a text, and what records that it was shown; it may raise OSError

_IS_ON = "playbook is on: this session will be learned from when it ends"
SETTING = "playbook_session_message"  # in Claude Code's settings; on unless a file says otherwise
_SOURCES = ("startup", "clear")  # a session that is resumed or compacted has seen it
_MOST_CHARS = 100  # of a point's text
_MOST_ERROR_CHARS = 200


def choose(
    event: "Event", folder: str, *, problem: str, book: "Book | None", shown: "Book | None", is_plugin: bool
) -> "Line":
    """Return the line for the user of the session that *event* starts in *folder*, or `""`. Writes nothing.

    *problem* says why there is no playbook. *book* is the project's own playbook. *shown* is the playbook that the
    session gets: *book* or the team's.
    """
    # Nobody reads it in `claude -p`, nor when doctor tries the hook.
    is_read = os.environ.get("CLAUDE_CODE_SESSION_ATTENDED") != "0" and event.session_id is not None
    if event.source not in _SOURCES or not is_read or (book and book.project.is_ignored):
        return "", _keep_nothing
    command = "!playbook" if is_plugin else "playbook"  # a terminal doesn't have the plugin's
    project, execute = (book.project, book.connection.execute) if book else (None, None)
    waiting = Waiting(folder, project, execute)
    lines = _urgent_lines(folder, waiting, problem, is_plugin, command)
    urgent, keep = next((line for line in lines if line[0]), ("", _keep_nothing))
    if urgent and _is_on(folder):
        return _shown(urgent), keep
    text, keep = _news(command, book, shown, waiting.failures) if book and shown else ("", _keep_nothing)
    if urgent:  # the user switched these lines off: news counts as shown, else each start would read it again
        return "", keep
    if not text and not os.path.exists(_messages_dir()):
        text, keep = _IS_ON, keep if keep is not _keep_nothing else _make_messages_dir  # else the news creates it
    return _shown(text) if text and _is_on(folder) else "", keep


def _shown(line: str) -> str:
    return prompt_text.one_line(line if line.startswith("playbook") else f"playbook: {line}")


def _is_on(folder: str) -> bool:
    from playbook_db.claude_code import registration  # late: mostly there is nothing to show

    return registration.is_on(SETTING, folder)


def _urgent_lines(folder: str, waiting: Waiting, problem: str, is_plugin: bool, command: str) -> "Iterator[Line]":
    """Yield lines about faults and waiting decisions, the most urgent first. Some may be empty."""
    yield problem.replace(": playbook ", f": {command} "), _keep_nothing
    if is_plugin and not os.path.exists(settings.runtime_dir()):
        yield _set_up(), _keep_nothing
    if waiting.settings and not project_env.is_recorded(folder):
        names = ", ".join(waiting.settings)
        text = f"the settings of this project set {names}; they are not used until you decide."
        text = f"{text} To look at it and use it: {command} project trust. To use your own: {command} project trust"
        yield f"{text} --off", lambda: project_env.record_consent(folder, agreed=None)
    # A job that is only tried again, or waits for tomorrow's budget, goes on by itself.
    for error in waiting.errors:
        if error.startswith(hook_sql.WAITS) and project_env.BUDGET not in error:
            reason = _cut(error.removeprefix(hook_sql.WAITS), _MOST_ERROR_CHARS)
            yield f"learning waits: {reason} See: {command} jobs", _keep_nothing
    if waiting.mirror:
        text = f"{waiting.mirror} is here but not in use yet. To look at it and import it: {command} init"
        yield f"{text}. To leave it alone: {command} mirror off", _keep_nothing


def _set_up() -> str:
    """Describe the plugin's unfinished set-up: it is running, or it failed."""
    if os.environ.get("PLAYBOOK_NO_SETUP"):
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
    if one is new, waiting proposals. Nothing is news in a member's first session with the team's playbook."""
    path = os.path.join(_messages_dir(), session_folder_name(book.project.team_name or book.project.key)[-200:])
    try:
        before = projects.read_plain(path).decode("ascii", "replace").split(" ")
    except OSError:
        before = []
    learned_to, failed_to, *proposals_to = [*before, "", "", "", ""][:4]
    connection, project = shown.connection, shown.project
    proposals = (
        hook_sql.proposals_waiting(connection, project.key),
        hook_sql.proposals_waiting(book.connection, projects.USER_KEY),
    )
    shown_to = [int(number) if number.isdigit() else 0 for number in proposals_to]
    newest = list(map(max, shown_to, [last for _, last in proposals]))
    marks = [str(project.revision), max([failed_to, *failures]), *map(str, newest)]
    if marks == [learned_to, failed_to, *map(str, shown_to)]:
        return "", _keep_nothing
    if book.project.team_name and not before:
        return "", lambda: _keep(path, " ".join(marks))
    since = int(learned_to) if learned_to.isdigit() else 0
    points = hook_sql.learned_points(connection, project.id, since=since)
    parts = []
    if points:
        more = f" and {len(points) - 1} more ({command} log)" if points[1:] else ""
        parts.append(f'learned "{_cut(points[0][1], _MOST_CHARS)}" [{points[0][0]}]{more}')
    if failed := len([time for time in failures if time > failed_to]):
        parts.append(f"{failed} session{'s' if failed > 1 else ''} could not be learned from ({command} jobs)")
    if newest != shown_to:
        count = sum([count for count, _ in proposals])
        parts.append(f"{count} proposal{'s wait' if count > 1 else ' waits'}: playbook review")
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
