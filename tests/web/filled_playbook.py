"""A playbook after ten weeks of work, for browsers and pictures."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from uuid import UUID

from sqlalchemy import text as sql

from playbook_db.domain import playbook_file
from playbook_db.domain.operations import Vote, apply_operations, cast_votes
from playbook_db.domain.playbook import KeyPoint
from playbook_db.domain.trust.evidence import Evidence
from playbook_db.services.playbook import edit
from playbook_db.services.project import Project
from playbook_db.store.playbook.learning import Call, ChunkKey
from playbook_db.store.playbook.proposal_rows import Kind
from playbook_db.store.playbook.repository import PlaybookRepository, RevisionOrigin
from playbook_db.store.queries import hook_queries

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "realistic.json"
DAYS, SESSIONS = 70, 48
_FIRST = 0.4  # of the points exist from the beginning
_REASONS = {
    "helpful": "It told where the fixture is; the test was green at the first try.",
    "harmful": "The session followed it and had to take the change back.",
    "neutral": "Read, but nothing hung on it.",
}
_REWORDED = (
    (" Rules live in the service.", " Rules live in the service, never in the route."),
    ("went from 212 queries to 3", "went from 212 queries to 3, see `tests/test_queries.py`"),
)
# What is proposed, of the point whose text begins so.
_PROPOSED: Sequence[tuple[Kind, str, dict[str, object], tuple[Evidence, ...], str]] = (
    (
        "ADD", "", {"text": "Run `pnpm test --run` in CI; without `--run` vitest waits for changes for ever.",
                    "section": "MISTAKES TO AVOID"},
        (Evidence("the job was ended after 60 minutes; vitest waits for file changes", "Bash: pnpm test", "seen"),
         Evidence("always pass --run in CI", "the page https://vitest.example/guide/cli", "outside")),
        "outside",
    ),
    (
        "UPDATE", "Add a database column", {"text": "Add a database column in three releases: nullable with a default "
        "first, then filled by a job in batches of 500, NOT NULL once every row has been filled."},
        (Evidence("the migration locked `bookings` for four minutes", "Bash: alembic upgrade head", "seen"),),
        "seen",
    ),
    (
        "DELETE", "Put all prices", {"reason": "Prices are decimals since the new tax rules."},
        (Evidence("from today on we keep prices as Decimal", "the user", "user"),), "user",
    ),
    (
        "VOTE", "Return 409", {"tag": "harmful"},
        (Evidence("the calendar shows 422 now, not 409", "Read: web/src/calendar.ts", "seen"),), "seen",
    ),
)  # fmt: skip
_NAME_KEYS = {"ADD": "of", "UPDATE": "target_id", "DELETE": "target_id", "VOTE": "name"}


def fill(project: Project, *, now: datetime | None = None) -> None:
    """Add the points of the example, and ten weeks of sessions with all kinds of changes, votes and proposals."""
    now = now or datetime.now(UTC)
    random = Random(16)
    points = list(playbook_file.decode(EXAMPLE.read_bytes(), source=EXAMPLE.name).playbook.points)
    random.shuffle(points)
    begin = now - timedelta(days=DAYS)
    known = round(len(points) * _FIRST)
    with project.store.write(project.key, now=begin) as book:
        _add(book, points[:known])
        book.commit("import", "imported playbook.json")
    for number in range(SESSIONS):
        time = begin + timedelta(days=DAYS * (number + 1) / (SESSIONS + 1), minutes=random.randrange(300))
        up_to = known + round((len(points) - known) * (number + 1) / SESSIONS)
        before = known + round((len(points) - known) * number / SESSIONS)
        with project.store.write(project.key, now=time) as book:
            _session(book, random, points[before:up_to])
    _by_hand(project)
    with project.store.write(project.key) as book:
        live = list(book.live_points())
        for kind, begins, fields, evidence, trust in _PROPOSED:
            name = next(point.name for point in live if point.text.startswith(begins))
            operation = {"type": kind, _NAME_KEYS[kind]: name, **fields}
            book.add_proposal(operation, kind, evidence, trust, str(UUID(int=random.getrandbits(128))))


def _add(book: PlaybookRepository, points: Sequence[KeyPoint]) -> None:
    for point in points:
        book.draft.add(KeyPoint(book.draft.new_name(point.section), point.text, point.section))


def _session(book: PlaybookRepository, random: Random, new: Sequence[KeyPoint]) -> None:
    session = str(UUID(int=random.getrandbits(128)))
    live = list(book.live_points())
    shown = sorted(random.sample(range(len(live)), round(len(live) * 0.8)))
    ids = dict(book.connection.execute(
        sql("SELECT name, id FROM key_points WHERE playbook_id = :id"), {"id": book.playbook_id}
    ).all())  # fmt: skip
    given = {
        "playbook_id": book.playbook_id, "session_id": session, "source": "startup", "revision": book.revision,
        "points": json.dumps([ids[live[place].name] for place in shown]), "left_out": len(live) - len(shown),
        "now": book.now, "event": "SessionStart",
    }  # fmt: skip
    book.connection.execute(sql(hook_queries.ADD_SHOWING), given)
    cited = [live[place].name for place in random.sample(shown, min(5, len(shown)))]
    book.add_citations(cited, session_id=session)
    tags = random.choices(["helpful", "harmful", "neutral"], [7, 1.6, 1.4], k=3)
    votes = [Vote(name, tag, _REASONS[tag]) for name, tag in zip(cited[:3], tags, strict=False)]
    sent, kept = random.randrange(9_000, 40_000), random.randrange(0, 20_000)
    call = Call("reflect", "claude-sonnet-4-5", sent, random.randrange(600, 2500), kept, sent * 4e-6, 14_200)
    number = book.add_reflection(
        ChunkKey(f"/home/ada/.claude/projects/hafen/{session}.jsonl", 0, 90_000), session_id=session,
        analysis="The overlap of two bookings was found by a test, and mended in the service.",
        bullet_tags=[], calls=[call],
    )  # fmt: skip
    book.add_call(call, session_id=session)
    cast = cast_votes(book.draft, votes)
    _add(book, new)
    done = book.commit(
        "learn", f"learned from session {session[:8]}", votes=cast, origin=RevisionOrigin(session, session)
    )
    book.finish_reflection(number, revision=done.revision, curator_reasoning="What was missing is added.", calls=[])


def _by_hand(project: Project) -> None:
    with project.store.read(project.key) as book:
        live = list(book.live_points())
    for old, new in _REWORDED:
        for point in live:
            if old in point.text:
                edit.edit(project, point.name, text=point.text.replace(old, new))
    edit.pin(project, live[0].name, live[2].name)
    edit.retire(project, live[-1].name, reason="We left that provider in October.")
    one, other = (point.name for point in live[-4:-2])
    with project.store.write(project.key) as book:
        merged = {"type": "MERGE", "source_ids": [one, other], "merged_text": f"{live[-4].text} {live[-3].text}"}
        apply_operations(book.draft, [merged])
        book.commit("edit", f"merged {one} and {other}")
    edit.vote(project, live[1].name, "harmful")
