"""The operations that differ between kinds of databases, and the dialect of a connection."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, Protocol

from sqlalchemy import Connection, Engine

from playbook_db.domain.search_words import Term

if TYPE_CHECKING:
    from playbook_db.store.hook_sql import Matching

Question = tuple[str, Mapping[str, Any]]  # a statement that reads, and its values by their names
Answers = Mapping[str, tuple[Mapping[str, Any], Sequence[Any]]]  # by statement: its values, and the rows


class Dialect(Protocol):
    """One database. `SqliteDialect` explains the methods. The defaults are for a server, which makes its own backups
    and maintains its indexes and files."""

    @property
    def where(self) -> str: ...
    @property
    def is_shared(self) -> bool: ...
    def make_engine(self, *, foreign_keys: bool = True) -> Engine: ...
    def explained(self) -> AbstractContextManager[None]: ...
    def ask(self, readers: Engine, key: str, questions: Sequence[Question]) -> list[Sequence[Any]]: ...
    def role(self, connection: Connection) -> str:
        """Return the server's role of this connection, or `""` for a file."""
        return ""

    def known_number(self, key: str) -> int | None:
        """Return the number of the playbook *key*, if a server has already sent it."""
        return None

    def schema_version(self, key: str = "", ahead: Sequence[Question] = ()) -> int | None: ...
    def mark_version(self, connection: Connection, version: int, oldest_program: int) -> None: ...

    def unchanged(self) -> AbstractContextManager[Connection]: ...
    def prepare(self) -> None: ...
    def exclusive(self) -> AbstractContextManager[None]: ...
    def drop_views_and_triggers(self, connection: Connection) -> None: ...
    def make_views_and_triggers(self, connection: Connection) -> None: ...
    def distribute(self) -> tuple[int, int, bool]: ...
    def broken_references(self, connection: Connection) -> list[str]: ...

    def lock_playbook(self, connection: Connection, key: str, *, waits: bool = True) -> int | None: ...
    def lock_and_read(self, connection: Connection, number: int, question: str) -> Any:
        """Lock a playbook and answer *question* in one round trip, on a server, given the playbook's *number*."""
        return None

    def gather(self, connection: Connection, number: int, questions: Sequence[Question]) -> list[Sequence[Any]]:
        """Return the rows for each of *questions* about the playbook *number*, from a server in one round trip."""
        return []

    def pipeline(self, connection: Connection) -> AbstractContextManager[object]:
        """Send the statements inside together. No answer can be read before the end."""
        return nullcontext()

    def has_search(self, connection: Connection) -> bool: ...
    def matching(self, connection: Connection, terms: Sequence[Term]) -> "Matching": ...
    def beside_writes(self, connection: Connection) -> AbstractContextManager[Connection]: ...
    def rebuild_search(self, connection: Connection) -> bool: ...
    def sizes(self, connection: Connection) -> tuple[int | None, dict[str, int]]: ...

    def check(self, connection: Connection, *, quick: bool = False) -> list[str]: ...
    def savepoint(self, connection: Connection) -> AbstractContextManager[object]:
        """Keep a failed statement from ending the transaction. In SQLite it never does."""
        return nullcontext()

    def close(self) -> None:
        """Close the dialect's own connections, if it has any."""
        return

    def back_up_before_migration(self, version: int) -> str | None:
        return None

    def index_hint(self, name: str) -> str:
        return ""

    def is_search_behind(self, connection: Connection) -> bool:
        return False

    def catch_up_search(self, connection: Connection) -> None:
        return None

    def search_is_true(self, connection: Connection) -> bool:
        return self.has_search(connection)

    def after_commit(self) -> None:
        return None

    def tidy(self) -> None:
        return None

    def to_disk(self) -> None:
        return None


def dialect_of(database: Connection | Engine) -> Dialect:
    """Return the dialect whose `make_engine` made *database*."""
    dialect: Dialect = database.get_execution_options()["playbook_dialect"]
    return dialect
