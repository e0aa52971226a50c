"""What later sessions repeat, and what a session with many lessons teaches."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from playbook_db.claude_code.learner import TranscriptResult
from playbook_db.services.playbook import edit, review
from playbook_db.services.project import Project, read_playbook
from playbook_db.store.engine import Store
from tests.cli.conftest import Playbook, playbook  # noqa: F401 - a fixture
from tests.learning.conftest import Learner, answers, curation, is_reflector, reflection, write_session
from tests.messages_api import Request, Rule
from tests.quoting import quoting, with_evidence
from tests.transcripts import TranscriptBuilder

pytestmark = pytest.mark.slow  # asks an API on loopback, through a client that takes seconds to import

SAID = "Deploy with ./just ship, please"
LESSON = {"kind": "rule", "text": "Deploy with `./just ship`.", "evidence": [SAID]}
ADD = {"type": "ADD", "text": "Deploy with `./just ship`.", "section": "PROJECT CONTEXT"}
Learn = Callable[..., tuple[TranscriptResult, list[Request]]]


@pytest.fixture
def project(database: Store, folder: Path) -> Project:
    """The project in `folder`, without points."""
    return Project.in_folder(database, str(folder))


@pytest.fixture
def learn(project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Learn:
    """Let session *number* teach lessons, with these answers of the curator. Returns the requests, too."""

    def once(number: int, lessons: Sequence[dict[str, Any]], *curated: str) -> tuple[TranscriptResult, list[Request]]:
        session = TranscriptBuilder(f"s-{number}")
        session.user(SAID, gitBranch="feature/ship")
        session.assistant("I deploy it.")
        path = session.write(tmp_path / f"s-{number}.jsonl")
        given = iter(curated or [curation()])
        reflected = json.dumps({"analysis": "a", "bullet_tags": [], "lessons": list(lessons)})
        rules = (
            Rule(quoting(reflected), when=is_reflector),
            Rule(lambda request: with_evidence(next(given), request), when=lambda request: not is_reflector(request)),
        )
        learner = Learner(project, monkeypatch)
        return learner.learn(path, *rules), learner.asked

    return once


def test_repeated_lessons_are_counted(learn: Learn, project: Project, playbook: Playbook) -> None:  # noqa: F811
    """Once for each session. The model and the user see how many sessions said it."""
    learn(1, [LESSON], curation(ADD))
    for number in (2, 3):
        learn(number, [LESSON | {"again": "ctx-001"}])

    _, (_, curator) = learn(4, [LESSON | {"again": "ctx-001"}])

    assert "seen in 3 sessions" in curator.said
    assert "- lesson 1 and ctx-001" in curator.said
    out = playbook("why", "ctx-001", "--db", str(project.store.url)).out
    assert "Seen in 4 sessions." in out
    assert "Since then: 3 repeated lessons." in out


def test_second_session_confirms_a_waiting_point(learn: Learn, project: Project) -> None:
    """The models see the waiting points."""
    edit.add(project, "run the tests", section="pat")
    learn(1, [LESSON], curation(ADD | {"evidence": []}))
    assert len(read_playbook(project).points) == 1
    (waits,) = review.waiting(project)

    _, (reflector, curator) = learn(2, [LESSON | {"again": waits.name}])

    for request in (reflector, curator):
        assert f"## WAITING\n[{waits.name}] ADD: {ADD['text']}" in request.said
    assert [point.text for point in read_playbook(project).points[1:]] == [ADD["text"]]
    assert review.waiting(project) == []


def test_many_lessons_are_curated_in_batches(learn: Learn, project: Project) -> None:
    """Each batch is a revision, and sees the changes of the batch before."""
    edit.add(project, "run the tests", section="pat")
    lessons = [LESSON | {"text": f"Deploy rule {number}."} for number in range(1, 15)]
    curated = [
        curation(*({"type": "ADD", "text": f"Deploy rule {number}.", "section": ADD["section"]} for number in numbers))
        for numbers in (range(1, 11), range(11, 15))
    ]

    _, requests = learn(1, lessons, *curated)

    assert [is_reflector(request) for request in requests] == [True, False, False]
    assert "Deploy rule 10." in requests[1].said
    assert "Deploy rule 11." not in requests[1].said
    assert "[ctx-010] Deploy rule 10." in requests[2].said
    assert [point.text for point in read_playbook(project).points[1:]] == [lesson["text"] for lesson in lessons]
    with project.store.read(project.key) as book:
        assert book.revision == 3
        (offset,) = book.cursors().values()
    assert offset > 0


def test_reflector_sees_branch_and_instructions(learn: Learn, project: Project) -> None:
    """Without secrets and private parts."""
    folder = Path(str(project.folder))
    (folder / "CLAUDE.md").write_text("Use uv. <private>Not this.</private> key: sk-ant-api03-" + "a1B2" * 24)

    _, (reflector, *_) = learn(1, [])

    assert "The session's branch: feature/ship\n\nIts last day: 2026-11-20\n" in reflector.said
    assert "## CLAUDE.md\nUse uv." in reflector.said
    assert "a1B2a1B2" not in reflector.said
    assert "Not this" not in reflector.said


def test_points_kept_apart_are_not_compared_again(learn: Learn, project: Project) -> None:
    edit.add(project, "Deploy with `./just ship` only.", section="pat")
    kept = json.loads(curation(ADD)) | {"apart": [["lesson 1", "pat-001"]]}
    learn(1, [LESSON], json.dumps(kept))

    _, (_, curator) = learn(2, [LESSON | {"text": "Another rule."}])

    with project.store.read(project.key) as book:
        assert book.distinct_points() == [("pat-001", "ctx-001")]
    assert "- pat-001 and ctx-001" not in curator.said


@pytest.mark.nightly(after=1)
@pytest.mark.postgres
def test_harmful_point_rests_until_a_helpful_vote(learner: Learner, playbook: Playbook, tmp_path: Path) -> None:  # noqa: F811
    """It helped before, so it isn't retired; `render` leaves it out."""
    for _ in range(5):
        edit.vote(learner.project, "pat-001", "helpful")
    edit.add(learner.project, "say what was run", section="pref")
    url = ["--db", str(learner.project.store.url)]
    for number in range(3):
        assert "pat-001" in playbook("render", *url).out.split("## ", 1)[1]
        path = write_session(tmp_path / f"s-{number}.jsonl", f"mend the bug first, attempt {number}")
        learner.learn(path, *answers(reflection(("pat-001", "harmful")), curation()))

    first, second = playbook("list", *url).out.splitlines()
    assert first.endswith("\trests")
    assert not second.endswith("\trests")
    assert json.loads(playbook("show", "pat-001", "--json", *url).out)["resting"] is True
    assert "; resting: sessions don't get it" in playbook("show", "pat-001", *url).out
    assert "pat-001" not in playbook("render", *url).out.split("## ", 1)[1]

    playbook("vote", "pat-001", "helpful", *url)

    assert "[pat-001] helpful=6 harmful=3" in playbook("render", *url).out
