"""Who gets to see the pages, and who doesn't: what comes from outside is refused or served, and nothing breaks."""

import asyncio
import contextlib
import re
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import product
from urllib.parse import quote, urlsplit

import pytest
from starlette.types import Message, Receive

from playbook_db.services.playbook import edit
from playbook_db.web import access
from playbook_db.web.application import _PAGES
from tests.web.conftest import PATIENCE_S, SharedPages, Visitor

HIDDEN = "nobody else may read this"
ODD = (
    "",
    "0",
    "-1",
    "9" * 30,
    "%00",
    "%ff",
    "%2e%2e%2fetc",
    "'; DROP TABLE key_points; --",
    "%C3%28",
    "\u202e",
    "x" * 5000,
)


@pytest.fixture(scope="module")
def with_secret(shared: SharedPages) -> Visitor:
    """Who opened the address, of a playbook that holds something."""
    with shared.opened() as project:
        edit.add(project, HIDDEN)
    return shared.visitor


def test_the_printed_address_opens_the_pages_once(address: str) -> None:
    """The token is exchanged for a cookie that no script reads and no other site sends, and leaves the address."""
    visitor = Visitor(address)
    opened = visitor.open()

    assert re.fullmatch(r"/s/[0-9a-f]{32}", visitor.root)
    assert (opened.status, opened.headers["location"]) == (303, "/")
    attributes = opened.headers["set-cookie"].split("; ")[1:]
    assert sorted(attributes) == ["HttpOnly", f"Path={visitor.root}/", "SameSite=Strict"]
    assert visitor.see("/points").status == 200
    assert visitor.open().status == 303  # the same browser may open it again
    again = Visitor(address).open()
    assert again.status == 403
    assert "set-cookie" not in again.headers
    for wrong in ("", "x", visitor.address.rpartition("=")[2] + "&token=x"):
        assert Visitor(address).see(f"/?token={wrong}").status == 403
        assert Visitor(address).ask_outside("GET", f"/?token={wrong}").status == 404


def test_the_token_opens_the_pages_without_their_path_once(address: str) -> None:
    """So a browser is started, as all users see in the list of processes; it tells the path once."""
    visitor = Visitor(address)
    entrance = f"/?{urlsplit(address).query}"
    opened, again = (visitor.ask_outside("GET", entrance) for _ in range(2))

    assert (opened.status, opened.headers["location"]) == (303, f"{visitor.root}/")
    assert again.status == 403
    assert visitor.root not in f"{again.headers}{again.body}"


def test_outside_of_their_path_nothing_is_there(with_secret: Visitor) -> None:
    """Nor is the path told, to whoever has the cookie neither: another server of this machine could then have it."""
    root = with_secret.root
    paths = ["/", "/points", "/static/style.css", "/s", "/s/", root, root[:-1], f"{root[:-1]}/points", f"{root}0/"]
    paths += [f"/%73{root[2:]}/points", f"/{root}/points", f"/x/..{root}/points", f"{root.upper()}/points", "/nothing"]
    paths += ["/s/" + "0" * 32 + "/", "/?token=", f"{root}?token=x", "*", f"http://{with_secret.host}{root}/points"]

    for path in paths:
        for visitor in (with_secret, Visitor(with_secret.address)):
            answer = visitor.ask_outside("GET", path)
            assert answer.status == 404, path
            assert root[3:] not in f"{answer.headers}{answer.body}"


@pytest.mark.parametrize("path", ["/", "/points", "/points/oth-001", "/static/style.css", "/nothing", "//", "/%2e%2e/"])
def test_without_the_cookie_nothing_is_answered(with_secret: Visitor, path: str) -> None:
    """Not even whether a page is there."""
    stranger = Visitor(with_secret.address)
    name = next(iter(with_secret.cookies))

    for cookies in ({}, {"playbook": "x"}, {name: "x" * 43}, {name: ""}, {"x" + name: with_secret.cookies[name]}):
        stranger.cookies = cookies
        answer = stranger.see(path)
        assert answer.status == 403
        assert HIDDEN not in answer.body
        assert "playbook web" in answer.body


def test_a_port_forwarded_with_another_number_is_explained(with_secret: Visitor) -> None:
    """The browser then names the other port."""
    port = with_secret.host.partition(":")[2]

    assert f"ssh -L {port}:127.0.0.1:{port}" in with_secret.ask("GET", "/", headers={"Host": "localhost:9"}).body


@pytest.mark.parametrize(
    "host",
    [
        "evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "127.0.0.1.:{port}", "[::1]:{port}",
        "0.0.0.0:{port}", "localhost.evil.example:{port}", "127.0.0.1:{port}@evil.example",
        "evil.example#127.0.0.1:{port}", "", None,
    ],
)  # fmt: skip
def test_a_name_that_leads_here_is_no_name_of_ours(with_secret: Visitor, host: str | None) -> None:
    """As one that was bound to this machine's address anew, to read what a page of that name may read."""
    port = with_secret.host.partition(":")[2]
    for path in ("/points", "/static/style.css", "/nothing", "/?token=x"):
        answer = with_secret.ask("GET", path, headers={"Host": host and host.format(port=port)})
        assert answer.status in (400, 421)
        assert HIDDEN not in answer.body


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "null", "Sec-Fetch-Site": "same-site"},
        {"Origin": "http://127.0.0.1:1", "Sec-Fetch-Site": "same-origin"},
        {"Origin": None},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "https://{host}"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "none"},
    ],
    ids=str,
)
def test_what_changes_something_comes_from_a_page_of_ours(with_secret: Visitor, headers: dict[str, str | None]) -> None:
    """As no form of another site's does, whatever it is sent as; else nothing is changed."""
    given = {name: value and value.format(host=with_secret.host) for name, value in headers.items()}
    before = with_secret.see("/points").body
    for kind in ("application/x-www-form-urlencoded", "text/plain", "application/json"):
        refused = with_secret.ask("POST", "/points", b"text=theirs&section=oth", {**given, "Content-Type": kind})
        assert refused.status == 403

    assert with_secret.see("/points").body == before


def test_a_form_of_ours_changes_something(with_secret: Visitor) -> None:
    """By either name of this machine."""
    assert with_secret.send("/points", text="ours", section="oth").status == 303
    name = with_secret.host.replace("127.0.0.1", "localhost")
    headers = {"Host": name, "Origin": f"http://{name}", "Sec-Fetch-Site": "same-origin"}
    assert with_secret.ask("POST", "/points", b"text=ours+too&section=oth", headers).status == 303
    assert {"ours", "ours too"} <= set(re.findall(">(ours.*?)<", with_secret.see("/points").body))


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_only_post_changes_something(with_secret: Visitor, method: str) -> None:
    """And no page can be read in another way."""
    assert with_secret.ask(method, "/points/oth-001").status == 405


def test_every_answer_forbids_what_the_pages_do_not_need(with_secret: Visitor) -> None:
    """Pages, files and refusals alike: nothing from elsewhere, no frame, no copy on the disk."""
    answers = [with_secret.see(path) for path in ("/points", "/static/style.css", "/nothing")]

    for answer in [*answers, Visitor(with_secret.address).see("/points")]:
        assert answer.headers["content-security-policy"].startswith("default-src 'none';")
        assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["x-content-type-options"] == "nosniff"


def test_a_huge_body_is_refused(with_secret: Visitor) -> None:
    """By what it says of itself, before it is read; what says nothing of itself is read no further than that."""
    for length in (1 << 40, "9" * 40, "-1", "x"):
        refused = with_secret.ask("POST", "/points", headers={"Content-Length": str(length)})
        assert refused.status in (400, 413)
    with socket.create_connection(_place(with_secret), PATIENCE_S) as sender:
        sender.sendall(_head(with_secret, "POST", "Transfer-Encoding: chunked"))
        try:
            for _ in range(64):
                sender.sendall(b"10000\r\n" + b"x" * 0x10000 + b"\r\n")
        except OSError:
            return  # it hung up
        assert b" 413 " in sender.recv(1000)


@pytest.mark.parametrize(
    "sent",
    [
        b"\0\0\0\0\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03",
        b"GET " + b"/" * 200_000 + b" HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"x: y\r\n" * 20_000 + b"\r\n",
        b"GET http://evil.example/points HTTP/1.1\r\nHost: evil.example\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET / HTTP/1.1\r\n\r\n",
        b"GET /points HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        b"GET /points HTTP/1.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nHost: x\r\n\r\n",
    ],
    ids=range(10),
)
def test_what_is_no_request_is_refused(with_secret: Visitor, sent: bytes) -> None:
    """Whatever it is, it gets no page, and the next one is answered."""
    with socket.create_connection(_place(with_secret), PATIENCE_S) as sender:
        answer = b""
        with contextlib.suppress(OSError):  # it may hang up before it has heard all
            sender.sendall(sent)
            sender.shutdown(socket.SHUT_WR)
        with contextlib.suppress(OSError):
            while more := sender.recv(1 << 16):
                answer += more
    assert not answer or re.match(rb"HTTP/1.1 4\d\d ", answer)
    assert HIDDEN.encode() not in answer
    assert with_secret.see("/points").status == 200


def test_who_sends_too_slowly_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """And nothing is done with what has come."""
    monkeypatch.setattr(access, "BODY_S", 0.05)

    async def part_of_it() -> Message:
        await asyncio.sleep(0.02)
        return {"type": "http.request", "body": b"x", "more_body": True}

    asked = _Asked()
    asyncio.run(asked.by_us("POST", part_of_it))

    assert asked.status == 408
    assert not asked.is_done


def test_who_leaves_in_the_middle_has_nothing_done(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half a form changes nothing."""

    async def gone() -> Message:
        return {"type": "http.disconnect"}

    asked = _Asked()
    asyncio.run(asked.by_us("POST", gone))

    assert asked.status == 400
    assert not asked.is_done


def _pages() -> Iterator[tuple[str, str]]:
    """Each page with something odd in the place of each part and of each thing that it may be asked."""
    paths = {path for pages in _PAGES for method, path in pages.ROUTES if method == "GET"}
    names = ("q", "section", "state", "sort", "page", "from", "to", "at", "since", "until", "name", "proposal", "by")
    for path, odd in product(sorted(paths), ODD):
        query = "&".join(f"{name}={odd}" for name in names)
        yield quote(re.sub(r"\{[^}]*\}", odd or "%20", path), safe="/%"), quote(query, safe="&=%")


def test_no_page_breaks_on_what_it_is_asked(with_secret: Visitor) -> None:
    """Each answers with what there is, or says what isn't."""
    asked = [f"{path}?{query}" for path, query in _pages()]
    asked += [f"/points?project={quote(odd, safe='%')}" for odd in (*ODD, "/etc", "/nonexistent", "user:x", "..")]
    with ThreadPoolExecutor(2) as pool:
        statuses = pool.map(lambda each: with_secret.see(each).status, asked)
        broken = [each[:200] for each, status in zip(asked, statuses, strict=True) if status >= 500]

    assert broken == []


def _place(visitor: Visitor) -> tuple[str, int]:
    host, _, port = visitor.host.partition(":")
    return host, int(port)


def _head(visitor: Visitor, method: str, *lines: str) -> bytes:
    cookie = "; ".join(f"{name}={value}" for name, value in visitor.cookies.items())
    usual = (
        f"{method} {visitor.root}/points HTTP/1.1",
        f"Host: {visitor.host}",
        f"Origin: {visitor.origin}",
        f"Cookie: {cookie}",
    )
    return "\r\n".join([*usual, *lines, "", ""]).encode()


@dataclass(slots=True)
class _Asked:
    """A guard without a server, and what it answered."""

    status: int = 0
    is_done: bool = False
    _cookie: list[str] = field(default_factory=list)

    async def by_us(self, method: str, receive: Receive) -> None:
        """Ask as somebody who may."""
        guarded = access.Guard(self._app, 1)
        host = (b"host", b"127.0.0.1:1")
        opened = {"type": "http", "method": "GET", "raw_path": b"/", "query_string": f"token={guarded.token}".encode()}
        await guarded({**opened, "headers": [host]}, receive, self._send)
        headers = [host, (b"origin", b"http://127.0.0.1:1"), (b"cookie", self._cookie[0].encode())]
        path = f"{guarded.pages}points".encode()
        asked = {"type": "http", "method": method, "raw_path": path, "query_string": b"", "headers": headers}
        await guarded(asked, receive, self._send)

    async def _app(self, *_: object) -> None:
        self.is_done = True

    async def _send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self._cookie += [value.decode() for name, value in message["headers"] if name == b"set-cookie"]
