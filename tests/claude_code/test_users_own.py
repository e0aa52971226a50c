"""The user's own points go before each session, behind those of its project."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from playbook_db.services.playbook import edit
from playbook_db.services.project import Project
from playbook_db.store.engine import open_store
from tests.claude_code import running
from tests.claude_code.running import Client

pytestmark = pytest.mark.slow  # starts processes

_SHOWN = """
SELECT p.kind, i.points, i.left_out, i.revision FROM showings AS i JOIN playbooks AS p ON p.id = i.playbook_id
ORDER BY p.kind
"""
HEADER = "## USER PREFERENCES (the user's own, in every project)"


@pytest.fixture
def client(folder: Path, home: Path) -> Client:
    """The client in the project's folder, whose playbook has two points; its hooks have all the time there is."""
    made = running.a_client(folder, home, is_patient=True)
    made.add("use uv for everything", "say why")
    return made


def _add_own(client: Client, *texts: str) -> None:
    with open_store(f"sqlite:///{client.database}") as store:
        for text in texts:
            edit.add(Project.of_user(store), text, section="pref")


def _shown(client: Client) -> list[tuple[str, str, int, int]]:
    with closing(sqlite3.connect(client.database)) as connection:
        return connection.execute(_SHOWN).fetchall()


def test_own_points_follow_the_projects(client: Client) -> None:
    alone = client.inject().context
    _add_own(client, "answer briefly", "use English names")

    told = client.inject(client.start("clear")).context

    own = f"\n\n{HEADER}\n[upref-001] helpful=0 harmful=0 :: answer briefly\n"
    own += "[upref-002] helpful=0 harmful=0 :: use English names"
    before, _, after = alone.partition("[oth-002] helpful=0 harmful=0 :: say why")
    assert told == f"{before}[oth-002] helpful=0 harmful=0 :: say why{own}{after}"
    assert _shown(client) == [("project", "[1,2]", 0, 2), ("project", "[1,2]", 0, 2), ("user", "[1,2]", 0, 2)]


def test_new_project_shows_own_points(client: Client, tmp_path: Path) -> None:
    _add_own(client, "answer briefly")
    (tmp_path / "new").mkdir()
    told = client.inject(client.start(cwd=str(tmp_path / "new")), CLAUDE_PROJECT_DIR=str(tmp_path / "new")).context
    assert f"\n\n{HEADER}\n[upref-001] helpful=0 harmful=0 :: answer briefly\n\n" in told
    assert "use uv" not in told
    assert _shown(client) == [("user", "[1]", 0, 1)]
