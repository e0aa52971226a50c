"""The SQL of commands that only read, and the functions that run it on a `Reader`.

This module needs no SQLAlchemy. Commands use it to read the file, and services to read an open database.
"""

from typing import TYPE_CHECKING, NamedTuple

from playbook_db.domain.sections import SLUG_SECTIONS
from playbook_db.projects import as_path, has_folder
from playbook_db.store.queries.hook_queries import (
    IS_IGNORED,
    POINT_COLUMNS,
    PROJECT,
    StoredPoint,
    StoredProject,
    find_project,
    rows,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from playbook_db.domain.proposals import ReviewItem
    from playbook_db.store.queries.hook_queries import Execute, Reader
    from playbook_db.store.sqlite_open import Connection


LIVE_POINTS = f"""
SELECT {POINT_COLUMNS}
FROM key_points AS k JOIN sections AS s ON s.slug = k.section
WHERE k.playbook_id = :playbook_id AND k.retired_in IS NULL
ORDER BY s.position, k.position
"""

# The number of sessions that were shown a point, that cited it, that ignored it, and that ignored it since its last
# change of text.
SESSIONS_SHOWN = """
coalesce((SELECT w.sessions FROM showing_counts AS w WHERE w.playbook_id = :playbook_id AND w.point_id = k.id), 0)
"""
SESSIONS_CITED = "(SELECT count(*) FROM citations AS c WHERE c.playbook_id = :playbook_id AND c.point_id = k.id)"
_IGNORED = """
(SELECT count(*) FROM trials AS t
 WHERE t.playbook_id = :playbook_id AND t.point_id = k.id AND t.ignored > 0{})
"""
SESSIONS_IGNORED = _IGNORED.format("")
IGNORED_SINCE = _IGNORED.format("""
 AND t.time > (
    SELECT r.time FROM changes AS c JOIN revisions AS r ON r.playbook_id = :playbook_id AND r.number = c.revision
    WHERE c.playbook_id = :playbook_id AND c.point_id = k.id AND c.text IS NOT NULL
    ORDER BY c.revision DESC LIMIT 1)""")

# Whether the vote `a` is of a session that learned again what its point says. Its tag is neutral.
IS_AGAIN = """coalesce(instr(a.evidence, '"again": true'), 0) > 0"""

# The last rewording of a point `k`, as `e`, and the sessions that said the same again since then.
LAST_REWORDING = """
LEFT JOIN changes AS e ON e.playbook_id = k.playbook_id AND e.point_id = k.id AND (e.revision, e.seq) = (
    SELECT l.revision, l.seq FROM changes AS l
    WHERE l.playbook_id = k.playbook_id AND l.point_id = k.id AND l.text IS NOT NULL
      AND l.kind NOT IN ('add', 'restore')
    ORDER BY l.revision DESC, l.seq DESC LIMIT 1)
"""
AGAIN_SINCE = f"""
(SELECT count(*) FROM votes AS a WHERE a.playbook_id = k.playbook_id AND a.point_id = k.id AND {IS_AGAIN}
                                   AND a.revision > coalesce(e.revision, 0))
"""
# The number of sessions that taught a point: the one that added it, and those that learned the same again.
TAUGHT_IN = f"""
(SELECT count(DISTINCT r.session_id) FROM revisions AS r WHERE r.playbook_id = k.playbook_id AND r.number IN (
    SELECT k.created_in UNION ALL SELECT a.revision FROM votes AS a
    WHERE a.playbook_id = k.playbook_id AND a.point_id = k.id AND {IS_AGAIN} AND NOT EXISTS (
        SELECT 1 FROM undone_ranges AS t
        WHERE t.playbook_id = a.playbook_id AND t.first <= a.revision AND t.last >= a.revision)))
"""

# The marks of each live point.
MARKS = f"""
SELECT k.name, k.pinned, k.resting, k.confirmed_at, k.created_in, b.time, {SESSIONS_CITED}, {SESSIONS_IGNORED}
FROM key_points AS k JOIN revisions AS b ON b.playbook_id = k.playbook_id AND b.number = k.created_in
WHERE k.playbook_id = :playbook_id AND k.retired_in IS NULL
"""

_RETIREMENT = """k.retired_in, k.retired_reason, k.forgotten,
    (SELECT c.cause FROM changes AS c WHERE c.playbook_id = :playbook_id AND c.point_id = k.id
       AND c.revision = k.retired_in AND c.kind = 'retire' ORDER BY c.seq DESC LIMIT 1) AS cause"""
RETIRED_POINTS = f"""
SELECT {POINT_COLUMNS}, {_RETIREMENT} FROM key_points AS k
WHERE k.playbook_id = :playbook_id AND k.retired_in IS NOT NULL
ORDER BY k.retired_in DESC, k.position
"""

POINT = f"""
SELECT {POINT_COLUMNS}, {_RETIREMENT}, e.fields FROM key_points AS k
LEFT JOIN extra_fields AS e ON e.playbook_id = k.playbook_id AND e.point_id = k.id
WHERE k.playbook_id = :playbook_id AND k.name = :name
"""

OFTEN = 3  # sessions must ignore a point before a better wording or a guard is proposed
OFTEN_IGNORED = f"""
SELECT name, sessions FROM (
    SELECT k.id, k.name, {IGNORED_SINCE} AS sessions FROM key_points AS k
    WHERE k.playbook_id = :playbook_id AND k.retired_in IS NULL AND k.id IN (
        SELECT i.point_id FROM trials AS i WHERE i.playbook_id = :playbook_id)) AS counted
WHERE sessions >= {OFTEN} ORDER BY sessions DESC, id
"""

# The evidence of sessions about a point: for its changes and for its votes.
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

# The lifespan of a point: the revisions that added it and last changed it, their times, the time of its last
# confirmation, and its marks.
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

# The revisions whose files have a given `last_updated`: their own time, or the time in a header that they kept.
NAMED_BY_TIME = """
SELECT time, number FROM revisions
WHERE playbook_id = :playbook_id AND header IS NULL AND time IN (SELECT value FROM json_each(:times))
"""
NAMED_BY_HEADER = "SELECT number, header FROM revisions WHERE playbook_id = :playbook_id AND header IS NOT NULL"
# Revisions that merged a file but differ from it. Their message ends with the file's `last_updated`.
MERGED_FILES = """
SELECT number, message FROM revisions WHERE playbook_id = :playbook_id AND source = 'sync' AND message LIKE '% of %'
"""

# The session that was learned from last: the changes of each kind that it made, and how many of its proposals wait.
LAST_LEARNED = """
SELECT f.session_id, f.time, (
    SELECT count(*) FROM proposals AS o
    WHERE o.playbook_id = :playbook_id AND o.state = 'waiting' AND o.session_id = f.session_id
), c.kind, count(c.kind)
FROM (
    SELECT session_id, time FROM (
        SELECT session_id, finished_at AS time FROM reflections
        WHERE playbook_id = :playbook_id AND finished_at IS NOT NULL ORDER BY id DESC LIMIT 1) AS finished
    UNION ALL
    SELECT session_id, time FROM (
        SELECT session_id, time FROM revisions
        WHERE playbook_id = :playbook_id AND source = 'learn' ORDER BY number DESC LIMIT 1) AS revised
    ORDER BY time DESC LIMIT 1
) AS f
LEFT JOIN revisions AS r ON r.playbook_id = :playbook_id AND r.session_id = f.session_id AND r.source = 'learn'
LEFT JOIN changes AS c ON c.playbook_id = :playbook_id AND c.revision = r.number
GROUP BY f.session_id, f.time, c.kind
"""

# The live point that was learned last.
LAST_LESSON = """
SELECT k.name, k.text, r.time FROM key_points AS k
JOIN revisions AS r ON r.playbook_id = k.playbook_id AND r.number = k.created_in
WHERE k.playbook_id = :playbook_id AND k.retired_in IS NULL AND r.source = 'learn' ORDER BY k.id DESC LIMIT 1
"""

JOBS_BY_STATE = "SELECT j.state, count(*) FROM jobs AS j WHERE j.playbook_id = :playbook_id GROUP BY j.state"

# The cost of learning since a time: tokens of the day's budget, further tokens that the user agreed to, US dollars of
# one project, and US dollars of all projects.
USED_SINCE = """
SELECT coalesce(sum((m.input_tokens + m.cached_tokens + m.output_tokens) * (1 - m.agreed)), 0),
       coalesce(sum((m.input_tokens + m.cached_tokens + m.output_tokens) * m.agreed), 0),
       coalesce(sum(CASE WHEN m.playbook_id = :playbook_id THEN m.cost_usd END), 0.0), coalesce(sum(m.cost_usd), 0.0)
FROM model_calls AS m WHERE m.time >= :since
"""

# The jobs of one project or of all projects, oldest first.
JOBS = """
SELECT p.key, j.id, j.kind, j.session_id, j.transcript_path, j.parent_path, j.agent_id, j.reason, j.state, j.attempts,
       j.error, j.created_at, j.finished_at, j.not_before, j.folder
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

JOINED = " (joined: "  # in the key of a playbook whose points went to another one, before its number
PROJECTS = f"""
SELECT p.key, coalesce(h.live_points, 0),
       coalesce((SELECT max(r.number) FROM revisions AS r WHERE r.playbook_id = h.playbook_id), 0),
       (SELECT r.time FROM revisions AS r WHERE r.playbook_id = h.playbook_id ORDER BY r.number DESC LIMIT 1),
       p.mirror, {IS_IGNORED}
FROM playbooks AS p LEFT JOIN heads AS h ON h.playbook_id = p.id
WHERE p.kind = 'project' AND p.key NOT LIKE '%{JOINED}%' ORDER BY p.key
"""

# The other projects in which proposals wait, and how many.
WAITING_ELSEWHERE = f"""
SELECT p.key, count(*) FROM proposals AS w JOIN playbooks AS p ON p.id = w.playbook_id
WHERE w.state = 'waiting' AND p.kind = 'project' AND p.key <> :key AND p.key NOT LIKE '%{JOINED}%'
GROUP BY p.key ORDER BY p.key
"""

PROPOSAL_COLUMNS = (
    "id, kind, operation, evidence, trust, session_id, sessions, created_at, state, decided_at, decided_by, revision"
)
# The proposals that wait for a decision, and the live points that they name.
WAITING = f"""
SELECT {PROPOSAL_COLUMNS} FROM proposals WHERE playbook_id = :playbook_id AND state = 'waiting' ORDER BY id
"""
LIVE_POINTS_NAMED = """
SELECT name, text, section, helpful, harmful, position FROM key_points
WHERE playbook_id = :playbook_id AND name IN (SELECT value FROM json_each(:names)) AND retired_in IS NULL
"""

# The top-level fields of the playbook's file, and the playbook's last revision.
HEAD = """
SELECT h.header, h.final_newline, r.number, r.time
FROM heads AS h LEFT JOIN revisions AS r ON r.playbook_id = h.playbook_id
    AND r.number = (SELECT max(l.number) FROM revisions AS l WHERE l.playbook_id = :playbook_id)
WHERE h.playbook_id = :playbook_id
"""
STORED = PROJECT.replace("p.key = :key", "p.id = :playbook_id")

LAST_REVISION = "SELECT coalesce(max(number), 0) FROM revisions WHERE playbook_id = :playbook_id"

POINT_ID = "SELECT id FROM key_points WHERE playbook_id = :playbook_id AND name = :name"

SOURCES = ("learn", "import", "edit", "undo", "prune", "dedup", "sync")  # of a revision
NO_PLAYBOOK = StoredProject((0, "", 0, "undecided", 0, 0, "", None))  # for a project without a playbook


class StoredMarks(NamedTuple):
    """Details of a live point for lists. `pinned` and `resting` are 1 or 0. `created_in` is a revision's number."""

    name: str
    pinned: int
    resting: int
    confirmed_at: "str | None"
    created_in: int
    created_at: str
    sessions_cited: int
    sessions_ignored: int

    @property
    def in_words(self) -> str:
        """The marks as a list shows them, such as `pinned, ignored 3`."""
        ignored = f"ignored {self.sessions_ignored}" if self.sessions_ignored else ""
        return ", ".join(filter(None, ("pinned" if self.pinned else "rests" if self.resting else "", ignored)))


class Job(NamedTuple):
    """A job of the project `key`: to learn from `transcript_path`, of a session in `folder`. A subagent's job also
    has the `parent_path` of its session. `state` is queued, running, done or failed. Times are in UTC, ISO 8601.
    """

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
    folder: "str | None" = None


class SessionSummary(NamedTuple):
    """The number of revisions that a session led to, and the cost of learning from it."""

    session_id: str
    first_at: str
    revisions: int
    calls: int
    tokens: int
    cost_usd: "float | None"


class ListedProject(NamedTuple):
    """A project with a playbook. `key` is its folder. The hooks skip it if `is_ignored`."""

    key: str
    live_points: int
    revisions: int
    last_revision_at: "str | None"
    mirror: str
    is_ignored: bool


class Retirement(NamedTuple):
    """The revision that retired a point, and its reason. Nothing is left of the text of a point that `is_forgotten`."""

    revision: int
    reason: "str | None"
    is_forgotten: bool


class PointEvidence(NamedTuple):
    """A session's evidence (JSON) for a change of a point or a vote on it. `kind` is that of the change or vote.
    `ignored` is 1 if the session had the point but didn't follow it."""

    revision: int
    kind: str
    ignored: int
    evidence: "str | None"


class PointLifespan(NamedTuple):
    """When a point was created, last changed and last confirmed. `origin` describes the playbook from which it was
    promoted or demoted. `pinned` and `resting` are 1 or 0."""

    created_in: int
    created_at: str
    changed_in: int
    changed_at: str
    confirmed_at: "str | None"
    origin: "str | None"
    pinned: int
    resting: int


class PointRecord(NamedTuple):
    """A live or retired point with all details. `extra` has the additional fields that came from a file, as JSON."""

    point: StoredPoint
    retired: "Retirement | None"
    lifespan: PointLifespan
    extra: str
    evidence: "tuple[PointEvidence, ...]"


def find_in_replica(connection: "Connection", name: str) -> "StoredProject | None":
    """Return the team's playbook *name* in its replica, or None if the replica lacks it or is damaged. This reads the
    whole file."""
    project = find_project(connection.execute, name)
    is_sound = project is not None and connection.execute("PRAGMA quick_check(1)").fetchone() == ("ok",)
    return project if is_sound else None


def live_points(book: "Reader") -> "list[StoredPoint]":
    """Return the live points in canonical order."""
    return list(map(StoredPoint, rows(book, LIVE_POINTS)))


def marks(book: "Reader", statement: str = MARKS) -> "dict[str, StoredMarks]":
    """Return the marks of each live point, by name."""
    return {row[0]: StoredMarks._make(row) for row in rows(book, statement)}


def marks_of(book: "Reader", answers: "Iterable[Sequence[tuple[StoredPoint, float]]]") -> "dict[str, StoredMarks]":
    """Return the marks of each live point in the search results *answers*, by name."""
    listed = ",".join(str(number) for number in sorted({point.id for points in answers for point, _ in points}))
    return marks(book, f"{MARKS} AND k.id IN ({listed})") if listed else {}


def retired_points(book: "Reader") -> "list[tuple[StoredPoint, Retirement]]":
    """Return the retired points, most recent first."""
    matches = rows(book, RETIRED_POINTS)
    return [(StoredPoint(row[:-4]), Retirement(row[-4], row[-3], bool(row[-2]))) for row in matches]


def jobs(execute: "Execute", playbook_id: "int | None") -> "list[Job]":
    """Return the jobs of the project *playbook_id*, or of all projects, oldest first."""
    matches = map(Job._make, execute(JOBS, {"playbook_id": playbook_id}))
    return [job._replace(transcript_path=job.transcript_path and as_path(job.transcript_path)) for job in matches]


def sessions(book: "Reader") -> "list[SessionSummary]":
    """Return the sessions that were learned from, newest first."""
    return list(map(SessionSummary._make, rows(book, SESSIONS)))


def projects(execute: "Execute") -> "list[ListedProject]":
    """Return all projects with a playbook, by key. Leave out empty playbooks whose project's folder is missing."""
    matches = map(ListedProject._make, execute(PROJECTS, {}))
    listed = (each._replace(is_ignored=bool(each.is_ignored)) for each in matches)
    return [each for each in listed if each.revisions or has_folder(each.key)]


def waiting_elsewhere(execute: "Execute", key: str) -> "dict[str, int]":
    """Return how many proposals wait in each project other than *key*, by project."""
    return {str(name): int(count) for name, count in execute(WAITING_ELSEWHERE, {"key": key})}


def waiting(book: "Reader") -> "list[ReviewItem]":
    """Return the proposals that wait for a person, oldest first, each with the live points that it names."""
    import json  # late: few commands need it

    from playbook_db.domain.playbook import KeyPoint
    from playbook_db.domain.proposals import Proposal, ReviewItem

    proposals = list(map(Proposal.of_row, rows(book, WAITING)))
    names = json.dumps(sorted({name for each in proposals for name in each.names}))
    points = {
        name: KeyPoint(name, text, SLUG_SECTIONS[slug], *counters)
        for name, text, slug, *counters in (rows(book, LIVE_POINTS_NAMED, names=names) if proposals else ())
    }
    return [ReviewItem(each, tuple(filter(None, map(points.get, each.names))), book.is_users) for each in proposals]


def point_id(book: "Reader", name: str) -> "int | None":
    """Return the number of the live or retired point *name*, or None if there is no such point."""
    return next((number for (number,) in rows(book, POINT_ID, name=name)), None)


def no_such_point(book: "Reader", name: str) -> Exception:
    """Return the error for an unknown *name*, with similar names of live points in *book*."""
    from difflib import get_close_matches

    from playbook_db.errors import unknown_point

    live = [point.name for point in live_points(book)]
    return unknown_point(name, similar=tuple(get_close_matches(name, live, n=3)))


def lifespan(book: "Reader", name: str) -> "PointLifespan | None":
    """Return the lifespan of the live or retired point *name*, or None if there is no such point."""
    return next(map(PointLifespan._make, rows(book, LIFESPAN, name=name)), None)


def find_point(book: "Reader", name: str) -> "PointRecord | None":
    """Return the live or retired point *name*, or None if there is no such point."""
    span = lifespan(book, name)
    if span is None:
        return None
    ((*point, retired_in, reason, is_forgotten, _, extra),) = rows(book, POINT, name=name)
    retired = None if retired_in is None else Retirement(retired_in, reason, bool(is_forgotten))
    evidence = tuple(map(PointEvidence._make, rows(book, EVIDENCE, name=name)))
    return PointRecord(StoredPoint(point), retired, span, extra or "{}", evidence)


def require_point(book: "Reader", name: str) -> "PointRecord":
    """Return the live or retired point *name*. Raises NotFoundError."""
    if point := find_point(book, name):
        return point
    raise no_such_point(book, name)


def known_times(book: "Reader", times: "Collection[str]") -> "dict[str, tuple[int, bool]]":
    """Return the revision that belongs to each file's `last_updated` in *times*. The flag is true for the last revision
    with this time, and false for the first revision that merged the file. Leave out unknown times."""
    if not times:
        return {}
    messages = ((number, message.rpartition(" of ")[2]) for number, message in rows(book, MERGED_FILES))
    merged = {time: (number, False) for number, time in sorted(messages, reverse=True) if time in times}
    return merged | {time: (number, True) for time, number in revisions_named(book, times)}


def revisions_named(book: "Reader", times: "Collection[str]") -> "list[tuple[str, int]]":
    """Return the revisions whose files have a `last_updated` in *times*: the time and the number of each, oldest
    first."""
    import json  # late: few commands need it

    headers = ((json.loads(header).get("last_updated"), number) for number, header in rows(book, NAMED_BY_HEADER))
    by_time = rows(book, NAMED_BY_TIME, times=json.dumps(sorted(times)))
    by_header = (each for each in headers if isinstance(each[0], str) and each[0] in times)
    return sorted([*map(tuple, by_time), *by_header], key=lambda each: each[1])
