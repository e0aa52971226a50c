"""What sessions taught, by pages and one by one; and the jobs that aren't done."""

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import text as sql

from playbook_db.domain import operations
from playbook_db.domain.playbook import Vote
from playbook_db.errors import NotFoundError
from playbook_db.services.learning import queue
from playbook_db.services.project import Project
from playbook_db.services.reading import history
from playbook_db.store.playbook.learning import Call
from playbook_db.store.playbook.repository import RevisionOrigin
from tests.builders import a_key_point

NOW = datetime(2026, 11, 18, 12, tzinfo=UTC)


@pytest.fixture
def learned(project: Project) -> Project:
    """A project that learned from five sessions: one a day, of which the last changed nothing."""
    for number in range(5):
        with project.store.write(project.key, now=NOW + timedelta(days=number)) as book:
            book.add_call(Call("reflect", "a-model", 100, 10, 1, 0.5, 5), session_id=f"session-{number}")
            if number < 4:
                book.draft.add(a_key_point(f"pat-{number:03}", text=f"Advice number {number}."))
                cast = [Vote("pat-000", "harmful"), Vote("pat-000", "helpful")] if number else []
                votes = operations.cast_votes(book.draft, cast)
                book.commit("learn", "learnt", votes=votes, origin=RevisionOrigin(f"session-{number}"))
    return project


@pytest.mark.postgres
def test_sessions_are_paged_newest_first(learned: Project) -> None:
    pages = [history.session_page(learned, most=2, offset=offset) for offset in (0, 2, 4, 6)]

    assert [count for _, count in pages] == [5] * 4
    assert [each for some, _ in pages for each, _ in some] == history.sessions(learned)
    assert [(did["add"], did["edit"], did["retire"]) for some, _ in pages for _, did in some] == [
        (0, 0, 0), (1, 0, 0), (1, 0, 0), (1, 0, 0), (1, 0, 0),
    ]  # fmt: skip
    assert dict(pages[0][0][1][1]) == {"add": 1, "helpful": 1, "harmful": 1}


def test_session_page_has_its_revisions(learned: Project) -> None:
    found = history.session_details(learned, "session-2", most=10)
    nothing = history.session_details(learned, "session-4", most=10)

    assert [each.revision.session_id for each in found.revisions] == ["session-2"]
    assert (found.count, found.counts["add"], found.session.calls) == (1, 1, 1)
    assert (nothing.count, nothing.revisions, nothing.session.calls) == (0, (), 1)
    assert history.session_details(learned, "session-2", most=10, offset=1).revisions == ()
    for other in ("session-", "nobody"):
        with pytest.raises(NotFoundError):
            history.session_details(learned, other, most=10)


def test_failed_jobs_come_first_then_the_oldest(project: Project) -> None:
    store = project.store
    for number in range(4):
        queue.take_in(store, project.key, {"session_id": "s", "transcript_path": f"/transcript-{number}"})
    queue.take_in(store, "/another", {"session_id": "s", "transcript_path": "/transcript"})
    first, second = (queue.claim(store) for _ in range(2))
    assert first
    queue.finish(store, first)

    found, counts = queue.open_jobs(store, project.key, most=2)

    assert [job.transcript_path for job in found] == ["/transcript-1", "/transcript-2"]
    assert sum(counts.values()) == 3
    assert second
    with store.transaction() as connection:
        connection.execute(sql("UPDATE jobs SET state = 'failed' WHERE transcript_path = '/transcript-3'"))
    found, _ = queue.open_jobs(store, project.key, most=2)
    assert [job.transcript_path for job in found] == ["/transcript-3", "/transcript-1"]
