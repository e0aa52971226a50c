"""Merging, moving and removing the playbooks of folders, and recognizing repositories."""

import subprocess
from pathlib import Path

import pytest

from playbook_db.domain.trust.evidence import Evidence
from playbook_db.services import opening
from playbook_db.services.identity import settle
from playbook_db.services.learning import queue
from playbook_db.services.playbook import edit, review
from playbook_db.services.project import Project, initialize, list_projects, place_of
from playbook_db.services.reading import status
from playbook_db.store.engine import Store, runner_of
from tests.learning.conftest import show_all

pytestmark = pytest.mark.sqlite
JOB = {"session_id": "s-1", "transcript_path": "/t/1.jsonl", "reason": "test"}


def _project(store: Store, folder: Path, *texts: str) -> Project:
    folder.mkdir(parents=True, exist_ok=True)
    project = Project.in_folder(store, str(folder))
    for text in texts:
        edit.add(project, text)
    return project


def _points(store: Store, key: str) -> list[tuple[str, str, int]]:
    with store.read(key) as book:
        return [(point.name, point.text, point.helpful) for point in book.live_points()]


@pytest.mark.postgres
def test_move_merges_both_playbooks(store: Store, tmp_path: Path) -> None:
    """Votes, evidence, proposals, jobs and showings come along."""
    old = _project(store, tmp_path / "old", "use uv", "use ruff")
    new = _project(store, tmp_path / "new", "use mypy", "Use uv.")
    edit.vote(new, "oth-001", "helpful")
    edit.vote(new, "oth-002", "helpful")
    evidence = (Evidence("mypy, please", "the user", "user"),)
    with store.write(new.key) as book:
        book.add_proposal({"type": "UPDATE", "target_id": "oth-001", "text": "x"}, "UPDATE", evidence, "user", "s-1")
        book.move_cursor("/t/2.jsonl", 7, session_id="s-2", first_uuid="u")
    show_all(new)
    queue.take_in(store, new.key, JOB)

    moved = opening.move(store, old.key, new.key)

    assert moved == (old.key, new.key)
    assert _points(store, new.key) == [("oth-001", "use uv", 1), ("oth-002", "use ruff", 0), ("oth-003", "use mypy", 1)]
    with store.read(new.key) as book:
        assert (book.revision, book.learned_to("/t/2.jsonl")) == (3, 7)
        assert set(book.shown_to("s-1")) == {"oth-001", "oth-003"}
        votes = book.connection.exec_driver_sql(
            f"SELECT count(*) FROM votes WHERE revision = 3 AND playbook_id = {book.playbook_id}"
        ).scalar()
    assert votes == 2
    (item,) = review.all_waiting(Project.in_folder(store, new.key))
    assert (item.proposal.operation["target_id"], item.proposal.evidence) == ("oth-003", evidence)
    assert [job.key for job in queue.list_jobs(store)] == [new.key]
    assert [each.key for each in list_projects(store)] == [new.key]
    opening.move(store, new.key, _project(store, tmp_path / "third").key)


def test_subfolders_join_their_repository(store: Store, tmp_path: Path) -> None:
    """Projects of their own and inner repositories stay."""
    repository = tmp_path / "repo"
    (repository / ".git").mkdir(parents=True)
    stray, own, inner = (_project(store, repository / name, f"in {name}") for name in ("src", "own", "inner"))
    (repository / "inner" / ".git").mkdir()
    initialize(own)
    messages: list[str] = []

    for _ in range(2):
        opening.join_strays(store, messages.append)

    assert _points(store, str(repository)) == [("oth-001", "in src", 0)]
    assert [each.key for each in list_projects(store)] == sorted([str(repository), own.key, inner.key])
    assert [stray.key in line and str(repository) in line for line in messages] == [True]


def test_removed_playbook_leaves_nothing(store: Store, tmp_path: Path) -> None:
    """Other playbooks stay as they are."""
    doomed, other = (_project(store, tmp_path / name, "use uv", "use ruff") for name in ("doomed", "other"))
    show_all(doomed)
    queue.take_in(store, doomed.key, JOB)

    opening.remove(store, doomed.key)

    assert [each.key for each in list_projects(store)] == [other.key]
    assert _points(store, other.key) == [("oth-001", "use uv", 0), ("oth-002", "use ruff", 0)]
    _project(store, tmp_path / "doomed", "use mypy")
    with store.read(doomed.key) as book:
        assert [point.text for point, _ in book.search("uv ruff mypy").points] == ["use mypy"]
    with store.transaction() as connection, pytest.raises(Exception, match="append-only"):
        connection.exec_driver_sql("DELETE FROM revisions")


def _git(folder: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=test", "-c", "user.email=test@example.invalid")
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


def _repository(folder: Path, origin: str, *, first: str = "first") -> Path:
    folder.mkdir(parents=True)
    _git(folder, "init", "-q")
    _git(folder, "commit", "-qm", first, "--allow-empty")
    if origin:
        _git(folder, "remote", "add", "origin", origin)
    return folder


@pytest.mark.slow
def test_another_repository_in_a_folder_is_separate(store: Store, tmp_path: Path) -> None:
    """Containers mount each project at the same path."""
    place = _repository(tmp_path / "workspace", "git@github.com:me/one.git")
    one = _project(store, place, "use uv")
    assert settle(store, str(place)) == one.key
    place.rename(tmp_path / "aside")
    _repository(place, "https://me:secret@github.com/me/two", first="another")

    hook = place_of(store, str(place))
    two = settle(store, str(place))

    assert hook == (str(place), two) == (str(place), f"{place}//github.com/me/two")
    with store.snapshot() as connection:
        advice = status.moved_from(runner_of(connection), str(place))
    assert advice.startswith(f"{place} has another repository than before")
    assert advice.endswith(f"playbook project move {place} {place}")
    edit.add(Project.in_folder(store, str(place)), "use npm")
    assert _points(store, two) == [("oth-001", "use npm", 0)]
    opening.move(store, str(place), str(place))  # the user says that it is the same
    assert settle(store, str(place)) == one.key
    assert [text for _, text, _ in _points(store, one.key)] == ["use uv", "use npm"]


@pytest.mark.slow
def test_repository_with_a_new_origin_is_the_same(store: Store, tmp_path: Path) -> None:
    """The worker recognizes the root commit."""
    place = _repository(tmp_path / "app", "git@github.com:me/old.git")
    project = _project(store, place, "use uv")
    settle(store, str(place))
    _git(place, "remote", "set-url", "origin", "git@github.com:me/new.git")
    _, key = place_of(store, str(place))
    queue.take_in(store, key, JOB)
    assert key != project.key

    opening.join_strays(store, lambda _: None)

    assert place_of(store, str(place)) == (str(place), project.key)
    assert [job.key for job in queue.list_jobs(store)] == [project.key]


@pytest.mark.slow
@pytest.mark.parametrize("origin", ["git@github.com:me/app.git", ""])
def test_moved_folder_is_recognized(store: Store, tmp_path: Path, origin: str) -> None:
    """A second clone is no moved folder."""
    place = _repository(tmp_path / "app", origin)
    project = _project(store, place, "use uv")
    settle(store, str(place))
    _git(tmp_path, "clone", "-q", str(place), str(tmp_path / "clone"))

    with store.snapshot() as connection:
        reader = runner_of(connection)
        assert status.moved_from(reader, str(tmp_path / "clone")) == ""
        place.rename(tmp_path / "moved here")
        assert f"this looks like {project.key}, moved" in status.moved_from(reader, str(tmp_path / "moved here"))
