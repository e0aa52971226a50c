"""The statements that a hook needs, as SQL text for any driver with `:name` parameters. Imports nothing.

The services read through the same text, so that it can't rot alone.
"""

import os
import sys

from playbook_db.domain.sections import SLUG_SECTIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
    from sqlite3 import Connection as Connection
    from typing import Any

    from playbook_db.domain.search_words import Term

    Matching = Callable[[Callable[..., Any], int, Term, int], Collection[int]]  # what an index finds in a playbook

SCHEMA = 9  # the migration that this code is written for, as in PRAGMA user_version

_POINT = "k.name, k.text, k.section, k.helpful, k.harmful, k.position, k.pinned, k.confirmed_at"

LIVE_POINTS = f"""
SELECT k.id, {_POINT}
FROM key_points AS k JOIN sections AS s ON s.slug = k.section
WHERE k.playbook_id = :playbook_id AND k.retired_in IS NULL
ORDER BY s.position, k.position
"""

PROJECT = """
SELECT p.id, p.ignored, p.mirror, coalesce(h.live_points, 0),
       coalesce((SELECT max(r.number) FROM revisions AS r WHERE r.playbook_id = p.id), 0),
       (SELECT t.name FROM memberships AS t WHERE t.playbook_id = p.id)
FROM playbooks AS p LEFT JOIN heads AS h ON h.playbook_id = p.id WHERE p.key = :key
"""

RANKED_POINTS = f"""
SELECT k.id, {_POINT} FROM key_points AS k
WHERE k.playbook_id = :playbook_id AND k.retired_in IS NULL AND k.resting = 0
ORDER BY k.pinned DESC, k.rank DESC, k.id
"""

LAST_TIME = """
SELECT r.time FROM revisions AS r WHERE r.playbook_id = :playbook_id ORDER BY r.number DESC LIMIT 1
"""

# What is known of each live point beside what a point is, and how many sessions cited it.
MARKS = """
SELECT k.name, k.pinned, k.resting, k.confirmed_at, k.created_in, b.time, coalesce(c.sessions, 0) FROM key_points AS k
JOIN revisions AS b ON b.playbook_id = k.playbook_id AND b.number = k.created_in
LEFT JOIN (SELECT point_id, count(*) AS sessions FROM citations WHERE playbook_id = :playbook_id GROUP BY point_id) AS c
    ON c.point_id = k.id
WHERE k.playbook_id = :playbook_id AND k.retired_in IS NULL
"""

RETIRED_POINTS = f"""
SELECT k.id, {_POINT}, k.retired_in, k.retired_reason, k.forgotten FROM key_points AS k
WHERE k.playbook_id = :playbook_id AND k.retired_in IS NOT NULL
ORDER BY k.retired_in DESC, k.position
"""

ALL_TEXTS = "SELECT k.id, k.text FROM key_points AS k WHERE k.playbook_id = :playbook_id"

POINT = f"""
SELECT k.id, {_POINT}, k.retired_in, k.retired_reason, k.forgotten FROM key_points AS k
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

# The live points that have a term, by the numbers that `search.sql` gives them: those of one playbook are one stretch.
# What the index has of points that wait for it isn't what they say now.
MATCHING = """
SELECT rowid - :before FROM point_search
WHERE point_search MATCH :term AND rowid BETWEEN :before + 1 AND :before + :highest
    AND rowid NOT IN (SELECT id FROM point_search_waiting)
LIMIT :most
"""
_OF_PLAYBOOK = 1 << 32  # such numbers
POINTS = f"""
SELECT k.id, {_POINT} FROM key_points AS k WHERE k.playbook_id = :playbook_id AND k.retired_in IS NULL AND k.id IN
"""
FITTING = POINTS.replace("AND k.id", "AND k.resting = 0 AND k.id")  # those that may be shown unasked

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
# Those that took in a file which they don't equal, whose `last_updated` then ends their message.
TOOK_IN = """
SELECT number, message FROM revisions WHERE playbook_id = :playbook_id AND source = 'sync' AND message LIKE '% of %'
"""

MIRROR_FILE = """
SELECT m.size_bytes, m.mtime_ns, coalesce(m.revision, 0) FROM mirrors AS m
WHERE m.playbook_id = :playbook_id AND m.path = :path
"""

# Whether the worker has something to do for this project now.
DUE_JOB = """
SELECT EXISTS (SELECT 1 FROM jobs AS j WHERE j.playbook_id = :playbook_id AND j.state = 'queued'
               AND (j.not_before IS NULL OR j.not_before <= :now))
"""

# The live points that learning added after a revision and a time, the newest first.
LEARNED_POINTS = """
SELECT k.name, k.text FROM revisions AS r
CROSS JOIN changes AS c ON c.playbook_id = r.playbook_id AND c.revision = r.number AND c.kind = 'add'
CROSS JOIN key_points AS k ON k.playbook_id = c.playbook_id AND k.id = c.point_id AND k.retired_in IS NULL
WHERE r.playbook_id = :playbook_id AND r.number > :since AND r.source = 'learn' AND r.time > :after
ORDER BY r.number DESC, c.seq DESC
"""

# How many proposals wait for a person, and the highest of their numbers.
PROPOSALS_WAITING = """
SELECT count(*), coalesce(max(p.id), 0) FROM proposals AS p
WHERE p.playbook_id = :playbook_id AND p.state = 'waiting'
"""

PROPOSALS_WAITING_FOR = """
SELECT count(*), coalesce(max(p.id), 0) FROM proposals AS p
WHERE p.playbook_id = (SELECT b.id FROM playbooks AS b WHERE b.key = :key) AND p.state = 'waiting'
"""

JOINED_AT = "SELECT t.joined_at FROM memberships AS t WHERE t.playbook_id = :playbook_id"

WAITS = "waits: "  # begins the error of a job that waits through no fault of its own, until a worker begins
# Why jobs wait until some time, and then why others failed and when, newest first.
JOB_ERRORS = """
SELECT j.error, j.finished_at FROM jobs AS j
WHERE j.playbook_id = :playbook_id AND j.error IS NOT NULL
    AND (j.state = 'failed' OR (j.state = 'queued' AND j.not_before IS NOT NULL))
ORDER BY j.state DESC, j.id DESC LIMIT 20
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

ADD_PROJECT = """
INSERT INTO playbooks (key, kind, created_at) VALUES (:key, :kind, :now) ON CONFLICT (key) DO NOTHING
"""
ADD_HEAD = "INSERT INTO heads (playbook_id) VALUES (:playbook_id) ON CONFLICT (playbook_id) DO NOTHING"

ADD_INJECTION = """
INSERT INTO injections (playbook_id, session_id, seq, source, revision, points, left_out, time, event)
SELECT :playbook_id, :session_id, coalesce(max(i.seq), 0) + 1, :source, :revision, :points, :left_out, :now, :event
FROM injections AS i WHERE i.playbook_id = :playbook_id AND i.session_id = :session_id
"""

# Of a team's playbook, whose database only the worker asks.
ADD_UNSENT_INJECTION = """
INSERT INTO unsent_injections (playbook_id, session_id, time, source, revision, points, left_out, event)
VALUES (:playbook_id, :session_id, :now, :source, :revision, :points, :left_out, :event)
"""

# What a session was shown, and by what; of a team's playbook, as long as that is known here.
SHOWN_TO = """
SELECT i.time, i.event, i.source, i.points FROM injections AS i
WHERE i.playbook_id = :playbook_id AND i.session_id = :session_id
"""
SHOWN_BY_TEAM = """
SELECT i.time, i.event, i.source, i.points FROM unsent_injections AS i
WHERE i.playbook_id = :playbook_id AND i.session_id = :session_id
"""

# A transcript that waits already is not queued twice.
ADD_JOB = """
INSERT INTO jobs (playbook_id, id, kind, session_id, transcript_path, parent_path, agent_id, reason, created_at)
SELECT :playbook_id, coalesce(max(j.id), 0) + 1, 'learn', :session_id, :transcript_path, :parent_path, :agent_id,
       :reason, :now
FROM jobs AS j WHERE j.playbook_id = :playbook_id
ON CONFLICT (playbook_id, kind, transcript_path) WHERE state = 'queued' DO NOTHING
"""


# The database as a hook opens it: without SQLAlchemy, with next to no imports, never waiting long, never migrating.
#
# It runs on any Python from 3.8 on. Errors are the driver's own, `Error` here; the hook decides what becomes of them.


OLDEST_SQLITE = (3, 37, 0)  # the first with STRICT tables
# A backup's name, after that of its database.
BACKUP_NAME = r"-(?P<time>\d{8}T\d{6}Z)(-(?P<number>\d+))?(\.(?P<kind>daily|before-restore|schema-\d+))?\.db"


class StoredPoint:
    """A live key point, as `domain.prompt_text` wants it."""

    __slots__ = ("confirmed_at", "harmful", "helpful", "id", "name", "pinned", "position", "section", "text")

    id: int
    name: str
    text: str
    helpful: int
    harmful: int
    position: int
    pinned: int
    confirmed_at: "str | None"

    def __init__(self, row: "Sequence[Any]") -> None:
        self.id, self.name, self.text, slug, self.helpful, self.harmful, self.position, *marks = row
        self.pinned, self.confirmed_at = marks
        self.section = SLUG_SECTIONS[slug]


class StoredMarks:
    """What is known of a live point beside what a point is: whether it is pinned and whether it rests, when it was last
    confirmed, the revision in which it came and its time, how many sessions cited it."""

    __slots__ = ("cited_in", "confirmed_at", "created_at", "created_in", "name", "pinned", "resting")

    name: str
    confirmed_at: "str | None"
    created_in: int
    created_at: str
    cited_in: int

    def __init__(self, row: "Sequence[Any]") -> None:
        self.name, pinned, resting, self.confirmed_at, self.created_in, self.created_at, self.cited_in = row
        self.pinned, self.resting = bool(pinned), bool(resting)


class Retirement:
    """When and why a point was retired: the revision's number, and the reason."""

    __slots__ = ("reason", "revision")

    def __init__(self, revision: int, reason: "str | None") -> None:
        self.revision, self.reason = revision, reason


class PointEvidence:
    """What a session showed for or against a point in a revision: for a change or a vote, of that `kind`; whether the
    session `ignored` the point; the evidence as JSON, None where that is all."""

    __slots__ = ("evidence", "ignored", "kind", "revision")

    def __init__(self, row: "Sequence[Any]") -> None:
        self.revision, self.kind, ignored, self.evidence = row
        self.ignored = bool(ignored)


class PointLifespan:
    """When a point came, when it last changed (the revisions and their times) and when it was last confirmed; its
    `origin`, as "promoted from pat-001 of /home/ann/shop", where one is noted; whether it is pinned, and whether it
    rests."""

    __slots__ = ("changed_at", "changed_in", "confirmed_at", "created_at", "created_in", "origin", "pinned", "resting")

    created_in: int
    created_at: str
    changed_in: int
    changed_at: str
    confirmed_at: "str | None"
    origin: "str | None"

    def __init__(self, row: "Sequence[Any]") -> None:
        self.created_in, self.created_at, self.changed_in, self.changed_at, self.confirmed_at, self.origin, *marks = row
        self.pinned, self.resting = map(bool, marks)


class StoredProject:
    """Where a project's playbook stands: its number, whether it is kept out, its mirror's state, how many points are
    live, the number of its last revision, and its name in the team's database where it has joined one."""

    __slots__ = ("id", "is_ignored", "live_points", "mirror", "revision", "team_name")

    id: int
    mirror: str
    live_points: int
    revision: int
    team_name: "str | None"

    def __init__(self, row: "Sequence[Any]") -> None:
        self.id, ignored, self.mirror, self.live_points, self.revision, self.team_name = row
        self.is_ignored = bool(ignored)


NOT_MADE = (0, 0, "undecided", 0, 0, None)  # the row of a playbook that isn't there yet; nothing has its number


class UnusableError(Exception):
    """The database can't be used by this code, though nothing may be wrong with it; the text says why and what to do.

    `is_old` is true where it waits for a migration.
    """

    def __init__(self, text: str, *, is_old: bool = False) -> None:
        self.is_old = is_old
        super().__init__(text)


def connect(path: str, *, wait_s: float) -> "Connection":
    """Open the database file at *path*, which is there, and make sure that it is at our schema; reads only, until
    `allow_writes`.

    Where nobody can write, as on a full disk, SQLite can't make its own files; it is then read as it stands, if all of
    it is in that one file. Raises UnusableError or the driver's Error. The connection is meant to be dropped with the
    process: closing the last one would work the write-ahead log into the file, which costs more than all the rest.
    """
    try:
        return _open_file(path, "mode=rw", wait_s)
    except driver().Error as error:
        if "locked" in str(error) or not is_at_rest(path):
            raise
        return _open_file(path, "mode=ro&immutable=1", wait_s)


def is_at_rest(path: str) -> bool:
    """Whether all of the database is in the file *path*: it has no log, and no transaction was cut off in it."""
    beside = [path + suffix for suffix in ("-wal", "-journal")]
    return not any(os.path.exists(each) and os.path.getsize(each) for each in beside)


def no_regular_file(path: str) -> "str | None":
    """What of the database file *path* and those that SQLite keeps beside it is no file: a named pipe is waited for."""
    files = (path, f"{path}-journal", f"{path}-wal", f"{path}-shm")
    return next((file for file in files if os.path.exists(file) and not os.path.isfile(file)), None)


def _open_file(path: str, options: str, wait_s: float) -> "Connection":
    sqlite = driver()
    if tuple(map(int, sqlite.sqlite_version.split("."))) < OLDEST_SQLITE:
        raise UnusableError(
            f"{sys.executable} brings SQLite {sqlite.sqlite_version}; playbook-db needs 3.37 or later. "
            "Install a newer Python, then run: playbook install"
        )
    if odd := no_regular_file(path):
        raise UnusableError(f"{odd} is no regular file. Move it away, or set PLAYBOOK_DB_URL to another file")
    if not os.stat(path).st_size:  # SQLite would remove its log
        raise UnusableError(loss_of(path) or f"{path} is empty. Run: playbook init")
    quoted = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    connection: Connection = sqlite.connect(f"file:{quoted}?{options}", timeout=wait_s, isolation_level=None, uri=True)
    try:
        _require_schema(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def loss_of(path: str) -> str:
    """What to do about the database file *path* where it is gone or empty, and its log or a backup is left of it; else
    `""`: it is there, or yet to be made."""
    if os.path.exists(path) and (os.path.getsize(path) or not os.path.isfile(path)):
        return ""
    path = os.path.realpath(path) if os.path.islink(path) else path  # SQLite and we keep all beside the real file
    log = f"{path}-wal"
    has_log = os.path.exists(log) and os.path.getsize(log) > 0
    backup = None if has_log else newest_backup(path)
    if not has_log and not backup:
        return ""
    from playbook_db import errors  # late: a first session's start doesn't come here

    if backup:
        return str(errors.DatabaseLostError(path, backup))
    return str(errors.DamagedError(path, "it is missing or empty, and its log is not"))


def newest_backup(path: str) -> "str | None":
    """The newest backup of the database file *path*, by the time in its name; None where there is none."""
    folder, stem = backups_of(path)
    try:
        names = [name for name in os.listdir(folder) if name.startswith(f"{stem}-")]
    except OSError:
        return None
    if not names:
        return None
    import re  # late, as above

    found = [re.fullmatch(re.escape(stem) + BACKUP_NAME, name) for name in names]
    newest = max(((m["time"], int(m["number"] or 1), m.string) for m in found if m), default=None)
    return os.path.join(folder, newest[2]) if newest else None


def backups_of(path: str) -> "tuple[str, str]":
    """The folder in which the backups of the database file *path* lie, and how their names begin."""
    name = os.path.basename(path)
    stem = name[: -len(".db")] if name.endswith(".db") else name
    return os.path.join(os.path.dirname(os.path.abspath(path)), "backups"), stem


def replica_of(path: str, playbook_id: int) -> str:
    """The file in which the worker keeps a team's playbook for who may not wait for a network: that of the project
    whose own playbook has the number *playbook_id* in the database file *path*."""
    backups, stem = backups_of(os.path.realpath(path) if os.path.islink(path) else path)
    return os.path.join(os.path.dirname(backups), "teams", f"{stem}-{playbook_id}.db")


def open_replica(path: str) -> "Connection":
    """Open the replica in the file *path*, to read. It is never written to: a newer one takes its place.

    Raises UnusableError or the driver's Error.
    """
    try:
        return _open_file(path, "mode=ro&immutable=1", 0.0)
    except UnusableError:
        is_file = os.path.isfile(path)
        what = "is no replica of this version" if is_file else "is no regular file; move it away"
        raise UnusableError(f"{path} {what}. The worker writes it anew: playbook work", is_old=is_file) from None


def _require_schema(connection: "Connection", path: str) -> None:
    """Forbid writes, and raise UnusableError unless the database in *path* is ours and at our schema."""
    connection.execute("PRAGMA query_only = ON")
    connection.execute("PRAGMA trusted_schema = OFF")  # the file may be anybody's
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version == 0 and connection.execute("SELECT count(*) FROM sqlite_master").fetchone() != (0,):
        raise UnusableError(f"{path} is the database of another program. Set PLAYBOOK_DB_URL to another file")
    if version != SCHEMA:
        remedy = "Run: playbook db upgrade"
        if version > SCHEMA:
            remedy = "If a newer version wrote it, bring playbook-db up to date. Else see: playbook db check"
        message = f"{path} is at schema {version:04d}, this playbook-db needs {SCHEMA:04d}. {remedy}"
        raise UnusableError(message, is_old=version < SCHEMA)


def find_project(connection: "Connection", key: str) -> "StoredProject | None":
    """Where the playbook of the project *key* stands, None where there is none."""
    row = connection.execute(PROJECT, {"key": key}).fetchone()
    return StoredProject(row) if row else None


def find_in_replica(connection: "Connection", name: str) -> "StoredProject | None":
    """Where the team's playbook *name* stands in its replica, all of which is read; None where it isn't in it, or some
    of the file is damaged."""
    project = find_project(connection, name)
    is_sound = project is not None and connection.execute("PRAGMA quick_check(1)").fetchone() == ("ok",)
    return project if is_sound else None


def candidates(
    execute: "Callable[[str, dict[str, Any]], Any]", project: StoredProject
) -> "tuple[Iterator[StoredPoint], int, str]":
    """What `domain.prompt_text` chooses from: the live points that don't rest, those pinned first, then the best, read
    as they are asked for; how many are live; the time of the last revision."""
    ranked = map(StoredPoint, execute(RANKED_POINTS, {"playbook_id": project.id}))
    return ranked, project.live_points, last_time(execute, project.id)


def last_time(execute: "Callable[[str, dict[str, Any]], Any]", playbook_id: int) -> str:
    """The time of the playbook's last revision; `""` where it has none."""
    row = execute(LAST_TIME, {"playbook_id": playbook_id}).fetchone()
    return row[0] if row else ""


def live_points(connection: "Connection", playbook_id: int) -> "list[StoredPoint]":
    """The live points in canonical order."""
    return list(map(StoredPoint, connection.execute(LIVE_POINTS, {"playbook_id": playbook_id})))


def matching(execute: "Callable[..., Any]", playbook_id: int, term: "Term", most: int) -> "list[int]":
    """The numbers of the live points that have *term*, by the index for full text, at most *most*."""
    values = {"before": playbook_id * _OF_PLAYBOOK, "highest": _OF_PLAYBOOK - 1, "term": term.quoted(), "most": most}
    return [row[0] for row in execute(MATCHING, values)]


def search(
    execute: "Callable[..., Any]",
    playbook_id: int,
    live: int,
    question: str,
    *,
    matching: "Matching" = matching,
) -> "list[tuple[StoredPoint, float]]":
    """The live points that answer *question* best, each with how well, the best first; *live* is how many there are.

    *execute* runs a statement, *matching* asks the index. The driver's errors come where there is no index, or it is
    damaged.
    """
    from playbook_db.domain import search_words

    return _ranked(execute, playbook_id, live, search_words.terms(question), POINTS, matching)


def fitting(
    execute: "Callable[..., Any]", playbook_id: int, live: int, question: str, *, strongly: bool = False
) -> "list[tuple[StoredPoint, float]]":
    """The live points that fit *question* well enough to be shown unasked, each with how well, the best first, without
    those that rest; of those that fit *strongly*, as an error wants it. The driver's errors come as in `search`."""
    from playbook_db.domain import search_words

    terms = search_words.terms(question)
    least = search_words.least_fitting(terms, strongly=strongly)
    return _ranked(execute, playbook_id, live, terms, FITTING, matching, least)


def _ranked(
    execute: "Callable[..., Any]",
    playbook_id: int,
    live: int,
    terms: "Sequence[Term]",
    query: str,
    matching: "Matching",
    least: float = 0.0,
) -> "list[tuple[StoredPoint, float]]":
    """The points that have *terms*, read by *query*, each with how well it answers, at least *least*: the best first,
    of two alike the shorter."""
    from playbook_db.domain import search_words

    most = search_words.most_matching(live)
    found = [(term, matching(execute, playbook_id, term, most + 1)) for term in terms]
    telling = [each for each in found if len(each[1]) <= most] or found
    scores = dict(each for each in search_words.ranked(telling, live) if each[1] >= least)
    if not scores:
        return []
    points = map(StoredPoint, execute(query + _listed(list(scores)), {"playbook_id": playbook_id}))
    ordered = sorted(points, key=lambda point: (-scores[point.id], len(point.text), point.id))
    return [(point, scores[point.id]) for point in ordered]


def _listed(ids: "Sequence[int]") -> str:
    return f"({','.join(map(str, ids))})"


def marks(connection: "Connection", playbook_id: int) -> "dict[str, StoredMarks]":
    """What is known of each live point beside what a point is, by name."""
    rows = connection.execute(MARKS, {"playbook_id": playbook_id})
    return {row[0]: StoredMarks(row) for row in rows}


def retired_points(connection: "Connection", playbook_id: int) -> "list[tuple[StoredPoint, Retirement]]":
    """The points that were retired, the last one first."""
    rows = connection.execute(RETIRED_POINTS, {"playbook_id": playbook_id})
    return [(StoredPoint(row[:9]), Retirement(*row[9:11])) for row in rows]


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
    lifespan = PointLifespan(connection.execute(LIFESPAN, of_point).fetchone())
    extra = connection.execute(EXTRA, of_point).fetchone()
    retirement = None if row[9] is None else Retirement(*row[9:11])
    evidence = tuple(map(PointEvidence, connection.execute(EVIDENCE, of_point)))
    return StoredPoint(row[:9]), retirement, lifespan, extra[0] if extra else "{}", evidence


def known_times(connection: "Connection", playbook_id: int, times: "Collection[str]") -> "dict[str, tuple[int, bool]]":
    """What is known of files by their *times*, each the `last_updated` of one: the last revision that it names, and
    true; else the first into which it came, and false. Of a time that says nothing, nothing."""
    of = {"playbook_id": playbook_id}
    named = [(time, row[0]) for time in times for row in connection.execute(NAMED_BY_TIME, {**of, "time": time})]
    headers, messages = ((connection.execute(query, of) if times else ()) for query in (NAMED_BY_HEADER, TOOK_IN))
    return known_of(times, named, headers, messages)


def known_of(
    times: "Collection[str]",
    named: "Iterable[tuple[str, int]]",
    headers: "Iterable[tuple[int, str]]",
    messages: "Iterable[tuple[int, str]]",
) -> "dict[str, tuple[int, bool]]":
    """The same, of what the three queries found: *named* are the times and revisions of the first."""
    import json  # late: hooks don't come here

    came = sorted(((number, message.rpartition(" of ")[2]) for number, message in messages), reverse=True)
    known = {time: (number, False) for number, time in came if time in times}
    by_header = ((json.loads(header).get("last_updated"), number) for number, header in headers)
    whole = sorted((*named, *(each for each in by_header if each[0] in times)), key=lambda each: each[1])
    return known | {time: (number, True) for time, number in whole}


def mirror_file(connection: "Connection", playbook_id: int, path: str) -> "tuple[int | None, int | None, int] | None":
    """The mirror at *path* when it was last in step: its size in bytes, its modification time in nanoseconds and the
    revision that it held (0 where that was none of ours). None where it never was."""
    row: tuple[int | None, int | None, int] | None = connection.execute(
        MIRROR_FILE, {"playbook_id": playbook_id, "path": path}
    ).fetchone()
    return row


def has_due_job(connection: "Connection", playbook_id: int, *, now: str) -> bool:
    """Whether a job of the project waits and may be begun."""
    (found,) = connection.execute(DUE_JOB, {"playbook_id": playbook_id, "now": now}).fetchone()
    return bool(found)


def learned_points(
    connection: "Connection", playbook_id: int, *, since: int, after: str = ""
) -> "list[tuple[str, str]]":
    """The names and texts of the live points that learning added after the revision *since* and the time *after*, the
    newest first."""
    of = {"playbook_id": playbook_id, "since": since, "after": after}
    return connection.execute(LEARNED_POINTS, of).fetchall()


def proposals_waiting(connection: "Connection", playbook_id: int) -> "tuple[int, int]":
    """How many proposals wait for a person, and the highest of their numbers, 0 where none does."""
    count, highest = connection.execute(PROPOSALS_WAITING, {"playbook_id": playbook_id}).fetchone()
    return count, highest


def proposals_waiting_for(connection: "Connection", key: str) -> "tuple[int, int]":
    """The same for the playbook *key*, be it there or not."""
    count, highest = connection.execute(PROPOSALS_WAITING_FOR, {"key": key}).fetchone()
    return count, highest


def joined_at(connection: "Connection", playbook_id: int) -> str:
    """When the project joined a team; `""` where it hasn't."""
    row = connection.execute(JOINED_AT, {"playbook_id": playbook_id}).fetchone()
    return row[0] if row else ""


def job_errors(connection: "Connection", playbook_id: int) -> "list[tuple[str, str | None]]":
    """Why jobs wait until some time, and why others failed, with the time of that."""
    return connection.execute(JOB_ERRORS, {"playbook_id": playbook_id}).fetchall()


def allow_writes(connection: "Connection") -> None:
    """Let what follows on *connection* write."""
    connection.execute("PRAGMA query_only = OFF")
    connection.execute("PRAGMA wal_autocheckpoint = 0")  # one checkpointer at a time: the worker
    connection.execute("PRAGMA synchronous = NORMAL")


def add_injection(
    connection: "Connection",
    project: StoredProject,
    points: "Sequence[StoredPoint]",
    *,
    session_id: str,
    source: str,
    now: str,
    event: str,
    unsent_of: "int | None" = None,
) -> None:
    """Keep which points a session was shown by which *event*; of a team's playbook, for the project's own that has the
    number *unsent_of*."""
    connection.execute(
        ADD_INJECTION if unsent_of is None else ADD_UNSENT_INJECTION,
        {
            "playbook_id": project.id if unsent_of is None else unsent_of,
            "session_id": session_id,
            "source": source,
            "revision": project.revision,
            "points": "[" + ",".join([str(point.id) for point in points]) + "]",
            "left_out": project.live_points - len(points),
            "now": now,
            "event": event,
        },
    )


def shown_to(
    execute: "Callable[[str, dict[str, Any]], Any]", playbook_id: int, session_id: str, *, by_team: bool
) -> "list[tuple[str, str, str, str]]":
    """What the session was shown of the playbook, or *by_team* of the playbook of its team: when, by which event, what
    began it, and the numbers of the points as a JSON list."""
    rows: list[tuple[str, str, str, str]] = execute(
        SHOWN_BY_TEAM if by_team else SHOWN_TO, {"playbook_id": playbook_id, "session_id": session_id}
    ).fetchall()
    return rows


def add_job(connection: "Connection", key: str, job: "dict[str, str | None]", *, now: str) -> bool:
    """Queue *job* for the project *key*, which is made where need be; False where the project is kept out.

    *job* has `session_id`, `transcript_path`, `parent_path`, `agent_id` and `reason`. A transcript that waits already
    isn't queued twice. All of it is on the disk afterwards, or nothing.
    """
    # A session's last act: it must outlive even a power cut, so this one commit waits for the disk.
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("BEGIN IMMEDIATE")
    connection.execute(ADD_PROJECT, {"key": key, "kind": "project", "now": now})
    project = find_project(connection, key)
    if project is None or project.is_ignored:
        connection.execute("ROLLBACK")
        return False
    connection.execute(ADD_JOB, {**job, "playbook_id": project.id, "now": now})
    connection.execute("COMMIT")
    return True


def driver() -> "Any":
    """The driver's C module: `import sqlite3` would cost four times as much."""
    if "functools" in sys.modules:
        import _sqlite3

        return _sqlite3
    try:
        return _driver_alone()
    except Exception:  # another Python's driver may want more of functools
        sys.modules.pop("_sqlite3", None)
        import sqlite3

        return sqlite3


def _driver_alone() -> "Any":
    """The driver, without the half of the standard library that `functools` brings: it wants `lru_cache` alone."""
    from _functools import _lru_cache_wrapper  # type: ignore[import-not-found]

    class OnlyLruCache:
        @staticmethod
        def lru_cache(maxsize: int = 128) -> "Any":
            return lambda function: _lru_cache_wrapper(function, maxsize, False, tuple)

    sys.modules["functools"] = OnlyLruCache  # type: ignore[assignment]
    try:
        import _sqlite3
    finally:
        del sys.modules["functools"]
    return _sqlite3
