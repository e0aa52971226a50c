"""What a session cited is kept with what it taught."""

from pathlib import Path

import pytest

from playbook_db.claude_code import learner
from playbook_db.claude_code.learner import learn_transcript
from playbook_db.errors import ModelError
from playbook_db.services.playbook import edit
from playbook_db.services.project import Project
from tests.learning.conftest import Answer, MessagesApi, Rule, answers, curation, is_reflector, model_at, reflection
from tests.transcripts import TranscriptBuilder, a_call

pytestmark = pytest.mark.slow  # asks an API on loopback, through a client that takes seconds to import

NOTHING = answers(reflection(), curation())


def _citations(project: Project) -> dict[tuple[str, str], int]:
    """In how many chunks each session cited each point."""
    with project.store.snapshot() as connection:
        rows = connection.exec_driver_sql(
            "SELECT c.session_id, k.name, c.chunks FROM citations AS c"
            " JOIN key_points AS k ON k.playbook_id = c.playbook_id AND k.id = c.point_id"
        )
        return {(session, name): chunks for session, name, chunks in rows}


def _transcript(folder: Path, session_id: str, *said: str) -> str:
    session = TranscriptBuilder(session_id)
    for text in said:
        session.user("go on, please")
        session.assistant(text)
    return session.write(folder / f"{session_id}.jsonl")


def test_a_chunk_that_taught_nothing_leaves_what_it_cited(
    learner_project: Project, transcript: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No vote, no operation, no revision; the session cited the point all the same, once, however often it is met."""
    with MessagesApi(*NOTHING) as api:
        model = model_at(api, monkeypatch)
        summary = learn_transcript(learner_project, transcript, model)
        learn_transcript(learner_project, transcript, model)

    assert not summary.revisions
    assert _citations(learner_project) == {("s-1", "pat-001"): 1}


def test_live_and_retired_points_count_and_names_of_no_point_do_not(
    learner_project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor does the name of a point that came with this very lesson: it can't have been meant."""
    edit.add(learner_project, "say what was run", section="pref")
    edit.retire(learner_project, "pref-001")
    path = _transcript(tmp_path, "s-2", "By [pat-001, pref-001] and [mis-404] and [pat-002].")
    added = {"type": "ADD", "text": "go on and commit often", "section": "PATTERNS & APPROACHES"}
    with MessagesApi(*answers(reflection(), curation(added))) as api:
        learn_transcript(learner_project, path, model_at(api, monkeypatch))

    assert edit.find(learner_project, "pat-002").point.text == "go on and commit often"
    assert _citations(learner_project) == {("s-2", "pat-001"): 1, ("s-2", "pref-001"): 1}


@pytest.mark.postgres
def test_each_chunk_that_cites_a_point_counts_once(
    learner_project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A session in many chunks: one row for the point, and in it how many of them cited it, however often each."""
    monkeypatch.setattr(learner, "CHUNK_CHARS", 2000)
    said = [f"{text} {'and so on ' * 300}" for text in ("[pat-001], [pat-001]", "nothing", "[pat-001]")]
    path = _transcript(tmp_path, "s-3", *said)
    with MessagesApi(*NOTHING) as api:
        summary = learn_transcript(learner_project, path, model_at(api, monkeypatch))

    assert len(summary.learned) >= 3
    assert _citations(learner_project) == {("s-3", "pat-001"): 2}


def test_what_is_not_learnt_yet_is_not_cited_yet(
    learner_project: Project, transcript: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The citation is part of the commit that moves the cursor: a curator that fails leaves none behind."""
    refusing = Rule(Answer("no", status=400), when=lambda request: not is_reflector(request), times=1)
    with MessagesApi(refusing, *NOTHING) as api:
        model = model_at(api, monkeypatch)
        with pytest.raises(ModelError):
            learn_transcript(learner_project, transcript, model)
        assert _citations(learner_project) == {}
        learn_transcript(learner_project, transcript, model)

    assert _citations(learner_project) == {("s-1", "pat-001"): 1}


def test_a_session_that_ends_in_a_call_keeps_what_its_thinking_cited(
    learner_project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Thinking cites too."""
    session = TranscriptBuilder("s-4")
    session.user("mend it")
    session.assistant(
        {"type": "thinking", "thinking": "As [pat-001] says.", "signature": "x"}, a_call("Bash", command="ls")
    )
    with MessagesApi(*NOTHING) as api:
        learn_transcript(learner_project, session.write(tmp_path / "s-4.jsonl"), model_at(api, monkeypatch))

    assert _citations(learner_project) == {("s-4", "pat-001"): 1}
