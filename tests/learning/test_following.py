"""Whether a session followed the points that it was shown is kept with what it taught."""

import json
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text as sql

from playbook_db.claude_code import learner
from playbook_db.claude_code.learner import learn_transcript
from playbook_db.domain.trust.following import Trial
from playbook_db.services.playbook import edit
from playbook_db.services.project import Project
from tests.learning.conftest import (
    Answer,
    MessagesApi,
    Rule,
    answers,
    curation,
    is_reflector,
    model_at,
    reflection,
    show_all,
)
from tests.transcripts import TranscriptBuilder, a_call

pytestmark = pytest.mark.slow  # asks an API on loopback, through a client that takes seconds to import

NOTHING = answers(reflection(), curation())
LATER = {"timestamp": "2999-01-01T00:00:00.000Z"}  # than what was shown
MISSING = "ModuleNotFoundError: No module named 'pytest_asyncio'"


@pytest.fixture
def project(learner_project: Project) -> Project:
    """With the points pat-001 (which names nothing) and pat-002."""
    edit.add(learner_project, "Run tests with `uv run pytest`, never bare `pytest`.", section="pat")
    return learner_project


def _trials(project: Project) -> dict[tuple[str, str], tuple[int, ...]]:
    """For each session and point: followed, ignored, failed calls."""
    rows = sql(
        "SELECT t.session_id, k.name, t.followed, t.ignored, t.failed_calls FROM trials AS t"
        " JOIN key_points AS k ON k.playbook_id = t.playbook_id AND k.id = t.point_id"
    )
    with project.store.snapshot() as connection:
        found = [tuple(row) for row in connection.execute(rows)]
    return {(session, name): tuple(counts) for session, name, *counts in found}


def _ran(session: TranscriptBuilder, command: str, output: str = "", **fields: Any) -> None:
    session.assistant(a_call("Bash", command=command), **fields)
    session.result(output, is_error=bool(output), **fields)


def _learn(project: Project, path: str, monkeypatch: pytest.MonkeyPatch, *rules: Rule) -> None:
    with MessagesApi(*(rules or NOTHING)) as api:
        learn_transcript(project, path, model_at(api, monkeypatch))


@pytest.mark.postgres
def test_a_session_that_ignored_a_point_and_then_followed_it_counts_once(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However often its transcript is learned from; a later chunk adds to it. A citation follows, too."""
    show_all(project)
    session = TranscriptBuilder("s-1")
    session.user("mend the bug first, and say what it was", **LATER)
    _ran(session, "pytest -x", MISSING, **LATER)
    path = session.write(tmp_path / "s-1.jsonl")
    _learn(project, path, monkeypatch)
    _learn(project, path, monkeypatch)
    assert _trials(project) == {("s-1", "pat-002"): (0, 1, 1)}

    _ran(session, "pytest", MISSING, **LATER)
    _ran(session, "uv run pytest", **LATER)
    session.assistant("By [pat-001] it is done.", **LATER)
    _learn(project, session.write(tmp_path / "s-1.jsonl"), monkeypatch)

    assert _trials(project) == {("s-1", "pat-001"): (1, 0, 0), ("s-1", "pat-002"): (1, 2, 2)}


def test_what_happened_before_a_point_was_shown_says_nothing_of_it(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The failed call that an error's point answers came before it, though its result is written after it."""
    show_all(project)
    session = TranscriptBuilder("s-1")
    session.user("mend the bug first, and say what it was")
    session.assistant(a_call("Bash", command="pytest"))
    session.result(MISSING, is_error=True, **LATER)
    _learn(project, session.write(tmp_path / "s-1.jsonl"), monkeypatch)
    other = TranscriptBuilder("s-2")
    other.user("mend the bug first, and say what it was", **LATER)
    _ran(other, "pytest", MISSING, **LATER)
    _learn(project, other.write(tmp_path / "s-2.jsonl"), monkeypatch)

    assert _trials(project) == {}  # the second session was shown nothing


def test_a_correction_counts_if_the_answer_came_after_the_point(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A point that the correcting words bring can't have been ignored yet."""
    for number, fields in enumerate([{}, LATER], 1):
        show_all(project, f"s-{number}")
        session = TranscriptBuilder(f"s-{number}")
        session.user("run the tests, please", **fields)
        session.assistant("Done with pytest.", **fields)
        session.user("no, run the tests with uv run pytest, never bare pytest", **LATER)
        _learn(project, session.write(tmp_path / f"s-{number}.jsonl"), monkeypatch)

    assert _trials(project) == {("s-2", "pat-002"): (0, 1, 0)}


def test_a_chunk_that_fails_to_be_learned_from_leaves_nothing_and_then_counts_once(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its figures are of the commit that moves the cursor. A chunk that a model refuses to judge has them, too."""
    monkeypatch.setattr(learner, "CHUNK_CHARS", 2000)
    show_all(project)
    session = TranscriptBuilder("s-1")
    for _ in range(3):
        session.user(f"mend the bug first, and say what it was. {'and so on ' * 100}", **LATER)
        _ran(session, "pytest", MISSING, **LATER)
    path = session.write(tmp_path / "s-1.jsonl")
    unreachable = Rule(Answer("no", status=400), when=lambda request: not is_reflector(request), times=1)
    with pytest.raises(Exception, match="400"):
        _learn(project, path, monkeypatch, unreachable, *NOTHING)
    assert _trials(project) == {}
    _learn(project, path, monkeypatch, Rule(Answer("", stop_reason="refusal"), when=is_reflector, times=1), *NOTHING)

    assert _trials(project) == {("s-1", "pat-002"): (0, 3, 3)}


def test_the_curator_is_told_which_points_were_ignored(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Since they were last reworded: then a better text may be all that is missing."""
    session = TranscriptBuilder("s-1")
    session.user("mend the bug first, and say what it was")
    session.assistant("Done.")
    with project.store.write(project.key) as book:
        for name in "abc":
            book.add_trial(2, Trial(ignored=2), session_id=name)
    lesson = {
        "kind": "mistake",
        "text": "run the tests with uv",
        "evidence": ["mend the bug first, and say what it was"],
    }
    reflected = json.dumps({"analysis": "It failed.", "bullet_tags": [], "lessons": [lesson]})
    with MessagesApi(*answers(reflected, curation())) as api:
        learn_transcript(project, session.write(tmp_path / "s-1.jsonl"), model_at(api, monkeypatch))
        asked = [json.dumps(request.body) for request in api.messages() if not is_reflector(request)]

    assert any("ignored in 3 sessions" in request for request in asked)
