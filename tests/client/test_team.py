"""Two members of a team, each with a home, a clone and the real client, and one server with passwords.

They do what docs/team.md says: a lesson of one is in the other's next session but one.
"""

import json
import socket
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from tests import postgres
from tests.client.harness import World, fresh_home, is_turn, run_print, wait_until
from tests.client.install import Client
from tests.client.ours import ask_playbook, data_folder, jobs, times_shown
from tests.learning.conftest import curation, is_reflector, reflection
from tests.messages_api import MessagesApi, Request, Rule
from tests.quoting import quoting

OWN = "Run the narrowest pytest selection first"
LEARNED = {"ann": "Reset the database before the tests", "ben": "The user wants short commit messages"}
SAID = "the database is slow before a commit"  # a lesson counts if a quote of the user shares a word with it
_AUTHOR = ("-c", "user.name=x", "-c", "user.email=x@example.org")
REMOTES = {"ann": "git@git.example.org:acme/shop.git", "ben": "https://ben@git.example.org/acme/shop"}


@pytest.fixture
def server() -> Iterator[postgres.Server]:
    """A server on loopback, with the roles ann and ben, whom it asks for a password, and an empty database."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    try:
        made = postgres.Server("listen_addresses=127.0.0.1", f"port={port}", "fsync=off")
    except postgres.NoServerError as error:
        pytest.skip(f"no PostgreSQL: {error}")
    with closing(postgres.connected(made.url)) as owner:
        for name in LEARNED:
            owner.execute(f"CREATE ROLE {name} LOGIN PASSWORD 'of-{name}'".encode())
            postgres.ask_for_password(owner, name)
        owner.execute(b"CREATE DATABASE playbooks TEMPLATE template0 ENCODING 'UTF8'")
    yield made
    made.remove()


@pytest.fixture
def members(client: Client, tmp_path: Path) -> Iterator[dict[str, World]]:
    """Ann and Ben, who have installed the hooks; a session of each teaches one thing."""
    hub, first = tmp_path / "hub.git", tmp_path / "first"
    for command in (
        ("init", "-q", "--bare", "-b", "main", hub),
        ("clone", "-q", hub, first),
        (*_AUTHOR, "-C", first, "commit", "-q", "--allow-empty", "-m", "1"),
        ("-C", first, "push", "-q", "origin", "HEAD:main"),
    ):
        subprocess.run(["git", *map(str, command)], check=True, capture_output=True)
    with ExitStack() as apis:
        worlds = {}
        for name, text in LEARNED.items():
            home, folder = tmp_path / name, tmp_path / name / "shop"
            home.mkdir()
            subprocess.run(["git", "clone", "-q", hub, folder], check=True, capture_output=True)
            subprocess.run(["git", "-C", folder, "remote", "set-url", "origin", REMOTES[name]], check=True)
            fresh_home(home, folder)
            learns = curation({"type": "ADD", "text": text, "section": "PATTERNS & APPROACHES"})
            api = apis.enter_context(MessagesApi(*_rules(learns)))
            worlds[name] = World(client, home, folder, api, {"PLAYBOOK_ACTOR": f"{name}@laptop"})
            ask_playbook(worlds[name], "install")
        yield worlds


def _rules(learns: str) -> tuple[Rule, Rule]:
    return Rule(quoting(reflection()), when=is_reflector), Rule(quoting(learns), when=_is_curator)


def _is_curator(request: Request) -> bool:
    return "You keep the playbook of a project" in json.dumps(request.body)


def _join(members: dict[str, World], server: postgres.Server) -> None:
    """As docs/team.md says: Ann has a password in ~/.pgpass, Ben in the URL."""
    ann, ben = members.values()
    place = f"127.0.0.1:{server.url.query['port']}/playbooks"
    as_owner = server.url.set(database="playbooks").render_as_string(hide_password=False)
    ask_playbook(ann, "db", "upgrade", "--db", as_owner)
    for name in members:
        ask_playbook(ann, "db", "grant", name, "member", "--db", as_owner)
    ask_playbook(ann, "add", OWN)
    (ann.home / ".pgpass").write_text(f"127.0.0.1:{server.url.query['port']}:playbooks:ann:of-ann\n")
    (ann.home / ".pgpass").chmod(0o600)
    said = ask_playbook(ann, "team", "join", f"postgresql://ann@{place}", "--yes")
    assert said.endswith(f"has joined git.example.org/acme/shop in postgresql://{place}; 1 added (revision 1)\n")
    said = ask_playbook(ben, "team", "join", "-", given=f"postgresql://ben:of-ben@{place}\n")
    assert said.endswith(f"has joined git.example.org/acme/shop in postgresql://{place}\n")
    assert b"of-ben" not in b"".join(path.read_bytes() for path in ben.project.parent.rglob("*.db"))


def _session(member: World) -> Request:
    """Run a session in print mode, and return its first request."""
    before = len(member.api.messages())
    run = run_print(member, SAID)
    assert (run.code, run.err) == (0, "")
    return next(request for request in member.api.messages()[before:] if is_turn(request))


def _replica_has(member: World, text: str) -> bool:
    """Whether the member's replica has *text*."""
    (path,) = (data_folder(member) / "teams").glob("*.db")
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        return bool(connection.execute("SELECT 1 FROM key_points WHERE text = ?", (text,)).fetchall())


def _learned(member: World) -> bool:
    return [job.state for job in jobs(member)].count("done") == len(jobs(member)) > 0


def test_lesson_reaches_the_other_member(members: dict[str, World], server: postgres.Server) -> None:
    ann, ben = members.values()
    _join(members, server)
    for teacher, other in ((ann, ben), (ben, ann)):
        text = LEARNED[teacher.home.name]
        _session(teacher)
        wait_until(lambda member=teacher: _learned(member), "what a session taught")
        first = _session(other)
        assert times_shown(first, OWN) == 1
        wait_until(lambda member=other, text=text: _replica_has(member, text), "the worker of the session's start")

        assert times_shown(_session(other), text) == 1
    revisions = json.loads(ask_playbook(ann, "log", "--json"))
    assert {each["actor"] for each in revisions} == {"ann@laptop", "ben@laptop"}


def test_lessons_wait_while_the_server_is_down(members: dict[str, World], server: postgres.Server) -> None:
    _, ben = members.values()
    _join(members, server)
    server.stop()
    assert times_shown(_session(ben), OWN) == 1
    wait_until(lambda: ask_playbook(ben, "team", "status").count("1 session to learn from"), "the job to wait")
    assert OWN in ask_playbook(ben, "list")

    server.start()
    _session(ben)

    wait_until(lambda: _learned(ben), "what both sessions taught")
    texts = [point["text"] for point in json.loads(ask_playbook(members["ann"], "list", "--json"))]
    assert sorted(texts) == sorted([OWN, LEARNED["ben"]])
