"""Which project a session teaches if its folder or its transcript moved or is gone."""

import os
import shutil
import time
from pathlib import Path

import pytest

from playbook_db import settings
from playbook_db.claude_code import worker
from playbook_db.claude_code.hooks import spool
from playbook_db.services.learning import queue
from playbook_db.services.playbook import edit
from playbook_db.services.project import Project, ignore, initialize, is_ignored, list_projects, place_of
from playbook_db.store.engine import Store
from tests.builders import a_worktree
from tests.claude_code import running
from tests.claude_code.running import SESSION, Client
from tests.learning.conftest import HELPFUL, Learner, show_all, write_session

SAID = "mend the bug, please"


@pytest.fixture
def repository(tmp_path: Path, database: Store) -> Project:
    """A repository with one point, pat-001."""
    (tmp_path / "repo" / ".claude" / "worktrees").mkdir(parents=True)
    (tmp_path / "repo" / ".git").mkdir()
    project = Project.in_folder(database, str(tmp_path / "repo"))
    edit.add(project, "run the tests first", section="PATTERNS & APPROACHES")
    return project


@pytest.mark.slow
@pytest.mark.sqlite
@pytest.mark.parametrize(("is_inside", "has_end"), [(True, True), (False, False)])
def test_removed_worktree_teaches_its_project(
    repository: Project, tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch, is_inside: bool, has_end: bool
) -> None:
    """Claude Code removes it before the session's end, and moves the transcript. Perhaps no hook runs at the end."""
    main = Path(repository.key)
    linked = a_worktree(main, main / ".claude" / "worktrees" / "fix" if is_inside else tmp_path / "fix")
    client = Client(linked, Path(settings.sqlite_file(settings.database_url()) or ""), home, is_patient=True)
    running.write_worker(client)
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(linked))
    client.inject()
    shutil.rmtree(linked)
    shutil.rmtree(main / ".git" / "worktrees")
    path = write_session(home / ".claude" / "projects" / "the-main-folder" / f"{SESSION}.jsonl", SAID)
    os.utime(path, (time.time() - 7200,) * 2)
    if has_end:
        client.enqueue(cwd=main)
    else:
        (record,) = (home / ".claude" / "playbook" / "spool").glob(f"*{spool.STARTED}")
        os.utime(record, (time.time() - 7200,) * 2)
    show_all(repository, SESSION)
    learner = Learner(repository, monkeypatch)

    done = learner.work(*HELPFUL)

    assert (done.learned, done.lost, done.failed) == (1, 0 if has_end else 1, 0)
    assert learner.points["pat-001"][1] == 1
    assert [each.key for each in list_projects(repository.store)] == [repository.key]


@pytest.mark.slow
@pytest.mark.parametrize("is_elsewhere", [False, True])
def test_moved_transcript_is_learned_once(learner: Learner, home: Path, tmp_path: Path, is_elsewhere: bool) -> None:
    """Also if it moved to another project, and went on there."""
    first = Path(write_session(home / ".claude" / "projects" / "one" / f"{SESSION}.jsonl", SAID))
    show_all(learner.project, SESSION)
    (tmp_path / "other").mkdir()
    other = Project.in_folder(learner.project.store, str(tmp_path / "other")) if is_elsewhere else learner.project
    learner.queue(first)
    learner.work(*HELPFUL)
    asked = len(learner.asked)
    moved = home / ".claude" / "projects" / "two" / first.name
    moved.parent.mkdir()
    first.rename(moved)
    learner.queue(moved, other)
    learner.work(*HELPFUL)
    assert len(learner.asked) == asked > 0

    learner.queue(write_session(moved, SAID, SAID), other)
    learner.work(*HELPFUL)

    assert len(learner.asked) > asked
    assert learner.points["pat-001"][1] == (1 if is_elsewhere else 2)


@pytest.mark.slow
def test_missing_temporary_folder_learns_nothing(
    learner: Learner, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`jobs` says why. A project that moved is learned from."""
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    monkeypatch.setattr("playbook_db.projects.temporary_folders", lambda: iter([str(tmp_path / "temporary")]))
    path = write_session(home / ".claude" / "projects" / "one" / f"{SESSION}.jsonl", SAID)
    for name in ("temporary/try", "moved away"):
        learner.queue(path, Project(learner.project.store, str(tmp_path / name)))
        learner.work(*HELPFUL)
        assert bool(learner.asked) == (name == "moved away")

    skipped = learner.jobs[0]
    assert skipped.state == "done"
    assert (skipped.error or "").endswith("try was temporary and is gone, so nothing was learned")


def test_job_without_a_transcript_is_done(learner: Learner, tmp_path: Path) -> None:
    """A session in which nothing was said leaves no transcript."""
    learner.queue(tmp_path / "none.jsonl")

    worker.run(str(learner.project.store.url))

    (done,) = learner.jobs
    assert done.state == "done"
    assert done.error == f"Claude Code left no transcript at {tmp_path / 'none.jsonl'}, so nothing was learned"


def test_ignored_project_covers_its_subfolders(repository: Project) -> None:
    """Also a project of its own, and a folder that isn't known yet."""
    own, unknown, sibling = (Path(repository.key, name) for name in ("own", "unknown/.git", "../repo-2"))
    for each in (own, unknown, sibling):
        each.mkdir(parents=True)
    store = repository.store
    initialize(Project.in_folder(store, str(own)))
    ignore(repository, is_ignored=True)

    keys = [place_of(store, str(each))[1] for each in (own, unknown.parent)]
    job = {"session_id": SESSION, "transcript_path": "/t.jsonl", "reason": "test"}

    assert keys == [str(own), str(unknown.parent)]
    assert [queue.take_in(store, key, job) for key in keys] == [False, False]
    assert not is_ignored(Project.in_folder(store, str(sibling)))
    assert [each.key for each in list_projects(store) if each.is_ignored] == [repository.key, str(own)]


def test_spooled_jobs_go_to_their_folder_s_project(repository: Project) -> None:
    """A hook without a database can't know that a folder is a project of its own."""
    (Path(repository.key) / "api" / "src").mkdir(parents=True)
    own = Project.in_folder(repository.store, str(Path(repository.key) / "api"))
    initialize(own)
    spool.keep(
        {"project": repository.key, "folder": f"{own.key}/src", "session_id": SESSION, "transcript_path": "/t.jsonl"}
    )

    worker.take_in_spool(repository.store)

    assert [(job.key, job.folder) for job in queue.list_jobs(repository.store)] == [(own.key, f"{own.key}/src")]
