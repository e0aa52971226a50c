"""A database that is kept open from one use to the next, as for pages that follow one another: opening it takes longer
than most of what is asked of it."""

import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from playbook_db.errors import DatabaseError
from playbook_db.services.project import Store, open_store

MOST_AT_ONCE = 8  # uses; who comes then waits for one to end
REST_S = 3.0  # without a use, after which no connection is kept: it would hold up who replaces a damaged file


class KeptStore:
    """The database at *url*, opened when it is needed. Before each use it is looked whether it is still the one that
    was opened, at our schema: one that was replaced, restored or migrated meanwhile is opened anew, and so is one that
    couldn't be used."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._store: Store | None = None
        self._lock = threading.Lock()
        self._alone = threading.Lock()
        self._slots = threading.BoundedSemaphore(MOST_AT_ONCE)
        self._uses = 0
        self._used_at = 0.0

    @contextmanager
    def opened(self, *, alone: bool = False) -> Iterator[Store]:
        """The database, open for as long as the block lasts; *alone* without any other use at that time, and with no
        connection of an earlier one or left for a later one. Raises as `open_store` does.

        Who reads the file besides, as an erasure does that looks for what is left, must be alone: to close the file
        drops the locks of every connection that this process has to it.
        """
        with ExitStack() as stack:
            if alone:
                stack.enter_context(self._alone)
            for _ in range(MOST_AT_ONCE if alone else 1):
                stack.enter_context(self._slots)
            if alone:
                self.rest(after_s=0)
                stack.callback(self.rest, after_s=0)
            yield stack.enter_context(self._used())

    @contextmanager
    def _used(self) -> Iterator[Store]:
        with self._lock:
            store = self._current()
            self._uses += 1
        try:
            yield store
        except DatabaseError:
            self._let_go(store)
            raise
        finally:
            with self._lock:
                self._uses -= 1
                self._used_at = time.monotonic()

    def rest(self, *, after_s: float = REST_S) -> None:
        """Let go of all connections, where it wasn't used for *after_s* seconds."""
        with self._lock:
            if self._store and not self._uses and time.monotonic() - self._used_at >= after_s:
                self._store.close()

    def _let_go(self, store: Store) -> None:
        with self._lock:
            store.close()
            if self._store is store:
                self._store = None

    def _current(self) -> Store:
        if self._store is not None and not self._store.is_as_opened():
            self._store.close()
            self._store = None
        if self._store is None:
            self._store = open_store(self._url)
        return self._store
