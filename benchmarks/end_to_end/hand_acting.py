"""Fix the bugs of sde-bench, from answers that people write: the questions of each arm, and the grades.

A question shows what an agent sees at the start of a session. That is the output of the real hooks, the bug report, the
module and the failing test. Its answer is the new text of the module.
"""

import json
import math
import os
import random
import shutil
import string
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks import sandbox
from benchmarks.end_to_end import placebo, trial
from benchmarks.end_to_end.client_runs import NONE, PLACEBO, PLAYBOOK
from benchmarks.end_to_end.questions import Questions
from benchmarks.end_to_end.sde_bench import Task
from benchmarks.figures import Figures
from playbook_db.domain import playbook_file
from playbook_db.services.playbook import import_export
from tests import playing
from tests.claude_code.running import Client, Ended

OWN = "own points"  # the arm that is shown all points that the task's own conversations gave
ARMS = (NONE, PLACEBO, PLAYBOOK, OWN)
_COMPARED = ((PLAYBOOK, PLACEBO), (PLACEBO, NONE), (PLAYBOOK, NONE), (OWN, PLAYBOOK))
_REPRO = "tests/test_regression.py"
_QUESTION = """You are a coding agent. Your session starts in the repository {repository}.
{start}
The user says:

{report}
{prompt}
You read {module}:

```python
{code}
```
{file}
You read {repro}, which fails:

```python
{test}
```

Fix the bug now. Edit only {module}, and keep its interface. To run the tests in the repository:

    {python} -m pytest -q tests

Your answer is the whole new text of {module}. To give it, run this in the repository:

    cp {module} {answer}.new && mv {answer}.new {answer}.txt
"""
SessionText = Mapping[str, str]  # what the hooks print: at the `start`, with the `prompt`, with the `file`


class Arms:
    """The questions and the grades of all arms, in *folder*.

    A folder's name doesn't show which arm it is; `key.json` does.
    """

    def __init__(self, folder: Path, tasks: Sequence[Task]) -> None:
        self._folder, self._results = folder, folder / "results.jsonl"
        self.tasks = list(tasks)
        random.Random(1).shuffle(self.tasks)
        folder.mkdir(parents=True, exist_ok=True)
        key = folder / "key.json"
        if not key.exists():
            letters = random.sample(string.ascii_lowercase[: len(ARMS)], len(ARMS))
            key.write_text(json.dumps(dict(zip(ARMS, letters, strict=True))), "utf-8")
        self._folders = {arm: folder / letter for arm, letter in json.loads(key.read_text("utf-8")).items()}
        self.results = trial.read_results(self._results)

    def build(self) -> None:
        """Build each task's repository, and run its tests. Raises CorpusError."""
        for task in self.tasks:
            target = self._repository(task)
            if not target.exists():
                with tempfile.TemporaryDirectory(dir=self._folder) as folder:
                    built = Path(folder, "repository")
                    trial.build(task, built, os.environ)
                    shutil.rmtree(built / ".git", ignore_errors=True)
                    target.parent.mkdir(exist_ok=True)
                    built.rename(target)

    def ask(self, playbooks: Sequence[str], own: Mapping[str, Sequence[str]]) -> None:
        """Ask all questions, after importing *playbooks*. *own* are the points of each task's own conversations."""
        path = self._folder / "told.json"
        if not path.exists():
            new = path.with_suffix(".new")
            built = [(task, self._repository(task)) for task in self.tasks]
            new.write_text(json.dumps(_session_text(self._folder / "world", built, playbooks), indent=1), "utf-8")
            new.rename(path)
        texts = json.loads(path.read_text("utf-8"))
        for arm, folder in self._folders.items():
            if (questions := Questions(folder)).is_closed:
                continue
            for number, task in enumerate(self.tasks, 1):
                questions.put(self._question(task, number, folder, _shown(arm, texts[task.id], own.get(task.id, ()))))
            questions.close()

    def grade(self) -> bool:
        """Grade all new answers. Return whether every question has its grade."""
        done = {(each["task"], each["arm"]) for each in self.results}
        for arm, folder in self._folders.items():
            for number, task in enumerate(self.tasks, 1):
                answer = folder / "a" / f"{number:03}.txt"
                if (task.id, arm) not in done and answer.exists():
                    visible, solved = self._graded(task, answer.read_text("utf-8"))
                    row = {"task": task.id, "arm": arm, "visible": visible, "solved": solved}
                    self.results.append(row)
                    with self._results.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(row) + "\n")
        return len(self.results) == len(ARMS) * len(self.tasks)

    def _repository(self, task: Task) -> Path:
        return self._folder / "repositories" / task.id

    def _question(self, task: Task, number: int, folder: Path, shown: SessionText) -> str:
        copy = folder / "repository" / f"{number:03}"
        if not copy.exists():
            new = copy.with_suffix(".new")  # a killed process leaves no half of a copy
            shutil.rmtree(new, ignore_errors=True)
            shutil.copytree(self._repository(task), new)
            new.rename(copy)
        return _QUESTION.format(
            **shown,
            repository=copy,
            report=task.bug_report,
            module=task.module,
            code=(self._repository(task) / task.module).read_text("utf-8"),
            repro=_REPRO,
            test=(task.main / "regression_test.py").read_text("utf-8"),
            python=sys.executable,
            answer=folder / "a" / f"{number:03}",
        )

    def _graded(self, task: Task, answer: str) -> tuple[bool, bool]:
        """Whether the existing and the visible tests pass with *answer*, and whether the hidden test passes, too."""
        with tempfile.TemporaryDirectory() as folder:
            project = Path(folder, "repository")
            shutil.copytree(self._repository(task), project)
            (project / task.module).write_text(answer, "utf-8")
            visible = trial.passes([*task.works, _REPRO], project)
            shutil.copy(task.main / "hidden_test.py", project / "tests" / "test_hidden.py")
            return visible, visible and trial.passes(task.checks, project)


def _session_text(folder: Path, built: Sequence[tuple[Task, Path]], playbooks: Sequence[str]) -> dict[str, SessionText]:
    """What the hooks print in a session of each task in its repository, with the points of all *playbooks*."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    playing.lay_out(sandbox.project_folder(folder), {})
    with sandbox.opened(folder) as (store, project):
        for text in playbooks:
            reading = playbook_file.decode(text, source="a part")
            import_export.import_playbook(project, reading, source="a part")
        store.tidy()
        client = Client(
            sandbox.project_folder(folder), Path(sandbox.database_path(folder)), folder / "home", is_patient=True
        )
        return {task.id: _in_session(client, task, repository) for task, repository in built}


def _in_session(client: Client, task: Task, repository: Path) -> SessionText:
    """What the hooks print in one session with the bug report of *task*, which reads its module in *repository*."""
    shutil.copytree(repository, client.folder, dirs_exist_ok=True)
    session = {"session_id": f"act-{task.id}"}
    start = client.inject(client.start(**session), argument="/bin/true")
    prompt = client.remind(client.prompt(task.bug_report, **session))
    read = client.call("Read", file_path=f"{client.folder}/{task.module}")
    return {"start": _said(start), "prompt": _said(prompt), "file": _said(client.run("tool", {**read, **session}))}


def _said(done: Ended) -> str:
    if done.code:
        raise RuntimeError(f"a hook ended with {done.code}: {done.err!r}")
    return done.context if done.out.strip() and done.has_context else ""


def _shown(arm: str, told: SessionText, own: Sequence[str]) -> SessionText:
    """What the agent of *arm* is shown of all that the hooks *told*."""
    if arm == OWN:
        points = "\n".join(f"- {text}" for text in own)
        told = {
            "start": f"# Playbook: what earlier sessions in this project taught\n{points}",
            "prompt": "",
            "file": "",
        }
    shown = {NONE: lambda _: "", PLACEBO: placebo.without_content}.get(arm, str)
    return {
        when: f"\n<system-reminder>\n{text}\n</system-reminder>\n" if (text := shown(each)) else ""
        for when, each in told.items()
    }


def figures(results: Sequence[Mapping[str, Any]], count: int) -> Figures:
    """The grades so far, of *count* tasks, and the exact McNemar test of each comparison."""
    by_arm = {arm: {each["task"]: each for each in results if each["arm"] == arm} for arm in ARMS}
    rows = [
        (arm, f"{len(each)} of {count}", f"{_sum(each, 'solved')}", f"{_sum(each, 'visible')}")
        for arm, each in by_arm.items()
    ]
    notes = [_compared(better, worse, by_arm) for better, worse in _COMPARED]
    lost = [
        task
        for task, each in by_arm[PLAYBOOK].items()
        if not each["solved"] and by_arm[NONE].get(task, {}).get("solved")
    ]
    notes.append(f"Solved without the playbook, but not with it: {', '.join(sorted(lost)) or 'none'}")
    return Figures("sde-bench, by hand", ("arm", "answers", "solved", "visible test passes"), rows, notes)


def _sum(rows: Mapping[str, Mapping[str, Any]], what: str) -> int:
    return sum(each[what] for each in rows.values())


def _compared(better: str, worse: str, by_arm: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> str:
    both = [
        (by_arm[better][task]["solved"], by_arm[worse][task]["solved"])
        for task in by_arm[better]
        if task in by_arm[worse]
    ]
    gained, lost = both.count((True, False)), both.count((False, True))
    return f"{better} - {worse}: +{gained} -{lost} of {len(both)}, exact McNemar p = {mcnemar(gained, lost):.2g}"


def mcnemar(gained: int, lost: int) -> float:
    """The exact two-sided p of McNemar's test."""
    count = gained + lost
    tail = sum(math.comb(count, k) for k in range(min(gained, lost) + 1))
    return min(1.0, 2 * tail / 2**count)
