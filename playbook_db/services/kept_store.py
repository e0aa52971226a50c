"""A database that is kept open from one use to the next, as for pages that follow one another: opening it takes longer
than most of what is asked of it."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from playbook_db.errors import DatabaseError
from playbook_db.services.project import Store, open_store

REST_S = 3.0  # without a use, after which no connection is kept: it would hold up who replaces a damaged file


class KeptStore:
    """The database at *url*, opened when it is needed, for one use after the other. Before each it is looked whether it
    is still the one that was opened, at our schema: one that was replaced, restored or migrated meanwhile is opened
    anew, and so is one that couldn't be used."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._store: Store | None = None
        self._in_use = threading.Lock()
        self._used_at = 0.0

    @contextmanager
    def opened(self, *, alone: bool = False) -> Iterator[Store]:
        """The database, open for as long as the block lasts; *alone* with no connection of an earlier use or left for a
        later one. Raises as `open_store` does.

        Who reads the file besides, as an erasure does that looks for what is left, must be alone: to close the file
        drops the locks of every connection that this process has to it.
        """
        with self._in_use:
            if alone and self._store:
                self._store.close()
            store = self._current()
            try:
                yield store
            except DatabaseError:
                store.close()
                self._store = None
                raise
            finally:
                self._used_at = time.monotonic()
                if alone:
                    store.close()

    def rest(self, *, after_s: float = REST_S) -> None:
        """Let go of all connections, where it isn't in use and wasn't for *after_s* seconds."""
        if self._in_use.acquire(blocking=False):
            try:
                if self._store and time.monotonic() - self._used_at >= after_s:
                    self._store.close()
            finally:
                self._in_use.release()

    def _current(self) -> Store:
        if self._store is not None and not self._store.is_as_opened():
            self._store.close()
            self._store = None
        if self._store is None:
            self._store = open_store(self._url)
        return self._store
