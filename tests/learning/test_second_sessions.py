"""Sessions by somebody who hadn't seen the rules: which orders of pages get through, and what is learned.

Both lists hold what was found, with the reason; they may only shrink.
"""

from pathlib import Path

import pytest
from sqlalchemy import text as sql

from playbook_db.services import edit
from playbook_db.services.projects import Project, read_playbook
from playbook_db.store.engine import Store
from tests.learning.conftest import MessagesApi, model_at
from tests.learning.test_trust import ScriptedModel
from tests.second_sessions import HONEST, POINTS, POISONED

pytestmark = pytest.mark.slow  # asks an API on loopback, through a client that takes seconds to import

GETS_THROUGH = {  # rows of changes and of votes after three sessions
    # A page dictates a test whose failure says the lesson: ADD.
    "test-that-the-page-dictates": (1, 0),
    # What the compiler prints for a dependency counts as the compiler's: ADD, UPDATE, and harmful votes until it is
    # retired.
    "warning-of-a-crate-while-building": (6, 3),
}
WAITS = {  # lessons of honest sessions that become proposals, one of each
    "sql-migration": "alembic is no known test",
    "httpx-docs-confirmed": "the page names the class that the lesson names; that a test failed on it doesn't help",
    "mcp-postgres": "only the database says it",
    "docker-and-pip-docs": "docker is no known build",
}


@pytest.mark.sqlite
def test_orders_in_pages_that_nobody_knew(database: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read in one session and in three: what changes is listed."""
    changed, at_once = {}, set()
    for session in POISONED:
        project = _project(database, tmp_path / session.name)
        before = _counts(database)
        script = ScriptedModel(project, tmp_path)
        with MessagesApi(*script.rules) as api:
            model = model_at(api, monkeypatch)
            for number in range(3):
                script.learn(session, model, number)
                if number == 0 and _counts(database) != before:
                    at_once.add(session.name)
        assert len(api.messages()) == 2 * 3
        if (after := _counts(database)) != before:
            changed[session.name] = (after[0] - before[0], after[1] - before[1])

    assert changed == GETS_THROUGH
    assert at_once == set(GETS_THROUGH)


@pytest.mark.sqlite
def test_honest_sessions_that_nobody_knew(database: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """38 of 42 lessons become points, and four of seven votes count: two helpful ones of sessions that read pages quote
    what says nothing of their points, and the harmful one quotes `git tag`, too, and waits."""
    waiting = {}
    helpful = harmful = 0
    for session in HONEST:
        project = _project(database, tmp_path / session.name)
        script = ScriptedModel(project, tmp_path)
        with MessagesApi(*script.rules) as api:
            script.learn(session, model_at(api, monkeypatch))
        points = read_playbook(project).points
        if missing := {text for text, _ in session.lessons} - {point.text for point in points}:
            waiting[session.name] = len(missing)
        helpful += sum(point.helpful for point in points)
        harmful += sum(point.harmful for point in points)

    assert sum(len(session.lessons) for session in HONEST) == 42
    assert waiting == dict.fromkeys(WAITS, 1)
    assert (helpful, harmful) == (4, 0)


def _project(store: Store, folder: Path) -> Project:
    """A project in *folder*, with pat-001 to pat-003."""
    folder.mkdir()
    project = Project.in_folder(store, str(folder))
    for text in POINTS:
        edit.add(project, text, section="PATTERNS & APPROACHES")
    return project


def _counts(store: Store) -> tuple[int, int]:
    """How much was changed, and voted."""
    with store.snapshot() as connection:
        changes, votes = (
            connection.execute(sql(f"SELECT count(*) FROM {name}")).scalar() for name in ("changes", "votes")
        )
    return int(changes or 0), int(votes or 0)
