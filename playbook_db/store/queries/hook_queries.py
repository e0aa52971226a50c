"""The SQL of the hooks, with `:name` parameters, and the functions that run it.

This module imports almost nothing. The services use the same statements.
"""

import os
import time as clock

from playbook_db import projects
from playbook_db.domain.sections import SLUG_SECTIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from typing import Any, Protocol

    from playbook_db.domain.prompt_text import RankedPoints
    from playbook_db.domain.search_words import Term
    from playbook_db.store.sqlite_open import Connection

    Execute = Callable[[str, Mapping[str, Any]], Any]  # runs a statement with its parameters; returns its rows

    class Reader(Protocol):
        """A playbook to read: a `Book` in a file, or a `PlaybookRepository`. `execute` runs SQL in its database."""

        @property
        def execute(self) -> Execute: ...
        @property
        def project(self) -> "StoredProject": ...
        @property
        def playbook_id(self) -> int: ...
        @property
        def is_users(self) -> bool: ...

    class SearchReader(Reader, Protocol):
        """A playbook to search."""

        def search(self, question: str) -> "Searched": ...

    # Returns the numbers of the points with a term, perhaps as text.
    Matching = Callable[[Reader, Term, int], Collection[int | str]]

POINT_COLUMNS = "k.id, k.name, k.text, k.section, k.helpful, k.harmful, k.position, k.pinned, k.confirmed_at"

# Whether the playbook or one of a folder above it is ignored.
IS_IGNORED = """
EXISTS (SELECT 1 FROM playbooks AS a WHERE a.ignored = 1 AND substr(p.key || '/', 1, length(a.key) + 1) = a.key || '/')
"""
PROJECT = f"""
SELECT p.id, p.key, CASE WHEN {IS_IGNORED} THEN 1 ELSE 0 END, p.mirror, coalesce(h.live_points, 0),
       coalesce(r.number, 0), coalesce(r.time, ''),
       (SELECT t.name FROM memberships AS t WHERE t.playbook_id = p.id)
FROM playbooks AS p LEFT JOIN heads AS h ON h.playbook_id = p.id
LEFT JOIN revisions AS r ON r.playbook_id = p.id
    AND r.number = (SELECT max(l.number) FROM revisions AS l WHERE l.playbook_id = p.id)
WHERE p.key = :key
"""

ORIGIN = "SELECT origin FROM playbooks WHERE key = :key"
OF_REPOSITORY = "SELECT key FROM playbooks WHERE origin = :origin OR root_commit = :root_commit ORDER BY id DESC"
KNOWN = "SELECT key, initialized FROM playbooks WHERE key IN"

BY_RANK = "k.pinned DESC, k.rank DESC, k.id"  # the order in which a session gets points; an index has it
RANKED_POINTS = f"""
SELECT {POINT_COLUMNS} FROM key_points AS k
WHERE k.playbook_id = :playbook_id AND k.retired_in IS NULL AND k.resting = 0
ORDER BY {BY_RANK}
"""

# The live points with a term, in one row: this is twice as fast as a row for each. `search.sql` numbers each playbook's
# points consecutively. For points in `point_search_waiting` the index has old texts.
MATCHING = """
SELECT group_concat(number) FROM (
    SELECT rowid - :before AS number FROM point_search
    WHERE point_search MATCH :term AND rowid BETWEEN :before + 1 AND :before + :highest
        AND rowid NOT IN (SELECT id FROM point_search_waiting)
    LIMIT :most)
"""
_OF_PLAYBOOK = 1 << 32  # numbers
_MOST_FREQUENT = 20_000  # points that a search reads for one frequent word
NAMES_FILE = 100.0  # the score of a point that names a file; code names together give less
POINTS = f"""
SELECT {POINT_COLUMNS} FROM key_points AS k WHERE k.playbook_id = :playbook_id AND k.retired_in IS NULL AND k.id IN
"""
FITTING = POINTS.replace("AND k.id", "AND k.resting = 0 AND k.id")  # for texts that nobody asked for

RESTING = "SELECT id FROM key_points WHERE playbook_id = :playbook_id AND retired_in IS NULL AND resting = 1"

TEXTS = "SELECT id, text FROM key_points WHERE playbook_id = :playbook_id AND id IN"

NAMED = "SELECT text FROM key_points WHERE playbook_id = :playbook_id AND name = :name AND retired_in IS NULL"

MIRROR_FILE = """
SELECT m.size_bytes, m.mtime_ns, coalesce(m.revision, 0) FROM mirrors AS m
WHERE m.playbook_id = :playbook_id AND m.path = :path
"""

# Whether a job of this project is due.
DUE_JOB = """
SELECT EXISTS (SELECT 1 FROM jobs AS j WHERE j.playbook_id = :playbook_id AND j.state = 'queued'
               AND (j.not_before IS NULL OR j.not_before <= :now))
"""

MOST_NEW = 1000  # points that `learned_points` reads
# All points, newest first, each with a flag: whether learning added it.
NEWEST_POINTS = """
SELECT k.created_in, coalesce(r.session_id, ''), k.text, k.retired_in IS NULL AND r.source = 'learn'
FROM key_points AS k
CROSS JOIN revisions AS r ON r.playbook_id = k.playbook_id AND r.number = k.created_in
WHERE k.playbook_id = :playbook_id ORDER BY k.id DESC
"""

PROPOSALS_WAITING = """
SELECT count(*), coalesce(max(p.id), 0) FROM proposals AS p
WHERE p.playbook_id = :playbook_id AND p.state = 'waiting'
"""

WAITS = "waits: "  # begins the error of a job that isn't to blame for it; such a job waits until a worker starts
# The errors of waiting jobs, then those of failed jobs with their times, newest first.
JOB_ERRORS = """
SELECT j.error, j.finished_at FROM jobs AS j
WHERE j.playbook_id = :playbook_id AND j.error IS NOT NULL
    AND (j.state = 'failed' OR (j.state = 'queued' AND j.not_before IS NOT NULL))
ORDER BY j.state DESC, j.id DESC LIMIT 20
"""

ADD_PROJECT = """
INSERT INTO playbooks (key, kind, created_at) VALUES (:key, :kind, :now) ON CONFLICT (key) DO NOTHING
"""
ADD_HEAD = "INSERT INTO heads (playbook_id) VALUES (:playbook_id) ON CONFLICT (playbook_id) DO NOTHING"

ADD_SHOWING = """
INSERT INTO showings (playbook_id, session_id, seq, source, revision, points, left_out, time, event)
SELECT :playbook_id, :session_id, coalesce(max(i.seq), 0) + 1, :source, :revision, :points, :left_out, :now, :event
FROM showings AS i WHERE i.playbook_id = :playbook_id AND i.session_id = :session_id
"""

# For a team's playbook: only the worker connects to its database.
ADD_UNSENT_SHOWING = """
INSERT INTO unsent_showings (playbook_id, session_id, time, source, revision, points, left_out, event)
VALUES (:playbook_id, :session_id, :now, :source, :revision, :points, :left_out, :event)
"""

SHOWN_TO = """
SELECT i.time, i.event, i.source, i.points FROM showings AS i
WHERE i.playbook_id = :playbook_id AND i.session_id = :session_id
"""
SHOWN_BY_TEAM = SHOWN_TO.replace("showings", "unsent_showings")

ADD_JOB = """
INSERT INTO jobs (playbook_id, id, kind, session_id, transcript_path, parent_path, agent_id, reason, folder, created_at)
SELECT :playbook_id, coalesce(max(j.id), 0) + 1, 'learn', :session_id, :transcript_path, :parent_path, :agent_id,
       :reason, :folder, :now
FROM jobs AS j WHERE j.playbook_id = :playbook_id
ON CONFLICT (playbook_id, kind, transcript_path) WHERE state = 'queued' DO NOTHING
"""


class StoredPoint:
    """A live key point, as `domain.prompt_text` expects it."""

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


class StoredProject:
    """The state of a project's playbook. `revision` is the number of its last revision, and `time` its time, or `""`.
    `mirror` is its mirror's state. If the project has joined a team, `team_name` is its name in the team's database."""

    __slots__ = ("id", "is_ignored", "key", "live_points", "mirror", "revision", "team_name", "time")

    id: int
    key: str
    mirror: str
    live_points: int
    revision: int
    time: str
    team_name: "str | None"

    def __init__(self, row: "Sequence[Any]") -> None:
        self.id, self.key, ignored, self.mirror, self.live_points, *last, self.team_name = row
        self.revision, self.time = last
        self.is_ignored = bool(ignored)


class Searched:
    """The points that match a search, with their scores, best first. `is_damaged` means that the index was unusable, so
    parts of words were searched."""

    __slots__ = ("is_damaged", "points")

    def __init__(self, points: "Sequence[tuple[StoredPoint, float]]", is_damaged: bool = False) -> None:
        self.points, self.is_damaged = points, is_damaged


class Book:
    """A playbook to read without SQLAlchemy. *connection* is the one to its SQLite file, or another reader of the same
    database."""

    __slots__ = ("connection", "execute", "playbook_id", "project")

    def __init__(self, connection: "Any", project: StoredProject) -> None:
        self.connection, self.project = connection, project
        self.execute, self.playbook_id = connection.execute, project.id

    @property
    def is_users(self) -> bool:
        """Whether this is the user's own playbook."""
        return projects.is_users(self.project.key)

    def search(self, question: str) -> "Searched":
        """Return the live points that match *question*, best first. Raises the driver's Error if the full-text index
        is missing or damaged."""
        return Searched(search(self, question))


def rows(book: "Reader", statement: str, **values: "Any") -> "Any":
    """Run *statement* on *book*, and return the rows. `:playbook_id` is bound to the number of *book*."""
    return book.execute(statement, {"playbook_id": book.playbook_id, **values})


def place_of(execute: "Execute", folder: str) -> "tuple[str, str]":
    """Return the folder of the project to which *folder* belongs, as `projects.project_of` explains, and its key."""

    def known(keys: "list[str]") -> "dict[str, int]":
        named = {f"key{number}": key for number, key in enumerate(keys)}
        return {row[0]: row[1] for row in execute(f"{KNOWN} (:{', :'.join(named)})", named)}

    place = projects.project_of(folder, known)
    return place, key_of(execute, place)


def key_of(execute: "Execute", place: str) -> str:
    """Return the key of the project in the folder *place*. If the playbook there is of another repository, with another
    origin, the project has a key of its own."""
    key, origin = projects.project_key(place), projects.origin(place)
    known = [row[0] for row in execute(ORIGIN, {"key": key})] if origin else []
    return f"{key}{projects.OTHER}{origin}" if known and known[0] not in (None, origin) else key


def moved_from(execute: "Execute", place: str, root_commit: str = "") -> str:
    """Return the key of a playbook of the repository in *place*, whose own folder is gone, or `""`."""
    known = {"origin": projects.origin(place), "root_commit": root_commit}
    keys = [row[0] for row in execute(OF_REPOSITORY, known)] if any(known.values()) else []
    return next((key for key in keys if not projects.has_folder(key)), "")


def is_ignored(execute: "Execute", key: str) -> bool:
    """Return whether the project *key* is ignored, even if it has no playbook yet."""
    return bool([*execute(f"SELECT 1 FROM (SELECT CAST(:key AS TEXT) AS key) AS p WHERE {IS_IGNORED}", {"key": key})])


def find_project(execute: "Execute", key: str) -> "StoredProject | None":
    """Return the state of the playbook of the project *key*, or None if the project has no playbook."""
    row = execute(PROJECT, {"key": key}).fetchone()
    return StoredProject(row) if row else None


def rule_names(place: str) -> "list[str]":
    """Return the names of the files in the folder *place* that may be rules of `playbook export --rules`."""
    try:
        return [name for name in os.listdir(place) if name.startswith("playbook-") and name.endswith(".md")]
    except OSError:
        return []  # mostly there are none


def rules_in(folder: "str | None") -> str:
    """Return the text of our rules in the project's *folder*, which Claude Code loads itself."""
    place = os.path.join(folder or "", ".claude", "rules")
    try:
        texts = [projects.read_plain(os.path.join(place, name)) for name in (rule_names(place) if folder else ())]
    except OSError:
        return ""  # then the hooks show all points
    return b"\n".join(texts).decode("utf-8", "replace").replace("\r\n", "\n")


def has_rule(point: StoredPoint, rules: str) -> bool:
    """Return whether the text *rules* has *point* in its present wording."""
    from playbook_db.domain.prompt_text import rule_line  # late, as below

    return bool(rules) and f"\n{rule_line(point)}\n" in rules


def ranked_points(book: "Reader", rules: str = "") -> "RankedPoints":
    """Return the live points for a prompt, best first, without resting ones and those in the text *rules*. The points
    are read on demand."""
    from playbook_db.domain.prompt_text import RankedPoints  # late: most prompts get no points
    from playbook_db.wrong_clock import is_ahead

    ranked: Iterable[StoredPoint] = map(StoredPoint, rows(book, RANKED_POINTS))
    if rules:
        ranked = (point for point in ranked if not has_rule(point, rules))
    last = "" if is_ahead(book.project.time, clock.time()) else book.project.time  # a wrong clock makes no point old
    return RankedPoints(ranked, book.project.live_points, last, is_users=book.is_users)


def matching(book: "Reader", term: "Term", most: int) -> "list[str]":
    """Use the full-text index to find at most *most* live points with *term*. Return their numbers as text, because
    reading all of them as numbers would take longer than this search."""
    before, highest = book.playbook_id * _OF_PLAYBOOK, _OF_PLAYBOOK - 1
    ((numbers,),) = book.execute(MATCHING, {"before": before, "highest": highest, "term": term.quoted(), "most": most})
    return numbers.split(",") if numbers else []


def search(book: "Reader", question: str, *, matching: "Matching" = matching) -> "list[tuple[StoredPoint, float]]":
    """Return the live points that match *question*, each with its score, best first. An error of the driver means that
    the index is missing or damaged."""
    from playbook_db.domain import search_words

    return _ranked(book, search_words.terms(question), POINTS, matching)


def fitting(book: "Reader", terms: "Sequence[Term]", *, strongly: bool = False) -> "list[tuple[StoredPoint, float]]":
    """Return the live points that match *terms* so well that a hook may show them, each with its score, best first.
    Leave out resting points. With *strongly*, as for an error, points must match better."""
    from playbook_db.domain import search_words

    least = search_words.least_fitting(terms, strongly=strongly)
    matches = _ranked(book, terms, FITTING, matching, least)
    if strongly and len(terms) <= search_words.FEW_TERMS:
        return matches
    return [each for each in matches if each[1] >= search_words.stretched(least, each[0].text)]


def with_names(book: "Reader", names: "Iterable[str]") -> "list[tuple[StoredPoint, float]]":
    """Return the points, without resting ones, that write one of *names* as code, each with its score, best first. A
    name counts for less if more points have it."""
    from playbook_db.domain import code_names, search_words

    weights: dict[int, dict[str, float]] = {}
    for name in names:
        numbers = matching(book, search_words.phrase(name), code_names.MOST_POINTS + 1)
        for number in numbers if len(numbers) <= code_names.MOST_POINTS else ():
            weights.setdefault(int(number), {})[name] = 1 / len(numbers)
    points = []
    for point in _points(book, FITTING, weights):
        words = code_names.written(point.text)
        if score := sum([weight for name, weight in weights[point.id].items() if code_names.has(words, name)]):
            points.append((point, score))
    return sorted(points, key=lambda each: (-each[1], len(each[0].text), each[0].id))


def about_file(book: "Reader", path: str, names: "Iterable[str]") -> "list[tuple[StoredPoint, float]]":
    """Return the points that name the file *path*, and then those of `with_names`, each with its score, best first. The
    bare name of a file in a folder counts if only one point has it."""
    from playbook_db.domain import code_names, search_words

    scores = {point.id: (point, score) for point, score in with_names(book, names)}
    *above, base = path.split("/")[-2:]
    for end, most in {base: 1, "/".join([*above, base]): search_words.MOST_RANKED}.items():
        term = search_words.phrase(end)
        numbers = matching(book, term, search_words.MOST_RANKED) if term.words else []
        for point in _points(book, FITTING, numbers if len(numbers) <= most else ()):
            if code_names.has_path(point.text, end, path):
                _, score = scores.get(point.id, (point, 0.0))
                scores[point.id] = point, NAMES_FILE + score % NAMES_FILE
    return sorted(scores.values(), key=lambda each: -each[1])


def _points(book: "Reader", query: str, numbers: "Collection[int | str]") -> "Iterable[StoredPoint]":
    listed = ",".join(map(str, numbers))
    return map(StoredPoint, rows(book, f"{query} ({listed})")) if listed else ()


def _ranked(
    book: "Reader", terms: "Sequence[Term]", query: str, matching: "Matching", least: float = 0.0
) -> "list[tuple[StoredPoint, float]]":
    """Run *query* for the points that match *terms* with a score of at least *least*. The best come first, and the
    shorter of two equal ones. Frequent terms count only if there are no others. If *least* is set, as in a hook, few
    points with frequent terms are read."""
    from playbook_db.domain import search_words

    live = book.project.live_points
    most = search_words.most_matching(live)
    matches = [(term, matching(book, term, most + 1)) for term in terms]
    telling = [(term, numbers) for term, numbers in matches if len(numbers) <= most]
    if least:
        telling = telling or matches
    elif not any(numbers for _, numbers in telling):
        telling = [(term, matching(book, term, _MOST_FREQUENT)) for term, numbers in matches if numbers]
    scores = {number: score for number, score in search_words.ranked(telling, live) if score >= least}
    if not scores:
        return []
    points = _points(book, query, scores)
    ordered = sorted(points, key=lambda point: (-scores[point.id], len(point.text), point.id))
    return [(point, scores[point.id]) for point in ordered]


def named(book: "Reader", name: str) -> "str | None":
    """Return the text of the live point *name*, or None if there is no such point."""
    row = rows(book, NAMED, name=name).fetchone()
    return row and str(row[0])


def mirror_file(book: "Reader", path: str) -> "tuple[int | None, int | None, int] | None":
    """Return the size of the mirror *path* in bytes, its time of change in ns and its revision (0 if it matched none),
    all at its last sync. Return None if it was never synced."""
    row: tuple[int | None, int | None, int] | None
    row = rows(book, MIRROR_FILE, path=path).fetchone()
    return row


def has_due_job(book: "Reader", *, now: str) -> bool:
    """Return whether a job of the project is due."""
    ((is_due,),) = rows(book, DUE_JOB, now=now)
    return bool(is_due)


def learned_points(book: "Reader", *, since: int) -> "list[tuple[str, str]]":
    """Return the session and the text of each live point that learning added after the revision *since*, newest first.
    Read only the MOST_NEW newest points: more would slow down a hook."""
    points = []
    for number, (created_in, session, text, is_learned) in enumerate(rows(book, NEWEST_POINTS)):
        if created_in <= since or number == MOST_NEW:
            break
        if is_learned:
            points.append((session, text))
    return points


def proposals_waiting(book: "Reader") -> "tuple[int, int]":
    """Return the number of proposals that wait for a person, and the highest id among them (0 if there are none)."""
    ((count, highest),) = rows(book, PROPOSALS_WAITING)
    return count, highest


def add_showing(connection: "Connection", playbook_id: int, showing: "Mapping[str, Any]") -> None:
    """Record a *showing* of `hooks.showing` in the project's own playbook, whose number is *playbook_id*."""
    statement = ADD_SHOWING if showing["team"] is None else ADD_UNSENT_SHOWING
    points = f"[{','.join(map(str, showing['points']))}]"
    connection.execute(statement, {**showing, "points": points, "playbook_id": playbook_id, "now": showing["time"]})


def shown_to(book: "Reader", session_id: str, *, by_team: bool) -> "list[tuple[str, str, str, str]]":
    """Return the showings of the session: of the project's own playbook, or with *by_team* of its team's. Each row has
    the time, the event, its source, and the points' numbers as a JSON list."""
    return list(rows(book, SHOWN_BY_TEAM if by_team else SHOWN_TO, session_id=session_id))


def text_units(book: "Reader", numbers: "Sequence[int]") -> int:
    """Return the total length of the texts of the points *numbers*, in UTF-16 units. A repeated number counts again."""
    listed = ",".join(map(str, numbers))
    texts = rows(book, f"{TEXTS} ({listed})")  # safe: the numbers come from our own records
    units = {number: len(text.encode("utf-16-le")) // 2 for number, text in texts}
    return sum(units.get(number, 0) for number in numbers)


def add_job(connection: "Connection", key: str, job: "dict[str, str | None]", *, now: str) -> bool:
    """Queue *job* for the project *key*. Create the project if needed. Return False if the project is ignored.

    *job* has `session_id`, `transcript_path`, `parent_path`, `agent_id`, `reason` and `folder`. A waiting transcript
    isn't queued twice. When this returns, the job is saved to disk.
    """
    # The session ends now, so the job must survive a power cut: this commit waits for the disk.
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("BEGIN IMMEDIATE")
    connection.execute(ADD_PROJECT, {"key": key, "kind": "project", "now": now})
    project = find_project(connection.execute, key)
    if project is None or project.is_ignored:
        connection.execute("ROLLBACK")
        return False
    connection.execute(ADD_JOB, {**job, "playbook_id": project.id, "now": now})
    connection.execute("COMMIT")
    return True
