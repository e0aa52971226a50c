"""Serving the pages on this machine: a free port, the address to open, and an end when nobody looks any more."""

import asyncio
import contextlib
import socket
import time
from collections.abc import Callable

import uvicorn

from playbook_db.errors import SettingError
from playbook_db.web import guard
from playbook_db.web.application import Site

HOST = "127.0.0.1"
IDLE_S = 30 * 60.0  # without a request
_LOOK_S = 5.0  # between two looks whether that is over
_MOST_WAITING = 512  # connections that the system keeps for us


def serve(url: str, folder: str | None, *, port: int = 0, opened: Callable[[str], object]) -> None:
    """Serve the pages of the database at *url*, those of the project in *folder* first, until nobody asked for one in
    IDLE_S seconds, or the process is told to end; *opened* gets the address once it can be opened.

    Port 0 is any that is free. Raises SettingError where *port* is taken.
    """
    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((HOST, port))
    except (OSError, OverflowError) as error:
        listening.close()
        raise SettingError(f"Port {port} can't be used ({error}). Leave --port out to have a free one.") from None
    with contextlib.closing(listening):
        listening.listen(_MOST_WAITING)
        port = listening.getsockname()[1]
        site = Site(url, folder)
        guarded = guard.Guard(site.application(), port)
        config = uvicorn.Config(
            guarded, ws="none", lifespan="off", log_level="critical", access_log=False, server_header=False
        )
        with contextlib.closing(site):
            asyncio.run(_serve(uvicorn.Server(config), listening, guarded, opened, port))


async def _serve(
    server: uvicorn.Server, listening: socket.socket, guarded: guard.Guard, opened: Callable[[str], object], port: int
) -> None:
    serving = asyncio.create_task(server.serve(sockets=[listening]))
    while not server.started and not serving.done():
        await asyncio.sleep(0.01)
    address = f"http://{HOST}:{port}{guarded.pages}?{guard.TOKEN}={guarded.token}"
    telling = asyncio.create_task(asyncio.to_thread(opened, address))  # a browser in the terminal stays until its end
    while not serving.done():
        await asyncio.wait([serving], timeout=_LOOK_S)
        server.should_exit = server.should_exit or time.monotonic() - guarded.last_used > IDLE_S
    await serving
    await telling
