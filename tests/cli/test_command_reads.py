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

from playbook_db import settings
from playbook_db.services import opening
from playbook_db.services import project as project_service
from playbook_db.services.playbook import edit
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


def _another_programs(path: Path) -> None:
    path.unlink()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE notes (text)")
        connection.execute(f"PRAGMA user_version = {SCHEMA}")


def _damaged(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[4096:] = os.urandom(len(content) - 4096)
    path.write_bytes(content)


@pytest.mark.nightly(after=1)
@pytest.mark.parametrize("harm", [_newer, _another_programs, _damaged])
def test_services_explain_an_unreadable_file(
    realistic: Playbook, through_services: Run, opens: list[str], harm: Callable[[Path], None]
) -> None:
    """The quick way never guesses."""
    path = Path(realistic("db", "path").out.strip())
    harm(path)
    harmed = shutil.copy(path, f"{path}.harmed")
    opens.clear()

    quick = realistic("list", "--json")
    assert 1 <= len(opens) <= 2
    for beside in path.parent.glob(f"{path.name}*"):
        if str(beside) != harmed:
            beside.unlink()
    os.rename(harmed, path)

    assert quick == through_services("list", "--json")


def test_hand_edit_is_merged_before_a_read(realistic: Playbook, folder: Path) -> None:
    """Even an edit that keeps the size of the file is seen."""
    realistic("mirror", "on")
    mirror = folder / ".claude" / "playbook.json"
    name, text = (realistic("list", "--json").json[0][key] for key in ("name", "text"))
    reworded = text[:-1] + ("?" if text[-1] != "?" else "!")

    mirror.write_text(mirror.read_text().replace(json.dumps(text, ensure_ascii=False), json.dumps(reworded)))
    shown = realistic("show", name, "--json")

    assert shown.json["text"] == reworded
    assert "merged" in shown.err


def test_vote_finds_a_name_from_the_edited_mirror(realistic: Playbook, folder: Path) -> None:
    realistic("mirror", "on")
    mirror = folder / ".claude" / "playbook.json"
    mirror.write_text(mirror.read_text().replace('"name": "pat-002"', '"name": "pat-777"'))

    assert realistic("vote", "pat-777", "helpful").code == 0


@pytest.mark.parametrize("name", ["1", "upat-001"])
def test_name_is_found_although_the_file_is_locked(
    realistic: Playbook, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    realistic("add", "one", "--section", "pat", "--user")
    answers, real = iter([None]), file_first.from_file
    monkeypatch.setattr(file_first, "from_file", lambda *given, **options: next(answers, real(*given, **options)))

    assert realistic("show", name).code == 0


def test_reading_updates_an_old_mirror(realistic: Playbook, folder: Path) -> None:
    realistic("mirror", "on")
    mirror = folder / ".claude" / "playbook.json"
    url = f"sqlite:///{realistic('db', 'path').out.strip()}"
    with opening.open_project(url, str(folder), sync=False, notify=print) as project:
        edit.add(project, "write the mirror")
    assert "write the mirror" not in mirror.read_text()

    assert "write the mirror" in realistic("list").out

    assert "write the mirror" in mirror.read_text()


def test_reading_restores_a_deleted_mirror(realistic: Playbook, folder: Path) -> None:
    realistic("mirror", "on")
    mirror = folder / ".claude" / "playbook.json"
    mirror.unlink()

    realistic("list")

    assert mirror.exists()


def test_link_out_of_the_project_is_refused(realistic: Playbook, folder: Path, tmp_path: Path) -> None:
    realistic("mirror", "on")
    mirror = folder / ".claude" / "playbook.json"
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

    texts = [
        playbook(*command).json[0]["text"]
        for command in (
            ["list", "--json"],
            ["--db", str(other), "list", "--json"],
            ["list", "--json", "--db", f"sqlite:///{other}"],
        )
    ]
    monkeypatch.setenv("PLAYBOOK_DB_URL", str(other))

    assert [*texts, playbook("list", "--json").json[0]["text"]] == ["here", "there", "there", "there"]
    assert opens == []


@pytest.mark.slow
def test_schema_name_that_is_not_utf_8_is_explained(realistic: Playbook) -> None:
    """SQLite's message quotes the name, which its driver can't decode."""
    with closing(sqlite3.connect(settings.sqlite_file(settings.database_url()) or "")) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("UPDATE sqlite_master SET name = CAST(x'99' AS TEXT), sql = 'CREATE x' WHERE name = 'votes'")
        connection.commit()

    refused = realistic("list")

    assert refused.code == 1
    assert "playbook db repair" in refused.err


def test_ignored_project_can_be_read(realistic: Playbook, opens: list[str]) -> None:
    """`project ignore` concerns only hooks."""
    before = realistic("list")
    realistic("project", "ignore")
    opens.clear()

    assert realistic("list") == before
    assert opens == []
