"""Parse the URL of a database: its file, its name in messages, its password."""

import os
from importlib.util import find_spec

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError

from playbook_db.errors import Remedy, SettingError, missing_extra


def described(url: URL | str) -> str:
    """Return the database's name in messages: the path of an SQLite file, or the URL without user and password."""
    parsed_url = parsed(url)
    backend, host, port = parsed_url.get_backend_name(), parsed_url.host, parsed_url.port
    place = {name: value for name, value in parsed_url.query.items() if name in ("host", "port", "service")}
    plain = URL.create(backend, host=host, port=port, database=parsed_url.database, query=place)
    return sqlite_path(url) or plain.render_as_string().replace("%2F", "/")


def sqlite_path(url: URL | str) -> str | None:
    """Return the path of an SQLite database, or None for another kind of database. Resolve links, as SQLite keeps its
    log beside the real file."""
    parsed_url = parsed(url)
    path = parsed_url.database if parsed_url.get_backend_name() == "sqlite" else None
    return os.path.realpath(path) if path and os.path.islink(path) else path


def without_password(url: URL | str) -> tuple[str, str | None]:
    """Return *url* without its password, and the password (or None). Raises SettingError if *url* has another
    secret."""
    parsed_url = parsed(url)
    if "sslpassword" in parsed_url.query:
        raise SettingError("A stored URL can't have `sslpassword`. Put it into a service file: ?service=NAME")
    in_query = parsed_url.query.get("password")
    password = parsed_url.password or (in_query if isinstance(in_query, str) else None)
    return _with(parsed_url.difference_update_query(["password"]), None), None if password is None else str(password)


def with_password(url: URL | str, password: str) -> str:
    """Return *url* with *password*."""
    return _with(parsed(url), password)


def is_same_database(url: URL | str, other: URL | str) -> bool:
    """Return whether both URLs name the same database, even if the users differ."""
    first, second = (_with(parsed(each).set(username=""), None) for each in (url, other))
    return first == second


def _with(url: URL, password: str | None) -> str:
    new_url = URL.create(
        url.get_backend_name(), url.username or None, password, url.host, url.port, url.database, url.query
    )
    return new_url.render_as_string(hide_password=False)


def dump_of(url: URL | str) -> Remedy:
    """Return the PostgreSQL commands that back up and restore a database on a server."""
    dump = f"pg_dump --format=custom --file=playbooks.dump '{described(url)}'"
    return Remedy(f"Run: {dump} (back, into an empty database: pg_restore --dbname=URL playbooks.dump)")


def rewrite_of(url: URL | str) -> Remedy:
    """Return the commands that remove deleted rows from a server's disk. They are for the database's owner."""
    where = described(url)
    return Remedy(f"Its owner runs: vacuumdb --analyze-only --dbname='{where}' && vacuumdb --full --dbname='{where}'")


def parsed(url: URL | str) -> URL:
    """Return *url* as a URL object that names our driver. Raises SettingError."""
    try:
        parsed_url = make_url(url)
        if parsed_url.drivername.partition("+")[0] not in ("postgres", "postgresql"):
            parsed_url.get_dialect()
            return parsed_url
    except (ArgumentError, NoSuchModuleError, ModuleNotFoundError, ValueError):
        raise SettingError(
            f"{_without_secrets(url)!r} is not a database that playbook-db can open. "
            "Give the path of an SQLite file, or a URL, with --db or PLAYBOOK_DB_URL."
        ) from None  # the library's message may have the password
    if "@" in f"{parsed_url.host}{parsed_url.database}":  # the rest of a password would be printed as part of a host
        raise SettingError(f"The URL of {_without_secrets(url)!r} has more than one @. In a password, write @ as %40.")
    if find_spec("psycopg") is None:
        raise missing_extra("A database on PostgreSQL", "psycopg", extra="postgres")
    return parsed_url.set(drivername="postgresql+psycopg")


def _without_secrets(url: URL | str) -> str:
    from playbook_db.domain.redaction.redact import redact_message  # late: it takes 0.2 s

    scheme, separator, rest = (url if isinstance(url, str) else url.render_as_string()).partition("://")
    _, _, without_user = rest.rpartition("@")  # a password may have a blank
    return redact_message(f"{scheme}{separator}{without_user}", os.environ)
