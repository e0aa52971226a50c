"""The replica of a team's playbook: it has only what hooks need."""

import os
import stat
from contextlib import closing
from pathlib import Path

import pytest

from playbook_db.services.playbook import edit, import_export
from playbook_db.services.project import LastKnownProject, Project, read_playbook
from playbook_db.services.reading import history
from playbook_db.store import sqlite_open
from playbook_db.store.team import replica


def _written(project: Project, folder: Path) -> Path:
    path = folder / "replica.db"
    replica.write(str(path), replica.read(project.store, project.key))
    return path


@pytest.mark.postgres
def test_replica_answers_as_the_database_does(project: Project, tmp_path: Path) -> None:
    """Only its owner can read the file."""
    for number in range(5):
        edit.add(project, f"point {number}", section="PATTERNS & APPROACHES")
    edit.vote(project, "pat-001", "helpful", "pat-003")
    edit.edit(project, "pat-002", text="another text")
    edit.retire(project, "pat-004", reason="wrong")
    edit.pin(project, "pat-003")
    with project.store.write(project.key) as book:
        for text in ("words of a page", "more words of it"):
            book.add_proposal({"text": text}, "ADD", (), "outside", "of a page")
        book.decide([1], "accepted", "ann", 8)
    path = _written(project, tmp_path)

    with replica.opened(str(path)) as store:
        copy = Project(store, project.key)
        known = LastKnownProject(store, project.key, own=project)
        assert read_playbook(copy) == read_playbook(project)
        assert import_export.prompt(copy) == import_export.prompt(project)
        for name in ("pat-001", "pat-002", "pat-004"):
            point, same = history.point_in_full(known, name).details, edit.find(project, name)
            assert (point.point.text, point.retired, point.extra) == (same.point.text, same.retired, same.extra)
            one, other = point.lifespan, same.lifespan
            assert (one.created_at, one.changed_in, one.changed_at) == (
                other.created_at, other.changed_in, other.changed_at,
            )  # fmt: skip
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    changed_at = history.point_in_full(project, "pat-004").details.lifespan.changed_at
    assert replica.state(str(path), project.key) == replica.State(8, changed_at, 4, ((2, -1, -1), (3, 1, 0)))
    assert b"of a page" not in path.read_bytes()


@pytest.mark.sqlite
def test_replica_has_no_history(project: Project, tmp_path: Path) -> None:
    """So it stays small, however often a point is voted on."""
    edit.add(project, "an older text", section="PATTERNS & APPROACHES")
    edit.edit(project, "pat-001", text="the text")
    for _ in range(30):
        edit.vote(project, "pat-001", "helpful")
    path = _written(project, tmp_path)

    assert b"an older text" not in path.read_bytes()
    assert path.stat().st_size < 100_000
    with closing(sqlite_open.open_replica(str(path))) as connection:
        assert connection.execute("SELECT count(*) FROM changes").fetchone() == (2,)
        assert connection.execute("SELECT count(*) FROM votes").fetchone() == (0,)
        plan = connection.execute("EXPLAIN QUERY PLAN SELECT * FROM changes WHERE playbook_id = 1 AND point_id = 1")
        assert "ix_changes_point" in plan.fetchone()[3]  # the planner has statistics, as in other files
