"""The playbooks as they stand: which there are, their points, their headers, what their mirrors hold."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, insert, select, update
from sqlalchemy import text as sql

from playbook_db.rules.playbook import Header, KeyPoint, Playbook
from playbook_db.rules.sections import SLUG_SECTIONS
from playbook_db.store.read import LIVE_POINTS
from playbook_db.store.tables import key_points, mirrors, playbooks

_LIVE_POINTS = sql(LIVE_POINTS)
_SPENT_NAMES = select(key_points.c.name)
_COLUMNS = (
    key_points.c.name,
    key_points.c.text,
    key_points.c.section,
    key_points.c.helpful,
    key_points.c.harmful,
    key_points.c.position,
)


@dataclass(frozen=True, slots=True)
class Mirror:
    """What a mirror file held when it was last seen: a revision of ours (None where none is known to), and its
    content's SHA-256."""

    revision: int | None
    sha256: str


@dataclass(frozen=True, slots=True)
class RetiredPoint:
    """A point that has left: itself as it was, the revision it left in, and why."""

    point: KeyPoint
    revision: int
    reason: str | None


def find(connection: Connection, key: str) -> int | None:
    """The number of the playbook of the project *key*, None where there is none yet."""
    found: int | None = connection.scalar(select(playbooks.c.id).where(playbooks.c.key == key))
    return found


def find_or_make(connection: Connection, key: str, *, now: str) -> int:
    """The number of the playbook of the project *key*; an empty one is made where there is none."""
    found = find(connection, key)
    if found is not None:
        return found
    connection.execute(insert(playbooks).values(key=key, created_at=now))
    made: int = connection.execute(select(playbooks.c.id).where(playbooks.c.key == key)).scalar_one()
    return made


def all_keys(connection: Connection) -> list[tuple[int, str]]:
    """The number and key of every playbook."""
    rows = connection.execute(select(playbooks.c.id, playbooks.c.key).order_by(playbooks.c.key))
    return [(row.id, row.key) for row in rows]


def lock(connection: Connection, playbook_id: int) -> None:
    """Keep other writers off this playbook until the transaction ends, where the database isn't locked as a whole."""
    connection.execute(select(playbooks.c.id).where(playbooks.c.id == playbook_id).with_for_update())


def read(connection: Connection, playbook_id: int) -> Playbook:
    """The playbook as it is now: live points in canonical order, the names that are used up, the header."""
    points = tuple(_point(row) for row in connection.execute(_LIVE_POINTS, {"playbook_id": playbook_id}))
    spent = connection.scalars(
        _SPENT_NAMES.where(key_points.c.playbook_id == playbook_id, key_points.c.retired_in.is_not(None))
    )
    return Playbook(points, frozenset(spent), read_header(connection, playbook_id))


def read_header(connection: Connection, playbook_id: int) -> Header:
    """The header of the playbook as it is now."""
    row = connection.execute(
        select(playbooks.c.header, playbooks.c.final_newline).where(playbooks.c.id == playbook_id)
    ).one()
    return header_of(row.header, row.final_newline)


def read_retired(connection: Connection, playbook_id: int) -> dict[str, RetiredPoint]:
    """The points that have left, by name, the last to leave first."""
    rows = connection.execute(
        select(*_COLUMNS, key_points.c.retired_in, key_points.c.retired_reason)
        .where(key_points.c.playbook_id == playbook_id, key_points.c.retired_in.is_not(None))
        .order_by(key_points.c.retired_in.desc(), key_points.c.position)
    )
    return {row.name: RetiredPoint(_point(row), row.retired_in, row.retired_reason) for row in rows}


def mirror_state(connection: Connection, playbook_id: int) -> str:
    """Whether the playbook is mirrored: `undecided` (nobody was asked), `on` (the file is made where it isn't),
    `found` (kept while it exists), `off`."""
    state: str = connection.execute(select(playbooks.c.mirror).where(playbooks.c.id == playbook_id)).scalar_one()
    return state


def set_mirror_state(connection: Connection, playbook_id: int, state: str) -> None:
    """Keep whether the playbook is mirrored from now on."""
    connection.execute(update(playbooks).where(playbooks.c.id == playbook_id).values(mirror=state))


def read_mirror(connection: Connection, playbook_id: int, path: str) -> Mirror | None:
    """What the mirror at *path* held when last seen; None where it never was. Each worktree has its own."""
    row = connection.execute(
        select(mirrors.c.revision, mirrors.c.sha256).where(mirrors.c.playbook_id == playbook_id, mirrors.c.path == path)
    ).first()
    return Mirror(*row) if row else None


def note_mirror(connection: Connection, playbook_id: int, path: str, mirror: Mirror) -> None:
    """Keep what the mirror at *path* holds now."""
    known = {"revision": mirror.revision, "sha256": mirror.sha256}
    changed = connection.execute(
        update(mirrors).where(mirrors.c.playbook_id == playbook_id, mirrors.c.path == path).values(known)
    )
    if not changed.rowcount:
        connection.execute(insert(mirrors).values(playbook_id=playbook_id, path=path, **known))


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


def _point(row: Sequence[Any]) -> KeyPoint:
    name, text, slug, helpful, harmful, position = row[:6]
    return KeyPoint(name, text, SLUG_SECTIONS[slug], helpful, harmful, position)
