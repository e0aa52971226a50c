"""A project at hand: its folder, the key of its playbook, and the database that keeps it."""

from dataclasses import dataclass, field

from playbook_db import projects
from playbook_db.store.engine import Store


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
