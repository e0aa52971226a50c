"""What sessions were shown more than a year ago becomes counts, and no number changes with that."""

import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import text as sql

from playbook_db.domain import operations
from playbook_db.domain.outcomes import SessionCounts
from playbook_db.domain.playbook import Vote
from playbook_db.domain.times import timestamp
from playbook_db.services import edit, maintenance, statistics
from playbook_db.services.projects import Project
from playbook_db.store import check, folded_showings, hook_queries, memberships
from playbook_db.store.statistics import EventUse
from playbook_db.store.tables import EVENTS
from tests.databases import NewProject, raw_connection
from tests.tiers import few

START, PROMPT, ERROR, SUBAGENT = EVENTS
NOW = datetime(2026, 11, 18, 12, tzinfo=UTC)
LONG_AGO = 400.0  # days
_NAMES = ("pat-001", "pat-002", "pat-003")


def _show(project: Project, session: str, points: Iterable[int], *, days_ago: float, event: str = START) -> None:
    with project.store.write(project.key) as book:
        shown = {
            "playbook_id": book.playbook_id, "session_id": session, "source": "startup", "revision": 1,
            "points": json.dumps([*points]), "left_out": 0, "now": timestamp(NOW - timedelta(days=days_ago)),
            "event": event,
        }  # fmt: skip
        book.connection.execute(sql(hook_queries.ADD_INJECTION), shown)


def _cite(project: Project, session: str, *names: str) -> None:
    with project.store.write(project.key) as book:
        book.add_citations(names, session_id=session)


def _vote(project: Project, session: str, name: str, tag: str) -> None:
    with project.store.write(project.key) as book:
        book.commit("learn", "learnt", votes=operations.cast_votes(book.draft, [Vote(name, tag)]), session_id=session)


def _ended(project: Project, session: str, failed: int) -> None:
    with project.store.write(project.key) as book:
        book.add_counts(SessionCounts(5, failed, 0, 2, 100), session_id=session)


def _fold(project: Project) -> int:
    return maintenance.fold_showings(project.store, project.key, now=NOW)


def _rows(project: Project, query: str) -> list[tuple[Any, ...]]:
    with raw_connection(project.store) as raw:
        return sorted(tuple(row) for row in raw.execute(query).fetchall())


def _known(project: Project) -> list[Any]:
    """Every number that hangs on what sessions were shown."""
    counted = statistics.gather(project, now=NOW)
    return [
        counted.use,
        counted.comparison,
        *(statistics.use_of(project, name) for name in _NAMES),
        _rows(project, "SELECT * FROM showings"),
        _rows(project, "SELECT name, shown_in, cited_in, cited_rate, helpful_rate, last_shown_at FROM point_use"),
        _rows(project, "SELECT * FROM session_comparison"),
    ]


def _problems(project: Project) -> list[str]:
    with project.store.snapshot() as connection:
        return check.check_showings(connection)


@pytest.fixture
def three(project: Project) -> Project:
    """A playbook of three points."""
    for text in ("use uv", "run the tests", "write small commits"):
        edit.add(project, text, section="pat")
    return project


def test_use_is_told_by_the_event_that_told_a_session_first(three: Project) -> None:
    """A point that comes by prompt after it was shown at the start stays the start's; votes and citations of sessions
    that weren't shown it are nobody's."""
    _show(three, "a", [1, 2], days_ago=3)
    _show(three, "a", [2, 3], days_ago=2, event=PROMPT)
    _show(three, "b", [3], days_ago=1, event=ERROR)
    _show(three, "b", [1, 3], days_ago=1, event=SUBAGENT)
    _cite(three, "a", "pat-002", "pat-003")
    _cite(three, "b", "pat-002")
    for session, name, tag in (("a", "pat-003", "helpful"), ("b", "pat-001", "harmful"), ("c", "pat-001", "helpful")):
        _vote(three, session, name, tag)
    _vote(three, "a", "pat-003", "neutral")

    assert statistics.gather(three).use.by_event == (
        EventUse(START, 2, 1, 0, 0),
        EventUse(PROMPT, 1, 1, 1, 0),
        EventUse(ERROR, 1, 0, 0, 0),
        EventUse(SUBAGENT, 1, 0, 0, 1),
    )
    assert statistics.use_of(three, "pat-003") == (EventUse(PROMPT, 1, 1, 1, 0), EventUse(ERROR, 1, 0, 0, 0))
    assert _problems(three) == []


@pytest.mark.smoke
def test_a_list_is_searched_for_whole_numbers(project: Project) -> None:
    """11 is neither 1 nor 111."""
    for number in range(11):
        edit.add(project, f"advice {number}", section="pat")
    _show(project, "a", [11], days_ago=1)
    _cite(project, "a", "pat-001", "pat-011")

    assert statistics.gather(project).use.by_event == (EventUse(START, 1, 1, 0, 0),)


def test_shares_are_of_enough_sessions_alone() -> None:
    """Of nineteen sessions nothing is said but how many there are."""
    assert EventUse(PROMPT, 20, 5, 0, 0).share(5) == 0.25
    assert EventUse(PROMPT, 19, 5, 0, 0).share(5) is None


@pytest.mark.smoke
def test_what_was_shown_a_year_ago_is_counted_and_its_rows_are_gone(three: Project) -> None:
    """Younger showings stay rows; a session that went on counts as young as a whole."""
    _show(three, "old", [1, 2], days_ago=LONG_AGO)
    _show(three, "old", [2, 3], days_ago=366, event=PROMPT)
    _show(three, "on", [1], days_ago=LONG_AGO)
    _show(three, "on", [2], days_ago=364)
    _cite(three, "old", "pat-003")
    _vote(three, "old", "pat-001", "harmful")
    before = _known(three)

    assert _fold(three) == 1

    assert _rows(three, "SELECT DISTINCT session_id FROM injections") == [("on",)]
    counted = "SELECT point_id, event, sessions, cited, helpful, harmful FROM folded_showings"
    assert _rows(three, counted) == [
        (1, START, 1, 0, 0, 1),
        (2, START, 1, 0, 0, 0),
        (3, PROMPT, 1, 1, 0, 0),
    ]
    assert _known(three) == before
    assert _problems(three) == []
    assert _fold(three) == 0


_POINTS = st.lists(st.sampled_from([1, 2, 3]), unique=True)
_SESSIONS = st.sampled_from("abcd")
_AGES = st.sampled_from([1.0, 300.0, 366.0, 380.0, 700.0])
_DONE = st.one_of(
    st.tuples(st.just("show"), _SESSIONS, _POINTS, _AGES, st.sampled_from(EVENTS)),
    st.tuples(st.just("cite"), _SESSIONS, st.sampled_from(_NAMES)),
    st.tuples(st.just("vote"), _SESSIONS, st.sampled_from(_NAMES), st.sampled_from(["helpful", "harmful", "neutral"])),
    st.tuples(st.just("ended"), _SESSIONS, st.integers(0, 3)),
)


@pytest.mark.slow
@few
@given(done=st.lists(_DONE, max_size=14), repeated=st.integers(1, 2))
def test_no_number_changes_when_showings_become_counts(
    new_project: NewProject, done: list[tuple[Any, ...]], repeated: int
) -> None:
    """Whatever sessions were shown by whichever event, cited, voted on, and however they went: that of each of the
    views and statistics is as before, and db check finds the counts right."""
    project = new_project()
    for text in ("use uv", "run the tests", "write small commits"):
        edit.add(project, text, section="pat")
    does = {"cite": _cite, "vote": _vote, "ended": _ended}
    for kind, session, *what in done:
        if kind == "show":
            _show(project, session, what[0], days_ago=what[1], event=what[2])
        else:
            does[kind](project, session, *what)
    before = _known(project)
    assert before[0].by_event == _by_hand(done)

    for _ in range(repeated):
        _fold(project)

    assert _known(project) == before
    assert _problems(project) == []


def _by_hand(done: Sequence[tuple[Any, ...]]) -> tuple[EventUse, ...]:
    """The same, counted without a database."""
    told: dict[tuple[str, int], str] = {}
    for kind, session, *what in done:
        for point in what[0] if kind == "show" else ():
            told.setdefault((session, point), what[2])
    cited = {(session, 1 + _NAMES.index(what[0])) for kind, session, *what in done if kind == "cite"}
    votes = [(session, 1 + _NAMES.index(what[0]), what[1]) for kind, session, *what in done if kind == "vote"]
    uses = (
        EventUse(
            event,
            sum(each == event for each in told.values()),
            sum(told.get(pair) == event for pair in cited),
            *(
                sum(told.get((session, point)) == event for session, point, tag in votes if tag == counted)
                for counted in ("helpful", "harmful")
            ),
        )
        for event in EVENTS
    )
    return tuple(use for use in uses if use.shown)


@pytest.mark.smoke
def test_a_fold_that_breaks_off_leaves_all_as_it_was(three: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts and rows change in one transaction: nothing is lost, nothing counts twice, and the next time it goes on
    from where it was."""
    monkeypatch.setattr(maintenance, "_FOLDED_AT_ONCE", 1)
    for session in "abc":
        _show(three, session, [1, 2], days_ago=LONG_AGO)
    before = _known(three)
    fold = folded_showings.fold

    def broken(book: Any, sessions: Sequence[str], *, before: str) -> int:
        count = fold(book, sessions, before=before)
        if "b" in sessions:
            raise KeyboardInterrupt
        return count

    monkeypatch.setattr(folded_showings, "fold", broken)
    with pytest.raises(KeyboardInterrupt):
        _fold(three)

    assert _rows(three, "SELECT session_id FROM folded_sessions") == [("a",)]
    assert _rows(three, "SELECT session_id FROM injections") == [("b",), ("c",)]
    assert _known(three) == before
    monkeypatch.setattr(folded_showings, "fold", fold)
    assert _fold(three) == 2
    assert _known(three) == before
    assert _problems(three) == []


def test_a_session_that_is_resumed_in_between_is_left_as_it_is(three: Project) -> None:
    """Between the look and the fold it was shown something."""
    _show(three, "a", [1], days_ago=LONG_AGO)
    with three.store.read(three.key) as book:
        over = folded_showings.sessions_over(book, before=timestamp(NOW - maintenance.SHOWN_FOR))
    _show(three, "a", [2], days_ago=1)

    with three.store.write(three.key) as book:
        assert folded_showings.fold(book, over, before=timestamp(NOW - maintenance.SHOWN_FOR)) == 0

    assert _rows(three, "SELECT seq FROM injections") == [(1,), (2,)]


def test_a_session_resumed_after_a_year_is_shown_its_points_anew(three: Project) -> None:
    """Its numbers begin anew, and what it was shown counts once more, as of another session; when that is over, too."""
    _show(three, "a", [1], days_ago=LONG_AGO)
    _ended(three, "a", 1)
    _fold(three)

    _show(three, "a", [1, 2], days_ago=380, event=PROMPT)
    _show(three, "a", [3], days_ago=380)

    assert _rows(three, "SELECT seq FROM injections") == [(1,), (2,)]
    assert statistics.use_of(three, "pat-001") == (EventUse(START, 1, 0, 0, 0), EventUse(PROMPT, 1, 0, 0, 0))
    assert statistics.gather(three).use.sessions_shown == 1
    before = _known(three)
    assert _fold(three) == 1
    assert _known(three) == before
    assert _problems(three) == []


def test_a_past_session_that_was_held_out_stays_so(three: Project) -> None:
    """The comparison of sessions with and without the playbook is that of before, from the same day on."""
    for session, points, days_ago in (("with", [1], 401), ("without", [], 400), ("later", [1], 399)):
        _show(three, session, points, days_ago=days_ago)
        _ended(three, session, 1)
    before = _known(three)

    assert _fold(three) == 3

    assert _rows(three, "SELECT session_id, is_held_out FROM session_comparison") == [
        ("later", 0), ("with", 0), ("without", 1),
    ]  # fmt: skip
    assert _known(three) == before
    assert (before[1].held_out, before[0].sessions_shown) == (1, 2)


def test_what_a_list_names_that_is_no_point_counts_nowhere(three: Project) -> None:
    """A spool may say anything; it must not stop the fold."""
    showing = memberships.Showing("a", timestamp(NOW - timedelta(days=LONG_AGO)), "startup", 1, "[99,1]", 0, START)
    with three.store.write(three.key) as book:
        memberships.take_in(book, [showing])

    assert _fold(three) == 1
    assert _rows(three, "SELECT point_id FROM folded_showings") == [(1,)]
    assert _problems(three) == []


@pytest.mark.parametrize("column", ["sessions", "by_prompt"])
def test_counts_that_are_not_those_of_rows_and_past_together_are_found(three: Project, column: str) -> None:
    """One session too many, whichever event it is of."""
    _show(three, "a", [1], days_ago=LONG_AGO, event=PROMPT)
    _fold(three)
    assert _problems(three) == []

    with raw_connection(three.store) as raw:
        raw.execute(f"UPDATE showings SET {column} = {column} + 1")

    assert _problems(three) == [
        f"in how many sessions points of {three.key} were shown isn't what the sessions' lists say"
    ]
