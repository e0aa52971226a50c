"""Read the playbooks in a damaged database, page by page. The file is never written.

The pages in a table's own tree are read first, then all other pages. The number and types of a row's values identify
its table, even without a schema. If there are several copies of a row, the best one is used.
"""

import functools
import json
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection, Insert, Table, Text, Update, insert, select, update
from sqlalchemy.exc import IntegrityError

from playbook_db.domain.erasure import MARK, Eraser
from playbook_db.domain.exact_json import write_json
from playbook_db.domain.merging.diff import longest_increasing
from playbook_db.domain.merging.salvaging import SavedPoint, changed_in, is_damaged, settle
from playbook_db.domain.playbook import Header, KeyPoint, why_name_unusable
from playbook_db.domain.sections import SLUG_SECTIONS, is_users_name
from playbook_db.projects import USER_KEY
from playbook_db.store import tables
from playbook_db.store.at_hand import WINDOW
from playbook_db.store.playbook import erasure
from playbook_db.store.playbook.repository import Mirror, PlaybookRepository, all_keys
from playbook_db.store.revision_log import header_of
from playbook_db.store.sqlite.page_reader import LEAF_TABLE, SCHEMA_PLACE, Pages, Record

_BESIDE = (tables.transcripts, tables.jobs, tables.model_calls, tables.memberships, tables.proposals)
_OWN = (tables.playbooks, tables.heads, tables.revisions, tables.key_points, tables.extra_fields, tables.changes)
_TABLES = (*_OWN, tables.erasures, tables.mirrors, *_BESIDE)
_SETTINGS = ("kind", "mirror", "ignored")
_KINDS = {
    "changes": ("add", "vote", "edit", "move", "retire", "restore"),
    "proposals": ("ADD", "UPDATE", "MERGE", "DELETE", "VOTE"),
}
# Indexes that still contain keys and names if the page of a row is lost.
_KEYS, _IDS, _NAMES = "sqlite_autoindex_playbooks_1", "sqlite_autoindex_key_points_1", "sqlite_autoindex_key_points_2"
_MIRROR = "/.claude/playbook.json"

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class SavedPlaybook:
    """The readable part of a playbook. `number` is its number in the damaged file.

    `keys` are its possible keys, the likeliest first. `header` is None if unreadable. `times` are its revisions' times.
    `settings` are columns of its row in `playbooks`. `beside` has the rows of its cursors, jobs, calls, membership and
    proposals. `extras` are the additional fields of points, by number.
    """

    number: int
    keys: tuple[str, ...]
    header: Header | None
    times: Mapping[int, str]
    points: tuple[SavedPoint, ...]
    mirror_paths: tuple[str, ...]
    settings: Row
    beside: Mapping[str, list[Row]]
    extras: Mapping[int, str]

    @property
    def last_revision(self) -> int:
        """The highest number of a revision in all readable rows."""
        return max([0, *self.times, *(each.revision for each in self.points)])

    def descends_from(self, times: Mapping[int, str]) -> bool:
        """Return whether a backup is an earlier state of this playbook, given the backup's revision *times*. A revision
        never changes its time, so a copy that has diverged has other times."""
        last, common = max(self.times, default=0), self.times.keys() & times.keys()
        if common and self.times[max(common)] != times[max(common)]:
            return False
        is_last_known = self.header is not None and self.header.last_updated == self.times.get(last)
        return not is_last_known or max(times, default=0) <= last


def read(pages: Pages) -> list[SavedPlaybook]:
    """Return what can be read of each playbook in *pages*."""
    roots = _roots(pages)
    rows = _read_rows(pages, roots)
    index_keys, index_names = _read_indexes(pages, roots)
    saved = []
    for number in sorted(
        {number for table in (tables.playbooks, tables.key_points, tables.changes) for number in rows[table.name]}
    ):
        own = {name: of_playbooks.get(number, []) for name, of_playbooks in rows.items()}
        row, head = (next(iter(own[name]), {}) for name in ("playbooks", "heads"))
        paths = tuple(mirror["path"] for mirror in own["mirrors"])
        points = tuple(_points(number, own, index_names))
        keys = (row.get("key"), index_keys.get(number), *(path.removesuffix(_MIRROR) for path in paths))
        if any(is_users_name(each.point.name) for each in points):
            keys += (USER_KEY,)
        saved.append(
            SavedPlaybook(
                number,
                tuple(key for key in keys if key and key.strip()),
                _header(head),
                _times(own["revisions"]),
                points,
                paths,
                {name: row[name] for name in _SETTINGS if name in row},
                {table.name: own[table.name] for table in _BESIDE},
                {row["point_id"]: row["fields"] for row in own["extra_fields"] if _is_object(row["fields"])},
            )
        )
    return saved


def is_foreign(pages: Pages) -> bool:
    """Return whether the database is another program's: its schema is readable, but has none of our tables."""
    roots = _roots(pages)
    return bool(roots) and not roots.keys() & tables.metadata.tables.keys()


def schema(pages: Pages) -> int:
    """Return the schema's version in the file's header if Alembic's table has the same version, else 0."""
    stated = int.from_bytes(pages.page(1)[SCHEMA_PLACE], "big") % WINDOW
    for number in pages.tree(_roots(pages).get("alembic_version", 0)):
        if any(record.values == (f"{stated:04d}",) for record in pages.records(number)):
            return stated
    return 0


def revision_times(connection: Connection, playbook_id: int) -> dict[int, str]:
    """Return the time of each revision of the playbook, by number."""
    query = select(tables.revisions.c.number, tables.revisions.c.time).filter_by(playbook_id=playbook_id)
    return dict(connection.execute(query).all())


def point_names(connection: Connection, playbook_id: int) -> dict[int, str]:
    """Return the name of each live and retired point of the playbook, by number."""
    query = select(tables.key_points.c.id, tables.key_points.c.name).filter_by(playbook_id=playbook_id)
    return dict(connection.execute(query).all())


def agrees_with_indexes(connection: Connection, pages: Pages) -> bool:
    """Return whether the database that SQLite copied from *pages* has the same keys and names as the old indexes. If
    not, rows or indexes were damaged, and SQLite's new indexes hide that."""
    keys, names = _read_indexes(pages, _roots(pages))
    held = {number: point_names(connection, number) for number in keys}
    return all(key == keys.get(number, key) for number, key in all_keys(connection).items()) and all(
        name == held.get(number, {}).get(point, name) for (number, point), name in names.items()
    )


def put_rest(book: PlaybookRepository, saved: SavedPlaybook, revision: int | None) -> None:
    """Replace the playbook's settings, cursors, jobs, calls, membership and proposals with the *saved* ones.

    The points were already added in *revision*; mark the forgotten ones as forgotten again. Treat the mirrors as never
    read, since their revisions are lost.
    """
    connection, playbook_id = book.connection, book.playbook_id
    names = {each.point.name for each in saved.points if each.is_forgotten}
    points = [point for point in erasure.read_points(connection, playbook_id) if point.name in names]
    if points and revision is not None:
        eraser = Eraser(erasure.wordings(connection, playbook_id, {point.id for point in points}))
        fields = list(erasure.find(connection, playbook_id, eraser, points))
        erasure.erase(book, fields, points, revision=revision, by="name")
    for path in {*book.mirror_paths(), *saved.mirror_paths}:
        book.note_mirror(path, Mirror(None, ""))
    statements: list[Insert | Update] = []
    if saved.settings:
        statements.append(update(tables.playbooks).where(tables.playbooks.c.id == playbook_id).values(saved.settings))
    for table in _BESIDE:
        replacing = insert(table).prefix_with("OR REPLACE", dialect="sqlite")
        own = {"playbook_id": playbook_id} | (
            {"revision": None} if table is tables.proposals else {}
        )  # its revision is lost
        statements += [replacing.values(row | own) for row in saved.beside[table.name]]
    for statement in statements:
        with suppress(IntegrityError), connection.begin_nested():  # a row that fails a check is damaged
            connection.execute(statement)


def _header(row: Row) -> Header | None:
    with suppress(KeyError, ValueError, RecursionError, AttributeError):
        header = header_of(row["header"], row["final_newline"])
        if "sections" in dict(header.fields):
            write_json(dict(header.fields)).encode()
            return header
    return None


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _times(rows: Iterable[Row]) -> dict[int, str]:
    """Return the time of each revision in *rows*, by number. Times that are out of order are damaged: skip them."""
    times = sorted((row["number"], row["time"]) for row in rows)
    return dict(times[place] for place in longest_increasing([time for _, time in times]))


def _points(
    playbook_number: int, own: Mapping[str, list[Row]], names: Mapping[tuple[int, int], str]
) -> Iterator[SavedPoint]:
    """Yield the points whose text is readable, and the forgotten points."""
    forgotten = {name for row in own["erasures"] for name in _names_in(row["points"])}
    changed = _last_changes(own["changes"])
    stored = {row["id"]: _stored(row) for row in own["key_points"]}
    for number in sorted(changed.keys() | stored.keys()):
        saved = functools.reduce(settle, [source[number] for source in (stored, changed) if number in source])
        saved = saved.named(names.get((playbook_number, number), ""))
        if saved.point.name in forgotten:
            forgotten.discard(saved.point.name)
            yield replace(saved, point=replace(saved.point, text=MARK), is_live=False)
        elif saved.point.text.strip():
            yield saved
    for name in sorted(forgotten):
        yield SavedPoint(0, KeyPoint(name, MARK), is_live=False)


def _stored(row: Row) -> SavedPoint:
    is_live = row.get("retired_in") is None
    reason = None if is_live else row["retired_reason"]
    return SavedPoint(row["id"], _point(row, _name(row["name"]), row["text"]), is_live, _changed_in(row), reason)


def _name(text: str) -> str:
    """Return *text* if it is a valid name, else ""."""
    return "" if is_damaged(text) or why_name_unusable(text) else text


def _last_changes(rows: list[Row]) -> dict[int, SavedPoint]:
    """Return the state of each point after its last change, by number."""
    last: dict[int, SavedPoint] = {}
    for row in sorted(rows, key=lambda row: (row["revision"], row["seq"])):
        number, is_live = row["point_id"], row["kind"] != "retire"
        text = row["text"] if row["text"] is not None or number not in last else last[number].point.text
        last[number] = SavedPoint(
            number, _point(row, "", text or ""), is_live, row["revision"], None if is_live else row["reason"]
        )
    return last


def _point(row: Row, name: str, text: str) -> KeyPoint:
    return KeyPoint(name, text, SLUG_SECTIONS[row["section"]], row["helpful"], row["harmful"], row["position"])


def _changed_in(row: Row) -> int:
    return changed_in(row["helpful"], row["harmful"], row.get("rank", 0.0))


def _names_in(points: str) -> list[str]:
    try:
        return [name for name in json.loads(points) if isinstance(name, str) and _name(name)]
    except (ValueError, TypeError, RecursionError):
        return []


def _read_rows(pages: Pages, roots: Mapping[str, int]) -> dict[str, dict[int, list[Row]]]:
    """Return the rows of each table, grouped by the number of their playbook."""
    candidates: dict[str, list[Row]] = {table.name: [] for table in _TABLES}
    reached: set[int] = set()
    for table in _TABLES:
        for number in pages.tree(roots.get(table.name, 0)):
            of_page = _rows_of(table, pages.kind(number), pages.records(number))
            candidates[table.name] += of_page
            reached |= {number} if of_page else set()
    others = [(number, None) for number in range(1, pages.count + 1) if number not in reached]
    for number, copy in [*others, *pages.older]:
        records = list(pages.records(number, copy))
        for table in _TABLES:
            candidates[table.name] += _rows_of(table, pages.kind(number, copy), records)
    candidates["key_points"].sort(key=lambda row: -_changed_in(row))
    rows: dict[str, dict[int, list[Row]]] = {}
    for table in _TABLES:
        owner, *key = [column.name for column in table.primary_key.columns]
        best: dict[tuple[Any, ...], Row] = {}
        for row in candidates[table.name]:
            best.setdefault((row[owner], *(row[name] for name in key)), row)
        rows[table.name] = defaultdict(list)
        for (number, *_), row in best.items():
            rows[table.name][number].append(row)
    return rows


def _rows_of(table: Table, kind: int, records: Iterable[Record]) -> list[Row]:
    """Return the *records* of a page that are rows of *table*. *kind* is the page's kind. A table without rowids is
    ordered by its primary key, so rows out of order are damaged."""
    if table.dialect_options["sqlite"]["with_rowid"] != (kind == LEAF_TABLE):
        return []
    rows = [row for record in records if (row := _row_of(table, record)) is not None]
    if kind == LEAF_TABLE or not rows:
        return rows
    key = [column.name for column in table.primary_key.columns]
    return [rows[place] for place in longest_increasing([tuple(row[name] for name in key) for row in rows])]


def _row_of(table: Table, record: Record) -> Row | None:
    """Return *record* as a row of *table*, or None if it is no such row. A row from before a migration lacks the last
    columns."""
    columns, least = _columns(table)
    values = record.values
    if table in (tables.playbooks, tables.heads) and values and values[0] is None:
        values = (record.rowid, *values[1:])
    if not least <= len(values) <= len(columns):
        return None
    for value, (_, types, is_nullable) in zip(values, columns, strict=False):
        if not is_nullable if value is None else type(value) not in types:
            return None
        if type(value) is float and not math.isfinite(value):
            return None
    row: Row = {name: value for value, (name, _, _) in zip(values, columns, strict=False)}
    if row.get("section", "oth") not in SLUG_SECTIONS or min(row.get("helpful", 0), row.get("harmful", 0)) < 0:
        return None
    kinds = _KINDS.get(table.name)
    return None if kinds and row["kind"] not in kinds else row


@functools.cache
def _columns(table: Table) -> tuple[list[tuple[str, tuple[type, ...], bool]], int]:
    """Return the table's columns, each with its Python types and whether it may be NULL. Also return the lowest number
    of values in a row, since columns that a migration added may be missing."""
    columns: list[tuple[str, tuple[type, ...], bool]] = []
    least = 0
    for place, column in enumerate(table.columns, 1):
        kind = str if isinstance(column.type, Text) else column.type.python_type
        columns.append((column.name, (int, float) if kind is float else (kind,), bool(column.nullable)))
        least = least if column.nullable or column.server_default is not None else place
    return columns, least


def _roots(pages: Pages) -> dict[str, int]:
    """Return the root page of each table and index in the readable part of the schema."""
    roots: dict[str, int] = {}
    in_tree = list(pages.tree(1))
    for number in [*in_tree, *(set(range(1, pages.count + 1)) - set(in_tree))]:
        if pages.kind(number) != LEAF_TABLE:
            continue
        for record in pages.records(number):
            match record.values:
                case ("table" | "index", str(name), str(), int(root), _):
                    roots.setdefault(name, root)
    return roots


def _read_indexes(pages: Pages, roots: Mapping[str, int]) -> tuple[dict[int, str], dict[tuple[int, int], str]]:
    """Return the keys of playbooks and the names of points from the indexes. A name must be in two indexes."""

    def entries(index: str, *types: type) -> Iterator[tuple[Any, ...]]:
        for number in pages.tree(roots.get(index, 0)):
            for record in pages.records(number):
                if tuple(map(type, record.values)) == types:
                    yield record.values

    keys = {rowid: key for key, rowid in entries(_KEYS, str, int)}
    by_rowid = {(playbook, rowid): _name(name) for playbook, name, rowid in entries(_NAMES, int, str, int)}
    ids = entries(_IDS, int, int, int)
    return keys, {(book, point): by_rowid[book, rowid] for book, point, rowid in ids if (book, rowid) in by_rowid}
