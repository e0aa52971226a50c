"""Whether a session followed or cited points is kept with what it taught."""

import json
from pathlib import Path
from typing import Any

import pytest

from playbook_db.claude_code import learner as learner_module
from playbook_db.domain.trust.following import Trial
from playbook_db.services.playbook import edit
from tests.learning.conftest import Answer, Learner, Rule, answers, curation, is_reflector, reflection, show_all
from tests.transcripts import TranscriptBuilder, a_call

pytestmark = pytest.mark.slow  # asks an API on loopback, through a client that takes seconds to import

SAID = "mend the bug first, and say what it was"
NOTHING = answers(reflection(), curation())
LATER = {"timestamp": "2999-01-01T00:00:00.000Z"}  # after the points were shown
MISSING = "ModuleNotFoundError: No module named 'pytest_asyncio'"


@pytest.fixture
def learner(learner: Learner) -> Learner:
    """With pat-002; pat-001 names no command."""
    edit.add(learner.project, "Run tests with `uv run pytest`, never bare `pytest`.", section="pat")
    return learner


def _trials(learner: Learner) -> dict[tuple[str, str], tuple[int, ...]]:
    """For each session and point: followed, ignored, failed calls."""
    rows = learner.rows(
        "SELECT t.session_id, k.name, t.followed, t.ignored, t.failed_calls FROM trials AS t"
        " JOIN key_points AS k ON k.playbook_id = t.playbook_id AND k.id = t.point_id"
    )
    return {(session, name): tuple(counts) for session, name, *counts in rows}


def _ran(session: TranscriptBuilder, command: str, output: str = "", **fields: Any) -> None:
    session.assistant(a_call("Bash", command=command), **fields)
    session.result(output, is_error=bool(output), **fields)


@pytest.mark.postgres
def test_later_chunks_add_to_a_trial(learner: Learner, tmp_path: Path) -> None:
    """Nothing counts twice, and a citation counts as following."""
    show_all(learner.project)
    session = TranscriptBuilder("s-1")
    session.user(SAID, **LATER)
    _ran(session, "pytest -x", MISSING, **LATER)
    path = session.write(tmp_path / "s-1.jsonl")
    learner.learn(path, *NOTHING)
    learner.learn(path, *NOTHING)
    assert _trials(learner) == {("s-1", "pat-002"): (0, 1, 1)}

    _ran(session, "pytest", MISSING, **LATER)
    _ran(session, "uv run pytest", **LATER)
    session.assistant("By [pat-001] it is done.", **LATER)
    learner.learn(session.write(tmp_path / "s-1.jsonl"), *NOTHING)

    assert _trials(learner) == {("s-1", "pat-001"): (1, 0, 0), ("s-1", "pat-002"): (1, 2, 2)}


def test_only_calls_after_a_showing_count(learner: Learner, tmp_path: Path) -> None:
    """A failed call that brings a point began before it. The second session was shown nothing."""
    show_all(learner.project)
    session = TranscriptBuilder("s-1")
    session.user(SAID)
    session.assistant(a_call("Bash", command="pytest"))
    session.result(MISSING, is_error=True, **LATER)
    other = TranscriptBuilder("s-2")
    other.user(SAID, **LATER)
    _ran(other, "pytest", MISSING, **LATER)
    for each in (session, other):
        learner.learn(each.write(tmp_path / f"{each.session_id}.jsonl"), *NOTHING)

    assert _trials(learner) == {}


def test_only_corrections_of_later_answers_count(learner: Learner, tmp_path: Path) -> None:
    """A point that is brought by the correction can't have been ignored yet."""
    for number, fields in enumerate([{}, LATER], 1):
        show_all(learner.project, f"s-{number}")
        session = TranscriptBuilder(f"s-{number}")
        session.user("run the tests, please", **fields)
        session.assistant("Done with pytest.", **fields)
        session.user("no, run the tests with uv run pytest, never bare pytest", **LATER)
        learner.learn(session.write(tmp_path / f"s-{number}.jsonl"), *NOTHING)

    assert _trials(learner) == {("s-2", "pat-002"): (0, 1, 0)}


def test_failed_chunk_counts_once(learner: Learner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Trials are kept by the commit that moves the cursor, also if a model refuses to judge the chunk."""
    monkeypatch.setattr(learner_module, "CHUNK_CHARS", 2000)
    show_all(learner.project)
    session = TranscriptBuilder("s-1")
    for _ in range(3):
        session.user(f"{SAID}. {'and so on ' * 100}", **LATER)
        _ran(session, "pytest", MISSING, **LATER)
    path = session.write(tmp_path / "s-1.jsonl")
    unreachable = Rule(Answer("no", status=400), when=lambda request: not is_reflector(request), times=1)
    with pytest.raises(Exception, match="400"):
        learner.learn(path, unreachable, *NOTHING)
    assert _trials(learner) == {}

    learner.learn(path, Rule(Answer("", stop_reason="refusal"), when=is_reflector, times=1), *NOTHING)

    assert _trials(learner) == {("s-1", "pat-002"): (0, 3, 3)}


def test_curator_hears_which_points_were_ignored(learner: Learner, tmp_path: Path) -> None:
    """A better text may be all that is missing."""
    session = TranscriptBuilder("s-1")
    session.user(SAID)
    session.assistant("Done.")
    with learner.project.store.write(learner.project.key) as book:
        for name in "abc":
            book.add_trial(2, Trial(ignored=2), session_id=name)
    lesson = {"kind": "mistake", "text": "run the tests with uv", "evidence": [SAID]}
    reflected = json.dumps({"analysis": "It failed.", "bullet_tags": [], "lessons": [lesson]})

    learner.learn(session.write(tmp_path / "s-1.jsonl"), *answers(reflected, curation()))

    (asked,) = (json.dumps(request.body) for request in learner.asked if not is_reflector(request))
    assert "ignored in 3 sessions" in asked


def _citations(learner: Learner) -> dict[tuple[str, str], int]:
    """In how many chunks each session cited each point."""
    rows = learner.rows(
        "SELECT c.session_id, k.name, c.chunks FROM citations AS c"
        " JOIN key_points AS k ON k.playbook_id = c.playbook_id AND k.id = c.point_id"
    )
    return {(session, name): chunks for session, name, chunks in rows}


def _transcript(folder: Path, *said: str) -> str:
    session = TranscriptBuilder("s-2")
    for text in said:
        session.user("go on, please")
        session.assistant(text)
    return session.write(folder / "s-2.jsonl")


def test_citations_are_kept_without_a_lesson(learner: Learner, transcript: str) -> None:
    """They need no revision, and count once however often the chunk is met."""
    summary = learner.learn(transcript, *NOTHING)
    learner.learn(transcript, *NOTHING)

    assert not summary.revisions
    assert _citations(learner) == {("s-1", "pat-001"): 1}


def test_only_names_of_known_points_are_citations(learner: Learner, tmp_path: Path) -> None:
    """Retired points count. A point that is added by the same lesson can't have been meant."""
    edit.add(learner.project, "say what was run", section="pref")
    edit.retire(learner.project, "pref-001")
    path = _transcript(tmp_path, "By [pat-001, pref-001] and [mis-404] and [pat-003].")
    added = {"type": "ADD", "text": "go on and commit often", "section": "PATTERNS & APPROACHES"}

    learner.learn(path, *answers(reflection(), curation(added)))

    assert learner.points["pat-003"][0] == "go on and commit often"
    assert _citations(learner) == {("s-2", "pat-001"): 1, ("s-2", "pref-001"): 1}


@pytest.mark.postgres
def test_citations_count_chunks(learner: Learner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Several citations in one chunk count once."""
    monkeypatch.setattr(learner_module, "CHUNK_CHARS", 2000)
    said = [f"{text} {'and so on ' * 300}" for text in ("[pat-001], [pat-001]", "nothing", "[pat-001]")]

    assert len(learner.learn(_transcript(tmp_path, *said), *NOTHING).learned) >= 3

    assert _citations(learner) == {("s-2", "pat-001"): 2}


def test_thinking_may_cite(learner: Learner, tmp_path: Path) -> None:
    """Also if the session ends in a call."""
    session = TranscriptBuilder("s-4")
    session.user("mend it")
    thinking = {"type": "thinking", "thinking": "As [pat-001] says.", "signature": "x"}
    session.assistant(thinking, a_call("Bash", command="ls"))

    learner.learn(session.write(tmp_path / "s-4.jsonl"), *NOTHING)

    assert _citations(learner) == {("s-4", "pat-001"): 1}
