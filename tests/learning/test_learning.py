"""From a transcript to one revision, once."""

import json
from collections import Counter
from dataclasses import astuple
from pathlib import Path
from typing import Any

import pytest

from playbook_db.claude_code import learner, worker
from playbook_db.claude_code.learner import learn_transcript
from playbook_db.claude_code.transcripts import raw_lines
from playbook_db.errors import BudgetError, ModelError
from playbook_db.services.learning import asking, queue
from playbook_db.services.playbook import edit, suggestions
from playbook_db.services.project import Project, read_playbook
from playbook_db.store.engine import Store
from playbook_db.store.playbook.learning import Call
from playbook_db.store.playbook.repository import PlaybookRepository
from tests.builders import learned_to
from tests.learning.conftest import Answer, MessagesApi, Rule, answers, curation, is_reflector, model_at, reflection
from tests.messages_api import PromptCache, Usage
from tests.reading import read_chunks
from tests.transcripts import TranscriptBuilder, a_session

pytestmark = pytest.mark.slow  # asks an API on loopback, through a client that takes seconds to import

ADD = {"type": "ADD", "text": "say what was run", "section": "USER PREFERENCES"}
GOOD = answers(reflection(("pat-001", "helpful")), curation(ADD))


def _points(project: Project) -> dict[str, tuple[str, int, int]]:
    return {point.name: (point.text, point.helpful, point.harmful) for point in read_playbook(project).points}


@pytest.mark.postgres
def test_votes_and_operations_become_one_revision(
    learner_project: Project, transcript: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two calls; the vote is counted before the curator is asked, and both are in one revision of that session."""
    with MessagesApi(*GOOD) as api:
        summary = learn_transcript(learner_project, transcript, model_at(api, monkeypatch))

    assert _points(learner_project) == {
        "pat-001": ("run the tests first", 1, 0),
        "pref-001": ("say what was run", 0, 0),
    }
    (revision,) = [outcome.revision for outcome in summary.learned]
    assert revision is not None
    assert [change.kind for change in revision.changes] == ["vote", "add"]
    asked = api.messages()
    assert len(asked) == 2
    assert "mend the bug first, and say what it was" in asked[0].last_said
    assert "3 passed" in asked[0].last_said
    assert "[pat-001] helpful=1 harmful=0" in asked[1].last_said
    assert "- the tags and pat-001" in asked[1].last_said
    assert "3 passed" not in asked[1].last_said  # of the session it has what was quoted


def test_a_point_that_a_session_makes_harmful_leaves_with_its_vote(
    learner_project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The third harmful vote and the retirement are one revision, so that one undo takes both back."""
    for _ in range(2):
        edit.vote(learner_project, "pat-001", "harmful")
    session = TranscriptBuilder("s-1")
    session.user("mend the bug first, and say what it was")
    session.assistant("Following [pat-001], I run the tests.")
    with MessagesApi(*answers(reflection(("pat-001", "harmful")), curation())) as api:
        summary = learn_transcript(learner_project, session.write(tmp_path / "s-1.jsonl"), model_at(api, monkeypatch))

    (revision,) = [outcome.revision for outcome in summary.learned]
    assert revision is not None
    assert [change.kind for change in revision.changes] == ["vote", "retire"]
    assert _points(learner_project) == {}


def test_a_vote_that_the_session_cast_itself_is_not_counted_again(
    learner_project: Project, transcript: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its tools, while it ran; the reflector's tag on the same point is kept as a note."""
    (chunk,) = read_chunks(transcript, 0, 100_000)
    session = suggestions.McpSession(chunk.session_id, had=frozenset(["pat-001"]))
    suggestions.vote(learner_project, session, "pat-001", "helpful")
    with MessagesApi(*GOOD) as api:
        learn_transcript(learner_project, transcript, model_at(api, monkeypatch))

    assert _points(learner_project)["pat-001"] == ("run the tests first", 1, 0)


@pytest.mark.postgres
def test_the_same_lines_are_never_learnt_from_twice(
    learner_project: Project, transcript: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However often they are met; what was added since is a chunk of its own."""
    with MessagesApi(*GOOD) as api:
        model = model_at(api, monkeypatch)
        learn_transcript(learner_project, transcript, model)
        assert learn_transcript(learner_project, transcript, model).learned == ()
        with open(transcript, "a") as file:
            file.write(
                Path(transcript)
                .read_text()
                .replace("mend the bug", "and another")
                .replace('"uuid": "', '"uuid": "x')
                .replace("msg_", "msg_x")
            )
        learn_transcript(learner_project, transcript, model)

    assert _points(learner_project)["pat-001"] == ("run the tests first", 2, 0)
    assert len(api.messages()) == 4
    assert "mend the bug" not in api.messages()[2].last_said


def test_a_curator_that_fails_does_not_ask_the_reflector_again(
    learner_project: Project, transcript: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the reflector said is kept; nothing of the playbook changes until both are done."""
    refusing = Rule(Answer("no", status=400), when=lambda request: not is_reflector(request), times=1)
    with MessagesApi(refusing, *GOOD) as api:
        model = model_at(api, monkeypatch)
        with pytest.raises(ModelError):
            learn_transcript(learner_project, transcript, model)
        assert _points(learner_project)["pat-001"] == ("run the tests first", 0, 0)
        learn_transcript(learner_project, transcript, model)

    assert sum(is_reflector(request) for request in api.messages()) == 1
    assert _points(learner_project)["pat-001"] == ("run the tests first", 1, 0)


@pytest.mark.parametrize(
    ("lessons", "tag", "calls"),
    [
        ([], "neutral", 1),
        ([], "helpful", 1),
        ([], "Harmful ", 1),
        ([{"text": "say why"}], "neutral", 2),
        (None, "neutral", 2),
    ],
)
def test_the_curator_is_not_asked_if_there_is_no_lesson(
    learner_project: Project, transcript: str, monkeypatch: pytest.MonkeyPatch, lessons: Any, tag: str, calls: int
) -> None:
    """A reflector that wasn't asked for lessons, as by an older template, may have found some."""
    reflected = json.loads(reflection(("pat-001", tag))) | ({} if lessons is None else {"lessons": lessons})
    with MessagesApi(*answers(json.dumps(reflected), curation())) as api:
        summary = learn_transcript(learner_project, transcript, model_at(api, monkeypatch))

    assert len(api.messages()) == calls
    assert len(summary.learned) == 1
    assert not learn_transcript(learner_project, transcript, None).learned


@pytest.mark.postgres
def test_whoever_comes_second_keeps_nothing(
    learner_project: Project, transcript: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two that learn from the same chunk at once: the one that commits last finds the cursor moved."""

    def meanwhile(request: object) -> str:
        with MessagesApi(*GOOD) as inner:
            learn_transcript(learner_project, transcript, model_at(inner, monkeypatch))
        return curation(ADD)

    with MessagesApi(*answers(reflection(("pat-001", "helpful")), meanwhile)) as api:
        summary = learn_transcript(learner_project, transcript, model_at(api, monkeypatch))

    assert summary.learned == ()
    assert _points(learner_project)["pat-001"] == ("run the tests first", 1, 0)
    assert len(_points(learner_project)) == 2


@pytest.mark.sqlite
def test_secrets_and_private_words_reach_neither_the_model_nor_the_database(
    learner_project: Project, tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Masked before the first request; what a model says is masked too."""

    key = "sk-" + "ant-api03-" + "aB3" * 30
    session = TranscriptBuilder("s-2")
    session.user(f"use {key}; <private>my neighbour is called Ada</private> go on")
    session.assistant("Done.")
    monkeypatch.setenv("DEPLOY_TOKEN", "correcthorsebatterystaple")
    said = curation({"type": "ADD", "text": "log in with correcthorsebatterystaple"})
    with MessagesApi(*answers(reflection(analysis=f"it used {key}"), said)) as api:
        learn_transcript(learner_project, session.write(tmp_path / "s-2.jsonl"), model_at(api, monkeypatch))

    sent = "".join(str(request.body) for request in api.messages())
    kept = (home / ".claude" / "playbook" / "playbook.db").read_bytes()
    kept += (home / ".claude" / "playbook" / "playbook.db-wal").read_bytes()
    for secret in (key, "Ada", "correcthorsebatterystaple"):
        assert secret not in sent
        assert secret.encode() not in kept
    assert any("masked" in text for text, _, _ in _points(learner_project).values())


def test_a_session_of_many_turns_is_learnt_from_in_chunks(
    learner_project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is dropped for its length, and a stop between two chunks loses nothing of the first."""

    monkeypatch.setattr(learner, "CHUNK_CHARS", 2000)
    path = a_session(12).write(tmp_path / "long.jsonl")
    failing = Rule(Answer("no", status=400), when=is_reflector, times=1)
    with MessagesApi(*answers(reflection(("pat-001", "helpful")), curation())) as api:
        model = model_at(api, monkeypatch)
        count = learn_transcript(learner_project, path, model).chunks
        asked = len(api.messages())
    assert count > 2
    assert asked == 2 * count
    assert _points(learner_project)["pat-001"] == ("run the tests first", count, 0)
    assert failing.times == 1


def test_the_daily_budget_is_never_exceeded_by_more_than_the_call_under_way(
    learner_project: Project, transcript: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The call that reaches it is the last; the work waits until tomorrow."""
    monkeypatch.setenv("PLAYBOOK_DAILY_TOKENS", "1")
    with MessagesApi(*GOOD) as api:
        model = model_at(api, monkeypatch)
        with pytest.raises(BudgetError, match="PLAYBOOK_DAILY_TOKENS allows 1"):
            learn_transcript(learner_project, transcript, model)
        assert len(api.messages()) == 1
        with pytest.raises(BudgetError):
            learn_transcript(learner_project, transcript, model)

    assert len(api.messages()) == 1


def _spend(project: Project, tokens: int) -> None:
    """Let a call of today have taken so many *tokens*."""
    with project.store.write(project.key) as book:
        book.add_call(Call("reflect", "m", tokens, 0, 0, None, 1), session_id="s-0")


def test_a_million_tokens_a_day_are_the_budget_where_nothing_is_said(
    learner_project: Project, transcript: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever has a key must not be surprised by a bill; 0 is no limit."""
    _spend(learner_project, 1_000_000)
    with MessagesApi(*GOOD) as api:
        model = model_at(api, monkeypatch)
        with pytest.raises(
            BudgetError, match=r"1,000,000 tokens were used today \(UTC\); PLAYBOOK_DAILY_TOKENS allows 1,000,000"
        ):
            learn_transcript(learner_project, transcript, model)
        assert api.messages() == []
        monkeypatch.setenv("PLAYBOOK_DAILY_TOKENS", "0")
        learn_transcript(learner_project, transcript, model)
        assert len(api.messages()) == 2


def test_the_next_session_reads_what_both_prompts_begin_with_from_the_cache(
    learner_project: Project, transcript: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though votes were cast in between; and what is read there counts as used."""
    advice = [f"run `make check-{number}` before anything else of the kind; read what it says" for number in range(40)]
    for text in advice:
        edit.add(learner_project, text)
    points_chars = len("".join(advice))
    cache = PromptCache()
    voted = answers(reflection(("pat-001", "helpful")), curation())
    with MessagesApi(*voted, cache=cache) as api:
        model = model_at(api, monkeypatch)
        first = learn_transcript(learner_project, transcript, model)
        second = learn_transcript(learner_project, a_session().write(tmp_path / "s-2.jsonl"), model)

    assert _points(learner_project)["pat-001"][1] > 0
    reflected, curated, *again = cache.usages
    for before, after in zip((reflected, curated), again, strict=True):
        assert after.cache_read_input_tokens == before.cache_creation_input_tokens > 1024 + points_chars // 4
        assert after.cache_creation_input_tokens == before.cache_read_input_tokens == 0
    assert first.tokens + second.tokens == sum(sum(astuple(usage)) for usage in cache.usages)


def test_a_reply_that_does_not_say_what_it_took_is_counted_by_its_length(
    learner_project: Project, transcript: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else no budget would ever be spent at an endpoint that reports nothing."""
    monkeypatch.setenv("PLAYBOOK_DAILY_TOKENS", "100")
    reflected = json.loads(reflection()) | {"lessons": [{"kind": "worked", "text": "mend bugs first"}]}
    silent = Rule(Answer(json.dumps(reflected), usage=Usage(0, 0)), when=is_reflector)
    with MessagesApi(silent, curation()) as api, pytest.raises(BudgetError):
        learn_transcript(learner_project, transcript, model_at(api, monkeypatch))

    assert len(api.messages()) == 1


def test_a_session_that_goes_on_is_read_once(
    learner_project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one process, however often it is learned from: but for its first lines, by which it is known again."""
    session, path = a_session(6), tmp_path / "s-1.jsonl"
    first = next(place for place, line in enumerate(session.lines) if '"timestamp"' in line)
    lines, session.lines, parsed = session.lines, [], Counter[bytes]()
    parse = raw_lines.parse
    monkeypatch.setattr(raw_lines, "parse", lambda raw: parsed.update([raw]) or parse(raw))
    with MessagesApi(*GOOD) as api:
        model = model_at(api, monkeypatch)
        for start in range(0, len(lines), 12):
            session.lines += lines[start : start + 12]
            learn_transcript(learner_project, session.write(path), model)

    assert {parsed[f"{line}\n".encode()] for line in lines[first + 1 :] if lines.count(line) == 1} == {1}
    assert learned_to(learner_project, str(path)) == path.stat().st_size


def test_a_forked_session_begins_after_what_was_copied(
    learner_project: Project, transcript: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fork's file starts with the lines of the session it came from."""

    fork = TranscriptBuilder("s-9")
    fork.user("something new")
    fork.assistant("Here it is.")
    path = tmp_path / "s-9.jsonl"
    added = fork.content().replace(b'"uuid": "', b'"uuid": "f').replace(b'"uuid":"', b'"uuid":"f')
    with MessagesApi(*GOOD) as api:
        model = model_at(api, monkeypatch)
        learn_transcript(learner_project, transcript, model)
        path.write_bytes(Path(transcript).read_bytes() + added)
        learn_transcript(learner_project, str(path), model)

    assert "something new" in api.messages()[2].last_said
    assert "mend the bug" not in api.messages()[2].last_said


@pytest.mark.postgres
def test_the_job_ends_in_the_commit_of_its_last_chunk(
    learner_project: Project, transcript: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker: claimed, learnt, done; the mirror follows."""
    job = {"session_id": "s-1", "transcript_path": transcript, "reason": "SessionEnd:other"}
    queue.take_in(learner_project.store, learner_project.key, job)
    with MessagesApi(*GOOD) as api:
        model_at(api, monkeypatch)
        done = worker.run(str(learner_project.store.url))

    assert done is not None
    assert (done.learned, done.failed, done.put_off) == (1, 0, 0)
    (kept,) = queue.list_jobs(learner_project.store)
    assert (kept.state, kept.attempts, kept.error) == ("done", 1, None)
    assert learned_to(learner_project, transcript) == Path(transcript).stat().st_size


def test_without_a_model_the_work_waits(
    learner_project: Project, transcript: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is lost and nothing counts as a try; once there is a way, it is learned from."""
    monkeypatch.setenv("PATH", "/nowhere")
    queue.take_in(learner_project.store, learner_project.key, {"transcript_path": transcript, "session_id": "s-1"})

    worker.run(str(learner_project.store.url))

    (kept,) = queue.list_jobs(learner_project.store)
    assert (kept.state, kept.attempts) == ("queued", 0)
    assert "There is no model" in (kept.error or "")
    assert kept.not_before is not None


@pytest.mark.nightly(after=1)
@pytest.mark.parametrize(
    ("name", "value"),
    [("AGENTIC_CONTEXT_BACKEND", "both"), ("PLAYBOOK_DAILY_TOKENS", "many"), ("AGENTIC_CONTEXT_TIMEOUT_S", "soon")],
)
def test_a_wrong_setting_is_no_fault_of_the_jobs(
    learner_project: Project, transcript: str, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    """They wait until it is put right."""
    queue.take_in(learner_project.store, learner_project.key, {"transcript_path": transcript, "session_id": "s-1"})
    with MessagesApi(*GOOD) as api:
        model_at(api, monkeypatch)
        with monkeypatch.context() as wrong:
            wrong.setenv(name, value)
            worker.run(str(learner_project.store.url))
        (kept,) = queue.list_jobs(learner_project.store)
        assert (kept.state, kept.attempts, name in (kept.error or "")) == ("queued", 0, True)
        worker.run(str(learner_project.store.url))

    assert [job.state for job in queue.list_jobs(learner_project.store)] == ["done"]


@pytest.mark.parametrize(("status", "state"), [(413, "failed"), (503, "queued")])
def test_a_job_that_fails_is_kept_and_says_why(
    learner_project: Project, transcript: str, monkeypatch: pytest.MonkeyPatch, status: int, state: str
) -> None:
    """For good where asking again can't help; else it waits, longer each time."""
    monkeypatch.setattr("time.sleep", lambda _: None)
    queue.take_in(learner_project.store, learner_project.key, {"transcript_path": transcript, "session_id": "s-1"})
    with MessagesApi(Answer("no", status=status)) as api:
        model_at(api, monkeypatch)
        worker.run(str(learner_project.store.url))

    (kept,) = queue.list_jobs(learner_project.store)
    assert (kept.state, kept.attempts) == (state, 1)
    assert kept.error
    assert queue.retry(learner_project.store, learner_project.key, kept.id)
    (again,) = queue.list_jobs(learner_project.store)
    assert (again.state, again.attempts, again.error) == ("queued", 0, None)


@pytest.mark.sqlite
def test_what_a_killed_worker_left_running_is_done_by_the_next(
    learner_project: Project, transcript: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lock that it held is gone with it, and so is its claim."""
    queue.take_in(learner_project.store, learner_project.key, {"transcript_path": transcript, "session_id": "s-1"})
    assert queue.claim(learner_project.store) is not None
    assert queue.claim(learner_project.store) is None
    with MessagesApi(*GOOD) as api:
        model_at(api, monkeypatch)
        worker.run(str(learner_project.store.url))

    assert [job.state for job in queue.list_jobs(learner_project.store)] == ["done"]


def test_what_asking_took_is_kept_with_each_call(
    learner_project: Project, transcript: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tokens and duration, by call and by session."""
    from playbook_db.services.reading import history

    with MessagesApi(*GOOD) as api:
        learn_transcript(learner_project, transcript, model_at(api, monkeypatch))

    (session,) = history.sessions(learner_project)
    assert (session.session_id, session.revisions, session.calls) == ("s-1", 1, 3)
    assert session.tokens > 0
    with learner_project.store.snapshot() as connection:
        rows = connection.exec_driver_sql(
            "SELECT finished_at IS NOT NULL, revision, curator_reasoning, input_tokens > 0 FROM reflections"
        ).all()
        assert PlaybookRepository(connection, learner_project.key).revision == 2
    assert [tuple(row) for row in rows] == [(1, 2, "It was missing.", 1)]


def test_a_worker_whose_time_is_over_leaves_the_rest_to_the_next(
    learner_project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between two chunks; what it learnt is kept, and the job waits without a try counted against it."""
    monkeypatch.setattr(learner, "CHUNK_CHARS", 2000)
    path = a_session(12).write(tmp_path / "long.jsonl")
    queue.take_in(learner_project.store, learner_project.key, {"transcript_path": path, "session_id": "s"})
    monkeypatch.setattr(worker, "MAX_MINUTES", 0.5 / 60)
    slow = Rule(lambda _: Answer(reflection(("pat-001", "helpful")), delay_s=0.6), when=is_reflector)
    with MessagesApi(slow, curation()) as api:
        model_at(api, monkeypatch)
        done = worker.run(str(learner_project.store.url))
        assert done is not None
        assert (done.put_off, done.failed) == (1, 0)
        (job,) = queue.list_jobs(learner_project.store)
        assert (job.state, job.attempts) == ("queued", 0)
        monkeypatch.setattr(worker, "MAX_MINUTES", 30)
        worker.run(str(learner_project.store.url))

    assert [job.state for job in queue.list_jobs(learner_project.store)] == ["done"]
    assert _points(learner_project)["pat-001"][1] == sum(is_reflector(request) for request in api.messages())


def test_what_a_model_says_is_kept_in_a_sane_size(
    database: Store, learner_project: Project, transcript: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Analysis, reasons and lists have lengths; a point that no session could be shown is skipped."""
    assert asking._MAX_ITEMS == 2000
    monkeypatch.setattr(asking, "_MAX_ITEMS", 20)
    tags = [("pat-001", "helpful"), *[(f"x-{number}", "neutral") for number in range(30)]]
    told = json.loads(reflection(*tags, analysis="word " * 5_000))
    told["bullet_tags"][0]["rationale"] = "why " * 5_000
    curated = curation({**ADD, "text": "long " * 5_000}, ADD, *[{"type": "NONE"}] * 30, reasoning="so " * 8_000)
    with MessagesApi(*answers(json.dumps(told), curated)) as api:
        learn_transcript(learner_project, transcript, model_at(api, monkeypatch))

    assert _points(learner_project) == {
        "pat-001": ("run the tests first", 1, 0),
        "pref-001": ("say what was run", 0, 0),
    }
    with database.snapshot() as connection:
        rows = connection.exec_driver_sql("SELECT length(analysis), length(curator_reasoning) FROM reflections").all()
        votes = connection.exec_driver_sql("SELECT count(*), max(length(rationale)) FROM votes").all()
        skipped = connection.exec_driver_sql("SELECT reason FROM skipped_operations ORDER BY seq").all()
    assert rows == [(20_000, 20_000)]
    assert votes == [(20, 1000)]
    assert skipped[0] == ("`text`: a text must not be longer than 10,000 characters",)
    assert len(skipped) == 19
