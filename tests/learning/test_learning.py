"""From a transcript to one revision, once."""

import json
from pathlib import Path
from typing import Any

import pytest

from playbook_db.claude_code import learner as learner_module
from playbook_db.claude_code import worker
from playbook_db.claude_code.learner import learn_transcript
from playbook_db.errors import BudgetError, ModelError
from playbook_db.services.learning import asking, queue
from playbook_db.services.playbook import edit, suggestions
from playbook_db.store.playbook.learning import Call
from tests.builders import learned_to
from tests.learning.conftest import (
    ADD,
    GOOD,
    HELPFUL,
    Answer,
    Learner,
    Rule,
    answers,
    curation,
    is_reflector,
    reflection,
    write_session,
)
from tests.messages_api import Usage
from tests.reading import read_chunks
from tests.transcripts import TranscriptBuilder, a_session

pytestmark = pytest.mark.slow  # asks an API on loopback, through a client that takes seconds to import

LEARNED = {"pat-001": ("run the tests first", 1, 0), "pref-001": ("say what was run", 0, 0)}


@pytest.mark.postgres
def test_votes_and_operations_are_one_revision(learner: Learner, transcript: str) -> None:
    """The vote is counted before the curator is asked."""
    summary = learner.learn(transcript)

    assert learner.points == LEARNED
    (revision,) = [outcome.revision for outcome in summary.learned]
    assert revision is not None
    assert [change.kind for change in revision.changes] == ["vote", "add"]
    reflector, curator = (request.last_said for request in learner.asked)
    assert "mend the bug first, and say what it was" in reflector
    assert "3 passed" in reflector
    assert "[pat-001] helpful=1 harmful=0" in curator
    assert "- the tags and pat-001" in curator
    assert "3 passed" not in curator  # it gets only the quotes of the session


def test_harmful_point_is_retired_with_its_vote(learner: Learner, tmp_path: Path) -> None:
    """The third harmful vote and the retirement are one revision, so one undo undoes both."""
    for _ in range(2):
        edit.vote(learner.project, "pat-001", "harmful")
    path = write_session(tmp_path / "s-1.jsonl", "mend the bug first, and say what it was")

    summary = learner.learn(path, *answers(reflection(("pat-001", "harmful")), curation()))

    (revision,) = [outcome.revision for outcome in summary.learned]
    assert revision is not None
    assert [change.kind for change in revision.changes] == ["vote", "retire"]
    assert learner.points == {}


def test_votes_by_tools_are_not_counted_twice(learner: Learner, transcript: str) -> None:
    (chunk,) = read_chunks(transcript, 0, 100_000)
    session = suggestions.McpSession(chunk.session_id, had=frozenset(["pat-001"]))
    suggestions.vote(learner.project, session, "pat-001", "helpful")

    learner.learn(transcript)

    assert learner.points == LEARNED


@pytest.mark.postgres
def test_lines_are_learned_from_once(learner: Learner, transcript: str) -> None:
    """New lines of the session are a chunk of their own."""
    learner.learn(transcript)
    assert learner.learn(transcript).learned == ()
    more = Path(transcript).read_text().replace("mend the bug", "and another")
    with open(transcript, "a") as file:
        file.write(more.replace('"uuid": "', '"uuid": "x').replace("msg_", "msg_x"))
    learner.learn(transcript)

    assert learner.points["pat-001"] == ("run the tests first", 2, 0)
    assert len(learner.asked) == 4
    assert "mend the bug" not in learner.asked[2].last_said


def test_session_without_words_costs_nothing(learner: Learner, tmp_path: Path) -> None:
    """It isn't read again either."""
    session = TranscriptBuilder("s-2")
    session.user("<command-name>/clear</command-name>")
    path = session.write(tmp_path / "s-2.jsonl")

    learner.learn(path)

    assert learner.asked == []
    assert learned_to(learner.project, path) == Path(path).stat().st_size


def test_failing_curator_keeps_the_reflection(learner: Learner, transcript: str) -> None:
    """The reflector isn't asked again, and nothing changes until both have answered."""
    refusing = Rule(Answer("no", status=400), when=lambda request: not is_reflector(request), times=1)
    with pytest.raises(ModelError):
        learner.learn(transcript, refusing, *GOOD)
    assert learner.points["pat-001"] == ("run the tests first", 0, 0)
    assert learner.rows("SELECT * FROM citations") == []
    learner.learn(transcript)

    assert sum(map(is_reflector, learner.asked)) == 1
    assert learner.points == LEARNED
    assert learner.rows("SELECT chunks FROM citations") == [(1,)]


@pytest.mark.parametrize(
    ("lessons", "tag", "calls"),
    [([], "neutral", 1), ([], "Harmful ", 1), ([{"text": "say why"}], "neutral", 2), (None, "neutral", 2)],
)
def test_curator_is_asked_only_about_lessons(
    learner: Learner, transcript: str, lessons: Any, tag: str, calls: int
) -> None:
    """A reflector with an older template, which doesn't ask for lessons, may have found some."""
    reflected = json.loads(reflection(("pat-001", tag))) | ({} if lessons is None else {"lessons": lessons})
    summary = learner.learn(transcript, *answers(json.dumps(reflected), curation()))

    assert len(learner.asked) == calls
    assert len(summary.learned) == 1
    assert not learn_transcript(learner.project, transcript, None).learned


@pytest.mark.postgres
def test_second_learner_of_a_chunk_keeps_nothing(learner: Learner, transcript: str) -> None:
    """If two learn from the same chunk at once, the later commit finds the cursor moved."""

    def meanwhile(request: object) -> str:
        learner.learn(transcript)
        return curation(ADD)

    summary = learner.learn(transcript, *answers(reflection(("pat-001", "helpful")), meanwhile))

    assert summary.learned == ()
    assert learner.points == LEARNED


@pytest.mark.sqlite
def test_secrets_reach_neither_model_nor_database(
    learner: Learner, tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are masked before the first request, and masked again in what a model says."""
    key = "sk-" + "ant-api03-" + "aB3" * 30
    session = TranscriptBuilder("s-2")
    session.user(f"use {key}; <private>my neighbour is called Ada</private> go on")
    session.assistant("Done.")
    monkeypatch.setenv("DEPLOY_TOKEN", "correcthorsebatterystaple")
    said = curation({"type": "ADD", "text": "log in with correcthorsebatterystaple"})

    learner.learn(session.write(tmp_path / "s-2.jsonl"), *answers(reflection(analysis=f"it used {key}"), said))

    sent = "".join(str(request.body) for request in learner.asked)
    kept = b"".join(file.read_bytes() for file in (home / ".claude" / "playbook").glob("playbook.db*"))
    for secret in (key, "Ada", "correcthorsebatterystaple"):
        assert secret not in sent
        assert secret.encode() not in kept
    assert any("masked" in text for text, _, _ in learner.points.values())


def test_long_session_is_learned_in_chunks(learner: Learner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learner_module, "CHUNK_CHARS", 2000)

    count = learner.learn(a_session(12).write(tmp_path / "long.jsonl"), *HELPFUL).chunks

    assert count > 2
    assert len(learner.asked) == 2 * count
    assert learner.points["pat-001"] == ("run the tests first", count, 0)


def test_default_budget_is_a_million_tokens_a_day(
    learner: Learner, transcript: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """0 is no limit."""
    with learner.project.store.write(learner.project.key) as book:
        book.add_call(Call("reflect", "m", 1_000_000, 0, 0, None, 1), session_id="s-0")
    said = r"1,000,000 tokens were used today \(UTC\); PLAYBOOK_DAILY_TOKENS allows 1,000,000"
    with pytest.raises(BudgetError, match=said):
        learner.learn(transcript)
    assert learner.asked == []
    monkeypatch.setenv("PLAYBOOK_DAILY_TOKENS", "0")
    learner.learn(transcript)
    assert len(learner.asked) == 2


def test_reply_without_usage_counts_by_its_length(
    learner: Learner, transcript: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise an endpoint that reports no usage would have no budget."""
    monkeypatch.setenv("PLAYBOOK_DAILY_TOKENS", "100")
    reflected = json.loads(reflection()) | {"lessons": [{"kind": "worked", "text": "mend bugs first"}]}
    silent = Rule(Answer(json.dumps(reflected), usage=Usage(0, 0)), when=is_reflector)
    with pytest.raises(BudgetError):
        learner.learn(transcript, silent, curation())

    assert len(learner.asked) == 1


@pytest.mark.postgres
def test_job_ends_with_its_last_chunk(learner: Learner, transcript: str) -> None:
    learner.queue(transcript)

    done = learner.work()

    assert (done.learned, done.failed, done.put_off) == (1, 0, 0)
    assert [(job.state, job.attempts, job.error) for job in learner.jobs] == [("done", 1, None)]
    assert learned_to(learner.project, transcript) == Path(transcript).stat().st_size


def test_jobs_wait_without_a_model(learner: Learner, transcript: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No try counts."""
    monkeypatch.setenv("PATH", "/nowhere")
    learner.queue(transcript)

    worker.run(str(learner.project.store.url))

    (kept,) = learner.jobs
    assert (kept.state, kept.attempts) == ("queued", 0)
    assert "There is no model" in (kept.error or "")
    assert kept.not_before is not None


@pytest.mark.nightly(after=1)
@pytest.mark.parametrize(("name", "value"), [("AGENTIC_CONTEXT_BACKEND", "both"), ("PLAYBOOK_DAILY_TOKENS", "many")])
def test_jobs_wait_while_a_setting_is_wrong(
    learner: Learner, transcript: str, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    learner.queue(transcript)
    with monkeypatch.context() as wrong:
        wrong.setenv(name, value)
        learner.work()
    (kept,) = learner.jobs
    assert (kept.state, kept.attempts, name in (kept.error or "")) == ("queued", 0, True)
    learner.work()

    assert learner.states == ["done"]


@pytest.mark.parametrize(("status", "state"), [(413, "failed"), (503, "queued")])
def test_failed_job_is_kept_with_its_error(
    learner: Learner, transcript: str, monkeypatch: pytest.MonkeyPatch, status: int, state: str
) -> None:
    """It fails for good if asking again can't help. `jobs retry` resets it."""
    monkeypatch.setattr("time.sleep", lambda _: None)
    learner.queue(transcript)
    learner.work(Answer("no", status=status))

    (kept,) = learner.jobs
    assert (kept.state, kept.attempts) == (state, 1)
    assert kept.error
    assert queue.retry(learner.project.store, learner.project.key, kept.id)
    assert [(job.state, job.attempts, job.error) for job in learner.jobs] == [("queued", 0, None)]


@pytest.mark.sqlite
def test_next_worker_does_a_killed_worker_s_job(learner: Learner, transcript: str) -> None:
    learner.queue(transcript)
    assert queue.claim(learner.project.store) is not None
    assert queue.claim(learner.project.store) is None

    learner.work()

    assert learner.states == ["done"]


def test_worker_stops_between_chunks_at_its_time_limit(
    learner: Learner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The chunks so far are kept, and no try counts against the job."""
    monkeypatch.setattr(learner_module, "CHUNK_CHARS", 2000)
    learner.queue(a_session(12).write(tmp_path / "long.jsonl"))
    monkeypatch.setattr(worker, "MAX_MINUTES", 0.5 / 60)
    slow = Rule(lambda _: Answer(reflection(("pat-001", "helpful")), delay_s=0.6), when=is_reflector)
    done = learner.work(slow, curation())
    assert (done.put_off, done.failed) == (1, 0)
    assert [(job.state, job.attempts) for job in learner.jobs] == [("queued", 0)]
    monkeypatch.setattr(worker, "MAX_MINUTES", 30)
    learner.work(slow, curation())

    assert learner.states == ["done"]
    assert learner.points["pat-001"][1] == sum(map(is_reflector, learner.asked))


def test_long_answers_are_limited(learner: Learner, transcript: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An added text that is too long for a session is skipped."""
    assert asking._MAX_ITEMS == 2000
    monkeypatch.setattr(asking, "_MAX_ITEMS", 20)
    tags = [("pat-001", "helpful"), *[(f"x-{number}", "neutral") for number in range(30)]]
    reflected = json.loads(reflection(*tags, analysis="word " * 5_000))
    reflected["bullet_tags"][0]["rationale"] = "why " * 5_000
    curated = curation({**ADD, "text": "long " * 5_000}, ADD, *[{"type": "NONE"}] * 30, reasoning="so " * 8_000)

    learner.learn(transcript, *answers(json.dumps(reflected), curated))

    assert learner.points == LEARNED
    assert learner.rows("SELECT length(analysis), length(curator_reasoning) FROM reflections") == [(20_000, 20_000)]
    assert learner.rows("SELECT count(*), max(length(rationale)) FROM votes") == [(20, 1000)]
    skipped = learner.rows("SELECT reason FROM skipped_operations ORDER BY seq")
    assert skipped[0] == ("`text`: a text must not be longer than 10,000 characters",)
    assert len(skipped) == 19
