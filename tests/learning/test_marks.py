"""New texts are checked for risk; the first lessons need no curator."""

import json
from pathlib import Path

import pytest

from playbook_db.claude_code.learner import learn_transcript
from playbook_db.services.learning import budget
from playbook_db.services.playbook import review
from playbook_db.services.project import Project, read_playbook
from playbook_db.store.engine import Store
from tests import marking
from tests.learning.conftest import MessagesApi, Rule, answers, curation, is_reflector, model_at, reflection
from tests.messages_api import Answer, Request, Scripted

pytestmark = pytest.mark.slow  # asks an API on loopback, through a client that takes seconds to import

TOKENS = sum((Answer().usage.input_tokens, Answer().usage.output_tokens))  # of a call
SAID = "mend the bug first, and say what it was"
ADDS = [{"type": "ADD", "text": text, "section": "OTHERS"} for text in ("say what was run", "say nothing of the key")]


def _second_is_risky(request: Request) -> str:
    return marking.marks(request.last_said, lambda text: "key" in text)


@pytest.mark.parametrize(
    ("marks", "counting", "doubts"),
    [
        (_second_is_risky, ["say what was run"], ["marked as risky"]),
        ("I can't say.", [], ["not checked for risk yet"] * 2),
        (Answer(status=400), [], ["not checked for risk yet"] * 2),
    ],
)
def test_text_counts_if_it_is_marked_as_safe(
    learner_project: Project,
    transcript: str,
    monkeypatch: pytest.MonkeyPatch,
    marks: Scripted,
    counting: list[str],
    doubts: list[str],
) -> None:
    """Otherwise it waits with the reason. The call counts in the budget."""
    with MessagesApi(*answers(reflection(), curation(*ADDS)), marks=marks) as api:
        learn_transcript(learner_project, transcript, model_at(api, monkeypatch))

    (asked,) = api.marked()
    assert [*marking.notes_of(asked.last_said).values()] == ["say what was run", "say nothing of the key"]
    assert SAID not in asked.last_said
    assert [point.text for point in read_playbook(learner_project).points[1:]] == counting
    assert [item.proposal.operation["doubt"] for item in review.waiting(learner_project)] == doubts
    calls = 2 if isinstance(marks, Answer) else 3
    assert budget.tokens_today(learner_project.store) == calls * TOKENS


def test_first_lessons_need_no_curator(
    database: Store, folder: Path, transcript: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each becomes one point in the section of its kind. A risky one waits."""
    project = Project.in_folder(database, str(folder))
    texts = ("say what was run", "Say what was run.", "say nothing of the key")
    lessons = [{"kind": "wish_of_the_user", "text": text, "evidence": [SAID]} for text in texts]
    reflected = json.dumps({"analysis": "It went well.", "bullet_tags": [], "lessons": lessons})
    with MessagesApi(Rule(reflected, when=is_reflector), marks=_second_is_risky) as api:
        learn_transcript(project, transcript, model_at(api, monkeypatch))

    assert len(api.messages()) == len(api.marked()) == 1
    assert [(point.name, point.text) for point in read_playbook(project).points] == [("pref-001", "say what was run")]
    assert [item.proposal.text for item in review.waiting(project)] == ["say nothing of the key"]
