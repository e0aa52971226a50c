"""Opening a project, and moving a playbook to another folder."""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Literal

from playbook_db import projects, settings
from playbook_db.domain import times
from playbook_db.errors import DatabaseError, PlaybookError, ProjectError, Remedy
from playbook_db.services import identity
from playbook_db.services.project import (
    LastKnownProject,
    Notify,
    Project,
    Servers,
    TeamProject,
    find_membership,
    is_ignored,
    is_known,
    place_of,
)
from playbook_db.services.reading import command_reads
from playbook_db.store import sqlite_open
from playbook_db.store.engine import Store, retry_on_conflict
from playbook_db.store.playbook import joined_playbooks, repository
from playbook_db.store.team import memberships, time_limits
from playbook_db.store.team.memberships import Membership

State = Literal["current", "new", "behind"]  # of a replica
_OTHERS_WAIT_S = 1.0  # for another process that writes the same replica
_CURRENT_FOR = timedelta(seconds=10)  # for this time a read doesn't compare the replica with the server again


@contextmanager
def open_project(
    url: str,
    folder: str,
    *,
    sync: bool = True,
    begins_anew: bool = False,
    is_own: bool = False,
    only_reads: bool = False,
    servers: Servers | None = None,
    notify: Notify,
) -> Iterator[Project]:
    """Open the project in *folder*, in the database at *url*. Every interface opens projects this way. The database is
    created if it doesn't exist. If backups of it exist, it is created only with *begins_anew*.

    If the project has joined a team, the team's project is opened, unless *is_own* is set. A caller that *only_reads*
    gets the replica if the team's database can't be reached. Unless *sync* is off, the mirror is merged before the
    block and written after it. Pass open *servers* to reuse their connections; they are not closed.
    """
    with ExitStack() as stack:
        stack.enter_context(time_limits.at_most(time_limits.ANSWER_S))
        if servers is None:
            servers = stack.enter_context(Servers())
        store = stack.enter_context(servers.opened(url, begins_anew=begins_anew))
        project = Project.in_folder(store, folder)
        if projects.OTHER not in folder[1:]:
            project = replace(project, key=identity.settle(store, folder, records=not only_reads))
        membership = None if is_own else find_membership(project)
        if membership is not None:
            to_read = _to_read(project, membership, servers, notify) if only_reads else None
            project = stack.enter_context(to_read or of_team(project, servers))
        elif sync:
            if projects.OTHER in project.key and not is_known(project):
                notify(projects.replaced(project.key))
            join_strays(store, notify, project.key)
            from playbook_db.services.sharing import mirror  # late: some commands only read

            stack.enter_context(mirror.syncing(project, notify))
        yield project


@contextmanager
def open_for_session(url: str, folder: str, servers: Servers, notify: Notify, *, only_reads: bool) -> Iterator[Project]:
    """Open the project in *folder* as `open_project` does, for a tool of a running session. Raises ProjectError for an
    ignored project. Unless the tool *only_reads*, also raise it if *folder* doesn't look like a project, and nobody
    named it."""
    with open_project(url, folder, only_reads=only_reads, servers=servers, notify=notify) as project:
        if is_ignored(project.own):
            raise command_reads.ignored(project.own.key)
        is_named = settings.session() or os.environ.get("CLAUDE_PROJECT_DIR")
        if not only_reads and not (is_named or projects.is_project(folder) or is_known(project.own)):
            raise ProjectError(
                f"{folder} doesn't look like a project, so no playbook is made for it.",
                Remedy("Start the server with {}", ("--project", "DIR", "mcp")),
            )
        yield project


@contextmanager
def of_team(own: Project, servers: Servers) -> Iterator[Project]:
    """Yield the team's project if *own*, a project of this machine, has joined a team. Otherwise yield *own*."""
    membership = find_membership(own)
    if membership is None:
        yield own
        return
    with servers.of_team(own.store, membership) as server:
        yield TeamProject(server, membership.name, own.folder, own=own)
        if server.has_written:
            # If this fails, the change stays. The worker tries again, and reports the problem.
            with suppress(PlaybookError, OSError), time_limits.at_most(time_limits.REPLICA_S):
                refresh(own.store, membership, server)


@contextmanager
def _to_read(own: Project, membership: Membership, servers: Servers, notify: Notify) -> Iterator[TeamProject]:
    """Yield the team's project for reading, and update the replica. If the server can't be reached, yield the replica.
    Raises DatabaseError if there is no replica either."""
    from playbook_db.store.team import replica  # late: few projects have joined a team

    path = sqlite_open.replica_of(own.store.where, membership.playbook_id)
    with ExitStack() as stack:
        try:
            with time_limits.at_most(time_limits.REPLICA_S), time_limits.in_total():
                server = stack.enter_context(servers.of_team(own.store, membership))
                refresh(own.store, membership, server)
        except DatabaseError as error:
            known_at = replica.known_at(path)
            if known_at is None or replica.state(path, membership.name) is None:
                raise
            age = times.ago(known_at, now=datetime.now(UTC))
            notify(f"{error} These points are from this machine's replica, which was current {age}.")
            last_known = stack.enter_context(replica.opened(path))
            yield LastKnownProject(last_known, membership.name, own.folder, own=own)
        else:
            yield TeamProject(server, membership.name, own.folder, own=own)


def refresh(
    store: Store,
    membership: Membership,
    server: Store,
    forget_text: "Callable[[Project, str], object] | None" = None,
) -> State:
    """Replace this machine's replica of a team's playbook if the playbook on the *server* differs. Return the replica's
    state afterwards.

    First, *forget_text* erases each text that the team has forgotten from the project's own playbook. Only the old
    replica still has these texts, so a call without *forget_text* doesn't replace it.
    """
    from filelock import FileLock, Timeout

    from playbook_db.store.team import replica  # late: few projects have joined a team

    path = sqlite_open.replica_of(store.where, membership.playbook_id)
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    with suppress(Timeout), FileLock(f"{path}.lock", timeout=_OTHERS_WAIT_S, mode=0o600):
        known_at = replica.known_at(path)
        is_fresh = known_at is not None and timedelta() <= datetime.now(UTC) - known_at < _CURRENT_FOR
        if is_fresh and forget_text is None and not server.has_written:
            return "current"
        if not server.has_written and replica.is_current(server, membership.name, replica.state(path, membership.name)):
            os.utime(path)  # when it was last known to be current
            return "current"
        server.has_written = False
        rows = replica.read(server, membership.name)
        erased = replica.erased_since(path, membership.name, rows)
        for text in sorted(erased, key=erased.__getitem__, reverse=True):  # whole points before texts with parts
            if forget_text is None:
                return "behind"
            forget_text(Project.of_key(store, membership.key), text)
        replica.write(path, rows)
        return "new"
    return "behind"


@retry_on_conflict
def move(store: Store, old_folder: str, new_folder: str) -> tuple[str, str]:
    """Move the playbook of *old_folder* to the project of *new_folder*, its present folder. Return both keys.

    If the new folder has a playbook, that becomes one revision on top. A mirror there needs consent, unless it is the
    old folder's synced one. Raises ProjectError if there is no playbook.
    """
    from playbook_db.services.sharing import git, mirror

    if not os.path.isdir(new_folder):
        raise ProjectError(f"There is no folder {new_folder}. Move the folder first, then its playbook.")
    old_key = projects.project_key(old_folder)
    new_key = Project.in_folder(store, new_folder).key
    here = projects.origin(new_folder), git.root_commit(new_folder)
    there = {mirror.digest_in(folder) for folder in (new_folder, projects.as_path(new_key))} - {None}
    with store.transaction() as connection:
        new = repository.PlaybookRepository(connection, new_key)
        if not repository.PlaybookRepository(connection, old_key).playbook_id:
            raise ProjectError(
                f"There is no playbook of {old_key}.", Remedy("See all playbooks with: {}", ("project", "list"))
            )
        if old_key == new_key:
            raise ProjectError(f"{old_folder} and {new_folder} are the same project already.")
        if memberships.of_project(connection, new_key):  # its own playbook was empty when it joined
            raise ProjectError(
                f"{new_key} has joined a team, so {old_key} can't be moved there; nothing was changed.",
                Remedy(
                    "Leave it, and join again after moving: {}", ("--project", new_key, "team", "leave", "--no-copy")
                ),
            )
        old = repository.PlaybookRepository.open_to_write(connection, old_key)
        if new.playbook_id:
            joined_playbooks.join(old, new)
        old.rename(new_key.partition(projects.OTHER)[0])
        old.set_identity(*here)
        known = old.mirror(projects.mirror_path(new_key))
        if there - {known and known.sha256} and old.project.mirror != "off":
            old.set_mirror_state("undecided")
    return old_key, new_key.partition(projects.OTHER)[0]


@retry_on_conflict
def remove(store: Store, key: str) -> None:
    """Remove the playbook *key* with its history. Raises ProjectError if there is none, or if it has joined a team."""
    from playbook_db.store.upkeep import removal

    with store.transaction() as connection:
        if not repository.PlaybookRepository(connection, key).playbook_id or projects.is_users(key):
            raise ProjectError(
                f"There is no playbook of {key}.", Remedy("See all playbooks with: {}", ("project", "list"))
            )
        if memberships.of_project(connection, key):
            raise ProjectError(
                f"{key} has joined a team; nothing was removed.",
                Remedy("To leave it: {}", ("--project", key, "team", "leave", "--no-copy")),
            )
        removal.remove(connection, key)


def join_strays(store: Store, notify: Notify, below: str = "") -> None:
    """Join each playbook whose folder belongs to another project into that project's playbook: it arose before, without
    `init`. Only look at folders *below* a project's, if given."""
    with store.snapshot() as connection:
        keys = [key for key in repository.all_keys(connection).values() if key.startswith(f"{below}/")]
    for key in keys:
        folder = projects.as_path(key.partition(projects.OTHER)[0])
        place, present = place_of(store, folder) if os.path.isdir(folder) else ("", "")
        target = projects.project_key(place) if place and projects.OTHER not in key else key
        if projects.OTHER in key and key == present:  # git knows more than the hook that made it
            target = identity.settle(store, place)
        if target != key:
            _join(store, target, key)
            notify(f"{key} belongs to the project {target}, so their playbooks were joined. To divide: playbook init")


@retry_on_conflict
def _join(store: Store, key: str, other: str) -> None:
    with store.write(key) as book:
        joined_playbooks.join(book, repository.PlaybookRepository(book.connection, other))
