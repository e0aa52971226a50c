"""Sessions whose end nobody noted are found, and only those that the user wants learned from."""

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from playbook_db import settings
from playbook_db.claude_code import worker
from playbook_db.claude_code.hooks import spool
from playbook_db.claude_code.hooks.hook_runner import session_folder_name
from playbook_db.claude_code.transcripts import finding
from playbook_db.services.learning import queue
from playbook_db.services.project import Project, ignore
from tests.builders import learned_to
from tests.learning.conftest import HELPFUL, Answer, Learner, show_all, write_session
from tests.transcripts import note_start

HOUR_S = 3600.0


@pytest.fixture
def kept(learner_project: Project, home: Path) -> Path:
    """The folder in which Claude Code keeps the project's transcripts."""
    return home / ".claude" / "projects" / session_folder_name(learner_project.key)


def _grow(path: Path, *, silent_s: float, turns: int = 2) -> Path:
    """Write a transcript that has not grown for *silent_s* seconds."""
    write_session(path, *(f"task {turn}: make the tests pass" for turn in range(turns)))
    os.utime(path, (time.time() - silent_s,) * 2)
    return path


@pytest.fixture
def lost(learner_project: Project, kept: Path) -> Path:
    """The transcript of a session with a subagent. Its start is noted, and it has been silent for two hours."""
    _grow(kept / "s-1" / "subagents" / "agent-a1.jsonl", silent_s=2 * HOUR_S)
    path = _grow(kept / "s-1.jsonl", silent_s=2 * HOUR_S)
    note_start(path, learner_project.key)
    return path


@pytest.fixture
def agent(lost: Path) -> Path:
    """The transcript of its subagent."""
    return lost.with_suffix("") / "subagents" / "agent-a1.jsonl"


def _found(project: Project) -> list[str]:
    return [os.path.basename(job["transcript_path"] or "") for _, job in worker.find_lost_sessions(project.store)]


def test_lost_session_is_found_with_subagents(learner_project: Project, lost: Path, agent: Path) -> None:
    jobs = [job for _, job in worker.find_lost_sessions(learner_project.store)]

    assert [(job["transcript_path"], job["session_id"], job["parent_path"]) for job in jobs] == [
        (str(agent), "s-1", str(lost)),
        (str(lost), "s-1", None),
    ]


def test_session_that_may_go_on_is_left_alone(learner_project: Project, lost: Path) -> None:
    """It grew less than an hour ago."""
    _grow(lost, silent_s=HOUR_S - 60)

    assert _found(learner_project) == ["agent-a1.jsonl"]


def test_session_without_a_noted_start_is_ignored(learner_project: Project, kept: Path) -> None:
    """It is older than the installation, or ran without hooks. `bootstrap` asks before it learns from it."""
    path = _grow(kept / "s-1.jsonl", silent_s=2 * HOUR_S)

    assert _found(learner_project) == []
    assert finding.everywhere() == [str(path)]


@pytest.mark.slow
@pytest.mark.postgres
def test_lost_session_that_goes_on_is_learned_in_parts(learner: Learner, lost: Path) -> None:
    """Nothing is learned twice, though nobody notes an end."""
    show_all(learner.project)
    results = [learner.work(*HELPFUL), learner.work()]
    _grow(lost, silent_s=2 * HOUR_S, turns=4)
    results += [learner.work(*HELPFUL), learner.work()]

    assert [(done.lost, done.learned) for done in results] == [(2, 2), (0, 0), (1, 1), (0, 0)]
    assert learned_to(learner.project, str(lost)) == lost.stat().st_size
    assert {job.session_id for job in learner.jobs} == {"s-1"}


@pytest.mark.slow
@pytest.mark.parametrize("ends_as", ["failed", "dropped"])
def test_failed_and_dropped_sessions_are_not_found(learner: Learner, lost: Path, agent: Path, ends_as: str) -> None:
    """Otherwise each worker would try them again."""
    agent.unlink()
    learner.queue(lost)
    if ends_as == "failed":
        learner.work(Answer("no", status=413))
    else:
        assert queue.drop(learner.project.store, learner.project.key, learner.jobs[0].id)
    states, asked = learner.states, len(learner.asked)

    learner.work()

    assert (learner.states, len(learner.asked)) == (states, asked)


def _switch(name: str) -> Callable[[Project, Path], None]:
    def off(project: Project, home: Path) -> None:
        (home / ".claude" / "settings.json").write_text(json.dumps({name: False}))

    return off


def _disable(project: Project, home: Path) -> None:
    settings_file = Path(project.key, ".claude", "settings.local.json")
    settings_file.parent.mkdir(exist_ok=True)
    settings_file.write_text(json.dumps({"env": {"PLAYBOOK_DISABLE": "1"}}))


@pytest.mark.slow
@pytest.mark.nightly(after=2)
@pytest.mark.parametrize(
    ("exclude", "learned"),
    [
        pytest.param(lambda project, _: ignore(project, is_ignored=True), 0, id="the project is ignored"),
        pytest.param(lambda *_: queue.skip_session("s-1", is_skipped=True), 0, id="the session is skipped"),
        pytest.param(_disable, 0, id="the project disables us"),
        pytest.param(lambda *_: spool.note_end("s-1", is_kept=False), 0, id="its end was not wanted"),
        pytest.param(_switch("playbook_update_on_exit"), 1, id="not on exit"),
        pytest.param(_switch("playbook_update_on_clear"), 1, id="not on clear"),
        pytest.param(_switch("playbook_update_on_subagent_stop"), 1, id="not from subagents"),
    ],
)
def test_excluded_sessions_are_sent_to_no_model(
    learner: Learner, lost: Path, home: Path, exclude: Callable[[Project, Path], None], learned: int
) -> None:
    """A session that was cleared, and left no job on purpose, looks the same as one that was killed."""
    exclude(learner.project, home)

    learner.work()

    assert len(learner.asked) == 2 * learned


def test_sessions_of_an_ignored_time_stay_out(learner_project: Project, lost: Path) -> None:
    """While the project is ignored, a worker forgets the session's start."""
    ignore(learner_project, is_ignored=True)
    assert _found(learner_project) == []
    ignore(learner_project, is_ignored=False)

    assert _found(learner_project) == []


@pytest.mark.slow
def test_private_parts_of_a_lost_session_stay_private(learner: Learner, lost: Path) -> None:
    lost.write_text(lost.read_text().replace("make the tests pass", "<private>the launch code</private> go"))
    os.utime(lost, (0, 0))

    learner.work()

    assert len(learner.asked) == 4
    assert not any("the launch code" in request.said for request in learner.asked)


def test_after_a_noted_end_only_older_files_are_found(learner_project: Project, lost: Path, agent: Path) -> None:
    """A subagent that was killed with its session is learned from. A session resumed with disabled hooks isn't."""
    start, end = (f"{settings.spool_dir()}/s-1{suffix}" for suffix in (spool.STARTED, spool.ENDED))
    spool.note_end("s-1", is_kept=True)
    for path in (end, agent):
        os.utime(path, (time.time() - 3 * HOUR_S,) * 2)

    assert _found(learner_project) == ["agent-a1.jsonl"]
    assert not os.path.exists(start)
    assert not os.path.exists(end)  # an hour after the end, everything has been found
    assert _found(learner_project) == []


def test_start_is_forgotten_after_30_days(learner_project: Project, lost: Path) -> None:
    """By then, Claude Code has removed the transcript. A resumed session starts again."""
    start = f"{settings.spool_dir()}/s-1{spool.STARTED}"
    long_ago = (time.time() - 31 * 24 * HOUR_S,) * 2
    os.utime(start, long_ago)
    note_start(lost, learner_project.key)
    assert len(_found(learner_project)) == 2
    assert os.path.exists(start)

    os.utime(start, long_ago)
    assert len(_found(learner_project)) == 2
    assert not os.path.exists(start)


@pytest.mark.parametrize("content", ["", "[]", "[" * 100_000])
def test_unreadable_start_is_harmless(learner_project: Project, lost: Path, content: str) -> None:
    """A hook may be killed while it writes one."""
    Path(settings.spool_dir(), f"s-0{spool.STARTED}").write_text(content)

    assert len(_found(learner_project)) == 2


def test_missing_folder_has_no_lost_sessions(learner_project: Project, lost: Path) -> None:
    """Its settings, which may exclude sessions, can't be read any more."""
    os.rename(learner_project.key, f"{learner_project.key}-moved")

    assert _found(learner_project) == []
