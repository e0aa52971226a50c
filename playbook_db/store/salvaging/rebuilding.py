"""A fresh database out of what was salvaged, and out of a backup where that has more.

Each playbook whose rows are all there and agree is taken over as it was. In any other the gaps are filled, and one
closing revision says what its history lacks; its revisions then carry no `last_updated`, so that no file is taken to
descend from a state that is known in part only, and its mirrors count as never seen.
"""

import os
import sqlite3
from contextlib import closing

from playbook_db.store.salvaging.gathering import Account
from playbook_db.store.salvaging.rebuilt_playbook import RebuiltPlaybook
from playbook_db.store.salvaging.salvage import Salvaged
from playbook_db.store.salvaging.staging import TABLES
from playbook_db.store.sqlite import dialect

# The playbook of that number in the backup, if it is the same one: a revision or a point of it is in both.
_SAME_IN_BACKUP = """
SELECT key FROM b.playbooks WHERE id = :id AND (
    EXISTS (SELECT 1 FROM s.revisions AS r JOIN b.revisions AS o USING (playbook_id, number, time)
            WHERE r.playbook_id = :id)
    OR EXISTS (SELECT 1 FROM s.key_points AS k JOIN b.key_points AS o USING (playbook_id, id, name, text)
               WHERE k.playbook_id = :id)
)
"""
# What stands in both at the same place of the history, and whether it is the same: by the revisions, and where none of
# them is left by their changes.
_IN_BOTH = (
    """SELECT number, r.time = o.time AS is_same FROM s.revisions AS r JOIN b.revisions AS o USING (number)
    WHERE r.playbook_id = :here AND o.playbook_id = :there""",
    """SELECT revision AS number, (c.point_id, c.kind, c.section, c.position, c.helpful, c.harmful)
        = (o.point_id, o.kind, o.section, o.position, o.helpful, o.harmful) AS is_same
    FROM s.changes AS c JOIN b.changes AS o USING (revision, seq)
    WHERE c.playbook_id = :here AND o.playbook_id = :there""",
)
_HISTORY = {"revisions": "number", "changes": "revision", "votes": "revision", "skipped_operations": "revision"}
_LEAST_REVISION_BYTES = 40  # in the file; there can't have been more revisions than fit


def rebuild(path: str, staging: str, salvaged: Salvaged, *, size_bytes: int, backup: str | None, now: str) -> Account:
    """Fill the fresh, empty database in *path* from the staging of a damaged file, and from that of a *backup*.

    *size_bytes* are of both together. *now* is the time of the closing revisions.
    """
    account = Account()
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("ATTACH ? AS s", (staging,))
        connection.execute("ATTACH ? AS b", (backup or ":memory:",))
        connection.execute("BEGIN IMMEDIATE")
        for (name,) in connection.execute("SELECT name FROM main.sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f'DROP TRIGGER "{name}"')
        _settle_playbooks(connection, salvaged, account, with_backup=backup is not None, now=now)
        most = size_bytes // _LEAST_REVISION_BYTES
        rows = connection.execute("SELECT id, key FROM s.playbooks ORDER BY id").fetchall()
        for number, key in rows:
            of_backup = _backup_id(connection, key) if backup is not None else None
            if of_backup is not None:
                account.history_from_backup += _fill_history(connection, number, of_backup, salvaged.whole)
            RebuiltPlaybook(connection, salvaged, account, number, key, of_backup, now).carry_out(most)
        for statement in dialect.statements("triggers.sql"):
            connection.execute(statement)
        _count(connection, account)
        connection.execute("COMMIT")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return account


def _settle_playbooks(
    connection: sqlite3.Connection, salvaged: Salvaged, account: Account, *, with_backup: bool, now: str
) -> None:
    """See to it that each playbook of which something is there has its row, and bring those of the backup that are
    missing altogether."""
    known = dict(connection.execute("SELECT id, key FROM s.playbooks").fetchall())
    for number, key in salvaged.keys.items():  # of a row and its index one is damaged: a folder that is there is right
        if number in known and os.path.isdir(key) and not os.path.isdir(known[number]):
            known[number] = key
            connection.execute("UPDATE s.playbooks SET key = ? WHERE id = ?", (key, number))
    for number, key in list(known.items()):
        if [*known.values()].index(key) != [*known].index(number):  # the same key a second time: one of them is damaged
            known.pop(number)
            connection.execute("DELETE FROM s.playbooks WHERE id = ?", (number,))
    if "playbooks" not in salvaged.whole:
        for number in _orphans(connection):
            if number not in known:
                known[number] = _lost_key(connection, salvaged, number, set(known.values()), with_backup, account)
                connection.execute(
                    "INSERT INTO s.playbooks (id, key, mirror, created_at) VALUES (?, ?, "
                    "CASE WHEN EXISTS (SELECT 1 FROM s.mirrors WHERE playbook_id = ?) THEN 'found' "
                    "ELSE 'undecided' END, ?)",
                    (number, known[number], number, now),
                )
    if with_backup:
        for number, key in connection.execute("SELECT id, key FROM b.playbooks ORDER BY id").fetchall():
            if key not in known.values():
                here = number if number not in known else max(known) + 1
                known[here] = key
                _copy_over(connection, number, here)
                account.playbooks_from_backup.append(key)


def _orphans(connection: sqlite3.Connection) -> list[int]:
    """The playbooks that have points or texts, whether or not their own row is there."""
    return [
        number
        for (number,) in connection.execute(
            "SELECT playbook_id FROM s.key_points UNION SELECT playbook_id FROM s.changes WHERE text IS NOT NULL"
        ).fetchall()
        if 0 < number < 2**31
    ]


def _lost_key(
    connection: sqlite3.Connection, salvaged: Salvaged, number: int, used: set[str], with_backup: bool, account: Account
) -> str:
    """The key of a playbook whose row is lost: as its index, the backup or its mirror tell, else a made-up one."""
    told = [salvaged.keys.get(number)]
    if with_backup:
        told += [key for (key,) in connection.execute(_SAME_IN_BACKUP, {"id": number})]
    for (path,) in connection.execute("SELECT path FROM s.mirrors WHERE playbook_id = ?", (number,)):
        told.append(path.removesuffix("/.claude/playbook.json"))
    for key in told:
        if key and key.strip() and key not in used:
            return str(key)
    made_up = next(key for turn in range(len(used) + 1) if (key := f"/lost/playbook-{number}{'+' * turn}") not in used)
    account.unnamed.append(made_up)
    return made_up


def _copy_over(connection: sqlite3.Connection, number: int, here: int) -> None:
    """Put all rows of a playbook of the backup into the staging, where it is the playbook *here*."""
    for name, table in TABLES.items():
        key = "id" if name == "playbooks" else "playbook_id"
        columns = ", ".join(f'"{column.name}"' for column in table.columns if column.name != key)
        connection.execute(f"DELETE FROM s.{name} WHERE {key} = ?", (here,))
        connection.execute(
            f"INSERT INTO s.{name} ({key}, {columns}) SELECT ?, {columns} FROM b.{name} WHERE {key} = ?", (here, number)
        )


def _fill_history(connection: sqlite3.Connection, number: int, of_backup: int, whole: set[str]) -> int:
    """Put what the backup's history has more into the staging, as far as both went the same way; how many rows."""
    last, filled = _last_in_common(connection, number, of_backup), 0
    for name, revision in _HISTORY.items():
        if name not in whole:
            columns = ", ".join(f'"{column.name}"' for column in TABLES[name].columns if column.name != "playbook_id")
            filled += connection.execute(
                f"INSERT OR IGNORE INTO s.{name} (playbook_id, {columns}) SELECT ?, {columns} FROM b.{name} "
                f"WHERE playbook_id = ? AND {revision} <= ?",
                (number, of_backup, last),
            ).rowcount
    return filled


def _last_in_common(connection: sqlite3.Connection, here: int, there: int) -> int:
    """The last revision up to which the backup's playbook *there* has the same history as *here*: a revision never
    changes, so all before one that is the same are, and those after it until one isn't."""
    for pairs in _IN_BOTH:
        ((count, same),) = connection.execute(
            f"SELECT count(*), max(number) FILTER (WHERE is_same) FROM ({pairs})", {"here": here, "there": there}
        )
        if count:
            ((apart,),) = connection.execute(
                f"SELECT min(number) FROM ({pairs}) WHERE NOT is_same AND number > :same",
                {"here": here, "there": there, "same": same},
            )
            return 0 if same is None else apart - 1 if apart else 2**53
    return 0


def _backup_id(connection: sqlite3.Connection, key: str) -> int | None:
    row = connection.execute("SELECT id FROM b.playbooks WHERE key = ?", (key,)).fetchone()
    return row[0] if row else None


def _count(connection: sqlite3.Connection, account: Account) -> None:
    for name, statement in (
        ("points", "SELECT count(*) FROM main.key_points"),
        ("live_points", "SELECT count(*) FROM main.key_points WHERE retired_in IS NULL"),
        ("revisions", "SELECT count(*) FROM main.revisions"),
        ("changes", "SELECT count(*) FROM main.changes"),
        ("votes", "SELECT count(*) FROM main.votes"),
    ):
        setattr(account, name, connection.execute(statement).fetchone()[0])
