"""Commands that only read skip the services if they can, and print the same bytes."""

import json
import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from playbook_db.services import project as project_service
from playbook_db.services.reading import file_first
from playbook_db.store.sqlite_open import SCHEMA
from tests.cli.conftest import Playbook, Result

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
READS = (
    ["list", "--section", "pat", "--json"],
    ["list", "use", "--sort", "age", "-n", "5"],
    ["list", "--sort", "used"],
    ["list", "--retired"],
    ["list", "--proposed"],
    ["search", "use"],
    ["show", "pat-002", "--json"],
    ["show", "mis-003"],
    ["show", "r2", "--json"],
    ["why", "pat-002"],
    ["render"],
    ["log", "-n", "3"],
    ["log", "pat-002", "--source", "edit", "--json"],
    ["jobs", "--all", "--json"],
    ["sessions"],
    ["review"],
    ["project", "list"],
    ["backup", "--list"],
    ["db", "path"],
)
MISTAKES = (
    ["list", "--section", "no such"],
    ["show", "pat-999"],
    ["show", "99"],
    ["vote", "pat-999", "helpful"],
    ["retire", "mis-003"],
    ["restore", "pat-999", "--at", "1"],
    ["at", "no time"],
)
Run = Callable[..., Result]


@pytest.fixture
def opens(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Each database that the services have opened."""
    opened: list[str] = []
    real = project_service.open_store

    def open_store(url: str, **options: Any) -> project_service.Store:
        opened.append(url)
        return real(url, **options)

    monkeypatch.setattr(project_service, "open_store", open_store)
    return opened


@pytest.fixture
def through_services(playbook: Playbook, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command that reads through the services."""

    def run(*arguments: str) -> Result:
        with monkeypatch.context() as patch:
            patch.setattr(file_first, "from_file", lambda *_, **__: None)
            return playbook(*arguments)

    return run


@pytest.fixture
def realistic(playbook: Playbook) -> Playbook:
    """The command, for a playbook of 60 points with a history."""
    steps = (
        ["import", str(EXAMPLES / "realistic.json")],
        ["apply", str(EXAMPLES / "operations.json")],
        ["vote", "pat-002", "helpful"],
        ["edit", "pat-003", "--text", "two\nlines \x1b[31mred ünïcode \U0001f512"],
        ["retire", "mis-003", "--reason", "settled by\nthe linter"],
        ["retire", "ctx-002"],
        ["restore", "ctx-002"],
    )
    assert [playbook(*step).code for step in steps] == [0] * len(steps)
    return playbook


@pytest.mark.nightly(after=5)
@pytest.mark.parametrize("command", READS + MISTAKES, ids=" ".join)
def test_reads_without_services_print_the_same(realistic: Playbook, through_services: Run, command: list[str]) -> None:
    """The quick way reads the file without SQLAlchemy."""
    assert realistic(*command) == through_services(*command)


def test_reading_opens_no_store(realistic: Playbook, opens: list[str]) -> None:
    for state in ("off", "on"):
        realistic("mirror", state)
        opens.clear()

        assert [realistic(*command).code for command in READS] == [0] * len(READS)
        assert opens == []


def _newer(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {SCHEMA + 1}")


def _damaged(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[4096:] = os.urandom(len(content) - 4096)
    path.write_bytes(content)


def _not_utf_8(path: Path) -> None:
    """SQLite's message quotes the name, which its driver can't decode."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("UPDATE sqlite_master SET name = CAST(x'99' AS TEXT), sql = 'CREATE x' WHERE name = 'votes'")


@pytest.mark.nightly(after=1)
@pytest.mark.parametrize("harm", [_newer, _damaged, _not_utf_8])
def test_services_explain_an_unreadable_file(
    realistic: Playbook, through_services: Run, opens: list[str], harm: Callable[[Path], None]
) -> None:
    """The quick way never guesses."""
    path = Path(realistic("db", "path").out.strip())
    harm(path)
    harmed = shutil.copy(path, f"{path}.harmed")
    opens.clear()

    quick = realistic("list", "--json")
    assert (quick.code, quick.out) == (1, "")
    assert 1 <= len(opens) <= 2
    for beside in path.parent.glob(f"{path.name}*"):
        if str(beside) != harmed:
            beside.unlink()
    os.rename(harmed, path)

    assert quick == through_services("list", "--json")


@pytest.fixture
def mirror(realistic: Playbook, folder: Path) -> Path:
    """The mirror of the realistic playbook."""
    realistic("mirror", "on")
    return folder / ".claude" / "playbook.json"


def test_hand_edit_is_merged_before_a_read(realistic: Playbook, mirror: Path) -> None:
    """Even an edit that keeps the size of the file is seen."""
    name, text = (realistic("list", "--json").json[0][key] for key in ("name", "text"))
    reworded = text[:-1] + ("?" if text[-1] != "?" else "!")

    mirror.write_text(mirror.read_text().replace(json.dumps(text, ensure_ascii=False), json.dumps(reworded)))
    shown = realistic("show", name, "--json")

    assert shown.json["text"] == reworded
    assert "merged" in shown.err


def test_reading_restores_a_deleted_mirror(realistic: Playbook, mirror: Path) -> None:
    mirror.unlink()

    realistic("list")

    assert mirror.exists()


def test_link_out_of_the_project_is_refused(realistic: Playbook, mirror: Path, tmp_path: Path) -> None:
    mirror.rename(tmp_path / "elsewhere.json")
    mirror.symlink_to(tmp_path / "elsewhere.json")

    assert "outside the project" in realistic("list").err


def test_named_database_is_the_one_read(
    playbook: Playbook, opens: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By --db before and after the command, and by PLAYBOOK_DB_URL."""
    other = tmp_path / "other.db"
    playbook("add", "here")
    playbook("--db", str(other), "add", "there")
    opens.clear()

    assert "here" in playbook("list").out
    assert "there" in playbook("--db", str(other), "list").out
    assert "there" in playbook("list", "--db", f"sqlite:///{other}").out
    monkeypatch.setenv("PLAYBOOK_DB_URL", str(other))
    assert "there" in playbook("list").out
    assert opens == []
