"""Under another agent, which may read Claude Code's settings, hooks do nothing."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from playbook_db.claude_code import registration
from playbook_db.claude_code.hooks import hook_runner
from playbook_db.claude_code.hooks.hook_runner import Hook, session_folder_name
from tests.claude_code import other_hosts, running
from tests.claude_code.running import Client

SESSION = running.SESSION


class _Heard(Hook):
    """A hook with *payload* as its input, which keeps its output."""

    def __init__(self, payload: bytes) -> None:
        super().__init__("inject", b"{}")
        self._payload, self.said = payload, list[bytes]()

    def payload(self) -> bytes:
        return self._payload

    def say(self, output: bytes, *, wait_s: float = -1) -> bool:
        self.said.append(output)
        return True


def _read(**fields: Any) -> tuple[bool, list[bytes]]:
    """Whether an event with *fields* is for our hooks, and the output."""
    hook = _Heard(json.dumps(fields).encode())
    return hook_runner.read(hook, ("SessionStart",), "nothing was done") is not None, hook.said


@pytest.mark.parametrize("folder", ["/home/ann/chats", "/home/ann/rollout-1.jsonl", "/home/ann/Ché 漢", "/"])
def test_claude_code_is_known_by_its_transcript(monkeypatch: pytest.MonkeyPatch, folder: str) -> None:
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", folder)
    path = f"/home/chats/rollout-1/projects/{session_folder_name(folder)}/{SESSION}.jsonl"
    assert _read(hook_event_name="SessionStart", transcript_path=path) == (True, [])


@pytest.mark.parametrize("path", [None, "", 7, [], "events.jsonl", "/x/rollout-1.jsonl", "chats/s.jsonl", "/x/"])
def test_other_transcripts_are_another_hosts(path: object) -> None:
    assert _read(hook_event_name="SessionStart", cwd="/home", transcript_path=path) == (False, [b""])


client = running.client_fixture("the gearbox needs oil")


def _files(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.slow
def test_other_hosts_leave_no_trace(client: Client) -> None:
    before = _files(client.home)
    os.utime(client.data / "worker.lock", (0, 0))  # so that a session of Claude Code would start a worker

    sent = other_hosts.payloads(str(client.folder))
    for title, hook, payload in sent:
        ended = client.run(hook, payload, CLAUDE_PROJECT_DIR=str(client.folder))
        assert (ended.code, ended.out, ended.err) == (0, b"", b""), title

    assert _files(client.home) == before
    registered = {name for name, (hook, _) in registration.EVENTS.items() if hook}
    assert registered == other_hosts.HOOKS.keys() <= {payload.get("hook_event_name") for _, _, payload in sent}


@pytest.mark.slow
@pytest.mark.parametrize("host", other_hosts.VARIABLES)
def test_claude_code_works_inside_another_agent(client: Client, host: str) -> None:
    variables = {**other_hosts.VARIABLES[host], "CLAUDE_PROJECT_DIR": str(client.folder)}
    assert "the gearbox needs oil" in client.inject(**variables).context
    assert client.remind(client.subagent_start(session_id="s-2"), **variables).has_context
    client.enqueue(**variables)
    assert client.rows("SELECT count(*) FROM showings") == [(2,)]
    assert client.rows("SELECT transcript_path FROM jobs") == [(str(client.transcript),)]
