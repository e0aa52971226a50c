"""Read and write one playbook inside a transaction, and list all playbooks.

`Store.write` and `Store.read` open a `PlaybookRepository`. Callers change its `draft`, and `commit` writes the draft as
one revision. Nothing else writes the history.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any, Self

from sqlalchemy import Connection, Row, select, update
from sqlalchemy import text as sql

from playbook_db.domain.draft import Draft
from playbook_db.domain.merging.undo_rules import RevisionRange, effective_undos
from playbook_db.domain.playbook import (
    Change,
    Header,
    KeyPoint,
    Playbook,
    RetiredPoint,
    Skipped,
    Vote,
    before_number,
    highest_number,
    number_of,
)
from playbook_db.domain.sections import SECTION_SLUGS
from playbook_db.domain.times import timestamp
from playbook_db.projects import USER_KEY, as_path, as_text, is_users
from playbook_db.store import tables
from playbook_db.store.dialect import dialect_of
from playbook_db.store.playbook import searching
from playbook_db.store.playbook.learning import LearningRows
from playbook_db.store.playbook.playbook_rows import point_of
from playbook_db.store.playbook.proposal_rows import ProposalRows
from playbook_db.store.playbook.revisions import RevisionWriter
from playbook_db.store.playbook.snapshots import Snapshots
from playbook_db.store.queries import hook_queries, list_queries
from playbook_db.store.queries.hook_queries import Searched, rows
from playbook_db.store.queries.revision_log import header_of
from playbook_db.wrong_clock import is_ahead

# Statements are built only once, as building one takes longer than running it.
_ADD_PROJECT = sql(hook_queries.ADD_PROJECT)
_SET_PINNED = sql("UPDATE key_points SET pinned = :pinned WHERE playbook_id = :playbook_id AND name = :name")
_USED_UP = sql("SELECT name, position FROM key_points WHERE playbook_id = :playbook_id AND retired_in IS NOT NULL")
_NAMES_AT = sql("""
SELECT name FROM key_points
WHERE playbook_id = :playbook_id AND retired_in IS NULL AND section = :section AND position = :position
""")
_LIVE_TEXTS = sql("SELECT name, text FROM key_points WHERE playbook_id = :playbook_id AND retired_in IS NULL")
_LAST_POSITION = sql("SELECT coalesce(max(position), 0) FROM key_points WHERE playbook_id = :playbook_id")
# All other queries use the playbook's number, so that Citus knows which server has the playbook.
_FIND = sql("SELECT id FROM playbooks WHERE key = :project_key")
# For new points: the last of the longest names with one prefix, the length of the shortest such name, the last
# position, the highest id.
_OF_PREFIX = "FROM key_points WHERE playbook_id = :playbook_id AND name >= :lowest AND name < :beyond"
_ENDS = sql(f"""
SELECT (SELECT name {_OF_PREFIX} ORDER BY length(name) DESC, name DESC LIMIT 1),
       (SELECT min(length(name)) {_OF_PREFIX}),
       (SELECT coalesce(max(position), 0) FROM key_points WHERE playbook_id = :playbook_id),
       (SELECT coalesce(max(id), 0) FROM key_points WHERE playbook_id = :playbook_id)
""")
_NAMES_OF_PREFIX = sql(f"SELECT name {_OF_PREFIX}")
_KEPT_MIRRORS = sql(f"""
SELECT m.path, coalesce((SELECT max(r.number) FROM revisions AS r WHERE r.playbook_id = m.playbook_id), 0),
       m.revision, m.sha256, m.size_bytes, m.mtime_ns
FROM mirrors AS m JOIN playbooks AS p ON p.id = m.playbook_id
WHERE p.mirror IN ('on', 'found') AND NOT {hook_queries.IS_IGNORED}
  AND NOT EXISTS (SELECT 1 FROM memberships AS t WHERE t.playbook_id = m.playbook_id) ORDER BY m.path
""")
_LAST_ERASED_IN = sql("SELECT coalesce(max(revision), 0) FROM erasures WHERE playbook_id = :playbook_id")
_CREATED_IN = sql("SELECT name, created_in FROM key_points WHERE playbook_id = :playbook_id")
_WORDINGS = sql("""
SELECT k.name, c.text FROM changes AS c JOIN key_points AS k ON k.playbook_id = c.playbook_id AND k.id = c.point_id
WHERE c.playbook_id = :playbook_id AND c.text IS NOT NULL
""")
_MIRROR = sql("""
SELECT revision, sha256, size_bytes, mtime_ns FROM mirrors WHERE playbook_id = :playbook_id AND path = :path
""")
_NOTE_MIRROR = sql("""
INSERT INTO mirrors (playbook_id, path, revision, sha256, size_bytes, mtime_ns)
VALUES (:playbook_id, :path, :revision, :sha256, :size_bytes, :mtime_ns)
ON CONFLICT (playbook_id, path) DO UPDATE SET revision = excluded.revision, sha256 = excluded.sha256,
    size_bytes = excluded.size_bytes, mtime_ns = excluded.mtime_ns
""")
_DROP_MIRROR = sql("DELETE FROM mirrors WHERE playbook_id = :playbook_id AND path = :new_path")
_EXTRAS = sql("""
SELECT k.name, e.fields FROM extra_fields AS e
JOIN key_points AS k ON k.playbook_id = e.playbook_id AND k.id = e.point_id
WHERE e.playbook_id = :playbook_id
""")
_KEEP_EXTRA = sql("""
INSERT INTO extra_fields (playbook_id, point_id, fields)
SELECT playbook_id, id, :fields FROM key_points WHERE playbook_id = :playbook_id AND name = :name
ON CONFLICT (playbook_id, point_id) DO UPDATE SET fields = excluded.fields
""")
_MOVE_MIRROR = sql("UPDATE mirrors SET path = :new_path WHERE playbook_id = :playbook_id AND path = :path")
_MIRROR_PATHS = sql("SELECT path FROM mirrors WHERE playbook_id = :playbook_id ORDER BY path")
_MOST_NAMED = 5  # points with other keys that a revision's message names


@dataclass(frozen=True, slots=True)
class Mirror:
    """A mirror file as it was when last read. `revision` is None if unknown.

    Size and time of change show quickly whether the file was changed.
    """

    revision: int | None
    sha256: str
    size_bytes: int | None = field(default=None, compare=False)
    mtime_ns: int | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class FileFields:
    """The fields of a playbook's file, other than its points.

    `header` is the new header, if any. The header's `last_updated` becomes the revision's time, unless the header
    `keeps_last_updated`. `extras` has the new additional fields of points, by name, as JSON.
    """

    header: Header | None = None
    keeps_last_updated: bool = False
    extras: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RevisionOrigin:
    """The origin of a revision. `actor` is by default `settings.actor`, and in a shared database always the member.
    `undone` are the revisions that it undoes."""

    session_id: str | None = None
    actor: str | None = None
    undone: RevisionRange | None = None


@dataclass(frozen=True, slots=True)
class RevisionResult:
    """The result of a commit to the playbook `key`. `revision` is None in a dry run, or if there was nothing to record.

    `header` is the header after the commit. `notes` are for the user. `extras` has the new additional fields of points,
    by name, as JSON.
    """

    revision: int | None
    header: Header
    changes: Sequence[Change] = ()
    votes: Sequence[Vote] = ()
    skipped: Sequence[Skipped] = ()
    notes: Sequence[str] = ()
    extras: Mapping[str, str] = field(default_factory=dict)
    key: str = ""


class PlaybookRepository(Snapshots, LearningRows, ProposalRows, RevisionWriter):
    """The playbook of a project or a user inside a transaction. A missing playbook is empty, and has the id 0.

    `now` is the transaction's time. `commit` writes only after `open_to_write`.
    """

    def __init__(
        self, connection: Connection, key: str, *, now: datetime | None = None, locked: int | None = None
    ) -> None:
        super().__init__(connection, locked or connection.execute(_FIND, {"project_key": key}).scalar() or 0)
        self.key = key
        self.is_users = is_users(key)
        self.now = timestamp(now or dialect_of(connection).now(connection))
        self._is_writable = locked is not None
        self._last_position: int | None = None  # if known

    @classmethod
    def open_to_write(cls, connection: Connection, key: str, *, now: datetime | None = None) -> Self:
        """Return the playbook *key*, created if needed. Lock it against other writers until the transaction ends."""
        dialect = dialect_of(connection)
        locked = dialect.lock_playbook(connection, key)
        if locked is None:  # another process may be creating it at this moment
            kind, time = "user" if is_users(key) else "project", timestamp(now or datetime.now(UTC))
            connection.execute(_ADD_PROJECT, {"key": key, "kind": kind, "now": time})
            locked = dialect.lock_playbook(connection, key)
        return cls(connection, key, now=now, locked=locked or 0)

    @cached_property
    def header(self) -> Header:
        """The top-level fields of the playbook's file."""
        return header_of(self._head.header, self._head.final_newline) if self._head else Header()

    @cached_property
    def last_time(self) -> str | None:
        """The time of the last revision."""
        return self._head.time if self._head else None

    @cached_property
    def draft(self) -> Draft:
        """The next revision, before it is committed. The draft reads only the points that it needs."""
        return Draft(self)

    def commit(
        self,
        source: str,
        message: str,
        *,
        votes: Sequence[Vote] = (),
        skipped: Sequence[Skipped] = (),
        notes: Sequence[str] = (),
        even_if_unchanged: bool = False,
        file: FileFields = FileFields(),
        origin: RevisionOrigin = RevisionOrigin(),
    ) -> RevisionResult:
        """Write the next revision: the draft, and the other fields of the *file*.

        If there is nothing to record, write no revision, unless *even_if_unchanged*. In a dry run, never write one.
        """
        changes, header, extras = self.draft.changes, file.header, file.extras
        changed_header = self._changed_header(header, keeps_last_updated=file.keeps_last_updated)
        is_needed = bool(changes or votes or skipped or changed_header or extras or even_if_unchanged)
        if not self._is_writable or not is_needed:
            return RevisionResult(None, changed_header or self.header, changes, votes, skipped, notes, extras, self.key)
        time = self._next_time()
        after = (changed_header or self.header).stamped(time)
        if header is not None and file.keeps_last_updated:
            changed_header = after = header
        columns = {
            "number": self.revision + 1,
            "time": time,
            "source": source,
            "actor": self.actor(origin.actor),
            "session_id": origin.session_id,
            "message": f"{message}, with other keys of {_named(extras)}" if extras else message,
            "undoes_from": origin.undone.first if origin.undone else None,
            "undoes_to": origin.undone.last if origin.undone else None,
        }
        self._last_position = None
        self.append_revision(columns, after, changes, votes, skipped, keeps_header=changed_header is not None)
        if origin.undone:
            self.keep_in_force(effective_undos(self.undos()), self.undos_in_force())
        for name, fields in extras.items():
            self._execute(_KEEP_EXTRA, name=name, fields=fields)
        return RevisionResult(self.revision + 1, after, changes, votes, skipped, notes, extras, self.key)

    def count_anew(self) -> None:
        """Recompute the stored count of live points and the stored undos in force."""
        count = update(tables.heads).filter_by(playbook_id=self.playbook_id).values(live_points=len(self.live_points()))
        self.connection.execute(count)
        self.keep_in_force(effective_undos(self.undos()), self.undos_in_force())

    def playbook(self) -> Playbook:
        """Return the whole playbook: its live points in canonical order, and the names of its retired points."""
        used_up = self._execute(_USED_UP).all()
        names, last_position = {row.name for row in used_up}, max((row.position for row in used_up), default=0)
        return Playbook(self.live_points(), frozenset(names), self.header, last_position, self.is_users)

    def live_points(self) -> tuple[KeyPoint, ...]:
        """Return the live points in canonical order."""
        rows = self._execute(list_queries.LIVE_POINTS).all()
        if self._is_writable:  # a commit needs the numbers
            self._ids |= {row.name: row.id for row in rows}
        return tuple(map(point_of, rows))

    def live_texts(self) -> list[tuple[str, str]]:
        """Return the names and texts of the live points."""
        return [(name, text) for name, text in self._execute(_LIVE_TEXTS)]

    def live_point(self, name: str) -> KeyPoint | None:
        """Return the live point *name*, or None if there is no such point."""
        row = next(iter(rows(self, list_queries.POINT, name=name)), None)
        if row:
            self._ids[name] = row.id
        return point_of(row) if row and row.retired_in is None else None

    def highest_number(self, prefix: str) -> int:
        """Return the highest number in names with *prefix*, of live and retired points, or 0 if there are none."""
        start = before_number(prefix)
        names = {"lowest": f"{start}0", "beyond": f"{start}:"}  # ":" follows "9"
        longest, shortest, *ends = self._execute(_ENDS, **names).one()
        self._last_position, self._highest_id = map(int, ends)  # a new point needs these, too
        number = number_of(longest or "", prefix)
        if longest and (not number or (longest[len(start)] == "0" and shortest < len(longest))):
            return highest_number(self._execute(_NAMES_OF_PREFIX, **names).scalars(), prefix)
        return number

    def last_position(self) -> int:
        """Return the highest position of all live and retired points, or 0 if there are no points."""
        known = self._last_position
        return known if known is not None else int(self._execute(_LAST_POSITION).scalar_one())

    def names_at(self, section: str, position: int) -> Sequence[str]:
        """Return the names of the live points at *position* in *section*."""
        return self._execute(_NAMES_AT, section=SECTION_SLUGS[section], position=position).scalars().all()

    def retired_point(self, name: str) -> RetiredPoint | None:
        """Return the retired point *name*, or None if there is no such point."""
        row = next(iter(rows(self, list_queries.POINT, name=name)), None)
        return _retired(row) if row and row.retired_in is not None else None

    def retired(self) -> dict[str, RetiredPoint]:
        """Return the retired points by name, most recent first."""
        return {row.name: _retired(row) for row in self._execute(list_queries.RETIRED_POINTS)}

    def last_erased_in(self) -> int:
        """Return the revision of the last erasure, or 0 if there was none. Older copies may contain erased texts."""
        return int(self._execute(_LAST_ERASED_IN).scalar_one())

    def extras(self) -> dict[str, str]:
        """Return the additional fields that files gave to live and retired points, by name, as JSON."""
        return dict(self._execute(_EXTRAS).all())

    def set_pinned(self, name: str, is_pinned: bool) -> None:
        """Pin or unpin the point *name*. A pinned point doesn't rest."""
        self._execute(_SET_PINNED, name=name, pinned=int(is_pinned))
        if is_pinned:
            self.note_use([name])

    def created_in(self) -> dict[str, int]:
        """Return the revision that added each live or retired point, by name."""
        return dict(self._execute(_CREATED_IN).all())

    def wordings(self) -> set[tuple[str, str]]:
        """Return the names of all points, each with every text that the point has had."""
        return {(name, text) for name, text in self._execute(_WORDINGS)}

    def search(self, question: str) -> Searched:
        """Return the live points that match *question*, best first."""
        return searching.search(self, question)

    def set_ignored(self, is_ignored: bool) -> None:
        """Make the hooks and the worker ignore the project, or stop ignoring it."""
        self._update(ignored=int(is_ignored))

    def set_initialized(self) -> None:
        """Record that the folder was made a project on purpose, so that it doesn't belong to a project above it."""
        self._update(initialized=1)

    def identity(self) -> tuple[str, str]:
        """Return the origin and the root commit of the project's repository, as last recorded, or `""`."""
        row = self._execute("SELECT origin, root_commit FROM playbooks WHERE id = :playbook_id").first()
        return (row.origin or "", row.root_commit or "") if row else ("", "")

    def set_identity(self, origin: str, root_commit: str) -> None:
        """Record the origin and the root commit of the project's repository."""
        self._update(origin=origin or None, root_commit=root_commit or None)

    def set_mirror_state(self, state: str) -> None:
        """Set the mirror's state: `on`, `off`, `found` (written only while it exists) or `undecided` (the user wasn't
        asked)."""
        self._update(mirror=state)

    def mirror(self, path: str) -> Mirror | None:
        """Return the mirror *path* as it was when last read, or None if it was never read."""
        row = self._execute(_MIRROR, path=as_text(path)).first()
        return Mirror(*row) if row else None

    def note_mirror(self, path: str, mirror: Mirror) -> None:
        """Record *mirror* as the state of the mirror file *path*."""
        self._execute(_NOTE_MIRROR, path=as_text(path), **asdict(mirror))

    def mirror_paths(self) -> list[str]:
        """Return the paths of all present and former mirrors. Each worktree may have a mirror."""
        return [as_path(path) for path in self._execute(_MIRROR_PATHS).scalars()]

    def rename(self, key: str) -> None:
        """Rename the playbook and its mirrors after its project was moved to the folder *key*."""
        self._update(key=key)
        for path in map(as_text, self.mirror_paths()) if key != self.key else ():
            if path.startswith(self.key + "/"):
                paths = {"path": path, "new_path": key + path[len(self.key) :]}
                self._execute(_DROP_MIRROR, **paths)
                self._execute(_MOVE_MIRROR, **paths)

    def _update(self, **columns: object) -> None:
        self.connection.execute(update(tables.playbooks).filter_by(id=self.playbook_id).values(**columns))

    def _changed_header(self, header: Header | None, *, keeps_last_updated: bool) -> Header | None:
        """Return *header* if it differs from the present header. `last_updated` counts only if it is kept."""
        if header is None or header == self.header:
            return None
        same_but_time = header.stamped(None) == self.header.stamped(None)
        return None if same_but_time and not keeps_last_updated else header

    def clock(self) -> datetime:
        """Return the time at which relative times such as `2h` begin: a server's own, as the revisions' times are."""
        is_known = self._is_writable  # the lock brought it
        return datetime.fromisoformat(self.now) if is_known else dialect_of(self.connection).clock(self.connection)

    def _next_time(self) -> str:
        """Return the transaction's time, or if that isn't after the last revision's time, a time just after it.

        A last revision of a day ahead was written by a wrong clock, which later revisions don't follow.
        """
        now_s = datetime.fromisoformat(self.now).timestamp()
        if self.last_time is None or self.now > self.last_time or is_ahead(self.last_time, now_s):
            return self.now
        return timestamp(datetime.fromisoformat(self.last_time) + timedelta(microseconds=1))


def all_keys(connection: Connection) -> dict[int, str]:
    """Return the key of each playbook by its number, ordered by key. A key is a project's folder or `users_key`."""
    return dict(connection.execute(select(tables.playbooks.c.id, tables.playbooks.c.key).order_by("key")).all())


def users_key(connection: Connection) -> str:
    """Return the key of the user's personal playbook in this database. On a server it contains the user's role."""
    if not dialect_of(connection).is_shared:
        return USER_KEY
    return f"{USER_KEY}:{connection.scalar(sql('SELECT session_user'))}"


def kept_mirrors(connection: Connection) -> list[tuple[str, int, Mirror]]:
    """Return the mirrors to keep up to date: the path, the playbook's last revision, and the mirror as last read."""
    return [(as_path(path), number, Mirror(*rest)) for path, number, *rest in connection.execute(_KEPT_MIRRORS)]


def _named(names: Mapping[str, object]) -> str:
    return ", ".join(list(names)[:_MOST_NAMED]) + ", ..." * (len(names) > _MOST_NAMED)


def _retired(row: "Row[*tuple[Any, ...]]") -> RetiredPoint:
    return RetiredPoint(point_of(row), row.retired_in, row.retired_reason, bool(row.forgotten), row.cause)
