"""What pages say to the assistant is proposed at most; what honest sessions teach is learned."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from playbook_db.claude_code.transcripts.project_files import ProjectFiles
from playbook_db.domain.trust.evidence import FETCHED, Place, find_evidence
from playbook_db.domain.trust.influence import has_outside, operation_trust, vote_counts
from tests.playing import lay_out, of_sample
from tests.reading import read_chunks
from tests.sessions_made_up import HONEST, POINTS, POISONED, TEST_OUTPUT, SampleSession
from tests.transcripts_made_up import said_anew

_TEXTS = {f"pat-{number:03}": text for number, text in enumerate(POINTS, 1)}

THROUGH = {"quote-the-tests": ["pat-001"]}  # helpful votes: their evidence shares a word with the point


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> ProjectFiles:
    """A repository that tracks the files which the sessions show, as they found them."""
    folder = tmp_path_factory.mktemp("trust")
    plays = [of_sample(session, folder) for session in (*POISONED, *HONEST)]
    tracked = {path: content for play in plays for path, content in play.tracked.items() if not path.startswith("/")}
    lay_out(folder / "project", tracked)
    found = ProjectFiles((str(folder / "project"),), began_at=4_000_000_000.0)
    assert found.holds(".", found.folders[0])
    return found


@pytest.mark.parametrize("session", POISONED, ids=lambda session: session.name)
def test_nothing_that_a_page_asks_for_counts_without_a_review(
    session: SampleSession, tmp_path: Path, files: ProjectFiles
) -> None:
    """Whatever the model quotes for it, be it the user's own words or the output of tests."""
    places = _places(session, tmp_path, files)
    trusts = [(text, trust) for text, trust in _judged(session, places) if trust != FETCHED]
    votes = _counted(session, places)

    assert session.all_operations() or session.votes
    assert not trusts
    assert votes == THROUGH.get(session.name, [])


def test_page_that_spoke_before_the_chunk_is_remembered(tmp_path: Path, files: ProjectFiles) -> None:
    """The assistant still has it before its eyes; whether that chunk came in the same run or in an earlier one."""
    session = next(each for each in POISONED if each.name == "quote-the-user")
    path = session.write(tmp_path, project=files.folders[0])
    lines = Path(path).read_text("utf-8").splitlines(keepends=True)
    with open(path, "a", encoding="utf-8") as file:  # the same session goes on for long
        for number in range(1, 31):
            file.writelines(said_anew(line, number) for line in [lines[0], *lines[-4:]])
    chunks = list(read_chunks(path, 0, 4_000, files=replace(files, written=set())))
    (again,) = read_chunks(path, chunks[-1].start, 200_000, files=replace(files, written=set()))

    assert len(chunks) > 2
    for places in (*(chunk.places for chunk in chunks), again.places):
        assert len([place for place in places if has_outside([place])]) == 1
        assert operation_trust("Linting costs time", [], find_evidence([TEST_OUTPUT], places), places) == FETCHED


def _judged(session: SampleSession, places: tuple[Place, ...]) -> Iterator[tuple[str, str]]:
    """The text and the class of each operation that the curator asks for."""
    for operation in session.all_operations():
        names = [operation[key] for key in ("target_id",) if key in operation] + operation.get("source_ids", [])
        text = operation.get("text") or operation.get("merged_text") or _TEXTS[names[0]]
        yield text, operation_trust(text, names, find_evidence(operation["evidence"], places), places)


def _counted(session: SampleSession, places: tuple[Place, ...]) -> list[str]:
    """The points on which a vote counts."""
    return [
        name
        for name, tag, quotes in session.votes
        if vote_counts(name, tag, find_evidence(quotes, places), places, text=_TEXTS[name])
    ]


def _places(session: SampleSession, folder: Path, files: ProjectFiles) -> tuple[Place, ...]:
    (chunk,) = read_chunks(
        session.write(folder, project=files.folders[0]), 0, 200_000, files=replace(files, written=set())
    )
    return chunk.places


def test_honest_sessions_are_learned_from_without_a_review(tmp_path: Path, files: ProjectFiles) -> None:
    """At most a sixth of their lessons are proposed, else reviewing would swallow learning; and their votes count."""
    judged = {session.name: [*_judged(session, _places(session, tmp_path, files))] for session in HONEST}
    proposed = [(name, text) for name, each in judged.items() for text, trust in each if trust == FETCHED]
    count = sum(map(len, judged.values()))
    kept = [vote for session in HONEST for vote in _counted(session, _places(session, tmp_path, files))]

    assert len(HONEST) >= 20
    assert count >= 40
    assert len(proposed) <= count / 6, proposed
    assert len(kept) == sum(len(session.votes) for session in HONEST)
