"""Store which projects of this machine have joined a team, and showings for the team's database."""

from dataclasses import asdict, dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection
from sqlalchemy import text as sql

from playbook_db.domain.times import timestamp
from playbook_db.store.playbook.repository import PlaybookRepository

_MEMBERSHIPS = """
SELECT p.key, p.id, t.url, t.name, t.joined_at
FROM memberships AS t JOIN playbooks AS p ON p.id = t.playbook_id
"""
_OF_PROJECT = sql(f"{_MEMBERSHIPS} WHERE p.key = :key")
_ALL = sql(f"{_MEMBERSHIPS} ORDER BY p.key")
_JOIN = sql("""
INSERT INTO memberships (playbook_id, url, name, joined_at) VALUES (:playbook_id, :url, :name, :now)
ON CONFLICT (playbook_id) DO UPDATE SET url = excluded.url, name = excluded.name
""")
_LEAVE_ALL = sql("DELETE FROM memberships")
_LEAVE = sql("DELETE FROM memberships WHERE playbook_id = :playbook_id")
_DROP_UNSENT = sql("DELETE FROM unsent_showings WHERE playbook_id = :playbook_id")
_UNSENT = sql("""
SELECT session_id, time, source, revision, points, left_out, event FROM unsent_showings
WHERE playbook_id = :playbook_id AND sent_at IS NULL ORDER BY time LIMIT :most
""")
_UNSENT_OF = sql("""
SELECT time, points FROM unsent_showings
WHERE playbook_id = :playbook_id AND session_id = :session_id
""")
_SENT = sql("""
UPDATE unsent_showings SET sent_at = :now
WHERE playbook_id = :playbook_id AND session_id = :session_id AND time = :time
""")
_DROP_SENT = sql("DELETE FROM unsent_showings WHERE playbook_id = :playbook_id AND sent_at < :before")
_KEPT_FOR = timedelta(days=7)  # sent showings stay, so a running session sees no point twice
# Store showings only for the present membership. Drop those for a team that the project has left.
_KEEP_UNSENT = sql("""
INSERT INTO unsent_showings (playbook_id, session_id, time, source, revision, points, left_out, event)
SELECT t.playbook_id, :session_id, :time, :source, :revision, :points, :left_out, :event
FROM memberships AS t WHERE t.playbook_id = :playbook_id AND t.name = :name AND t.joined_at <= :time
ON CONFLICT (playbook_id, session_id, time) DO NOTHING
""")
_COUNT_UNSENT = sql("SELECT count(*) FROM unsent_showings WHERE playbook_id = :playbook_id AND sent_at IS NULL")
# A killed worker may not have recorded that it sent a showing. Session and time identify a showing that is sent twice.
_ADD_SHOWING = sql("""
INSERT INTO showings (playbook_id, session_id, seq, source, revision, points, left_out, time, event)
SELECT :playbook_id, :session_id, coalesce(max(i.seq), 0) + 1, :source, :revision, :points, :left_out, :time, :event
FROM showings AS i WHERE i.playbook_id = :playbook_id AND i.session_id = :session_id
HAVING count(CASE WHEN i.time = :time THEN 1 END) = 0
""")
_CURSORS = sql("""
SELECT path, session_id, learned_offset, last_uuid, first_uuid, updated_at FROM transcripts
WHERE playbook_id = :playbook_id
""")
_ADD_CURSOR = sql("""
INSERT INTO transcripts (playbook_id, path, session_id, learned_offset, last_uuid, first_uuid, updated_at)
VALUES (:playbook_id, :path, :session_id, :learned_offset, :last_uuid, :first_uuid, :updated_at)
ON CONFLICT (playbook_id, path) DO NOTHING
""")
_MEMBERS = sql("""
SELECT actor, count(*), max(time) FROM revisions WHERE playbook_id = :playbook_id GROUP BY actor ORDER BY max(time) DESC
""")


@dataclass(frozen=True, slots=True)
class Membership:
    """A project that has joined a team. `key` is its folder, and `playbook_id` the number of its own playbook. The
    team's playbook is `name` in the database at `url`, which contains no password."""

    key: str
    playbook_id: int
    url: str
    name: str
    joined_at: str


@dataclass(frozen=True, slots=True)
class Showing:
    """The points that a session was shown at one `event`, as a JSON list of numbers. `revision` is the playbook's."""

    session_id: str
    time: str
    source: str
    revision: int
    points: str
    left_out: int
    event: str


@dataclass(frozen=True, slots=True)
class Member:
    """A person who has changed a team's playbook, with the number of their revisions and the last revision's time."""

    actor: str
    revisions: int
    last_at: str


def of_project(connection: Connection, key: str) -> Membership | None:
    """Return the membership of the project *key*, or None if the project has joined no team."""
    row = connection.execute(_OF_PROJECT, {"key": key}).first()
    return Membership(*row) if row else None


def read_all(connection: Connection) -> list[Membership]:
    """Return all memberships, ordered by the projects' folders."""
    return [Membership(*row) for row in connection.execute(_ALL)]


def join(book: PlaybookRepository, url: str, name: str) -> None:
    """Record that the project of *book* has joined a team."""
    book.connection.execute(_JOIN, {"playbook_id": book.playbook_id, "url": url, "name": name, "now": book.now})


def put_back(connection: Connection, known: list[Membership]) -> None:
    """Replace all memberships with *known*."""
    connection.execute(_LEAVE_ALL)
    for each in known:
        book = PlaybookRepository.open_to_write(connection, each.key)
        values = {"playbook_id": book.playbook_id, "url": each.url, "name": each.name, "now": each.joined_at}
        connection.execute(_JOIN, values)


def leave(book: PlaybookRepository) -> int:
    """Remove the membership of the project of *book*. Return the number of unsent showings that are lost with it."""
    book.connection.execute(_LEAVE, {"playbook_id": book.playbook_id})
    unsent = count_unsent(book.connection, book.playbook_id)
    book.connection.execute(_DROP_UNSENT, {"playbook_id": book.playbook_id})
    return unsent


def unsent(connection: Connection, playbook_id: int, *, most: int) -> list[Showing]:
    """Return at most *most* showings that the team's database hasn't stored yet, oldest first."""
    return [Showing(*row) for row in connection.execute(_UNSENT, {"playbook_id": playbook_id, "most": most})]


def unsent_points(connection: Connection, playbook_id: int, session_id: str) -> list[tuple[str, str]]:
    """Return the session's recent showings of the team's points: the time, and the points as a JSON list."""
    rows = connection.execute(_UNSENT_OF, {"playbook_id": playbook_id, "session_id": session_id})
    return [(time, points) for time, points in rows]


def count_unsent(connection: Connection, playbook_id: int) -> int:
    """Return the number of showings that the team's database hasn't stored yet."""
    count: int = connection.execute(_COUNT_UNSENT, {"playbook_id": playbook_id}).scalar_one()
    return count


def drop_sent(connection: Connection, playbook_id: int, showings: list[Showing], *, now: datetime) -> None:
    """Record that the team's database has stored *showings*. Delete showings that were sent long ago."""
    sent = {"playbook_id": playbook_id, "now": timestamp(now)}
    for showing in showings:
        connection.execute(_SENT, {**sent, "session_id": showing.session_id, "time": showing.time})
    connection.execute(_DROP_SENT, {"playbook_id": playbook_id, "before": timestamp(now - _KEPT_FOR)})


def keep_unsent(book: PlaybookRepository, showing: Showing, team: str) -> None:
    """Store *showing* until it is sent to the database of the playbook *team*. Do nothing if it is already stored, or
    if the project has left the team since."""
    values = {"playbook_id": book.playbook_id, "name": team, **asdict(showing)}
    book.connection.execute(_KEEP_UNSENT, values)


def add_showings(book: PlaybookRepository, showings: list[Showing]) -> None:
    """Store *showings* in the team's playbook. Skip those that it already has."""
    for showing in showings:
        book.connection.execute(_ADD_SHOWING, {"playbook_id": book.playbook_id, **asdict(showing)})


def copy_cursors(own: PlaybookRepository, book: PlaybookRepository) -> None:
    """Copy the cursors of transcripts into the team's playbook *book*. Cursors that it already has stay unchanged."""
    for cursor in own.connection.execute(_CURSORS, {"playbook_id": own.playbook_id}).mappings():
        book.connection.execute(_ADD_CURSOR, {"playbook_id": book.playbook_id, **cursor})


def members(book: PlaybookRepository) -> list[Member]:
    """Return the people who have changed the playbook, most recent first."""
    rows = book.connection.execute(_MEMBERS, {"playbook_id": book.playbook_id})
    return [Member(*row) for row in rows]
