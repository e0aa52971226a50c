"""The web server of the test's Messages API: reads requests, hands them on, writes what comes back."""

import json
import time
from collections.abc import Callable, Iterable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from typing import Any
from urllib.parse import urlsplit

from tests.messages_wire import Answer, Request, error_body, message_body, stream

IDLE_S = 60.0  # a connection on which nothing is asked for that long is dropped
MODELS = ("claude-opus-test", "claude-haiku-test")


class Server(ThreadingHTTPServer):
    """Listens on loopback. `take` gives each request its number; `answer_to`, in a thread of its own, the answer."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, take: Callable[[Request], int], answer_to: Callable[[Request], Answer]) -> None:
        self.take, self.answer_to = take, answer_to
        super().__init__(("127.0.0.1", 0), _Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def server_bind(self) -> None:
        TCPServer.server_bind(self)  # HTTPServer's asks for the name of the host, which may ask the network


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = IDLE_S
    server: Server

    def log_message(self, format: str, *values: Any) -> None:  # noqa: A002 - the name is the base class's
        """Say nothing."""

    def handle(self) -> None:
        try:
            super().handle()
        except ConnectionError:
            self.close_connection = True  # the client was killed or lost patience

    def do_HEAD(self) -> None:
        self._take({})
        self._send(200, b"")

    def do_CONNECT(self) -> None:
        self._take({})
        self._send(403, b"")

    def do_GET(self) -> None:
        request, number = self._take({})
        if request.path != "/v1/models":
            return self._refuse(404, "not found", number)
        models = [{"type": "model", "id": name, "display_name": name} for name in MODELS]
        return self._send_json(200, {"data": models, "has_more": False, "first_id": MODELS[0], "last_id": MODELS[-1]})

    def do_POST(self) -> None:
        raw = b"".join(self._body())
        try:
            body = json.loads(raw)
        except ValueError:
            body = None
        request, number = self._take(body if isinstance(body, dict) else {})
        if request.path == "/v1/messages/count_tokens":
            return self._send_json(200, {"input_tokens": max(1, len(raw) // 4)})
        if not request.is_message:
            return self._refuse(404, "not found", number)
        return self._answer(request, number)

    def _take(self, body: Mapping[str, Any]) -> tuple[Request, int]:
        path = self.path if "://" in self.path or self.command == "CONNECT" else urlsplit(self.path).path
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(self.command, path, headers, body, time.time())
        return request, self.server.take(request)

    def _answer(self, request: Request, number: int) -> None:
        answer = self.server.answer_to(request)
        time.sleep(answer.delay_s)
        if answer.status != 200:
            return self._refuse(answer.status, answer.text or "scripted", number, answer.headers)
        message = message_body(answer, model=str(request.body.get("model")), number=number)
        if not request.body.get("stream"):
            return self._send_json(200, message, answer.headers)
        self._start(200, "text/event-stream", {**answer.headers, "connection": "close"})
        for sent, event in enumerate(stream(message)):
            if sent == answer.cut_after:
                break
            self.wfile.write(event)
        self.close_connection = True
        return None

    def _refuse(self, status: int, message: str, number: int, headers: Mapping[str, str] | None = None) -> None:
        self._send_json(status, error_body(status, message, f"req_{number:012}"), headers)

    def _send_json(self, status: int, value: Any, headers: Mapping[str, str] | None = None) -> None:
        self._send(status, json.dumps(value).encode(), headers)

    def _send(self, status: int, content: bytes, headers: Mapping[str, str] | None = None) -> None:
        self._start(status, "application/json", {**(headers or {}), "content-length": str(len(content))})
        self.wfile.write(content)

    def _start(self, status: int, kind: str, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("request-id", f"req_{time.monotonic_ns()}")
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def _body(self) -> Iterable[bytes]:
        if "chunked" not in self.headers.get("transfer-encoding", ""):
            yield self.rfile.read(int(self.headers.get("content-length", 0)))
            return
        while size := int(self.rfile.readline(), 16):
            yield self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
