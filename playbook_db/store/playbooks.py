"""The playbooks as they stand: which there are, their points, their headers, what their mirrors hold."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field

from sqlalchemy import BindParameter, Connection, TextClause, bindparam, func, insert, select, update
from sqlalchemy import text as sql

from playbook_db.domain.playbook import Header, KeyPoint, Playbook
from playbook_db.domain.sections import SLUG_SECTIONS
from playbook_db.store import hook_queries as statements
from playbook_db.store.tables import erasures, key_points, mirrors, playbooks, revisions

# Statements are made once: putting one together costs more than running it.
_LIVE_POINTS = sql(statements.LIVE_POINTS)
_RANKED_POINTS = sql(statements.RANKED_POINTS)
_UNJUDGED_POINTS = sql(statements.UNJUDGED_POINTS)
_OF_PLAYBOOK: BindParameter[int] = bindparam("of_playbook")
_RETIRED = (key_points.c.playbook_id == _OF_PLAYBOOK) & key_points.c.retired_in.is_not(None)
_SPENT = select(key_points.c.name, key_points.c.position).where(_RETIRED)
_STAND = sql("""
SELECT p.id, p.header, p.final_newline, r.number, r.time
FROM playbooks AS p LEFT JOIN revisions AS r ON r.playbook_id = p.id
    AND r.number = (SELECT max(l.number) FROM revisions AS l WHERE l.playbook_id = p.id)
WHERE p.key = :project_key
""")
_LOCK = select(playbooks.c.id).where(playbooks.c.key == bindparam("project_key")).with_for_update()
_MIRROR_STATE = select(playbooks.c.mirror).where(playbooks.c.id == _OF_PLAYBOOK)
_MIRROR = select(mirrors.c.revision, mirrors.c.sha256, mirrors.c.size_bytes, mirrors.c.mtime_ns).where(
    mirrors.c.playbook_id == _OF_PLAYBOOK, mirrors.c.path == bindparam("at_path")
)
_COLUMNS = (
    key_points.c.name,
    key_points.c.text,
    key_points.c.section,
    key_points.c.helpful,
    key_points.c.harmful,
    key_points.c.position,
)


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a playbook stands: its number (None: it isn't there yet), its header, and the number and time of its
    last revision (0 and None before the first)."""

    id: int | None
    header: Header
    revision: int
    time: str | None


@dataclass(frozen=True, slots=True)
class Mirror:
    """What a mirror file held when it was last seen: a revision of ours (None where none is known to), and its
    content's SHA-256. Its size and time of change tell at a glance, if not for sure, that it is still the same."""

    revision: int | None
    sha256: str
    size_bytes: int | None = field(default=None, compare=False)
    mtime_ns: int | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class RetiredPoint:
    """A point that has left: itself as it was, the revision it left in, and why."""

    point: KeyPoint
    revision: int
    reason: str | None


def stand(connection: Connection, key: str) -> Standing:
    """Where the playbook of the project *key* stands."""
    row = connection.execute(_STAND, {"project_key": key}).first()
    if row is None:
        return Standing(None, Header(), 0, None)
    number, fields, final_newline, revision, time = row
    return Standing(number, header_of(fields, final_newline), revision or 0, time)


def make(connection: Connection, key: str, *, now: str) -> None:
    """Make an empty playbook for the project *key*, which has none yet."""
    connection.execute(insert(playbooks).values(key=key, created_at=now))


def all_keys(connection: Connection) -> list[str]:
    """The keys of all playbooks: their projects' folders."""
    return list(connection.scalars(select(playbooks.c.key).order_by(playbooks.c.key)))


def lock(connection: Connection, key: str) -> None:
    """Keep other writers off this playbook until the transaction ends, where the database isn't locked as a whole."""
    if connection.dialect.name != "sqlite":
        connection.execute(_LOCK, {"project_key": key})


def read(connection: Connection, playbook_id: int, header: Header) -> Playbook:
    """The playbook as it is now: live points in canonical order, the names that are used up, its *header*."""
    rows = connection.execute(_LIVE_POINTS, {"playbook_id": playbook_id}).all()
    points = tuple(
        KeyPoint(name, text, SLUG_SECTIONS[slug], helpful, harmful, position)
        for name, text, slug, helpful, harmful, position in rows
    )
    spent = connection.execute(_SPENT, {"of_playbook": playbook_id}).all()
    last_position = max((position for _, position in spent), default=0)
    return Playbook(points, frozenset(name for name, _ in spent), header, last_position)


def read_candidates(connection: Connection, playbook_id: int) -> tuple[Iterator[KeyPoint], list[KeyPoint], int]:
    """What `rules.selection` chooses from: the live points, best first; the newest without votes; how many are live.
    The first are read as they are asked for, inside the transaction."""

    def points(statement: TextClause) -> Iterator[KeyPoint]:
        for _, name, text, slug, helpful, harmful, position in connection.execute(
            statement, {"playbook_id": playbook_id}
        ):
            yield KeyPoint(name, text, SLUG_SECTIONS[slug], helpful, harmful, position)

    live_points = connection.execute(
        select(playbooks.c.live_points).where(playbooks.c.id == _OF_PLAYBOOK), {"of_playbook": playbook_id}
    ).scalar_one()
    return points(_RANKED_POINTS), list(points(_UNJUDGED_POINTS)), live_points


def read_retired(connection: Connection, playbook_id: int) -> dict[str, RetiredPoint]:
    """The points that have left, by name, the last to leave first."""
    rows = connection.execute(
        select(*_COLUMNS, key_points.c.retired_in, key_points.c.retired_reason)
        .where(_RETIRED)
        .order_by(key_points.c.retired_in.desc(), key_points.c.position),
        {"of_playbook": playbook_id},
    )
    return {
        name: RetiredPoint(KeyPoint(name, text, SLUG_SECTIONS[slug], helpful, harmful, position), revision, reason)
        for name, text, slug, helpful, harmful, position, revision, reason in rows
    }


def forgotten(connection: Connection, playbook_id: int) -> frozenset[str]:
    """The names of the points that were forgotten for good."""
    named = select(key_points.c.name).where(key_points.c.playbook_id == _OF_PLAYBOOK, key_points.c.forgotten == 1)
    return frozenset(connection.scalars(named, {"of_playbook": playbook_id}))


def last_erased_in(connection: Connection, playbook_id: int) -> int:
    """The revision of the playbook's last erasure, 0 where there was none."""
    last = select(func.max(erasures.c.revision)).where(erasures.c.playbook_id == _OF_PLAYBOOK)
    return connection.scalar(last, {"of_playbook": playbook_id}) or 0


def point_id(connection: Connection, playbook_id: int, name: str) -> int | None:
    """The number of the point *name*, live or retired; None where there never was one."""
    return connection.scalar(
        select(key_points.c.id).where(key_points.c.playbook_id == playbook_id, key_points.c.name == name)
    )


def mirror_state(connection: Connection, playbook_id: int) -> str:
    """Whether the playbook is mirrored: `undecided` (nobody was asked), `on` (the file is made where it isn't),
    `found` (kept while it exists), `off`."""
    state: str = connection.execute(_MIRROR_STATE, {"of_playbook": playbook_id}).scalar_one()
    return state


def set_mirror_state(connection: Connection, playbook_id: int, state: str) -> None:
    """Keep whether the playbook is mirrored from now on."""
    connection.execute(update(playbooks).where(playbooks.c.id == playbook_id).values(mirror=state))


def read_mirror(connection: Connection, playbook_id: int, path: str) -> Mirror | None:
    """What the mirror at *path* held when last seen; None where it never was. Each worktree has its own."""
    row = connection.execute(_MIRROR, {"of_playbook": playbook_id, "at_path": path}).first()
    return Mirror(*row) if row else None


def note_mirror(connection: Connection, playbook_id: int, path: str, mirror: Mirror) -> None:
    """Keep what the mirror at *path* holds now."""
    known = asdict(mirror)
    changed = connection.execute(
        update(mirrors).where(mirrors.c.playbook_id == playbook_id, mirrors.c.path == path).values(known)
    )
    if not changed.rowcount:
        connection.execute(insert(mirrors).values(playbook_id=playbook_id, path=path, **known))


def mirror_paths(connection: Connection, playbook_id: int) -> list[str]:
    """Where the playbook's mirrors stand, or stood, kept or not: one for each worktree."""
    found = select(mirrors.c.path).where(mirrors.c.playbook_id == _OF_PLAYBOOK).order_by(mirrors.c.path)
    return list(connection.scalars(found, {"of_playbook": playbook_id}))


def kept_mirrors(connection: Connection) -> list[tuple[str, int, Mirror]]:
    """The path of each mirror that is kept, its playbook's last revision, and what it held when last seen."""
    last = (
        select(func.coalesce(func.max(revisions.c.number), 0))
        .where(revisions.c.playbook_id == playbooks.c.id)
        .scalar_subquery()
    )
    columns = (mirrors.c.path, last, mirrors.c.revision, mirrors.c.sha256, mirrors.c.size_bytes, mirrors.c.mtime_ns)
    kept = (
        select(*columns)
        .join(playbooks, playbooks.c.id == mirrors.c.playbook_id)
        .where(playbooks.c.mirror.in_(("on", "found")), playbooks.c.ignored == 0)
        .order_by(mirrors.c.path)
    )
    return [(path, number, Mirror(*rest)) for path, number, *rest in connection.execute(kept)]


def all_learning(connection: Connection) -> list[tuple[int, str, str]]:
    """The number, key and time of making of each playbook whose project isn't kept out."""
    columns = (playbooks.c.id, playbooks.c.key, playbooks.c.created_at)
    rows = connection.execute(select(*columns).where(playbooks.c.ignored == 0).order_by(playbooks.c.key))
    return [(number, key, created_at) for number, key, created_at in rows]


def is_ignored(connection: Connection, playbook_id: int) -> bool:
    """Whether the hooks and the worker keep out of the playbook's project."""
    return bool(
        connection.execute(
            select(playbooks.c.ignored).where(playbooks.c.id == _OF_PLAYBOOK), {"of_playbook": playbook_id}
        ).scalar_one()
    )


def created_in(connection: Connection, playbook_id: int) -> dict[str, int]:
    """The revision in which each point, live or retired, came to be, by name."""
    rows = connection.execute(
        select(key_points.c.name, key_points.c.created_in).where(key_points.c.playbook_id == playbook_id)
    )
    return {row.name: row.created_in for row in rows}


def header_of(fields: str, final_newline: int) -> Header:
    """The header that the two columns hold."""
    return Header(tuple(json.loads(fields).items()), bool(final_newline))


def header_columns(header: Header) -> dict[str, object]:
    """The two columns that hold *header*."""
    fields = json.dumps(dict(header.fields), ensure_ascii=False, allow_nan=False)
    return {"header": fields, "final_newline": int(header.final_newline)}
