"""`playbook web` in its own process, and a client that talks to it as a browser does."""

import http.client
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from html import unescape
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import pytest

from playbook_db.services.opening import open_project
from playbook_db.services.playbook import edit
from playbook_db.services.project import Project, read_playbook
from tests import warm
from tests.builders import last_revision
from tests.databases import put_empty_database

PATIENCE_S = 300.0
_ADDRESS = re.compile(r' (?:href|src|action)="(/[^"]*)"')


@dataclass(slots=True)
class Answer:
    """The answer to a request."""

    status: int
    headers: dict[str, str]
    body: str


@dataclass(slots=True)
class Visitor:
    """A client of the server at `address`, with the `cookies` that it got.

    Paths are below the root of all pages, in answers, too: each address in a page must be below it.
    """

    address: str
    cookies: dict[str, str] = field(default_factory=dict)

    @property
    def host(self) -> str:
        return urlsplit(self.address).netloc

    @property
    def origin(self) -> str:
        return f"http://{self.host}"

    @property
    def root(self) -> str:
        """The path of all pages, without the slash at its end."""
        return urlsplit(self.address).path.removesuffix("/")

    def ask(
        self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str | None] | None = None
    ) -> Answer:
        """Ask for a path below the root; *headers* replace the usual ones, and None removes one."""
        answer = self.ask_outside(method, f"{self.root}{path}", body, headers)
        given = [*_ADDRESS.findall(answer.body), *filter(None, [answer.headers.get("location")])]
        assert [each for each in given if not each.startswith((f"{self.root}/", f"{self.origin}{self.root}/"))] == []
        if "location" in answer.headers:
            answer.headers["location"] = answer.headers["location"].replace(self.root, "", 1)
        answer.body = _ADDRESS.sub(lambda found: found[0].replace(self.root, "", 1), answer.body)
        return answer

    def ask_outside(
        self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str | None] | None = None
    ) -> Answer:
        """Ask for a path anywhere on the server."""
        cookie = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        usual: dict[str, str | None] = {"Host": self.host, "Cookie": cookie or None}
        if method == "POST":
            usual |= {"Origin": self.origin, "Content-Type": "application/x-www-form-urlencoded"}
        connection = http.client.HTTPConnection(self.host, timeout=PATIENCE_S)
        connection.putrequest(method, path, skip_host=True)
        for name, value in {**usual, **(headers or {})}.items():
            if value is not None:
                connection.putheader(name, value)
        if body is not None and "Content-Length" not in (headers or {}):
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        got = connection.getresponse()
        answer = Answer(got.status, {name.lower(): value for name, value in got.getheaders()}, got.read().decode())
        connection.close()
        return answer

    def open(self) -> Answer:
        """Open the printed address, and keep the cookie."""
        answer = self.ask("GET", f"/?{urlsplit(self.address).query}")
        if "set-cookie" in answer.headers:
            name, _, value = answer.headers["set-cookie"].partition(";")[0].partition("=")
            self.cookies[name] = value
        return answer

    def see(self, path: str, **query: object) -> Answer:
        """Get a page."""
        return self.ask("GET", f"{path}?{urlencode(query)}" if query else path)

    def send(self, path: str, **form: object) -> Answer:
        """Send a form."""
        return self.ask("POST", path, urlencode(form).encode())


@contextmanager
def served(folder: Path, home: Path | None = None, *, lock_wait_s: float | None = None) -> Iterator[str]:
    """The address that `playbook web` prints for the project in *folder*, for the user whose home is *home*."""
    left_out = ("CLAUDE_", "PLAYBOOK_", "ANTHROPIC_", "AGENTIC_CONTEXT_")
    env = dict(os.environ)
    if home is not None:
        env = {name: value for name, value in env.items() if not name.startswith(left_out)} | {"HOME": str(home)}
    with warm.command("--project", str(folder), "web", "--no-open", env=env, lock_wait_s=lock_wait_s) as out:
        yield out.readline().strip()


@contextmanager
def visiting(folder: Path, home: Path | None = None, *, lock_wait_s: float | None = None) -> Iterator[Visitor]:
    """A visitor with the cookie of the pages of *folder*."""
    with served(folder, home, lock_wait_s=lock_wait_s) as address:
        visitor = Visitor(address)
        assert visitor.open().status == 303
        yield visitor


@dataclass(frozen=True, slots=True)
class Pages:
    """The pages of a project, its folder and its database; tests of a module share them."""

    folder: Path
    url: str
    visitor: Visitor

    @contextmanager
    def opened(self, *, is_users: bool = False) -> Iterator[Project]:
        """The project, or the personal playbook, as another program opens it."""
        with open_project(self.url, str(self.folder), notify=print) as project:
            yield Project.of_user(project.store) if is_users else project

    def add(self, text: str, section: str = "oth") -> str:
        """The name of a new point."""
        with self.opened() as project:
            return edit.add(project, text, section=section).changes[0].point.name

    def texts(self, *, is_users: bool = False) -> dict[str, str]:
        """The texts of the live points by their names."""
        with self.opened(is_users=is_users) as project:
            return {point.name: point.text for point in read_playbook(project).points}

    def revision(self) -> int:
        """The last revision of the project."""
        with self.opened() as project:
            return last_revision(project)

    def see(self, path: str, **query: object) -> Answer:
        """Get a page."""
        return self.visitor.see(path, **query)

    def send(self, path: str, **form: object) -> Answer:
        """Send a form; the page that follows, or the refusal."""
        answer = self.visitor.send(path, **form)
        return self.see(answer.headers["location"]) if answer.status == 303 else answer


@contextmanager
def pages_in(place: Path, fill: Callable[[Project], object] | None = None) -> Iterator[Pages]:
    """The pages of a new project in *place*, filled by *fill*."""
    home, folder = place / "home", place / "project"
    (folder / ".claude").mkdir(parents=True)
    path = home / ".claude" / "playbook" / "playbook.db"
    put_empty_database(path)
    if fill is not None:
        with open_project(f"sqlite:///{path}", str(folder), notify=print) as project:
            fill(project)
    with visiting(folder, home) as visitor:
        yield Pages(folder, f"sqlite:///{path}", visitor)


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pages]:
    """The pages of an empty project, served once for a whole module."""
    with pages_in(tmp_path_factory.mktemp("pages")) as opened:
        yield opened


def words_of(answer: Answer) -> str:
    """The words of a page below its head."""
    return " ".join(unescape(re.sub("<[^>]*>", "", answer.body.partition("<main")[2])).split())


def said(answer: Answer) -> str:
    """What the page reports about the last change."""
    return " ".join(
        unescape(re.sub("<[^>]*>", "", part)) for part in re.findall(r'class="said"[^>]*>(.*?)</p>', answer.body)
    )


def alert(answer: Answer) -> str:
    """Why the page refused a change."""
    return unescape(" ".join(re.findall(r'role="alert">(.*?)</p>', answer.body, re.DOTALL)))


def listed(answer: Answer) -> list[str]:
    """The names in the list of points, in order."""
    return re.findall(r'<li><a class="name" href="[^"]*">([^<]+)</a>', answer.body)


@pytest.fixture
def address(home: Path, folder: Path) -> Iterator[str]:
    """The address that `playbook web` prints."""
    with served(folder) as address:
        yield address


@pytest.fixture
def visitor(address: str) -> Visitor:
    """A visitor who opened the address."""
    visitor = Visitor(address)
    assert visitor.open().status == 303
    return visitor


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All tests of this folder talk to a process on loopback."""
    here = f"{Path(__file__).parent}/"
    for item in items:
        if str(item.path).startswith(here):
            item.add_marker(pytest.mark.slow)
            item.add_marker(pytest.mark.allow_hosts(["127.0.0.1"]))


@pytest.fixture(autouse=True)
def _no_network() -> None:
    """Replaces the fixture that forbids all sockets; here, the mark `allow_hosts` limits them."""
