"""Sessions that ended without a word are found, and only those that the user wants learnt from."""

import json
import os
from pathlib import Path

import pytest

from playbook_db.claude_code import worker
from playbook_db.claude_code.events import session_folder_name
from playbook_db.services import queue
from playbook_db.services.projects import Project
from tests.transcripts_made_up import a_session


@pytest.fixture
def kept(learner_project: Project, home: Path) -> Path:
    """The folder in which Claude Code keeps the project's transcripts."""
    folder = home / ".claude" / "projects" / session_folder_name(learner_project.key)
    folder.mkdir(parents=True)
    return folder


def _transcript(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    a_session(2).write(path)
    return path


@pytest.fixture
def _quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """A transcript counts as quiet at once."""
    monkeypatch.setattr(worker, "QUIET_S", 0.0)


def _found(project: Project) -> list[str]:
    return [os.path.basename(job["transcript_path"] or "") for _, job in worker.find_lost_sessions(project.store)]


@pytest.mark.usefixtures("_quiet")
def test_a_transcript_that_nobody_queued_is_found_with_its_subagents(learner_project: Project, kept: Path) -> None:
    """Each with its session; a subagent's with its parent's transcript."""
    main = _transcript(kept / "s-1.jsonl")
    agent = _transcript(kept / "s-1" / "subagents" / "agent-a1.jsonl")

    jobs = [job for _, job in worker.find_lost_sessions(learner_project.store)]

    assert {(job["transcript_path"], job["session_id"], job["parent_path"]) for job in jobs} == {
        (str(main), "s-1", None),
        (str(agent), "s-1", str(main)),
    }


def test_a_session_that_may_go_on_is_left_alone(learner_project: Project, kept: Path) -> None:
    """It grew just now."""
    _transcript(kept / "s-1.jsonl")

    assert _found(learner_project) == []


@pytest.mark.usefixtures("_quiet")
def test_what_waits_already_is_not_found(learner_project: Project, kept: Path) -> None:
    """The queue has it."""
    path = _transcript(kept / "s-1.jsonl")
    queue.take_in(learner_project.store, learner_project.key, {"transcript_path": str(path)})

    assert _found(learner_project) == []


@pytest.mark.usefixtures("_quiet")
def test_what_is_older_than_the_playbook_is_for_bootstrap(learner_project: Project, kept: Path) -> None:
    """Learning from years of sessions costs money; that is asked about first."""
    path = _transcript(kept / "s-1.jsonl")
    os.utime(path, (1_000_000_000, 1_000_000_000))

    assert _found(learner_project) == []
    assert worker.list_transcripts(learner_project.key) == [str(path)]


@pytest.mark.usefixtures("_quiet")
@pytest.mark.parametrize(
    ("switch", "found"),
    [
        ("playbook_update_on_exit", ["agent-a1.jsonl"]),
        ("playbook_update_on_clear", ["agent-a1.jsonl"]),
        ("playbook_update_on_subagent_stop", ["s-1.jsonl"]),
    ],
)
def test_what_the_user_does_not_want_learnt_from_is_not_found(
    learner_project: Project, kept: Path, home: Path, switch: str, found: list[str]
) -> None:
    """A session that was cleared left no job on purpose, and looks the same as one that was killed."""
    _transcript(kept / "s-1.jsonl")
    _transcript(kept / "s-1" / "subagents" / "agent-a1.jsonl")
    (home / ".claude" / "settings.json").write_text(json.dumps({switch: False}))

    assert _found(learner_project) == found
