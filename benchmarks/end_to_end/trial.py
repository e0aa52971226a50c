"""sde-bench with a real model, for a person who has a key: does the playbook help, and does it do harm?

The plan in docs/internals/trial.md says what is compared and how. The results go into a file in the current folder, one
line a session, as soon as they are there. The same command goes on from that file.
"""

import json
import os
import random
import shutil
import statistics
import subprocess
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import sandbox
from benchmarks.end_to_end import client_runs, sde_bench, write_path
from benchmarks.end_to_end.client_runs import ARMS, NONE, PLACEBO, PLAYBOOK
from benchmarks.end_to_end.sde_bench import CorpusError, Task
from benchmarks.end_to_end.without_model import turns_of
from benchmarks.figures import Figures
from playbook_db.llm import prices
from tests import playing
from tests.client import harness
from tests.client.install import ensure_client
from tests.messages_api import MessagesApi

REPEATS = 3
SESSION_S = 1800.0  # a session that takes longer hasn't solved its task
_TESTS_S = 300.0
_RESAMPLES = 10_000
_LEARNING_TOKENS = 2 * 15_000, 2 * 1_000  # assumed for a conversation: sent to both models, received
_SESSION_TOKENS = 60_000, 340_000, 8_000  # assumed for a session: sent, read from the cache, received
_REFUSED = "Nothing was asked. Answer y, or pass --yes, to go on."
Result = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Plan:
    """The *tasks* of a trial with *model*, each *repeats* times in each arm, after learning from `talks`."""

    tasks: Sequence[Task]
    talks: Sequence[sde_bench.Conversation]
    model: str
    repeats: int

    def sessions(self) -> list[tuple[Task, str, int]]:
        """All sessions, in an order that is random and the same each time."""
        all_of_them = [(task, arm, turn) for task in self.tasks for arm in ARMS for turn in range(self.repeats)]
        random.Random(0).shuffle(all_of_them)
        return all_of_them

    def estimate(self) -> str:
        """What it costs, in words."""
        talks, sessions = len(self.talks), len(self.tasks) * len(ARMS) * self.repeats
        sent, received = _LEARNING_TOKENS
        learning = prices.cost_usd(self.model, input_tokens=sent, output_tokens=received)
        sent, cached, received = _SESSION_TOKENS
        solving = prices.cost_usd(self.model, input_tokens=sent, cached_tokens=cached, output_tokens=received)
        if learning is None or solving is None:
            usd = f"an unknown amount (set PLAYBOOK_PRICE_PER_MTOK=in,out for {self.model})"
        else:
            usd = f"about ${talks * learning + sessions * solving:,.0f}"
        return (
            f"{self.model} learns from {talks} conversations and works in {sessions} sessions. That costs {usd}, if a "
            f"session takes {sum(_SESSION_TOKENS):,} tokens; it may be half or three times as much. Sessions run "
            "commands that the model writes: use a machine or container that has nothing else on it."
        )


def run(
    folder: Path, *, corpus: Path, model: str, is_agreed: bool, quick: bool = False, repeats: int = REPEATS
) -> Figures:
    """Run or go on with a trial, and show its results. If *quick*, once in each arm.

    Raises CorpusError, and SystemExit if nobody agrees or the model can't be asked.
    """
    tasks = sde_bench.read(corpus)
    talks = [talk for task in tasks for talk in task.conversations]
    plan = Plan(tasks, [*talks, *sde_bench.decoys(corpus)], model, 1 if quick else repeats)
    print(plan.estimate(), file=sys.stderr)
    if not os.environ.get("ANTHROPIC_API_KEY"):
        raise SystemExit("There is no key to ask a model with: set ANTHROPIC_API_KEY.")
    if not is_agreed and not (sys.stdin.isatty() and input("Go on? [y/N] ").strip().lower() == "y"):
        raise SystemExit(_REFUSED)
    own = {name: value for name, value in os.environ.items() if name in ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL")}
    host = {name: value for name, value in os.environ.items() if name == "SDEBENCH_BOLTONS_HOST"}
    results = Path(f"sde-bench-{model}.jsonl").absolute()
    learned, world = results.with_suffix(".db"), folder / "world"  # a playbook belongs to a folder: always the same one
    if not learned.exists():
        _learn(plan, world, learned, own)
    done = read_results(results)
    for task, arm, turn in plan.sessions():
        if not any((each["task"], each["arm"], each["repeat"]) == (task.id, arm, turn) for each in done):
            result = {
                "task": task.id,
                "arm": arm,
                "repeat": turn,
                **_solve(task, arm, world, learned, model, own, host),
            }
            done.append(result)
            with results.open("a", encoding="utf-8") as file:
                file.write(json.dumps(result) + "\n")
    return analyzed(plan, done)


def read_results(path: Path) -> list[Result]:
    """The sessions that are done."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []


def _learn(plan: Plan, folder: Path, learned: Path, own: Mapping[str, str]) -> None:
    """Let a project learn from all conversations; its database at *learned*."""
    folder.mkdir()
    playing.lay_out(sandbox.project_folder(folder), {})
    with sandbox.opened(folder) as (store, project):
        asked = {"AGENTIC_CONTEXT_MODEL": plan.model, "PLAYBOOK_DAILY_TOKENS": "0"}
        with sandbox.living_in({**sandbox.environment(folder), **own, **asked}):
            for number, talk in enumerate(plan.talks):
                write_path.learn(project, folder, f"talk-{number}", turns_of(talk))
        store.tidy()
    shutil.copy(sandbox.database_path(folder), learned)


def _solve(
    task: Task, arm: str, world: Path, learned: Path, model: str, own: Mapping[str, str], host: Mapping[str, str]
) -> Result:
    """One session: whether it solved *task*, its cost in US dollars as the client says, and its number of turns."""
    project = sandbox.project_folder(world)
    shutil.rmtree(world, ignore_errors=True)
    world.mkdir()
    build(task, project, {**os.environ, **host})
    tests = world / "tests"
    shutil.copytree(project / "tests", tests)
    if arm != NONE:
        shutil.copy(learned, sandbox.database_path(world))
    variables = {"PLAYBOOK_DB_URL": sandbox.database_url(world), "HTTP_PROXY": "", "HTTPS_PROXY": "", **own}
    variables.setdefault("ANTHROPIC_BASE_URL", "https://api.anthropic.com")
    with MessagesApi() as unused:
        client = harness.World(ensure_client(), world / "home", project, unused, variables)
        allowed = {"permissions": {"defaultMode": "acceptEdits", "allow": ["Bash", "Edit", "Read", "Write"]}}
        client_runs.prepare(client, arm, allowed)
        answer = _work(client, task.bug_report, model)
    shutil.rmtree(project / "tests", ignore_errors=True)
    shutil.copytree(tests, project / "tests")
    shutil.copy(task.main / "hidden_test.py", project / "tests" / "test_hidden.py")
    solved = passes([*task.works, *task.checks], project)
    return {"solved": solved, "cost_usd": answer.get("total_cost_usd"), "turns": answer.get("num_turns")}


def build(task: Task, project: Path, variables: Mapping[str, str]) -> None:
    """Build the repository of *task* at *project*, with its visible test. Raises CorpusError."""
    command = [sys.executable, str(task.folder / "build.py"), str(project)]
    built = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
    if built.returncode:
        raise CorpusError(f"{task.id} can't be built: {(built.stderr or built.stdout).strip().splitlines()[-1]}")
    shutil.copy(task.main / "regression_test.py", project / "tests/test_regression.py")
    if not passes(task.works, project):
        raise CorpusError(f"The tests of {task.id} don't run here, even before a change: install what they import.")


def _work(client: harness.World, prompt: str, model: str) -> Result:
    """What the client says of its session. Raises SystemExit if the model couldn't be asked."""
    command = [str(client.client.binary), "-p", "--model", model, "--output-format", "json", prompt]
    try:
        done = subprocess.run(
            command,
            cwd=client.project,
            env=client.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SESSION_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return {}
    try:
        told: Result = json.loads(done.stdout)
    except ValueError:
        told = {"is_error": True, "result": done.stderr or done.stdout}
    if told.get("is_error"):
        raise SystemExit(f"A session failed, and isn't counted: {told.get('result')}. The same command goes on.")
    return told


def passes(tests: Sequence[str], project: Path) -> bool:
    """Whether all of *tests* pass in *project*."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests]
    variables = {"PATH": os.environ.get("PATH", os.defpath), "PYTHONPATH": str(project), "HOME": str(project.parent)}
    try:
        done = subprocess.run(command, cwd=project, env=variables, capture_output=True, timeout=_TESTS_S, check=False)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def analyzed(plan: Plan, results: Sequence[Result]) -> Figures:
    """The analysis that docs/internals/trial.md announces."""
    by_task: dict[str, dict[str, list[bool]]] = defaultdict(lambda: defaultdict(list))
    for result in results:
        by_task[result["task"]][result["arm"]].append(result["solved"])
    shares = {
        arm: {task: statistics.mean(arms[arm]) for task, arms in by_task.items() if arms.get(arm)} for arm in ARMS
    }
    rows = [_arm_row(arm, shares[arm], results) for arm in ARMS]
    notes = [_difference(better, worse, shares) for better, worse in _COMPARED]
    both = shares[NONE].keys() & shares[PLAYBOOK].keys()
    harmed = sorted(task for task in both if shares[PLAYBOOK][task] < shares[NONE][task])
    notes.append(f"Solved less often with the playbook than without: {len(harmed)} of {len(both)}: {', '.join(harmed)}")
    title = f"sde-bench with {plan.model}: {len(results)} of {len(plan.sessions())} sessions"
    return Figures(title, ("arm", "sessions", "solved", "cost"), rows, notes)


_COMPARED = ((PLAYBOOK, PLACEBO), (PLACEBO, NONE), (PLAYBOOK, NONE))


def _arm_row(arm: str, shares: Mapping[str, float], results: Sequence[Result]) -> tuple[str, ...]:
    of_arm = [each for each in results if each["arm"] == arm]
    solved = f"{100 * statistics.mean(shares.values()):.1f} %" if shares else "-"
    return arm, f"{len(of_arm)}", solved, f"${sum(each['cost_usd'] or 0 for each in of_arm):,.2f}"


def _difference(better: str, worse: str, shares: Mapping[str, Mapping[str, float]]) -> str:
    """The mean difference over tasks with a 95 % interval, and whether it differs from 0."""
    pairs = [
        100 * (shares[better][task] - shares[worse][task]) for task in sorted(shares[better]) if task in shares[worse]
    ]
    name = f"{better} - {worse}"
    if len(pairs) < 2:
        return f"{name}: no difference can be told yet"
    low, high = interval(pairs)
    sentence = f"{name}: {statistics.mean(pairs):+.1f} points ({low:+.1f} to {high:+.1f}, {len(pairs)} tasks)"
    if low <= 0 <= high:
        needed = (1.96 + 0.84) ** 2 * statistics.variance(pairs) / 10**2
        sentence += (
            f"; no difference can be told; to see 10 points, about {max(needed, len(pairs) + 1):,.0f} tasks are needed"
        )
    return sentence


def interval(values: Sequence[float]) -> tuple[float, float]:
    """The 95 % interval of the mean of *values*, by drawing them again 10,000 times."""
    rng = random.Random(0)
    means = sorted(statistics.mean(rng.choices(values, k=len(values))) for _ in range(_RESAMPLES))
    return means[int(0.025 * _RESAMPLES)], means[int(0.975 * _RESAMPLES) - 1]
