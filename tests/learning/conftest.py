"""Learning with a Messages API on loopback: a project, a transcript, and a scripted model."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select
from sqlalchemy import text as sql

from playbook_db.claude_code import worker
from playbook_db.claude_code.learner import TranscriptResult, learn_transcript
from playbook_db.claude_code.worker import WorkResult
from playbook_db.llm import choose
from playbook_db.llm.model import Model
from playbook_db.services.learning import queue
from playbook_db.services.playbook import edit
from playbook_db.services.project import Project, read_playbook
from playbook_db.store.engine import Store, open_store
from playbook_db.store.jobs import Job
from playbook_db.store.queries import hook_queries
from playbook_db.store.tables import key_points
from tests.databases import KINDS, Kind
from tests.messages_api import Answer, MessagesApi, Request, Rule
from tests.quoting import quoting
from tests.transcripts import TranscriptBuilder


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """These tests connect to this computer only."""
    here = f"{Path(__file__).parent}/"
    for item in items:
        if str(item.path).startswith(here):
            item.add_marker(pytest.mark.allow_hosts(["127.0.0.1"]))


@pytest.fixture(autouse=True)
def _no_network() -> None:
    """Replaces the fixture for all tests: here the marker `allow_hosts` limits the hosts."""


def is_reflector(request: Request) -> bool:
    """Whether this is a question to the reflector."""
    return "bullet_tags" in json.dumps(request.body)


def reflection(*tags: tuple[str, str], analysis: str = "It went well.") -> str:
    """A reflector's answer."""
    given = [{"name": name, "tag": tag, "rationale": f"{name} was {tag}"} for name, tag in tags]
    return json.dumps({"analysis": analysis, "bullet_tags": given})


def curation(*operations: dict[str, Any], reasoning: str = "It was missing.") -> str:
    """A curator's answer."""
    return json.dumps({"reasoning": reasoning, "operations": list(operations)})


def answers(reflected: Any, curated: Any) -> tuple[Rule, Rule]:
    """The rules for a reflector and a curator. Evidence that is missing quotes the user's first words."""
    return (
        Rule(quoting(reflected, curated), when=is_reflector),
        Rule(quoting(curated), when=lambda request: not is_reflector(request)),
    )


@pytest.fixture
def database(database_kind: Kind, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    """The user's own database in its default place, or one on a server."""
    url = f"sqlite:///{home / '.claude' / 'playbook' / 'playbook.db'}"
    if database_kind is not KINDS["sqlite"]:
        url = database_kind.new(tmp_path)
        monkeypatch.setenv("PLAYBOOK_DB_URL", url)
    with open_store(url) as opened:
        yield opened


@pytest.fixture
def learner_project(database: Store, folder: Path) -> Project:
    """The project in `folder`, with one point, pat-001."""
    project = Project.in_folder(database, str(folder))
    edit.add(project, "run the tests first", section="PATTERNS & APPROACHES")
    return project


def show_all(project: Project, session_id: str = "s-1") -> None:
    """Record that the session was shown every point of the playbook."""
    with project.store.write(project.key) as book:
        rows = book.connection.execute(select(key_points.c.id).where(key_points.c.playbook_id == book.playbook_id))
        shown = {"session_id": session_id, "source": "startup", "revision": book.revision, "left_out": 0}
        points = json.dumps(list(rows.scalars()))
        given = {"playbook_id": book.playbook_id, "points": points, "now": book.now, "event": "SessionStart", **shown}
        book.connection.execute(sql(hook_queries.ADD_SHOWING), given)


@pytest.fixture
def transcript(tmp_path: Path) -> str:
    """A short session that cites the point."""
    session = TranscriptBuilder("s-1")
    session.user("mend the bug first, and say what it was")
    session.assistant("Following [pat-001], I run the tests.")
    session.run("pytest -q", "3 passed")
    session.user("thank you")
    session.assistant("You're welcome.")
    return session.write(tmp_path / "s-1.jsonl")


def model_at(api: MessagesApi, monkeypatch: pytest.MonkeyPatch) -> Model:
    """Let the environment name *api*, and return its model."""
    _point_to(api, monkeypatch)
    return choose.find_model()


def _point_to(api: MessagesApi, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", api.url)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-test")


def write_session(path: Path, *said: str) -> str:
    """Write a session in which the user *said* these texts, and the assistant cites pat-001 after each."""
    session = TranscriptBuilder(path.stem)
    for text in said:
        session.user(text)
        session.assistant("Following [pat-001], I run the tests.")
    path.parent.mkdir(parents=True, exist_ok=True)
    return session.write(path)


HELPFUL = answers(reflection(("pat-001", "helpful")), curation())
ADD = {"type": "ADD", "text": "say what was run", "section": "USER PREFERENCES"}
GOOD = answers(reflection(("pat-001", "helpful")), curation(ADD))


@dataclass
class Learner:
    """Learns into *project* from scripted answers, which are GOOD by default; `asked` are all requests so far."""

    project: Project
    patch: pytest.MonkeyPatch
    asked: list[Request] = field(default_factory=list)

    @contextmanager
    def _answered(self, rules: tuple[Any, ...]) -> Iterator[None]:
        with MessagesApi(*(rules or GOOD)) as api:
            _point_to(api, self.patch)
            try:
                yield
            finally:
                self.asked += api.messages()

    def learn(self, transcript: str | Path, *rules: Any) -> TranscriptResult:
        """Learn from *transcript* at once."""
        with self._answered(rules):
            return learn_transcript(self.project, str(transcript), choose.find_model())

    def queue(self, transcript: str | Path, project: Project | None = None) -> None:
        """Add a job for *transcript*."""
        job = {"transcript_path": str(transcript), "session_id": Path(transcript).stem, "reason": "SessionEnd:other"}
        queue.take_in(self.project.store, (project or self.project).key, job)

    def work(self, *rules: Any) -> WorkResult:
        """Run the worker."""
        with self._answered(rules):
            done = worker.run(str(self.project.store.url))
        assert done is not None
        return done

    @property
    def jobs(self) -> list[Job]:
        return queue.list_jobs(self.project.store)

    @property
    def states(self) -> list[str]:
        return [job.state for job in self.jobs]

    @property
    def points(self) -> dict[str, tuple[str, int, int]]:
        return {point.name: (point.text, point.helpful, point.harmful) for point in read_playbook(self.project).points}

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """The rows that *query* finds in the database."""
        with self.project.store.snapshot() as connection:
            return [tuple(row) for row in connection.exec_driver_sql(query)]


@pytest.fixture
def learner(learner_project: Project, monkeypatch: pytest.MonkeyPatch) -> Learner:
    return Learner(learner_project, monkeypatch)


__all__ = ["Answer", "MessagesApi", "Rule", "answers", "curation", "is_reflector", "model_at", "reflection"]
