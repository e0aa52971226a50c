"""From a page that a session read to a person's answer, or to a session that knows better."""

from collections.abc import Callable
from pathlib import Path

import pytest

from playbook_db.claude_code.learner import learn_transcript
from playbook_db.services.playbook import edit, review
from playbook_db.services.playbook.review import Decision
from playbook_db.services.project import Project, read_playbook
from playbook_db.store.engine import Store
from tests.learning.conftest import MessagesApi, Rule, is_reflector, model_at
from tests.playing import SampleSession
from tests.transcripts import TranscriptBuilder, a_call

pytestmark = pytest.mark.slow  # asks an API on loopback

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
    """Lets a session of that number teach TEXT and vote against pat-001: by what a page says, or on better evidence."""

    def once(number: int, *, better: bool = False, text: str = TEXT) -> None:
        quote = USER if better else PAGE
        session = SampleSession(
            "cart", _better_steps if better else _steps, [(text, [quote])], [("pat-001", "harmful", [quote])]
        )
        path = session.write(tmp_path, number, project=str(known.folder))
        rules = (
            Rule(lambda _: session.reflection(), when=is_reflector),
            Rule(lambda _: session.curation(), when=lambda request: not is_reflector(request)),
        )
        with MessagesApi(*rules) as api:
            learn_transcript(known, path, model_at(api, monkeypatch))

    return once


def _texts(project: Project) -> list[str]:
    return [point.text for point in read_playbook(project).points]


def test_a_page_s_lesson_waits_until_a_person_accepts_it(known: Project, learn: Learn) -> None:
    """However many sessions read it; then it is one revision with the page as its evidence."""
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
    assert result.accepted == [1, 2]
    assert result.revision.changes[-1].evidence == items[1].proposal.evidence
    assert review.waiting(known) == []
    learn(3)
    assert _texts(known) == ["Never round", TEXT]  # said already; the vote is another session's
    assert [item.proposal.kind for item in review.waiting(known)] == ["VOTE"]


def test_a_session_with_better_evidence_makes_it_real(known: Project, learn: Learn) -> None:
    """Up to case and spaces; nobody need decide it any more, and the record says who did."""
    learn(1)
    learn(2, better=True, text=" round at the END.")

    assert review.waiting(known) == []
    assert _texts(known) == ["Never round", "round at the END."]
    with known.store.read(known.key) as book:
        decided = [book.proposal(1), book.proposal(2)]
        assert [each and (each.state, each.revision) for each in decided] == [("accepted", book.revision)] * 2
        assert decided[0] is not None
        assert decided[0].decided_by in ("cart-2", book.actor())


def test_what_was_rejected_is_not_asked_again(known: Project, learn: Learn) -> None:
    """By the next session that reads the page; the one that knows better teaches it all the same."""
    learn(1)
    review.decide(known, [Decision(item.proposal.id, accepts=False) for item in review.waiting(known)])
    learn(2)

    assert review.waiting(known) == []
    assert _texts(known) == ["Never round"]
    learn(3, better=True)
    assert _texts(known) == ["Never round", TEXT]
