"""The operations that differ between SQLite and PostgreSQL."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Protocol

from sqlalchemy import Connection, Engine

from playbook_db.domain.search_words import Term

if TYPE_CHECKING:
    from playbook_db.store.hook_sql import Matching

Question = tuple[str, Mapping[str, Any]]  # a statement that reads, and its parameters
Answers = Mapping[str, tuple[Mapping[str, Any], Sequence[Any]]]  # by statement: its parameters, and the rows


class Dialect(Protocol):
    """One database of either kind. `SqliteDialect` explains the methods. Methods with a body here suit a server, which
    maintains its own backups, indexes and files."""

    @property
    def where(self) -> str: ...
    @property
    def is_shared(self) -> bool: ...
    def make_engine(self, *, foreign_keys: bool = True) -> Engine: ...
    def explained(self) -> AbstractContextManager[None]: ...
    def ask(self, readers: Engine, key: str, questions: Sequence[Question]) -> list[Sequence[Any]]: ...
    def role(self, connection: Connection) -> str:
        """Return the connection's role on the server, or `""` for a file."""
        return ""

    def known_number(self, key: str) -> int | None:
        """Return the number of the playbook *key* if a server has already sent that number, else None."""
        return None

    def now(self, connection: Connection) -> datetime:
        """Return the current time. If a server has just locked a playbook, that is the server's time."""
        return datetime.now(UTC)

    def schema_version(self, key: str = "", ahead: Sequence[Question] = ()) -> int | None: ...
    def mark_version(self, connection: Connection, version: int, oldest_program: int) -> None: ...

    def unchanged(self) -> AbstractContextManager[Connection]: ...
    def prepare(self) -> None: ...
    def exclusive(self) -> AbstractContextManager[None]: ...
    def drop_views_and_triggers(self, connection: Connection) -> None: ...
    def make_views_and_triggers(self, connection: Connection) -> None: ...
    def distribute(self) -> tuple[int, int, bool]: ...
    def broken_references(self, connection: Connection) -> list[str]:
        return []

    def lock_playbook(self, connection: Connection, key: str, *, waits: bool = True) -> int | None: ...
    def lock_and_read(self, connection: Connection, number: int, question: str) -> Any:
        """Lock the playbook *number* on a server, and return the row for *question*, all in one round trip."""
        return None

    def gather(self, connection: Connection, number: int, questions: Sequence[Question]) -> list[Sequence[Any]]:
        """Run *questions* about the playbook *number* on a server in one round trip. Return the rows for each."""
        return []

    def pipeline(self, connection: Connection) -> AbstractContextManager[object]:
        """Send the statements of the `with` block together. Read their answers only after the block."""
        return nullcontext()

    def has_search(self, connection: Connection) -> bool: ...
    def matching(self, connection: Connection, terms: Sequence[Term]) -> "Matching": ...
    def beside_writes(self, connection: Connection) -> AbstractContextManager[Connection]: ...
    def rebuild_search(self, connection: Connection) -> bool: ...
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

    def search_is_true(self, connection: Connection) -> bool:
        return self.has_search(connection)

    def move_log(self, *, least_bytes: int = 1) -> None:
        return None

    def to_disk(self) -> None:
        return None


def dialect_of(database: Connection | Engine) -> Dialect:
    """Return the dialect of *database*."""
    dialect: Dialect = database.get_execution_options()["playbook_dialect"]
    return dialect
