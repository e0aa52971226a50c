"""A project whose playbook is a team's: leaving, how it stands, and keeping this machine in step.

The team's database is asked by commands and by the worker, never by a hook: hooks read the replica, and leave what a
session was shown in the user's own database.
"""

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from playbook_db.domain.playbook_file import Reading
from playbook_db.errors import DatabaseError, PlaybookError, Remedy, ServerAwayError, TeamError
from playbook_db.services.playbook import forget, import_export
from playbook_db.services.project import (
    Project,
    Servers,
    find_membership,
    password_file,
    with_kept_password,
)
from playbook_db.store import at_hand, jobs, urls
from playbook_db.store.engine import Store, open_store, retry_on_conflict
from playbook_db.store.playbook.repository import RevisionResult
from playbook_db.store.team import memberships, patience, replica
from playbook_db.store.team.memberships import Member, Membership

_SENT_AT_ONCE = 200  # showings in one transaction


@dataclass(frozen=True, slots=True)
class LeaveResult:
    """What leaving did: the team's database in words, the project's name there, the revision that took the team's
    points along (None: nothing was), since when they are where the database couldn't be asked, which is the `problem`,
    and of how many sessions the team was never told what they were shown."""

    where: str
    name: str
    copied: RevisionResult | None
    as_of: datetime | None
    problem: str | None
    untold: int


def leave(own: Project, *, takes_copy: bool = True) -> LeaveResult:
    """Let the project *own* have a playbook of its own again: with what the team's holds now, unless it *takes_copy*
    off. Raises TeamError where it has joined none, or the team's playbook can't be had."""
    membership = require(own)
    replica_path = at_hand.replica_of(own.store.where, membership.playbook_id)
    reading, as_of, problem = None, None, None
    try:
        with patience.at_most(patience.REPLICA_S), _server(own, membership) as server:
            if takes_copy:
                reading = _reading(server, membership.name)
            for step in (forget.follow_team, _send):
                with suppress(DatabaseError, OSError):  # as of a reader, who may not write there
                    step(own.store, membership, server)
    except PlaybookError as error:
        is_here = replica.state(replica_path, membership.name) is not None
        problem, as_of = str(error), replica.known_at(replica_path) if is_here else None
        if takes_copy and as_of is None:
            remedy = Remedy("To leave without taking a copy along: {}", ("team", "leave", "--no-copy"))
            raise TeamError(f"{error} Nothing was changed.", remedy) from error
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
    return open_store(with_kept_password(own.store, membership.url), key=membership.name)


def require(own: Project) -> Membership:
    """The membership of the project *own*. Raises TeamError where it has none."""
    membership = find_membership(own)
    if membership is None:
        raise TeamError(f"{own.key} has joined no team.", Remedy("Join one with: {}", ("team", "join", "URL")))
    return membership


@retry_on_conflict
def _end(own: Project) -> int:
    """Let the project belong to no team; how many showings the team's database doesn't know of."""
    with own.store.write(own.key) as book:
        return memberships.leave(book)


def _reading(store: Store, name: str) -> Reading | None:
    """The team's playbook as a file would bring it in; None where nothing was ever in it."""
    with store.read(name) as book:
        return import_export.reading_of(book) if book.revision else None


# Keeping in step, for the worker.


def serve(store: Store, servers: Servers, note: Callable[[str], object]) -> list[str]:
    """Bring this machine and the databases of all teams in step: the replicas become what is there now, and what
    sessions were shown goes there. The keys of the projects whose replica is new.

    A server that is away is asked again by the next worker; *note* is given what else is wrong.
    """
    with store.snapshot() as connection:
        known = memberships.read_all(connection)
    refreshed = []
    for membership in known:
        for step in (forget.follow_team, _send):  # who may only read can't do the second
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
    """Tell the team's database what sessions were shown. Killed in between, it is told once more, and counts once."""
    while True:
        with store.snapshot() as connection:
            showings = memberships.unsent(connection, membership.playbook_id, most=_SENT_AT_ONCE)
        if not showings:
            return
        with server.write(membership.name) as book:
            memberships.take_in(book, showings)
        with store.transaction() as connection:
            memberships.drop_sent(connection, membership.playbook_id, showings, now=datetime.now(UTC))


# How it stands.


@dataclass(frozen=True, slots=True)
class TeamStatus:
    """How a project's membership stands: the database in words, the project's name there and since when; what the
    replica holds and when it was last known to be current (None: there is none); the jobs and showings that wait.

    Of the database: its schema, the playbook's last revision and its members; `problem` says why it couldn't be asked,
    which `is_away` makes one that may be over soon, or why it can only be read.
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
    """How each membership in the user's own *store* stands, by the project's key, as far as this machine knows."""
    with store.snapshot() as connection:
        keys = [each.key for each in memberships.read_all(connection)]
    return {key: read_status(Project(store, key), asks=False) for key in keys}


def read_status(own: Project, *, asks: bool = True) -> TeamStatus:
    """How the membership of the project *own* stands, as far as this machine knows where nobody *asks* the database.
    Raises TeamError where it has joined no team."""
    membership = require(own)
    path = at_hand.replica_of(own.store.where, membership.playbook_id)
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
        with patience.at_most(patience.REPLICA_S), _server(own, membership) as server:
            with server.read(membership.name) as book:
                members = tuple(memberships.members(book))
            status = replace(status, schema=at_hand.SCHEMA, revision=book.revision, members=members)
            with server.write(membership.name):  # nothing is written, but it tells whether one may
                return status
    except PlaybookError as error:
        return replace(status, problem=str(error), is_away=isinstance(error, ServerAwayError))
