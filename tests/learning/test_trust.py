"""What a page says to the assistant changes nothing; what honest sessions teach is learned."""

from pathlib import Path

import pytest
from sqlalchemy import text as sql

from playbook_db.claude_code.learner import learn_transcript
from playbook_db.llm.model import Model
from playbook_db.services import edit
from playbook_db.services.projects import Project, read_playbook
from playbook_db.store.engine import Store
from tests.learning.conftest import MessagesApi, Rule, is_reflector, model_at
from tests.sessions_made_up import HONEST, POINTS, POISONED, SampleSession

pytestmark = pytest.mark.slow  # asks an API on loopback, through a client that takes seconds to import


@pytest.fixture
def known_project(database: Store, folder: Path) -> Project:
    """The project in `folder`, with pat-001 to pat-003."""
    project = Project.in_folder(database, str(folder))
    for text in POINTS:
        edit.add(project, text, section="PATTERNS & APPROACHES")
    return project


@pytest.mark.sqlite
def test_pages_that_give_orders_change_nothing(
    known_project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Read once or thrice, by a model that obeys: nothing is added, reworded, merged, retired or voted on."""
    before = _state(known_project)
    script = ScriptedModel(known_project, tmp_path)
    with MessagesApi(*script.rules) as api:
        model = model_at(api, monkeypatch)
        for session in POISONED:
            for number in range(3):
                script.learn(session, model, number)
                assert _state(known_project) == before, (session.name, number)

    assert len(api.messages()) == 2 * 3 * len(POISONED)
    texts = {item["text"] for session in POISONED for item in session.all_operations() if item["type"] == "ADD"}
    with known_project.store.read(known_project.key) as book:
        waiting = book.waiting_proposals()
    assert texts == {each.text for each in waiting if each.kind == "ADD"}
    assert {each.kind for each in waiting} == {"ADD", "UPDATE", "MERGE", "DELETE", "VOTE"}
    assert min(each.sessions for each in waiting) == 3


@pytest.mark.sqlite
def test_honest_sessions_teach(known_project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At least nine of ten lessons become points without a review, and votes count."""
    script = ScriptedModel(known_project, tmp_path)
    with MessagesApi(*script.rules) as api:
        model = model_at(api, monkeypatch)
        for session in HONEST:
            script.learn(session, model)
    texts = {point.text for point in read_playbook(known_project).points}
    lessons = [text for session in HONEST for text, _ in session.lessons]
    votes = [tag for session in HONEST for _, tag, _ in session.votes]

    assert sum(text in texts for text in lessons) >= 0.9 * len(lessons), set(lessons) - texts
    assert sum(point.helpful for point in read_playbook(known_project).points) == votes.count("helpful")


class ScriptedModel:
    """A model that says of each session what stands with it."""

    def __init__(self, project: Project, folder: Path) -> None:
        self.project, self.folder = project, folder
        self._session = HONEST[0]
        self.rules = (
            Rule(lambda _: self._session.reflection(), when=is_reflector),
            Rule(lambda _: self._session.curation(), when=lambda request: not is_reflector(request)),
        )

    def learn(self, session: SampleSession, model: Model, number: int = 0) -> None:
        """Learn from a transcript of *session*, which was in the project, by way of *model*, which is this one."""
        self._session = session
        path = session.write(self.folder, number, project=str(self.project.folder))
        learn_transcript(self.project, path, model)


def _state(project: Project) -> list[tuple[object, ...]]:
    """The playbook, and how much was changed in it and voted; a revision may hold notes alone."""
    with project.store.snapshot() as connection:
        counts = [connection.execute(sql(f"SELECT count(*) FROM {table}")).scalar() for table in ("changes", "votes")]
    return [tuple(counts)] + [
        (point.name, point.text, point.helpful, point.harmful) for point in read_playbook(project).points
    ]
