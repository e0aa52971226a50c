"""Sessions whose folder or transcript moved or is gone teach their project, once; or nothing, if that is gone, too."""

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
from tests.learning.conftest import MessagesApi, answers, curation, model_at, reflection, show_all
from tests.transcripts import TranscriptBuilder

HELPFUL = answers(reflection(("pat-001", "helpful")), curation())


def _said(path: Path, session: str = SESSION, turns: int = 1) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    built = TranscriptBuilder(session)
    for _ in range(turns):
        built.user("mend the bug, please")
        built.assistant("Following [pat-001], I run the tests.")
        built.run("pytest -q", "3 passed")
    built.write(path)
    return path


@pytest.fixture
def repository(tmp_path: Path, database: Store) -> Project:
    """A repository with one point, pat-001."""
    (tmp_path / "repo" / ".claude" / "worktrees").mkdir(parents=True)
    (tmp_path / "repo" / ".git").mkdir()
    project = Project.in_folder(database, str(tmp_path / "repo"))
    edit.add(project, "run the tests first", section="PATTERNS & APPROACHES")
    return project


def _helpful(project: Project) -> int:
    with project.store.read(project.key) as book:
        point = book.live_point("pat-001")
    assert point is not None
    return point.helpful


@pytest.mark.slow
@pytest.mark.sqlite
@pytest.mark.parametrize("is_inside", [True, False])
@pytest.mark.parametrize("has_end", [True, False])
def test_a_worktree_that_is_gone_taught_its_project(
    repository: Project, tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch, is_inside: bool, has_end: bool
) -> None:
    """The client removes it before the session's end, and moves the transcript; perhaps no hook runs at the end."""
    main = Path(repository.key)
    linked = a_worktree(main, main / ".claude" / "worktrees" / "fix" if is_inside else tmp_path / "fix")
    client = Client(linked, Path(settings.sqlite_file(settings.database_url()) or ""), home, is_patient=True)
    running.write_worker(client)
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(linked))
    client.inject()
    shutil.rmtree(linked)
    shutil.rmtree(main / ".git" / "worktrees")
    path = _said(home / ".claude" / "projects" / "the-main-folder" / f"{SESSION}.jsonl")
    os.utime(path, (time.time() - 7200,) * 2)
    if has_end:
        client.enqueue(cwd=main)
    else:
        (record,) = (home / ".claude" / "playbook" / "spool").glob(f"*{spool.STARTED}")
        os.utime(record, (time.time() - 7200,) * 2)
    show_all(repository, SESSION)
    with MessagesApi(*HELPFUL) as api:
        model_at(api, monkeypatch)
        done = worker.run(settings.database_url())

    assert done is not None
    assert (done.learned, done.lost, done.failed) == (1, 0 if has_end else 1, 0)
    assert _helpful(repository) == 1
    assert [each.key for each in list_projects(repository.store)] == [repository.key]


@pytest.mark.parametrize("is_elsewhere", [False, True])
def test_a_transcript_that_moved_is_learned_from_once(
    learner_project: Project, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_elsewhere: bool
) -> None:
    """Also if it moved to another project, and went on there."""
    first = _said(home / ".claude" / "projects" / "one" / f"{SESSION}.jsonl")
    show_all(learner_project, SESSION)
    (tmp_path / "other").mkdir()
    other = Project.in_folder(learner_project.store, str(tmp_path / "other")) if is_elsewhere else learner_project
    job = {"session_id": SESSION, "transcript_path": str(first), "reason": "test"}
    with MessagesApi(*HELPFUL) as api:
        model_at(api, monkeypatch)
        queue.take_in(learner_project.store, learner_project.key, job)
        worker.run(str(learner_project.store.url))
        asked = len(api.requests)
        moved = home / ".claude" / "projects" / "two" / first.name
        moved.parent.mkdir()
        first.rename(moved)
        queue.take_in(other.store, other.key, {**job, "transcript_path": str(moved)})
        worker.run(str(learner_project.store.url))
        again = len(api.requests)
        _said(moved, turns=2)
        queue.take_in(other.store, other.key, {**job, "transcript_path": str(moved)})
        worker.run(str(learner_project.store.url))

    assert asked == again > 0
    assert len(api.requests) > again
    assert _helpful(learner_project) == (1 if is_elsewhere else 2)  # one for each new part


def test_nothing_is_learned_in_a_temporary_folder_that_is_gone(
    database: Store, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No call, no playbook, and `jobs` says why; a project that moved is no such folder."""
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    monkeypatch.setattr("playbook_db.projects.temporary_folders", lambda: iter([str(tmp_path / "temporary")]))
    path = _said(home / ".claude" / "projects" / "one" / f"{SESSION}.jsonl")
    with MessagesApi(*HELPFUL) as api:
        model_at(api, monkeypatch)
        for name in ("temporary/try", "moved away"):
            job = {"session_id": SESSION, "transcript_path": str(path), "reason": "test"}
            queue.take_in(database, str(tmp_path / name), job)
            worker.run(str(database.url))
            assert bool(api.requests) == (name == "moved away")

    (skipped, _) = queue.list_jobs(database)
    assert (skipped.state, (skipped.error or "").partition("try ")[2]) == (
        "done", "was temporary and is gone, so nothing was learned",
    )  # fmt: skip


def test_a_job_says_that_its_transcript_never_existed(learner_project: Project, tmp_path: Path) -> None:
    """It is done, as a session in which nothing was said leaves none."""
    job = {"session_id": SESSION, "transcript_path": str(tmp_path / "none.jsonl"), "reason": "test"}
    queue.take_in(learner_project.store, learner_project.key, job)

    worker.run(str(learner_project.store.url))

    (done,) = queue.list_jobs(learner_project.store)
    assert done.state == "done"
    assert done.error == f"Claude Code left no transcript at {tmp_path / 'none.jsonl'}, so nothing was learned"


def test_an_ignored_project_covers_everything_below(repository: Project) -> None:
    """A subfolder, a project of its own, and a folder that nobody knows yet."""
    own, unknown, beside = (Path(repository.key, name) for name in ("own", "unknown/.git", "../repo-2"))
    for each in (own, unknown, beside):
        each.mkdir(parents=True)
    store = repository.store
    initialize(Project.in_folder(store, str(own)))
    ignore(repository, is_ignored=True)

    keys = [place_of(store, str(each))[1] for each in (Path(repository.key, "own"), unknown.parent)]
    job = {"session_id": SESSION, "transcript_path": "/t.jsonl", "reason": "test"}

    assert keys == [str(own), str(unknown.parent)]
    assert [queue.take_in(store, key, job) for key in keys] == [False, False]
    assert not is_ignored(Project.in_folder(store, str(beside)))
    assert [each.key for each in list_projects(store) if each.is_ignored] == [repository.key, str(own)]


def test_jobs_in_the_spool_go_to_the_project_of_their_folder(repository: Project) -> None:
    """The hook had no database, and couldn't know that a folder was made a project of its own."""
    (Path(repository.key) / "api" / "src").mkdir(parents=True)
    own = Project.in_folder(repository.store, str(Path(repository.key) / "api"))
    initialize(own)
    spool.keep(
        {"project": repository.key, "folder": f"{own.key}/src", "session_id": SESSION, "transcript_path": "/t.jsonl"}
    )

    worker.take_in_spool(repository.store)

    assert [(job.key, job.folder) for job in queue.list_jobs(repository.store)] == [(own.key, f"{own.key}/src")]
