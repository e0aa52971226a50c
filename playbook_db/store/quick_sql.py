"""What the commands that only look ask the database beside what a hook asks: SQL text, and what runs it.

It knows nothing of SQLAlchemy either. The services read through the same text.
"""

from typing import TYPE_CHECKING, NamedTuple

from playbook_db.store.hook_sql import POINT_COLUMNS, StoredPoint, StoredProject, find_project

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence
    from typing import Any

    from playbook_db.store.at_hand import Connection

LIVE_POINTS = f"""
SELECT {POINT_COLUMNS}
FROM key_points AS k JOIN sections AS s ON s.slug = k.section
WHERE k.playbook_id = :playbook_id AND k.retired_in IS NULL
ORDER BY s.position, k.position
"""

# What is known of each live point beside what a point is, and how many sessions cited it.
MARKS = """
SELECT k.name, k.pinned, k.resting, k.confirmed_at, k.created_in, b.time,
       (SELECT count(*) FROM citations AS c WHERE c.playbook_id = :playbook_id AND c.point_id = k.id)
FROM key_points AS k JOIN revisions AS b ON b.playbook_id = k.playbook_id AND b.number = k.created_in
WHERE k.playbook_id = :playbook_id AND k.retired_in IS NULL
"""

RETIRED_POINTS = f"""
SELECT {POINT_COLUMNS}, k.retired_in, k.retired_reason, k.forgotten FROM key_points AS k
WHERE k.playbook_id = :playbook_id AND k.retired_in IS NOT NULL
ORDER BY k.retired_in DESC, k.position
"""

ALL_TEXTS = "SELECT k.id, k.text FROM key_points AS k WHERE k.playbook_id = :playbook_id"

POINT = f"""
SELECT {POINT_COLUMNS}, k.retired_in, k.retired_reason, k.forgotten FROM key_points AS k
WHERE k.playbook_id = :playbook_id AND k.name = :name
"""

# What an entry of a file said of a point beside what a point is.
EXTRA = """
SELECT e.fields FROM key_points AS k JOIN extra_fields AS e ON e.playbook_id = k.playbook_id AND e.point_id = k.id
WHERE k.playbook_id = :playbook_id AND k.name = :name
"""

# What sessions showed for or against a point: for its changes, and for votes.
EVIDENCE = """
SELECT c.revision, c.kind, 0, c.evidence FROM key_points AS k
JOIN changes AS c ON c.playbook_id = k.playbook_id AND c.point_id = k.id AND c.evidence IS NOT NULL
WHERE k.playbook_id = :playbook_id AND k.name = :name
UNION ALL
SELECT v.revision, v.tag, v.ignored, v.evidence FROM key_points AS k
JOIN votes AS v ON v.playbook_id = k.playbook_id AND v.point_id = k.id AND (v.evidence IS NOT NULL OR v.ignored = 1)
WHERE k.playbook_id = :playbook_id AND k.name = :name
ORDER BY 1
"""

# The revisions in which a point came and last changed, and their times; when it was last confirmed, and its marks.
LIFESPAN = """
SELECT f.number, f.time, l.number, l.time, k.confirmed_at,
    (SELECT a.reason FROM changes AS a WHERE a.playbook_id = :playbook_id AND a.point_id = k.id
       AND a.revision = k.created_in AND a.kind = 'add' ORDER BY a.seq LIMIT 1),
    k.pinned, k.resting
FROM key_points AS k
JOIN revisions AS f ON f.playbook_id = k.playbook_id AND f.number = k.created_in
JOIN revisions AS l ON l.playbook_id = k.playbook_id
    AND l.number = (SELECT max(c.revision) FROM changes AS c WHERE c.playbook_id = :playbook_id AND c.point_id = k.id)
WHERE k.playbook_id = :playbook_id AND k.name = :name
"""

# The revisions that a file's `last_updated` may name: by their time, or by that of a file whose header they kept.
NAMED_BY_TIME = """
SELECT number FROM revisions WHERE playbook_id = :playbook_id AND time = :time AND header IS NULL
"""
NAMED_BY_HEADER = "SELECT number, header FROM revisions WHERE playbook_id = :playbook_id AND header IS NOT NULL"
# Those that merged a file which they don't equal; its `last_updated` then ends their message.
MERGED_FILES = """
SELECT number, message FROM revisions WHERE playbook_id = :playbook_id AND source = 'sync' AND message LIKE '% of %'
"""

# The last revision that learning made, and how many changes of each kind it made.
LAST_LEARNED = """
SELECT r.number, r.time, r.session_id, c.kind, count(c.kind) FROM revisions AS r
LEFT JOIN changes AS c ON c.playbook_id = r.playbook_id AND c.revision = r.number
WHERE r.playbook_id = :playbook_id AND r.number = (
    SELECT max(l.number) FROM revisions AS l WHERE l.playbook_id = :playbook_id AND l.source = 'learn')
GROUP BY r.number, r.time, r.session_id, c.kind
"""

JOBS_BY_STATE = "SELECT j.state, count(*) FROM jobs AS j WHERE j.playbook_id = :playbook_id GROUP BY j.state"

# What learning took since a time: tokens of the day's budget and those agreed to beside it, and US dollars, of one
# project and of all.
USED_SINCE = """
SELECT coalesce(sum((m.input_tokens + m.cached_tokens + m.output_tokens) * (1 - m.agreed)), 0),
       coalesce(sum((m.input_tokens + m.cached_tokens + m.output_tokens) * m.agreed), 0),
       coalesce(sum(CASE WHEN m.playbook_id = :playbook_id THEN m.cost_usd END), 0.0), coalesce(sum(m.cost_usd), 0.0)
FROM model_calls AS m WHERE m.time >= :since
"""


NO_PLAYBOOK = StoredProject((0, 0, "undecided", 0, 0, None))  # of a playbook that isn't there yet


class StoredMarks(NamedTuple):
    """What is known of a live point beside what a point is: whether it is pinned and whether it rests (1 or 0), when it
    was last confirmed, the revision in which it came and its time, how many sessions cited it."""

    name: str
    pinned: int
    resting: int
    confirmed_at: "str | None"
    created_in: int
    created_at: str
    sessions_cited: int


class Retirement(NamedTuple):
    """When and why a point was retired: the revision's number, and the reason."""

    revision: int
    reason: "str | None"


class PointEvidence(NamedTuple):
    """What a session showed for or against a point in a revision: for a change or a vote, of that `kind`; whether the
    session `ignored` the point (1 or 0); the evidence as JSON, None where that is all."""

    revision: int
    kind: str
    ignored: int
    evidence: "str | None"


class PointLifespan(NamedTuple):
    """When a point came, when it last changed (the revisions and their times) and when it was last confirmed; its
    `origin`, as "promoted from pat-001 of /home/ann/shop", where one is noted; whether it is pinned, and whether it
    rests (1 or 0)."""

    created_in: int
    created_at: str
    changed_in: int
    changed_at: str
    confirmed_at: "str | None"
    origin: "str | None"
    pinned: int
    resting: int


def find_in_replica(connection: "Connection", name: str) -> "StoredProject | None":
    """Where the team's playbook *name* stands in its replica, all of which is read; None where it isn't in it, or some
    of the file is damaged."""
    project = find_project(connection, name)
    is_sound = project is not None and connection.execute("PRAGMA quick_check(1)").fetchone() == ("ok",)
    return project if is_sound else None


def live_points(connection: "Connection", playbook_id: int) -> "list[StoredPoint]":
    """The live points in canonical order."""
    return list(map(StoredPoint, connection.execute(LIVE_POINTS, {"playbook_id": playbook_id})))


def marks(connection: "Connection", playbook_id: int) -> "dict[str, StoredMarks]":
    """What is known of each live point beside what a point is, by name."""
    return _by_name(connection.execute(MARKS, {"playbook_id": playbook_id}))


def marks_of(
    execute: "Callable[[str, dict[str, Any]], Any]",
    playbook_id: int,
    answers: "Iterable[Sequence[tuple[StoredPoint, float]]]",
) -> "dict[str, StoredMarks]":
    """The same of the points in *answers* alone."""
    listed = ",".join(str(number) for number in sorted({point.id for points in answers for point, _ in points}))
    return _by_name(execute(f"{MARKS} AND k.id IN ({listed})", {"playbook_id": playbook_id})) if listed else {}


def _by_name(rows: "Iterable[Any]") -> "dict[str, StoredMarks]":
    return {each.name: each for each in map(StoredMarks._make, rows)}


def retired_points(connection: "Connection", playbook_id: int) -> "list[tuple[StoredPoint, Retirement]]":
    """The points that were retired, the last one first."""
    rows = connection.execute(RETIRED_POINTS, {"playbook_id": playbook_id})
    return [(StoredPoint(point), Retirement(revision, reason)) for *point, revision, reason, _ in rows]


def all_texts(connection: "Connection", playbook_id: int) -> "dict[int, str]":
    """The texts of all points, live and retired, by their numbers."""
    return dict(connection.execute(ALL_TEXTS, {"playbook_id": playbook_id}))


def find_point(
    connection: "Connection", playbook_id: int, name: str
) -> "tuple[StoredPoint, Retirement | None, PointLifespan, str, tuple[PointEvidence, ...]] | None":
    """The point *name*, live or retired, what a file's entry said of it beside, as JSON, and what sessions showed for
    it or against it; None where there never was one."""
    of_point = {"playbook_id": playbook_id, "name": name}
    row = connection.execute(POINT, of_point).fetchone()
    if row is None:
        return None
    *point, retired_in, reason, _ = row
    retirement = None if retired_in is None else Retirement(retired_in, reason)
    lifespan = PointLifespan(*connection.execute(LIFESPAN, of_point).fetchone())
    (extra,) = connection.execute(EXTRA, of_point).fetchone() or ("{}",)
    evidence = tuple(map(PointEvidence._make, connection.execute(EVIDENCE, of_point)))
    return StoredPoint(point), retirement, lifespan, extra, evidence


def known_times(connection: "Connection", playbook_id: int, times: "Collection[str]") -> "dict[str, tuple[int, bool]]":
    """What is known of files by their *times*, each the `last_updated` of one: the last revision that it names, and
    true; else the first into which it came, and false. Of a time that says nothing, nothing."""
    of = {"playbook_id": playbook_id}
    named = [(time, number) for time in times for (number,) in connection.execute(NAMED_BY_TIME, {**of, "time": time})]
    headers, messages = ((connection.execute(query, of) if times else ()) for query in (NAMED_BY_HEADER, MERGED_FILES))
    return known_of(times, named, headers, messages)


def known_of(
    times: "Collection[str]",
    named: "Iterable[tuple[str, int]]",
    headers: "Iterable[tuple[int, str]]",
    messages: "Iterable[tuple[int, str]]",
) -> "dict[str, tuple[int, bool]]":
    """The same, of what the three queries found: *named* are the times and revisions of the first."""
    import json  # late: few commands come here

    came = sorted(((number, message.rpartition(" of ")[2]) for number, message in messages), reverse=True)
    known = {time: (number, False) for number, time in came if time in times}
    by_header = ((json.loads(header).get("last_updated"), number) for number, header in headers)
    whole = [*named, *((time, number) for time, number in by_header if time in times)]
    return known | {time: (number, True) for time, number in sorted(whole, key=lambda each: each[1])}
