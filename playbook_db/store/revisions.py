"""Writing the append-only history: a revision, with what it does to the points. `timeline` reads it."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from sqlalchemy import BindParameter, Connection, bindparam, func, insert, select, update

from playbook_db import settings
from playbook_db.domain import prompt_text
from playbook_db.domain.playbook import Change, Header, Skipped, Vote
from playbook_db.domain.sections import SECTION_SLUGS
from playbook_db.domain.undo import RevisionRange
from playbook_db.store.playbooks import header_columns
from playbook_db.store.tables import changes, key_points, playbooks, revisions, skipped_operations, votes

_FEW = 500  # names looked up one by one up to here; all names of the playbook beyond
_KEPT_OPERATION_LENGTH = 4000  # characters of a skipped operation; a hostile one must not fill the database

_UPDATE_POINT = (
    update(key_points)
    .where(key_points.c.playbook_id == bindparam("of_playbook"), key_points.c.id == bindparam("of_point"))
    .values(
        {
            name: bindparam(f"new_{name}")
            for name in (
                "section", "position", "text", "helpful", "harmful", "retired_in", "retired_reason", "rank",
            )
        }
    )
)  # fmt: skip

_INSERT_REVISION = insert(revisions)
_INSERT_POINTS = insert(key_points)
_INSERT_CHANGES = insert(changes)
_INSERT_VOTES = insert(votes)
_INSERT_SKIPPED = insert(skipped_operations)
_OF_PLAYBOOK: BindParameter[int] = bindparam("of_playbook")
_SET_HEADER = (
    update(playbooks)
    .where(playbooks.c.id == _OF_PLAYBOOK)
    .values(
        header=bindparam("new_header"),
        final_newline=bindparam("new_final_newline"),
        live_points=playbooks.c.live_points + bindparam("more_points"),
    )
)
_HIGHEST_ID = select(func.max(key_points.c.id)).where(key_points.c.playbook_id == _OF_PLAYBOOK)
_ALL_IDS = select(key_points.c.name, key_points.c.id).where(key_points.c.playbook_id == _OF_PLAYBOOK)
_IDS = _ALL_IDS.where(key_points.c.name.in_(bindparam("names", expanding=True)))


@dataclass(frozen=True, slots=True)
class NewRevision:
    """What is to be kept as one revision.

    `header` is the playbook's header afterwards; `tells_header` whether more of it changes than `last_updated`,
    which is `time` otherwise. `took_back` are the revisions that it undoes. `actor` is who made it.
    """

    time: str
    source: str
    header: Header
    tells_header: bool = False
    message: str | None = None
    session_id: str | None = None
    actor: str = field(default_factory=settings.actor)
    changes: Sequence[Change] = ()
    votes: Sequence[Vote] = ()
    skipped: Sequence[Skipped] = ()
    took_back: RevisionRange | None = None


def append(connection: Connection, playbook_id: int, number: int, new: NewRevision) -> None:
    """Keep *new* as the playbook's revision *number*, the next one, and let the points follow."""
    header = header_columns(new.header)
    connection.execute(
        _INSERT_REVISION,
        {
            "playbook_id": playbook_id,
            "number": number,
            "time": new.time,
            "source": new.source,
            "actor": new.actor,
            "session_id": new.session_id,
            "message": new.message,
            "took_back_from": new.took_back.first if new.took_back else None,
            "took_back_to": new.took_back.last if new.took_back else None,
            **(header if new.tells_header else dict.fromkeys(header)),
        },
    )
    ids = _write_points(connection, playbook_id, number, new.changes, _vote_names(new.votes))
    _write_changes(connection, playbook_id, number, new.changes, ids)
    _write_votes(connection, playbook_id, number, new.votes, ids)
    _write_skipped(connection, playbook_id, number, new.skipped)
    connection.execute(
        _SET_HEADER,
        {
            "of_playbook": playbook_id,
            "new_header": header["header"],
            "new_final_newline": header["final_newline"],
            "more_points": _more_points(new.changes),
        },
    )


def _more_points(made: Iterable[Change]) -> int:
    """By how many *made* lets the live points grow."""
    first: dict[str, str] = {}
    last: dict[str, str] = {}
    for change in made:
        first.setdefault(change.point.name, change.kind)
        last[change.point.name] = change.kind
    came = sum(kind in ("add", "restore") for kind in first.values())
    left = sum(kind == "retire" for kind in last.values())
    return came - left


def _vote_names(taken: Iterable[Vote]) -> set[str]:
    return {vote.name for vote in taken if vote.matched}


def _write_points(
    connection: Connection, playbook_id: int, revision: int, made: Sequence[Change], also: set[str]
) -> dict[str, int]:
    """Bring the points to where *made* leaves them; the numbers of all points that are named, by name."""
    last = {change.point.name: change for change in made}
    ids = _ids(connection, playbook_id, set(last) | also)
    fresh, kept = [], []
    next_id = 0
    if not ids.keys() >= last.keys():
        next_id = (connection.scalar(_HIGHEST_ID, {"of_playbook": playbook_id}) or 0) + 1
    for name, change in last.items():
        leaves = change.kind == "retire"
        state = {
            "section": SECTION_SLUGS[change.point.section],
            "position": change.point.position,
            "text": change.point.text,
            "helpful": change.point.helpful,
            "harmful": change.point.harmful,
            "retired_in": revision if leaves else None,
            "retired_reason": change.reason if leaves else None,
            "rank": prompt_text.rank(change.point.helpful, change.point.harmful, revision),
        }
        if name in ids:
            renamed = {f"new_{key}": value for key, value in state.items()}
            kept.append({"of_playbook": playbook_id, "of_point": ids[name], **renamed})
        else:
            ids[name], next_id = next_id, next_id + 1
            fresh.append({"playbook_id": playbook_id, "id": ids[name], "name": name, "created_in": revision, **state})
    if fresh:
        connection.execute(_INSERT_POINTS, fresh)
    if kept:
        connection.execute(_UPDATE_POINT, kept)
    return ids


def _ids(connection: Connection, playbook_id: int, names: set[str]) -> dict[str, int]:
    if not names:
        return {}
    if len(names) <= _FEW:
        rows = connection.execute(_IDS, {"of_playbook": playbook_id, "names": list(names)})
    else:
        rows = connection.execute(_ALL_IDS, {"of_playbook": playbook_id})
    return {name: number for name, number in rows if name in names}


def _write_changes(
    connection: Connection, playbook_id: int, revision: int, made: Sequence[Change], ids: dict[str, int]
) -> None:
    if not made:
        return
    connection.execute(
        _INSERT_CHANGES,
        [
            {
                "playbook_id": playbook_id,
                "revision": revision,
                "seq": seq,
                "point_id": ids[change.point.name],
                "kind": change.kind,
                "section": SECTION_SLUGS[change.point.section],
                "position": change.point.position,
                "helpful": change.point.helpful,
                "harmful": change.point.harmful,
                "text": change.point.text if change.reworded else None,
                "reason": change.reason,
                "successor_id": ids.get(change.successor) if change.successor else None,
            }
            for seq, change in enumerate(made, 1)
        ],
    )


def _write_votes(
    connection: Connection, playbook_id: int, revision: int, taken: Sequence[Vote], ids: dict[str, int]
) -> None:
    if taken:
        connection.execute(
            _INSERT_VOTES,
            [
                {
                    "playbook_id": playbook_id,
                    "revision": revision,
                    "seq": seq,
                    "point_id": ids[vote.name] if vote.matched else None,
                    "name": None if vote.matched else vote.name,
                    "tag": vote.tag,
                    "rationale": vote.rationale,
                }
                for seq, vote in enumerate(taken, 1)
            ],
        )


def _write_skipped(connection: Connection, playbook_id: int, revision: int, skipped: Sequence[Skipped]) -> None:
    if skipped:
        connection.execute(
            _INSERT_SKIPPED,
            [
                {
                    "playbook_id": playbook_id,
                    "revision": revision,
                    "seq": item.index + 1,
                    "operation": _operation_text(item.item),
                    "reason": item.reason,
                }
                for item in skipped
            ],
        )


def _operation_text(operation: object) -> str:
    """*operation* as JSON; of a huge one its beginning, as a JSON string."""
    text = json.dumps(operation, default=str, ensure_ascii=False)
    if not text.isascii() and text.encode("utf-8", "replace").decode("utf-8") != text:
        text = json.dumps(operation, default=str)  # half a surrogate pair can be kept as an escape only
    return text if len(text) <= _KEPT_OPERATION_LENGTH else json.dumps(text[:_KEPT_OPERATION_LENGTH] + "…")
