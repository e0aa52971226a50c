"""The playbook in numbers."""

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
from playbook_db.services.project import Project, TeamProject, read_playbook
from playbook_db.services.reading import history, statistics
from playbook_db.services.reading.history import LogQuery
from playbook_db.services.reading.statistics import Statistics
from playbook_db.store.engine import open_store
from playbook_db.store.playbook.learning import Call, ChunkKey
from playbook_db.store.playbook.repository import RevisionOrigin
from playbook_db.store.queries import hook_queries
from tests.builders import a_key_point

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
        book.commit("learn", "learnt", votes=cast, origin=RevisionOrigin(session))


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
    assert numbers.ages == ((7, 0), (30, 0), (90, 0))
    assert numbers.use.share_of_shown(numbers.use.cited) is None
    assert numbers.learning.cost_usd_per_helpful_point is None
    assert (numbers.use.most, numbers.use.least) == ((), ())
    with project.store.read(project.key) as book:
        assert book.playbook_id == 0


def test_points_are_counted_by_section_and_age(project: Project) -> None:
    _add(project, a_key_point("pat-001"), a_key_point("pat-002", "two"))
    _add(project, a_key_point("oth-001", "three", section="OTHERS"), at=_days_ago(60))
    _add(project, a_key_point("pat-003", "four"), at=_days_ago(8))
    _add(project, a_key_point("pat-004", "five"), at=_days_ago(6))
    edit.retire(project, "pat-002")

    numbers = _gather(project)

    assert [(each.section, each.live, each.retired) for each in numbers.sections] == [
        ("PATTERNS & APPROACHES", 3, 1), ("MISTAKES TO AVOID", 0, 0), ("USER PREFERENCES", 0, 0),
        ("PROJECT CONTEXT", 0, 0), ("OTHERS", 1, 0),
    ]  # fmt: skip
    assert (numbers.live, numbers.retired) == (4, 1)
    assert numbers.ages == ((7, 1), (30, 2), (90, 3))
    assert numbers.age_groups == (("under 7 days", 1), ("7 to 30 days", 1), ("30 to 90 days", 1), ("older", 1))
    assert numbers.revisions == {"edit": 5}


@pytest.mark.postgres
def test_votes_and_calls_are_counted_by_week(project: Project) -> None:
    _add(project, a_key_point("pat-001"), a_key_point("pat-002", "two"))
    monday = datetime(2026, 10, 26, tzinfo=UTC)
    _vote(project, ("pat-001", "helpful"), ("pat-002", "harmful"), ("nobody", "helpful"), at=monday, session="s-1")
    _vote(project, ("pat-001", "neutral"), at=monday + timedelta(days=6, hours=23))
    _vote(project, ("pat-001", "helpful"), at=monday + timedelta(days=7))
    _call(project, at=_days_ago(1), cost_usd=0.5)
    _call(project, at=_days_ago(2), cost_usd=0.25, tokens=1000)

    numbers = _gather(project)

    assert [(week.monday, week.helpful, week.harmful, week.neutral, week.calls) for week in numbers.weeks] == [
        (date(2026, 10, 26), 1, 1, 1, 0),
        (date(2026, 11, 2), 1, 0, 0, 0),
        (date(2026, 11, 9), 0, 0, 0, 0),
        (date(2026, 11, 16), 0, 0, 0, 2),
    ]
    assert (numbers.weeks[-1].tokens, numbers.weeks[-1].cost_usd) == (1122, 0.75)
    assert numbers.unmatched_votes == 1


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
    _add(project, *(a_key_point(f"pat-{number:03d}", f"text {number}") for number in range(1, 14)))
    _add(project, a_key_point("pat-014", "harms", harmful=1))
    for session in range(10):
        _show(
            project,
            f"s-{session}",
            [1, 2, 3, 4, 5, 6, 12, *([7] if session else []), *([8, 14] * (session < 3))],
            at=NOW,
        )
    for number in (1, 2, 3, 4, 5, 12):
        _cite(project, f"s-{number}", *[f"pat-{number:03d}", "pat-001"], at=NOW)
    _cite(project, "s-7", "pat-006", at=NOW)
    _cite(project, "s-9", "pat-013", "pat-002", "pat-003", at=NOW)  # read of it elsewhere
    edit.retire(project, "pat-012")

    use = _gather(project).use

    assert [point.name for point in use.most] == ["pat-001", "pat-002", "pat-003", "pat-004", "pat-005"]
    assert [(point.name, point.shown, point.cited) for point in use.least] == [
        ("pat-007", 9, 0), ("pat-014", 3, 0), ("pat-008", 3, 0), ("pat-006", 10, 1),
    ]  # fmt: skip


def test_learning_has_a_cost_per_helpful_point(project: Project) -> None:
    _add(project, a_key_point("pat-001", helpful=2), a_key_point("pat-002", "two", helpful=1, harmful=1))
    for cost in (1.0, 0.5, None):
        _call(project, at=_days_ago(3), cost_usd=cost)
    with project.store.write(project.key, now=NOW) as book:
        for number, session in enumerate(("s-1", "s-1", "s-2", "s-3")):
            chunk = ChunkKey("/t", number, number + 1)
            made = book.add_reflection(chunk, session_id=session, analysis="", bullet_tags=[], calls=[])
            if session != "s-3":
                book.finish_reflection(made, revision=None, curator_reasoning=None, calls=[])

    learning = _gather(project).learning

    assert (learning.sessions, learning.chunks) == (2, 3)
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

    assert (numbers.live, numbers.weeks, numbers.use.shown, numbers.use.cited, numbers.learning.calls) == (
        1,
        (),
        0,
        0,
        0,
    )
    assert {table.name: table.rows for table in numbers.file.tables}["key_points"] == 2


@pytest.mark.sqlite
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
    assert {table.name: table.rows for table in file.tables} == {
        "playbooks": 1, "sections": 5, "heads": 1, "revisions": 1, "key_points": 1, "changes": 1,
    }  # fmt: skip
    sizes = [table.size_bytes or 0 for table in file.tables]
    assert sizes == sorted(sizes, reverse=True)
    assert 0 < sum(sizes) < file.size_bytes
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
    session = "5f0c2d1e-7a41-4c0b-9d55-0b6a4c1f2e90"
    monkeypatch.setenv("PLAYBOOK_ACTOR", "ann@laptop")
    _add(project, a_key_point("pat-001"))
    for name, at in (("ben@desk", _days_ago(3)), ("ann@laptop", _days_ago(2))):
        monkeypatch.setenv("PLAYBOOK_ACTOR", name)
        with project.store.write(project.key, now=at) as book:
            cast = operations.cast_votes(book.draft, [Vote("pat-001", "helpful")])
            book.commit("learn", "learnt", votes=cast, origin=RevisionOrigin(session, session))
    monkeypatch.setenv("PLAYBOOK_ACTOR", "ben@desk")
    edit.vote(project, "pat-001", "harmful")
    undo.undo(project)

    numbers = _gather(project)

    members = {member.actor: (member.revisions, member.learned, member.votes) for member in numbers.members}
    if numbers.is_shared:
        assert members == {"ben@desk": (3, 1, 1), "ann@laptop": (2, 1, 1)}
        assert numbers.members[1].last_at == timestamp(_days_ago(2))
    else:
        assert members == {"ben@desk": (2, 0, 0), None: (2, 2, 2), "ann@laptop": (1, 0, 0)}
    assert numbers.revisions == {"learn": 2, "edit": 2, "undo": 1}
    asked = LogQuery(by="ben")
    assert [made.number for made in history.log(project, asked)] == ([5, 4, 2] if numbers.is_shared else [5, 4])


def test_signals_of_a_point_have_its_dates(project: Project) -> None:
    days = [datetime(2026, 3, day, tzinfo=UTC) for day in range(1, 10)]
    _add(project, *[a_key_point(f"oth-00{number}", f"text {number}") for number in (1, 2, 3)], at=days[0])
    _vote(project, ("oth-001", "helpful"), at=days[1])
    _vote(project, ("oth-001", "harmful"), ("oth-001", "neutral"), at=days[2])
    for number, day in enumerate(days[3:5]):
        _show(project, f"s-{number}", [2, 3], at=day)
    _show(project, "s-1", [1], at=days[5])
    for number, day in enumerate(days[6:8]):
        _cite(project, f"s-{number}", "oth-001", at=day)
    edit.pin(project, "oth-003")

    with project.store.read(project.key) as book:
        marks = book.point_signals(["oth-001", "oth-003", "oth-404"])
        assert book.point_signals([]) == {}

    first, second, third, *_ = (f"{day:%Y-%m-%d}" for day in days)
    shown_in_vain = marks["oth-001"]["shown_in_vain"]
    names = [
        "since",
        "confirmed",
        "last_vote",
        "last_shown",
        "last_cited",
        "shown_in_vain",
        "ignored",
        "is_resting",
        "is_pinned",
        "taught_in",
        "helpful_since",
        "harmful_since",
    ]
    one = (first, second, f"neutral {third}", "2026-03-06", "2026-03-08", shown_in_vain, 0, 0, 0, 0, None, None)
    three = (first, first, None, "2026-03-05", None, 0, 0, 0, 1, 0, None, None)
    assert marks == {"oth-001": dict(zip(names, one, strict=True)), "oth-003": dict(zip(names, three, strict=True))}


def test_cost_of_a_teams_learning_is_local(project: Project, tmp_path: Path) -> None:
    with open_store(f"sqlite:///{tmp_path / 'own.db'}") as store:
        own = Project(store, project.key)
        with store.write(own.key) as book:
            book.add_call(Call("reflect", "a-model", 100, 10, 1, 0.5, 5), session_id="s")

        learning = statistics.gather(TeamProject(project.store, project.key, own=own)).learning

    assert (learning.calls, learning.cost_usd) == (1, 0.5)
