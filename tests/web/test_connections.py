"""Which connections the server keeps: a crowd that sends nothing whole keeps nobody waiting, and fills no log."""

import contextlib
import os
import select
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from playbook_db.web.serve import HEADER_S, MAX_CONNECTIONS
from tests.web.conftest import PATIENCE_S, Visitor

CROWD = 300
HALF = b"GET / HTTP/1.1\r\nHost: "
WHOLE = b"HEAD / HTTP/1.1\r\nHost: x\r\n\r\n"
TOO_FEW_FILES = 40
# A server whose clock is a file, and shows a later time at each look; it may have so many files open.
_SERVER = """
import itertools, os, resource, sys
from types import SimpleNamespace
from playbook_db.web import serve
url, clock, files = sys.argv[1], os.open(sys.argv[2], os.O_RDONLY), int(sys.argv[3])
resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
ticks = itertools.count()
serve.time = SimpleNamespace(monotonic=lambda: float(os.pread(clock, 99, 0) or 0) + next(ticks) / 1e9)
serve._CHECK_S = 0.05
serve.serve(url, None, opened=lambda address: print(address, flush=True))
"""


@dataclass(frozen=True, slots=True)
class Server:
    """A server with one browser; `log` is where it writes its errors, `clock` where it reads the time."""

    visitor: Visitor
    log: Path
    clock: Path
    connections: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)

    def later(self, seconds: float) -> None:
        """Let so much time pass."""
        self.clock.write_text(str(float(self.clock.read_text()) + seconds))

    def connect(self, sent: bytes = b"") -> socket.socket:
        """A new connection, on which that much was sent."""
        host, _, port = self.visitor.host.partition(":")
        made = self.connections.enter_context(socket.create_connection((host, int(port)), PATIENCE_S))
        made.sendall(sent)
        return made

    def post(self, length: int) -> bytes:
        """The header of a form of *length* bytes, as the browser sends it."""
        visitor = self.visitor
        cookie = "; ".join(f"{name}={value}" for name, value in visitor.cookies.items())
        first = f"POST {visitor.root}/points HTTP/1.1"
        usual = (first, f"Host: {visitor.host}", f"Origin: {visitor.origin}", f"Cookie: {cookie}")
        form = ("Content-Type: application/x-www-form-urlencoded", f"Content-Length: {length}")
        return "\r\n".join([*usual, *form, "", ""]).encode()


@contextlib.contextmanager
def _served(folder: Path, files: int = 256) -> Iterator[Server]:
    clock, log = folder / "clock", folder / "log"
    clock.write_text("0")
    command = [sys.executable, "-c", _SERVER, f"sqlite:///{folder / 'playbook.db'}", str(clock), str(files)]
    env = {**os.environ, "HOME": str(folder)}
    with (
        log.open("w") as errors,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True, env=env) as process,
    ):
        assert process.stdout is not None
        try:
            visitor = Visitor(process.stdout.readline().strip())
            assert visitor.open().status == 303
            yield Server(visitor, log, clock)
        finally:
            process.terminate()
            process.wait(PATIENCE_S)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One server for all tests."""
    with _served(tmp_path_factory.mktemp("served")) as server:
        yield server


@pytest.fixture
def server(served: Server) -> Iterator[Server]:
    """The server; connections to it end with the test."""
    with served.connections:
        yield served


def is_ended(connection: socket.socket) -> bool:
    """Whether the server ends the connection, and sends nothing more."""
    with contextlib.suppress(ConnectionResetError):
        return connection.recv(1000) == b""
    return True


def is_silent(*connections: socket.socket) -> bool:
    """Whether the server neither sends anything nor ends one of them, while it looks at them some times."""
    return select.select(connections, [], [], 0.3)[0] == []


def test_a_connection_without_a_whole_header_ends(server: Server) -> None:
    """Whether it sent nothing, sends a byte now and then, or had an answer before; but not before its time."""
    nothing, half, answered = server.connect(), server.connect(HALF), server.connect(WHOLE)
    assert answered.recv(10_000).startswith(b"HTTP/1.1 421")
    assert is_silent(answered)  # its answer is over
    server.later(HEADER_S - 0.1)
    assert is_silent(nothing, half, answered)
    half.sendall(b"x")
    assert is_silent(half)
    server.later(0.2)

    assert [is_ended(each) for each in (nothing, half, answered)] == [True, True, True]


def test_a_request_that_is_being_answered_takes_its_time(server: Server) -> None:
    """The time begins anew with its answer."""
    body = b"text=a+rule&section=oth"
    asking = server.connect(server.post(len(body)))
    assert is_silent(asking)
    server.later(HEADER_S * 2)
    assert is_silent(asking)
    asking.sendall(body)
    assert asking.recv(10_000).startswith(b"HTTP/1.1 303")
    assert is_silent(asking)  # its answer is over
    server.later(HEADER_S - 0.1)
    assert is_silent(asking)
    server.later(0.2)

    assert is_ended(asking)


def test_one_too_many_ends_the_one_that_has_waited_longest(server: Server) -> None:
    """So a crowd that never finishes keeps nobody waiting, and the server has files left for its work."""
    crowd = [server.connect(HALF) for _ in range(CROWD)]

    assert server.visitor.see("/points").status == 200
    assert all(is_ended(each) for each in crowd[: CROWD - MAX_CONNECTIONS])
    assert is_silent(*crowd[CROWD - MAX_CONNECTIONS + 2 :])
    assert server.log.read_text() == ""


def test_a_crowd_whose_requests_never_end_keeps_nobody_waiting(server: Server) -> None:
    """If all connections are being answered, the oldest of them makes room."""
    crowd = [server.connect(server.post(10)) for _ in range(MAX_CONNECTIONS)]
    assert is_silent(*crowd)

    assert server.visitor.see("/points").status == 200
    assert is_ended(crowd[0])
    assert is_silent(*crowd[2:])


def test_an_accept_that_fails_is_logged_once(tmp_path: Path) -> None:
    """Though it fails until files are closed; then the next one is answered."""
    with _served(tmp_path, TOO_FEW_FILES) as server:
        with server.connections:
            assert is_silent(*[server.connect() for _ in range(TOO_FEW_FILES * 2)])

        assert server.visitor.see("/static/style.css").status == 200
        assert server.log.read_text().count("out of system resource") == 1
        assert len(server.log.read_text()) < 2000
