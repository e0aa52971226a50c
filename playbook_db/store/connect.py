"""From a URL to the dialect of its database, and what a URL means in words."""

import os
from collections.abc import Sequence
from contextlib import AbstractContextManager
from importlib.util import find_spec
from typing import Any, Protocol

from sqlalchemy import Connection, Engine
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError

from playbook_db.domain.search_words import Term
from playbook_db.errors import DatabaseError, MissingExtraError, Remedy, SettingError
from playbook_db.store import hook_queries
from playbook_db.store.sqlite.dialect import SqliteDialect


class Dialect(Protocol):
    """What each kind of database does in its own way, for one database. `SqliteDialect` says what each is for."""

    @property
    def where(self) -> str: ...
    @property
    def is_shared(self) -> bool: ...
    def make_engine(self, *, foreign_keys: bool = True) -> Engine: ...
    def is_as_opened(self, readers: Engine) -> bool: ...
    def explained(self) -> AbstractContextManager[None]: ...

    def schema_version(self) -> int | None: ...
    def mark_version(self, connection: Connection, version: int) -> None: ...

    def unchanged(self) -> AbstractContextManager[Connection]: ...
    def prepare(self) -> None: ...
    def exclusive(self) -> AbstractContextManager[None]: ...
    def back_up_before_migration(self, version: int) -> str | None: ...
    def drop_views_and_triggers(self, connection: Connection) -> None: ...
    def make_views_and_triggers(self, connection: Connection) -> None: ...
    def distribute(self) -> tuple[int, int, bool]: ...
    def broken_references(self, connection: Connection) -> list[str]: ...

    def lock_playbook(self, connection: Connection, key: str, *, waits: bool = True) -> int | None: ...
    def at_once(self, connection: Connection) -> AbstractContextManager[object]: ...
    def by_index(self, name: str) -> str: ...
    def has_search(self, connection: Connection) -> bool: ...
    def matching(self, connection: Connection, terms: Sequence[Term]) -> "hook_queries.Matching": ...
    def rebuild_search(self, connection: Connection) -> bool: ...
    def is_search_behind(self, connection: Connection) -> bool: ...
    def catch_up_search(self, connection: Connection) -> None: ...
    def search_is_true(self, connection: Connection) -> bool: ...
    def size_bytes(self, connection: Connection) -> int | None: ...
    def table_bytes(self, connection: Connection) -> dict[str, int]: ...

    def check(self, connection: Connection, *, quick: bool = False) -> list[str]: ...
    def apart(self, connection: Connection) -> AbstractContextManager[object]: ...

    def after_commit(self) -> None: ...
    def tidy(self) -> None: ...
    def to_disk(self) -> None: ...
    def close(self) -> None: ...


def dialect_for(url: URL | str) -> Dialect:
    """The dialect of the database at *url*. Raises SettingError where the URL can't be understood, DatabaseError where
    it names a kind of database that playbooks can't be kept in."""
    made = _understood(url)
    if made.get_backend_name() == "postgresql":
        from playbook_db.store.postgres.dialect import PostgresDialect  # late: who has SQLite need not have the driver

        return PostgresDialect(made)
    path = sqlite_path(made)
    if not path or path == ":memory:":
        raise DatabaseError(
            f"{described(made)} is no SQLite file, nor on PostgreSQL, and playbooks are kept in one of these. "
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
    made = _understood(url)
    backend, place = made.get_backend_name(), _place(made)
    plain = URL.create(backend, host=made.host, port=made.port, database=made.database, query=place)
    return sqlite_path(url) or plain.render_as_string().replace("%2F", "/")


def sqlite_path(url: URL | str) -> str | None:
    """The file of an SQLite database, None for any other database.

    Links are resolved: SQLite keeps its log beside the real file.
    """
    made = _understood(url)
    path = made.database if made.get_backend_name() == "sqlite" else None
    return os.path.realpath(path) if path and os.path.islink(path) else path


def without_password(url: URL | str) -> tuple[str, str | None]:
    """*url* as text without its password, and that, wherever in the URL it stands; None without one. Raises
    SettingError where it has another secret."""
    made = _understood(url)
    if "sslpassword" in made.query:
        raise SettingError("A URL that is kept can't hold `sslpassword`. Put it into a service file: ?service=NAME")
    in_query = made.query.get("password")
    password = made.password or (in_query if isinstance(in_query, str) else None)
    return _with(made.difference_update_query(["password"]), None), None if password is None else str(password)


def with_password(url: URL | str, password: str) -> str:
    """*url* as text with this *password*."""
    return _with(_understood(url), password)


def is_same_database(url: URL | str, other: URL | str) -> bool:
    """Whether both mean one database, whoever comes to it."""
    first, second = (_with(_understood(each).set(username=""), None) for each in (url, other))
    return first == second


def _with(url: URL, password: str | None) -> str:
    made = URL.create(
        url.get_backend_name(), url.username or None, password, url.host, url.port, url.database, url.query
    )
    return made.render_as_string(hide_password=False)


def dump_of(url: URL | str) -> Remedy:
    """What backs a database on a server up, and what reads that: the server's own programs."""
    dump = f"pg_dump --format=custom --file=playbooks.dump '{described(url)}'"
    return Remedy(f"Run: {dump} (back, into an empty database: pg_restore --dbname=URL playbooks.dump)")


def rewrite_of(url: URL | str) -> Remedy:
    """What lets no deleted row stay in a database on a server, nor in the samples that its planner keeps of them, which
    must be new before all is written anew."""
    where = described(url)
    return Remedy(f"Its owner runs: vacuumdb --analyze-only --dbname='{where}' && vacuumdb --full --dbname='{where}'")


def _place(url: URL) -> dict[str, Any]:
    return {name: url.query[name] for name in ("host", "port", "service") if name in url.query}


def _understood(url: URL | str) -> URL:
    """*url* in its parts, with our driver. Raises SettingError, MissingExtraError."""
    try:
        made = make_url(url)
        if made.drivername.partition("+")[0] in ("postgres", "postgresql"):
            return _with_driver(made)
        made.get_dialect()
    except (ArgumentError, NoSuchModuleError, ModuleNotFoundError, ValueError):
        raise SettingError(
            f"{_without_secrets(url)!r} is no database that playbook-db can open. "
            "Give an SQLite file's path, or a URL, with --db or PLAYBOOK_DB_URL."
        ) from None  # the library's words hold what it took for a port
    return made


def _with_driver(url: URL) -> URL:
    """*url*, of PostgreSQL, with our driver. Raises MissingExtraError where that isn't installed."""
    if find_spec("psycopg") is None:
        raise MissingExtraError("A database on PostgreSQL", "psycopg", extra="postgres")
    return url.set(drivername="postgresql+psycopg")


def _without_secrets(url: URL | str) -> str:
    from playbook_db.domain.redaction.redact import redact_message  # late: its patterns take a fifth of a second

    scheme, separator, rest = (url if isinstance(url, str) else url.render_as_string()).partition("://")
    _, _, without_user = rest.rpartition("@")  # a password may hold a blank, which no other text's URL would
    return redact_message(f"{scheme}{separator}{without_user}", os.environ)
