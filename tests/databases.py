"""The kinds of database that the tests run on, each migrated once in a session and copied after that.

A migration takes thirty times as long as a copy of what it makes.
"""

import functools
import os
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, create_engine
from sqlalchemy.engine.default import DefaultDialect

from playbook_db.services.projects import Project
from playbook_db.store import migrate
from playbook_db.store.connect import sqlite_path
from playbook_db.store.engine import Store, open_store
from playbook_db.store.sqlite import dialect

NewProject = Callable[[], Project]
_MIGRATE = migrate.migrate  # before a test's own takes its place


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of database: `new` makes one in a folder and gives its URL, `empty` takes everything out of one."""

    new: Callable[[Path], str]
    empty: Callable[[Store], None]


def _new_sqlite_database(folder: Path) -> str:
    put_empty_database(folder / "playbook.db")
    return f"sqlite:///{folder / 'playbook.db'}"


def _empty_sqlite_database(store: Store) -> None:
    store.close()
    for suffix in ("-wal", "-shm"):
        Path(f"{store.where}{suffix}").unlink(missing_ok=True)
    put_empty_database(Path(store.where))


KINDS = {"sqlite": Kind(_new_sqlite_database, _empty_sqlite_database)}


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


def share_compiled_statements(patch: pytest.MonkeyPatch) -> None:
    """Let every engine of the session have what another one compiled: to SQLAlchemy, all dialects of a class are the
    same then. A command's statements take longer to compile than to run, and each test makes engines of its own."""
    compiled: dict[Any, Any] = {}

    def create_sharing(url: Any, *, execution_options: Mapping[str, Any], **options: Any) -> Engine:
        return create_engine(url, execution_options={**execution_options, "compiled_cache": compiled}, **options)

    patch.setattr(dialect, "create_engine", create_sharing)
    patch.setattr(DefaultDialect, "__eq__", lambda one, other: type(one) is type(other))
    patch.setattr(DefaultDialect, "__hash__", lambda one: hash(type(one)))
