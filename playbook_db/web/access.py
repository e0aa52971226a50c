"""Access control: only the browser that opened the printed address may see the pages.

`Guard` is an ASGI application that wraps another. Each request must name this machine as its host. The token in the
printed address is exchanged once for a cookie, which all other requests need. A request that may change something must
come from one of the pages. Each response denies the browser everything that the pages don't need.

Browsers send a cookie to all ports of a host, but only below the cookie's path. So the pages' path is secret.
"""

import asyncio
import secrets
import time
from http import HTTPStatus
from urllib.parse import parse_qs

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MAX_BODY_BYTES = 1 << 20
BODY_S = 10.0  # for a request's whole body
TOKEN = "token"  # noqa: S105 - a parameter's name, not a secret
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
_OPENED = "This address has been opened before. Use the window that it opened, or run the command again."
_OTHER_SERVER = "The request's Host header names another server."
_NO_COOKIE = "Open the address that `playbook web` has printed. It works once, in one browser."


class Guard:
    """An application that passes a request on to *app* only if the browser that opened the printed address sent it.

    The server listens on *port*. `pages` is the secret path above all pages. `token` opens them, at that path or at
    "/". `last_used` is the time (monotonic, in seconds) of the last request that was passed on.
    """

    def __init__(self, app: ASGIApp, port: int) -> None:
        self._app = app
        self._hosts = {f"{name}:{port}" for name in ("127.0.0.1", "localhost")}
        self._forward = f"ssh -L {port}:127.0.0.1:{port}"
        self._cookie = f"playbook-{port}"  # cookies are shared by all ports
        self._session = secrets.token_urlsafe(32)
        self.pages: str = f"/s/{secrets.token_hex(16)}/"
        self.token: str = secrets.token_urlsafe(32)
        self._is_opened = False
        self.last_used = time.monotonic()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request. *app* gets the path before it is decoded, so a slash inside a name stays `%2F`."""
        scope = {**scope, "path": scope["raw_path"].decode("latin-1"), "root_path": self.pages[:-1]}
        send, headers = _with_headers(send), Headers(scope=scope)
        try:
            self._check_host(headers)
            if self._takes_token(scope, headers):
                return await self._open()(scope, receive, send)
            self._check_cookie(scope, headers)
            self._check_origin(scope, headers)
            body = await _body(scope, headers, receive)
        except HTTPException as refused:
            return await PlainTextResponse(f"{refused.detail}\n", refused.status_code)(scope, receive, send)
        self.last_used = time.monotonic()
        return await self._app(scope, _with_body(body, receive), send)

    def _check_host(self, headers: Headers) -> None:
        hosts = headers.getlist("host")
        if hosts not in [[host] for host in self._hosts]:
            is_forwarded = len(hosts) == 1 and hosts[0].partition(":")[0] in ("127.0.0.1", "localhost")
            refusal = f"Forward the port with its own number, as in: {self._forward}" if is_forwarded else _OTHER_SERVER
            raise HTTPException(HTTPStatus.MISDIRECTED_REQUEST, refusal)

    def _takes_token(self, scope: Scope, headers: Headers) -> bool:
        """Return whether the request has the token. Raises HTTPException if another browser has used it before."""
        tokens = parse_qs(scope["query_string"].decode("latin-1")).get(TOKEN, [])
        is_right = len(tokens) == 1 and _equal(tokens[0], self.token)
        if not is_right or scope["method"] != "GET" or scope["path"] not in ("/", self.pages):
            return False
        if self._is_opened and not self._has_cookie(headers):
            raise HTTPException(HTTPStatus.FORBIDDEN, _OPENED)
        self._is_opened = True
        return True

    def _open(self) -> PlainTextResponse:
        cookie = f"{self._cookie}={self._session}; Path={self.pages}; HttpOnly; SameSite=Strict"
        return PlainTextResponse("", HTTPStatus.SEE_OTHER, {"location": self.pages, "set-cookie": cookie})

    def _has_cookie(self, headers: Headers) -> bool:
        pairs = (pair.strip().partition("=") for line in headers.getlist("cookie") for pair in line.split(";"))
        return any(name == self._cookie and _equal(value, self._session) for name, _, value in pairs)

    def _check_cookie(self, scope: Scope, headers: Headers) -> None:
        if not _equal(scope["path"][: len(self.pages)], self.pages):
            raise HTTPException(HTTPStatus.NOT_FOUND, _NO_COOKIE)
        if not self._has_cookie(headers):
            raise HTTPException(HTTPStatus.FORBIDDEN, _NO_COOKIE)

    def _check_origin(self, scope: Scope, headers: Headers) -> None:
        if scope["method"] in _SAFE:
            return
        if scope["method"] != "POST":
            raise HTTPException(HTTPStatus.METHOD_NOT_ALLOWED, "Only GET and POST are answered.")
        origin, site = headers.getlist("origin"), headers.getlist("sec-fetch-site")
        # The pages send no referrer, so browsers send the origin "null". Then Sec-Fetch-Site decides.
        is_ours = origin == [f"http://{headers['host']}"] or (origin == ["null"] and bool(site))
        if not is_ours or site not in ([], ["same-origin"]):
            raise HTTPException(HTTPStatus.FORBIDDEN, "The request is from another site's page. Nothing was changed.")


def _equal(value: str, secret: str) -> bool:
    return secrets.compare_digest(value.encode("utf-8", "replace"), secret.encode())


async def _body(scope: Scope, headers: Headers, receive: Receive) -> bytes:
    """Read the whole body of a request before it is handled."""
    too_large = HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"More than {MAX_BODY_BYTES >> 20} MiB were sent.")
    length = headers.get("content-length", "0")
    if not length.isascii() or not length.isdigit() or int(length) > MAX_BODY_BYTES:
        raise too_large
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_S):
            async for part in Request(scope, receive).stream():
                body += part
                if len(body) > MAX_BODY_BYTES:
                    raise too_large
    except ClientDisconnect:
        raise HTTPException(HTTPStatus.BAD_REQUEST, "The request broke off.") from None
    except TimeoutError:
        raise HTTPException(HTTPStatus.REQUEST_TIMEOUT, f"The request took longer than {BODY_S:g} s.") from None
    return bytes(body)


def _with_body(body: bytes, receive: Receive) -> Receive:
    """Return a function to use instead of *receive*. It returns the *body* first, and then calls *receive*."""
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
