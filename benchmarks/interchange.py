"""A large playbook file in and out, beside the least that any program must do: json and executemany."""

import json
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from benchmarks import isolated, raw, samples, sandbox
from benchmarks.figures import Figures, mebibytes, ratio, times
from benchmarks.isolated import Measured
from playbook_db.domain import playbook_file
from playbook_db.domain.sections import SECTION_SLUGS
from playbook_db.services.playbook import import_export
from playbook_db.services.project import Project
from playbook_db.store.engine import open_store

Begin = Callable[[], object]

_PLAIN_TABLES = """
CREATE TABLE key_points (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, section TEXT NOT NULL,
                         position INTEGER NOT NULL, text TEXT NOT NULL, helpful INTEGER NOT NULL,
                         harmful INTEGER NOT NULL);
CREATE TABLE changes (revision INTEGER NOT NULL, seq INTEGER NOT NULL, point_id INTEGER NOT NULL, kind TEXT NOT NULL,
                      section TEXT NOT NULL, position INTEGER NOT NULL, helpful INTEGER NOT NULL,
                      harmful INTEGER NOT NULL, text TEXT, PRIMARY KEY (revision, seq)) WITHOUT ROWID;
"""


def run(folder: Path, *, quick: bool) -> Figures:
    """Import and export of 100,000 points, each in a process of its own."""
    points, rounds = (100_000, 3) if not quick else (200, 1)
    source = folder / "large.json"
    source.write_text(samples.file_text(points), encoding="utf-8")
    works = {
        "import": ("import_ours", "import_plain", "import_same_schema"),
        "export": ("export_ours", "export_plain"),
    }
    rows = []
    for direction, (ours, *others) in works.items():
        found: dict[str, list[Measured]] = {ours: [], **{other: [] for other in others}}
        for _ in range(rounds):
            for work, taken in found.items():
                taken.append(_once(folder, work, source))
        rows += [(f"{direction} {_WORDS[work]}", *_cells(taken, found[ours])) for work, taken in found.items()]
    return Figures(
        f"A file of {points:,} points ({mebibytes(source.stat().st_size)}) in and out",
        ("", "time", "ours / this", "peak memory", "of it at start", "ours / this"),
        rows,
        ("medians of rounds in turns, each in a process of its own; memory ratio: of the peaks",),
    )


_WORDS = {
    "import_ours": "playbook-db",
    "import_plain": "json.load + executemany, bare tables",
    "import_same_schema": "json.load + executemany, our schema",
    "export_ours": "playbook-db",
    "export_plain": "SELECT + json.dump(indent=2)",
}


def _cells(taken: list[Measured], ours: list[Measured]) -> tuple[str, ...]:
    peak = statistics.median(m.peak_bytes for m in taken)
    return (
        f"{statistics.median(m.seconds for m in taken):.2f} s",
        times(ratio([m.seconds for m in ours], [m.seconds for m in taken])),
        mebibytes(peak),
        mebibytes(statistics.median(m.start_bytes for m in taken)),
        times(statistics.median(m.peak_bytes for m in ours) / peak),
    )


def _once(folder: Path, work: str, source: Path) -> Measured:
    """One measurement, in a folder of its own; exports read the database that an import of ours left."""
    with tempfile.TemporaryDirectory(dir=folder) as inner:
        place = Path(inner)
        if work.startswith("export"):
            isolated.measured(f"{__name__}:import_ours", place, folder=inner, source=str(source))
        return isolated.measured(f"{__name__}:{work}", place, folder=inner, source=str(source))


def import_ours(begin: Begin, folder: str, source: str) -> float:
    """Decode the file and import it, as `playbook import` does; the seconds."""
    with open_store(sandbox.database_url(Path(folder))) as store:
        project = Project.in_folder(store, str(sandbox.project_folder(Path(folder))))
        begin()
        started = time.perf_counter()
        reading = playbook_file.decode(Path(source).read_bytes(), source=source)
        import_export.import_playbook(project, reading, source=source)
        return time.perf_counter() - started


def export_ours(begin: Begin, folder: str, source: str) -> float:
    """Write the playbook's file, as `playbook export -o` does; the seconds."""
    target = Path(folder) / "out.json"
    with open_store(sandbox.database_url(Path(folder))) as store:
        project = Project.in_folder(store, str(sandbox.project_folder(Path(folder))))
        begin()
        started = time.perf_counter()
        target.write_bytes(import_export.export_playbook(project).encode("utf-8"))
        seconds = time.perf_counter() - started
    assert target.read_bytes() == Path(source).read_bytes(), "the export isn't the file that was imported"
    return seconds


def import_plain(begin: Begin, folder: str, source: str) -> float:
    """The same rows into tables without checks, triggers, references or further indexes; the seconds."""
    with closing(raw.connect(str(Path(folder) / "plain.db"))) as connection:
        connection.executescript(_PLAIN_TABLES)
        begin()
        started = time.perf_counter()
        points = _load_points(source)
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany("INSERT INTO key_points VALUES (?, ?, ?, ?, ?, ?, ?)", points)
        connection.executemany(
            "INSERT INTO changes VALUES (1, ?, ?, 'add', ?, ?, ?, ?, ?)",
            ((i, i, section, i, helpful, harmful, text) for i, _, section, _, text, helpful, harmful in points),
        )
        connection.execute("COMMIT")
        return time.perf_counter() - started


def import_same_schema(begin: Begin, folder: str, source: str) -> float:
    """The same rows into our own schema, checks, triggers, references and indexes included; the seconds."""
    path = sandbox.database_path(Path(folder))
    open_store(sandbox.database_url(Path(folder))).close()
    with closing(raw.connect(path)) as connection:
        begin()
        started = time.perf_counter()
        points = _load_points(source)
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO playbooks (id, key, created_at) VALUES (1, 'bare', 'now')")
        connection.execute(
            "INSERT INTO revisions (playbook_id, number, time, source, actor) VALUES (1, 1, 'now', 'import', 'bare')"
        )
        connection.executemany(
            "INSERT INTO key_points (playbook_id, created_in, id, name, section, position, text, helpful, harmful)"
            " VALUES (1, 1, ?, ?, ?, ?, ?, ?, ?)",
            points,
        )
        connection.executemany(
            "INSERT INTO changes (playbook_id, revision, seq, point_id, kind, section, position, helpful, harmful,"
            " text) VALUES (1, 1, ?, ?, 'add', ?, ?, ?, ?, ?)",
            ((i, i, section, i, helpful, harmful, text) for i, _, section, _, text, helpful, harmful in points),
        )
        connection.execute("COMMIT")
        return time.perf_counter() - started


def export_plain(begin: Begin, folder: str, source: str) -> float:
    """Read the live points and write them with `json.dump(indent=2)`; the seconds."""
    titles = {slug: title for title, slug in SECTION_SLUGS.items()}
    with closing(sqlite3.connect(sandbox.database_path(Path(folder)))) as connection:
        begin()
        started = time.perf_counter()
        sections: dict[str, list[dict[str, object]]] = {title: [] for title in SECTION_SLUGS}
        for _, name, text, section, helpful, harmful, _ in raw.read_live(connection, 1):
            entry = {"name": name, "text": text, "helpful": helpful, "harmful": harmful}
            sections[titles[str(section)]].append(entry)
        with open(Path(folder) / "out.json", "w", encoding="utf-8") as file:
            json.dump({"version": "1.0", "last_updated": None, "sections": sections}, file, indent=2)
        return time.perf_counter() - started


def _load_points(source: str) -> list[tuple[object, ...]]:
    with open(source, encoding="utf-8") as file:
        data = json.load(file)
    entries = ((SECTION_SLUGS[title], entry) for title, listed in data["sections"].items() for entry in listed)
    return [
        (i, e["name"], section, i, e["text"], e["helpful"], e["harmful"]) for i, (section, e) in enumerate(entries, 1)
    ]
