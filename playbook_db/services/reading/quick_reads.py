"""Reading for commands: from the database file as the hooks read it, without SQLAlchemy, or else from the open project.

`read` chooses; `ReadSource` says where. The file alone doesn't do if the database is no SQLite file, is at another
schema or damaged; if the mirror isn't up to date or waits for consent; if the playbook is a team's; or if what is asked
for isn't there, which the open project explains.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from playbook_db import projects, settings
from playbook_db.domain import prompt_text
from playbook_db.services import templates
from playbook_db.store import at_hand, hook_sql, quick_sql

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from contextlib import AbstractContextManager

    from playbook_db.domain.prompt_text import PromptPoint
    from playbook_db.domain.proposals import ReviewItem
    from playbook_db.services.project import Project
    from playbook_db.store.at_hand import Connection
    from playbook_db.store.dialect import Question
    from playbook_db.store.hook_sql import StoredPoint, StoredProject
    from playbook_db.store.quick_sql import (
        Job,
        ListedProject,
        PointEvidence,
        PointLifespan,
        Retirement,
        SessionSummary,
        StoredMarks,
    )
    from playbook_db.store.revision_log import LoggedRevision
    from playbook_db.store.upkeep.backup_list import Backup

    Hits = tuple[Sequence[Sequence[tuple[StoredPoint, float]]], Mapping[str, StoredMarks]]
    Listing = tuple[Sequence[PromptPoint], Mapping[str, StoredMarks]]
    FullPoint = tuple[PromptPoint, Retirement | None, PointLifespan, str, Sequence[PointEvidence]]

T = TypeVar("T")
_WAIT_S = 0.05  # for a database that somebody holds; the open project waits longer
_MOST_REVISIONS = 100  # of a log that is read at once


@dataclass(frozen=True, slots=True)
class Reads:
    """What a command reads of a team's playbook: the `points` alone, which a current replica answers, or more; and the
    questions that only the server can answer, which are asked `beside`."""

    points: bool = False
    beside: "tuple[Question, ...]" = ()


HISTORY = Reads()
POINTS = Reads(points=True)
MARKED_POINTS = Reads(points=True, beside=((quick_sql.MARKS, {}),))


def one_point(name: str) -> Reads:
    """What is read to show the point *name*."""
    return Reads(points=True, beside=((quick_sql.EVIDENCE, {"name": name}),))


@dataclass(frozen=True, slots=True)
class ReadSource:
    """Where to read: the database at `url`, and the project in `folder`, or without one the user's own playbook.
    `opened` opens the project in full, with the options of `open_project`."""

    url: str
    folder: str | None
    opened: "Callable[..., AbstractContextManager[Project]]"


def read(
    source: ReadSource,
    query: "Callable[[Connection, StoredProject], T]",
    in_full: "Callable[[Project], T] | None" = None,
    *,
    sync: bool = True,
    is_own: bool = False,
    reads: Reads | None = None,
) -> T:
    """What *query* finds in one state of the database file, or in the open project if the file doesn't do; there
    *in_full* takes its place, if given.

    With *sync* the mirror must be up to date; with *is_own* a team's playbook is left alone; with *reads* it may
    be what this machine last knew of it. Raises what `open_project` raises.
    """
    result = from_file(source.url, source.folder, query, in_step=sync, is_own=is_own)
    if result is not None:
        return result
    with source.opened(sync=sync, is_own=is_own, reads=reads) as project:
        if in_full is not None:
            return in_full(project)
        with project.store.read(project.key) as book:
            return query(book, book.stored())  # type: ignore[arg-type]  # it runs statements, too


def listing(source: ReadSource) -> "Listing":
    """The live points in canonical order, and what is known of each beside, by name."""

    def in_full(project: "Project") -> "Listing":
        with project.store.read(project.key) as book:
            return book.live_points(), book.marks()

    return read(source, list_in, in_full, reads=MARKED_POINTS)


def list_in(connection: "Connection", project: "StoredProject") -> "Listing":
    """The same, from the file or an open project."""
    return quick_sql.live_points(connection, project.id), quick_sql.marks(connection, project.id)


def search(source: ReadSource, questions: Sequence[str], notify: "Callable[[str], object]") -> "Hits":
    """For each of *questions* the live points that answer it, each with how well, the best first, and what is known of
    each live point beside, by name. *notify* is told of an index that can't be asked."""

    def in_full(project: "Project") -> "Hits":
        from playbook_db.services.reading import listing

        searched, marks = listing.search(project, *questions)
        if any(each.is_damaged for each in searched):
            notify(str(listing.DAMAGED))
        return [each.points for each in searched], marks

    return read(source, lambda *where: search_in(*where, *questions), in_full, reads=MARKED_POINTS)


def search_in(connection: "Connection", project: "StoredProject", *questions: str) -> "Hits":
    """The same, in the file. Raises LookupError if there is no index that could be asked."""
    of = connection.execute, project.id, project.live_points
    answers = [hook_sql.search(*of, each) for each in questions]
    return answers, quick_sql.marks_of(connection.execute, project.id, answers)


def retired_points(source: ReadSource) -> "Sequence[tuple[PromptPoint, Retirement]]":
    """The retired points, most recent first."""
    return read(source, lambda book, project: quick_sql.retired_points(book, project.id), reads=POINTS)


def find_point(source: ReadSource, name: str) -> "FullPoint | None":
    """The point *name*, live or retired, as `quick_sql.find_point` has it; None if only the open project can tell.
    Raises PointNotFoundError."""

    def quick(connection: "Connection", project: "StoredProject") -> "FullPoint | None":
        point = quick_sql.find_point(connection, project.id, name)
        if point is None and revision_number(name) is None:
            live = [each.name for each in quick_sql.live_points(connection, project.id)]
            raise PointNotFoundError(name, similar=tuple(get_close_matches(name, live, n=3)))
        return point

    from difflib import get_close_matches  # late: few commands come here

    from playbook_db.domain.times import revision_number
    from playbook_db.errors import PointNotFoundError

    return from_file(source.url, source.folder, quick)


def prompt(source: ReadSource, *, whole: bool) -> str:
    """The text that goes into a session: the best points that fit, or with *whole* all, and those of the user's own
    playbook; `""` if both are empty. Raises TemplateError."""

    def quick(connection: "Connection", project: "StoredProject") -> str:
        playbooks = [project]
        if source.folder is not None and (users := hook_sql.find_project(connection, projects.USER_KEY)) is not None:
            playbooks.append(users)
        if not any(each.live_points for each in playbooks):
            return ""
        if whole:
            points = [quick_sql.live_points(connection, each.id) for each in playbooks]
            return templates.fill_points(prompt_text.render_playbooks(points))
        ranked = [
            hook_sql.ranked_points(connection.execute, each, is_users=source.folder is None or each is not project)
            for each in playbooks
        ]
        return prompt_text.compose(templates.playbook_template(), ranked)[0]

    def in_full(project: "Project") -> str:
        from playbook_db.services.playbook import import_export

        return import_export.prompt_with_all(project) if whole else import_export.prompt(project)

    return read(source, quick, in_full, reads=POINTS)


def jobs(source: ReadSource, *, of_all: bool) -> "list[Job]":
    """The jobs of the project, or of all projects; the oldest first."""

    def query(connection: "Connection", project: "StoredProject") -> "list[Job]":
        return quick_sql.jobs(connection.execute, None if of_all else project.id)

    return read(source, query, sync=False, is_own=True)


def sessions(source: ReadSource) -> "list[SessionSummary]":
    """Each session that was learned from, newest first."""
    return read(source, lambda book, project: quick_sql.sessions(book.execute, project.id), sync=False)


def proposals(source: ReadSource) -> "list[ReviewItem]":
    """The proposals that wait for a person: those for the project's playbook, then those for their own."""

    def quick(connection: "Connection", project: "StoredProject") -> "list[ReviewItem]":
        is_users = source.folder is None
        own = None if is_users else hook_sql.find_project(connection, projects.USER_KEY)
        items = quick_sql.waiting(connection.execute, project.id, is_users=is_users)
        return items + (quick_sql.waiting(connection.execute, own.id, is_users=True) if own else [])

    def in_full(project: "Project") -> "list[ReviewItem]":
        from playbook_db.services.playbook import review

        return review.all_waiting(project)

    return read(source, quick, in_full)


def log(
    source: ReadSource, options: Mapping[str, Any], show: "Callable[[Iterator[LoggedRevision]], object]", *, most: int
) -> None:
    """Have *show* print the revisions that *options* ask for, as `history.LogQuery` has them, each with at most *most*
    changes. The file does for few revisions, without `since`, `until` and `session`."""

    def quick(connection: "Connection", project: "StoredProject") -> "Sequence[LoggedRevision] | None":
        from playbook_db.store.revision_log import LogFilter, RevisionLog

        name, limit = options["name"], options["limit"] or _MOST_REVISIONS + 1
        of_point = {"playbook_id": project.id, "name": name}
        point_id = None if name is None else connection.execute(quick_sql.POINT_ID, of_point).fetchone()
        if (name is not None and point_id is None) or any(options[each] for each in ("since", "until", "session")):
            return None
        log_filter = LogFilter(1, project.revision, None, options["source"], options["by"], point_id and point_id[0])
        reader = RevisionLog(connection.execute, "INDEXED BY {}".format, project.id)
        revisions = reader.read(log_filter, limit=min(limit, _MOST_REVISIONS + 1), most_changes=most)
        return revisions if len(revisions) <= _MOST_REVISIONS else None

    revisions = from_file(source.url, source.folder, quick)
    if revisions is not None:
        show(iter(revisions))
        return
    from playbook_db.services.reading import history

    with source.opened() as project:
        show(history.log(project, history.LogQuery(**options), most_changes=most))


def list_projects(url: str) -> "list[ListedProject]":
    """All projects that have a playbook, by key."""
    listed = from_file(url, None, lambda connection, _: quick_sql.projects(connection.execute))
    if listed is not None:
        return listed
    from playbook_db.services import project

    with project.open_store(url) as store:
        return project.list_projects(store)


def location(url: str) -> str:
    """Where the database at *url* is, in words: its file, or the URL without its password."""
    path = at_hand.file_of(url)
    if path is None:
        from playbook_db.store import urls

        return urls.described(url)
    return path


def backups(url: str) -> "list[tuple[Backup, int | None]]":
    """The backups of the database at *url*, newest first, each with its schema; None where it can't be read. Raises
    DatabaseError for one on a server."""
    path = at_hand.file_of(url)
    if path is None or at_hand.no_regular_file(path):
        from playbook_db.store.upkeep import database_file

        path = database_file.path_of(url)  # explains what is wrong
    from playbook_db.store.upkeep import backup_list

    return backup_list.with_schemas(path)


def is_ignored(url: str, folder: str) -> bool | None:
    """Whether the project in *folder* is kept out of the playbook; None if the file alone can't tell."""
    return from_file(url, folder, lambda _, project: project.is_ignored)


def known_times(url: str, folder: str | None, times: "Collection[str]") -> "dict[str, tuple[int, bool]] | None":
    """What is known of files of the project in *folder* by their *times*, as `quick_sql.known_times` says; None if the
    file alone can't tell."""
    return from_file(
        url,
        folder,
        lambda connection, project: quick_sql.known_times(connection, project.id, times),
        in_step=False,
    )


def last_lesson(url: str, folder: str | None) -> tuple[str, str, str] | None:
    """The name, the text and the time of the live point that was learned last; None if there is none, or the file
    alone can't tell."""
    return from_file(
        url,
        folder,
        lambda connection, project: connection.execute(quick_sql.LAST_LESSON, {"playbook_id": project.id}).fetchone(),
        in_step=False,
        of_replica=True,
    )


def names(url: str, folder: str | None) -> list[str]:
    """The names of the live points, of a team's playbook those that this machine knows; none if the file can't tell."""
    points = from_file(
        url, folder, lambda connection, project: quick_sql.live_points(connection, project.id), of_replica=True
    )
    return [point.name for point in points or ()]


def from_file(
    url: str,
    folder: str | None,
    query: "Callable[[Connection, StoredProject], T | None]",
    *,
    in_step: bool = True,
    is_own: bool = False,
    of_replica: bool = False,
) -> "T | None":
    """What *query* finds in one state of the database file, of an empty playbook if none is made yet; None if the file
    doesn't do. The mirror must be *in_step*, if that matters. A team's playbook is only read *of_replica*; with
    *is_own* the project's own is meant."""
    path = settings.sqlite_file(url)
    if path is None or not os.path.exists(path):
        return None
    # What is wrong is explained, or put right, when the project is opened.
    unreadable = at_hand.UnusableError, at_hand.driver().Error, UnicodeDecodeError, OSError, LookupError
    with suppress(*unreadable), closing(at_hand.connect(path, wait_s=_WAIT_S)) as connection:
        connection.execute("BEGIN")
        project = hook_sql.find_project(
            connection, projects.USER_KEY if folder is None else projects.project_key(folder)
        )
        if project is not None and project.team_name is not None and not is_own:
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
