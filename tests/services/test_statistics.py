"""The figures of a playbook."""

import json
import os
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import text as sql

from playbook_db.domain import operations
from playbook_db.domain.playbook import KeyPoint, Vote
from playbook_db.domain.times import timestamp
from playbook_db.services import records
from playbook_db.services.playbook import edit, undo
from playbook_db.services.project import Project, read_playbook
from playbook_db.services.reading import history, statistics
from playbook_db.services.reading.history import LogQuery
from playbook_db.services.reading.statistics import Statistics
from playbook_db.store.engine import open_store
from playbook_db.store.playbook.learning import Call
from playbook_db.store.playbook.repository import RevisionOrigin
from playbook_db.store.queries import hook_queries
from tests.builders import a_key_point

pytestmark = pytest.mark.sqlite
NOW = datetime(2026, 11, 18, 12, tzinfo=UTC)  # a Wednesday


def _days_ago(days: float) -> datetime:
    return NOW - timedelta(days=days)


def _gather(project: Project) -> Statistics:
    return statistics.gather(project, now=NOW)


def _add(project: Project, *points: KeyPoint, at: datetime = _days_ago(200)) -> None:  # noqa: B008 - a constant
    with project.store.write(project.key, now=at) as book:
        for point in points:
            book.draft.add(point)
        book.commit("edit", "added")


def _vote(project: Project, *votes: tuple[str, str], at: datetime, session: str | None = None) -> None:
    with project.store.write(project.key, now=at) as book:
        cast = operations.cast_votes(book.draft, [Vote(name, tag) for name, tag in votes])
        book.commit("learn", "learned", votes=cast, origin=RevisionOrigin(session))


def _show(project: Project, session: str, ids: Iterable[int], *, at: datetime) -> None:
    with project.store.write(project.key) as book:
        shown = {
            "playbook_id": book.playbook_id, "session_id": session, "source": "startup",
            "revision": 1, "points": json.dumps([*ids]), "left_out": 0, "now": timestamp(at), "event": "SessionStart",
        }  # fmt: skip
        book.connection.execute(sql(hook_queries.ADD_SHOWING), shown)


def _cite(project: Project, session: str, *names: str, at: datetime) -> None:
    with project.store.write(project.key, now=at) as book:
        book.add_citations(names, session_id=session)


def _call(project: Project, *, at: datetime, cost_usd: float | None, tokens: int = 100) -> None:
    with project.store.write(project.key, now=at) as book:
        book.add_call(Call("reflect", "a-model", tokens, 10, 1, cost_usd, 5), session_id="s")


def test_without_a_playbook_all_is_zero(project: Project) -> None:
    numbers = _gather(project)

    assert (numbers.live, numbers.retired, numbers.weeks, numbers.revisions) == (0, 0, (), {})
    assert numbers.use.share_of_shown(numbers.use.cited) is None
    assert numbers.learning.cost_usd_per_helpful_point is None
    with project.store.read(project.key) as book:
        assert book.playbook_id == 0


def test_points_are_counted_by_section_and_age(project: Project) -> None:
    """Retired points count only in their section."""
    _add(project, a_key_point("pat-001"), a_key_point("pat-002", "two"))
    _add(project, a_key_point("oth-001", "three", section="OTHERS"), at=_days_ago(60))
    _add(project, a_key_point("pat-003", "four"), at=_days_ago(8))
    edit.retire(project, "pat-002")

    numbers = _gather(project)

    sections = {each.section: (each.live, each.retired) for each in numbers.sections}
    assert (sections["PATTERNS & APPROACHES"], sections["OTHERS"]) == ((2, 1), (1, 0))
    assert (numbers.live, numbers.retired) == (3, 1)
    assert numbers.ages == ((7, 0), (30, 1), (90, 2))
    assert numbers.age_groups == (("under 7 days", 0), ("7 to 30 days", 1), ("30 to 90 days", 1), ("older", 1))
    assert numbers.revisions == {"edit": 4}


@pytest.mark.postgres
def test_votes_and_calls_are_counted_by_week(project: Project) -> None:
    """The last week is the present one, even if nothing has happened in it."""
    _add(project, a_key_point("pat-001"), a_key_point("pat-002", "two"))
    monday = datetime(2026, 10, 19, tzinfo=UTC)
    _vote(project, ("pat-001", "helpful"), ("pat-002", "harmful"), ("nobody", "helpful"), at=monday, session="s-1")
    _vote(project, ("pat-001", "neutral"), at=monday + timedelta(days=6, hours=23))
    _vote(project, ("pat-001", "helpful"), at=monday + timedelta(days=7))
    _call(project, at=_days_ago(8), cost_usd=0.5)
    _call(project, at=_days_ago(9), cost_usd=0.25, tokens=1000)

    numbers = _gather(project)

    assert [(week.monday, week.helpful, week.harmful, week.neutral, week.calls) for week in numbers.weeks] == [
        (date(2026, 10, 19), 1, 1, 1, 0),
        (date(2026, 10, 26), 1, 0, 0, 0),
        (date(2026, 11, 2), 0, 0, 0, 0),
        (date(2026, 11, 9), 0, 0, 0, 2),
        (date(2026, 11, 16), 0, 0, 0, 0),
    ]
    assert (numbers.weeks[-2].tokens, numbers.weeks[-2].cost_usd) == (1122, 0.75)
    assert numbers.unmatched_votes == 1


@pytest.mark.postgres
def test_rates_count_pairs_of_point_and_session(project: Project) -> None:
    """A person's, a neutral, an undone or a second vote doesn't count."""
    _add(project, *(a_key_point(f"pat-00{number}", f"text {number}") for number in range(1, 6)))
    showings = {"s-1": [1, 2, 3], "s-2": [1, 2], "s-3": [4]}  # and s-4 none: 6 pairs
    for session, ids in showings.items():
        _show(project, session, ids, at=_days_ago(9))
        _show(project, session, ids, at=_days_ago(8))
    _cite(project, "s-1", "pat-001", "pat-003", "pat-005", at=_days_ago(7))  # 2 pairs; it wasn't shown the last
    _cite(project, "s-4", "pat-001", at=_days_ago(7))
    for name, tag, session in (
        ("pat-001", "helpful", "s-1"), ("pat-001", "harmful", "s-1"), ("pat-001", "helpful", "s-2"),
        ("pat-004", "harmful", "s-3"),  # 3 pairs, 4 votes
        ("pat-002", "neutral", "s-2"), ("pat-001", "helpful", None), ("pat-001", "harmful", "s-4"),
        ("pat-004", "helpful", "s-1"), ("pat-003", "helpful", "s-1"),
    ):  # fmt: skip
        _vote(project, (name, tag), at=_days_ago(6), session=session)
    undo.undo(project)  # the last vote

    use = _gather(project).use

    assert (use.shown, use.cited, use.voted, use.helpful, use.harmful) == (6, 2, 3, 2, 2)
    record = records.statistics_record(_gather(project))["use"]
    shares = [record[f"{name}_share"] for name in ("cited", "voted", "helpful", "harmful")]
    assert shares == [2 / 6, 3 / 6, 2 / 6, 2 / 6]


def test_most_and_least_used_points_are_live(project: Project) -> None:
    _add(project, *(a_key_point(f"pat-{number:03d}", f"text {number}") for number in range(1, 5)))
    for session, ids in {"s-1": [1, 2, 3, 4], "s-2": [1, 2, 4], "s-3": [3]}.items():
        _show(project, session, ids, at=NOW)
    _cite(project, "s-1", "pat-001", "pat-002", "pat-004", at=NOW)
    _cite(project, "s-2", "pat-001", "pat-004", at=NOW)
    edit.retire(project, "pat-004")

    use = _gather(project).use

    assert [point.name for point in use.most] == ["pat-001", "pat-002"]
    assert [(point.name, point.shown, point.cited) for point in use.least] == [("pat-003", 2, 0)]


def test_learning_has_a_cost_per_helpful_point(project: Project) -> None:
    """Calls without a known price are counted separately."""
    _add(project, a_key_point("pat-001", helpful=2), a_key_point("pat-002", "two", helpful=1, harmful=1))
    for cost in (1.0, 0.5, None):
        _call(project, at=_days_ago(3), cost_usd=cost)

    learning = _gather(project).learning

    assert (learning.calls, learning.unpriced, learning.cost_usd) == (3, 1, 1.5)
    assert (learning.input_tokens, learning.output_tokens, learning.cached_tokens, learning.tokens) == (300, 30, 3, 333)
    assert (learning.helpful_points, learning.cost_usd_per_helpful_point) == (1, 1.5)


@pytest.mark.postgres
def test_other_projects_count_only_in_the_file(project: Project, tmp_path: Path) -> None:
    other = Project.in_folder(project.store, str(tmp_path / "other"))
    _add(other, a_key_point("pat-001"))
    _vote(other, ("pat-001", "helpful"), at=_days_ago(2), session="s")
    _show(other, "s", [1], at=NOW)
    _cite(other, "s", "pat-001", at=NOW)
    _call(other, at=NOW, cost_usd=1.0)
    _add(project, a_key_point("pat-001"))

    numbers = _gather(project)

    assert (numbers.live, numbers.weeks) == (1, ())
    assert (numbers.use.shown, numbers.use.cited, numbers.learning.calls) == (0, 0, 0)
    assert {table.name: table.rows for table in numbers.file.tables}["key_points"] == 2


def test_file_has_sizes_of_tables_and_backups(project: Project) -> None:
    _add(project, a_key_point("pat-001"))
    folder = Path(project.store.where).parent / "backups"
    folder.mkdir()
    (folder / "playbook-20261103T000000Z.daily.db").write_bytes(b"later")
    (folder / "playbook-20261101T000000Z.db").write_bytes(b"one")
    project.store.tidy()  # which stores figures for the planner

    file = _gather(project).file

    project.store.tidy()
    assert file.size_bytes == os.path.getsize(project.store.where)
    assert {table.name for table in file.tables} > {"playbooks", "revisions", "key_points", "changes"}
    assert 0 < sum(table.size_bytes or 0 for table in file.tables) < file.size_bytes
    assert file.backups == (("2026-11-01T00:00:00.000000+00:00", 3), ("2026-11-03T00:00:00.000000+00:00", 5))


def test_all_numbers_are_of_one_moment(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    _add(project, a_key_point("pat-001"))
    live_point = statistics.LivePoint

    def meanwhile(*given: object) -> object:
        with open_store(str(project.store.url)) as store:
            another = Project.in_folder(store, project.folder)
            _vote(another, ("pat-001", "helpful"), at=NOW)
            edit.add(another, "a second point")
        return live_point(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(statistics, "LivePoint", meanwhile)

    numbers = _gather(project)

    assert (numbers.live, numbers.weeks, sum(numbers.revisions.values())) == (1, (), 1)
    assert len(read_playbook(project).points) == 2


@pytest.mark.postgres
def test_members_are_counted_by_revisions_and_votes(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a file, sessions have no member."""
    for name, at in (("ann@laptop", 3), ("ben@desk", 2)):
        monkeypatch.setenv("PLAYBOOK_ACTOR", name)
        _add(project, a_key_point(f"{name[:3]}-001", name))
        with project.store.write(project.key, now=_days_ago(at)) as book:
            cast = operations.cast_votes(book.draft, [Vote("ann-001", "helpful")])
            book.commit("learn", "learned", votes=cast, origin=RevisionOrigin("s-1", "s-1"))
    edit.vote(project, "ann-001", "harmful")
    undo.undo(project)

    numbers = _gather(project)

    members = {member.actor: (member.revisions, member.learned, member.votes) for member in numbers.members}
    if numbers.is_shared:
        assert members == {"ben@desk": (4, 1, 1), "ann@laptop": (2, 1, 1)}
    else:
        assert members == {"ben@desk": (3, 0, 0), None: (2, 2, 2), "ann@laptop": (1, 0, 0)}
    numbers_of_ben = [revision.number for revision in history.log(project, LogQuery(by="ben"))]
    assert numbers_of_ben == ([6, 5, 4, 3] if numbers.is_shared else [6, 5, 3])
