"""From a URL to connections whose transactions are ours, and what a URL means in words."""

import os

from sqlalchemy import Engine, create_engine
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError

from playbook_db.errors import SettingError
from playbook_db.store.sqlite import dialect


def make_engine(url: str, *, foreign_keys: bool = True) -> Engine:
    """An engine for *url* whose transactions are ours. Raises SettingError where the URL can't be understood."""
    try:
        engine = create_engine(make_url(url))
    except (ArgumentError, NoSuchModuleError, ModuleNotFoundError) as error:
        raise SettingError(f"{url!r} is no database that playbook-db can open ({error}).") from error
    if engine.dialect.name == "sqlite":
        dialect.set_up(engine, foreign_keys=foreign_keys)
    return engine


def for_migrations(url: str) -> Engine:
    """An engine for migrations: a rebuilt table must not empty those that refer to it."""
    return make_engine(url, foreign_keys=False)


def described(url: URL | str) -> str:
    """*url* in words for a message: an SQLite file's path, else the URL without its password."""
    return sqlite_path(url) or make_url(url).render_as_string()


def sqlite_path(url: URL | str) -> str | None:
    """The file of an SQLite database, None for any other database. Of a link it is what that leads to: SQLite has its
    log beside that."""
    made = make_url(url)
    path = made.database if made.get_backend_name() == "sqlite" else None
    return os.path.realpath(path) if path and os.path.islink(path) else path
