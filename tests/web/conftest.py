"""The pages, served by a process of its own as a user starts it, and a browser's part of a conversation with it."""

import http.client
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import pytest

from playbook_db.services.opening import open_project
from playbook_db.services.project import Project
from tests import warm
from tests.databases import put_empty_database

PATIENCE_S = 300.0
_ADDRESS = re.compile(r' (?:href|src|action)="(/[^"]*)"')


@dataclass(slots=True)
class Answer:
    """What came back."""

    status: int
    headers: dict[str, str]
    body: str


@dataclass(slots=True)
class Visitor:
    """Somebody who asks the server at `address`; `cookies` are those that it was given.

    Paths are those below the root of all pages, in answers too: each address that a page gives must be below it.
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
        """Ask for a path below the root, as a browser would; *headers* in place of the usual ones, None for none."""
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
    """The address that `playbook web` prints for the project in *folder*; where a *home* is given it lives there, with
    no variable of this machine's about playbooks; it waits *lock_wait_s* seconds for a lock where that is given."""
    left_out = ("CLAUDE_", "PLAYBOOK_", "ANTHROPIC_", "AGENTIC_CONTEXT_")
    env = dict(os.environ)
    if home is not None:
        env = {name: value for name, value in env.items() if not name.startswith(left_out)} | {"HOME": str(home)}
    with warm.command("--project", str(folder), "web", "--no-open", env=env, lock_wait_s=lock_wait_s) as out:
        yield out.readline().strip()


@dataclass(frozen=True, slots=True)
class SharedPages:
    """The pages of a project that all tests of a module look at: its folder, its database, and who opened them."""

    folder: Path
    url: str
    visitor: Visitor

    @contextmanager
    def opened(self) -> Iterator[Project]:
        """The project, as another program has it meanwhile."""
        with open_project(self.url, str(self.folder), notify=print) as project:
            yield project


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedPages]:
    """The pages of an empty project, served once for a whole module."""
    base = tmp_path_factory.mktemp("shared")
    home, folder = base / "home", base / "project"
    (folder / ".claude").mkdir(parents=True)
    path = home / ".claude" / "playbook" / "playbook.db"
    put_empty_database(path)
    with served(folder, home) as address:
        visitor = Visitor(address)
        assert visitor.open().status == 303
        yield SharedPages(folder, f"sqlite:///{path}", visitor)


@pytest.fixture
def address(home: Path, folder: Path) -> Iterator[str]:
    """The address that `playbook web` prints."""
    with served(folder) as address:
        yield address


@pytest.fixture
def visitor(address: str) -> Visitor:
    """Who opened the address."""
    visitor = Visitor(address)
    assert visitor.open().status == 303
    return visitor


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The tests of this folder start a process each, and speak to it on loopback."""
    here = f"{Path(__file__).parent}/"
    for item in items:
        if str(item.path).startswith(here):
            item.add_marker(pytest.mark.slow)
            item.add_marker(pytest.mark.allow_hosts(["127.0.0.1"]))


@pytest.fixture(autouse=True)
def _no_network() -> None:
    """In place of the one for all tests, which allows no socket at all: the marker `allow_hosts` does it here."""
