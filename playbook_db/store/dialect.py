"""The operations that differ between SQLite and PostgreSQL."""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Protocol

from sqlalchemy import Connection, Engine

from playbook_db.domain.search_words import Term

if TYPE_CHECKING:
    from playbook_db.store.queries.hook_queries import Matching


class Dialect(Protocol):
    """One database of either kind. `SqliteDialect` explains the methods. Methods with a body here suit a server, which
    maintains its own backups, indexes and files."""

    @property
    def where(self) -> str: ...
    @property
    def is_shared(self) -> bool: ...
    def make_engine(self, *, foreign_keys: bool = True) -> Engine: ...
    def explained(self) -> AbstractContextManager[None]: ...
    def role(self, connection: Connection) -> str:
        """Return the connection's role on the server, or `""` for a file."""
        return ""

    def schema_version(self) -> int | None: ...
    def mark_version(self, connection: Connection, version: int) -> None:
        return None

    def now(self, connection: Connection) -> datetime:
        """Return the current time. If a server has just locked a playbook, that is the server's time."""
        return datetime.now(UTC)

    def clock(self, connection: Connection) -> datetime:
        """Return the current time of the machine that has the database."""
        return datetime.now(UTC)

    def unchanged(self) -> AbstractContextManager[Connection]: ...
    def prepare(self) -> None: ...
    def exclusive(self) -> AbstractContextManager[None]: ...
    def drop_views_and_triggers(self, connection: Connection) -> None: ...
    def make_views_and_triggers(self, connection: Connection) -> None: ...
    def broken_references(self, connection: Connection) -> list[str]:
        return []

    def lock_playbook(self, connection: Connection, key: str, *, waits: bool = True) -> int | None: ...
    def pipeline(self, connection: Connection) -> AbstractContextManager[object]:
        """Send the statements of the `with` block together. Read their answers only after the block."""
        return nullcontext()

    def matching(self, connection: Connection, terms: Sequence[Term]) -> "Matching": ...
    def optimize(self, connection: Connection) -> None:
        return None

    def rebuild_search(self, connection: Connection) -> None: ...
    def sizes(self, connection: Connection) -> tuple[int | None, dict[str, int]]: ...

    def check(self, connection: Connection, *, quick: bool = False) -> list[str]:
        return []

    def savepoint(self, connection: Connection) -> AbstractContextManager[object]:
        """Keep the transaction open if a statement fails in the `with` block. SQLite does so by itself."""
        return nullcontext()

    def close(self) -> None:
        """Close the dialect's own connections."""
        return

    def back_up_before_migration(self, version: int) -> str | None:
        return None

    def is_search_behind(self, connection: Connection) -> bool:
        return False

    def catch_up_search(self, connection: Connection) -> None:
        return None

    def search_is_true(self, connection: Connection) -> bool: ...

    def move_log(self, *, least_bytes: int = 1) -> None:
        return None

    def to_disk(self) -> None:
        return None


def dialect_of(database: Connection | Engine) -> Dialect:
    """Return the dialect of *database*."""
    dialect: Dialect = database.get_execution_options()["playbook_dialect"]
    return dialect
