"""A project at hand: its folder, the key of its playbook, and the database that keeps it."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime

from playbook_db import projects
from playbook_db.domain.times import timestamp
from playbook_db.errors import ProjectError
from playbook_db.store import connect, project_rows
from playbook_db.store.engine import Store, open_store
from playbook_db.store.past import Past
from playbook_db.store.project_rows import ListedProject
from playbook_db.store.sqlite import backups

Notify = Callable[[str], object]  # takes a line that the person should read


@dataclass(frozen=True, slots=True)
class Project:
    """The project in `folder`, its playbook in `store`. Two worktrees of a repository differ in `folder` only."""

    store: Store
    folder: str
    key: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "key", projects.project_key(self.folder))

    @property
    def mirror_path(self) -> str:
        """Where the project's mirror stands, or would."""
        return projects.mirror_path(self.folder)


@contextmanager
def open_project(url: str, folder: str, *, sync: bool = True, notify: Notify) -> Iterator[Project]:
    """The project in *folder*, in the database at *url*, which is made where there is none.

    A mirror that is kept is brought in step before and after, unless *sync* is off. Every interface opens projects so.
    """
    _notify_of_backups(url, notify)
    with open_store(url) as store:
        project = Project(store, folder)
        if not sync:
            yield project
            return
        from playbook_db.services import mirror

        with mirror.kept_in_step(project, notify):
            yield project


def _notify_of_backups(url: str, notify: Notify) -> None:
    """Say so where a new database is begun although there are backups of one: its file may have been lost."""
    path = connect.sqlite_path(url)
    if not path or os.path.exists(path):
        return
    newest = next(iter(backups.list_backups(path)), None)
    if newest is not None:
        remedy = f"the last backup comes back with: playbook restore-backup {newest.path}"
        notify(f"{path} was gone and is begun anew; {remedy}")


# The projects that have a playbook: listed, kept out, and found again after their folder has moved.


def list_projects(store: Store) -> list[ListedProject]:
    """All projects that have a playbook, by their folders; not those that have moved away and left an empty one."""
    with store.snapshot() as connection:
        found = project_rows.read_all(connection)
    return [listed for listed in found if listed.revisions or os.path.isdir(listed.key)]


def ignore(project: Project, *, is_ignored: bool) -> None:
    """Keep the hooks and the worker out of *project* from now on, or let them in again; nothing is forgotten."""
    with project.store.transaction() as connection:
        past = Past.open_to_write(connection, project.key, now=timestamp(datetime.now(UTC)))
        project_rows.set_ignored(connection, past.playbook_id or 0, is_ignored)


def move(store: Store, old_folder: str, new_folder: str) -> str:
    """Give the playbook of *old_folder* to *new_folder*, where the project is now; the key it has there.

    What sessions have left for the new folder meanwhile goes with it. Raises ProjectError where there is no playbook
    to move, or the new folder has one with a history of its own.
    """
    if not os.path.isdir(new_folder):
        raise ProjectError(f"There is no folder {new_folder}. Move the folder first, then its playbook.")
    old_key, new_key = projects.project_key(old_folder), projects.project_key(new_folder)
    with store.transaction() as connection:
        old, new = Past.open(connection, old_key), Past.open(connection, new_key)
        if old.playbook_id is None:
            raise ProjectError(f"There is no playbook of {old_key}. See which there are with: playbook project list")
        if old_key == new_key:
            raise ProjectError(f"{old_folder} and {new_folder} are one project already.")
        if new.revision:
            raise ProjectError(
                f"{new_key} has a playbook of its own with {new.revision} revisions; both were left as they are. "
                f"To join them: playbook --project {old_key} export | playbook --project {new_key} import -"
            )
        if new.playbook_id is not None:
            project_rows.join(connection, old.playbook_id, new.playbook_id, left_key=old_key)
        project_rows.rename(connection, old.playbook_id, new_key, moved=(old_key, new_key))
    return new_key


__all__ = ["ListedProject", "Notify", "Project", "ignore", "list_projects", "move", "open_project", "open_store"]
