"""What the commands that only look ask the database beside what a hook asks: SQL text, and what runs it.

It knows nothing of SQLAlchemy either. The services read through the same text.
"""

from typing import TYPE_CHECKING, NamedTuple

from playbook_db.domain.sections import SLUG_SECTIONS
from playbook_db.projects import as_path, has_folder
from playbook_db.store.hook_sql import POINT_COLUMNS, StoredPoint, StoredProject, find_project

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from typing import Any

    from playbook_db.domain.proposals import ReviewItem
    from playbook_db.store.at_hand import Connection

    Execute = Callable[[str, Mapping[str, Any]], Iterable[Any]]  # runs a statement with its values

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

# The live point that was learned last.
LAST_LESSON = """
SELECT k.name, k.text, r.time FROM key_points AS k
JOIN revisions AS r ON r.playbook_id = k.playbook_id AND r.number = k.created_in
WHERE k.playbook_id = :playbook_id AND k.retired_in IS NULL AND r.source = 'learn' ORDER BY k.id DESC LIMIT 1
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

# The jobs of one project, or of all; the oldest first.
JOBS = """
SELECT p.key, j.id, j.kind, j.session_id, j.transcript_path, j.parent_path, j.agent_id, j.reason, j.state, j.attempts,
       j.error, j.created_at, j.finished_at, j.not_before
FROM jobs AS j JOIN playbooks AS p ON p.id = j.playbook_id
WHERE j.playbook_id = :playbook_id OR CAST(:playbook_id AS BIGINT) IS NULL
ORDER BY j.created_at, p.key, j.id
"""

# Each session that was learned from, newest first.
SESSIONS = """
SELECT session_id, coalesce(min(revised_at), min(called_at)) AS first_at, sum(revision), sum(call), sum(tokens),
       sum(cost_usd)
FROM (
    SELECT session_id, time AS revised_at, NULL AS called_at, 1 AS revision, 0 AS call, 0 AS tokens, NULL AS cost_usd
    FROM revisions WHERE playbook_id = :playbook_id AND session_id IS NOT NULL
    UNION ALL
    SELECT session_id, NULL, time, 0, 1, input_tokens + cached_tokens + output_tokens, cost_usd
    FROM model_calls WHERE playbook_id = :playbook_id AND session_id IS NOT NULL
) AS each_one
GROUP BY session_id ORDER BY first_at DESC, sum(revision) = 0, session_id
"""

PROJECTS = """
SELECT p.key, coalesce(h.live_points, 0),
       coalesce((SELECT max(r.number) FROM revisions AS r WHERE r.playbook_id = h.playbook_id), 0),
       (SELECT r.time FROM revisions AS r WHERE r.playbook_id = h.playbook_id ORDER BY r.number DESC LIMIT 1),
       p.mirror, p.ignored
FROM playbooks AS p LEFT JOIN heads AS h ON h.playbook_id = p.id WHERE p.kind = 'project' ORDER BY p.key
"""

PROPOSAL_COLUMNS = (
    "id, kind, operation, evidence, trust, session_id, sessions, created_at, state, decided_at, decided_by, revision"
)
# The proposals that nobody has decided yet, and the live points that they name.
WAITING = f"""
SELECT {PROPOSAL_COLUMNS} FROM proposals WHERE playbook_id = :playbook_id AND state = 'waiting' ORDER BY id
"""
LIVE_POINTS_NAMED = """
SELECT name, text, section, helpful, harmful, position FROM key_points
WHERE playbook_id = :playbook_id AND name IN (SELECT value FROM json_each(:names)) AND retired_in IS NULL
"""

POINT_ID = "SELECT id FROM key_points WHERE playbook_id = :playbook_id AND name = :name"


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


class Job(NamedTuple):
    """A piece of work for the project `key`. `transcript_path` is what to learn from; for a subagent, `parent_path`
    is its session's. `state` is queued, running, done or failed; times are UTC, ISO 8601."""

    key: str
    id: int
    kind: str
    session_id: "str | None"
    transcript_path: "str | None"
    parent_path: "str | None"
    agent_id: "str | None"
    reason: "str | None"
    state: str
    attempts: int
    error: "str | None"
    created_at: str
    finished_at: "str | None"
    not_before: "str | None" = None


class SessionSummary(NamedTuple):
    """How much a session taught and what learning from it took."""

    session_id: str
    first_at: str
    revisions: int
    calls: int
    tokens: int
    cost_usd: "float | None"


class ListedProject(NamedTuple):
    """A project with a playbook: its folder, how many points are live, how many revisions there are and when the last
    was made, its mirror's state, and whether the hooks keep out of it."""

    key: str
    live_points: int
    revisions: int
    last_revision_at: "str | None"
    mirror: str
    is_ignored: bool


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


def jobs(execute: "Execute", playbook_id: "int | None") -> "list[Job]":
    """The jobs of one project, or of all; the oldest first."""
    rows = map(Job._make, execute(JOBS, {"playbook_id": playbook_id}))
    return [job._replace(transcript_path=job.transcript_path and as_path(job.transcript_path)) for job in rows]


def sessions(execute: "Execute", playbook_id: int) -> "list[SessionSummary]":
    """Each session that was learned from, newest first."""
    return list(map(SessionSummary._make, execute(SESSIONS, {"playbook_id": playbook_id})))


def projects(execute: "Execute") -> "list[ListedProject]":
    """All projects that have a playbook, by key, except those that moved away and left an empty one."""
    rows = map(ListedProject._make, execute(PROJECTS, {}))
    listed = (each._replace(is_ignored=bool(each.is_ignored)) for each in rows)
    return [each for each in listed if each.revisions or has_folder(each.key)]


def waiting(execute: "Execute", playbook_id: int, *, is_users: bool) -> "list[ReviewItem]":
    """The proposals that wait for a person, in the order in which they came, with the points that they are about."""
    import json  # late: few commands come here

    from playbook_db.domain.playbook import KeyPoint
    from playbook_db.domain.proposals import Proposal, ReviewItem

    proposals = list(map(Proposal.of_row, execute(WAITING, {"playbook_id": playbook_id})))
    names = json.dumps(sorted({name for each in proposals for name in each.names}))
    rows = execute(LIVE_POINTS_NAMED, {"playbook_id": playbook_id, "names": names}) if proposals else ()
    points = {
        name: KeyPoint(name, text, SLUG_SECTIONS[slug], helpful, harmful, position)
        for name, text, slug, helpful, harmful, position in rows
    }
    return [ReviewItem(each, tuple(filter(None, map(points.get, each.names))), is_users) for each in proposals]


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
