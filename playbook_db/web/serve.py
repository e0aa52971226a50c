"""Serving the web pages on this machine, at a free port, until they are no longer used."""

import asyncio
import contextlib
import socket
import time
from collections.abc import Callable
from operator import attrgetter
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from playbook_db.errors import SettingError
from playbook_db.web import guard
from playbook_db.web.application import Site

HOST = "127.0.0.1"
IDLE_S = 30 * 60.0  # without a request
HEADER_S = 5.0  # for a request's whole header; then the connection ends
MAX_CONNECTIONS = 64
_CHECK_S = 1.0  # between two checks of these times


def serve(url: str, folder: str | None, *, port: int = 0, opened: Callable[[str], object]) -> None:
    """Serve the web pages for the database at *url*. They start with the project in *folder*.

    The server ends after IDLE_S seconds without a request, or with the process. *opened* is called with the address
    once it can be opened. Port 0 means any free port. Raises SettingError if *port* is in use.
    """
    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((HOST, port))
    except (OSError, OverflowError) as error:
        listening.close()
        raise SettingError(f"Port {port} can't be used ({error}). Leave out --port to use a free one.") from None
    with contextlib.closing(listening):
        listening.listen(MAX_CONNECTIONS)
        port = listening.getsockname()[1]
        site = Site(url, folder)
        guarded = guard.Guard(site.application(), port)
        config = uvicorn.Config(
            guarded, http=_Connection, ws="none", lifespan="off", backlog=MAX_CONNECTIONS, log_level="critical",
            access_log=False, server_header=False,
        )  # fmt: skip
        with contextlib.closing(site):
            asyncio.run(_serve(uvicorn.Server(config), listening, guarded, opened, port))


async def _serve(
    server: uvicorn.Server, listening: socket.socket, guarded: guard.Guard, opened: Callable[[str], object], port: int
) -> None:
    reported = set()

    def report_once(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if context["message"] not in reported:  # an accept that fails is reported all the time
            reported.add(context["message"])
            loop.default_exception_handler(context)

    asyncio.get_running_loop().set_exception_handler(report_once)
    serving = asyncio.create_task(server.serve(sockets=[listening]))
    while not server.started and not serving.done():
        await asyncio.sleep(0.01)
    address = f"http://{HOST}:{port}{guarded.pages}?{guard.TOKEN}={guarded.token}"
    opening = asyncio.create_task(
        asyncio.to_thread(opened, address)
    )  # a browser in the terminal returns when it is closed
    connections: set[Any] = server.server_state.connections
    while not serving.done():
        await asyncio.wait([serving], timeout=_CHECK_S)
        for late in [each for each in connections if each.rank < (False, time.monotonic() - HEADER_S)]:
            late.transport.abort()
        server.should_exit = server.should_exit or time.monotonic() - guarded.last_used > IDLE_S
    await serving
    await opening


class _Connection(H11Protocol):
    """A connection. Its `rank` says whether a request is being answered, and the time when that changed. If there are
    too many connections, the one with the lowest rank is closed. It has waited longest for a header."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.rank = (False, time.monotonic())
        if len(self.connections) > MAX_CONNECTIONS:
            lowest = min(self.connections - {self}, key=attrgetter("rank"))
            self.connections.discard(lowest)
            lowest.transport.abort()

    def handle_events(self) -> None:
        super().handle_events()
        is_answered = self.cycle is not None and not self.cycle.response_complete
        if is_answered != self.rank[0]:
            self.rank = (is_answered, time.monotonic())
