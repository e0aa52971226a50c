"""What a worker does if the account or the model refuses: nothing is lost."""

import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

from playbook_db.claude_code import learner as learner_module
from playbook_db.claude_code import worker
from playbook_db.claude_code.hooks import spool
from playbook_db.services.learning import queue
from playbook_db.services.playbook import edit
from playbook_db.services.project import Project
from tests.builders import learned_to
from tests.learning.conftest import HELPFUL, Answer, Learner, Rule, is_reflector, write_session
from tests.messages_api import Request

pytestmark = pytest.mark.slow  # asks an API on loopback
CREDIT = Answer("Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing.", status=400)


@pytest.fixture
def other(learner: Learner, tmp_path: Path) -> Project:
    """Another project in the same database."""
    (tmp_path / "other").mkdir()
    return Project.in_folder(learner.project.store, str(tmp_path / "other"))


@pytest.mark.parametrize(
    "refusal",
    [CREDIT, pytest.param(Answer("invalid x-api-key", status=401), marks=pytest.mark.nightly)],
    ids=lambda answer: str(answer.status),
)
def test_refused_account_lets_all_jobs_wait(learner: Learner, other: Project, tmp_path: Path, refusal: Answer) -> None:
    """No try counts, each worker asks once, and each job says why it waits and until when."""
    for number in range(3):
        learner.queue(write_session(tmp_path / f"s-{number}.jsonl", "hello"))
    learner.queue(write_session(tmp_path / "o-1.jsonl", "hello"), other)
    for run in range(1, 8):  # a job that fails is tried less often
        assert learner.work(refusal).put_off == 4
        assert len(learner.asked) == run
    for job in learner.jobs:
        assert (job.state, job.attempts) == ("queued", 0)
        assert refusal.text[:40] in (job.error or "")
        assert job.not_before is not None
        assert 0 < (datetime.fromisoformat(job.not_before) - datetime.now(UTC)).total_seconds() <= 3600

    assert learner.work(*HELPFUL).learned == 4

    assert learner.points["pat-001"][1] == 3


def test_refused_account_is_asked_once_a_run(learner: Learner, tmp_path: Path) -> None:
    """Also if another session ends meanwhile."""
    learner.queue(write_session(tmp_path / "s-1.jsonl", "hello"))
    later = str(shutil.copy(tmp_path / "s-1.jsonl", tmp_path / "s-2.jsonl"))

    def refuse(request: Request) -> Answer:
        spool.keep({"project": learner.project.key, "transcript_path": later, "session_id": "s-2"})
        return CREDIT

    done = learner.work(refuse)

    assert (done.spooled, done.put_off, len(learner.asked)) == (1, 2, 1)


@pytest.mark.parametrize("said", ["no JSON at all", "{}"])
def test_unusable_answer_is_a_failed_try(learner: Learner, tmp_path: Path, said: str) -> None:
    """Nothing counts as learned, and the next worker doesn't try at once."""
    learner.queue(write_session(tmp_path / "s-1.jsonl", "hello"))

    assert learner.work(said).failed == 1

    (job,) = learner.jobs
    assert (job.state, job.attempts) == ("queued", 1)
    assert "no complete JSON of the requested form" in (job.error or "")
    assert learned_to(learner.project, str(tmp_path / "s-1.jsonl")) == 0
    learner.asked.clear()
    assert learner.work() == worker.WorkResult()
    assert learner.asked == []


@pytest.mark.nightly(after=1)
@pytest.mark.parametrize("who", ["reflector", "curator"])
def test_refused_chunk_is_skipped(learner: Learner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, who: str) -> None:
    """It is asked about once, other chunks are learned from, and the job says what is missing."""
    monkeypatch.setattr(learner_module, "CHUNK_CHARS", 2000)
    said = [f"turn {number} {'x' * 1500}" for number in range(3)]
    path = write_session(tmp_path / "s-1.jsonl", *said)
    learner.queue(path)
    refused = Rule(
        Answer("", stop_reason="refusal"),
        when=lambda request: is_reflector(request) == (who == "reflector"),
        said="turn 1" if who == "reflector" else "",
        times=1,
    )
    assert learner.work(refused, *HELPFUL).failed == 1
    (job,) = learner.jobs
    assert job.state == "failed"
    assert "refused to answer (stop_reason: refusal)" in (job.error or "")
    assert f"of {path} were skipped" in (job.error or "")
    assert sum(map(is_reflector, learner.asked)) == 3
    assert learner.points["pat-001"][1] == 2
    learner.queue(write_session(tmp_path / "s-1.jsonl", *said, "more"))
    before = len(learner.asked)

    assert learner.work(*HELPFUL).learned == 1

    assert len(learner.asked) == before + 2


def test_all_jobs_can_be_retried_at_once(learner: Learner, other: Project, tmp_path: Path) -> None:
    """Those that failed and those that wait, of all projects."""
    edit.add(other, "a point")
    for name in "abcd":
        learner.queue(write_session(tmp_path / f"{name}.jsonl", "hello"), other if name in "cd" else None)
    store = learner.project.store
    for error in ("broken", "busy", "no model"):
        job = queue.claim(store)
        assert job is not None
        if error == "no model":
            queue.put_off(store, job, error, until=queue.later(60))
        else:
            queue.note_failure(store, job, error, for_good=error == "broken")

    assert queue.retry_all(store) == 3

    kept = [(job.state, job.attempts, job.error, job.not_before) for job in learner.jobs]
    assert kept == [("queued", 0, None, None)] * 4
