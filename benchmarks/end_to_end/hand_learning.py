"""Learn from the conversations of sde-bench, from answers that people write.

The tasks are in three parts, so that three people can answer at once. Each part has its own playbook and its own
questions. A later conversation that changes a rule comes last.
"""

import json
import os
import random
import shutil
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import text as sql

from benchmarks import sandbox
from benchmarks.end_to_end.questions import Questions, UnansweredError
from benchmarks.end_to_end.sde_bench import Conversation, Task
from benchmarks.end_to_end.without_model import turns_of
from benchmarks.figures import Figures
from playbook_db.claude_code.learner import learn_transcript
from playbook_db.llm.model import Prompt, Reply, Usage
from playbook_db.services.playbook import import_export
from playbook_db.services.project import Project
from playbook_db.store.engine import Store
from tests import playing

PARTS = 3
DECOYS = 18
DECOY = "decoy"  # in place of a task's id
_LIVE = """
SELECT DISTINCT h.name, k.text FROM history AS h
JOIN live_key_points AS k ON k.playbook = h.playbook AND k.name = h.name
WHERE h.session_id LIKE :session ORDER BY h.name"""


@dataclass(frozen=True, slots=True)
class Talk:
    """A conversation of the task with the id `task`, or a decoy."""

    task: str
    conversation: Conversation


@dataclass(slots=True)
class Author:
    """A model whose answers people write."""

    questions: Questions
    last: str = ""

    def ask(self, prompt: Prompt, *, deadline: float) -> Reply:
        """Return the answer that somebody has written. Raises UnansweredError."""
        schema = f"\n\nThe JSON schema of the answer: {json.dumps(prompt.schema)}" if prompt.schema else ""
        question = f"{prompt.system}\n\n{prompt.text}{schema}"
        self.last = self.questions.put(question)
        answer = self.questions.ask(question)
        if why := _fault(answer, (prompt.schema or {}).get("required", ())):
            self.questions.refuse(self.last, why)
            raise UnansweredError(why)
        usage = Usage(len(question) // 4, len(answer) // 4, 0, 0.0)
        return Reply(answer, None, is_cut=False, usage=usage, model="by-hand", duration_ms=1)


class Part:
    """A part of the conversations, its questions, and the playbook that it fills. All of it is in *folder*."""

    def __init__(self, folder: Path, talks: Sequence[Talk]) -> None:
        self.questions, self.talks, self.learned = Questions(folder), talks, 0
        self._folder, self._author = folder, Author(self.questions)

    def advance(self) -> bool:
        """Learn until an answer is missing. Return whether all conversations are learned.

        Conversations from before an interruption are learned already, so they cost nothing.
        """
        if self.learned == len(self.talks):
            return True
        if self._author.last and self.questions.answer(self._author.last) is None:
            return False
        with _world(self._folder) as (store, project):
            while self.learned < len(self.talks):
                try:
                    learn_transcript(project, self._transcript(self.learned), self._author)
                except UnansweredError:
                    return False
                self.learned += 1
            store.tidy()
        self.questions.close()
        return True

    def export(self) -> str:
        """Return the playbook as the text of a JSON file."""
        with _world(self._folder) as (_, project):
            return import_export.export_playbook(project)

    def points(self) -> list[tuple[str, dict[str, str]]]:
        """Return for each conversation its task, and the live points that it added or changed, by name."""
        with _world(self._folder) as (store, _), store.snapshot() as connection:
            return [
                (talk.task, dict(map(tuple, connection.execute(sql(_LIVE), {"session": f"talk-{at}-%"}))))
                for at, talk in enumerate(self.talks[: self.learned])
            ]

    def _transcript(self, number: int) -> str:
        turns = turns_of(self.talks[number].conversation)
        blind = playing.BlindSession(f"talk-{number}", is_poisoned=False, steps=turns)
        project = sandbox.project_folder(self._folder / "world")
        return playing.of_blind(blind).session.write(self._folder / "world", project=str(project))


def parts_of(folder: Path, tasks: Sequence[Task], decoys: Sequence[Conversation]) -> list[Part]:
    """Return the parts, below *folder*. The order of the conversations is random, but the same each time."""
    rng = random.Random(0)
    chosen = [Talk(DECOY, each) for each in rng.sample(decoys, min(DECOYS, len(decoys)))]
    parts = []
    for number in range(PARTS):
        mine = tasks[number::PARTS]
        talks = [*(Talk(task.id, task.conversations[0]) for task in mine), *chosen[number::PARTS]]
        rng.shuffle(talks)
        later = [Talk(task.id, talk) for task in mine for talk in task.conversations[1:]]
        parts.append(Part(folder / f"{number + 1}", [*talks, *later]))
    return parts


def points_by_task(parts: Sequence[Part]) -> dict[str, list[str]]:
    """Return the texts of the live points that the conversations of each task gave."""
    found: dict[str, dict[str, str]] = {}
    for part in parts:
        for task, points in part.points():
            if task != DECOY:
                found.setdefault(task, {}).update(points)
    return {task: list(points.values()) for task, points in found.items()}


def figures(parts: Sequence[Part]) -> Figures:
    """Return what was learned. Whether a point states its rule completely is for people to judge."""
    rows = []
    for number, part in enumerate(parts, 1):
        points = part.points()
        decoys = [bool(each) for task, each in points if task == DECOY]
        rules = {task: len(each) for task, each in points if task != DECOY}  # the last conversation of a task counts
        rows.append(
            (
                f"{number}",
                f"{part.learned} of {len(part.talks)}",
                f"{sum(map(bool, rules.values()))} of {len(rules)}",
                f"{sum(decoys)} of {len(decoys)}",
                f"{len({name for _, each in points for name in each})}",
            )
        )
    columns = ("part", "conversations", "tasks with a live point", "decoys with a live point", "live points")
    return Figures("Learning, by hand", columns, rows)


@contextmanager
def _world(folder: Path) -> Iterator[tuple[Store, Project]]:
    """The project of a part, which is created if needed."""
    world = folder / "world"
    if not sandbox.project_folder(world).exists():
        new = world / "new"  # a killed process leaves no half of a project
        shutil.rmtree(new, ignore_errors=True)
        world.mkdir(exist_ok=True)
        playing.lay_out(new, {})
        new.rename(sandbox.project_folder(world))
    with sandbox.opened(world) as (store, project):
        os.environ["PLAYBOOK_DAILY_TOKENS"] = "0"  # no limit; the block's end restores the variables
        yield store, project


def _fault(answer: str, required: Collection[str]) -> str:
    """Return why *answer* isn't a JSON object with the *required* keys, or `""`."""
    try:
        value = json.loads(answer)
    except ValueError as error:
        return f"The answer is not JSON: {error}. Write the JSON object alone."
    missing = [key for key in required if not isinstance(value, dict) or key not in value]
    return f"The answer must be a JSON object with the keys {', '.join(required)}." if missing else ""
