"""Serving the web pages on this machine, at a free port, until they are no longer used."""

import asyncio
import contextlib
import socket
import time
from collections.abc import Callable

import uvicorn

from playbook_db.errors import SettingError
from playbook_db.web import access
from playbook_db.web.application import Site

HOST = "127.0.0.1"
IDLE_S = 30 * 60.0  # without a request
MAX_CONNECTIONS = 200  # also idle ones; beyond them, requests are refused with status 503
_CHECK_S = 1.0  # between two checks of that time


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
        guarded = access.Guard(site.application(), port)
        config = uvicorn.Config(
            guarded, http="h11", ws="none", lifespan="off", backlog=MAX_CONNECTIONS, limit_concurrency=MAX_CONNECTIONS,
            log_level="critical", access_log=False, server_header=False,
        )  # fmt: skip
        with contextlib.closing(site):
            asyncio.run(_serve(uvicorn.Server(config), listening, guarded, opened, port))


async def _serve(
    server: uvicorn.Server, listening: socket.socket, guarded: access.Guard, opened: Callable[[str], object], port: int
) -> None:
    serving = asyncio.create_task(server.serve(sockets=[listening]))
    while not server.started and not serving.done():
        await asyncio.sleep(0.01)
    address = f"http://{HOST}:{port}{guarded.pages}?{access.TOKEN}={guarded.token}"
    opening = asyncio.create_task(
        asyncio.to_thread(opened, address)
    )  # a browser in the terminal returns when it is closed
    while not serving.done():
        await asyncio.wait([serving], timeout=_CHECK_S)
        server.should_exit = server.should_exit or time.monotonic() - guarded.last_used > IDLE_S
    await serving
    await opening
