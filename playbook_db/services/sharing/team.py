"""Projects that use a team's playbook: leaving the team, the membership's status, and the worker's updates.

Commands and the worker ask the team's database; hooks never do. Hooks read the replica, and record in the user's own
database which points a session saw.
"""

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from playbook_db.domain.playbook_file import Reading
from playbook_db.errors import DatabaseError, PlaybookError, ProjectError, Remedy, ServerAwayError
from playbook_db.services.playbook import forget, import_export
from playbook_db.services.project import Project, Servers, find_membership, password_file, with_kept_password
from playbook_db.store import jobs, sqlite_open, urls
from playbook_db.store.engine import Store, open_store, retry_on_conflict
from playbook_db.store.playbook.repository import RevisionResult
from playbook_db.store.team import memberships, replica, time_limits
from playbook_db.store.team.memberships import Member, Membership

_SENT_AT_ONCE = 200  # showings, in one transaction


@dataclass(frozen=True, slots=True)
class LeaveResult:
    """The result of leaving the team's playbook `name` in the database `where`.

    `copied` is the revision with the team's points, None if none were copied. `untold` counts records of shown points
    that the team never got. If the database can't be reached, `problem` says why, and `as_of` is the points' time.
    """

    where: str
    name: str
    copied: RevisionResult | None
    as_of: datetime | None
    problem: str | None
    untold: int


def leave(own: Project, *, takes_copy: bool = True) -> LeaveResult:
    """Let the project *own* leave its team. With *takes_copy*, the project's own playbook gets the team's points.
    Raises ProjectError if the project has joined no team, or if there are no points to copy."""
    membership = require(own)
    replica_path = sqlite_open.replica_of(own.store.where, membership.playbook_id)
    reading, as_of, problem = None, None, None
    try:
        with time_limits.at_most(time_limits.REPLICA_S), _server(own, membership) as server:
            if takes_copy:
                reading = _reading(server, membership.name)
            for step in (forget.follow_team, _send):
                with suppress(DatabaseError, OSError):  # a reader may not write there
                    step(own.store, membership, server)
    except PlaybookError as error:
        is_here = replica.state(replica_path, membership.name) is not None
        problem, as_of = str(error), replica.known_at(replica_path) if is_here else None
        if takes_copy and as_of is None:
            remedy = Remedy("To leave without a copy: {}", ("team", "leave", "--no-copy"))
            raise ProjectError(f"{error} Nothing was changed.", remedy) from error
        if takes_copy:
            with replica.opened(replica_path) as there:
                reading = _reading(there, membership.name)
    copied = None
    if reading is not None:
        source = f"the team's playbook {membership.name}"
        copied = import_export.import_playbook(own, reading, source=source, replace=True)
    untold = _end(own)
    with own.store.snapshot() as connection:
        still_needed = membership.url in {each.url for each in memberships.read_all(connection)}
    password = () if still_needed else (password_file(own.store, membership.url),)
    for path in (replica_path, f"{replica_path}.lock", *password):
        with suppress(FileNotFoundError):
            os.unlink(path)
    as_of = as_of if copied is not None else None
    return LeaveResult(urls.described(membership.url), membership.name, copied, as_of, problem, untold)


def _server(own: Project, membership: Membership) -> Store:
    return open_store(with_kept_password(own.store, membership.url))


def require(own: Project) -> Membership:
    """Return the membership of the project *own*. Raises ProjectError if the project has joined no team."""
    membership = find_membership(own)
    if membership is None:
        raise ProjectError(f"{own.key} has joined no team.", Remedy("Join one with: {}", ("team", "join", "URL")))
    return membership


@retry_on_conflict
def _end(own: Project) -> int:
    with own.store.write(own.key) as book:
        return memberships.leave(book)


def _reading(store: Store, name: str) -> Reading | None:
    with store.read(name) as book:
        return import_export.reading_of(book) if book.revision else None


def serve(store: Store, servers: Servers, note: Callable[[str], object]) -> list[str]:
    """Update the replicas of all teams, and send the teams records of shown points. Return the keys of projects with a
    new replica. A server that can't be reached is left for the next worker. *note* gets all other problems."""
    with store.snapshot() as connection:
        known = memberships.read_all(connection)
    refreshed = []
    for membership in known:
        for step in (forget.follow_team, _send):  # a reader can't do the second
            try:
                with servers.of_team(store, membership) as server:
                    refreshed += [membership.key] * bool(step(store, membership, server))
            except ServerAwayError:
                break
            except (PlaybookError, OSError) as error:
                note(f"the team's playbook of {membership.key}: {error}")
    return refreshed


@retry_on_conflict
def _send(store: Store, membership: Membership, server: Store) -> None:
    """Send the records of shown points to the team's database. Records that are sent twice count once."""
    while True:
        with store.snapshot() as connection:
            showings = memberships.unsent(connection, membership.playbook_id, most=_SENT_AT_ONCE)
        if not showings:
            return
        with server.write(membership.name) as book:
            memberships.add_showings(book, showings)
        with store.transaction() as connection:
            memberships.drop_sent(connection, membership.playbook_id, showings, now=datetime.now(UTC))


@dataclass(frozen=True, slots=True)
class TeamStatus:
    """A project's membership in a team. `where` describes the team's database, and `name` is the project's name there.

    `replica` is the replica's content, and `replica_at` when it was last current (None if there is none). `queued` and
    `failed` count jobs, and `unsent` counts records of shown points. `schema`, `revision` and `members` come from the
    database. `problem` says why the database can't be reached or written. If `is_away`, the problem may pass.
    """

    where: str
    name: str
    joined_at: str
    replica: replica.State | None
    replica_at: datetime | None
    queued: int
    failed: int
    unsent: int
    schema: int | None = None
    revision: int | None = None
    members: tuple[Member, ...] = ()
    problem: str | None = None
    is_away: bool = False


def joined(store: Store) -> dict[str, TeamStatus]:
    """Return the status of all memberships in the user's own *store*, by the project's key. No server is asked."""
    with store.snapshot() as connection:
        keys = [each.key for each in memberships.read_all(connection)]
    return {key: read_status(Project(store, key), asks=False) for key in keys}


def read_status(own: Project, *, asks: bool = True) -> TeamStatus:
    """Return the status of the membership of the project *own*. The team's database is asked only if *asks* is set.
    Raises ProjectError if the project has joined no team."""
    membership = require(own)
    path = sqlite_open.replica_of(own.store.where, membership.playbook_id)
    with own.store.snapshot() as connection:
        states = [job.state for job in jobs.read_all(connection, own.key)]
        unsent = memberships.count_unsent(connection, membership.playbook_id)
    status = TeamStatus(
        urls.described(membership.url),
        membership.name,
        membership.joined_at,
        replica.state(path, membership.name),
        replica.known_at(path),
        states.count("queued") + states.count("running"),
        states.count("failed"),
        unsent,
    )
    if not asks:
        return status
    try:
        with time_limits.at_most(time_limits.REPLICA_S), _server(own, membership) as server:
            with server.read(membership.name) as book:
                members = tuple(memberships.members(book))
                status = replace(status, schema=sqlite_open.SCHEMA, revision=book.revision, members=members)
            with server.write(membership.name):  # nothing is written; this only tells whether it could be
                return status
    except PlaybookError as error:
        return replace(status, problem=str(error), is_away=isinstance(error, ServerAwayError))
