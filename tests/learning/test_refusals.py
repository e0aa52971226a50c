"""What a worker does where the account is refused, and where the model refuses: nothing is lost, nobody is pestered."""

import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

from playbook_db.claude_code import learner, worker
from playbook_db.claude_code.hooks import spool
from playbook_db.services.learning import queue
from playbook_db.services.playbook import edit
from playbook_db.services.project import Project, read_playbook
from playbook_db.store.jobs import Job
from tests.builders import learned_to
from tests.learning.conftest import Answer, MessagesApi, Rule, answers, curation, is_reflector, model_at, reflection
from tests.messages_api import Request
from tests.transcripts import TranscriptBuilder

pytestmark = pytest.mark.slow  # databases of many states
HELPFUL = answers(reflection(("pat-001", "helpful")), curation())
CREDIT = Answer("Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing.", status=400)


def _queue(project: Project, path: Path, *said: str) -> None:
    built = TranscriptBuilder(path.stem)
    for text in said:
        built.user(text)
        built.assistant("Following [pat-001].")
    queue.take_in(project.store, project.key, {"transcript_path": built.write(path), "session_id": path.stem})


def _work(project: Project) -> worker.WorkResult:
    done = worker.run(str(project.store.url))
    assert done is not None
    return done


def _jobs(project: Project) -> list[Job]:
    return queue.list_jobs(project.store)


@pytest.mark.parametrize(
    "refusal",
    [
        CREDIT,
        pytest.param(Answer("invalid x-api-key", status=401), marks=pytest.mark.nightly),
        pytest.param(Answer("no", status=403), marks=pytest.mark.nightly),
        pytest.param(Answer("model: nope", status=404), marks=pytest.mark.nightly),
    ],
    ids=lambda answer: str(answer.status),
)
def test_where_the_account_is_refused_all_work_waits_and_goes_on_when_that_is_mended(
    learner_project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refusal: Answer
) -> None:
    """No try counts, each run of a worker asks once, and each job says why it waits and when it is tried next."""
    for number in range(3):
        _queue(learner_project, tmp_path / f"s-{number}.jsonl", "hello")
    (tmp_path / "other").mkdir()
    other = Project.in_folder(learner_project.store, str(tmp_path / "other"))
    _queue(other, tmp_path / "o-1.jsonl", "hello")
    with MessagesApi(refusal) as api:
        model_at(api, monkeypatch)
        for run in range(1, 8):  # more often than a job that fails is tried
            assert _work(learner_project).put_off == 4
            assert len(api.messages()) == run
        for job in _jobs(learner_project):
            assert (job.state, job.attempts) == ("queued", 0)
            assert refusal.text[:40] in (job.error or "")
            assert job.not_before is not None
            assert 0 < (datetime.fromisoformat(job.not_before) - datetime.now(UTC)).total_seconds() <= 3600
    with MessagesApi(*HELPFUL) as api:
        model_at(api, monkeypatch)
        assert _work(learner_project).learned == 4

    assert read_playbook(learner_project).by_name["pat-001"].helpful == 3


def test_what_comes_in_while_the_account_is_refused_asks_no_second_time(
    learner_project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In that run of the worker, nor is what waits already taken up again in it."""
    _queue(learner_project, tmp_path / "s-1.jsonl", "hello")

    later = str(shutil.copy(tmp_path / "s-1.jsonl", tmp_path / "s-2.jsonl"))

    def refuse(request: Request) -> Answer:
        spool.keep({"project": learner_project.key, "transcript_path": later, "session_id": "s-2"})
        return CREDIT

    with MessagesApi(refuse) as api:
        model_at(api, monkeypatch)
        done = _work(learner_project)
        assert (done.spooled, done.put_off, len(api.messages())) == (1, 2, 1)


def test_a_job_that_failed_itself_waits_its_time_though_others_are_let_go(
    learner_project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The growing waits hold."""
    _queue(learner_project, tmp_path / "s-1.jsonl", "hello")
    with MessagesApi("no JSON at all") as api:
        model_at(api, monkeypatch)
        assert _work(learner_project).failed == 1
    with MessagesApi(*HELPFUL) as api:
        model_at(api, monkeypatch)
        assert _work(learner_project) == worker.WorkResult()
        assert api.messages() == []


def test_an_answer_with_none_of_the_keys_is_no_lesson(
    learner_project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The job is tried again later; nothing is counted as learned from."""
    _queue(learner_project, tmp_path / "s-1.jsonl", "hello")
    with MessagesApi("{}") as api:
        model_at(api, monkeypatch)
        assert _work(learner_project).failed == 1
    (job,) = _jobs(learner_project)
    assert (job.state, job.attempts) == ("queued", 1)
    assert "no complete JSON of the requested form" in (job.error or "")
    assert learned_to(learner_project, str(tmp_path / "s-1.jsonl")) == 0


@pytest.mark.nightly(after=1)
@pytest.mark.parametrize("who", ["reflector", "curator"])
def test_a_chunk_that_the_model_refuses_to_judge_is_passed_over_by_name(
    learner_project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, who: str
) -> None:
    """It is asked about once, the others are learned from, and the job says what is missing."""
    monkeypatch.setattr(learner, "CHUNK_CHARS", 2000)
    path = tmp_path / "s-1.jsonl"
    _queue(learner_project, path, *(f"turn {number} {'x' * 1500}" for number in range(3)))
    refused = Rule(
        Answer("", stop_reason="refusal"),
        when=lambda request: is_reflector(request) == (who == "reflector"),
        said="turn 1" if who == "reflector" else "",
        times=1,
    )
    with MessagesApi(refused, *HELPFUL) as api:
        model_at(api, monkeypatch)
        assert _work(learner_project).failed == 1
        (job,) = _jobs(learner_project)
        assert job.state == "failed"
        assert "refused to answer (stop_reason: refusal)" in (job.error or "")
        assert f"of {path} were skipped" in (job.error or "")
        assert sum(is_reflector(request) for request in api.messages()) == 3
        assert read_playbook(learner_project).by_name["pat-001"].helpful == 2
        _queue(learner_project, path, *(f"turn {number} {'x' * 1500}" for number in range(3)), "more")
        before = len(api.messages())
        assert _work(learner_project).learned == 1
        assert len(api.messages()) == before + 2


def test_all_jobs_can_be_queued_afresh_at_once(learner_project: Project, tmp_path: Path) -> None:
    """Those that failed and those that wait, of all projects."""
    (tmp_path / "other").mkdir()
    other = Project.in_folder(learner_project.store, str(tmp_path / "other"))
    edit.add(other, "a point")
    for project, name in ((learner_project, "a"), (learner_project, "b"), (other, "c"), (other, "d")):
        _queue(project, tmp_path / f"{name}.jsonl", "hello")
    for error, for_good in (("broken", True), ("busy", False)):
        job = queue.claim(learner_project.store)
        assert job is not None
        queue.note_failure(learner_project.store, job, error, for_good=for_good)
    job = queue.claim(learner_project.store)
    assert job is not None
    queue.put_off(learner_project.store, job, "no model", until=queue.later(60))

    assert queue.retry_all(learner_project.store) == 3

    kept = [(job.state, job.attempts, job.error, job.not_before) for job in _jobs(learner_project)]
    assert kept == [("queued", 0, None, None)] * 4
