"""The kinds of database that the tests run on, each migrated once in a session and copied after that.

A migration takes thirty times as long as a copy of what it makes.
"""

import functools
import itertools
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from playbook_db.services.projects import Project
from playbook_db.store import migrate
from playbook_db.store.connect import sqlite_path
from playbook_db.store.engine import Store, open_store

_MIGRATE = migrate.migrate  # before a test's own takes its place
_numbers = itertools.count(1)


def new_sqlite_database(folder: Path) -> str:
    """The URL of a new database in a file of its own, `playbook.db` in *folder*."""
    put_empty_database(folder / "playbook.db")
    return f"sqlite:///{folder / 'playbook.db'}"


NewDatabase = Callable[[Path], str]
DATABASES: dict[str, NewDatabase] = {"sqlite": new_sqlite_database}


def a_new_project(store: Store) -> Project:
    """A project without a playbook: for each example of a property, where a database for each would take long."""
    return Project.in_folder(store, f"/work/{next(_numbers)}")


def put_empty_database(path: Path) -> None:
    """Put a database at our schema, in which there is no playbook yet, at *path*; its folder is made where need be."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.write_bytes(empty_database())
    path.chmod(0o600)


@functools.cache
def empty_database() -> bytes:
    """An SQLite database at our schema in which there is no playbook yet."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "playbook.db")
        path.touch()
        _MIGRATE(f"sqlite:///{path}")
        with open_store(f"sqlite:///{path}") as store:
            store.tidy()
        return path.read_bytes()


def copy_or_migrate(url: str) -> None:
    """What `migrate.migrate` does, faster where there is nothing to migrate: a new database is a copy."""
    path = sqlite_path(url)
    if path and not (os.path.exists(path) and os.path.getsize(path)):
        Path(path).write_bytes(empty_database())
    else:
        _MIGRATE(url)
