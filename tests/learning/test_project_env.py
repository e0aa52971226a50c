"""A project's settings reach only its own jobs, and only with consent; in real processes."""

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.torture.learning import NURSERY
from playbook_db import project_env
from playbook_db.cli.main import main
from playbook_db.services.learning import queue
from playbook_db.services.playbook import edit
from playbook_db.services.project import Project
from playbook_db.store.engine import open_store
from tests.claude_code import running
from tests.claude_code.running import Client
from tests.learning.conftest import MessagesApi, answers, curation, reflection, write_session

pytestmark = [pytest.mark.slow, pytest.mark.enable_socket]  # starts processes, some by a socket file

GOOD = answers(reflection(), curation())
USERS_KEY, ITS_KEY = "sk-ant-the-users", "sk-ant-the-projects"


@pytest.fixture
def client(folder: Path, home: Path) -> Client:
    """Claude Code in the project's folder, with an empty database."""
    return running.a_client(folder, home, is_patient=True)


@pytest.fixture
def another(client: Client, tmp_path: Path) -> Path:
    """Another project, whose session waits to be learned from."""
    folder = tmp_path / "another"
    folder.mkdir()
    _wait(client, folder, "the other's words")
    return folder


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
    """Queue a session in *folder*, in which the user *said* this."""
    path = write_session(folder / "s-1.jsonl", said)
    with open_store(f"sqlite:///{client.database}") as store:
        project = Project.in_folder(store, str(folder))
        edit.add(project, "a point")
        queue.take_in(store, project.key, {"transcript_path": path, "session_id": "s-1"})


def _bring(folder: Path, **env: Any) -> dict[str, str]:
    """Let the project set *env*. Returns the variables of its sessions."""
    (folder / ".claude").mkdir(exist_ok=True)
    (folder / ".claude" / "settings.json").write_text(json.dumps({"env": env}))
    return {name: str(value) for name, value in env.items()}


def _end_session(client: Client, environ: dict[str, str]) -> None:
    """End an empty session in the client's project, and run a worker with the environment that its hook gives."""
    kept = client.home / "environment"
    client.worker.write_text(f"#!/bin/sh\n/usr/bin/env -0 > '{kept}.new' && /bin/mv '{kept}.new' '{kept}'\n")
    client.enqueue(**environ)
    assert running.appears(kept)
    theirs = dict(pair.split("=", 1) for pair in kept.read_text().split("\0") if pair)
    kept.unlink()
    process = NURSERY.Process(target=_work_with, args=(theirs,))
    process.start()
    process.join(running.PATIENCE_S)
    assert process.exitcode == 0


def _work_with(environ: Mapping[str, str]) -> None:
    os.environ.clear()
    os.environ.update(environ)
    os.chdir("/")
    from playbook_db.claude_code import worker  # late: it may read its environment

    worker.main()


def _keys(api: MessagesApi) -> set[str]:
    return {request.headers.get("authorization", "").removeprefix("Bearer ") for request in api.messages()}


def _jobs(client: Client) -> dict[str, tuple[str, str]]:
    """State and error of each project's unfinished job."""
    rows = client.rows("SELECT p.key, j.state, j.error FROM jobs j JOIN playbooks p ON p.id = j.playbook_id")
    return {os.path.basename(key): (state, error or "") for key, state, error in rows if state != "done"}


@pytest.mark.parametrize(
    ("content", "env"),
    [
        ('{"env": {"A": "\\ud800", "B=C": "x", "D": "d"}}', {"D": "d"}),
        ('{"env": {"A": "a"}', {}),
        ('{"env": ' + "[" * 100_000, None),
    ],
    ids=["surrogate", "broken", "depth"],
)
def test_unusable_variables_are_left_out(tmp_path: Path, content: str, env: dict[str, str] | None) -> None:
    """None: the file can't be read here, but perhaps by Claude Code."""
    (tmp_path / "settings.json").write_text(content)

    assert project_env.env_of(str(tmp_path / "settings.json")) == env


@pytest.mark.nightly(after=2)
@pytest.mark.parametrize(
    "disguise",
    [
        lambda text: text.replace("ANTHROPIC", "\\u0041NTHROPIC").encode(),
        lambda text: b"\xff\xfe" + text.encode("utf-16-le"),
        lambda text: text.encode()[:-1] + b', "x": "\xff"}',
        lambda text: (text[:-1] + f', "x": {"[" * 3000}{"]" * 3000}}}').encode(),
        lambda text: re.sub('"http[^"]*"', r'"http://x/\\ud800"', text).encode(),
    ],
    ids=["name", "utf-16", "bytes", "depth", "surrogate"],
)
def test_odd_settings_reach_no_other_project(
    client: Client, another: Path, gateway: MessagesApi, disguise: Callable[[str], bytes]
) -> None:
    """Claude Code (2.1.329) reads some of these, and may read the others."""
    session = _bring(client.folder, ANTHROPIC_BASE_URL=gateway.url)
    file = client.folder / ".claude" / "settings.json"
    file.write_bytes(disguise(file.read_text()))

    _end_session(client, {**session, "ANTHROPIC_API_KEY": USERS_KEY})

    assert gateway.messages() == []
    assert _jobs(client)["another"][0] == "queued"


def test_trusted_project_s_job_has_its_settings(
    client: Client, another: Path, gateway: MessagesApi, users: MessagesApi
) -> None:
    """Nothing of the user's goes to the project's address."""
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


def test_keys_and_addresses_need_consent(
    client: Client, another: Path, gateway: MessagesApi, users: MessagesApi
) -> None:
    """Nothing is sent before it is given. Another value needs it again."""
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


def test_own_session_needs_consent_too(client: Client, gateway: MessagesApi) -> None:
    """Claude Code has already put the address into the hook's environment."""
    _wait(client, client.folder, "its own words")
    session = {**_bring(client.folder, ANTHROPIC_BASE_URL=gateway.url), "ANTHROPIC_API_KEY": USERS_KEY}

    _end_session(client, session)

    assert gateway.messages() == []
    assert "playbook project trust" in _jobs(client)["project"][1]
    assert main(["project", "trust", "--yes"]) == 0
    _end_session(client, session)
    assert _keys(gateway) == {USERS_KEY}


def test_consent_without_a_terminal_needs_yes(
    client: Client, gateway: MessagesApi, capsys: pytest.CaptureFixture[str]
) -> None:
    """A script, or a tool of a session, may refuse without an option."""
    _bring(client.folder, ANTHROPIC_BASE_URL=gateway.url)

    assert main(["project", "trust"]) == 2

    printed = capsys.readouterr()
    assert f"ANTHROPIC_BASE_URL={gateway.url}" in printed.err
    assert "--yes" in printed.err
    assert printed.out == ""
    assert not (client.data / "consents").exists()
    assert main(["project", "trust", "--off"]) == 0


def test_commands_in_a_session_need_consent_too(
    client: Client, another: Path, gateway: MessagesApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Claude's tools run them with the project's variables."""
    session = {**_bring(client.folder, ANTHROPIC_BASE_URL=gateway.url), "ANTHROPIC_API_KEY": USERS_KEY}
    for name, value in {**session, "CLAUDECODE": "1"}.items():
        monkeypatch.setenv(name, value)

    assert main(["learn", str(another / "s-1.jsonl")]) == 1
    assert main(["work"]) == 0

    assert gateway.messages() == []


def test_project_s_secrets_are_masked(client: Client, users: MessagesApi) -> None:
    """Though the worker's own environment doesn't have them."""
    session = _bring(client.folder, DEPLOY_TOKEN="correcthorsebatterystaple")  # noqa: S106 - made up
    _wait(client, client.folder, "log in with correcthorsebatterystaple")

    _end_session(client, {**session, "ANTHROPIC_BASE_URL": users.url, "ANTHROPIC_API_KEY": USERS_KEY})

    assert "log in with [masked" in users.messages()[0].last_said
    assert not any("correcthorse" in str(request.body) for request in users.messages())


@pytest.mark.parametrize(("tokens", "of_the_user", "waits"), [(1, "", True), (200, "", False), (0, "1", True)])
def test_project_s_budget_limits_its_own_jobs(
    client: Client, another: Path, users: MessagesApi, home: Path, tokens: int, of_the_user: str, waits: bool
) -> None:
    """The tokens of other projects, here 240, don't count for it. It can't raise the user's."""
    if of_the_user:
        (another / "s-1.jsonl").unlink()
        (home / ".claude" / "settings.json").write_text(json.dumps({"env": {"PLAYBOOK_DAILY_TOKENS": of_the_user}}))
    _wait(client, client.folder, "its own words")
    session = _bring(client.folder, PLAYBOOK_DAILY_TOKENS=tokens)

    _end_session(client, {**session, "ANTHROPIC_BASE_URL": users.url, "ANTHROPIC_API_KEY": USERS_KEY})

    assert ("allows 1 " in _jobs(client).get("project", ("", ""))[1]) == waits
    assert list(_jobs(client)) == ["project"] * waits


def test_project_s_database_needs_consent(client: Client, tmp_path: Path, home: Path) -> None:
    """Before it, sessions and jobs use the user's own."""
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


def test_repository_s_local_settings_are_the_project_s(client: Client, another: Path, gateway: MessagesApi) -> None:
    """Claude Code (2.1.329) reads those of the main worktree, too."""
    within = replace(client, folder=client.folder / "mid" / "within")
    within.folder.mkdir(parents=True)
    (client.folder / ".git").mkdir()
    session = _bring(client.folder, ANTHROPIC_BASE_URL=gateway.url)
    settings = client.folder / ".claude" / "settings.json"
    settings.rename(settings.with_name("settings.local.json"))
    _bring(within.folder, ANTHROPIC_BASE_URL="http://127.0.0.1:9")

    _end_session(within, {**session, "ANTHROPIC_API_KEY": USERS_KEY, "CLAUDE_PROJECT_DIR": str(within.folder)})

    assert gateway.messages() == []
    assert _jobs(client)["another"][0] == "queued"


def test_user_is_asked_at_each_start_until_they_decide(
    client: Client, gateway: MessagesApi, capsys: pytest.CaptureFixture[str]
) -> None:
    """`status` and `doctor` say it, too. A model, a budget or variables of others need no consent."""
    client.add("a point")
    env = {"ANTHROPIC_MODEL": "m", "PLAYBOOK_DAILY_TOKENS": 5, "MY_BASE_URL": "x", "ANTHROPIC_BASE_URL": ""}
    assert "systemMessage" not in json.loads(client.inject(**_bring(client.folder, **env)).out)
    session = _bring(client.folder, ANTHROPIC_BASE_URL=gateway.url)

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
    assert main(["project", "ignore"]) == 0
    assert client.inject(**session).out == b"{}\n"
