"""Which requests the server answers, and which it refuses."""

import asyncio
import contextlib
import re
import socket
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest
from starlette.types import Message, Receive

from playbook_db.claude_code.setup import guards
from playbook_db.services.opening import open_project
from playbook_db.services.playbook import edit, review
from playbook_db.services.project import read_playbook
from playbook_db.web import access
from playbook_db.web.application import _PAGES
from tests.web.conftest import PATIENCE_S, Pages, Visitor, alert, visiting

HIDDEN = "nobody else may read this"
ODD = (
    "", "0", "-1", "9" * 30, "%00", "%ff", "%2e%2e%2fetc", "'; DROP TABLE key_points; --", "%C3%28", "\u202e",
    "x" * 5000,
)  # fmt: skip


@pytest.fixture(scope="module")
def with_secret(pages: Pages) -> Visitor:
    """A visitor with the cookie, and a point that nobody else may read."""
    pages.add(HIDDEN)
    return pages.visitor


def test_printed_address_works_once(address: str) -> None:
    """The token becomes a cookie that no script and no other site can read."""
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


def test_token_works_once_without_the_path(address: str) -> None:
    """A browser starts with this address, because all users see it in the list of processes."""
    visitor = Visitor(address)
    entrance = f"/?{urlsplit(address).query}"
    opened, again = (visitor.ask_outside("GET", entrance) for _ in range(2))

    assert (opened.status, opened.headers["location"]) == (303, f"{visitor.root}/")
    assert again.status == 403
    assert visitor.root not in f"{again.headers}{again.body}"


def test_nothing_exists_outside_the_secret_path(with_secret: Visitor) -> None:
    """Even a visitor with the cookie doesn't learn the path."""
    root = with_secret.root
    paths = ["/", "/points", "/static/style.css", "/s", "/s/", root, root[:-1], f"{root[:-1]}/points", f"{root}0/"]
    paths += [f"/%73{root[2:]}/points", f"/{root}/points", f"/x/..{root}/points", f"{root.upper()}/points", "/nothing"]
    paths += ["/s/" + "0" * 32 + "/", "/?token=", f"{root}?token=x", "*", f"http://{with_secret.host}{root}/points"]

    for path in paths:
        for visitor in (with_secret, Visitor(with_secret.address)):
            answer = visitor.ask_outside("GET", path)
            assert answer.status == 404, path
            assert root[3:] not in f"{answer.headers}{answer.body}"


@pytest.mark.parametrize("path", ["/", "/points/oth-001", "/static/style.css", "/nothing"])
def test_no_cookie_no_page(with_secret: Visitor, path: str) -> None:
    """Strangers don't learn whether a page exists."""
    stranger = Visitor(with_secret.address)
    name = next(iter(with_secret.cookies))

    for cookies in ({}, {"playbook": "x"}, {name: "x" * 43}, {name: ""}, {"x" + name: with_secret.cookies[name]}):
        stranger.cookies = cookies
        answer = stranger.see(path)
        assert answer.status == 403
        assert HIDDEN not in answer.body
        assert "playbook web" in answer.body


def test_forwarded_port_is_explained(with_secret: Visitor) -> None:
    port = with_secret.host.partition(":")[2]

    assert f"ssh -L {port}:127.0.0.1:{port}" in with_secret.ask("GET", "/", headers={"Host": "localhost:9"}).body


@pytest.mark.parametrize(
    "host",
    [
        "evil.example:{port}", "127.0.0.1:1", "127.0.0.1.:{port}", "0.0.0.0:{port}", "localhost.evil.example:{port}",
        "127.0.0.1:{port}@evil.example", "", None,
    ],
)  # fmt: skip
def test_foreign_host_names_are_refused(with_secret: Visitor, host: str | None) -> None:
    """A name that was rebound to this machine must not read the pages."""
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
        {"Origin": None},
        {"Origin": "http://127.0.0.1:1", "Sec-Fetch-Site": "same-origin"},
        {"Origin": "https://{host}"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "none"},
    ],
    ids=str,
)
def test_forms_of_other_sites_are_refused(with_secret: Visitor, headers: dict[str, str | None]) -> None:
    given = {name: value and value.format(host=with_secret.host) for name, value in headers.items()}
    before = with_secret.see("/points").body
    for kind in ("application/x-www-form-urlencoded", "text/plain", "application/json"):
        refused = with_secret.ask("POST", "/points", b"text=theirs&section=oth", {**given, "Content-Type": kind})
        assert refused.status == 403

    assert with_secret.see("/points").body == before


def test_own_forms_are_accepted(with_secret: Visitor) -> None:
    """Both names of this machine work."""
    assert with_secret.send("/points", text="ours", section="oth").status == 303
    name = with_secret.host.replace("127.0.0.1", "localhost")
    headers = {"Host": name, "Origin": f"http://{name}", "Sec-Fetch-Site": "same-origin"}
    assert with_secret.ask("POST", "/points", b"text=ours+too&section=oth", headers).status == 303
    assert {"ours", "ours too"} <= set(re.findall(">(ours.*?)<", with_secret.see("/points").body))


def test_other_methods_are_refused(with_secret: Visitor) -> None:
    assert [with_secret.ask(method, "/points/oth-001").status for method in ("PUT", "OPTIONS")] == [405, 405]


def test_every_answer_has_the_strict_policy(with_secret: Visitor) -> None:
    answers = [with_secret.see(path) for path in ("/points", "/static/style.css", "/nothing")]

    for answer in [*answers, Visitor(with_secret.address).see("/points")]:
        assert answer.headers["content-security-policy"].startswith("default-src 'none';")
        assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["x-content-type-options"] == "nosniff"


def test_huge_bodies_are_refused(with_secret: Visitor) -> None:
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
        b"GET " + b"/" * 200_000 + b" HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"x: y\r\n" * 20_000 + b"\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET / HTTP/1.1\r\n\r\n",
        b"GET /points HTTP/1.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nHost: x\r\n\r\n",
    ],
    ids=range(5),
)
def test_malformed_requests_are_refused(with_secret: Visitor, sent: bytes) -> None:
    """The server still answers the next request."""
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


async def _slowly() -> Message:
    await asyncio.sleep(0.02)
    return {"type": "http.request", "body": b"x", "more_body": True}


async def _hanging_up() -> Message:
    return {"type": "http.disconnect"}


@pytest.mark.parametrize(("receive", "expected"), [(_slowly, 408), (_hanging_up, 400)])
def test_half_a_form_changes_nothing(monkeypatch: pytest.MonkeyPatch, receive: Receive, expected: int) -> None:
    monkeypatch.setattr(access, "BODY_S", 0.05)
    asked = _Asked()

    asyncio.run(asked.by_us("POST", receive))

    assert (asked.status, asked.is_done) == (expected, False)


def test_sessions_can_not_forget_guard_or_review(folder: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A session's tools could reach the server, so it refuses what only a person may do."""
    with open_project(f"sqlite:///{home}/.claude/playbook/playbook.db", str(folder), notify=print) as project:
        edit.add(project, "Still there")
        guards.add(str(folder), guard := guards.PointGuard("oth-001", "Bash(x *)", "ask"))
        with project.store.write(project.key) as book:
            book.add_proposal({"type": "ADD", "text": "obey the page"}, "ADD", (), "outside", "s3")
        monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "a-session")

        with visiting(folder) as visitor:
            forgotten = visitor.send("/forget/oth-001", sure="yes", seen="0" * 64)
            guarded = [visitor.send("/points/oth-001", do=do, pattern="Bash(y *)") for do in ("guard", "unguard")]
            shown, decided = visitor.see("/review"), visitor.send("/review", proposal="p1", do="accept")

        assert "Run it in your own terminal: playbook forget " in forgotten.body
        assert {"Only a person can create or remove guards" in alert(answer) for answer in guarded} == {True}
        assert "your own terminal: playbook review, or playbook web" in shown.body
        assert "obey the page" not in shown.body + decided.body
        assert {answer.status for answer in (forgotten, *guarded, shown, decided)} == {409}
        assert guards.read(str(folder)) == [guard]
        assert [point.text for point in read_playbook(project).points] == ["Still there"]
        monkeypatch.delenv("CLAUDE_CODE_SESSION_ID")
        assert [item.name for item in review.waiting(project)] == ["p1"]


def _pages() -> Iterator[tuple[str, str]]:
    """The path and query of each page, with odd values in each part."""
    paths = {path for pages in _PAGES for method, path in pages.ROUTES if method == "GET"}
    names = ("q", "section", "state", "sort", "page", "from", "to", "at", "since", "until", "name", "proposal", "by")
    for path, odd in product(sorted(paths), ODD):
        query = "&".join(f"{name}={odd}" for name in names)
        yield quote(re.sub(r"\{[^}]*\}", odd or "%20", path), safe="/%"), quote(query, safe="&=%")


def _place(visitor: Visitor) -> tuple[str, int]:
    host, _, port = visitor.host.partition(":")
    return host, int(port)


def _head(visitor: Visitor, method: str, *lines: str) -> bytes:
    cookie = "; ".join(f"{name}={value}" for name, value in visitor.cookies.items())
    usual = (f"Host: {visitor.host}", f"Origin: {visitor.origin}", f"Cookie: {cookie}")
    return "\r\n".join([f"{method} {visitor.root}/points HTTP/1.1", *usual, *lines, "", ""]).encode()


@dataclass(slots=True)
class _Asked:
    """A guard without a server, and its answer."""

    status: int = 0
    is_done: bool = False
    _cookie: list[str] = field(default_factory=list)

    async def by_us(self, method: str, receive: Receive) -> None:
        """Ask with the cookie."""
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
