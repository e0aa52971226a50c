"""A home, a database and a project of their own for what is measured: nothing of this machine's user is touched."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from benchmarks import samples
from playbook_db.domain import playbook_file
from playbook_db.services.playbook import import_export
from playbook_db.services.project import Project
from playbook_db.store.engine import Store, open_store

ROOT = Path(__file__).resolve().parent.parent


def environment(folder: Path) -> dict[str, str]:
    """The variables of a process that lives in *folder*: its home, database and project are there, made if need be.

    Nothing else of our own variables is in it but where programs are found.
    """
    for name in ("home", "project/.claude"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "PYTHONPATH": str(ROOT),
        "HOME": str(folder / "home"),
        "CLAUDE_CONFIG_DIR": str(folder / "home" / ".claude"),
        "PLAYBOOK_DB_URL": database_url(folder),
        "CLAUDE_PROJECT_DIR": str(project_folder(folder)),
    }


def database_path(folder: Path) -> str:
    """The database file of *folder*."""
    return str(folder / "playbook.db")


def database_url(folder: Path) -> str:
    """The database of *folder* as a URL."""
    return f"sqlite:///{database_path(folder)}"


def project_folder(folder: Path) -> Path:
    """The project of *folder*."""
    return folder / "project"


@contextmanager
def living_in(variables: Mapping[str, str]) -> Iterator[None]:
    """This process with *variables* and no others, for as long as the block lasts."""
    before = dict(os.environ)
    os.environ.clear()
    os.environ.update(variables)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


@contextmanager
def opened(folder: Path) -> Iterator[tuple[Store, Project]]:
    """The database and the project of *folder*, in its environment. If there is no database, it is created."""
    with living_in(environment(folder)), open_store(database_url(folder)) as store:
        yield store, Project.in_folder(store, str(project_folder(folder)))


def fill(project: Project, points: int) -> None:
    """Import the sample file of *points* points into the playbook of *project*."""
    reading = playbook_file.decode(samples.file_text(points), source="sample")
    import_export.import_playbook(project, reading, source="sample")
