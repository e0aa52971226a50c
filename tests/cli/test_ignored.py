"""How often sessions followed or ignored a point: what the commands say, and what they propose."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from playbook_db import settings
from playbook_db.claude_code.setup import guards
from playbook_db.domain.trust.following import Trial
from playbook_db.services.project import Project
from playbook_db.store.engine import open_store
from playbook_db.store.queries import hook_queries, list_queries
from tests.cli.conftest import Playbook

PYTEST = "Run tests with `uv run pytest`, never bare `pytest`."
OFTEN = "often ignored"


def tried(project: Project, name: str, *trials: Trial, begin: int = 1) -> None:
    """Record that sessions, numbered from *begin*, were shown the point and did so."""
    with project.store.write(project.key) as book:
        number = list_queries.point_id(book, name)
        assert number is not None
        for at, trial in enumerate(trials, begin):
            showing = {"session_id": f"s-{at}", "source": "startup", "revision": 1, "left_out": 0}
            where = {"playbook_id": book.playbook_id, "points": f"[{number}]", "event": "SessionStart"}
            book.execute(hook_queries.ADD_SHOWING, {**showing, **where, "now": book.now})
            book.add_trial(number, trial, session_id=f"s-{at}")


@pytest.fixture
def project(folder: Path, playbook: Playbook) -> Iterator[Project]:
    playbook("add", PYTEST)
    playbook("add", "Say what was run.")
    with open_store(settings.database_url()) as store:
        yield Project.in_folder(store, str(folder))


def test_ignored_points_are_counted_by_session(project: Project, playbook: Playbook) -> None:
    """A session may ignore it several times, and follow it later."""
    assert "ignored" not in playbook("why", "oth-001").out
    tried(project, "oth-002", Trial(), Trial(), Trial(followed=True), Trial(True, 3, 3), Trial(False, 2, 1))

    said = playbook("why", "oth-002").out.splitlines()
    assert "Shown in 5 sessions, followed in 2, ignored in 2, which cost 4 failed calls." in said
    counts = {"shown": 5, "followed": 2, "ignored": 2, "failed_calls": 4}
    assert counts.items() <= playbook("why", "oth-002", "--json").json.items()
    assert [line.split("\t")[0] for line in playbook("list", "--sort", "ignored").out.splitlines()] == [
        "oth-002",
        "oth-001",
    ]
    assert [line.split("\t")[5:] for line in playbook("list").out.splitlines()] == [[], ["ignored 2"]]
    assert [each["sessions_ignored"] for each in playbook("list", "--json").json] == [0, 2]


def test_points_ignored_three_times_are_named(project: Project, playbook: Playbook, folder: Path) -> None:
    """Until a person adds a guard or another wording."""
    tried(project, "oth-001", Trial(ignored=1), Trial(ignored=1))
    assert OFTEN not in playbook("status").out
    tried(project, "oth-001", Trial(True, 1, 1), begin=3)

    (line,) = (line for line in playbook("status").out.splitlines() if line.startswith(OFTEN))
    assert "oth-001, in 3 sessions. To reword it: playbook edit oth-001" in line
    assert line.endswith("playbook guard oth-001 --on PATTERN")
    proposed = {"name": "oth-001", "sessions": 3}
    assert playbook("status", "--json").json["often_ignored"] == [proposed]
    assert guards.read(str(folder)) == []
    playbook("guard", "oth-001", "--on", "Bash(pytest *)")
    assert OFTEN not in playbook("status").out
    playbook("unguard", "oth-001")
    assert OFTEN in playbook("status").out
    playbook("edit", "oth-001", "--text", "Always run tests with `uv run pytest`.")
    assert OFTEN not in playbook("status").out
