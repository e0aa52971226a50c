"""Starts the client in a world of its own: a throw-away home, a fake key, a cleared environment, the API on loopback.

Nothing of this machine's environment reaches it, and it can't get out: the API is its proxy too, and refuses.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.client.install import Client
from tests.messages_api import MessagesApi, Request

FAKE_KEY = "sk-ant-api03-not-a-real-key-0123456789"
PATIENCE_S = 300.0  # for anything the client does; far more than it ever takes


@dataclass(frozen=True, slots=True)
class World:
    """What a client is started in: itself, its home, a project's folder, the API, and variables of its own."""

    client: Client
    home: Path
    project: Path
    api: MessagesApi
    variables: Mapping[str, str] = field(default_factory=dict)

    @property
    def environment(self) -> dict[str, str]:
        """Everything that the client sees of an environment."""
        return {
            "PATH": f"{Path(sys.executable).resolve().parent}:/usr/local/bin:/usr/bin:/bin",
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
            "ANTHROPIC_API_KEY": FAKE_KEY,
            "ANTHROPIC_BASE_URL": self.api.url,
            "HTTP_PROXY": self.api.url,
            "HTTPS_PROXY": self.api.url,
            "NO_PROXY": "127.0.0.1,localhost",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "DISABLE_TELEMETRY": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "PLAYBOOK_NO_SETUP": "1",
            **self.variables,
        }

    @property
    def settings_file(self) -> Path:
        """The user's settings of the client."""
        return self.home / ".claude" / "settings.json"

    def transcripts(self) -> list[Path]:
        """The transcripts of all sessions, oldest first; not those of subagents."""
        found = (self.home / ".claude" / "projects").glob("*/*.jsonl")
        return sorted(found, key=lambda path: path.stat().st_mtime_ns)


@dataclass(frozen=True, slots=True)
class Run:
    """A client that ended: its exit code, what it printed, and when it was gone (a time.time())."""

    code: int
    out: str
    err: str
    ended: float


def fresh_home(home: Path, project: Path, settings: Mapping[str, Any] | None = None) -> None:
    """Make *home* one of somebody who has used the client before and trusts *project*: no dialogs come up."""
    (home / ".claude").mkdir(parents=True, exist_ok=True)
    known = {
        "hasCompletedOnboarding": True,
        "lastOnboardingVersion": "9.9.9",
        "theme": "dark",
        "customApiKeyResponses": {"approved": [FAKE_KEY[-20:]], "rejected": []},
        "projects": {os.path.realpath(project): {"hasTrustDialogAccepted": True, "projectOnboardingSeenCount": 9}},
    }
    (home / ".claude.json").write_text(json.dumps(known))
    chosen = {"permissions": {"defaultMode": "default", "allow": ["Bash", "Agent"]}, **(settings or {})}
    (home / ".claude" / "settings.json").write_text(json.dumps(chosen))


@contextmanager
def start_print(world: World, *arguments: str) -> Iterator["subprocess.Popen[str]"]:
    """A client in print mode, running; it is killed at the end if it still does."""
    process = subprocess.Popen(
        [world.client.binary, "-p", *arguments],
        cwd=world.project,
        env=world.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def run_print(world: World, *arguments: str) -> Run:
    """`claude -p ARGUMENT ...`, to its end."""
    with start_print(world, *arguments) as process:
        return finish(process)


def finish(process: "subprocess.Popen[str]") -> Run:
    """Wait for a client in print mode to end."""
    out, err = process.communicate(timeout=PATIENCE_S)
    return Run(process.returncode, out, err, time.time())


def run_command(world: World, *arguments: str) -> Run:
    """`claude ARGUMENT ...` for the commands that start no session."""
    done = subprocess.run(
        [world.client.binary, *arguments],
        cwd=world.project,
        env=world.environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    return Run(done.returncode, done.stdout, done.stderr, time.time())


def wait_until(claim: Callable[[], Any], what: str, timeout_s: float = PATIENCE_S) -> None:
    """Wait until *claim* is true; AssertionError with *what* was waited for where it doesn't come true in time."""
    last = time.monotonic() + timeout_s
    while not claim():
        assert time.monotonic() < last, f"waited {timeout_s} s in vain for {what}"
        time.sleep(0.03)


def is_compaction(request: Request) -> bool:
    """Whether the client asks for a summary of a conversation."""
    return "create a detailed summary" in request.last_said


def is_of_subagent(request: Request) -> bool:
    """Whether a subagent asks."""
    return "cc_is_subagent=true" in request.system or "You are an agent for Claude Code" in request.system


def is_turn(request: Request) -> bool:
    """Whether a session's own conversation goes on with *request*."""
    return bool(request.body.get("tools")) and not is_compaction(request) and not is_of_subagent(request)


def turns(api: MessagesApi) -> list[Request]:
    """What sessions' own conversations sent to *api*; a worker may ask it meanwhile."""
    return [request for request in api.messages() if is_turn(request)]


def tool_results(request: Request) -> list[str]:
    """The results of all tool calls in *request*, in their order."""
    messages = [message["content"] for message in request.body["messages"] if isinstance(message["content"], list)]
    contents = [block["content"] for blocks in messages for block in blocks if block.get("type") == "tool_result"]
    return [each if isinstance(each, str) else "".join(part.get("text", "") for part in each) for each in contents]
