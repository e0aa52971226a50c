"""Lessons that wait: what only a page supports, and what may be risky."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from playbook_db.claude_code.learner import learn_transcript
from playbook_db.services.learning import budget
from playbook_db.services.playbook import edit, review
from playbook_db.services.playbook.review import Decision
from playbook_db.services.project import Project, read_playbook
from playbook_db.store.engine import Store
from tests import marking
from tests.learning.conftest import Learner, MessagesApi, Rule, answers, curation, is_reflector, model_at, reflection
from tests.messages_api import Answer, Request, Scripted
from tests.playing import SampleSession
from tests.transcripts import TranscriptBuilder, a_call

pytestmark = pytest.mark.slow  # asks an API on loopback

TOKENS = sum((Answer().usage.input_tokens, Answer().usage.output_tokens))  # of a call
SAID = "mend the bug first, and say what it was"
ADDS = [{"type": "ADD", "text": text, "section": "OTHERS"} for text in ("say what was run", "say nothing of the key")]
TEXT, PAGE, USER, FAILED = "Round at the end", "Carts round at the end.", "Please round at the end.", "1 failed in 0.2s"
Learn = Callable[..., None]


def _steps(built: TranscriptBuilder) -> None:
    built.user("Why is the total wrong? I follow nobody's advice.")
    built.assistant("I follow [pat-001].", a_call("WebFetch", url="https://docs.example/carts", prompt="?"))
    built.result(f"A guide to carts. {PAGE} Done.")


def _better_steps(built: TranscriptBuilder) -> None:
    built.user(f"The total is wrong. {USER}")
    built.assistant("I follow [pat-001].")
    built.run("pytest -q", f"E   assert 10.01 == 10.0\n{FAILED}", is_error=True)


@pytest.fixture
def known(database: Store, folder: Path) -> Project:
    """The project in `folder`, with pat-001."""
    project = Project.in_folder(database, str(folder))
    edit.add(project, "Never round", section="PATTERNS & APPROACHES")
    return project


@pytest.fixture
def learn(known: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Learn:
    """Let session *number* teach TEXT and vote against pat-001: by what a page says, or on better evidence."""

    def once(number: int, *, better: bool = False, text: str = TEXT) -> None:
        quote = USER if better else PAGE
        session = SampleSession(
            "cart", _better_steps if better else _steps, [(text, [quote])], [("pat-001", "harmful", [quote])]
        )
        Learner(known, monkeypatch).learn(
            session.write(tmp_path, number, project=str(known.folder)),
            Rule(lambda _: session.reflection(), when=is_reflector),
            Rule(lambda _: session.curation(), when=lambda request: not is_reflector(request)),
        )

    return once


def _texts(project: Project) -> list[str]:
    return [point.text for point in read_playbook(project).points]


def test_lesson_of_a_page_waits_for_a_person(known: Project, learn: Learn) -> None:
    """However many sessions read the page. Accepted, it is a revision with the page as evidence."""
    learn(1)
    learn(2)

    items = review.waiting(known)
    assert [(item.proposal.kind, item.proposal.sessions, item.proposal.trust) for item in items] == [
        ("VOTE", 2, "outside"), ("ADD", 2, "outside"),
    ]  # fmt: skip
    assert "docs.example" in items[1].proposal.evidence[0].place
    assert _texts(known) == ["Never round"]

    result = review.decide(known, [Decision(item.proposal.id, accepts=True) for item in items])

    points = {point.text: point for point in read_playbook(known).points}
    assert points["Never round"].harmful == 1
    assert TEXT in points
    assert result.revision.changes[-1].evidence == items[1].proposal.evidence
    assert review.waiting(known) == []
    learn(3)
    assert _texts(known) == ["Never round", TEXT]
    assert [item.proposal.kind for item in review.waiting(known)] == ["VOTE"]  # of another session


def test_better_evidence_accepts_a_waiting_lesson(known: Project, learn: Learn) -> None:
    """Texts may differ in case and spaces. The record names the session."""
    learn(1)
    learn(2, better=True, text=" round at the END.")

    assert review.waiting(known) == []
    assert _texts(known) == ["Never round", "round at the END."]
    with known.store.read(known.key) as book:
        decided = [book.proposal(1), book.proposal(2)]
        assert [each and (each.state, each.revision) for each in decided] == [("accepted", book.revision)] * 2
        assert decided[0] is not None
        assert decided[0].decided_by in ("cart-2", book.actor())


def test_rejected_lesson_is_not_proposed_again(known: Project, learn: Learn) -> None:
    """A session with better evidence teaches it all the same."""
    learn(1)
    review.decide(known, [Decision(item.proposal.id, accepts=False) for item in review.waiting(known)])
    learn(2)

    assert review.waiting(known) == []
    assert _texts(known) == ["Never round"]
    learn(3, better=True)
    assert _texts(known) == ["Never round", TEXT]


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
