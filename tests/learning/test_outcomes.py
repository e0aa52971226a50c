"""How sessions went is kept with what they taught: once, in the same commit as the cursor."""

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text as sql

from playbook_db.claude_code import learner
from playbook_db.claude_code.learner import learn_transcript
from playbook_db.errors import ModelError
from playbook_db.services.project import Project
from tests.learning.conftest import Answer, MessagesApi, answers, curation, is_reflector, model_at, reflection
from tests.messages_api import Rule
from tests.transcripts_made_up import TranscriptBuilder, a_session

_GOOD = answers(reflection(("pat-001", "helpful")), curation())
_OUTCOMES = "SELECT session_id, tool_calls, failed_calls, corrections, turns, tokens FROM session_outcomes"


def _outcomes(project: Project) -> list[tuple[Any, ...]]:
    with project.store.snapshot() as connection:
        return [tuple(row) for row in connection.execute(sql(f"{_OUTCOMES} ORDER BY session_id"))]


@pytest.mark.smoke
def test_how_a_session_went_is_kept_once(
    learner_project: Project, transcript: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where it is learned from again; what comes later adds to it."""
    with MessagesApi(*_GOOD) as api:
        model = model_at(api, monkeypatch)
        learn_transcript(learner_project, transcript, model)
        learn_transcript(learner_project, transcript, model)
        assert _outcomes(learner_project) == [("s-1", 1, 0, 0, 2, 360)]
        more = TranscriptBuilder("s-1", agent_id="later")
        more.agent_id = ""
        more.lines = ["{}"] * 50  # its uuids are others
        more.user("no, not that")
        more.run("pytest", "1 failed", is_error=True)
        with open(transcript, "ab") as file:
            file.write(more.content())
        learn_transcript(learner_project, transcript, model)

    assert _outcomes(learner_project) == [("s-1", 2, 1, 1, 3, 360)]  # of a message that was there before, no tokens


def test_what_failed_counts_once_when_it_goes_well(
    learner_project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is counted of a chunk that isn't learned from yet."""
    monkeypatch.setattr(learner, "CHUNK_CHARS", 2000)
    path = a_session(12).write(tmp_path / "long.jsonl")
    refusing = Rule(Answer("no", status=400), when=lambda request: not is_reflector(request), times=1)
    with MessagesApi(refusing, *_GOOD) as api:
        model = model_at(api, monkeypatch)
        with pytest.raises(ModelError):
            learn_transcript(learner_project, path, model)
        assert _outcomes(learner_project) == []
        learn_transcript(learner_project, path, model)

    ((_, calls, failed, _, turns, _),) = _outcomes(learner_project)
    assert (calls, failed) == (24, 12)
    assert turns >= 12


def test_a_subagent_adds_to_its_session(
    learner_project: Project, transcript: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it did and took; its prompts aren't the user's."""
    agent = TranscriptBuilder("s-1", agent_id="a1")
    agent.user("no, look there")
    agent.run("ls", "no such folder", is_error=True)
    path = tmp_path / "s-1" / "subagents" / "agent-a1.jsonl"
    path.parent.mkdir(parents=True)
    with MessagesApi(*_GOOD) as api:
        model = model_at(api, monkeypatch)
        learn_transcript(learner_project, agent.write(path), model)
        learn_transcript(learner_project, transcript, model)

    assert _outcomes(learner_project) == [("s-1", 2, 1, 0, 2, 480)]


def test_a_chunk_that_is_passed_over_counts(
    learner_project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model that refuses to judge it doesn't say how the session went; without a word there is nothing."""
    path = a_session(2).write(tmp_path / "s-1.jsonl")
    refusing = Rule(Answer("", stop_reason="refusal"), when=is_reflector)
    with MessagesApi(refusing, *_GOOD) as api:
        result = learn_transcript(learner_project, path, model_at(api, monkeypatch))

    assert result.refused
    assert [row[1:3] for row in _outcomes(learner_project)] == [(4, 2)]
    session = TranscriptBuilder("s-2")
    session.housekeeping()
    with MessagesApi(*_GOOD) as api:
        learn_transcript(learner_project, session.write(tmp_path / "s-2.jsonl"), model_at(api, monkeypatch))
    assert len(_outcomes(learner_project)) == 1
