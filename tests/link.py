"""A link between clients and a server, in user space: it can be slow, lossy, silent or cut, and counts round trips."""

import queue
import random
import socket
import threading
import time
from contextlib import suppress
from typing import Literal, Self

from sqlalchemy.engine import URL

State = Literal["open", "silent", "cut"]
_RESEND_S = 0.2  # after which a lost packet is sent again; twice as long each further time
_ASKING = (b"Q", b"S")  # what a client sends and then waits: a simple query, or the sync at the end of a pipeline


class Link:
    """Passes on what clients send to the server at *url*, which listens on a socket of this machine, and its answers.

    Each direction takes *delay_s*; a share *loss* of the packets is lost, and sent again as TCP does. `state` can be
    changed at any time. A silent link takes packets and passes nothing on. A cut link closes connections and
    refuses new ones. `silent_from` names bytes: a connection passes on no packet from the one on that has them.
    """

    def __init__(self, url: URL, *, delay_s: float = 0.0, loss: float = 0.0) -> None:
        self._path = f"{url.query['host']}/.s.PGSQL.{url.port or 5432}"
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=100)
        port = self._listener.getsockname()[1]
        self.url = url.set(drivername="postgresql", host="127.0.0.1", port=port, query={"sslmode": "disable"})
        self.delay_s, self.loss = delay_s, loss
        self.state: State = "open"
        self.silent_from: bytes | None = None
        self.round_trips = 0  # after the log-in, of all connections
        self.connections = 0
        self._sockets: list[socket.socket] = []
        threading.Thread(target=self._serve, daemon=True).start()

    @property
    def text(self) -> str:
        return self.url.render_as_string(hide_password=False)

    def set(self, state: State) -> None:
        self.state = state
        if state == "cut":
            for each in self._sockets:
                with suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)
            self._sockets.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.set("cut")
        self._listener.close()

    def _serve(self) -> None:
        with suppress(OSError):  # it was closed
            while True:
                client, _ = self._listener.accept()
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                server = socket.socket(socket.AF_UNIX)
                if self.state == "cut" or server.connect_ex(self._path):
                    client.close()
                    server.close()
                    continue
                self.connections += 1
                self._sockets += [client, server]
                for source, target, count in ((client, server, _Counter(self)), (server, client, None)):
                    threading.Thread(target=self._pass_on, args=(source, target, count), daemon=True).start()

    def _pass_on(self, source: socket.socket, target: socket.socket, counter: "_Counter | None") -> None:
        packets: queue.Queue[tuple[float, bytes]] = queue.Queue()
        threading.Thread(target=self._deliver, args=(packets, target), daemon=True).start()
        is_silent = False
        with suppress(OSError), source:
            while data := source.recv(65536):
                if counter:
                    counter.see(data)
                if self.silent_from and self.silent_from in data:
                    is_silent = True
                if self.state == "open" and not is_silent:
                    packets.put((time.monotonic() + self._takes_s(), data))
        packets.put((time.monotonic() + self.delay_s, b""))

    def _takes_s(self) -> float:
        taken, resend = self.delay_s, max(_RESEND_S, 4 * self.delay_s)
        while random.random() < self.loss:
            taken, resend = taken + resend, 2 * resend
        return taken

    def _deliver(self, packets: "queue.Queue[tuple[float, bytes]]", target: socket.socket) -> None:
        with suppress(OSError):
            while True:
                at, data = packets.get()
                time.sleep(max(0.0, at - time.monotonic()))
                if not data:
                    break
                if self.state == "open":
                    target.sendall(data)
        with suppress(OSError):
            target.shutdown(socket.SHUT_RDWR)


class _Counter:
    """Counts the messages of one client after which it waits for an answer."""

    def __init__(self, link: Link) -> None:
        self._link, self._left, self._has_begun = link, b"", False

    def see(self, data: bytes) -> None:
        self._left += data
        while True:
            head = 1 if self._has_begun else 0  # the first message has no kind
            if len(self._left) < head + 4:
                return
            size = head + int.from_bytes(self._left[head : head + 4], "big")
            if len(self._left) < size:
                return
            self._link.round_trips += self._has_begun and self._left[:1] in _ASKING
            self._left, self._has_begun = self._left[size:], True
