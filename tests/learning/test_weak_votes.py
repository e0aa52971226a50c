"""Harmful votes that rest on the project's files: they count, and only a person turns them against a point."""

from pathlib import Path

import pytest

from playbook_db.services.playbook import review
from playbook_db.services.playbook.review import Decision
from playbook_db.services.project import Project, read_playbook
from playbook_db.store.engine import Store
from playbook_db.store.upkeep import check
from tests import playing
from tests.playing import BlindSession

pytestmark = pytest.mark.slow  # git lays out a repository

_STEPS = (
    ("user", "Please mend the total."),
    ("says", "I follow [pat-001]."),
    ("read", "NOTES.md", "Totals are rounded once, at the end.\n"),
)
_QUOTE = "Totals are rounded once, at the end."


@pytest.fixture
def project(database: Store, tmp_path: Path) -> Project:
    """Two points; git tracks the file that speaks against the first one."""
    return playing.project_of(database, tmp_path / "shop", playing.of_blind(_session(1)), ["Round each line", "Ask"])


def _session(number: int) -> BlindSession:
    votes = [("pat-001", "harmful", [_QUOTE])]
    return BlindSession(
        f"s{number}", "", is_poisoned=False, steps=_STEPS, tracked={"NOTES.md": f"{_QUOTE}\n"}, votes=votes
    )


def _learn(project: Project, folder: Path, number: int) -> None:
    transcripts = folder / f"transcripts-{number}"
    transcripts.mkdir()
    playing.learn(project, playing.of_blind(_session(number)), transcripts)


def _best(project: Project) -> list[str]:
    with project.store.read(project.key) as book:
        ranked = book.ranked_points()
        return [point.name for point in ranked]


def test_three_sessions_that_quote_a_file_propose_the_retirement_once(project: Project, tmp_path: Path) -> None:
    """The counter rises at once; the point neither sinks, rests nor leaves before a person says so."""
    for number in range(1, 5):
        _learn(project, tmp_path, number)
        assert read_playbook(project).by_name["pat-001"].harmful == number
        assert _best(project)[0] == "pat-001"

    (item,) = review.waiting(project)
    assert (item.proposal.kind, item.proposal.names, item.proposal.sessions) == ("DELETE", ("pat-001",), 1)
    assert [(piece.quote, piece.trust) for piece in item.proposal.evidence] == [(_QUOTE, "files")]
    with project.store.snapshot() as connection:
        assert check.run(connection, check.THOROUGH) == []

    review.decide(project, [Decision(item.proposal.id, accepts=True)])

    assert [point.name for point in read_playbook(project).points] == ["pat-002"]
