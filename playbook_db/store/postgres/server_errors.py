"""Translate errors of PostgreSQL and its driver into ours, which say what to do and contain no password."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from math import inf
from time import monotonic

import psycopg
from sqlalchemy.exc import DBAPIError

from playbook_db.domain.redaction.redact import redact_message
from playbook_db.errors import (
    ConflictError,
    DatabaseBusyError,
    DatabaseError,
    NoPasswordError,
    ServerAwayError,
    ServerError,
)
from playbook_db.store.team import time_limits

# Messages by SQLSTATE, or by its first characters. `{where}` is the database, `{reply}` the first line of the server's
# message.
_BY_STATE = (
    (("28", "0P"), "{where} refuses this user and password ({reply}). Check both in the URL (a team's member "
                   "changes it with: playbook team join URL). If the URL has no password, check the file that "
                   "PGPASSFILE names (else ~/.pgpass)."),
    (("3D000",), "{where}: the server has no such database. Ask for one, or create it: createdb NAME"),
    (("42501", "3F000"), "{where}: your user may not do this ({reply}). Ask its owner to run: playbook db grant "
                         "ROLE member"),
    (("53300",), "{where} accepts no more connections ({reply}). Try again later, or ask for more max_connections."),
    (("54",), "{where} can't store a text that is this large ({reply}). Nothing was changed; use shorter texts."),
    (("53100", "53200"), "{where} is full ({reply}). Its server needs room; nothing was changed."),
    (("25006",), "{where} can only be read: its server is a standby, or read-only. Name the one that accepts writes."),
    (("57P01", "57P02", "57P03", "57P05"), "{where} is being shut down or started ({reply}). Try again in a moment."),
    (("57014",), "{where} ended a statement that took too long ({reply}). Nothing was changed; try again later."),
    (("42P01", "42703", "42883", "42704"), "{where} lacks tables of playbook-db ({reply}). See: playbook db check"),
    (("23PB1",), "{where}: {reply}. Nothing was changed; repair the playbook: playbook --db URL db repair"),
    (("22021", "22P05"), "{where} stores text in another encoding than UTF-8 ({reply}). Create the database with: "
                         "createdb --encoding=UTF8 --template=template0 NAME"),
)  # fmt: skip
# While a connection is being made, the library and poolers report a server's error only by its text.
_BY_TEXT = (
    (r"password authentication failed|no password supplied|role \".*\" does not exist|no pg_hba\.conf entry|"
     r"authentication failed|pg_hba\.conf rejects", "28P01"),
    (r"database \".*\" does not exist", "3D000"),
    (r"permission denied for database", "42501"),
    (r"too many (clients|connections)|remaining connection slots|no more connections allowed|query_wait_timeout",
     "53300"),
    (r"the database system is (starting|shutting|in recovery)", "57P03"),
)  # fmt: skip
# The server can't be used at present: connection lost, no room, shutdown.
_ENDED = ("08", "25P03", "25P04")
_AWAY = (*_ENDED, "53", "57P")
_WRONG = (  # errors in the URL, reported by the library or the server during the connection
    r"invalid (connection option|port number|\w+ value|integer value|URI|percent-encoded)|missing \"=\"|"
    r"definition of service|service file|unrecognized configuration parameter|invalid value for parameter|"
    r"unsupported startup parameter|unrecognized SSL|certificate|does not support SSL"
)
_NEVER_THERE = r"connection failed|connection is bad"
_LOST = (
    r"closed the connection|connection is lost|connection is closed|consuming input failed|"
    r"sending .* failed"
)
_EACH_ALONE = "statement pooling mode"
_AGAIN = ("40001", "40P01")  # serialization_failure, deadlock_detected
_BUSY = "55P03"  # lock_not_available


@contextmanager
def explained(where: str, otherwise: str = "") -> Iterator[None]:
    """Translate errors of the server and the driver into ours. *where* is the database. Don't translate unknown errors,
    unless *otherwise* describes them."""
    end = monotonic() + (time_limits.remaining_s() or inf)
    try:
        yield
    except (DBAPIError, psycopg.Error) as error:
        cause = error.orig if isinstance(error, DBAPIError) else error
        ours = _ours(where, cause, is_late=monotonic() > end) if isinstance(cause, psycopg.Error) else None
        if ours is None and otherwise and isinstance(cause, psycopg.Error):
            ours = ServerError(f"{where} {otherwise} ({_reply(cause)}). Nothing was changed.")
        if ours is None:
            raise
        raise ours from None  # the driver's full message may contain the URL


def _ours(where: str, error: psycopg.Error, *, is_late: bool) -> DatabaseError | None:
    state, reply = _state(error), _reply(error)
    if state in _AGAIN:
        return ConflictError(where)
    if state == _BUSY:
        return DatabaseBusyError(where, time_limits.lock_s())
    if _EACH_ALONE in reply:
        return ServerError(f"{where} is behind a pooler in statement mode ({reply}). Set it to session mode.")
    for states, text in _BY_STATE:
        if state.startswith(states):
            kind = ServerAwayError if state.startswith(_AWAY) else ServerError
            if "no password supplied" in reply:
                kind = NoPasswordError
            return kind(text.format(where=where, reply=reply))
    if not state and re.search(_WRONG, str(error)):
        return ServerError(f"The URL of {where} can't be used as it is ({reply}). Correct the URL where you set it.")
    if not (state.startswith(_AWAY) or isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)):
        return None
    is_lost = state.startswith(_ENDED) or re.search(_LOST, str(error))
    if is_lost and not re.match(_NEVER_THERE, str(error)):
        reply = f"no answer for {time_limits.limit_s():g} s" if is_late else reply  # the watchdog closed it
        return ServerAwayError(f"The connection to {where} was lost ({reply}). Nothing was changed; try again.")
    return ServerAwayError(f"{where} can't be reached ({reply}). Check the address, the server and the network.")


def _state(error: psycopg.Error) -> str:
    known = error.sqlstate or ""
    if known and not known.startswith("08"):
        return known
    return next((state for pattern, state in _BY_TEXT if re.search(pattern, str(error))), known)


def _reply(error: psycopg.Error) -> str:
    """Return the first line of the server's message, without secrets."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    line = lines[0] if lines else type(error).__name__
    line = re.sub(r"^.*(FATAL|ERROR):\s+|^connection (failed|is bad): ", "", line)
    return redact_message(line.rstrip("."), os.environ)
