"""The status of a playbook: its points, the last lesson, waiting tasks with their causes, and today's cost.

A status line asks every few seconds, so the file is read without SQLAlchemy if possible.
"""

import os
import time
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from playbook_db import projects, settings, wrong_clock
from playbook_db.domain import prompt_text
from playbook_db.domain.times import day_begin, timestamp
from playbook_db.services import templates
from playbook_db.services.open_decisions import Waiting
from playbook_db.services.reading import file_first
from playbook_db.store import sqlite_open
from playbook_db.store.queries import hook_queries, list_queries

if TYPE_CHECKING:
    from playbook_db.store.queries.hook_queries import Execute, Reader


@dataclass(frozen=True, slots=True)
class Learned:
    """The session that was learned from last, and when. `counts` are its changes by kind; `waiting` of its proposals
    wait."""

    session_id: str
    time: str
    waiting: int
    counts: dict[str, int]


class IgnoredPoint(NamedTuple):
    """A point that sessions often ignore. `sessions` counts those that ignored it since it was last reworded."""

    name: str
    sessions: int


@dataclass(frozen=True, slots=True)
class Status:
    """The status of a project's playbook. If it is a `team`'s, this machine last saw it at `team_as_of` (None: never).

    A session gets `shown` of the `points`, and `user_shown` of the `user_points` in the user's personal playbook. It
    gets none if the database `is_on_server`, as hooks don't connect there. `proposals` counts those for both playbooks.
    `queued`, `running` and `failed` count jobs. `waits` names tasks for the user and reasons why learning waits.
    `tokens_today` and `cost_usd_all_today` cover all projects, `cost_usd_today` only this one. `daily_tokens` is the
    budget (0: none); `agreed_today` are tokens that don't count against it.
    """

    key: str
    database: str
    mirror: str
    is_ignored: bool
    team: str | None
    team_as_of: str | None
    points: int
    shown: int
    user_points: int
    user_shown: int
    revision: int
    learned: Learned | None
    proposals: int
    queued: int
    running: int
    failed: int
    waits: tuple[str, ...]
    tokens_today: int
    agreed_today: int
    daily_tokens: int
    cost_usd_today: float
    cost_usd_all_today: float
    often_ignored: tuple[IgnoredPoint, ...]
    is_on_server: bool = False


def read(url: str, folder: str | None) -> Status:
    """Return the status of the project in *folder*. The database at *url* may be missing. Without a folder, return the
    status of the user's personal playbook. Raises DatabaseError, SettingError."""
    path = settings.sqlite_file(url) or ""
    key = projects.USER_KEY if folder is None else projects.project_key(folder)

    def query(book: hook_queries.Book) -> Status:
        here = key if folder is None else hook_queries.key_of(book.execute, folder)
        return _read(book, path, here, folder)

    if status := file_first.from_file(url, folder, query, sync=False, is_own=True):
        return status
    from playbook_db.services.project import Project  # late: it brings SQLAlchemy
    from playbook_db.store.engine import open_store
    from playbook_db.store.playbook import repository

    with open_store(url) as store, store.read(Project.of_user(store).key if folder is None else key) as book:
        status = _read(book, store.where, book.key, folder, repository.users_key(book.connection))
        return replace(status, shown=0, user_shown=0, is_on_server=True) if store.is_shared else status


def _read(book: "Reader", database: str, key: str, folder: str | None, users_key: str = projects.USER_KEY) -> Status:
    execute, project = book.execute, book.project
    users = [] if folder is None else [_find(book, users_key)]
    points = _points_of_team(database, [book, *users], folder) if project.team_name else _points([book, *users], folder)
    of_project = {"playbook_id": project.id}
    jobs = dict(tuple(row) for row in execute(list_queries.JOBS_BY_STATE, of_project))
    used = execute(list_queries.USED_SINCE, {**of_project, "since": timestamp(day_begin(datetime.now(UTC)))})
    [(tokens, agreed, cost, cost_of_all)] = used
    waiting = Waiting(folder, project, execute)
    waits = []
    if folder is not None and not project.revision and (moved := moved_from(execute, folder)):
        waits.append(moved)
    if stale := ", ".join(points.pop("stale")):
        waits.append(f"{stale}: not what the playbook says. To see and write the changes: playbook export --rules")
    if waiting.conflict:
        waits.append(waiting.conflict)
    if waiting.mirror:
        waits.append(f"{waiting.mirror} is not in use yet. To look at it and import it: playbook init")
    if waiting.settings:
        names = ", ".join(waiting.settings)
        waits.append(f"nothing is learned here: this project's settings set {names}. To decide: playbook project trust")
    if project.time and wrong_clock.is_ahead(project.time, time.time()):
        waits.append(wrong_clock.warning(project.revision, project.time))
    waits += dict.fromkeys(error.removeprefix(hook_queries.WAITS) for error in waiting.errors)
    return Status(
        key=key,
        database=database,
        mirror="conflict" if waiting.conflict else project.mirror,
        is_ignored=hook_queries.is_ignored(execute, key),
        team=project.team_name,
        **points,
        queued=jobs.get("queued", 0),
        running=jobs.get("running", 0),
        failed=jobs.get("failed", 0),
        waits=tuple(waits),
        tokens_today=tokens,
        agreed_today=agreed,
        daily_tokens=settings.daily_tokens(),
        cost_usd_today=cost,
        cost_usd_all_today=cost_of_all,
    )


def moved_from(execute: "Execute", folder: str) -> str:
    """Return a sentence if the project in *folder*, which has no points, has moved or is another repository now."""
    from playbook_db.services.sharing import git  # late: mostly there is a playbook

    key = hook_queries.key_of(execute, folder)
    if projects.OTHER in key:
        return projects.replaced(key)
    return projects.moved(hook_queries.moved_from(execute, folder, git.root_commit(folder)))


def _find(book: "Reader", key: str) -> "Reader":
    return hook_queries.Book(book, hook_queries.find_project(book.execute, key) or list_queries.NO_PLAYBOOK)


def _points(playbooks: "Sequence[Reader]", folder: str | None, known_at: str | None = None) -> dict[str, Any]:
    """Return the fields of `Status` about points and proposals, and the `stale` rules in *folder*. *playbooks* are the
    project's and the user's. A team's replica was last known to be current at *known_at*."""
    first, last = playbooks[0], playbooks[-1]
    shown, rules = [0] * len(playbooks), hook_queries.rules_in(folder)
    if not first.project.is_ignored and any(each.project.live_points for each in playbooks):
        ranked = [hook_queries.ranked_points(each, rules) for each in playbooks]
        shown = list(map(len, prompt_text.compose(templates.playbook_template(), ranked)[1]))
    return {
        "stale": _stale_rules(first, folder) if folder and rules else (),
        "team_as_of": known_at,
        "points": first.project.live_points,
        "shown": shown[0],
        "user_points": last.project.live_points,
        "user_shown": shown[-1],
        "revision": first.project.revision,
        "proposals": sum(hook_queries.proposals_waiting(each)[0] for each in playbooks),
        "often_ignored": tuple(
            IgnoredPoint(*row) for each in playbooks for row in hook_queries.rows(each, list_queries.OFTEN_IGNORED)
        ),
        "learned": _learned(list(hook_queries.rows(first, list_queries.LAST_LEARNED))),
    }


def _stale_rules(book: "Reader", folder: str) -> "Sequence[str]":
    from playbook_db.services.sharing import rules  # late: mostly there are none

    return rules.stale(book, folder)


def _points_of_team(database: str, playbooks: "Sequence[Reader]", folder: str | None) -> dict[str, Any]:
    """Return the fields of `_points` for the team's playbook of the project *book*, as this machine's replica has
    it."""
    book, *users = playbooks
    path = sqlite_open.replica_of(database, book.playbook_id)
    unusable = OSError, sqlite_open.UnusableError, sqlite_open.driver().Error  # doctor says what is wrong
    with suppress(*unusable), closing(sqlite_open.open_replica(path)) as replica:
        shown = list_queries.find_in_replica(replica, book.project.team_name or "")
        if shown is not None:
            shown.is_ignored = book.project.is_ignored
            known_at = timestamp(datetime.fromtimestamp(os.stat(path).st_mtime, UTC))
            return _points([hook_queries.Book(replica, shown), *users], folder, known_at)
    return _points([hook_queries.Book(book, list_queries.NO_PLAYBOOK), *users], None)


def _learned(rows: list[Any]) -> Learned | None:
    if not rows:
        return None
    session_id, time, waiting, *_ = rows[0]
    return Learned(session_id, time, waiting, {kind: count for *_, kind, count in rows if kind})
