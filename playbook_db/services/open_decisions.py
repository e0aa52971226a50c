"""Decisions and failures that wait for the user. A session's first line and `playbook status` mention them.

Hooks use this module, so it imports only the standard library.
"""

import os

from playbook_db import project_env, projects
from playbook_db.store.queries import hook_queries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from playbook_db.store.queries.hook_queries import Execute


class Waiting:
    """The decisions and failures that wait for the user in a project.

    `settings` are the names of variables in the project's settings that the user doesn't trust. `mirror` is the
    path of a mirror that isn't in use yet, or "". `moved` is the project that seems to have been moved here, or "".
    `errors` say why jobs wait. `failures` are the times of failed jobs.
    """

    __slots__ = ("errors", "failures", "mirror", "moved", "settings")

    def __init__(
        self,
        folder: "str | None",
        project: "hook_queries.StoredProject | None",
        execute: "Execute | None",
        place: "str | None" = None,
    ) -> None:
        """*folder* is the session's, *place* the project's. They are mostly the same."""
        self.settings: list[str] = []
        self.mirror = self.moved = ""
        if folder is not None:
            self.settings = project_env.untrusted(folder)
            mirror = projects.mirror_path(place or folder)
            is_undecided = project is None or (project.mirror == "undecided" and project.team_name is None)
            if execute and not (project and project.revision):
                self.moved = hook_queries.moved_from(execute, place or folder)
            self.mirror = mirror if is_undecided and os.path.exists(mirror) else ""
        rows = execute(hook_queries.JOB_ERRORS, {"playbook_id": project.id}) if project and execute else ()
        errors = [tuple(row) for row in rows]
        self.errors = [error for error, failed_at in errors if not failed_at]
        self.failures = [failed_at for _, failed_at in errors if failed_at]
