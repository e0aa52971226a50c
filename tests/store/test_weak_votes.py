"""Weak votes against a point: they count in its counter, and neither in its rank nor for its rest or its retirement."""

import re

import pytest

from playbook_db.domain import operations, playbook_file
from playbook_db.domain.playbook import Vote
from playbook_db.domain.proposals import Proposal
from playbook_db.domain.trust.evidence import FILES, Evidence
from playbook_db.services.playbook import edit, forget, import_export, review, undo
from playbook_db.services.playbook.forget import Request
from playbook_db.services.playbook.review import Decision
from playbook_db.services.project import Project, read_playbook
from playbook_db.store import quick_sql
from playbook_db.store.playbook import log_queries
from playbook_db.store.playbook.repository import RevisionOrigin
from playbook_db.store.upkeep import check

QUOTE = Evidence('they say "weak": true', "NOTES.md", FILES)
WEAK = Vote("pat-001", "harmful", evidence=(QUOTE,), is_weak=True)
FULL = Vote("pat-001", "harmful", evidence=(QUOTE,))
HELPFUL = Vote("pat-001", "helpful", evidence=(QUOTE,))


@pytest.fixture
def project(project: Project) -> Project:
    """Two points."""
    for text in ("run the tests", "say what was run"):
        edit.add(project, text, section="pat")
    return project


def learn(project: Project, *votes: Vote, session: str = "s") -> list[str]:
    """Let *session* teach *votes*, and prune; the points that are retired by it."""
    with project.store.write(project.key) as book:
        cast = operations.cast_votes(book.draft, votes)
        pruned = edit.prune_or_propose(book, cast, session)
        book.commit("learn", "a lesson", votes=cast, origin=RevisionOrigin(session))
        book.rest_points()
    return [point.name for point in pruned]


def waiting(project: Project) -> list[Proposal]:
    """The proposals that wait."""
    return [item.proposal for item in review.waiting(project)]


def order(project: Project) -> list[str]:
    """The points that a session is shown, best first."""
    with project.store.read(project.key) as book:
        return [point.name for point in book.ranked_points()]


def harmful(project: Project) -> int:
    """The counter of pat-001, in a sound database."""
    with project.store.snapshot() as connection:
        assert check.run(connection, check.THOROUGH) == []
    return read_playbook(project).by_name["pat-001"].harmful


def test_a_weak_vote_counts_and_lowers_nothing(project: Project) -> None:
    """A full one puts the point behind the other; a text in the evidence can't make that one weak."""
    learn(project, WEAK)
    assert (harmful(project), order(project)) == (1, ["pat-001", "pat-002"])
    with project.store.read(project.key) as book:
        assert [vote.is_weak for vote in log_queries.read_votes(book, book.revision)] == [True]
    edit.edit(project, "pat-001", text="run all tests")
    assert order(project) == ["pat-001", "pat-002"]

    learn(project, FULL)

    assert (harmful(project), order(project)) == (2, ["pat-002", "pat-001"])


def test_weak_votes_let_nothing_rest_and_hide_no_full_ones(project: Project) -> None:
    """Three full ones in a row do, whatever weak ones are between them."""
    learn(project, *[HELPFUL] * 9)
    for _ in range(4):
        learn(project, WEAK)
        assert "pat-001" in order(project)
    learn(project, FULL, WEAK, FULL)
    assert "pat-001" in order(project)

    learn(project, FULL, WEAK)

    assert order(project) == ["pat-002"]


def test_a_retirement_by_weak_votes_is_proposed_once(project: Project) -> None:
    """Also by a session that votes on nothing. A rejected one isn't proposed again."""
    learn(project, WEAK, WEAK)
    assert waiting(project) == []
    edit.vote(project, "pat-001", "harmful")
    assert learn(project) == []
    assert learn(project, WEAK, session="another") == []

    (proposal,) = waiting(project)
    assert (proposal.kind, proposal.names, proposal.sessions) == ("DELETE", ("pat-001",), 1)
    assert proposal.operation["reason"] == "3 harmful votes, 1 without those by files, and 0 helpful"
    review.decide(project, [Decision(proposal.id, accepts=False)])
    assert learn(project, WEAK) == []
    assert waiting(project) == []


@pytest.mark.parametrize("votes", [(WEAK, FULL, FULL, FULL), (FULL, FULL, FULL)], ids=["beside a weak one", "alone"])
def test_full_votes_retire_a_point(project: Project, votes: tuple[Vote, ...]) -> None:
    """Without a person."""
    assert learn(project, *votes) == ["pat-001"]
    assert waiting(project) == []


def test_a_prune_by_hand_counts_every_vote(project: Project) -> None:
    """As the rule of the scoring specification has it."""
    learn(project, WEAK, WEAK, WEAK)

    assert [change.point.name for change in edit.prune(project).changes] == ["pat-001"]


def test_another_decision_retires_nothing_by_weak_votes(project: Project) -> None:
    """A vote that a person accepts is a full one, whatever its evidence."""
    learn(project, WEAK, WEAK)
    with project.store.write(project.key) as book:
        book.add_proposal({"type": "VOTE", "name": "pat-001", "tag": "harmful"}, "VOTE", (QUOTE,), FILES, "s")

    result = review.decide(project, [Decision(1, accepts=True)])

    assert (result.accepted, list(result.pruned), harmful(project)) == ([1], [], 3)
    assert [proposal.kind for proposal in waiting(project)] == ["DELETE"]
    assert order(project) == ["pat-002", "pat-001"]


def test_a_weak_vote_that_was_taken_back_spares_nothing(project: Project) -> None:
    """Nor does it count any more; taken back and forth, the database stays sound."""
    learn(project, WEAK, WEAK)
    for count in (0, 2, 0):
        undo.undo(project)
        assert harmful(project) == count

    assert learn(project, FULL, FULL, FULL) == ["pat-001"]


def test_an_undo_and_a_restore_keep_the_database_sound(project: Project) -> None:
    """Also where full votes remain: the next vote ranks the point by those."""
    learn(project, FULL)
    learn(project, WEAK)
    undo.undo(project)
    assert harmful(project) == 1
    learn(project, WEAK)
    undo.go_back(project, "3")
    assert harmful(project) == 1

    learn(project, WEAK)

    assert order(project) == ["pat-002", "pat-001"]


def test_imported_counters_count_as_a_persons(project: Project) -> None:
    """A file that says 4 where 1 weak vote is known brings 3 full ones."""
    learn(project, WEAK)
    content = import_export.export_playbook(project).replace('"harmful": 1', '"harmful": 4')
    import_export.import_playbook(project, playbook_file.decode(content.encode(), source="a test"), source="a test")

    assert harmful(project) == 4
    assert order(project) == ["pat-002", "pat-001"]
    assert learn(project) == ["pat-001"]


def test_an_erasure_of_the_quote_keeps_the_vote_weak(project: Project) -> None:
    """The mark isn't text of the session."""
    learn(project, WEAK)
    forget.forget(project, Request(pattern=re.compile("they say")))
    edit.edit(project, "pat-001", text="run all tests")

    assert order(project) == ["pat-001", "pat-002"]
    with project.store.read(project.key) as book:
        _, _, _, _, (evidence,) = quick_sql.find_point(book, "pat-001")
    assert "they say" not in evidence.evidence
