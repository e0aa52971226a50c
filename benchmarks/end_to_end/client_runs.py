"""Sessions of the real Claude Code client in three arms: without the playbook, with a placebo of the same length, with
the playbook. The client runs in a home of its own; its model is on loopback here.
"""

import json
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.end_to_end.sde_bench import Task
from benchmarks.end_to_end.write_path import World
from tests.client import harness, ours
from tests.client.install import ensure_client
from tests.messages_api import Answer, MessagesApi, Rule, ToolCall

NONE, PLACEBO, PLAYBOOK = "none", "placebo", "playbook"
ARMS = (NONE, PLACEBO, PLAYBOOK)
_WITH_PROMPT = "From the playbook, what fits this prompt"


@dataclass(frozen=True, slots=True)
class SessionText:
    """What a session's model saw: until it answers the prompt, and after it has read the file of the bug."""

    prompt: str
    with_prompt: str
    with_file: str

    @property
    def at_start(self) -> str:
        """What it saw before the prompt."""
        return self.with_prompt.partition(_WITH_PROMPT)[0]

    @property
    def added(self) -> str:
        """What the hooks added: the lines of points."""
        lines = [*self.with_prompt.splitlines(), *self.with_file.splitlines()]
        return "\n".join(line for line in lines if " :: " in line and line.startswith("["))


def hooks_of(arm: str) -> dict[str, list[dict[str, Any]]]:
    """The hooks that a session of *arm* runs."""
    if arm == NONE:
        return {}
    hooks = ours.our_hooks()
    if arm == PLACEBO:
        script = str(Path(__file__).with_name("placebo.py"))
        for entries in hooks.values():
            for hook in (hook for entry in entries for hook in entry["hooks"]):
                hook["command"] = shlex.join([sys.executable, script, hook["command"]])
    return hooks


def ask_all(world: World, tasks: Sequence[Task], arm: str) -> Iterator[SessionText]:
    """A session for each of *tasks*: its prompt is the bug report, and its model reads the file and is done."""
    for task in tasks:
        read = ToolCall("Read", {"file_path": f"{world.project.folder}/{task.module}"})
        with MessagesApi(Rule(Answer(tools=(read,)), when=harness.is_turn, times=1)) as api:
            client = harness.World(ensure_client(), world.home, Path(str(world.project.folder)), api, world.variables)
            prepare(client, arm)
            run = harness.run_print(client, task.bug_report)
            if run.code:
                raise RuntimeError(f"the client ended with {run.code}: {run.err}")
            said = [request.said for request in harness.turns(api)]
        yield SessionText(task.bug_report, said[0], "".join(said[1:]).replace(said[0], ""))


def prepare(client: harness.World, arm: str, settings: Mapping[str, Any] | None = None) -> None:
    """Give *client* a home that it knows, with the hooks of *arm*."""
    harness.fresh_home(client.home, client.project, settings)
    chosen = json.loads(client.settings_file.read_text())
    client.settings_file.write_text(json.dumps({**chosen, "hooks": hooks_of(arm)}))
