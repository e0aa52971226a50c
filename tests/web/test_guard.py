"""Who gets to see the pages, and who doesn't."""

import socket
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.web.conftest import Visitor

HIDDEN = "nobody else may read this"


@pytest.fixture
def with_secret(visitor: Visitor, folder: object) -> Visitor:
    """Who opened the address, of a playbook that holds something."""
    from playbook_db.services import edit
    from playbook_db.services.projects import open_project
    from playbook_db.settings import database_url

    with open_project(database_url(), str(folder), notify=print) as project:
        edit.add(project, HIDDEN)
    return visitor


def test_the_printed_address_opens_the_pages_once(address: str) -> None:
    """The token is exchanged for a cookie that no script reads and no other site sends, and leaves the address."""
    visitor = Visitor(address)
    opened = visitor.open()

    assert (opened.status, opened.headers["location"]) == (303, "/")
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(opened.headers["set-cookie"].split("; "))
    assert visitor.see("/points").status == 200
    assert visitor.open().status == 303  # the same browser may open it again
    again = Visitor(address).open()
    assert again.status == 403
    assert "set-cookie" not in again.headers


@pytest.mark.parametrize("path", ["/", "/points", "/points/oth-001", "/static/style.css", "/nothing", "//", "/%2e%2e/"])
def test_without_the_cookie_nothing_is_answered(with_secret: Visitor, path: str) -> None:
    """Not even whether a page is there."""
    stranger = Visitor(with_secret.address)

    for cookies in ({}, {"playbook": "x"}, {next(iter(with_secret.cookies)): "x" * 43}):
        stranger.cookies = cookies
        answer = stranger.see(path)
        assert answer.status == 403
        assert HIDDEN not in answer.body
        assert "playbook web" in answer.body


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "localhost.evil.example:1", "", None])
def test_a_name_that_leads_here_is_no_name_of_ours(with_secret: Visitor, host: str | None) -> None:
    """As one that was bound to this machine's address anew, to read what a page of that name may read."""
    answer = with_secret.ask("GET", "/points", headers={"Host": host})

    assert answer.status in (400, 421)
    assert HIDDEN not in answer.body


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": None},
        {"Origin": "http://127.0.0.1:1"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "none"},
    ],
    ids=str,
)
def test_what_changes_something_comes_from_a_page_of_ours(with_secret: Visitor, headers: dict[str, str | None]) -> None:
    """Else nothing is changed."""
    refused = with_secret.ask("POST", "/points/oth-001", b"do=retire", headers)

    assert refused.status == 403
    assert HIDDEN in with_secret.see("/points").body
    assert with_secret.send("/points/oth-001", do="retire").status == 303
    assert HIDDEN not in with_secret.see("/points").body


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
        assert answer.headers["x-content-type-options"] == "nosniff"


def test_a_huge_body_is_refused(with_secret: Visitor) -> None:
    """By what it says of itself, before it is read."""
    answer = with_secret.ask("POST", "/points/oth-001", headers={"Content-Length": str(1 << 40)})

    assert answer.status == 413


def test_those_who_never_finish_keep_nobody_waiting(with_secret: Visitor) -> None:
    """Two hundred of them, half a request each; and two hundred that ask at once are all answered."""
    host, _, port = with_secret.host.partition(":")
    slow = [socket.create_connection((host, int(port))) for _ in range(200)]
    for each in slow:
        each.send(b"GET /points HTTP/1.1\r\nHost: ")
    with ThreadPoolExecutor(40) as pool:
        statuses = list(pool.map(lambda _: with_secret.see("/points").status, range(200)))
    for each in slow:
        each.close()

    assert statuses == [200] * 200
