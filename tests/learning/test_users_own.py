"""Learning with both playbooks: the project's and the user's own."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pytest

from playbook_db.claude_code import registration
from playbook_db.services.learning import learn
from playbook_db.services.learning.asking import Inquiry, LearningContext, Verdict
from playbook_db.services.playbook import edit, review, undo
from playbook_db.services.project import Project, read_playbook
from playbook_db.services.reading import history
from playbook_db.store.engine import Store
from playbook_db.store.queries import list_queries, log_queries
from tests.learning.conftest import (
    Learner,
    MessagesApi,
    answers,
    curation,
    is_reflector,
    model_at,
    reflection,
    show_all,
)
from tests.members import NewMember, rows
from tests.messages_api import Request
from tests.transcripts import TranscriptBuilder

pytestmark = pytest.mark.slow  # asks an API on loopback

WISH = "in all my projects: answer in English, please"
Learn = Callable[..., list[Request]]


class _KilledError(BaseException):
    """Kills the worker."""


def _killed(*_: object, **__: object) -> NoReturn:
    raise _KilledError


@pytest.fixture
def own(learner_project: Project) -> Project:
    """The user's own playbook with upref-001 and upref-002, which session s-1 was shown."""
    playbook = Project.of_user(learner_project.store)
    edit.add(playbook, "answer briefly", section="pref")
    edit.add(playbook, "write English names", section="pref")
    show_all(playbook)
    return playbook


@pytest.fixture
def lesson(learner_project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Learn:
    """Learn from a session in which the user said WISH and upref-001 was cited. Returns the requests."""

    def once(reflected: str, curated: str) -> list[Request]:
        session = TranscriptBuilder("s-1")
        session.user(WISH)
        session.assistant("As [pat-001] and [upref-001] say.")
        session.run("pytest -q", "3 passed")
        learner = Learner(learner_project, monkeypatch)
        learner.learn(session.write(tmp_path / "s-1.jsonl"), *answers(reflected, curated))
        return learner.asked

    return once


def _points(project: Project) -> dict[str, tuple[str, int, int]]:
    return {point.name: (point.text, point.helpful, point.harmful) for point in read_playbook(project).points}


def _waiting(project: Project) -> list[tuple[str, tuple[str, ...], str]]:
    return [(item.proposal.kind, item.proposal.names, item.proposal.text) for item in review.waiting(project)]


@pytest.mark.postgres
def test_votes_go_to_the_point_s_playbook(learner_project: Project, own: Project, lesson: Learn) -> None:
    """So do citations."""
    lesson(reflection(("pat-001", "helpful"), ("upref-001", "helpful"), ("upref-002", "helpful")), curation())

    assert _points(learner_project) == {"pat-001": ("run the tests first", 1, 0)}
    assert _points(own) == {"upref-001": ("answer briefly", 1, 0), "upref-002": ("write English names", 1, 0)}
    for project, name in ((learner_project, "pat-001"), (own, "upref-001")):
        life = history.point_in_full(project, name).life
        assert life
        assert life.events[-1].session_id == "s-1"
        with project.store.read(project.key) as book:
            assert list_queries.marks(book)[name].sessions_cited == 1


def test_undoing_a_session_names_the_other_playbook(learner_project: Project, own: Project, lesson: Learn) -> None:
    """Until the session is undone there, too."""
    lesson(reflection(("pat-001", "helpful"), ("upref-001", "helpful")), curation())

    (here,) = undo.undo_session(learner_project, "s-1")
    undo.undo(learner_project)
    undo.undo_session(own, "s-1")
    (again,) = undo.undo_session(learner_project, "s-1")

    assert _points(own)["upref-001"][1] == 0
    assert here.result.notes == [
        "your personal playbook keeps the points from this session; to undo those: playbook --user undo --session s-1"
    ]
    assert again.result.notes == []


def test_models_see_own_points_that_were_shown(learner_project: Project, own: Project, lesson: Learn) -> None:
    """With their marks, below headers of their own."""
    edit.add(own, "never shown to it", section="pref")

    for request in lesson(reflection(), curation()):
        said = request.last_said
        assert "## USER PREFERENCES (the user's own, in every project)\n[upref-001] answer briefly" in said
        assert "[upref-001] helpful=0 harmful=0, shown, cited" in said
        assert "never shown to it" not in said


def test_changes_of_own_points_wait_for_the_user(
    learner_project: Project, own: Project, lesson: Learn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the settings say about reviews."""
    monkeypatch.setattr(registration, "review_mode", lambda _: "none")
    operations: list[dict[str, Any]] = [
        {"type": "ADD", "text": "Answer in English", "section": "USER PREFERENCES", "scope": "user"},
        {"type": "UPDATE", "target_id": "upref-001", "text": "answer in a sentence"},
        {"type": "DELETE", "target_id": "upref-002", "reason": "no use"},
        {"type": "ADD", "text": "Here the tests are fast", "section": "PROJECT CONTEXT", "scope": "project"},
    ]

    lesson(reflection(), curation(*operations))

    assert [text for text, *_ in _points(learner_project).values()] == [
        "run the tests first",
        "Here the tests are fast",
    ]
    assert len(_points(own)) == 2
    assert _waiting(own) == [
        ("ADD", (), "Answer in English"), ("UPDATE", ("upref-001",), "answer in a sentence"),
        ("DELETE", ("upref-002",), ""),
    ]  # fmt: skip
    assert _waiting(learner_project) == []


def test_points_of_two_playbooks_are_not_merged(learner_project: Project, own: Project, lesson: Learn) -> None:
    """The operation is skipped in the user's own history only."""
    merge = {"type": "MERGE", "source_ids": ["pat-001", "upref-001"], "merged_text": "briefly, tests first"}

    lesson(reflection(), curation(merge))

    assert len(_points(learner_project)) == 1
    assert _waiting(own) == []
    with own.store.read(own.key) as book:
        assert "one playbook" in log_queries.read_skipped(book, book.revision)[0].reason
    with learner_project.store.read(learner_project.key) as book:
        assert log_queries.read_skipped(book, book.revision) == ()


def _kill_at_commit(patch: pytest.MonkeyPatch, *, is_users: bool) -> None:
    """Kill the worker before its commit to the user's own playbook, or to the other."""
    keep = learn._keep

    def killed(chunk: Any, verdict: Verdict, *more: Any) -> Any:
        return _killed() if verdict.project.is_users is is_users else keep(chunk, verdict, *more)

    patch.setattr(learn, "_keep", killed)


@pytest.mark.parametrize("is_users", [True, False], ids=["before both commits", "between them"])
def test_kill_between_the_commits_counts_once(
    is_users: bool, learner_project: Project, own: Project, lesson: Learn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reflector isn't asked again."""
    said = reflection(("pat-001", "helpful"), ("upref-001", "helpful"))
    wish = curation({"type": "ADD", "text": "Answer in English", "scope": "user"})
    with monkeypatch.context() as patch:
        _kill_at_commit(patch, is_users=is_users)
        with pytest.raises(_KilledError):
            lesson(said, wish)

    again = lesson(said, wish)

    assert not any(map(is_reflector, again))
    assert _points(learner_project)["pat-001"][1] == 1
    assert _points(own)["upref-001"][1] == 1
    assert len(_waiting(own)) == 1
    assert lesson(said, wish) == []


@pytest.mark.nightly(after=1)
@pytest.mark.sqlite
@pytest.mark.enable_socket
@pytest.mark.parametrize("is_first", [True, False], ids=["before the reflection", "between the two"])
def test_team_sees_nothing_of_own_points(
    is_first: bool, new_member: NewMember, team_url: str, team_server: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The member's own database counts the vote once, though the worker is killed before the team's commit."""
    ann = new_member("ann")
    ann.add("run the tests first")
    ann.join(team_url)
    with ann.own() as project:
        edit.add(Project.of_user(project.store), "answer briefly", section="pref")
    ann.session("s-1", cites="pat-001, upref-001")
    update = {"type": "UPDATE", "target_id": "upref-001", "text": "answer in a sentence"}
    merge = {"type": "MERGE", "source_ids": ["pat-001", "upref-001"], "merged_text": "both in one"}
    said = reflection(("pat-001", "helpful"), ("upref-001", "helpful"))
    kept = Inquiry._keep_reflection

    def killed_at_the_teams(lesson: Any, context: LearningContext, *given: Any) -> Any:
        return kept(lesson, context, *given) if context.project.is_users else _killed()

    with MessagesApi(*answers(said, curation(update, merge))) as api:
        model_at(api, monkeypatch)
        with monkeypatch.context() as patch:
            if is_first:
                patch.setattr(Inquiry, "_keep_reflection", killed_at_the_teams)
            else:
                _kill_at_commit(patch, is_users=False)
            with pytest.raises(_KilledError):
                ann.work()
        assert ann.work().learned == 1

    with ann.own() as project:
        mine = Project.of_user(project.store)
        assert _points(mine) == {"upref-001": ("answer briefly", 1, 0)}
        assert _waiting(mine) == [("UPDATE", ("upref-001",), "answer in a sentence")]
    assert rows(team_server, "SELECT text, helpful FROM key_points") == [("run the tests first", 1)]
    for table, columns in (
        ("reflections", "bullet_tags"), ("skipped_operations", "operation"), ("proposals", "operation"),
        ("votes", "rationale"), ("changes", "text"), ("playbooks", "key"),
    ):  # fmt: skip
        held = str(rows(team_server, f"SELECT {columns} FROM {table}"))
        assert not any(word in held for word in ("upref-001", "answer", "both in one", "user")), table
