"""Looking into the past: which revision is meant, what was done, and that log, diff and at agree."""

import json
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playbook_db.domain import operations, playbook_file
from playbook_db.domain.merging.undo_rules import RevisionRange
from playbook_db.domain.playbook import Change, Header, KeyPoint, Playbook, Vote
from playbook_db.errors import ArgumentError, NotFoundError
from playbook_db.services.playbook import edit, import_export
from playbook_db.services.playbook.undo import go_back, restore_as_of, undo
from playbook_db.services.project import Project
from playbook_db.services.reading import command_reads, history
from playbook_db.services.reading.file_first import ReadSource
from playbook_db.services.reading.history import LogQuery, find_revision
from playbook_db.store.dialect import Dialect
from playbook_db.store.playbook.learning import Call, ChunkKey
from playbook_db.store.playbook.repository import FileFields, RevisionOrigin, RevisionResult
from playbook_db.store.queries import list_queries
from playbook_db.store.queries.log_queries import Life
from playbook_db.store.queries.revision_log import EVERY_CHANGE, LoggedChange, LoggedRevision
from tests.builders import list_retired, playbook_values
from tests.databases import NewProject
from tests.domain.test_diff import carry_out, content
from tests.store.test_history import _operations
from tests.tiers import few

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
NAMES = [f"oth-{number:03d}" for number in range(1, 5)]
VOTES = st.lists(st.builds(Vote, st.sampled_from([*NAMES, "nobody"]), st.sampled_from(operations.TAGS)), max_size=4)
STEPS = st.one_of(
    st.tuples(st.just("learn"), st.tuples(VOTES, _operations)),
    st.tuples(st.sampled_from(["import", "replace"]), playbook_values()),
    st.tuples(st.just("prune"), st.none()),
    st.tuples(st.just("restore"), st.sampled_from(NAMES)),
)


def life_of(project: Project, name: str) -> Life:
    life = history.point_in_full(project, name).life
    assert life
    return life


def learn(
    project: Project,
    votes: "list[Vote] | tuple[Vote, ...]" = (),
    batch: "list[Any] | tuple[Any, ...]" = (),
    *,
    session: str = "a-session",
    now: datetime | None = None,
) -> RevisionResult:
    """A revision as a session makes one: votes, then a curator's batch."""

    with project.store.write(project.key, now=now) as book:
        cast = operations.cast_votes(book.draft, votes)
        skipped = operations.apply_operations(book.draft, list(batch))
        return book.commit(
            "learn", f"learned from {session}", votes=cast, skipped=skipped, origin=RevisionOrigin(session)
        )


def take_in(project: Project, texts: list[str]) -> None:
    """Points that say *texts*, in one revision."""
    reading = playbook_file.decode(json.dumps({"sections": {"OTHERS": texts}}), source="a test")
    import_export.import_playbook(project, reading, source="a test")


def do(project: Project, step: str, what: Any) -> RevisionResult | None:
    """Carry out a step of a random history."""
    if step == "learn":
        return learn(project, *what)
    if step == "prune":
        return edit.prune(project)
    if step == "restore":
        return edit.restore(project, what) if what in list_retired(project) else None
    reading = playbook_file.decode(playbook_file.encode(what), source="a test")
    return import_export.import_playbook(project, reading, source="a test", replace=step == "replace")


def live_through(project: Project, steps: list[tuple[str, Any]]) -> dict[int, tuple[RevisionResult, str]]:
    """Carry out *steps*; what each revision did and what was exported then, by its number."""
    done = (do(project, *step) for step in steps)
    return {
        result.revision: (result, import_export.export_playbook(project))
        for result in done
        if result and result.revision
    }


def log(project: Project, **asked: Any) -> list[LoggedRevision]:
    """The whole log that is asked for."""
    return list(history.log(project, LogQuery(**asked)))


def told_of(made: "Iterable[Change | LoggedChange]") -> list[tuple[str, KeyPoint, str | None, str | None]]:
    """What both the rules and the log say of changes."""
    return [(change.kind, change.point, change.reason, change.successor) for change in made]


def found(project: Project, text: str) -> int:
    """The revision that *text* means, some time after START."""
    with pytest.MonkeyPatch.context() as patch, project.store.read(project.key) as book:
        patch.setattr(book, "clock", lambda: START + timedelta(days=30))
        return find_revision(book, text)


@pytest.fixture(autouse=True)
def _in_berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The machine stands in Berlin."""
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.fixture
def days(project: Project) -> Project:
    """A playbook that got one revision a day, at noon UTC, from 1 March on: three of them."""
    for day, text in enumerate(("one", "two", "three")):
        batch = [{"type": "ADD", "text": text, "section": "OTHERS"}]
        learn(project, batch=batch, session=f"session-{day}", now=START + timedelta(days=day))
    return project


@pytest.mark.slow
@few
@given(steps=st.lists(STEPS, max_size=6), data=st.data())
@pytest.mark.postgres
def test_log_diff_and_at_agree(new_project: NewProject, steps: list[tuple[str, Any]], data: st.DataObject) -> None:
    """For any history: `at` gives what was exported then, the log what was done, and a diff leads from one state to
    another; the log between them accounts for every vote and every point that a diff tells of."""
    project = new_project()
    done = live_through(project, steps)
    logged = {revision.number: revision for revision in reversed(log(project))}
    states = {number: history.at(project, str(number)).playbook for number in range(len(done) + 1)}

    assert list(logged) == list(done)
    for number, (revised, exported) in done.items():
        assert playbook_file.encode(states[number]) == exported
        assert told_of(logged[number].changes) == told_of(revised.changes)
        assert logged[number].counts == Counter(change.kind for change in revised.changes)
        assert logged[number].skipped == len(revised.skipped)
        assert logged[number].unmatched_votes == sum(not vote.matched for vote in revised.votes)

    one, other = sorted(data.draw(st.tuples(*[st.integers(0, len(done))] * 2)))
    before, after = states[one], states[other]
    difference = history.difference(history.at(project, str(one)), history.at(project, str(other)))
    same_keys = before.header.stamped(None) == after.header.stamped(None)
    assert not any(difference) or not (before.content == after.content and same_keys)
    assert difference.keys or any(difference) or before.content == after.content
    assert content(carry_out(difference, before)) == content(list(after.points))

    between = [logged[number] for number in range(one + 1, other + 1)]
    touched = {change.point.name for revision in between for change in revision.changes}
    assert touched == {change.point.name for number in range(one + 1, other + 1) for change in done[number][0].changes}
    assert touched >= _differing(before, after)
    for name in _differing(before, after) | touched:
        _check_deltas(name, between, before, after)
    for name in touched:
        assert _told(log(project, name=name, since=str(one + 1))) >= _told_of(between, name)


def _differing(before: Playbook, after: Playbook) -> set[str]:
    return {point.name for point in set(before.points) ^ set(after.points)}


def _check_deltas(name: str, between: list[LoggedRevision], before: Playbook, after: Playbook) -> None:
    """What the log says of a point's votes leads from the one state to the other."""
    made = [change for revision in between for change in revision.changes if change.point.name == name]
    if name in before.by_name:
        assert made[0].before == before.by_name[name]
    for earlier, later in pairwise(made):
        assert later.before == earlier.point
    if name in after.by_name:
        first = made[0].before or KeyPoint(name, "-")
        for counter in ("helpful", "harmful"):
            steps = [getattr(c.point, counter) - (getattr(c.before, counter) if c.before else 0) for c in made]
            assert sum(steps) == getattr(after.by_name[name], counter) - getattr(first, counter)


def _told(revisions: list[LoggedRevision]) -> set[tuple[int, str, KeyPoint]]:
    return {(revision.number, change.kind, change.point) for revision in revisions for change in revision.changes}


def _told_of(revisions: list[LoggedRevision], name: str) -> set[tuple[int, str, KeyPoint]]:
    return {told for told in _told(revisions) if told[2].name == name}


@pytest.mark.parametrize(
    ("text", "revision"),
    [
        ("0", 0), ("2", 2), ("r2", 2), (" R3 ", 3), ("now", 3), ("today", 3), ("2026-03-01", 1), ("2026-03-02", 2),
        ("2026-03-02 13:00", 2), ("2026-03-02 12:59:59", 1), ("2026-03-02T12:00Z", 2), ("2026-03-02T12:00:00.0Z", 2),
        ("2026-03-02T11:59:59.999999+00:00", 1), ("29d", 2), ("2026-02-28", 0), ("5 weeks ago", 0),
    ],
)  # fmt: skip
def test_a_revision_is_meant_by_its_number_or_by_a_time(days: Project, text: str, revision: int) -> None:
    """A time means the last revision up to then, in the zone of this machine; a date its evening."""
    assert found(days, text) == revision


def test_a_log_since_a_date_begins_with_its_morning(days: Project) -> None:
    """Where the revision that a date names is the last one of its evening."""
    assert [revision.number for revision in log(days, since="2026-03-02")] == [3, 2]


def test_the_time_that_is_printed_of_a_revision_means_it(days: Project) -> None:
    """What a log shows can be given to `at`, although it shows seconds only."""
    for number in (1, 2, 3):
        shown = history.at(days, str(number)).time
        assert shown is not None
        assert found(days, history.local(shown)) == number
        assert found(days, shown) == number


@pytest.mark.parametrize(
    ("text", "error", "told"),
    [
        ("4", NotFoundError, "The last one is 3"),
        ("r99", NotFoundError, "no revision r99"),
        ("soon", ArgumentError, "2 weeks ago"),
        ("", ArgumentError, "2026-03-01"),
        ("-1", ArgumentError, "is not a revision or a time"),
    ],
)
def test_what_is_no_revision_and_no_time_is_refused(
    days: Project, text: str, error: type[Exception], told: str
) -> None:
    """A number that is no revision names the last one; anything else gets examples."""
    with pytest.raises(error, match=told):
        found(days, text)


def test_before_the_first_revision_was_the_empty_playbook(days: Project) -> None:
    seen = history.at(days, "2026-02-01")

    assert (seen.revision, seen.time, seen.playbook.points) == (0, None, ())


@pytest.mark.parametrize(
    ("asked", "numbers"),
    [
        ({}, [3, 2, 1]),
        ({"limit": 2}, [3, 2]),
        ({"limit": 0}, []),
        ({"since": "2026-03-02"}, [3, 2]),
        ({"since": "2026-03-02 13:00:00"}, [3, 2]),
        ({"since": "2026-03-02 13:00:01"}, [3]),
        ({"since": "2"}, [3, 2]),
        ({"until": "2026-03-02"}, [2, 1]),
        ({"until": "r1"}, [1]),
        ({"since": "2", "until": "2"}, [2]),
        ({"session": "session-1"}, [2]),
        ({"source": "learn", "limit": 1}, [3]),
        ({"source": "import"}, []),
        ({"name": "oth-002"}, [2]),
        ({"name": "oth-002", "session": "session-1"}, [2]),
        ({"name": "oth-002", "session": "session-2"}, []),
        ({"name": "oth-002", "source": "import"}, []),
        ({"name": "oth-002", "until": "1"}, []),
    ],
    ids=str,
)
def test_a_log_tells_the_revisions_that_are_asked_for(days: Project, asked: dict[str, Any], numbers: list[int]) -> None:
    """Newest first; `since` and `until` take in what they name."""
    assert [revision.number for revision in log(days, **asked)] == numbers


def test_a_session_is_known_by_the_beginning_of_its_id(project: Project) -> None:
    """If only one begins so; a whole id means itself, even where another begins with it."""
    for session in ("abc-1", "abc-12", "xyz"):
        learn(project, [Vote("nobody", "helpful")], session=session)

    assert [revision.session_id for revision in log(project, session="x")] == ["xyz"]
    assert [revision.session_id for revision in log(project, session="abc-1")] == ["abc-1"]
    with pytest.raises(NotFoundError, match="The ids of 2 sessions begin with 'abc': abc-1, abc-12"):
        log(project, session="abc")
    with pytest.raises(NotFoundError, match="playbook sessions"):
        log(project, session="no%")


def test_the_log_of_a_point_tells_of_neutral_votes_and_of_nothing_else(days: Project) -> None:
    """A neutral vote changes nothing, and yet it touched the point."""
    learn(days, [Vote("oth-001", "helpful"), Vote("oth-002", "neutral")])
    learn(days, [Vote("oth-001", "neutral"), Vote("nobody", "neutral")])
    edit.retire(days, "oth-001", reason="wrong")

    revisions = log(days, name="oth-001")

    assert [revision.number for revision in revisions] == [6, 5, 4, 1]
    assert [revision.neutral_votes for revision in revisions] == [0, 1, 0, 0]
    assert [[change.kind for change in revision.changes] for revision in revisions] == [
        ["retire"],
        [],
        ["vote"],
        ["add"],
    ]
    assert [revision.number for revision in log(days, name="oth-002", limit=1)] == [4]
    (neutral,) = log(days, since="5", until="5")
    assert (neutral.neutral_votes, neutral.unmatched_votes) == (1, 1)
    assert revisions[1].unmatched_votes is None


@pytest.mark.postgres
def test_the_log_tells_what_was_taken_back_later(days: Project) -> None:
    """Across the batches that it is read in, in a point's log, and in one revision's; not what was brought back."""
    for text in ("first", "second", "third"):
        edit.edit(days, "oth-001", text=text)  # 4 to 6
    undo(days, RevisionRange(5, 6))
    undo(days, RevisionRange(4, 4))
    for _ in range(50):
        edit.vote(days, "oth-001", "neutral")
    undo(days, RevisionRange(8, 8))

    expected = {4: None, 5: 7, 6: 7, 7: None, 8: 59}
    for asked in ({}, {"name": "oth-001"}, {"until": "9"}):
        marked = {revision.number: revision.undone_in for revision in log(days, **asked)}
        assert {number: marked[number] for number in expected} == expected
    for number, by in expected.items():
        full = history.revision_page(days, str(number), before=0, most=1)
        assert full.revision.undone_in == by


def test_the_log_names_the_top_level_keys_that_a_revision_changed(project: Project) -> None:
    """Not where only the time, the order or the end of the file is another."""
    told = {"version": "1.0", "last_updated": None, "sections": None, "team": 1}
    steps = (
        Header(tuple(told.items())),
        Header(tuple(reversed(told.items())), final_newline=False),
        Header(tuple({**told, "team": True, "tool": "x"}.items())),
    )
    for header in steps:
        with project.store.write(project.key) as book:
            book.commit("edit", "keys", file=FileFields(header))

    assert [revision.keys for revision in log(project)] == [("team", "tool"), (), ("team",)]


def test_the_log_of_a_point_is_whole_wherever_it_stands_in_a_revision(project: Project) -> None:
    """How many changes a glance tells has no say in it: the point may be the last of many."""
    take_in(project, [f"number {number}" for number in range(30)])

    (revision,) = history.log(project, LogQuery(name="oth-030"), most_changes=10)

    assert [change.point.name for change in revision.changes] == ["oth-030"]
    (whole,) = history.log(project, LogQuery(), most_changes=10)
    assert (len(whole.changes), whole.counts) == (10, {"add": 30})


@pytest.mark.postgres
def test_of_several_changes_to_a_point_each_begins_where_the_one_before_ended(days: Project) -> None:
    """Also within one revision: a vote, another text, and gone."""
    batch = [
        {"type": "UPDATE", "target_id": "oth-001", "text": "uno"},
        {"type": "DELETE", "target_id": "oth-001"},
    ]
    learn(days, [Vote("oth-001", "helpful")], batch)
    edit.restore(days, "oth-001")

    restored, left = log(days, name="oth-001", limit=2)

    told = [
        (c.kind, c.before and (c.before.text, c.before.helpful), c.point.text, c.point.helpful) for c in left.changes
    ]
    assert told == [
        ("vote", ("one", 0), "one", 1),
        ("edit", ("one", 1), "uno", 1),
        ("retire", ("uno", 1), "uno", 1),
    ]
    (back,) = restored.changes
    assert (back.kind, back.before and back.before.text, back.is_reworded) == ("restore", "uno", False)


@pytest.mark.postgres
def test_a_long_log_is_read_bit_by_bit_and_holds_no_transaction(days: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who pauses in a pager keeps nobody from working the log into the file; nothing is told twice or left out."""
    monkeypatch.setattr(history, "_BATCH", 1)
    told = history.log(days, LogQuery())

    assert next(told).number == 3
    learn(days, [Vote("oth-001", "helpful")])
    assert [revision.number for revision in told] == [2, 1]
    assert [revision.number for revision in log(days, name="oth-001")] == [4, 1]


def test_an_unknown_point_is_told_before_anything_is_read(days: Project) -> None:
    """With the names that look alike."""
    with pytest.raises(NotFoundError, match="Did you mean oth-003, oth-002, oth-001"):
        history.log(days, LogQuery(name="oth-009"))


def test_a_playbook_without_history_has_an_empty_log(project: Project) -> None:
    """And is empty at any time."""
    assert log(project) == []
    assert history.at(project, "yesterday").playbook == Playbook()
    with pytest.raises(NotFoundError, match="There is none yet"):
        history.revision_page(project, "1", before=0, most=1)


def test_a_number_names_a_point_before_a_revision(days: Project) -> None:
    """A file may bring points whose names look like revisions."""
    content = '{"key_points": [{"name": "2", "text": "hello", "helpful": 0, "harmful": 0}]}'
    import_export.import_playbook(days, playbook_file.decode(content, source="F"), source="F")

    source = ReadSource(days.store.url.render_as_string(), days.key, lambda **_: nullcontext(days))
    named, revision = (command_reads.find(source, name) for name in ("2", "r2"))

    assert isinstance(named, list_queries.PointRecord)
    assert named.point.text == "hello"
    assert isinstance(revision, history.RevisionDetails)
    assert revision.revision.number == 2


@pytest.mark.postgres
def test_a_revision_in_full_has_all_that_stood_behind_it(days: Project) -> None:
    """Votes with their rationales, what was skipped and why, what the models said and took."""
    call = Call("reflect", "a-model", 100, 20, 3, 0.5, 1500)
    with days.store.write(days.key) as book:
        number = book.add_reflection(
            ChunkKey("t", 0, 9), session_id="s", analysis="because", bullet_tags=[], calls=[call]
        )
    revised = learn(days, [Vote("oth-001", "helpful", "it did"), Vote("nobody", "harmful")], ["nonsense"])
    with days.store.write(days.key) as book:
        book.finish_reflection(number, revision=revised.revision, curator_reasoning="so it seems", calls=[])

    full = history.revision_page(days, "4", before=0, most=EVERY_CHANGE)

    assert full.votes == (Vote("oth-001", "helpful", "it did"), Vote("nobody", "harmful", None, matched=False))
    assert [(kept.place, kept.operation, kept.reason) for kept in full.skipped] == [(1, '"nonsense"', "not an object")]
    (reflection,) = full.reflections
    assert (reflection.analysis, reflection.curator_reasoning) == ("because", "so it seems")
    assert (reflection.model, reflection.cost_usd, reflection.duration_ms) == ("a-model", 0.5, 1500)
    assert full.revision.cost_usd == 0.5
    assert log(days, limit=1)[0].cost_usd == 0.5


@pytest.mark.nightly(after=1)
@few
@given(steps=st.lists(STEPS, max_size=5), most=st.integers(1, 3))
@pytest.mark.postgres
def test_pages_one_after_the_other_are_the_whole(
    new_project: NewProject, steps: list[tuple[str, Any]], most: int
) -> None:
    """Of all that is kept of a revision; behind the last page comes an empty one."""
    project = new_project()
    done = live_through(project, steps)

    for number in done:
        full = history.revision_page(project, f"r{number}", before=0, most=EVERY_CHANGE)
        parts = [
            history.revision_page(project, f"{number}", before=at, most=most) for at in range(0, full.items + 1, most)
        ]
        assert tuple(change for part in parts for change in part.revision.changes) == full.revision.changes
        assert tuple(vote for part in parts for vote in part.votes) == full.votes
        assert tuple(skipped for part in parts for skipped in part.skipped) == full.skipped
        assert full.items == max(len(full.revision.changes), len(full.votes), len(full.skipped))
        assert {part.revision.counts == full.revision.counts for part in parts} == {True}


def test_a_page_names_a_revision_by_its_number_alone(days: Project) -> None:
    """A point may be called as a number is."""
    assert history.revision_page(days, "r2", before=0, most=1).revision.number == 2
    for text in ("0", "4", "oth-001", "yesterday", ""):
        with pytest.raises(NotFoundError):
            history.revision_page(days, text, before=0, most=1)


def test_a_point_has_a_span(days: Project) -> None:
    """When it came, and when it last changed."""
    learn(days, [Vote("oth-001", "helpful")], now=START + timedelta(days=9))

    span = history.point_in_full(days, "oth-001").details.lifespan

    assert (span.created_in, span.created_at[:10], span.changed_in, span.changed_at[:10]) == (
        1, "2026-03-01", 4, "2026-03-10",
    )  # fmt: skip
    with pytest.raises(NotFoundError):
        history.point_in_full(days, "nobody")


def test_a_flat_file_is_compared_in_the_sections_of_the_other_side(days: Project) -> None:
    """It knows none, so that its points have not moved."""
    edit.edit(days, "oth-001", section="pat")
    flat = playbook_file.encode(history.at(days, "now").playbook, layout="flat").encode()
    file, now = (
        history.SourcedPlaybook(file="F", reading=playbook_file.decode(flat, source="F")),
        history.at(days, "now"),
    )

    assert not any(history.difference(now, file))
    assert not any(history.difference(file, now))
    assert (file.title, now.title[:11]) == ("F", "revision 4 ")


def test_life_tells_what_undo_and_restore_did(project: Project) -> None:
    """Votes that were undone, a text and a section as they were once, a merge and its undo: each an event."""
    edit.add(project, "one", section="pat")
    edit.add(project, "two", section="pat")
    edit.vote(project, "pat-001", "helpful")
    undo(project)
    edit.edit(project, "pat-001", section="ctx")
    edit.vote(project, "pat-001", "harmful")
    restore_as_of(project, "pat-001", "2")
    merge = {"type": "MERGE", "source_ids": ["pat-001", "pat-002"], "merged_text": "both"}
    edit.apply_batch(project, [merge], origin="a test")
    merged = life_of(project, "pat-003").merged
    undo(project)

    life = life_of(project, "pat-001")

    assert [(event.revision, event.kind, event.text) for event in life.events] == [
        (1, "add", "one"),
        (3, "helpful", None),
        (4, "vote", "0 helpful, 0 harmful; before: 1 helpful, 0 harmful"),
        (5, "edit", "from PATTERNS & APPROACHES to PROJECT CONTEXT"),
        (6, "harmful", None),
        (
            7,
            "edit",
            "from PROJECT CONTEXT to PATTERNS & APPROACHES; 0 helpful, 0 harmful; before: 0 helpful, 1 harmful",
        ),
        (8, "retire", "merged into pat-003"),
        (9, "restore", "one"),
    ]
    assert life.events[2].message == "undid revision 3 (edit: voted pat-001 helpful)"
    assert (merged, life_of(project, "pat-003").merged) == (("pat-001", "pat-002"), ())


def test_later_revisions_do_not_follow_a_wrong_clock(project: Project) -> None:
    """One machine's 2041 stays its own: what is made later has its time, and no point becomes old by it."""
    learn(project, batch=[{"type": "ADD", "section": "OTHERS", "content": "before"}])
    wrong = datetime.now(UTC) + timedelta(days=5000)
    with project.store.write(project.key, now=wrong) as book:
        book.draft.add(KeyPoint("oth-900", "made in 2041", "OTHERS"))
        book.commit("edit", "added")
    assert "verify first" not in import_export.prompt(project)
    learn(project, batch=[{"type": "ADD", "section": "OTHERS", "content": "after"}])

    assert history.at(project, "0s").revision == 3
    assert history.at(project, "0s").time == log(project)[0].time
    assert abs(datetime.fromisoformat(log(project)[0].time) - datetime.now(UTC)) < timedelta(days=1)


def test_relative_times_are_those_of_a_server(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """A member's wrong clock doesn't move them. A file has no other clock than the machine's."""
    learn(project, batch=[{"type": "ADD", "section": "OTHERS", "text": "made just now"}])
    wrong = datetime.now(UTC) + timedelta(days=5000)
    monkeypatch.setattr(Dialect, "now", lambda *_: wrong)
    monkeypatch.setattr(Dialect, "clock", lambda *_: wrong)

    found = len(log(project, since="2h")), history.at(project, "2h").revision
    undone = go_back(project, "2h").result.revision

    assert (found, undone) == (((1, 0), 2) if project.store.is_shared else ((0, 1), None))


def test_a_server_dates_what_a_member_of_a_wrong_clock_writes(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file has no other clock than the machine's."""
    wrong = datetime.now(UTC) + timedelta(days=5000)
    monkeypatch.setattr(Dialect, "now", lambda *_: wrong)
    learn(project, batch=[{"type": "ADD", "section": "OTHERS", "content": "before"}])
    learn(project, batch=[{"type": "ADD", "section": "OTHERS", "content": "after"}])

    (time, _) = (datetime.fromisoformat(each.time) for each in log(project))
    assert (abs(time - datetime.now(UTC)) < timedelta(days=1)) is project.store.is_shared
