"""The cases in evals/, as `claude plugin eval` runs them, with a scripted model."""

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.client.harness import Run, World, fresh_home, run_command
from tests.client.install import Client
from tests.messages_api import Answer, MessagesApi, Request, ToolCall

RULE, OLD_RULE = "listens on port 7342", "listens on port 7101"
SQUARES = "1\n4\n9\n16\n25\n"


def does_the_task(request: Request) -> Answer:
    """Write the file that a case asks for. The port is guessed unless the rule is there."""
    if '"tool_result"' in json.dumps(request.body["messages"]):
        return Answer("Done.")
    port = ("port.txt", "7342" if RULE in request.said else "8080")
    path, content = port if "port.txt" in request.said else ("squares.txt", SQUARES)
    return Answer(tools=(ToolCall("Write", {"file_path": path, "content": content}),))


@pytest.fixture
def api() -> Iterator[MessagesApi]:
    """In place of the one for the other tests: its model does the tasks of the cases."""
    with MessagesApi(does_the_task) as made:
        yield made


@pytest.fixture
def world(client: Client, home: Path, tmp_path: Path, api: MessagesApi, clone: Path) -> World:
    """A clone, in which somebody runs its cases, with the command `playbook` on their PATH."""
    fresh_home(home, clone)
    (tmp_path / "runs").mkdir()
    path = f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin"
    return World(client, home, clone, api, {"PATH": path, "TMPDIR": str(tmp_path / "runs"), "PLAYBOOK_NO_SETUP": ""})


def evaluate(world: World, *names: str) -> tuple[Run, dict[str, Any]]:
    """Run the cases of *names* once in each arm. Return how the command ended, and the cases of its report by name."""
    for script in (world.project / "evals").glob("*/setup.sh"):
        if script.parent.name not in names:
            shutil.rmtree(script.parent)
    options = "--trust-plugin --scaffold --no-publish --keep-temp --runs 1 --allow-tools Write --json report.json"
    run = run_command(world, "plugin", "eval", ".", *options.split())
    report = json.loads((world.project / "report.json").read_text())
    return run, {case["name"]: case for case in report["cases"]}


def test_only_the_plugins_arm_knows_the_rule(world: World, tmp_path: Path) -> None:
    run, cases = evaluate(world, "superseded", "no-point")
    scores = {name: case["aggregates"] for name, case in cases.items()}
    asked = [request for request in world.api.messages() if "port.txt" in request.said]

    assert run.code == 0, run
    assert {name: arms["passRate"] for name, arms in scores.items()} == {"superseded": 1, "no-point": 1}
    assert {name: arms["passRateWithout"] for name, arms in scores.items()} == {"superseded": 0, "no-point": 1}
    assert [RULE in request.said for request in asked] == [True, True, False, False]
    assert not any(OLD_RULE in request.said for request in world.api.messages())
    assert list(tmp_path.glob("runs/*/config/playbook/playbook.db"))
    assert not list(tmp_path.glob("runs/*/config/playbook/runtime*")), "the plugin began to set up its environment"
    assert world.api.outward() == []
