"""kill -9 at any moment: the database is sound, no batch is applied in part, and no finished change is lost.

The next command brings the mirror up to date.
"""

import contextlib
import io
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType

from benchmarks import sandbox
from benchmarks.torture import groups
from benchmarks.torture.promises import promise
from benchmarks.torture.victim import BALLOT
from playbook_db.cli.main import main as playbook
from playbook_db.domain import playbook_file
from playbook_db.services import maintenance
from playbook_db.services.playbook import edit, import_export
from playbook_db.services.project import Project
from playbook_db.services.sharing import mirror
from playbook_db.store.playbook.repository import PlaybookRepository

_LIVES = 10  # kills of one database, then a new one: its making is killed too
_LONGEST_LIFE_S = 0.6  # of a victim, from its first command on
_DEADLY = (  # where a victim may kill itself: the steps of a write, each file as often as any other
    *(
        "services/playbook/edit",
        "services/playbook/import_export",
        "services/sharing/mirror",
        "services/opening",
        "store/engine",
    ),
    *("store/playbook/repository", "store/playbook/revisions", "store/sqlite/sqlite_dialect", "store/migrate"),
)


@dataclass(slots=True)
class Kills:
    """The kills by the clock and at a chosen line, the places that they hit, and the results."""

    by_clock: int = 0
    at_a_line: int = 0
    commands_done: int = 0
    hit: Counter[str] = field(default_factory=Counter)  # the kind of command that was under way
    before_a_database: int = 0
    mirror_current: int = 0
    mirror_one_behind: int = 0
    mirror_with_an_edit: int = 0
    mirror_none_yet: int = 0
    temporaries_left: int = 0


@dataclass(slots=True)
class _Life:
    """The votes that one database must have, and an edit of the mirror that may not be merged yet."""

    folder: Path
    votes: int | None = None
    edited: bytes | None = None


@dataclass(frozen=True, slots=True)
class _Death:
    """How a victim died, by its own signal or ours, and its output."""

    by_itself: bool
    told: list[str]


def run(folder: Path, *, count: int, seed: int) -> Kills:
    """Kill *count* victims at moments drawn from *seed*. Raises AssertionError if a promise is broken."""
    rng = random.Random(seed)
    found = Kills()
    places = _places()
    life: _Life | None = None
    for number in range(count):
        if life is None or number % _LIVES == 0:
            life = _Life(Path(tempfile.mkdtemp(prefix=f"life-{number}-", dir=folder)))
        death = _kill_one(life, number, rng, places if number % 2 else [])
        found.at_a_line += death.by_itself
        found.by_clock += not death.by_itself
        try:
            _look(life, death, found)
            if rng.random() < 0.5:
                _edit_mirror(life, behind=rng.random() < 0.5)
        except AssertionError as broken:
            told = "\n  ".join(death.told[-6:])
            raise AssertionError(
                f"{broken}\n(kill {number} of seed {seed}, in {life.folder}; the victim's last words:\n  {told})"
            ) from None
    return found


def _kill_one(life: _Life, number: int, rng: random.Random, places: list[tuple[str, list[int]]]) -> _Death:
    command = [sys.executable, "-m", "benchmarks.torture.victim", str(life.folder), f"v{number}", str(rng.random())]
    if places:
        file, lines = rng.choice(places)
        command += ["--place", file, str(rng.choice(lines)), str(rng.choice((1, 1, 2, 5)))]
    lifetime = rng.uniform(0, _LONGEST_LIFE_S) if not places else 3 * _LONGEST_LIFE_S
    with (
        tempfile.TemporaryFile("w+") as errors,
        subprocess.Popen(
            command,
            env=sandbox.environment(life.folder),
            cwd=sandbox.ROOT,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        ) as victim,
    ):
        assert victim.stdout is not None
        first = victim.stdout.readline()
        with contextlib.suppress(subprocess.TimeoutExpired):
            victim.wait(lifetime)
        victim_died = victim.poll()
        victim.kill()
        told = [first.strip(), *victim.stdout.read().splitlines()]
        victim.wait()
        errors.seek(0)
        promise(
            victim_died in (None, -signal.SIGKILL), f"the victim ended by itself: {told[-1:]}\n{errors.read()[-3000:]}"
        )
    return _Death(victim_died is not None, told)


def _look(life: _Life, death: _Death, found: Kills) -> None:
    """Check everything that must hold right after a kill, and after the next command."""
    last = death.told[-1].split()
    found.hit["between" if last[0] != "begin" else last[1]] += 1
    found.commands_done += sum(line.startswith("done") for line in death.told)
    path = sandbox.database_path(life.folder)
    with sandbox.living_in(sandbox.environment(life.folder)):
        if not os.path.exists(path) or not _is_made(path):
            found.before_a_database += 1
            promise(_run_command("list") == 0, "`playbook list` can't make the database that a kill prevented")
        with sandbox.opened(life.folder) as (store, project):
            problems = maintenance.check(store)
            promise(not problems, f"the database is not sound: {problems}")
            _check_batches(path, death)
            _check_mirror(life, project, found)
            promise(_run_command("list") == 0, "`playbook list` fails after the kill")
            if mirror.state(project) == "on":
                text = import_export.export_playbook(project).encode()
                promise(Path(project.mirror_path).read_bytes() == text, "the next command left the mirror behind")
            _check_votes(life, path, death)
            life.edited = None


def _is_made(path: str) -> bool:
    with closing(sqlite3.connect(path)) as connection:
        found = connection.execute("PRAGMA integrity_check").fetchall()
        promise(found == [("ok",)], f"integrity_check: {found[:3]}")
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    promise(bool(version) == bool(tables), f"half a migration: schema {version}, {tables} tables and indexes")
    return bool(version)


def _check_batches(path: str, death: _Death) -> None:
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT name, text, retired_in IS NULL FROM key_points").fetchall()
        texts = [text for (text,) in connection.execute("SELECT text FROM changes WHERE text IS NOT NULL")]
    live = [(name, text) for name, text, is_live in rows if is_live]
    retired = [(name, text) for name, text, is_live in rows if not is_live]
    halves = groups.halves(live, retired)
    promise(not halves, f"half a batch: {halves}")
    kept = {(groups.group_of(text) or "").partition("/")[0] for text in texts}
    done = {line.split()[2] for line in death.told if line.split()[:2] in _ADDING}
    promise(done <= kept, f"done and lost: {sorted(done - kept)}")


_ADDING = [["done", kind] for kind in ("import", "add", "reword")]


def _check_mirror(life: _Life, project: Project, found: Kills) -> None:
    """The mirror is the playbook as it is or as it was one revision before, or what somebody made of it."""
    beside = set(os.listdir(os.path.dirname(project.mirror_path))) - {"playbook.json"}
    promise(beside <= {"playbook.json.tmp"}, f"files were left beside the mirror: {sorted(beside)}")
    found.temporaries_left += len(beside)
    try:
        data = Path(project.mirror_path).read_bytes()
    except FileNotFoundError:
        found.mirror_none_yet += 1
        return
    try:
        json.loads(data)
    except ValueError as error:
        raise AssertionError(f"the mirror is no JSON: {error}") from None
    if data == life.edited:
        found.mirror_with_an_edit += 1
        return
    with project.store.snapshot() as connection:
        past = PlaybookRepository(connection, project.key)
        current, before = (playbook_file.encode(past.at(past.revision - back)).encode() for back in (0, 1))
    promise(data in (current, before), f"the mirror is more than one revision behind {past.revision}")
    found.mirror_current += data == current
    found.mirror_one_behind += data != current


def _check_votes(life: _Life, path: str, death: _Death) -> None:
    """Every vote that was done counts once, by whichever way it came."""
    with closing(sqlite3.connect(path)) as connection:
        row = connection.execute("SELECT helpful FROM key_points WHERE name = ?", (BALLOT,)).fetchone()
    if row is None:
        promise(life.votes is None, "the ballot is lost")
        return
    done = sum(line.startswith("done vote") for line in death.told)
    under_way = death.told[-1].startswith("begin vote")
    if life.votes is not None:
        least = life.votes + done
        promise(
            least <= row[0] <= least + under_way,
            f"{BALLOT} must have {least} votes{' or one more' if under_way else ''}, and has {row[0]}",
        )
    life.votes = row[0]


def _edit_mirror(life: _Life, *, behind: bool) -> None:
    """Vote in the mirror, as a git pull does; with *behind*, on a mirror that lacks a revision of ours."""
    with sandbox.opened(life.folder) as (_, project):
        if life.votes is None or not os.path.exists(project.mirror_path):
            return
        content = json.loads(Path(project.mirror_path).read_bytes())
        for listed in content["sections"].values():
            for entry in listed:
                entry["helpful"] += entry["name"] == BALLOT
        if behind:
            edit.vote(project, BALLOT, "helpful")
            life.votes += 1
        life.edited = (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode()
        Path(project.mirror_path).write_bytes(life.edited)
        life.votes += 1


def _run_command(*arguments: str) -> int:
    """Run `playbook` with *arguments* as the next command would be, silently; its exit code."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        return playbook(list(arguments))


def _places() -> list[tuple[str, list[int]]]:
    """The files and their lines at which a victim may kill itself."""
    files = [sandbox.ROOT / "playbook_db" / f"{name}.py" for name in _DEADLY]
    return [(str(file), sorted(_lines(file))) for file in files]


def _lines(file: Path) -> set[int]:
    """The lines of the functions in *file*."""
    found: set[int] = set()
    waiting = list(compile(file.read_text(encoding="utf-8"), str(file), "exec").co_consts)
    while waiting:
        code = waiting.pop()
        if isinstance(code, CodeType):
            waiting += code.co_consts
            found.update(line for _, _, line in code.co_lines() if line is not None and line > code.co_firstlineno)
    return found
