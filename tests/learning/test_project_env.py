"""What one project brings to the environment reaches that project's jobs alone, in real processes."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from playbook_db.cli.main import main
from playbook_db.services.learning import queue
from playbook_db.services.playbook import edit
from playbook_db.services.project import Project
from playbook_db.store.engine import open_store
from tests.claude_code import running
from tests.claude_code.running import Client
from tests.learning.conftest import MessagesApi, answers, curation, reflection
from tests.learning.workers import work_with
from tests.transcripts import TranscriptBuilder

pytestmark = [pytest.mark.slow, pytest.mark.enable_socket]  # starts processes, some by a socket of no host

GOOD = answers(reflection(), curation())
USERS_KEY, ITS_KEY = "sk-ant-the-users", "sk-ant-the-projects"


@pytest.fixture
def client(folder: Path, home: Path) -> Client:
    """The client in the project's folder, with an empty database."""
    return running.a_client(folder, home, is_patient=True)


@pytest.fixture
def another(client: Client, tmp_path: Path) -> Path:
    """Another project, with a transcript that waits."""
    made = tmp_path / "another"
    made.mkdir()
    _wait(client, made, "the other's words")
    return made


@pytest.fixture
def gateway() -> Iterator[MessagesApi]:
    """The address that a project's settings name."""
    with MessagesApi(*GOOD) as api:
        yield api


@pytest.fixture
def users() -> Iterator[MessagesApi]:
    """The address that the user's settings name."""
    with MessagesApi(*GOOD) as api:
        yield api


def _wait(client: Client, folder: Path, said: str) -> None:
    """Let a session in *folder*, in which this was *said*, wait to be learned from."""
    session = TranscriptBuilder("s-1")
    session.user(said)
    session.assistant("Done.")
    path = session.write(folder / "s-1.jsonl")
    with open_store(f"sqlite:///{client.database}") as store:
        project = Project.in_folder(store, str(folder))
        edit.add(project, "a point")
        queue.take_in(store, project.key, {"transcript_path": path, "session_id": "s-1"})


def _bring(folder: Path, **env: Any) -> dict[str, str]:
    """Let the project bring *env*; what its sessions have then."""
    (folder / ".claude").mkdir(exist_ok=True)
    (folder / ".claude" / "settings.json").write_text(json.dumps({"env": env}))
    return {name: str(value) for name, value in env.items()}


def _end_session(client: Client, environ: dict[str, str], *, is_forked: bool = True) -> None:
    """A session ends in the client's project, in which nothing was said; the worker that it starts has come to its end.

    The hook's own worker is a program that only keeps its environment; the real one is run in that, by its command
    or as a fork that has no other.
    """
    kept = client.home / "environment"
    client.worker.write_text(f"#!/bin/sh\n/usr/bin/env -0 > '{kept}.new' && /bin/mv '{kept}.new' '{kept}'\n")
    client.enqueue(**environ)
    assert running.appears(kept)
    theirs = dict(pair.split("=", 1) for pair in kept.read_text().split("\0") if pair)
    kept.unlink()
    if is_forked:
        assert work_with(theirs, running.PATIENCE_S) == 0
        return
    command = [sys.executable, "-P", "-m", "playbook_db.claude_code.worker"]
    done = subprocess.run(command, env=theirs, cwd="/", capture_output=True, timeout=running.PATIENCE_S)
    assert done.returncode == 0


def _keys(api: MessagesApi) -> set[str]:
    return {request.headers.get("authorization", "").removeprefix("Bearer ") for request in api.messages()}


def _jobs(client: Client) -> dict[str, tuple[str, str]]:
    """State and error of the job of each project that waits for something."""
    rows = client.rows("SELECT p.key, j.state, j.error FROM jobs j JOIN playbooks p ON p.id = j.playbook_id")
    return {os.path.basename(key): (state, error or "") for key, state, error in rows if state != "done"}


def _user_has(home: Path, **env: str) -> None:
    (home / ".claude" / "settings.json").write_text(json.dumps({"env": env}))


@pytest.mark.nightly(after=2)
@pytest.mark.parametrize(
    "disguise",
    [
        lambda text: text.replace('"env"', '"\\u0065nv"').encode(),
        lambda text: text.replace("ANTHROPIC", "\\u0041NTHROPIC").encode(),
        lambda text: b"\xff\xfe" + text.encode("utf-16-le"),
        lambda text: b"\xef\xbb\xbf" + text.encode(),
        lambda text: text.encode()[:-1] + b', "x": "\xff"}',
        lambda text: (text[:-1] + f', "x": {"9" * 6000}}}').encode(),
        lambda text: (text[:-1] + f', "x": {"[" * 3000}{"]" * 3000}}}').encode(),
        lambda text: text.encode() + b" " * (1 << 20),
        lambda text: re.sub('"http[^"]*"', r'"http://x/\\ud800"', text).encode(),
    ],
    ids=["key", "name", "utf-16", "bom", "bytes", "digits", "depth", "size", "surrogate"],
)
def test_what_a_project_brings_is_its_own_however_its_settings_are_written(
    client: Client, another: Path, gateway: MessagesApi, disguise: Callable[[str], bytes]
) -> None:
    """In whatever the client (2.1.329) reads, and what it may read."""
    session = _bring(client.folder, ANTHROPIC_BASE_URL=gateway.url)
    file = client.folder / ".claude" / "settings.json"
    file.write_bytes(disguise(file.read_text()))

    _end_session(client, {**session, "ANTHROPIC_API_KEY": USERS_KEY})

    assert gateway.messages() == []
    assert _jobs(client)["another"][0] == "queued"


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["ANTHROPIC_BASE_URL", "ANTHROPIC_MODEL"])
def test_another_project_waits_where_the_session_s_project_hides_values(
    client: Client, another: Path, gateway: MessagesApi, users: MessagesApi, name: str
) -> None:
    """The shell's value can't be known; nothing is sent anywhere, no try counts, and a session elsewhere goes on."""
    session = _bring(client.folder, **{name: gateway.url})
    users_own = {"ANTHROPIC_BASE_URL": users.url, "ANTHROPIC_API_KEY": USERS_KEY}

    _end_session(client, {**users_own, **session}, is_forked=False)

    assert gateway.messages() == users.messages() == []
    assert _jobs(client)["another"][0] == "queued"
    assert "settings hide your own keys or addresses" in _jobs(client)["another"][1]
    assert client.rows("SELECT attempts FROM jobs WHERE state = 'queued'") == [(0,)]
    (waits_until,) = client.rows("SELECT not_before FROM jobs WHERE state = 'queued'")
    assert waits_until[0] < queue.later(61.0)  # another session may start a worker soon
    (client.folder / ".claude" / "settings.json").unlink()
    _end_session(client, users_own)
    assert _keys(users) == {USERS_KEY}


def test_a_project_s_own_job_has_what_it_brings(
    client: Client, another: Path, gateway: MessagesApi, users: MessagesApi
) -> None:
    """Once it is trusted: its address with its key and model, and nothing of the user's goes there."""
    _bring(another, ANTHROPIC_BASE_URL=gateway.url, ANTHROPIC_API_KEY=ITS_KEY, ANTHROPIC_MODEL="theirs")
    assert main(["--project", str(another), "project", "trust", "--yes"]) == 0
    mine = {
        "ANTHROPIC_BASE_URL": users.url, "AGENTIC_CONTEXT_API_KEY": USERS_KEY, "AGENTIC_CONTEXT_BASE_URL": users.url,
        "ANTHROPIC_CUSTOM_HEADERS": "x-secret: mine",
    }  # fmt: skip

    _end_session(client, mine)

    assert users.messages() == []
    assert _keys(gateway) == {ITS_KEY}
    assert {request.body["model"] for request in gateway.messages()} == {"theirs"}
    assert not any("x-secret" in request.headers for request in gateway.messages())


def test_a_project_that_sets_keys_or_addresses_waits_until_it_is_trusted(
    client: Client, another: Path, gateway: MessagesApi, users: MessagesApi
) -> None:
    """Nothing goes anywhere until then, nor after a no; another value is asked about again."""
    _bring(another, ANTHROPIC_BASE_URL=gateway.url)
    mine = {"ANTHROPIC_BASE_URL": users.url, "ANTHROPIC_API_KEY": USERS_KEY}
    trust = ["--project", str(another), "project", "trust"]
    _end_session(client, mine)
    assert main([*trust, "--off"]) == 0
    _end_session(client, mine)
    assert gateway.messages() == users.messages() == []
    assert "playbook project trust" in _jobs(client)["another"][1]

    assert main([*trust, "--yes"]) == 0
    _bring(another, ANTHROPIC_BASE_URL=f"{gateway.url}/elsewhere")
    _end_session(client, mine)
    assert gateway.messages() == users.messages() == []
    _bring(another, ANTHROPIC_BASE_URL=gateway.url)
    assert main([*trust, "--yes"]) == 0
    _end_session(client, mine)

    assert _keys(gateway) == {USERS_KEY}
    assert users.messages() == []
    assert _jobs(client) == {}


def test_a_session_of_its_own_needs_the_consent_too(client: Client, gateway: MessagesApi) -> None:
    """Though the client has put the address into the hook's environment already."""
    _wait(client, client.folder, "its own words")
    session = {**_bring(client.folder, ANTHROPIC_BASE_URL=gateway.url), "ANTHROPIC_API_KEY": USERS_KEY}

    _end_session(client, session)

    assert gateway.messages() == []
    assert "playbook project trust" in _jobs(client)["project"][1]
    assert main(["project", "trust", "--yes"]) == 0
    _end_session(client, session)
    assert _keys(gateway) == {USERS_KEY}


def test_without_a_terminal_nothing_is_agreed_to_unasked(
    client: Client, gateway: MessagesApi, capsys: pytest.CaptureFixture[str]
) -> None:
    """What a script, or a session's own tool, runs agrees with --yes only; to say no needs nobody to be asked."""
    _bring(client.folder, ANTHROPIC_BASE_URL=gateway.url)

    assert main(["project", "trust"]) == 2

    told = capsys.readouterr()
    assert f"ANTHROPIC_BASE_URL={gateway.url}" in told.err
    assert "--yes" in told.err
    assert told.out == ""
    assert not (client.data / "consents").exists()
    assert main(["project", "trust", "--off"]) == 0


def test_a_command_in_a_session_needs_the_consent_too(
    client: Client, another: Path, gateway: MessagesApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`learn` and `work` are run by Claude's own tools with what the project brings."""
    session = {**_bring(client.folder, ANTHROPIC_BASE_URL=gateway.url), "ANTHROPIC_API_KEY": USERS_KEY}
    for name, value in {**session, "CLAUDECODE": "1"}.items():
        monkeypatch.setenv(name, value)

    assert main(["learn", str(another / "s-1.jsonl")]) == 1
    assert main(["work"]) == 0

    assert gateway.messages() == []


def test_a_project_s_secrets_are_masked_though_the_worker_does_not_have_them(
    client: Client, users: MessagesApi
) -> None:
    """What its settings bring may stand in its transcripts, whichever session started the worker."""
    session = _bring(client.folder, DEPLOY_TOKEN="correcthorsebatterystaple")  # noqa: S106 - made up
    _wait(client, client.folder, "log in with correcthorsebatterystaple")

    _end_session(client, {**session, "ANTHROPIC_BASE_URL": users.url, "ANTHROPIC_API_KEY": USERS_KEY})

    assert "log in with [masked" in users.messages()[0].last_said
    assert not any("correcthorse" in str(request.body) for request in users.messages())


@pytest.mark.parametrize(("tokens", "waits"), [(1, True), (200, False), (0, False)])
def test_a_project_s_budget_is_that_of_its_own_jobs(
    client: Client, another: Path, users: MessagesApi, tokens: int, waits: bool
) -> None:
    """It limits them, not others, whose tokens, 240 here, don't count for it."""
    _wait(client, client.folder, "its own words")
    session = _bring(client.folder, PLAYBOOK_DAILY_TOKENS=tokens)

    _end_session(client, {**session, "ANTHROPIC_BASE_URL": users.url, "ANTHROPIC_API_KEY": USERS_KEY})

    assert ("allows 1 " in _jobs(client).get("project", ("", ""))[1]) == waits
    assert list(_jobs(client)) == ["project"] * waits


def test_a_project_s_budget_lifts_none_of_the_user_s(client: Client, users: MessagesApi, home: Path) -> None:
    """Both hold."""
    _user_has(home, PLAYBOOK_DAILY_TOKENS="1")
    _wait(client, client.folder, "its own words")
    session = _bring(client.folder, PLAYBOOK_DAILY_TOKENS=0)

    _end_session(client, {**session, "ANTHROPIC_BASE_URL": users.url, "ANTHROPIC_API_KEY": USERS_KEY})

    assert len(users.messages()) == 1
    assert "allows 1 " in _jobs(client)["project"][1]


def test_a_project_s_database_is_used_only_with_consent(client: Client, tmp_path: Path, home: Path) -> None:
    """Until then the user's own is; so for what is shown, for what is queued, and for the worker."""
    client.add("a point of the user's own")
    theirs = tmp_path / "theirs.db"
    with open_store(f"sqlite:///{theirs}") as store:
        edit.add(Project.in_folder(store, str(client.folder)), "somebody else's text")
    session = _bring(client.folder, PLAYBOOK_DB_URL=str(theirs), HTTPS_PROXY="http://u:correcthorse@proxy.example")

    assert "a point of the user's own" in client.inject(**session).context
    client.enqueue(**session)
    assert len(client.rows("SELECT 1 FROM jobs")) == 1

    assert main(["project", "trust", "--yes"]) == 0
    assert "somebody else's text" in client.inject(**session).context
    (kept,) = (client.data / "consents").iterdir()
    assert "correcthorse" not in kept.read_text()
    assert kept.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("place", [".", "mid"])
def test_what_the_repository_brings_to_a_folder_in_it_is_the_project_s(
    client: Client, another: Path, gateway: MessagesApi, place: str
) -> None:
    """The client (2.1.329) reads the local settings of the repository's main worktree too."""
    within = replace(client, folder=client.folder / place / "within")
    within.folder.mkdir(parents=True)
    (client.folder / ".git").mkdir()
    session = _bring(client.folder, ANTHROPIC_BASE_URL=gateway.url)
    settings = client.folder / ".claude" / "settings.json"
    settings.rename(settings.with_name("settings.local.json"))
    _bring(within.folder, ANTHROPIC_BASE_URL="http://127.0.0.1:9")

    _end_session(within, {**session, "ANTHROPIC_API_KEY": USERS_KEY, "CLAUDE_PROJECT_DIR": str(within.folder)})

    assert gateway.messages() == []
    assert _jobs(client)["another"][0] == "queued"


def test_a_database_that_is_no_text_in_a_project_s_settings_is_the_project_s(client: Client) -> None:
    """The client makes a text of it, which would be a file in the project's folder."""
    (client.folder / ".claude" / "settings.json").write_text('{"env": {"PLAYBOOK_DB_URL": null}}')

    client.enqueue(PLAYBOOK_DB_URL="null")

    assert not (client.folder / "null").exists()
    assert client.rows("SELECT count(*) FROM jobs") == [(1,)]


@pytest.mark.parametrize("key", [{}, {"ANTHROPIC_AUTH_TOKEN": ITS_KEY}])
def test_the_user_is_asked_at_each_session_s_start_until_they_decide(
    client: Client, gateway: MessagesApi, capsys: pytest.CaptureFixture[str], key: dict[str, str]
) -> None:
    """Beside the playbook, and not the model; `status` and `doctor` say it, too."""
    client.add("a point")
    session = _bring(client.folder, ANTHROPIC_BASE_URL=gateway.url, **key)

    first, second = (json.loads(client.inject(**session).out) for _ in range(2))

    assert first["systemMessage"] == second["systemMessage"]
    assert "nothing is learned here: this project's settings set ANTHROPIC_BASE_URL" in first["systemMessage"]
    assert "playbook project trust" in first["systemMessage"]
    assert "a point" in first["hookSpecificOutput"]["additionalContext"]
    main(["status"])
    main(["doctor"])
    assert capsys.readouterr().out.count("nothing is learned here: this project's settings set ANTHROPIC_BASE_URL") == 2
    assert main(["project", "trust", "--off"]) == 0
    assert "systemMessage" not in json.loads(client.inject(**session).out)
    session = _bring(client.folder, ANTHROPIC_BASE_URL=f"{gateway.url}/elsewhere")
    assert "systemMessage" in json.loads(client.inject(**session).out)


def test_what_needs_no_consent_is_not_asked_about(client: Client) -> None:
    """A model, a budget, variables of others."""
    env = {"ANTHROPIC_MODEL": "m", "PLAYBOOK_DAILY_TOKENS": 5, "MY_BASE_URL": "x", "ANTHROPIC_BASE_URL": ""}
    assert client.inject(**_bring(client.folder, **env)).out == b"{}\n"


def test_a_project_that_is_kept_out_is_not_asked_about(client: Client, gateway: MessagesApi) -> None:
    """Its sessions are told nothing at all."""
    assert main(["project", "ignore"]) == 0

    assert client.inject(**_bring(client.folder, ANTHROPIC_BASE_URL=gateway.url)).out == b"{}\n"
