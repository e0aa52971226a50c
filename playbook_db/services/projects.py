"""A project at hand: its folder, the key of its playbook, and the database that keeps it."""

import os
from dataclasses import dataclass, field
from datetime import UTC, datetime

from playbook_db import projects
from playbook_db.domain.times import timestamp
from playbook_db.errors import ProjectError
from playbook_db.store import project_rows
from playbook_db.store.engine import Store
from playbook_db.store.past import Past
from playbook_db.store.project_rows import ListedProject


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
