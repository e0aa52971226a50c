"""Two weeks in the life of the project `hafen`, with which docs/sql.md answers its questions."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from unittest.mock import patch

from sqlalchemy import text as sql

from playbook_db.domain import operations, playbook_file
from playbook_db.domain.playbook import Vote
from playbook_db.domain.times import timestamp
from playbook_db.domain.trust.evidence import Evidence
from playbook_db.domain.trust.following import Trial
from playbook_db.services.playbook import edit, forget, import_export, undo
from playbook_db.services.project import Project
from playbook_db.store import dialect
from playbook_db.store.playbook.learning import Call, ChunkKey
from playbook_db.store.playbook.repository import PlaybookRepository, RevisionOrigin, RevisionResult
from playbook_db.store.postgres.postgres_dialect import PostgresDialect
from playbook_db.store.queries import hook_queries, list_queries

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
START = datetime(2026, 10, 28, 9, 30, tzinfo=UTC)  # a Wednesday
TODAY = "2026-11-10"  # when the questions are asked

TIDES = "`hafen.jobs.tides` writes `tide` twice a day and never updates a row."
TIDES_BY_HAND = "Ask the harbour master for the tide times."
HOLDS = "A cancelled booking frees its night only after `expire_holds` ran; wait for it in tests."
MONEY = "Keep money in `Money` (integer cents and a currency) from the request to the invoice; never round floats."
CHECKS = "While working run only the tests a change can touch; run `make check` once, before the pull request."


@dataclass(frozen=True)
class Session:
    """A session that was learned from `day` days after the start.

    It ignored the points `ignored`, each of which cost a failed call. The points `by_prompt` were not shown at its
    start, but at a prompt."""

    id: str
    day: int
    votes: Sequence[Vote] = ()
    batch: Sequence[object] = ()
    cited: Sequence[str] = ()
    analysis: str = "The advice that was followed held."
    reasoning: str = "Nothing to change."
    tokens: int = 20_000
    ignored: Sequence[str] = ()
    shown: Sequence[str] = field(default=("startup",))
    by_prompt: Sequence[str] = ()


FIRST = Session(
    "5f0c2d1e-7a41-4c0b-9d55-0b6a4c1f2e90",
    1,
    votes=[
        Vote("pat-002", "helpful", "the new route was four lines, and its rule has a test of its own"),
        Vote("pat-014", "harmful", "the table was replaced at noon; the page showed yesterday's tide"),
        Vote("mis-003", "neutral"),
        Vote("pat-404", "helpful"),
    ],
    batch=[{"type": "ADD", "section": "PROJECT CONTEXT", "text": HOLDS}],
    cited=["pat-002", "pat-014"],
    by_prompt=["pat-002", "mis-001"],
    reasoning="Cancelling cost an hour because nobody knew of `expire_holds`.",
    tokens=31_000,
)
SECOND = Session(
    "c83b9e64-2f17-4e8a-8a3d-51d7e0f4b7aa",
    3,
    votes=[Vote("pat-014", "harmful", "the same again, on another page"), Vote("pat-005", "helpful")],
    batch=[
        {"type": "UPDATE", "target_id": "ctx-007", "text": TIDES},
        {"type": "DELETE", "target_id": "pat-404"},
    ],
    cited=["pat-005", "pat-014", "ctx-004"],
    ignored=["ctx-013"],
    reasoning="The tides point was out of date.",
    tokens=27_000,
)
THIRD = Session(
    "0d94ab37-61c2-4f6d-b1f0-9e2c7753d811", 4, votes=[Vote("ctx-002", "neutral")], cited=["ctx-002"], tokens=12_000
)
FOURTH = Session(
    "7be4a902-0c5d-4b37-9f8e-2d61c70a5e13",
    7,
    votes=[
        Vote("pat-003", "helpful", "the column came in two releases, and no night was lost"),
        Vote("ctx-002", "helpful", "everything was up after one command"),
        Vote("ctx-013", "harmful", "there is no `frontend/icons/` any more; it looked for ten minutes"),
    ],
    batch=[
        {
            "type": "MERGE",
            "source_ids": ["pat-007", "mis-014"],
            "section": "PATTERNS & APPROACHES",
            "merged_text": MONEY,
        }
    ],
    cited=["pat-003", "ctx-002", "ctx-004"],
    reasoning="pat-007 and mis-014 say the same from two sides; one point takes their votes.",
    tokens=44_000,
    shown=("startup", "compact"),
)
FIFTH = Session(
    "a1d35c66-8e90-4d0f-b2c4-6f7e19a3d528",
    8,
    votes=[
        Vote("pat-005", "helpful", "the client fitted at once"),
        Vote("ctx-002", "helpful"),
        Vote("ctx-013", "harmful", "sent it to a folder that is gone, again"),
    ],
    batch=[{"type": "UPDATE", "target_id": "pref-006", "text": CHECKS}],
    cited=["pat-005", "ctx-002", "pref-006"],
    ignored=["ctx-013", "ctx-002"],
    by_prompt=["pat-005", "pref-006", "ctx-003"],
    reasoning="pref-006 was right and hard to read.",
    tokens=25_000,
)
SIXTH = Session(
    "e2f80b13-5d47-4a9c-8b06-94c1d3e7fa60",
    9,
    cited=["pref-003"],
    analysis="A version was raised; nothing to learn from.",
    tokens=6_000,
)


class _Clock(datetime):
    """The clock of the services. It stops until a test moves it."""

    moment = START

    @classmethod
    def now(cls, tz: object = None) -> datetime:  # type: ignore[override]
        return cls.moment


def live_two_weeks(project: Project, start: datetime = START) -> Iterator[RevisionResult]:
    """Change the playbook for two weeks; gives each revision."""
    realistic = playbook_file.decode((EXAMPLES / "realistic.json").read_bytes(), source="realistic.json")
    batch = json.loads((EXAMPLES / "operations.json").read_text(encoding="utf-8"))["operations"]

    def on(day: int) -> None:
        _Clock.moment = start + timedelta(days=day)

    with (
        patch.object(dialect, "datetime", _Clock),
        patch.object(PostgresDialect, "now", lambda *_: _Clock.moment),
    ):
        on(0)
        yield import_export.import_playbook(project, realistic, source="realistic.json")
        yield learn(project, FIRST, start)
        on(1)
        yield edit.vote(project, "pat-001", "helpful")
        yield edit.apply_batch(project, batch, origin="operations.json")
        yield learn(project, SECOND, start)
        on(3)
        yield edit.prune(project)
        yield edit.restore(project, "mis-008")
        for session in (THIRD, FOURTH, FIFTH):
            yield learn(project, session, start)
        on(8)
        yield edit.edit(project, "ctx-007", text=TIDES_BY_HAND)
        on(9)
        yield undo.undo(project).result
        learn(project, SIXTH, start)
        _propose(project)
        on(12)
        yield edit.add(project, "The harbour master's door code is 4711.", section="ctx")
        forget.forget(project, forget.Request(name="ctx-016"))


def _propose(project: Project) -> None:
    read = Evidence("cancel with DELETE", "WebFetch https://hafen.example/api", "outside")
    cancel = {"type": "ADD", "section": "PROJECT CONTEXT", "text": "Cancel a booking with DELETE /bookings/ID."}
    by_tide = {"type": "UPDATE", "target_id": "ctx-007", "text": "Ask tides.example for the tide times."}
    with project.store.write(project.key, now=_Clock.moment) as book:
        for session in (FOURTH, FIFTH):
            book.add_proposal(cancel, "ADD", [read], "outside", session.id)
        book.add_proposal(by_tide, "UPDATE", (), "outside", SIXTH.id)
        book.decide([2], "rejected", "ann@laptop", None)


def learn(project: Project, session: Session, start: datetime) -> RevisionResult:
    """Show and learn from *session* as one revision: votes first, then the curator's batch."""
    now = start + timedelta(days=session.day)
    show(project, session, now - timedelta(hours=1))

    with project.store.write(project.key, now=now) as book:
        cast = operations.cast_votes(book.draft, session.votes)
        skipped = operations.apply_operations(book.draft, session.batch)
        result = book.commit(
            "learn", "learned from a session", votes=cast, skipped=skipped, origin=RevisionOrigin(session.id)
        )
        _keep_reflection(book, session, result.revision)
    return result


def _keep_reflection(book: PlaybookRepository, session: Session, revision: int | None) -> None:
    calls = [_call(kind, session.tokens // part) for kind, part in (("reflect", 1), ("curate", 2))]
    for call in calls:
        book.add_call(call, session_id=session.id)
    number = book.add_reflection(
        ChunkKey(f"/home/you/.claude/projects/-home-you-hafen/{session.id}.jsonl", 0, session.tokens * 4),
        session_id=session.id,
        analysis=session.analysis,
        bullet_tags=[{"name": vote.name, "tag": vote.tag} for vote in session.votes],
        calls=calls[:1],
    )
    book.finish_reflection(number, revision=revision, curator_reasoning=session.reasoning, calls=calls[1:])
    book.add_citations(session.cited, session_id=session.id)
    for name in sorted({*session.cited, *session.ignored}):
        number = list_queries.point_id(book, name)
        if number is not None:
            price = int(name in session.ignored)
            book.add_trial(number, Trial(name in session.cited, price, price), session_id=session.id)


def _call(kind: str, tokens: int) -> Call:
    return Call(kind, "claude-haiku-4-5", tokens, tokens // 20, tokens // 2, round(tokens * 1.35e-6, 4), tokens // 10)


def show(project: Project, session: Session, now: datetime) -> None:
    """Record that *session* was shown each live point."""
    with project.store.transaction() as connection:
        past = PlaybookRepository(connection, project.key)
        live = connection.execute(
            sql("SELECT id, name FROM key_points WHERE playbook_id = :id AND retired_in IS NULL"),
            {"id": past.playbook_id},
        ).all()
        at_start = [number for number, name in live if name not in session.by_prompt]
        by_prompt = [number for number, name in live if name in session.by_prompt]
        times = [(source, "SessionStart", at_start) for source in session.shown]
        times += [("", "UserPromptSubmit", by_prompt)] * bool(by_prompt)
        shown = {"playbook_id": past.playbook_id, "session_id": session.id, "revision": past.revision}
        for source, event, points in times:
            values = {"source": source, "event": event, "points": json.dumps(points), "now": timestamp(now)}
            left_out = {"left_out": len(live) - len(points)}
            connection.execute(sql(hook_queries.ADD_SHOWING), shown | values | left_out)
