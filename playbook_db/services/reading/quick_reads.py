"""The playbook read as the hooks read it, without SQLAlchemy: for commands that only look, and so start at once.

Without a folder the user's own playbook is meant, in place of a project's. Each function gives None where it can't
tell, and the other services must be asked: the database is no SQLite file, is at another schema or damaged; the mirror
isn't in step or waits for consent; there is no such point; the playbook is a team's.
"""

import os
from contextlib import closing, suppress
from typing import TYPE_CHECKING

from playbook_db import projects, settings
from playbook_db.domain import prompt_text
from playbook_db.services import templates
from playbook_db.store import at_hand, hook_sql, quick_sql

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from typing import Any, TypeVar

    from playbook_db.store.at_hand import Connection
    from playbook_db.store.hook_sql import StoredPoint, StoredProject
    from playbook_db.store.quick_sql import PointEvidence, PointLifespan, Retirement, StoredMarks

    T = TypeVar("T")

_WAIT_S = 0.05  # for a database that somebody holds; the services wait longer


def live_points(url: str, folder: str | None, *, may_be_old: bool = False) -> "list[StoredPoint] | None":
    """The live points of the project in *folder*, in canonical order; of a team's playbook those that this machine
    knows, if they *may_be_old*."""
    return _read(
        url, folder, lambda connection, project: quick_sql.live_points(connection, project.id), of_replica=may_be_old
    )


def listing(url: str, folder: str | None) -> "tuple[Sequence[StoredPoint], Mapping[str, StoredMarks]] | None":
    """The live points of the project in *folder*, in canonical order, and what is known of each beside, by name."""
    return _read(
        url,
        folder,
        lambda connection, project: (
            quick_sql.live_points(connection, project.id),
            quick_sql.marks(connection, project.id),
        ),
    )


def search(
    url: str, folder: str | None, *questions: str
) -> "tuple[Sequence[Sequence[tuple[StoredPoint, float]]], Mapping[str, StoredMarks]] | None":
    """For each of *questions* the live points of the project in *folder* that answer it, each with how well, the best
    first, and what is known of these points beside, by name; None where there is no index that could be asked, too.
    """

    def query(connection: "Connection", project: "StoredProject") -> "tuple[Any, Mapping[str, StoredMarks]]":
        of = connection.execute, project.id, project.live_points
        answers = [hook_sql.search(*of, each) for each in questions]
        return answers, quick_sql.marks_of(connection.execute, project.id, answers)

    return _read(url, folder, query)


def retired_points(url: str, folder: str | None) -> "list[tuple[StoredPoint, Retirement]] | None":
    """The retired points of the project in *folder*, the last one first."""
    return _read(url, folder, lambda connection, project: quick_sql.retired_points(connection, project.id))


def find_point(
    url: str, folder: str | None, name: str
) -> "tuple[StoredPoint, Retirement | None, PointLifespan, str, tuple[PointEvidence, ...]] | None":
    """The point *name* of the project in *folder*, live or retired, as `quick_sql.find_point` has it."""
    return _read(url, folder, lambda connection, project: quick_sql.find_point(connection, project.id, name))


def prompt(url: str, folder: str | None, *, whole: bool) -> str | None:
    """The text that goes into a session of the project in *folder*: the best points that fit, or with *whole* all, and
    those of the user's own playbook; `""` where both are empty. Raises TemplateError."""

    def query(connection: "Connection", project: "StoredProject") -> str:
        playbooks = [project]
        if folder is not None and (users := hook_sql.find_project(connection, projects.USER_KEY)) is not None:
            playbooks.append(users)
        if not any(each.live_points for each in playbooks):
            return ""
        if whole:
            points = [quick_sql.live_points(connection, each.id) for each in playbooks]
            return templates.fill_points(prompt_text.render_playbooks(points))
        ranked = [
            hook_sql.ranked_points(connection.execute, each, is_users=folder is None or each is not project)
            for each in playbooks
        ]
        return prompt_text.compose(templates.playbook_template(), ranked)[0]

    return _read(url, folder, query)


def is_ignored(url: str, folder: str) -> bool | None:
    """Whether the project in *folder* is kept out of the playbook."""
    return _read(url, folder, lambda connection, project: project.is_ignored)


def known_times(url: str, folder: str | None, times: "Collection[str]") -> "dict[str, tuple[int, bool]] | None":
    """What is known of files of the project in *folder* by their *times*, as `quick_sql.known_times` says."""
    return _read(
        url,
        folder,
        lambda connection, project: quick_sql.known_times(connection, project.id, times),
        in_step=False,
    )


def _read(
    url: str,
    folder: str | None,
    query: "Callable[[Connection, StoredProject], T]",
    *,
    in_step: bool = True,
    of_replica: bool = False,
) -> "T | None":
    """What *query* finds in one state of the database, of an empty playbook where none is made yet. The mirror must be
    *in_step*, where that matters. A team's playbook is only read *of_replica*."""
    path = settings.sqlite_file(url)
    if path is None or not os.path.exists(path):
        return None
    # What is wrong the services say, or put right.
    unreadable = at_hand.UnusableError, at_hand.driver().Error, UnicodeDecodeError, OSError, LookupError
    with suppress(*unreadable), closing(at_hand.connect(path, wait_s=_WAIT_S)) as connection:
        connection.execute("BEGIN")
        project = hook_sql.find_project(
            connection, projects.USER_KEY if folder is None else projects.project_key(folder)
        )
        if project is not None and project.team_name is not None:
            if not of_replica:
                return None
            with closing(at_hand.open_replica(at_hand.replica_of(path, project.id))) as replica:
                return query(replica, hook_sql.find_project(replica, project.team_name) or quick_sql.NO_PLAYBOOK)
        if in_step and folder is not None and not _is_mirror_in_step(connection, project, folder):
            return None
        return query(connection, project or quick_sql.NO_PLAYBOOK)
    return None


def _is_mirror_in_step(connection: "Connection", project: "StoredProject | None", folder: str) -> bool:
    """Whether the mirror in *folder* needs no sync: it isn't kept, or is the file that holds the last revision."""
    path = projects.mirror_path(folder)
    state = project.mirror if project else "undecided"
    if state == "off":
        return True
    if not os.path.lexists(path):
        return state != "on"
    if project is None or state == "undecided":
        return False
    if os.path.realpath(path) != projects.mirror_path(os.path.realpath(folder)):
        return False  # a link: the services look where it leads to
    status = os.stat(path)
    known = hook_sql.mirror_file(connection, project.id, projects.as_text(path))
    present = (status.st_size, status.st_mtime_ns, project.revision)
    return known is not None and (known.size_bytes, known.mtime_ns, known.revision) == present
