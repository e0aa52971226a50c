"""Log, diff and older playbooks: which revision a word names, and what happened in it."""

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playbook_db.domain import operations, playbook_file
from playbook_db.domain.merging.undo_rules import RevisionRange
from playbook_db.domain.playbook import Header, KeyPoint, Vote
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
from playbook_db.store.queries.revision_log import EVERY_CHANGE, LoggedRevision
from tests.builders import last_revision
from tests.databases import NewProject
from tests.domain.test_diff import carry_out, content
from tests.services.test_undo import Step, do, histories
from tests.tiers import few

pytestmark = pytest.mark.sqlite
START = datetime(2026, 3, 1, 12, tzinfo=UTC)


def life_of(project: Project, name: str) -> Life:
    life = history.point_in_full(project, name).life
    assert life
    return life


def learn(
    project: Project,
    votes: Sequence[Vote] = (),
    batch: Sequence[Any] = (),
    *,
    session: str = "a-session",
    now: datetime | None = None,
) -> RevisionResult:
    with project.store.write(project.key, now=now) as book:
        cast = operations.cast_votes(book.draft, votes)
        skipped = operations.apply_operations(book.draft, list(batch))
        return book.commit(
            "learn", f"learned from {session}", votes=cast, skipped=skipped, origin=RevisionOrigin(session)
        )


def log(project: Project, **asked: Any) -> list[LoggedRevision]:
    return list(history.log(project, LogQuery(**asked)))


def found(project: Project, text: str) -> int:
    """The revision that *text* names 30 days after START."""
    with pytest.MonkeyPatch.context() as patch, project.store.read(project.key) as book:
        patch.setattr(book, "clock", lambda: START + timedelta(days=30))
        return find_revision(book, text)


@pytest.fixture(autouse=True)
def _in_berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.fixture
def days(project: Project) -> Project:
    """A playbook with three revisions, one a day, at noon UTC from 1 March on."""
    for day, text in enumerate(("one", "two", "three")):
        batch = [{"type": "ADD", "text": text, "section": "OTHERS"}]
        learn(project, batch=batch, session=f"session-{day}", now=START + timedelta(days=day))
    return project


@pytest.mark.slow
@few
@given(steps=histories, data=st.data())
@pytest.mark.postgres
def test_log_diff_and_at_agree(new_project: NewProject, steps: list[Step], data: st.DataObject) -> None:
    """After any history, the changes in the log lead from each playbook to the next one."""
    project = new_project()
    exported = {0: import_export.export_playbook(project)}
    for step in steps:
        do(project, *step)
        exported[last_revision(project)] = import_export.export_playbook(project)
    states = [history.at(project, str(number)) for number in exported]
    logged = log(project)[::-1]

    assert [playbook_file.encode(state.playbook) for state in states] == [*exported.values()]
    assert [revision.number for revision in logged] == [*exported][1:]
    for revision, before, after in zip(logged, states, states[1:], strict=False):
        points = dict(before.playbook.by_name)
        for change in revision.changes:
            assert change.before is None or change.before.text == points.get(change.point.name, change.before).text
            points[change.point.name] = change.point
            if change.kind == "retire":
                del points[change.point.name]
        assert points == after.playbook.by_name
        assert revision.counts == Counter(change.kind for change in revision.changes)
    one, other = sorted(data.draw(st.tuples(*[st.sampled_from(range(len(states)))] * 2)))
    difference = history.difference(states[one], states[other])
    assert content(carry_out(difference, states[one].playbook)) == content(list(states[other].playbook.points))


@pytest.mark.parametrize(
    ("text", "revision"),
    [
        ("0", 0), (" R3 ", 3), ("now", 3), ("2026-03-02", 2), ("2026-03-02 13:00", 2), ("2026-03-02 12:59:59", 1),
        ("2026-03-02T12:00Z", 2), ("29d", 2), ("2026-02-28", 0), ("5 weeks ago", 0),
    ],
)  # fmt: skip
def test_revisions_are_named_by_number_or_time(days: Project, text: str, revision: int) -> None:
    """A time is local, and a date means its evening."""
    assert found(days, text) == revision


def test_printed_times_name_their_revision(days: Project) -> None:
    """The log prints seconds, and revisions have microseconds."""
    for number in (1, 2, 3):
        shown = history.at(days, str(number)).time
        assert shown is not None
        assert found(days, history.local(shown)) == number
        assert found(days, shown) == number


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("r99", NotFoundError, "no revision r99"),
        ("soon", ArgumentError, "2 weeks ago"),
        ("", ArgumentError, "2026-03-01"),
        ("-1", ArgumentError, "is not a revision or a time"),
    ],
)
def test_other_words_name_no_revision(days: Project, text: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        found(days, text)


@pytest.mark.parametrize(
    ("asked", "numbers"),
    [
        ({"limit": 2}, [3, 2]),
        ({"since": "2026-03-02"}, [3, 2]),
        ({"since": "2026-03-02 13:00:01"}, [3]),
        ({"since": "2", "until": "2"}, [2]),
        ({"until": "2026-03-02"}, [2, 1]),
        ({"session": "session-1"}, [2]),
        ({"source": "import"}, []),
        ({"name": "oth-002"}, [2]),
        ({"name": "oth-002", "session": "session-2"}, []),
    ],
    ids=str,
)
def test_log_can_be_filtered(days: Project, asked: dict[str, Any], numbers: list[int]) -> None:
    assert [revision.number for revision in log(days, **asked)] == numbers


def test_start_of_a_session_id_is_enough(project: Project) -> None:
    for session in ("abc-1", "abc-12", "xyz"):
        learn(project, [Vote("nobody", "helpful")], session=session)

    assert [revision.session_id for revision in log(project, session="x")] == ["xyz"]
    assert [revision.session_id for revision in log(project, session="abc-1")] == ["abc-1"]
    with pytest.raises(NotFoundError, match="The ids of 2 sessions begin with 'abc': abc-1, abc-12"):
        log(project, session="abc")
    with pytest.raises(NotFoundError, match="playbook sessions"):
        log(project, session="no%")


def test_log_of_a_point_has_neutral_votes(days: Project) -> None:
    """A neutral vote changes no counter."""
    learn(days, [Vote("oth-001", "helpful"), Vote("oth-002", "neutral")])
    learn(days, [Vote("oth-001", "neutral"), Vote("nobody", "neutral")])
    edit.retire(days, "oth-001", reason="wrong")

    revisions = log(days, name="oth-001")

    assert [(each.number, each.neutral_votes, [change.kind for change in each.changes]) for each in revisions] == [
        (6, 0, ["retire"]), (5, 1, []), (4, 0, ["vote"]), (1, 0, ["add"]),
    ]  # fmt: skip
    assert [revision.number for revision in log(days, name="oth-002", limit=1)] == [4]
    (neutral,) = log(days, since="5", until="5")
    assert (neutral.neutral_votes, neutral.unmatched_votes) == (1, 1)


@pytest.mark.postgres
def test_log_marks_undone_revisions(days: Project) -> None:
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


def test_log_names_changed_top_level_keys(project: Project) -> None:
    keys = {"version": "1.0", "last_updated": None, "sections": None, "team": 1}
    for header in (
        Header(tuple(keys.items())),
        Header(tuple(reversed(keys.items())), final_newline=False),
        Header(tuple({**keys, "team": True, "tool": "x"}.items())),
    ):
        with project.store.write(project.key) as book:
            book.commit("edit", "keys", file=FileFields(header))

    assert [revision.keys for revision in log(project)] == [("team", "tool"), (), ("team",)]


@pytest.mark.postgres
def test_changes_in_one_revision_follow_each_other(days: Project) -> None:
    batch = [{"type": "UPDATE", "target_id": "oth-001", "text": "uno"}, {"type": "DELETE", "target_id": "oth-001"}]
    learn(days, [Vote("oth-001", "helpful")], batch)
    edit.restore(days, "oth-001")

    restored, retired = log(days, name="oth-001", limit=2)

    assert [(each.kind, each.before and each.before.text, each.point.text) for each in retired.changes] == [
        ("vote", "one", "one"), ("edit", "one", "uno"), ("retire", "uno", "uno"),
    ]  # fmt: skip
    (change,) = restored.changes
    assert (change.kind, change.before and change.before.text, change.is_reworded) == ("restore", "uno", False)


@pytest.mark.postgres
def test_long_log_holds_no_transaction(days: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader in a pager blocks nobody."""
    monkeypatch.setattr(history, "_BATCH", 1)
    revisions = history.log(days, LogQuery())

    assert next(revisions).number == 3
    learn(days, [Vote("oth-001", "helpful")])
    assert [revision.number for revision in revisions] == [2, 1]
    assert [revision.number for revision in log(days, name="oth-001")] == [4, 1]


def test_number_names_a_point_before_a_revision(days: Project) -> None:
    content = '{"key_points": [{"name": "2", "text": "hello", "helpful": 0, "harmful": 0}]}'
    import_export.import_playbook(days, playbook_file.decode(content, source="F"), source="F")

    source = ReadSource(days.store.url.render_as_string(), days.key, lambda **_: nullcontext(days))
    named, revision = (command_reads.find(source, name) for name in ("2", "r2"))

    assert isinstance(named, list_queries.PointRecord)
    assert named.point.text == "hello"
    assert isinstance(revision, history.RevisionDetails)
    assert revision.revision.number == 2


@pytest.mark.postgres
def test_revision_page_has_votes_skips_and_models(days: Project) -> None:
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


def test_diff_with_a_flat_file_ignores_sections(days: Project) -> None:
    edit.edit(days, "oth-001", section="pat")
    now = history.at(days, "now")
    flat = playbook_file.encode(now.playbook, layout="flat").encode()
    file = history.SourcedPlaybook(file="F", reading=playbook_file.decode(flat, source="F"))

    assert not any(history.difference(now, file))
    assert not any(history.difference(file, now))


def test_life_of_a_point_has_undos_and_restores(project: Project) -> None:
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

    moved = "from PROJECT CONTEXT to PATTERNS & APPROACHES"
    assert [(event.revision, event.kind, event.text) for event in life.events] == [
        (1, "add", "one"),
        (3, "helpful", None),
        (4, "vote", "0 helpful, 0 harmful; before: 1 helpful, 0 harmful"),
        (5, "edit", "from PATTERNS & APPROACHES to PROJECT CONTEXT"),
        (6, "harmful", None),
        (7, "edit", f"{moved}; 0 helpful, 0 harmful; before: 0 helpful, 1 harmful"),
        (8, "retire", "merged into pat-003"),
        (9, "restore", "one"),
    ]
    assert life.events[2].message == "undid revision 3 (edit: voted pat-001 helpful)"
    assert (merged, life_of(project, "pat-003").merged) == (("pat-001", "pat-002"), ())


def test_one_wrong_clock_moves_no_later_time(project: Project) -> None:
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


@pytest.mark.postgres
def test_only_a_servers_clock_counts(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file has no other clock than its machine's."""
    learn(project, batch=[{"type": "ADD", "section": "OTHERS", "text": "just now"}])
    wrong = datetime.now(UTC) + timedelta(days=5000)
    monkeypatch.setattr(Dialect, "now", lambda *_: wrong)
    monkeypatch.setattr(Dialect, "clock", lambda *_: wrong)

    assert len(log(project, since="2h")) == project.store.is_shared
    assert history.at(project, "2h").revision == (not project.store.is_shared)
    assert go_back(project, "2h").result.revision == (2 if project.store.is_shared else None)
    learn(project, batch=[{"type": "ADD", "section": "OTHERS", "text": "later"}])
    later, *_ = log(project)
    is_right = abs(datetime.fromisoformat(later.time) - datetime.now(UTC)) < timedelta(days=1)
    assert is_right is project.store.is_shared
