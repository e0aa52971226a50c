"""kill -9 while a text is forgotten, a state or a backup put back, a damaged file repaired, or a database upgraded.

Each kill hits one command on a copy of the same database. Right after it the hooks answer, and the playbooks are
what they were or what they become; the same command then ends the work, and nothing else is different.
"""

import contextlib
import io
import json
import multiprocessing
import os
import random
import shutil
import signal
import sqlite3
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from benchmarks import samples, sandbox
from benchmarks.torture import damage
from benchmarks.torture.promises import promise
from benchmarks.torture.victim import die_at
from playbook_db.cli.main import main as playbook
from playbook_db.domain import playbook_file
from playbook_db.services import maintenance
from playbook_db.services.playbook import edit, import_export
from playbook_db.services.sharing import mirror
from playbook_db.store import migrate
from playbook_db.store.sqlite_open import SCHEMA

FORGOTTEN = "quarterdeck-lantern-forty-one"
_LIMIT_S = 120.0
_NURSERY = multiprocessing.get_context("forkserver")  # a command's imports take longer than its work
_NURSERY.set_forkserver_preload(
    ["__main__", "playbook_db.services.repair", "playbook_db.services.playbook.forget", __name__]
)
_POINTS = "SELECT name, section, text, helpful, harmful, retired_in IS NULL FROM key_points"
_NEXT = f'''
import sqlalchemy as sa
from alembic import op
revision, down_revision, branch_labels, depends_on = "{SCHEMA + 1:04d}", "{SCHEMA:04d}", None, None

def upgrade() -> None:
    op.add_column("key_points", sa.Column("note", sa.Text))
    op.execute("UPDATE key_points SET note = text")
'''

Content = frozenset[tuple[object, ...]]


@dataclass(frozen=True, slots=True)
class _Kind:
    """A command, where it may kill itself, and what happens to the database before it."""

    arguments: Callable[[Path], list[str]]
    places: tuple[str, ...]
    harm: Callable[[Path], None] = lambda _: None


@dataclass(frozen=True, slots=True)
class _End:
    """What a command comes to that isn't killed, how long it takes, and the places that it comes through."""

    content: Content
    took_s: float
    lines: list[tuple[str, int]]


@dataclass(slots=True)
class Upkeep:
    """How many were killed by the clock and at a line; of each kind of command how many, and how many of these had
    changed nothing yet or were through (of a repair it can't be told)."""

    by_clock: int = 0
    at_a_line: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    as_before: int = 0
    as_after: int = 0


def run(folder: Path, *, count: int, seed: int) -> Upkeep:
    """Kill *count* commands at moments drawn from *seed*. Raises AssertionError where a promise is broken."""
    found = Upkeep()
    life, original = folder / "life", folder / "original"
    _make(life)
    life.rename(original)
    ends: dict[str, _End] = {}
    number = 0
    before = _content(original)
    while found.by_clock + found.at_a_line < count:
        number += 1
        rng = random.Random(f"{seed}-{number}")
        kind = list(_KINDS)[number % len(_KINDS)]
        what = f"kill {number} of seed {seed} ({kind}), in {life}"
        if kind not in ends:  # once in peace: what it comes to, and how long it takes
            _begin_anew(life, original, kind)
            began = time.monotonic()
            code, said = _finish(life, kind, notes_lines=True)
            promise(code == 0, f"{kind}, not killed, ended with {code}: {said}")
            lines = json.loads((life / "lines").read_text(encoding="utf-8"))
            ends[kind] = _End(_content(life), time.monotonic() - began, lines)
        _begin_anew(life, original, kind)
        _try(life, kind, None if kind == "repair" else before, ends[kind], rng, found, what)
    shutil.rmtree(life, ignore_errors=True)
    return found


def _make(life: Path) -> None:
    """A database with a history, a mirror and a backup, and one point that holds the secret."""
    with sandbox.opened(life) as (_, project):
        mirror.switch(project, on=True)
        import_export.import_playbook(
            project, playbook_file.decode(samples.file_text(40), source="sample"), source="sample"
        )
        edit.add(project, f"the word is {FORGOTTEN}", section="OTHERS")
        maintenance.take(sandbox.database_url(life))
        for text in ("a second thought", "a third one"):
            edit.add(project, text, section="OTHERS")
        edit.vote(project, samples.playbook(40).points[0].name, "helpful")
        mirror.sync(project)


def _begin_anew(life: Path, original: Path, kind: str) -> None:
    shutil.rmtree(life, ignore_errors=True)
    shutil.copytree(original, life)
    _KINDS[kind].harm(life)


def _try(
    life: Path, kind: str, before: Content | None, end: _End, rng: random.Random, found: Upkeep, what: str
) -> None:
    damaged = {_file(life)}
    by_itself = rng.random() < 0.5
    place = (*rng.choice(end.lines), rng.choice((1, 1, 1, 2))) if by_itself else None
    victim = _NURSERY.Process(target=_work, args=(sandbox.environment(life), _arguments(life, kind), kind, place))
    victim.start()
    victim.join(_LIMIT_S if by_itself else rng.uniform(0, end.took_s))
    victim.kill()
    victim.join()
    promise(victim.exitcode in (0, -signal.SIGKILL), f"{what}: it ended by itself with {victim.exitcode}")
    killed = victim.exitcode != 0
    found.at_a_line += killed and by_itself
    found.by_clock += killed and not by_itself
    found.kinds[kind] += killed
    for hook, event in (("inject", "SessionStart"), ("enqueue", "SessionEnd")):
        if not kind.startswith("upgrade"):  # the hooks of this version refuse the next one's database
            damage.run_hook(life, hook, event, sandbox.environment(life), what)
    now = _content(life) if _is_sound(life) else None
    promise(kind == "repair" or now in (before, end.content), f"{what}: neither what it was nor what it becomes")
    found.as_before += before is not None and now == before
    found.as_after += now == end.content
    damaged = {*damaged, _file(life)}  # a hook may have noted a job in it
    code, said = _finish(life, kind)
    promise(code == 0, f"{what}: the same command then ends with {code}: {said}")
    promise(_is_sound(life), f"{what}: the database is not sound afterwards")
    promise(
        _content(life) == end.content, f"{what}: {sorted(_content(life) ^ end.content, key=str)[:3]} differ in the end"
    )
    if kind == "restore-backup":
        code, said = _finish(life, kind, ["list"])
        promise(code == 0, f"{what}: the next command ends with {code}: {said}")
        promise(_content(life) == end.content, f"{what}: the next command brings back {_content(life) ^ end.content}")
    if kind == "forget":
        left = [str(file) for file in life.rglob("*") if file.is_file() and FORGOTTEN.encode() in file.read_bytes()]
        promise(not left, f"{what}: what was forgotten still stands in {left}")
    if kind == "repair":
        kept = any(file.is_file() and file.read_bytes() in damaged for file in life.rglob("playbook.db*"))
        promise(kept, f"{what}: the damaged file is not there any more")
    if kind.startswith("upgrade"):
        backups = [each for each in (life / "backups").glob("*.db") if _content_of(each) == before]
        promise(backups, f"{what}: no backup holds what was there before")


def _finish(life: Path, kind: str, command: list[str] | None = None, *, notes_lines: bool = False) -> tuple[int, str]:
    """Run the command, or another *command*, to its end, and for an erasure the worker too, which ends what was begun;
    code and last words. With *notes_lines* the places that it comes through are noted."""
    path = life / "said"
    noted = str(life / "lines") if notes_lines else None
    for arguments in (command or _arguments(life, kind), *([["work"]] if kind == "forget" else [])):
        process = _NURSERY.Process(
            target=_work, args=(sandbox.environment(life), arguments, kind, None, str(path), noted)
        )
        process.start()
        noted = None  # of the command, not of the worker after it
        process.join(_LIMIT_S)
        process.kill()
        process.join()
        told = path.read_text(encoding="utf-8") if path.exists() else ""
        path.unlink(missing_ok=True)
        if process.exitcode and not (kind == "forget" and process.exitcode == 1 and "forgotten" in told):
            return process.exitcode, told[-3000:]
    return 0, ""


def _arguments(life: Path, kind: str) -> list[str]:
    return _KINDS[kind].arguments(life)


def _work(
    environment: Mapping[str, str],
    arguments: list[str],
    kind: str,
    place: tuple[str, int, int] | None,
    said: str = os.devnull,
    noted: str | None = None,
) -> None:
    """The command, in a process of its own, which kills itself at *place*."""
    os.environ.clear()
    os.environ.update(environment)
    if kind.startswith("upgrade"):
        versions = Path(environment["HOME"], "migrations")
        migrate.SCHEMA = SCHEMA + 1  # type: ignore[misc]
        migrate.migrations_folder = lambda: str(versions)
    if place is not None:
        die_at(*place)
    if noted is not None:
        files = {str(sandbox.ROOT / "playbook_db" / f"{name}.py") for name in _KINDS[kind].places}
        lines = _note_lines(files)
    with (
        open(said, "w", encoding="utf-8") as file,
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(file),
    ):
        code = playbook(arguments)
    if noted is not None:
        sys.settrace(None)
        Path(noted).write_text(json.dumps(sorted(lines)), encoding="utf-8")
    sys.exit(code)


def _note_lines(files: set[str]) -> set[tuple[str, int]]:
    """The lines of *files* that this process comes through from now on."""
    lines: set[tuple[str, int]] = set()

    def at_line(frame: FrameType, event: str, _: Any) -> Any:
        if event == "line":
            lines.add((frame.f_code.co_filename, frame.f_lineno))
        return at_line

    sys.settrace(lambda frame, _event, _arg: at_line if frame.f_code.co_filename in files else None)
    return lines


def _file(life: Path) -> bytes:
    """The database file, empty where there is none."""
    path = Path(sandbox.database_path(life))
    return path.read_bytes() if path.exists() else b""


def _content(life: Path) -> Content:
    return _content_of(Path(sandbox.database_path(life)))


def _content_of(path: Path) -> Content:
    """The points in the database at *path*, live and retired."""
    with closing(sqlite3.connect(path)) as connection:
        return frozenset(connection.execute(_POINTS))


def _is_sound(life: Path) -> bool:
    try:
        with closing(sqlite3.connect(sandbox.database_path(life))) as connection:
            return connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    except sqlite3.DatabaseError:
        return False


def _zero_a_page(life: Path) -> None:
    """Lose a page with points in the database at *life*: the one on which the point stands that was added last."""
    path = Path(sandbox.database_path(life))
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    data = path.read_bytes()
    page = data.rindex(b"a third one") // damage.PAGE
    path.write_bytes(data[: page * damage.PAGE] + bytes(damage.PAGE) + data[(page + 1) * damage.PAGE :])


def _add_migration(life: Path) -> None:
    folder = life / "home" / "migrations"
    shutil.copytree(migrate.migrations_folder(), folder)
    (folder / "versions" / f"{SCHEMA + 1:04d}_note.py").write_text(_NEXT, encoding="utf-8")


def _cut_off_its_first_write(life: Path) -> None:
    _add_migration(life)
    damage.cut_off_a_write(Path(sandbox.database_path(life)))


def _first_backup(life: Path) -> str:
    """The one taken by hand: by its time it need not be the first, as a machine's clock may be put back."""
    return str(next((life / "backups").glob("playbook-*Z.db")))


def _secret_point(life: Path) -> str:
    """The name of the point that holds the secret, or once held it."""
    with closing(sqlite3.connect(sandbox.database_path(life))) as connection:
        query = "SELECT name FROM key_points WHERE text LIKE ? OR text = '[forgotten]'"
        return str(connection.execute(query, (f"%{FORGOTTEN}%",)).fetchone()[0])


_STORE = ("store/engine", "store/sqlite/sqlite_dialect", "store/sqlite/sqlite_files")
_UPGRADE = (lambda _: ["db", "upgrade"], ("store/migrate", "store/sqlite/backups", *_STORE))
_KINDS = {
    "forget": _Kind(
        lambda life: ["forget", _secret_point(life), "--yes"],
        (
            "services/playbook/forget",
            "store/playbook/erased_rows",
            "store/upkeep/database_file",
            "store/sqlite/backups",
            *_STORE,
        ),
    ),
    "restore": _Kind(
        lambda _: ["restore", "--at", "2"],
        ("services/playbook/undo", "services/sharing/mirror", "store/playbook/revisions", *_STORE),
    ),
    "restore-backup": _Kind(
        lambda life: ["restore-backup", _first_backup(life), "--yes"],
        ("services/maintenance", "store/sqlite/restore", "store/sqlite/backups", *_STORE),
    ),
    "repair": _Kind(
        lambda _: ["db", "repair", "--yes"],
        ("services/repair", "store/sqlite/backups", "store/sqlite/restore", *_STORE),
        _zero_a_page,
    ),
    "upgrade": _Kind(*_UPGRADE, _add_migration),
    "upgrade after a kill at its first write": _Kind(*_UPGRADE, _cut_off_its_first_write),
}  # fmt: skip
