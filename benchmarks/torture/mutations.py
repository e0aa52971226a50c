"""Damaged and hostile playbook files: each is imported without loss, or refused without a change."""

import contextlib
import io
import json
import random
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from benchmarks import sandbox
from benchmarks.torture.mutants import mutant
from benchmarks.torture.promises import promise
from playbook_db.cli.main import main as playbook
from playbook_db.domain import playbook_file
from playbook_db.domain.playbook_file import Reading
from playbook_db.errors import PlaybookFileError
from playbook_db.services import maintenance
from playbook_db.services.playbook import dict_api, import_export
from playbook_db.services.project import Project, read_playbook
from playbook_db.store.engine import Store

_BY_COMMAND = 10  # every so many go through `playbook import` too
_AS_MIRROR = 7  # every so many stand as a mirror too


@dataclass(slots=True)
class Mutations:
    """The numbers of files tried, accepted and refused, and how many also by the command and as a mirror."""

    tried: int = 0
    taken_in: int = 0
    refused: int = 0
    by_command: int = 0
    as_mirror: int = 0


def run(folder: Path, *, count: int, seed: int) -> Mutations:
    """Try *count* files drawn from *seed*. Raises AssertionError if a promise is broken, and leaves the file."""
    found = Mutations()
    file = folder / "mutant.json"
    with sandbox.opened(folder) as (store, project):
        sandbox.fill(project, 12)
        for number in range(count):
            data = mutant(random.Random(f"{seed}-{number}"))
            file.write_bytes(data)
            try:
                _try(store, folder, number, data, found)
                if number % _BY_COMMAND == 0:
                    _by_command(store, project, file, found)
                if number % _AS_MIRROR == 0:
                    _as_mirror(store, folder, number, data, found)
            except Exception as broken:
                raise AssertionError(f"file {number} of seed {seed}, kept as {file}: {broken!r}") from broken
        problems = maintenance.check(store)
        promise(not problems, f"the database is not sound: {problems}")
    return found


def _try(store: Store, folder: Path, number: int, data: bytes, found: Mutations) -> None:
    """Decode the file, and save it in a new playbook if that works."""
    found.tried += 1
    reading = _reading(data, rename_duplicates=number % 3 == 0)
    if reading is None:
        found.refused += 1
        return
    found.taken_in += 1
    project = Project.in_folder(store, str(folder / f"p{number}"))
    import_export.import_playbook(project, reading, source="mutant")
    kept = read_playbook(project)
    promise(kept.content == _in_order(reading), "what was taken in is not what the file holds")
    text = import_export.export_playbook(project)
    again = playbook_file.decode(text, source="the export")
    promise(_in_order(again) == kept.content, "the export holds something else")
    promise(json.loads(text).keys() >= {"sections"}, "the export has no sections")
    before = _state(store)
    import_export.import_playbook(project, again, source="mutant")
    promise(_state(store)[1:] == before[1:], "taking in its own export changed points")


def _by_command(store: Store, project: Project, file: Path, found: Mutations) -> None:
    """`playbook import` accepts the file (exit code 0) or explains why not (1), without a traceback."""
    found.by_command += 1
    before = _state(store)
    said = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
        code = playbook(["import", str(file)])
    promise(code in (0, 1), f"exit code {code}: {said.getvalue()[-2000:]}")
    promise((code == 0) == (_reading(file.read_bytes()) is not None), f"exit code {code}, but decode says otherwise")
    promise(code == 0 or _state(store) == before, "a refused file changed the database")


def _as_mirror(store: Store, folder: Path, number: int, data: bytes, found: Mutations) -> None:
    """A program can load the playbook despite any mirror; a refused mirror changes nothing."""
    found.as_mirror += 1
    project = Project.in_folder(store, str(folder / f"m{number}"))
    mirror = Path(project.mirror_path)
    mirror.parent.mkdir(parents=True)
    mirror.write_bytes(data)
    before = _state(store)
    loaded, notes = dict_api.load(project)
    if _reading(data) is None:
        promise(_state(store) == before, "a refused mirror changed the database")
        promise(notes, "a mirror was refused without a word")
        kept = [path.read_bytes() for path in mirror.parent.iterdir()]
        promise(data in kept, "a refused mirror's bytes are gone")
    names = [entry["name"] for listed in loaded["sections"].values() for entry in listed]
    promise(names == [point.name for point in read_playbook(project).points], "what was loaded is not the playbook")


def _reading(data: bytes, *, rename_duplicates: bool = False) -> Reading | None:
    """The decoded file, or None if it is refused."""
    try:
        return playbook_file.decode(data, source="mutant", rename_duplicates=rename_duplicates)
    except PlaybookFileError as error:
        promise(str(error).startswith("mutant"), f"a refusal that names no file: {error}")
        return None


def _in_order(reading: Reading) -> tuple[tuple[str, str, str, int, int], ...]:
    return reading.playbook.content


def _state(store: Store) -> tuple[int, ...]:
    """How many revisions, changes and points there are."""
    with closing(sqlite3.connect(str(store.url.database))) as connection:
        return tuple(
            connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
            for table in ("revisions", "changes", "key_points")
        )
