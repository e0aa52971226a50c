"""Damaged databases: the check reports the damage, the hooks continue, and the repair starts from the backup."""

import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks import samples, sandbox
from benchmarks.torture.promises import promise
from playbook_db.domain import playbook_file
from playbook_db.errors import DatabaseError
from playbook_db.services import maintenance, repair
from playbook_db.services.playbook import edit, import_export
from playbook_db.services.project import Project, read_playbook
from playbook_db.store.engine import open_store
from playbook_db.store.upkeep.check import SEARCH_IS_WRONG

_HOOKS = sandbox.ROOT / "hooks"
PAGE = 4096
_SHARE_WITH_BACKUP = 0.8
_PATIENCE_S = 20.0
# What a hook ends with: where a busy machine lets no thread of it run, its last resort, of which the shell makes 0.
HOOK_ENDS = (0, -signal.SIGALRM)
_CONTENT = "SELECT playbook_id, number, message FROM revisions UNION ALL SELECT playbook_id, id, text FROM key_points"


@dataclass(frozen=True)
class _Original:
    """A sound database: its name, the bytes of the file and its log, and a backup of an earlier state."""

    name: str
    data: bytes
    log: bytes
    backup: bytes


@dataclass(slots=True)
class Damage:
    """The number of damaged databases, and in how many the check reported the damage. Of those, the backup replaced
    `replaced`, the history corrected `corrected`, and `refused` had no backup. `kinds` counts each kind of damage."""

    databases: int = 0
    found: int = 0
    replaced: int = 0
    corrected: int = 0
    refused: int = 0
    kinds: Counter[str] = field(default_factory=Counter)


def run(folder: Path, *, count: int, seed: int) -> Damage:
    """Damage, look and repair *count* times. Raises AssertionError if a promise is broken."""
    found = Damage()
    variables = sandbox.environment(folder)
    originals = _originals(folder)
    for number in range(count):
        rng = random.Random(f"{seed}-{number}")
        original = originals[number % len(originals)]
        kind = rng.choice(list(_DAMAGES if not original.log else {**_DAMAGES, **_LOG_DAMAGES}))
        damage = {**_DAMAGES, **_LOG_DAMAGES}[kind]
        data, log = damage(original.data, original.log, rng)
        has_backup = rng.random() < _SHARE_WITH_BACKUP
        _put(folder, data, log, original.backup if has_backup else b"")
        found.databases += 1
        found.kinds[kind] += 1
        with sandbox.living_in(variables):
            _try(folder, variables, found, f"damage {number} of seed {seed} ({kind} in {original.name})")
    return found


def _originals(folder: Path) -> list[_Original]:
    """Databases with and without a log."""
    with sandbox.opened(folder) as (store, project):
        _fill(project, Project.in_folder(store, str(folder / "home")))
        store.tidy()
        tidy = _read(folder, "tidy")
        for number in range(1, 6):
            edit.vote(project, next(iter(read_playbook(project).by_name)), "helpful")
            edit.add(project, f"a point that stands in the log alone, number {number}")
        logged = _read(folder, "logged", tidy.data)
    return [tidy, logged]


def _fill(project: Project, other: Project) -> None:
    for each, points in ((project, 60), (other, 12)):
        text = samples.file_text(points).replace('"text": "', f'"text": "for {points}: ')  # no two say the same
        reading = playbook_file.decode(text, source="sample")
        import_export.import_playbook(each, reading, source="sample")
        names = list(read_playbook(each).by_name)
        for turn, name in enumerate(names):
            if turn % 3 == 0:
                edit.vote(each, name, "helpful" if turn % 2 else "harmful")
            if turn % 7 == 0:
                edit.edit(each, name, text=f"reworded, {turn} of {len(names)}: what was said of {name} before")
            if turn % 11 == 5:
                edit.retire(each, name, reason="it didn't help")


def _read(folder: Path, name: str, backup: bytes = b"") -> _Original:
    path = Path(sandbox.database_path(folder))
    log_path = Path(f"{path}-wal")
    data, log = path.read_bytes(), log_path.read_bytes() if log_path.exists() else b""
    return _Original(name, data, log, backup or data)


def _put(folder: Path, data: bytes, log: bytes, backup: bytes) -> None:
    path = sandbox.database_path(folder)
    for left in folder.glob("playbook.db*"):
        shutil.rmtree(left) if left.is_dir() else left.unlink()
    for left in (folder / "home" / ".claude", folder / "backups"):
        shutil.rmtree(left, ignore_errors=True)
    Path(path).write_bytes(data)
    if log:
        Path(f"{path}-wal").write_bytes(log)
    if backup:
        (folder / "backups").mkdir()
        (folder / "backups" / "playbook-20260101T000000Z.db").write_bytes(backup)


def _try(folder: Path, variables: Mapping[str, str], found: Damage, what: str) -> None:
    path = Path(sandbox.database_path(folder))
    url = sandbox.database_url(folder)
    before = _files(path)
    problems = maintenance.check_database(url).problems
    promise(_files(path) == before, f"{what}: the check changed the file")
    for hook, event in (("inject", "SessionStart"), ("enqueue", "SessionEnd")):
        run_hook(folder, hook, event, variables, what)
    before = _files(path)
    backup = next((folder / "backups").glob("*.db"), None)
    found.found += bool(problems)
    try:
        repaired = repair.repair(url, folder=str(sandbox.project_folder(folder)))
    except DatabaseError as error:
        promise(problems and backup is None, f"{what}: {error}")
        promise(_files(path) == before, f"{what}: a file that can't be repaired must stay as it is")
        found.refused += 1
        return
    if not repaired.is_damaged:
        is_index_alone = problems == (SEARCH_IS_WRONG,)  # the repair rebuilds it and reports nothing
        promise(not problems or is_index_alone, f"{what}: the check found {problems[:1]}, the repair nothing")
    elif repaired.corrected:
        found.corrected += 1
    else:
        found.replaced += 1
        _see_aside(repaired.aside or "", before, what)
        promise(backup and _content(backup) <= _content(path), f"{what}: rows of the backup are missing")
    with open_store(url) as store:
        left = maintenance.check(store)
    promise(not left, f"{what}: after the repair {left}")


def _content(path: Path) -> set[tuple[int, int, str]]:
    with closing(sqlite3.connect(path)) as connection:
        return set(connection.execute(_CONTENT))


def _files(path: Path) -> dict[str, bytes]:
    """The database file, and its log if it has content."""
    found = {"": path.read_bytes()}
    log = Path(f"{path}-wal")
    if log.exists() and log.stat().st_size:
        found["-wal"] = log.read_bytes()
    return found


def _see_aside(aside: str, before: dict[str, bytes], what: str) -> None:
    for suffix, data in before.items():
        promise(os.path.exists(aside + suffix), f"{what}: {aside + suffix} is not there")
        promise(Path(aside + suffix).read_bytes() == data, f"{what}: {aside + suffix} is not what was damaged")


def cut_off_a_write(path: Path) -> None:
    """Leave half a transaction in the database at *path*, and the journal that undoes it, as a kill does."""
    copy = path.with_suffix(".cut-off")
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.execute("PRAGMA cache_size = 1")  # so that SQLite writes pages into the file before the commit
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("PRAGMA user_version = 999")
        connection.execute("CREATE TABLE half AS SELECT randomblob(500000) AS data")
        for suffix in ("", "-journal"):
            shutil.copy(f"{path}{suffix}", f"{copy}{suffix}")
        connection.execute("ROLLBACK")
    with copy.open("rb+") as file:  # SQLite writes the first page at the end, and a kill may come after it
        file.seek(60)  # the schema's number
        file.write((999).to_bytes(4))
    for suffix in ("-journal", ""):
        os.replace(f"{copy}{suffix}", f"{path}{suffix}")


def run_hook(folder: Path, hook: str, event: str, variables: Mapping[str, str], what: str) -> None:
    payload = {
        "session_id": "s", "transcript_path": "/t/s.jsonl", "cwd": str(sandbox.project_folder(folder)),
        "hook_event_name": event, "source": "startup",
    }  # fmt: skip
    done = subprocess.run(
        [os.path.realpath(sys.executable), "-I", "-S", str(_HOOKS / f"{hook}.py"), "user", shutil.which("true") or ""],
        input=json.dumps(payload).encode(), capture_output=True, env=dict(variables), timeout=_PATIENCE_S, check=False,
    )  # fmt: skip
    promise(done.returncode in HOOK_ENDS and not done.stderr, f"{what}: {hook} ended with {done.returncode}: {done}")
    if hook == "inject" and (done.stdout or done.returncode == 0):
        promise(isinstance(json.loads(done.stdout), dict), f"{what}: inject said {done.stdout[:200]!r}")


Harm = Callable[[bytes, bytes, random.Random], tuple[bytes, bytes]]


def _turned(data: bytes, rng: random.Random, count: int, least: int = 0) -> bytes:
    made = bytearray(data)
    for _ in range(count):
        made[rng.randrange(least, len(made))] = rng.randrange(256)
    return bytes(made)


def _over(data: bytes, place: int, new: bytes) -> bytes:
    return (data[:place] + new + data[place + len(new) :])[: len(data)]


def _turn_bytes(data: bytes, log: bytes, rng: random.Random) -> tuple[bytes, bytes]:
    return _turned(data, rng, rng.choice((1, 5, 30, 200))), log


def _zero_pages(data: bytes, log: bytes, rng: random.Random) -> tuple[bytes, bytes]:
    for _ in range(rng.choice((1, 1, 3, 8))):
        data = _over(data, rng.randrange(len(data) // PAGE) * PAGE, bytes(PAGE))
    return data, log


def _truncate(data: bytes, log: bytes, rng: random.Random) -> tuple[bytes, bytes]:
    return data[: rng.randrange(PAGE, len(data))], log


def _destroy_header(data: bytes, log: bytes, rng: random.Random) -> tuple[bytes, bytes]:
    return _over(data, 0, rng.choice((bytes(100), rng.randbytes(100), rng.randbytes(16)))), log


def _zero_first_page(data: bytes, log: bytes, _rng: random.Random) -> tuple[bytes, bytes]:
    return _over(data, 0, bytes(PAGE)), log


def _write_garbage(data: bytes, log: bytes, rng: random.Random) -> tuple[bytes, bytes]:
    return _over(data, rng.randrange(len(data)), rng.randbytes(rng.choice((50, 3000, 20_000)))), log


def _miscount_pages(data: bytes, log: bytes, rng: random.Random) -> tuple[bytes, bytes]:
    place = rng.choice((16, 28, 32, 36))  # the size of a page, how many, the free ones
    return _over(data, place, rng.randbytes(2 if place == 16 else 4)), log


def _cut_log(data: bytes, log: bytes, rng: random.Random) -> tuple[bytes, bytes]:
    return data, log[: rng.randrange(len(log))]


def _garble_log(data: bytes, log: bytes, rng: random.Random) -> tuple[bytes, bytes]:
    return data, _turned(log, rng, rng.choice((1, 10)))


def _empty(_data: bytes, log: bytes, _rng: random.Random) -> tuple[bytes, bytes]:
    return b"", log


_DAMAGES: dict[str, Harm] = {
    "bytes turned": _turn_bytes,
    "pages zeroed": _zero_pages,
    "truncated": _truncate,
    "header destroyed": _destroy_header,
    "first page zeroed": _zero_first_page,
    "garbage": _write_garbage,
    "pages miscounted": _miscount_pages,
}
_LOG_DAMAGES: dict[str, Harm] = {"log cut": _cut_log, "log garbled": _garble_log, "emptied": _empty}
