"""Opening a project as every interface does: with its team's playbook if it has joined a team, and with its mirror in
step. Moving a playbook to another folder.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime

from playbook_db import projects
from playbook_db.domain import times
from playbook_db.errors import PlaybookError, ProjectError, Remedy, ServerAwayError
from playbook_db.services.project import (
    READ_CONNECT_S,
    LastKnownProject,
    Notify,
    Project,
    Servers,
    TeamProject,
    find_membership,
)
from playbook_db.store import at_hand
from playbook_db.store.engine import Store, open_store, retry_on_conflict
from playbook_db.store.playbook import repository
from playbook_db.store.team import memberships
from playbook_db.store.team.memberships import Membership

_OTHERS_WAIT_S = 1.0  # for another process that writes the same replica


@contextmanager
def open_project(
    url: str,
    folder: str,
    *,
    sync: bool = True,
    begins_anew: bool = False,
    is_own: bool = False,
    may_be_old: bool = False,
    store: Store | None = None,
    notify: Notify,
) -> Iterator[Project]:
    """The project in *folder*, in the database at *url*, which is made where there is none; where there are backups of
    it, only if it *begins_anew*.

    Who has that open already gives it as *store*, which stays open.

    Where it has joined a team that is the team's, unless it *is_own*; where the team's database is away, as this
    machine last knew it, to be read alone, if it *may_be_old*. A mirror that is kept is brought in step before and
    after, unless *sync* is off. Every interface opens projects so.
    """
    with ExitStack() as stack:
        project = Project.in_folder(store or stack.enter_context(open_store(url, begins_anew=begins_anew)), folder)
        if not is_own:
            try:
                servers = stack.enter_context(Servers(connect_s=READ_CONNECT_S if may_be_old else None))
                project = stack.enter_context(of_team(project, servers))
            except ServerAwayError as error:
                if not may_be_old:
                    raise
                project = stack.enter_context(_as_last_known(project, error, notify))
        if sync and not project.is_team:
            from playbook_db.services.sharing import mirror  # late: some commands only look

            stack.enter_context(mirror.kept_in_step(project, notify))
        yield project


@contextmanager
def of_team(own: Project, servers: Servers) -> Iterator[Project]:
    """The project *own*, of this machine; where it has joined a team, the team's, in the database of the team."""
    membership = find_membership(own)
    if membership is None:
        yield own
        return
    with servers.opened(own.store, membership) as server:
        yield TeamProject(server, membership.name, own.folder, own=own)
        with suppress(PlaybookError, OSError):  # what was done is done; the worker looks again, and says what is wrong
            refresh(own.store, membership, server)


@contextmanager
def _as_last_known(own: Project, error: ServerAwayError, notify: Notify) -> Iterator[Project]:
    """The team's playbook as the replica on this machine has it. Raises *error* where there is none."""
    from playbook_db.store.team import replica  # late: few projects have joined a team

    membership = find_membership(own)
    path = "" if membership is None else at_hand.replica_of(own.store.where, membership.playbook_id)
    known_at = replica.known_at(path)
    if membership is None or known_at is None or replica.state(path, membership.name) is None:
        raise error
    age = times.ago(known_at, now=datetime.now(UTC))
    notify(f"{error} What follows is what this machine knew of it; that was current {age}.")
    with replica.opened(path) as store:
        yield LastKnownProject(store, membership.name, own.folder, own=own)


def refresh(
    store: Store, membership: Membership, server: Store, forget_text: "Callable[[Project, str], object] | None" = None
) -> bool:
    """Replace the replica of a team's playbook if it isn't what the *server* has; whether it was replaced.

    First *forget_text* forgets each text that the team has forgotten since, in the project's own playbook. Only the old
    replica says which: so a call without *forget_text* leaves that replica for a call with it.
    """
    from filelock import FileLock, Timeout

    from playbook_db.store.team import replica  # late: few projects have joined a team

    path = at_hand.replica_of(store.where, membership.playbook_id)
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    with suppress(Timeout), FileLock(f"{path}.lock", timeout=_OTHERS_WAIT_S, mode=0o600):  # first read, first written
        with server.read(membership.name) as book:
            here = replica.state(path, membership.name)
            if book.playbook_id and here and replica.is_current(here, book):
                os.utime(path)  # says when it was known to be current
                return False
            rows = replica.read(book)
        erased = replica.erased_since(path, membership.name, rows)
        for text in sorted(erased, key=erased.__getitem__, reverse=True):  # what went whole first: others only held it
            if forget_text is None:
                return False
            forget_text(Project.in_folder(store, membership.key), text)
        replica.write(path, rows)
        return True
    return False


@retry_on_conflict
def move(store: Store, old_folder: str, new_folder: str) -> str:
    """Give the playbook of *old_folder* to *new_folder*, where the project is now; the key it has there.

    What sessions have left for the new folder meanwhile goes with it. A mirror that stands there and isn't the one that
    was in step in the old folder isn't taken in unasked. Raises ProjectError where there is no playbook to move, or the
    new folder has one with a history of its own.
    """
    from playbook_db.services.sharing import mirror

    if not os.path.isdir(new_folder):
        raise ProjectError(f"There is no folder {new_folder}. Move the folder first, then its playbook.")
    old_key, new_key = projects.project_key(old_folder), projects.project_key(new_folder)
    there = {mirror.digest_in(folder) for folder in (new_folder, new_key)} - {None}
    with store.transaction() as connection:
        old, new = (repository.PlaybookRepository(connection, key) for key in (old_key, new_key))
        if not old.playbook_id:
            raise ProjectError(
                f"There is no playbook of {old_key}.", Remedy("See which there are with: {}", ("project", "list"))
            )
        if old_key == new_key:
            raise ProjectError(f"{old_folder} and {new_folder} are one project already.")
        if new.revision:
            raise ProjectError(
                f"{new_key} has a playbook of its own, at revision {new.revision}; both were left as they are.",
                Remedy(
                    "To join them: {} | {}", ("--project", old_key, "export"), ("--project", new_key, "import", "-")
                ),
            )
        if memberships.of_project(connection, new_key):  # what it brought into the team's was nothing
            raise ProjectError(
                f"{new_key} has joined a team, without what {old_key} holds; both were left as they are.",
                Remedy(
                    "Leave it, and join again after moving: {}", ("--project", new_key, "team", "leave", "--no-copy")
                ),
            )
        if new.playbook_id:
            old.take_over(new)
        old.rename(new_key)
        known = old.mirror(projects.mirror_path(new_key))
        if there - {known and known.sha256} and old.mirror_state() != "off":
            old.set_mirror_state("undecided")
    return new_key
