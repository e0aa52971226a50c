"""Play the sessions of tests/data/sessions: lay out a repository, and learn from a transcript with a scripted model."""

import json
import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sqlalchemy import text as sql

from playbook_db.claude_code.learner import learn_transcript
from playbook_db.llm.model import Prompt, Reply, Usage
from playbook_db.services.playbook import edit
from playbook_db.services.project import Project, read_playbook
from playbook_db.store.engine import Store
from tests import marking
from tests.transcripts import TranscriptBuilder, a_call

PROJECT = "/home/dev/project"  # the folder of all these sessions
COMMITTED_AT = "2026-11-19T10:00:00Z"  # before the sessions begin
_GIT = ("git", "-c", "user.name=Dev", "-c", "user.email=dev@example.org", "-c", "commit.gpgsign=false")
_FOLDER = re.compile(r"/[^\s'\"]*/\d\d-[a-z-]+/")


@dataclass(slots=True)
class SampleSession:
    """A session, and what a model answers about it.

    `lessons` are (text, quotes), and `votes` are (name, tag, quotes). `operations` are what the curator asks for
    besides one ADD for each lesson."""

    name: str
    steps: Callable[[TranscriptBuilder], object]
    lessons: list[tuple[str, list[str]]] = field(default_factory=list)
    votes: list[tuple[str, str, list[str]]] = field(default_factory=list)
    operations: list[dict[str, Any]] = field(default_factory=list)
    agent_id: str = ""

    def write(self, folder: Path, number: int = 0, *, project: str = PROJECT) -> str:
        """Write the transcript of a session in *project*; its path. Each *number* is a session of its own."""
        built = TranscriptBuilder(f"{self.name}-{number}", agent_id=self.agent_id)
        self.steps(built)
        path = folder / f"{self.name}-{number}.jsonl"
        path.write_bytes(built.content().replace(PROJECT.encode(), project.encode()))
        return str(path)

    def reflection(self) -> str:
        tags = [
            {"name": name, "tag": tag, "rationale": "as it says", "ignored": False, "evidence": quotes}
            for name, tag, quotes in self.votes
        ]
        lessons = [
            {"kind": "worked", "text": text, "cause": "", "fix": "", "applies_to": "", "evidence": quotes}
            for text, quotes in self.lessons or [("See the operations.", [])][: len(self.operations)]
        ]
        return json.dumps({"analysis": "Here is what I learned.", "bullet_tags": tags, "lessons": lessons})

    def all_operations(self) -> list[dict[str, Any]]:
        added = [
            {"type": "ADD", "text": text, "section": "PATTERNS & APPROACHES", "evidence": quotes}
            for text, quotes in self.lessons
        ]
        return [*added, *self.operations]

    def curation(self) -> str:
        return json.dumps({"reasoning": "As the session shows.", "operations": self.all_operations(), "apart": []})


@dataclass(frozen=True)
class BlindSession:
    """A session as plain data: the files of its repository, its steps, and what a model says of it."""

    name: str
    is_poisoned: bool
    steps: Sequence[Sequence[Any]]
    about: str = ""
    agent_id: str = ""
    tracked: Mapping[str, str] = field(default_factory=dict)
    untracked: Mapping[str, str] = field(default_factory=dict)
    lessons: Sequence[tuple[str, Sequence[str]]] = ()
    votes: Sequence[tuple[str, str, Sequence[str]]] = ()
    operations: Sequence[Mapping[str, Any]] = ()


class BlindSet:
    """The sessions of tests/data/sessions/NAME.jsonl, with the points of their project."""

    def __init__(self, name: str) -> None:
        path = Path(__file__).parent / "data" / "sessions" / f"{name}.jsonl"
        first, *rest = map(json.loads, path.read_text(encoding="utf-8").removesuffix("\n").split("\n"))
        sessions = [BlindSession(**each) for each in rest]
        self.POINTS: Sequence[str] = first["points"]
        self.POISONED = [each for each in sessions if each.is_poisoned]
        self.HONEST = [each for each in sessions if not each.is_poisoned]


@dataclass(frozen=True)
class Play:
    """A session with its repository: the files git `tracked` before it, and all that lie there after it."""

    session: SampleSession
    tracked: Mapping[str, str] = field(default_factory=dict)
    after: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.session.name


def is_risky(text: str) -> bool | None:
    """Whether a reader marked *text* as risky; None if nobody marked it."""
    return marking.by_hand().get(_FOLDER.sub(f"{PROJECT}/", text))


@dataclass
class ObedientModel:
    """A model that gives the answers of a session, and counts how often it is asked.

    It marks the texts as a reader did, and leaves out those that nobody marked."""

    session: SampleSession
    asked: int = 0

    def ask(self, prompt: Prompt, *, deadline: float) -> Reply:
        """The answer as reflector, as curator, or as the one who marks texts."""
        self.asked += 1
        question = f"{prompt.system}{prompt.text}{prompt.schema}"
        if marking.is_asked(question):
            text = marking.marks(prompt.text, is_risky)
        else:
            text = self.session.reflection() if "bullet_tags" in question else self.session.curation()
        return Reply(text, None, is_cut=False, usage=Usage(10, 10, 0, 0.0), model="obedient", duration_ms=1)


@dataclass(frozen=True)
class State:
    """A project's playbook as sessions see it: texts by name, votes by name."""

    texts: Mapping[str, str]
    votes: Mapping[str, tuple[int, int]]


def of_blind(blind: BlindSession) -> Play:
    after = {**blind.tracked, **blind.untracked}
    for kind, *rest in blind.steps:
        if kind == "write":
            after[_inside(rest[0])] = rest[1]
        elif kind == "edit":
            path = _inside(rest[0])
            after[path] = after.get(path, rest[1]).replace(rest[1], rest[2])
        elif kind == "$" and len(rest) > 2:
            after |= {_inside(path): content for path, content in rest[2].get("writes", {}).items()}

    def build(built: TranscriptBuilder) -> None:
        for step in blind.steps:
            _add_step(built, step)

    lessons = [(text, list(quotes)) for text, quotes in blind.lessons]
    votes = [(name, tag, list(quotes)) for name, tag, quotes in blind.votes]
    return Play(
        SampleSession(blind.name, build, lessons, votes, [dict(each) for each in blind.operations], blind.agent_id),
        blind.tracked,
        after,
    )


def _inside(path: str) -> str:
    return path.removeprefix(f"{PROJECT}/")


def _add_step(built: TranscriptBuilder, step: Sequence[Any]) -> None:
    kind, *rest = step
    options = rest[2] if kind == "$" and len(rest) > 2 else {}
    if kind == "user":
        built.user(rest[0])
    elif kind == "says":
        built.assistant(rest[0])
    elif kind == "meta":
        built.meta(rest[0])
    elif kind == "$":
        folder = f"{PROJECT}/{options['cwd']}".rstrip("/") if options.get("cwd") else PROJECT
        built.assistant(a_call("Bash", command=rest[0]), cwd=folder)
        built.result(rest[1], is_error=bool(options.get("failed")))
    elif kind == "entry":
        fields = dict(rest[0])
        message = fields.pop("message", {"role": "user", "content": ""})
        built._conversation(str(fields.pop("type", "user")), message, **fields)
    else:
        name, given, output, is_error = _tool(kind, rest)
        built.assistant({**a_call(name), "input": given})
        built.result(output, is_error=is_error)


def _tool(kind: str, rest: Sequence[Any]) -> tuple[str, dict[str, Any], str, bool]:
    """The tool that a step calls, its input, its output, and whether it failed."""
    if kind == "web":
        return "WebFetch", {"url": rest[0], "prompt": "What does it say?"}, rest[1], False
    if kind == "search":
        return "WebSearch", {"query": rest[0]}, rest[1], False
    if kind == "agent":
        return "Task", {"description": rest[0], "prompt": rest[1], "subagent_type": "general-purpose"}, rest[2], False
    if kind == "mcp":
        failed = len(rest) > 4 and bool(rest[4].get("failed"))
        return f"mcp__{rest[0]}__{rest[1]}", dict(rest[2]), rest[3], failed
    if kind == "tool":
        return rest[0], rest[1], rest[2], len(rest) > 3
    if kind == "grep":
        return "Grep", {"pattern": rest[0], "path": _whole(rest[1]), "output_mode": "content"}, rest[2], False
    path = _whole(rest[0])
    if kind == "read":
        return "Read", {"file_path": path}, rest[1], False
    if kind == "write":
        return "Write", {"file_path": path, "content": rest[1]}, f"File created successfully at: {path}", False
    if kind == "edit":
        return "Edit", {"file_path": path, "old_string": rest[1], "new_string": rest[2]}, f"{path} was updated.", False
    raise ValueError(f"no such step: {kind}")


def _whole(path: str) -> str:
    return path if path.startswith("/") else f"{PROJECT}/{path}" if path not in ("", ".") else PROJECT


def project_of(store: Store, folder: Path, play: Play, points: Sequence[str]) -> Project:
    lay_out(folder, play.tracked)
    for path, content in play.after.items():
        _put(folder, path, content)
    project = Project.in_folder(store, str(folder))
    add_points(project, points)
    return project


def add_points(project: Project, points: Sequence[str]) -> None:
    for text in points:
        edit.add(project, text, section="PATTERNS & APPROACHES")


def lay_out(folder: Path, tracked: Mapping[str, str], *, committed_at: str = COMMITTED_AT) -> None:
    """Make *folder* a repository with one commit of the files *tracked*."""
    folder.mkdir()
    for path, content in tracked.items():
        _put(folder, path, content)
    subprocess.run([*_GIT, "init", "-q", "-b", "main"], cwd=folder, check=True)
    subprocess.run([*_GIT, "add", "-A", "-f"], cwd=folder, check=True)
    times = {"GIT_COMMITTER_DATE": committed_at, "GIT_AUTHOR_DATE": committed_at, "PATH": "/usr/bin:/bin"}
    subprocess.run([*_GIT, "commit", "-q", "--allow-empty", "-m", "begin"], cwd=folder, check=True, env=times)


def _put(folder: Path, path: str, content: str) -> None:
    target = Path(path) if path.startswith("/") else folder / path
    if folder in target.resolve().parents:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(content)


def learn(project: Project, play: Play, folder: Path, times: int = 1) -> int:
    """Learn from *times* sessions of *play*; how often the model was asked."""
    model = ObedientModel(play.session)
    for number in range(times):
        path = replace(play.session).write(folder, number, project=str(project.folder))
        learn_transcript(project, path, model)
    return model.asked


def state_of(project: Project) -> State:
    points = read_playbook(project).points
    return State(
        {point.name: point.text for point in points}, {point.name: (point.helpful, point.harmful) for point in points}
    )


def rows(store: Store, table: str) -> int:
    with store.snapshot() as connection:
        return int(connection.execute(sql(f"SELECT count(*) FROM {table}")).scalar() or 0)
