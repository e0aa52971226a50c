"""Learning against a Messages API on loopback: a project, a transcript, and a model that says what it is told to."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select
from sqlalchemy import text as sql

from playbook_db.llm import choose
from playbook_db.llm.model import Model
from playbook_db.services.playbook import edit
from playbook_db.services.project import Project
from playbook_db.store.engine import Store, open_store
from playbook_db.store.queries import hook_queries
from playbook_db.store.tables import key_points
from tests.databases import KINDS, Kind
from tests.messages_api import Answer, MessagesApi, Request, Rule
from tests.quoting import quoting
from tests.transcripts import TranscriptBuilder


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """No socket of these tests connects anywhere but here."""
    here = f"{Path(__file__).parent}/"
    for item in items:
        if str(item.path).startswith(here):
            item.add_marker(pytest.mark.allow_hosts(["127.0.0.1"]))


@pytest.fixture(autouse=True)
def _no_network() -> None:
    """In place of the one for all tests, which allows no socket at all: the marker `allow_hosts` does it here."""


def is_reflector(request: Request) -> bool:
    """Whether the reflector asks."""
    return "bullet_tags" in json.dumps(request.body)


def reflection(*tags: tuple[str, str], analysis: str = "It went well.") -> str:
    """A reflector's answer."""
    told = [{"name": name, "tag": tag, "rationale": f"{name} was {tag}"} for name, tag in tags]
    return json.dumps({"analysis": analysis, "bullet_tags": told})


def curation(*operations: dict[str, Any], reasoning: str = "It was missing.") -> str:
    """A curator's answer."""
    return json.dumps({"reasoning": reasoning, "operations": list(operations)})


def answers(reflected: Any, curated: Any) -> tuple[Rule, Rule]:
    """The rules for a reflector and a curator; what lacks evidence quotes the user's first words."""
    return (
        Rule(quoting(reflected, curated), when=is_reflector),
        Rule(quoting(curated), when=lambda request: not is_reflector(request)),
    )


@pytest.fixture
def database(database_kind: Kind, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    """The user's own database, as hooks and worker find it, or one on a server."""
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
    """Put on record that the session was shown every point of the playbook."""
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
    """The model behind *api*, as the environment names it."""
    monkeypatch.setenv("ANTHROPIC_BASE_URL", api.url)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-test")
    return choose.find_model()


__all__ = ["Answer", "MessagesApi", "Rule", "answers", "curation", "is_reflector", "model_at", "reflection"]
