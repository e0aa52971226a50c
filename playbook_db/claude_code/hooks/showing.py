"""The common part of the hooks that show points: it reads them, composes the answer, and records them as shown.

If the database can't store the record at once, it goes to the spool. Standard library only.
"""

import json
import os

from playbook_db import projects, settings
from playbook_db.claude_code.hooks import hook_runner
from playbook_db.store import sqlite_open
from playbook_db.store.queries import hook_queries
from playbook_db.store.queries.hook_queries import Book

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    Shown = tuple[
        "Source", Sequence[hook_queries.StoredPoint]
    ]  # a playbook, and which of its points a session is shown


SILENCE = b"{}\n"  # the answer if there is nothing to show


def database_file(folder: str) -> "str | None":
    """Return the path of the existing database file for sessions in *folder*, or None. Hooks don't ask servers."""
    if os.environ.get("PLAYBOOK_DB_URL"):
        from playbook_db import project_env  # late: mostly the database is at its default place

        path = settings.sqlite_file(project_env.database_url(folder))
    else:
        path = settings.sqlite_file(settings.database_url())
    return path if path is not None and os.path.exists(path) else None


class Source:
    """A playbook from which points are shown: `book`.

    `home` is the project's own playbook, in which showings are recorded. It differs from `book` only for a member of a
    team. `rules` is the text of the project's rules.
    """

    __slots__ = ("book", "home", "rules")

    def __init__(self, home: Book, book: Book, rules: str) -> None:
        self.home, self.book, self.rules = home, book, rules


def sources(
    connection: "sqlite_open.Connection", home: "Book | None", shown: "Book | None", place: str
) -> "list[Source]":
    """Return the playbooks whose points a session gets: the project's and the personal one.

    *home* is the own playbook of the project in the folder *place*. *shown* replaces it if the project has a team.
    """
    of_user = hook_queries.find_project(connection.execute, projects.USER_KEY)
    users = Book(connection, of_user) if of_user is not None else None
    books = ((home, shown), (users, users))
    rules = hook_queries.rules_in(place)
    return [Source(home, book, rules) for home, book in books if home is not None and book is not None]


def of_team(replica: str, name: str) -> "Book | None":
    """Open the team's playbook *name* in *replica*, the file into which the worker copies it. Return None if no copy
    exists yet. Raises UnusableError or the driver's Error."""
    if not os.path.exists(replica):
        return None
    connection = sqlite_open.open_replica(replica)
    project = hook_queries.find_project(connection.execute, name)
    if project is None:
        connection.close()
        return None
    return Book(connection, project)


def compose(sources: "Sequence[Source]", *, limit_units: "int | None" = None) -> "tuple[str, list[Shown]]":
    """Compose the text for the session from the best points of *sources*. Return the text and these points. The text is
    at most *limit_units* long (default: the client's limit)."""
    sources = [each for each in sources if each.book.project.live_points]
    if not sources:
        return "", []
    from playbook_db.domain import prompt_text  # late, both: mostly a prompt is told nothing
    from playbook_db.services import templates

    limit_units = limit_units or prompt_text.LIMIT_UNITS
    ranked = [hook_queries.ranked_points(each.book, each.rules) for each in sources]
    text, chosen = prompt_text.compose(templates.playbook_template(), ranked, limit_units=limit_units)
    return text, [(each, chosen[place]) for place, each in enumerate(sources) if chosen[place]]


def output(event_name: str, text: str, message: str) -> bytes:
    """Return the answer to the event. *text* is for the model; *message* is for the user only."""
    answer: dict[str, Any] = {"systemMessage": message} if message else {}
    if text:
        answer["hookSpecificOutput"] = {"hookEventName": event_name, "additionalContext": text}
    return f"{json.dumps(answer)}\n".encode("ascii")


def keep(hook: hook_runner.Hook, event: hook_runner.Event, shown: "Sequence[Shown]") -> None:
    """Record which points the session was *shown*, if it has an id.

    All are recorded in one commit, in a transaction that may have begun already. If the database can't be written at
    once, they go into the spool.
    """
    prepare(hook, event, shown)
    if not hook.pending:
        return
    first, _ = shown[0]
    connection = first.home.connection
    try:
        if not connection.in_transaction:
            connection.execute("PRAGMA busy_timeout = 0")
            sqlite_open.allow_writes(connection)
            connection.execute("BEGIN IMMEDIATE")
        for number, (source, _) in enumerate(shown):
            hook_queries.add_showing(connection, source.home.project.id, hook.pending[number])
        connection.execute("COMMIT")
    except Exception as error:  # whatever the driver may raise; the session has its playbook
        for showing in hook.pending:
            keep_in_spool(hook, showing, "" if "locked" in str(error) else str(error))
    hook.pending = []


def prepare(hook: hook_runner.Hook, event: hook_runner.Event, shown: "Sequence[Shown]") -> None:
    """Let *hook* have a pending record for each source whose points are shown, if the session has an id."""
    hook.pending = [_described(source, points, event) for source, points in shown] if event.session_id else []


def _described(
    source: Source, points: "Sequence[hook_queries.StoredPoint]", event: hook_runner.Event
) -> "dict[str, Any]":
    """Return the record of showing *points*, in the spool's format."""
    return {
        "project": source.home.project.key,
        "team": source.home.project.team_name,
        "session_id": event.session_id,
        "source": event.source or "",
        "event": event.hook_event_name,
        "revision": source.book.project.revision,
        "points": [point.id for point in points],
        "left_out": source.book.project.live_points - len(points),
        "time": hook_runner.timestamp(),
    }


def keep_in_spool(hook: hook_runner.Hook, showing: "dict[str, Any]", why: str) -> None:
    """Write *showing* to the spool. Log the reason *why*, unless it is `""`."""
    from playbook_db.claude_code.hooks import spool  # late: mostly the database can be written

    try:
        path = spool.keep({"kind": spool.SHOWING, **showing})
    except OSError as error:
        reason = f"{why or 'the database is being written'}, and {settings.spool_dir()} can't be written either"
        hook.note(f"{reason} ({error.strerror}): the shown points were not recorded")
    else:
        if why:
            hook.note(f"{why}; the record of the shown points waits in {path}")


def spooled(session_id: str, source: Source) -> "list[tuple[str, str, str, str]]":
    """Return the session's showings of *source* from the spool, in the format of `hook_queries.shown_to`."""
    try:
        names = [name for name in os.listdir(settings.spool_dir()) if name.endswith(".json")]
    except OSError:
        return []
    rows, project = [], source.home.project
    for name in names:
        try:
            content = projects.read_plain(os.path.join(settings.spool_dir(), name))
        except OSError:
            continue  # the worker has just imported it
        showing = hook_runner.scanned(content.decode("utf-8", "replace")) if b'"showing"' in content else None
        if not isinstance(showing, dict) or showing.get("session_id") != session_id:
            continue
        if (showing.get("project"), showing.get("team")) == (project.key, project.team_name):
            time, event, began_by = (str(showing.get(name)) for name in ("time", "event", "source"))
            rows.append((time, event, began_by, str(showing.get("points"))))
    return rows
