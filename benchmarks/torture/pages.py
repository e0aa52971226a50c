"""Attacks on the pages of `playbook web` by other programs of the same machine: another port, and half requests."""

import contextlib
import http.client
import http.cookiejar
import resource
import socket
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from benchmarks.torture.life import Life
from benchmarks.torture.promises import promise

HOST = "127.0.0.1"
_PATIENCE_S = 60.0  # for what hung once; far more than anything takes on a busy machine
_LOG_BYTES = 10_000  # once it was 9 MB


class OtherServer:
    """Another program's server on a port of its own: `asked` are the path, cookies and referrer of each request.

    It gives a cookie for all paths, as the pages did once.
    """

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, str]] = []
        asked = self.asked

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: Any) -> None: ...

            def do_GET(self) -> None:
                asked.append((self.path, self.headers.get("cookie", ""), self.headers.get("referer", "")))
                self.send_response(200)
                self.send_header("set-cookie", "everywhere=1; Path=/; HttpOnly; SameSite=Strict")
                self.send_header("content-type", "text/html")
                self.end_headers()
                self.wfile.write(b"<!doctype html><title>elsewhere</title>")

        self._server = ThreadingHTTPServer((HOST, 0), Handler)
        self.address = f"http://{HOST}:{self._server.server_port}"

    def __enter__(self) -> "OtherServer":
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


def another_port(life: Life) -> str:
    """A browser that opened the pages asks two other servers: neither gets the pages' cookie."""
    jar = http.cookiejar.CookieJar()
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar), urllib.request.ProxyHandler({}))
    with _serving(life) as (address, _), OtherServer() as other, OtherServer() as third:
        page = browser.open(address, timeout=_PATIENCE_S)
        promise(page.status == 200 and b"</html>" in page.read(), "the printed address shows no page")
        (cookie,) = jar
        paths = ("/", "/points", "/s/", "/s/anything/", f"/s/{'0' * 32}/points")
        for server in (other, third):
            for path in paths:
                browser.open(f"{server.address}{path}", timeout=_PATIENCE_S).close()
        got = [given for _, given, _ in (*other.asked, *third.asked)]
        promise(all("everywhere=1" in given for given in got[len(paths) :]), "a cookie for all paths isn't seen either")
        promise(not any(cookie.name in given for given in got), f"another port got {cookie.name}")
        root = urlsplit(address).path.strip("/").rpartition("/")[2]
        for path in ("/", "/points", "/s/", "/s/anything/", f"/s/{root}", "/%00", "/static/style.css"):
            status, told = _ask(address, path)
            promise(status == 404 and root not in told, f"{path} is answered with {status}: {told}")
    return f"none of {len(got)} requests has it, and no error tells the path of the pages"


def half_requests(life: Life, count: int, files: int) -> str:
    """Half of a request each, on *count* connections that stay open, to a server that may open *files* files."""
    with contextlib.ExitStack() as crowd, _serving(life, files) as (address, log):
        place = (HOST, urlsplit(address).port or 0)
        for _ in range(count):
            half = crowd.enter_context(socket.create_connection(place, _PATIENCE_S))
            with contextlib.suppress(OSError):  # it may have ended already
                half.sendall(b"GET / HTTP/1.1\r\nHost: ")
        try:
            status, _ = _ask(address, "/")
        except OSError as error:
            raise AssertionError(f"a whole request isn't answered: {error}") from error
        promise(status == 404, f"a whole request is answered with {status}")
        size = log.stat().st_size
        promise(size < _LOG_BYTES, f"the log has {size:,} bytes")
    return f"a whole request is answered, and {size} bytes are logged"


@contextlib.contextmanager
def _serving(life: Life, files: int = 1024) -> Iterator[tuple[str, Path]]:
    """The address that `playbook web` prints, and the file of its errors."""
    project, log = life.project(), life.folder / "log"
    command = [sys.executable, "-m", "playbook_db", "web", "--no-open"]
    with (
        log.open("wb") as errors,
        subprocess.Popen(
            command, cwd=project, env=life.environ(project), stdout=subprocess.PIPE, stderr=errors, text=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (files, files)),
        ) as process,
    ):  # fmt: skip
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip(), log
        finally:
            process.kill()


def _ask(address: str, path: str) -> tuple[int, str]:
    """The status of the answer to a stranger, and all that it says."""
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=_PATIENCE_S)
    with contextlib.closing(connection):
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, f"{answer.getheaders()}{answer.read().decode()}"
