"""Who may see the pages: whoever opened the address that the command printed, in that browser, and nobody else.

An ASGI application around another. Each request must name us as its host, so that no other name leads here; the token
in the printed address is exchanged once for a cookie, without which nothing is answered; what changes something must
come from a page of ours. Every answer forbids what the pages don't need.

Browsers send a cookie to all ports of a host, but only below the cookie's path: so the path of the pages is a secret.
"""

import asyncio
import secrets
import time
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qs

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

MAX_BODY_BYTES = 1 << 20
BODY_S = 10.0  # for a request's whole body
TOKEN = "token"  # noqa: S105 - the name of what stands in the printed address
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = [
    (b"content-security-policy", _POLICY.encode()),
    (b"cache-control", b"no-store"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
]
_SAFE = ("GET", "HEAD")
_OPENED = "This address was opened already. Go on in the window that it opened, or run the command again."
_NO_COOKIE = "Open the address that `playbook web` has printed. It works once, in one browser."


class _RefusedError(Exception):
    """A request that isn't answered: the status, and why."""

    def __init__(self, status: HTTPStatus, why: str) -> None:
        self.status = status
        super().__init__(why)


class Guard:
    """Lets through to *app* what comes from the browser that opened the printed address, at *port* of this machine.

    `pages` is the path above all of them, a secret of this server; `token` opens them, there or at "/"; `last_used` is
    the time (monotonic, in seconds) of the last request that was let through.
    """

    def __init__(self, app: App, port: int) -> None:
        self._app = app
        self._hosts = {f"{name}:{port}" for name in ("127.0.0.1", "localhost")}
        self._cookie = f"playbook-{port}"  # cookies don't know ports
        self._session = secrets.token_urlsafe(32)
        self.pages: str = f"/s/{secrets.token_hex(16)}/"
        self.token: str = secrets.token_urlsafe(32)
        self._is_opened = False
        self.last_used = time.monotonic()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request. *app* gets the path as it was sent, in which a slash inside a name is no other part."""
        scope = {**scope, "path": scope["raw_path"].decode("latin-1"), "root_path": self.pages[:-1]}
        try:
            headers = _headers(scope)
            self._check_host(headers)
            if self._takes_token(scope, headers):
                return await self._open(send)
            self._check_cookie(scope, headers)
            self._check_origin(scope, headers)
            body = await _body(headers, receive)
        except _RefusedError as refused:
            return await _answer(send, refused.status, f"{refused}\n".encode())
        self.last_used = time.monotonic()
        return await self._app(scope, _with_body(body, receive), _with_headers(send))

    def _check_host(self, headers: dict[str, list[str]]) -> None:
        if headers.get("host", []) not in [[host] for host in self._hosts]:
            raise _RefusedError(HTTPStatus.MISDIRECTED_REQUEST, "This is not the host that you asked for.")

    def _takes_token(self, scope: Scope, headers: dict[str, list[str]]) -> bool:
        """Whether the request brings the token for the first time, or again in the same browser."""
        tokens = parse_qs(scope["query_string"].decode("latin-1")).get(TOKEN, [])
        is_right = len(tokens) == 1 and _equal(tokens[0], self.token)
        if not is_right or scope["method"] != "GET" or scope["path"] not in ("/", self.pages):
            return False
        if self._is_opened and not self._has_cookie(headers):
            raise _RefusedError(HTTPStatus.FORBIDDEN, _OPENED)
        self._is_opened = True
        return True

    async def _open(self, send: Send) -> None:
        cookie = f"{self._cookie}={self._session}; Path={self.pages}; HttpOnly; SameSite=Strict"
        extra = [(b"location", self.pages.encode()), (b"set-cookie", cookie.encode())]
        await _answer(send, HTTPStatus.SEE_OTHER, b"", extra)

    def _has_cookie(self, headers: dict[str, list[str]]) -> bool:
        pairs = (pair.strip().partition("=") for line in headers.get("cookie", []) for pair in line.split(";"))
        return any(name == self._cookie and _equal(value, self._session) for name, _, value in pairs)

    def _check_cookie(self, scope: Scope, headers: dict[str, list[str]]) -> None:
        if not _equal(scope["path"][: len(self.pages)], self.pages):
            raise _RefusedError(HTTPStatus.NOT_FOUND, _NO_COOKIE)
        if not self._has_cookie(headers):
            raise _RefusedError(HTTPStatus.FORBIDDEN, _NO_COOKIE)

    def _check_origin(self, scope: Scope, headers: dict[str, list[str]]) -> None:
        """Refuse what doesn't come from a page of ours, where it may change something."""
        if scope["method"] in _SAFE:
            return
        if scope["method"] != "POST":
            raise _RefusedError(HTTPStatus.METHOD_NOT_ALLOWED, "Only GET and POST are answered.")
        origin = headers.get("origin", [])
        # Our pages send no referrer, so browsers call their origin "null"; Sec-Fetch-Site then tells them from others.
        is_ours = origin == [f"http://{headers['host'][0]}"] or (origin == ["null"] and "sec-fetch-site" in headers)
        if not is_ours or headers.get("sec-fetch-site", ["same-origin"]) != ["same-origin"]:
            raise _RefusedError(HTTPStatus.FORBIDDEN, "This comes from a page of somebody else; nothing was changed.")


def _headers(scope: Scope) -> dict[str, list[str]]:
    headers: dict[str, list[str]] = {}
    for name, value in scope["headers"]:
        headers.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
    return headers


def _equal(value: str, secret: str) -> bool:
    return secrets.compare_digest(value.encode("utf-8", "replace"), secret.encode())


async def _body(headers: dict[str, list[str]], receive: Receive) -> bytes:
    """The whole body of a request, which is read before anything is done."""
    too_large = _RefusedError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"More than {MAX_BODY_BYTES >> 20} MiB were sent.")
    length = headers.get("content-length", ["0"])[0]
    if not length.isascii() or not length.isdigit() or int(length) > MAX_BODY_BYTES:
        raise too_large
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_S):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise _RefusedError(HTTPStatus.BAD_REQUEST, "The request broke off.")
                body += message.get("body", b"")
                if len(body) > MAX_BODY_BYTES:
                    raise too_large
                if not message.get("more_body"):
                    return bytes(body)
    except TimeoutError:
        raise _RefusedError(HTTPStatus.REQUEST_TIMEOUT, f"It took more than {BODY_S:g} s to send this.") from None


def _with_body(body: bytes, receive: Receive) -> Receive:
    """What the application reads of the request: its *body*, and then whether the browser has left."""
    messages = [{"type": "http.request", "body": body, "more_body": False}]

    async def next_message() -> Message:
        return messages.pop() if messages else await receive()

    return next_message


def _with_headers(send: Send) -> Send:
    async def send_all(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", []), *_HEADERS]}
        await send(message)

    return send_all


async def _answer(send: Send, status: HTTPStatus, body: bytes, extra: Iterable[tuple[bytes, bytes]] = ()) -> None:
    plain = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())]
    start = {"type": "http.response.start", "status": int(status), "headers": [*plain, *extra, *_HEADERS]}
    await send(start)
    await send({"type": "http.response.body", "body": body})
