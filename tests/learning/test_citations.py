"""What a session cited is kept with what it taught."""

from pathlib import Path

import pytest

from playbook_db.claude_code import learner as learner_module
from playbook_db.services.playbook import edit
from tests.learning.conftest import Learner, answers, curation, reflection
from tests.transcripts import TranscriptBuilder, a_call

pytestmark = pytest.mark.slow  # asks an API on loopback, through a client that takes seconds to import

NOTHING = answers(reflection(), curation())


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
    path = _transcript(tmp_path, "By [pat-001, pref-001] and [mis-404] and [pat-002].")
    added = {"type": "ADD", "text": "go on and commit often", "section": "PATTERNS & APPROACHES"}

    learner.learn(path, *answers(reflection(), curation(added)))

    assert learner.points["pat-002"][0] == "go on and commit often"
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
