"""Writing the append-only history: a revision, with what it does to the points."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlalchemy import BindParameter, bindparam, func, insert, select, update

from playbook_db.domain import prompt_text
from playbook_db.domain.playbook import Change, Header, Skipped, Vote
from playbook_db.domain.sections import SECTION_SLUGS
from playbook_db.domain.undo import RevisionRange
from playbook_db.store.playbook_rows import PlaybookRows
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

    `header` is the playbook's header afterwards; `changes_header` whether more of it changes than `last_updated`, which
    is `time` otherwise. `undone` are the revisions that it undoes. `actor` is who made it.
    """

    time: str
    source: str
    actor: str
    header: Header
    changes_header: bool = False
    message: str | None = None
    session_id: str | None = None
    changes: Sequence[Change] = ()
    votes: Sequence[Vote] = ()
    skipped: Sequence[Skipped] = ()
    undone: RevisionRange | None = None


def _more_points(changed: Iterable[Change]) -> int:
    """By how many points *changed* lets the live ones grow."""
    first: dict[str, str] = {}
    last: dict[str, str] = {}
    for change in changed:
        first.setdefault(change.point.name, change.kind)
        last[change.point.name] = change.kind
    added = sum(kind in ("add", "restore") for kind in first.values())
    retired = sum(kind == "retire" for kind in last.values())
    return added - retired


def _vote_names(cast: Iterable[Vote]) -> set[str]:
    return {vote.name for vote in cast if vote.matched}


def _operation_text(operation: object) -> str:
    """*operation* as JSON; of a huge one its beginning, as a JSON string."""
    text = json.dumps(operation, default=str, ensure_ascii=False)
    if not text.isascii() and text.encode("utf-8", "replace").decode("utf-8") != text:
        text = json.dumps(operation, default=str)  # half a surrogate pair can be kept as an escape only
    return text if len(text) <= _KEPT_OPERATION_LENGTH else json.dumps(text[:_KEPT_OPERATION_LENGTH] + "…")


class RevisionWriter(PlaybookRows):
    """How the history of one playbook grows."""

    def append_revision(self, number: int, new: NewRevision) -> None:
        """Keep *new* as the playbook's revision *number*, the next one, and let the points follow."""
        header = header_columns(new.header)
        self.connection.execute(
            _INSERT_REVISION,
            {
                "playbook_id": self.playbook_id,
                "number": number,
                "time": new.time,
                "source": new.source,
                "actor": new.actor,
                "session_id": new.session_id,
                "message": new.message,
                "took_back_from": new.undone.first if new.undone else None,
                "took_back_to": new.undone.last if new.undone else None,
                **(header if new.changes_header else dict.fromkeys(header)),
            },
        )
        ids = self._write_points(number, new.changes, _vote_names(new.votes))
        self._write_changes(number, new.changes, ids)
        self._write_votes(number, new.votes, ids)
        self._write_skipped(number, new.skipped)
        self.connection.execute(
            _SET_HEADER,
            {
                "of_playbook": self.playbook_id,
                "new_header": header["header"],
                "new_final_newline": header["final_newline"],
                "more_points": _more_points(new.changes),
            },
        )

    def _write_points(self, revision: int, changed: Sequence[Change], voted: set[str]) -> dict[str, int]:
        """Bring the points to where *changed* leaves them; the numbers of these and of the *voted* points, by name."""
        last = {change.point.name: change for change in changed}
        ids = self._ids(set(last) | voted)
        new_points, updates = [], []
        next_id = 0
        if not ids.keys() >= last.keys():
            next_id = (self.connection.scalar(_HIGHEST_ID, {"of_playbook": self.playbook_id}) or 0) + 1
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
                new_state = {f"new_{key}": value for key, value in state.items()}
                updates.append({"of_playbook": self.playbook_id, "of_point": ids[name], **new_state})
            else:
                ids[name], next_id = next_id, next_id + 1
                new_points.append(
                    {"playbook_id": self.playbook_id, "id": ids[name], "name": name, "created_in": revision, **state}
                )
        if new_points:
            self.connection.execute(_INSERT_POINTS, new_points)
        if updates:
            self.connection.execute(_UPDATE_POINT, updates)
        return ids

    def _ids(self, names: set[str]) -> dict[str, int]:
        if not names:
            return {}
        if len(names) <= _FEW:
            rows = self.connection.execute(_IDS, {"of_playbook": self.playbook_id, "names": list(names)})
        else:
            rows = self.connection.execute(_ALL_IDS, {"of_playbook": self.playbook_id})
        return {name: number for name, number in rows if name in names}

    def _write_changes(self, revision: int, changed: Sequence[Change], ids: dict[str, int]) -> None:
        if not changed:
            return
        self.connection.execute(
            _INSERT_CHANGES,
            [
                {
                    "playbook_id": self.playbook_id,
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
                for seq, change in enumerate(changed, 1)
            ],
        )

    def _write_votes(self, revision: int, cast: Sequence[Vote], ids: dict[str, int]) -> None:
        if cast:
            self.connection.execute(
                _INSERT_VOTES,
                [
                    {
                        "playbook_id": self.playbook_id,
                        "revision": revision,
                        "seq": seq,
                        "point_id": ids[vote.name] if vote.matched else None,
                        "name": None if vote.matched else vote.name,
                        "tag": vote.tag,
                        "rationale": vote.rationale,
                    }
                    for seq, vote in enumerate(cast, 1)
                ],
            )

    def _write_skipped(self, revision: int, skipped: Sequence[Skipped]) -> None:
        if skipped:
            self.connection.execute(
                _INSERT_SKIPPED,
                [
                    {
                        "playbook_id": self.playbook_id,
                        "revision": revision,
                        "seq": item.index + 1,
                        "operation": _operation_text(item.item),
                        "reason": item.reason,
                    }
                    for item in skipped
                ],
            )


def header_columns(header: Header) -> dict[str, object]:
    """The columns `header` and `final_newline` that hold *header*."""
    fields = json.dumps(dict(header.fields), ensure_ascii=False, allow_nan=False)
    return {"header": fields, "final_newline": int(header.final_newline)}
