"""Joining two playbooks of one project: one goes on, with what the other has."""

import json
from collections.abc import Mapping
from dataclasses import replace

from sqlalchemy import delete, select, update
from sqlalchemy import text as sql

from playbook_db.domain.playbook import Vote
from playbook_db.domain.trust.evidence import read_json
from playbook_db.store import tables
from playbook_db.store.playbook.playbook_rows import IN_FORCE
from playbook_db.store.playbook.repository import PlaybookRepository
from playbook_db.store.queries.list_queries import JOINED

_EVIDENCE = sql("""
SELECT k.name, c.evidence FROM changes AS c JOIN key_points AS k ON k.playbook_id = c.playbook_id AND k.id = c.point_id
WHERE c.playbook_id = :playbook_id AND c.evidence IS NOT NULL ORDER BY c.revision, c.seq
""")
_VOTES = sql(f"""
SELECT k.name, v.tag, v.rationale, v.ignored, v.evidence
FROM votes AS v JOIN key_points AS k ON k.playbook_id = v.playbook_id AND k.id = v.point_id
WHERE v.playbook_id = :playbook_id AND {IN_FORCE} ORDER BY v.revision, v.seq
""")
_POINTS = sql("SELECT id, name FROM key_points WHERE playbook_id = :playbook_id")
_NUMBERED = (tables.jobs, tables.proposals, tables.model_calls)


def join(book: PlaybookRepository, other: PlaybookRepository) -> None:
    """Add all of the playbook *other* to *book*: its points in one revision, with their votes and evidence, its
    proposals, jobs, costs and cursors. The row of *other* keeps its history, as playbooks are never deleted, but has
    another key."""
    names = _add_points(book, other) if other.revision else {}
    of_other = {"playbook_id": other.playbook_id}
    _move_showings(book, other, names)
    queued = select(tables.jobs.c.transcript_path).filter_by(playbook_id=book.playbook_id, state="queued")
    is_twin = tables.jobs.c.transcript_path.in_(queued)
    book.connection.execute(delete(tables.jobs).where(is_twin).filter_by(**of_other, state="queued"))
    decided = tables.proposals.c.revision.is_not(None)
    book.connection.execute(delete(tables.proposals).where(decided).filter_by(**of_other))
    for row in book.connection.execute(select(tables.proposals).filter_by(**of_other)).all():
        operation = _renamed(json.loads(row.operation), names)
        text = json.dumps(operation, ensure_ascii=False)
        book.connection.execute(update(tables.proposals).filter_by(**of_other, id=row.id).values(operation=text))
    for table in _NUMBERED:
        moved = {"playbook_id": book.playbook_id, "id": table.c.id + book.next_id(table) - 1}
        book.connection.execute(update(table).filter_by(**of_other).values(moved))
    for table in (tables.transcripts, tables.mirrors):
        known = select(table.c.path).filter_by(playbook_id=book.playbook_id)
        book.connection.execute(delete(table).where(table.c.path.in_(known)).filter_by(**of_other))
        book.connection.execute(update(table).filter_by(**of_other).values(playbook_id=book.playbook_id))
    other.rename(f"{other.key}{JOINED}{other.playbook_id})")


def _add_points(book: PlaybookRepository, other: PlaybookRepository) -> dict[str, str]:
    """Add the live points of *other* to *book*. Return their names there."""
    names: dict[str, str] = {}
    evidence = {name: read_json(text) for name, text in other.connection.execute(_EVIDENCE, _of(other))}
    reason = f"joined with {other.key}"
    for point in other.live_points():
        same = book.draft.find_text(point.text)
        names[point.name] = name = same.name if same else point.name
        if same:
            helpful, harmful = same.helpful + point.helpful, same.harmful + point.harmful
            book.draft.change(replace(same, helpful=helpful, harmful=harmful), kind="vote", reason=reason)
        else:
            if book.draft.is_used(name):
                names[point.name] = name = book.draft.new_name(point.section)
            book.draft.add(replace(point, name=name), reason=reason)
        book.draft.changes[-1] = replace(book.draft.changes[-1], evidence=evidence.get(point.name, ()))
    rows = other.connection.execute(_VOTES, _of(other))
    votes = [
        Vote(names[name], tag, rationale, True, bool(ignored), read_json(text))
        for name, tag, rationale, ignored, text in rows
        if name in names
    ]
    book.commit("import", reason, votes=votes)
    return names


def _move_showings(book: PlaybookRepository, other: PlaybookRepository, names: Mapping[str, str]) -> None:
    """Move the records of the points that sessions were shown, so that learning from these sessions counts."""
    numbers = {name: number for number, name in book.connection.execute(_POINTS, _of(book))}
    now = {
        number: numbers[names[name]] for number, name in book.connection.execute(_POINTS, _of(other)) if name in names
    }
    table = tables.showings
    for row in book.connection.execute(select(table).filter_by(playbook_id=other.playbook_id)).all():
        lists = {
            column: json.dumps([now[each] for each in json.loads(text) if each in now])
            for column in ("points", "held_back")
            if (text := getattr(row, column)) is not None
        }
        which = {"playbook_id": other.playbook_id, "session_id": row.session_id, "seq": row.seq}
        known = select(table.c.seq).filter_by(**which | {"playbook_id": book.playbook_id})
        if book.connection.execute(known).first():
            book.connection.execute(delete(table).filter_by(**which))
        else:
            book.connection.execute(
                update(table).filter_by(**which).values(playbook_id=book.playbook_id, revision=book.revision, **lists)
            )


def _renamed(operation: object, names: Mapping[str, str]) -> object:
    """Return *operation* with the points' new *names*."""
    if isinstance(operation, list):
        return [names.get(each, each) if isinstance(each, str) else each for each in operation]
    if not isinstance(operation, dict):
        return operation
    fields = {key: _renamed(value, names) for key, value in operation.items() if key == "source_ids"}
    return (
        operation
        | fields
        | {key: names.get(operation[key], operation[key]) for key in ("target_id", "name") if key in operation}
    )


def _of(book: PlaybookRepository) -> dict[str, int]:
    return {"playbook_id": book.playbook_id}
