"""sde-bench end to end: from conversations to what a session sees, and the trial with a model (here on loopback)."""

import json
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from benchmarks.end_to_end import sde_bench, sde_sample, trial, without_model
from benchmarks.end_to_end.client_runs import ARMS
from benchmarks.end_to_end.placebo import without_content
from benchmarks.end_to_end.questions import following
from benchmarks.end_to_end.sde_bench import CorpusError, Task
from benchmarks.end_to_end.trial import Plan, Result
from benchmarks.figures import show
from tests import marking
from tests.client.conftest import installed
from tests.client.harness import is_turn
from tests.client.install import VERSION
from tests.messages_api import Answer, MessagesApi, Request, Rule, ToolCall

ROOT = Path(__file__).parents[1]
KEY = "sk-ant-api03-for-loopback-alone-98765"
pytestmark = [pytest.mark.nightly, pytest.mark.slow, pytest.mark.sqlite, pytest.mark.allow_hosts(["127.0.0.1"])]


@pytest.fixture(autouse=True)
def _no_network() -> None:
    """It replaces the fixture for all tests, which allows no socket."""


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return sde_sample.write(tmp_path / "corpus" / "sde-bench").parent


def _run(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "benchmarks", "sde-bench", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_decisions_reach_playbook_and_model(tmp_path: Path) -> None:
    installed(VERSION)
    figures = without_model.run(tmp_path, quick=True)

    as_said, *_ = figures.rows
    learned, output = figures.more
    assert list(as_said[1:]) == ["4", "13 of 13", "4 of 4"]
    assert learned.rows[0] == ("quotes of the user", "3 of 3", "0 of 1")
    none, placebo, playbook = (row[1:] for row in output.rows)
    assert none == ("3", "0 of 3", "0 of 3", "0 of 3", "0 of 1", "0")
    assert placebo[1:5] == ("0 of 3", "0 of 3", "0 of 3", "0 of 1")
    assert playbook[:5] == ("3", "3 of 3", "3 of 3", "3 of 3", "0 of 1")
    assert placebo[5] == playbook[5] != "0"


def test_placebo_has_only_the_length_of_a_point() -> None:
    point = "[ctx-001] helpful=2 harmful=0 :: Labels are cut to 22 characters"
    answer = {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": f"# Playbook\n{point}\n"}}

    output = without_content(answer)["hookSpecificOutput"]["additionalContext"]

    assert len(output) == len(f"# Playbook\n{point}\n")
    assert output.startswith("# Playbook\n[ctx-001] helpful=2 harmful=0 :: Water")
    assert "22" not in output


def _corrected(task: Task, *, is_right: bool) -> ToolCall:
    module, wrong, right = sde_sample.right_fix(task.id)
    fix = right if is_right else f"{wrong}  # as it was"
    code = f"p = {module!r}; s = open(p).read(); open(p, 'w').write(s.replace({wrong!r}, {fix!r}))"
    return ToolCall("Bash", {"command": shlex.join([sys.executable, "-c", code]), "description": "Fix it"})


def _reflection(tasks: Sequence[Task], prompt: str) -> str:
    """A reflector's answer that has the decision of each task, if it is in the transcript."""
    said = " ".join(prompt.rpartition("<transcript>\n#")[2].split())
    lessons = [
        {"kind": "worked", "text": task.point, "cause": "", "fix": "", "applies_to": "", "evidence": quotes}
        for task in tasks
        if (quotes := task.conversations[-1].closest(task.policy, 3, "user"))[0] in said
    ]
    return json.dumps({"analysis": "As said.", "bullet_tags": [], "lessons": lessons})


def _curation(tasks: Sequence[Task], prompt: str) -> str:
    lessons = prompt.rpartition("\n<lessons>")[2]
    operations = [
        {"type": "ADD", "text": task.point, "section": "PROJECT CONTEXT", "evidence": quotes}
        for task in tasks
        if task.place in lessons and (quotes := task.conversations[-1].closest(task.policy, 3, "user"))
    ]
    return json.dumps({"reasoning": "As said.", "operations": operations, "apart": []})


def _model(tasks: Sequence[Task]) -> list[Rule]:
    """A model that learns each decision, and fixes a bug only if it sees the decision."""

    def work(request: Request) -> Answer:
        if "tool_result" in json.dumps(request.body["messages"]):
            return Answer("Fixed.")
        (task,) = [task for task in tasks if task.bug_report in request.said]
        return Answer(tools=(_corrected(task, is_right=task.policy in request.said),))

    return [
        Rule(
            lambda request: _reflection(tasks, request.last_said),
            when=lambda request: "bullet_tags" in json.dumps(request.body),
        ),
        Rule(
            lambda request: _curation(tasks, request.last_said),
            when=lambda request: not request.body.get("tools") and "operations" in json.dumps(request.body),
        ),
        Rule(work, when=is_turn),
    ]


def test_trial_runs_with_a_model_and_resumes(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It repeats no session."""
    installed(VERSION)
    tasks = sde_bench.read(corpus)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    with MessagesApi(*_model(tasks)) as api:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", api.url)
        (tmp_path / "first").mkdir()
        figures = trial.run(tmp_path / "first", corpus=corpus, model="claude-sonnet-5-5", is_agreed=True, quick=True)
        asked = len(api.messages())
        (tmp_path / "second").mkdir()
        again = trial.run(tmp_path / "second", corpus=corpus, model="claude-sonnet-5-5", is_agreed=True, quick=True)
        assert len(api.messages()) == asked
        keys = [each.headers.get("x-api-key") or each.headers.get("authorization") for each in api.messages()]
        assert set(keys) <= {KEY, f"Bearer {KEY}"}

    results = trial.read_results(tmp_path / "sde-bench-claude-sonnet-5-5.jsonl")
    solved = {(each["task"], each["arm"]): each["solved"] for each in results}
    assert len(results) == 9
    assert solved == {(task.id, arm): arm == "playbook" for task in tasks for arm in ARMS}
    assert show(again) == show(figures)
    assert figures.title == "sde-bench with claude-sonnet-5-5: 9 of 9 sessions"


class _People:
    """People who answer the questions of a trial as the model of `_model` does."""

    def __init__(self, folder: Path, corpus: Path) -> None:
        self._tasks = sde_bench.read(corpus)
        self._folder, self._arguments = folder, ["--corpus", str(corpus), "--by-hand", str(folder)]
        self.answered: list[str] = []

    def work(self, *, until: int = 1000) -> str:
        """Run the command, and answer *until* so many questions are answered. Then kill it, if it still runs."""
        command = [sys.executable, "-m", "benchmarks", "sde-bench", *self._arguments]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
            while running.poll() is None and len(self.answered) < until:
                for folder in [*self._folder.glob("learn/?"), *self._folder.glob("act/?")]:
                    if (path := following(folder)) not in ("", "DONE"):
                        self._answer(Path(path))
                time.sleep(0.02)
            running.kill()
            out, err = running.communicate()
        return out if running.returncode == 0 else err

    def _answer(self, question: Path) -> None:
        path = question.parents[1] / "a" / question.name
        path.with_suffix(".new").write_text(self._said(question), "utf-8")
        path.with_suffix(".new").rename(path)
        self.answered.append(str(question))

    def _said(self, question: Path) -> str:
        text = question.read_text("utf-8")
        if not self.answered:
            return "I have no idea."
        if marking.is_asked(text):
            return marking.marks(text)
        if question.parents[2].name == "learn":
            return _reflection(self._tasks, text) if "bullet_tags" in text else _curation(self._tasks, text)
        (task,) = [task for task in self._tasks if task.bug_report in text]
        module, wrong, right = sde_sample.right_fix(task.id)
        code = (question.parents[1] / "repository" / question.stem / module).read_text("utf-8")
        return code.replace(wrong, right) if task.policy in text else code


def test_people_can_answer_instead_of_a_model(corpus: Path, tmp_path: Path) -> None:
    """A killed trial resumes."""
    people = _People(tmp_path / "trial", corpus)

    people.work(until=4)
    people.work(until=14)
    out = people.work()

    assert len(people.answered) - 1 == len(set(people.answered))
    assert people.answered.count(people.answered[0]) == 2
    assert Path(people.answered[0]).parents[1].joinpath("a/001.why").read_text().startswith("The answer is not JSON: ")
    solved = dict(re.findall(r"(?m)^(none|placebo|playbook|own points) +3 of 3 +(\d)", out))
    assert solved == {"none": "0", "placebo": "0", "playbook": "3", "own points": "3"}
    assert "playbook - placebo: +3 -0 of 3, exact McNemar p = 0.25" in out
    read = tmp_path / "trial" / "act" / "world" / "project"  # the hooks look for names in the files
    assert all((read / task.module).exists() for task in sde_bench.read(corpus))


def test_trial_needs_consent_a_key_and_a_corpus(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cost comes first."""
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    keyless = _run(ROOT, "--corpus", str(corpus), "--model", "claude-sonnet-5-5", "--yes")
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    silent = _run(ROOT, "--corpus", str(corpus), "--model", "claude-sonnet-5-5")
    bare = _run(ROOT, "--model", "claude-sonnet-5-5")

    assert re.search(r"works in 27 sessions\. That costs about \$\d+,", silent.stderr)
    assert silent.stderr.endswith("Nothing was asked. Answer y, or pass --yes, to go on.\n")
    assert keyless.stderr.endswith("There is no key to ask a model with: set ANTHROPIC_API_KEY.\n")
    assert bare.stderr.endswith("are for sde-bench alone, and need --corpus DIR; use one of them\n")
    assert 0 not in (keyless.returncode, silent.returncode, bare.returncode)


def test_wrong_corpus_is_named(corpus: Path, tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=rf"There is no sde-bench in {tmp_path}; run: git clone"):
        sde_bench.read(tmp_path)
    task = corpus / "sde-bench" / "sample-pause" / "tasks" / "main" / "task.json"
    whole = task.read_text()
    task.write_text(whole.replace("45 minutes", "50 minutes"))
    with pytest.raises(CorpusError, match=r"isn't the version of commit afcce15; run: git clone"):
        sde_bench.read(corpus)
    task.write_text(whole[:200])
    with pytest.raises(CorpusError, match=r"is cut: .*sample-pause/tasks/main/task.json can't be read"):
        sde_bench.read(corpus)

    done = _run(ROOT, "--corpus", str(corpus), "--quick")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert done.stderr.startswith("The sde-bench is cut: ")


def _results(solved: Mapping[str, Sequence[bool]]) -> list[Result]:
    return [
        {"task": f"t-{number}", "arm": arm, "repeat": 0, "solved": value, "cost_usd": 0.5, "turns": 9}
        for arm, values in solved.items()
        for number, value in enumerate(values)
    ]


def test_analysis_finds_a_difference_or_none() -> None:
    """Tasks with harm are named."""
    plan = Plan([], [], "some-model", 1)
    clear = {"none": [False] * 20, "placebo": [False] * 20, "playbook": [True] * 16 + [False] * 4}
    mixed = {"none": [True, False] * 6, "placebo": [True, False] * 6, "playbook": [False, True] * 6}

    found, open_, empty = (trial.analyzed(plan, _results(each)).notes for each in (clear, mixed, {}))

    assert found[0].startswith("playbook - placebo: +80.0 points (+")
    assert "no difference" not in found[0]
    assert found[1] == "placebo - none: +0.0 points (+0.0 to +0.0, 20 tasks); no difference can be told; " + (
        "to see 10 points, about 21 tasks are needed"
    )
    assert re.search(r"playbook - placebo: \+0\.0 .*no difference can be told; to see 10 points, about 8\d\d", open_[0])
    assert open_[3].startswith("Solved less often with the playbook than without: 6 of 12: t-0, t-10")
    assert empty[0] == "playbook - placebo: no difference can be told yet"
