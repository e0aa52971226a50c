"""A project that learns from sessions and shows what it learned: transcript, learner, playbook, hooks.

The model is a Messages API on loopback whose curator is perfect: it knows what each session teaches.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from benchmarks import sandbox
from playbook_db.claude_code.learner import learn_transcript
from playbook_db.domain.playbook import KeyPoint
from playbook_db.domain.sections import OTHERS
from playbook_db.llm import choose
from playbook_db.services.project import Project, read_playbook
from tests import playing
from tests.claude_code.running import Client, Ended
from tests.messages_api import MessagesApi, Request, Rule

Operation = Mapping[str, Any]  # as a curator gives it, but with the texts of `old` points in place of their names


class PerfectCurator:
    """The rules of an API whose model finds in a session what `operations` say. It keeps the reflector's prompts.

    `missing` are the old texts that a curator was to change and couldn't see in its prompt.
    """

    def __init__(self) -> None:
        self.operations: Sequence[Operation] = ()
        self.transcripts: list[str] = []
        self.missing: list[str] = []

    @property
    def rules(self) -> tuple[Rule, Rule]:
        """For the reflector, and for the curator."""
        return Rule(self._reflect, when=is_reflector), Rule(self._curate)

    def _reflect(self, request: Request) -> str:
        self.transcripts.append(request.last_said)
        lessons = [
            {"kind": "worked", "text": each["text"], "cause": "", "fix": "", "applies_to": "", "evidence": quotes}
            for each in self.operations
            if (quotes := each["evidence"]) and "text" in each
        ]
        return json.dumps({"analysis": "See the lessons.", "bullet_tags": [], "lessons": lessons})

    def _curate(self, request: Request) -> str:
        operations = [
            _named(each, names) for each in self.operations if (names := self._names(each, request)) is not None
        ]
        return json.dumps({"reasoning": "As the user said.", "operations": operations, "apart": []})

    def _names(self, operation: Operation, request: Request) -> list[str] | None:
        """The names of the points that *operation* changes, from the prompt; None if one isn't in it."""
        names = []
        for text in operation.get("old", ()):
            found = re.search(rf"^\[([a-z]+-\d+)\].*{re.escape(text)}$", request.last_said, re.MULTILINE)
            if not found:
                self.missing.append(text)
                return None
            names.append(found[1])
        return names


def is_reflector(request: Request) -> bool:
    """Whether the reflector asks."""
    return "bullet_tags" in json.dumps(request.body)


def _named(operation: Operation, names: Sequence[str]) -> dict[str, Any]:
    """*operation* in the curator's own form."""
    kind, text = operation["type"], operation.get("text")
    forms: Mapping[str, Mapping[str, Any]] = {
        "ADD": {"text": text, "section": "PROJECT CONTEXT"},
        "UPDATE": {"target_id": "".join(names[:1]), "text": text},
        "DELETE": {"target_id": "".join(names[:1]), "reason": "It no longer holds."},
        "MERGE": {"source_ids": list(names), "merged_text": text, "section": "PROJECT CONTEXT"},
    }
    return {"type": kind, **forms[kind], "evidence": list(operation["evidence"])}


class World:
    """A project with a playbook of its own. Each question is asked in a new session that was shown nothing before."""

    def __init__(self, folder: Path, project: Project, curator: PerfectCurator) -> None:
        self.project = project
        self._folder, self._curator, self._numbers = folder, curator, count(1)
        self._client = Client(
            sandbox.project_folder(folder), Path(sandbox.database_path(folder)), folder / "home", is_patient=True
        )

    @property
    def home(self) -> Path:
        """The home of its sessions."""
        return self._client.home

    @property
    def variables(self) -> Mapping[str, str]:
        """What a session needs to find its database."""
        return {"PLAYBOOK_DB_URL": sandbox.database_url(self._folder)}

    def learn(self, turns: Sequence[Sequence[Any]], operations: Sequence[Operation]) -> str:
        """Learn from a session of these *turns*, which teaches *operations*; the session as the reflector saw it."""
        self._curator.operations, seen = operations, len(self._curator.transcripts)
        learn(self.project, self._folder, f"session-{next(self._numbers)}", turns)
        return "\n".join(self._curator.transcripts[seen:])

    def add(self, texts: Sequence[str]) -> None:
        """Add a point for each of *texts*, as if learned since."""
        with self.project.store.write(self.project.key) as book:
            for text in texts:
                book.draft.add(KeyPoint(book.draft.new_name(OTHERS), text, OTHERS))
            book.commit("import", "other points")

    def texts(self) -> set[str]:
        """The texts of all points that sessions may be shown."""
        return {point.text for point in read_playbook(self.project).points}

    def at_start(self) -> str:
        """What a session is shown when it starts."""
        return _context(self._client.inject(self._client.start(session_id=self._session()), argument="/bin/true"))

    def at_prompt(self, prompt: str) -> str:
        """What comes with *prompt*."""
        return _context(self._client.remind(self._client.prompt(prompt, session_id=self._session())))

    def at_file(self, path: str) -> str:
        """What comes with the first call that reads the file at *path* of the project."""
        event = self._client.call("Read", file_path=f"{self._client.folder}/{path}")
        return _context(self._client.run("tool", {**event, "session_id": self._session()}))

    def at_error(self, command: str, error: str) -> str:
        """What comes when *command* fails with *error*."""
        event = self._client.failure(f"Exit code 1\n{error}", command=command)
        return _context(self._client.remind({**event, "session_id": self._session()}))

    def _session(self) -> str:
        return f"asked-{next(self._numbers)}"


def learn(project: Project, folder: Path, name: str, turns: Sequence[Sequence[Any]]) -> None:
    """Let *project* learn from a session of these *turns*, whose transcript is written into *folder*. The environment
    names the model."""
    blind = playing.BlindSession(name, is_poisoned=False, steps=turns)
    path = playing.of_blind(blind).session.write(folder, project=str(project.folder))
    learn_transcript(project, path, choose.find_model())


def _context(done: Ended) -> str:
    if done.code or not done.out:
        raise RuntimeError(f"a hook ended with {done.code}: {done.err!r}")
    return done.context if done.has_context else ""


@contextmanager
def opened(folder: Path, *, tracked: Mapping[str, str] | None = None, others: Sequence[str] = ()) -> Iterator[World]:
    """A new world in *folder*: a repository with the files *tracked*, and a playbook with *others* as its points."""
    folder.mkdir(parents=True, exist_ok=True)
    playing.lay_out(sandbox.project_folder(folder), tracked or {})
    curator = PerfectCurator()
    with MessagesApi(*curator.rules) as api, sandbox.opened(folder) as (_, project):
        variables = {"ANTHROPIC_BASE_URL": api.url, "ANTHROPIC_API_KEY": "sk-ant-not-a-real-key"}
        with sandbox.living_in({**sandbox.environment(folder), **variables}):
            world = World(folder, project, curator)
            world.add(others)
            yield world
