"""From a URL to the dialect of its database, and what a URL means in words."""

import os
from contextlib import AbstractContextManager
from typing import Protocol

from sqlalchemy import Connection, Engine
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError

from playbook_db.errors import DatabaseError, SettingError
from playbook_db.store import hook_queries
from playbook_db.store.sqlite.dialect import SqliteDialect


class Dialect(Protocol):
    """What each kind of database does in its own way, for one database. `SqliteDialect` says what each is for."""

    @property
    def where(self) -> str: ...
    def make_engine(self, *, foreign_keys: bool = True) -> Engine: ...
    def explained(self) -> AbstractContextManager[None]: ...

    def schema_version(self) -> int | None: ...
    def mark_version(self, connection: Connection, version: int) -> None: ...

    def unchanged(self) -> AbstractContextManager[Connection]: ...
    def prepare(self) -> None: ...
    def exclusive(self) -> AbstractContextManager[None]: ...
    def back_up_before_migration(self, version: int) -> str | None: ...
    def drop_views_and_triggers(self, connection: Connection) -> None: ...
    def make_views_and_triggers(self, connection: Connection) -> None: ...
    def broken_references(self, connection: Connection) -> list[str]: ...

    def lock_playbook(self, connection: Connection, key: str) -> None: ...
    def by_index(self, name: str) -> str: ...
    def size_bytes(self, connection: Connection) -> int | None: ...
    def table_bytes(self, connection: Connection) -> dict[str, int]: ...

    def check(self, connection: Connection, *, quick: bool = False) -> list[str]: ...
    def structure(self, connection: Connection) -> dict[str, str]: ...

    def after_commit(self) -> None: ...
    def tidy(self) -> None: ...


def dialect_for(url: URL | str) -> Dialect:
    """The dialect of the database at *url*. Raises SettingError where the URL can't be understood, DatabaseError where
    it names a kind of database that playbooks can't be kept in."""
    made = _understood(url)
    path = sqlite_path(made)
    if not path or path == ":memory:":
        raise DatabaseError(
            f"{described(made)} is no SQLite file, and playbooks are kept in one. "
            "Name one with --db or PLAYBOOK_DB_URL, or use the default without both."
        )
    if odd := hook_queries.no_regular_file(path):
        raise DatabaseError(f"{odd} is no regular file. Move it away, or name another database with --db.")
    return SqliteDialect(path)


def dialect_of(database: Connection | Engine) -> Dialect:
    """The dialect whose `make_engine` made *database*."""
    dialect: Dialect = database.get_execution_options()["playbook_dialect"]
    return dialect


def described(url: URL | str) -> str:
    """*url* in words for a message: an SQLite file's path, else the URL without user and password."""
    return sqlite_path(url) or _without_secrets(url)


def sqlite_path(url: URL | str) -> str | None:
    """The file of an SQLite database, None for any other database.

    Links are resolved: SQLite keeps its log beside the real file.
    """
    made = _understood(url)
    path = made.database if made.get_backend_name() == "sqlite" else None
    return os.path.realpath(path) if path and os.path.islink(path) else path


def _understood(url: URL | str) -> URL:
    try:
        made = make_url(url)
        made.get_dialect()
    except (ArgumentError, NoSuchModuleError, ModuleNotFoundError, ValueError):
        raise SettingError(
            f"{_without_secrets(url)!r} is no database that playbook-db can open. "
            "Give an SQLite file's path, or its URL, with --db or PLAYBOOK_DB_URL."
        ) from None  # the library's words hold what it took for a port
    return made


def _without_secrets(url: URL | str) -> str:
    from playbook_db.domain.redaction.redact import redact_message  # late: its patterns take a fifth of a second

    scheme, separator, rest = (url if isinstance(url, str) else url.render_as_string()).partition("://")
    _, _, without_user = rest.rpartition("@")  # a password may hold a blank, which no other text's URL would
    return redact_message(f"{scheme}{separator}{without_user}", os.environ)
