"""db repair, as a script sees it."""

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from playbook_db import settings
from tests.cli.conftest import Playbook

_PAGE = 4096


def _damage(playbook: Playbook) -> Path:
    playbook("add", "use type hints", "--section", "pat")
    playbook("add", "say why", "--section", "oth")
    playbook("backup")
    path = Path(playbook("db", "path").out.strip())
    path.write_bytes(bytes(_PAGE) + path.read_bytes()[_PAGE:])
    return path


def test_damaged_database_is_repaired_from_backup(playbook: Playbook) -> None:
    path = _damage(playbook)
    assert "playbook db repair" in playbook("list").err

    result = playbook("db", "repair")

    assert result.code == 0
    assert "kept 2 live points in 1 playbook\n" in result.out
    assert re.search(r"started from the backup .*; changes since \d{4}-\d\d-\d\d .* may be missing\n", result.out)
    assert re.search(r"sqlite3 \S+\.damaged-\S+ \.recover\n", result.out)
    assert f"the damaged file is now {path}.damaged-" in result.out
    assert playbook("db", "check").code == 0
    assert [point["name"] for point in playbook("list", "--json").json] == ["pat-001", "oth-001"]


def test_damaged_file_is_kept(playbook: Playbook, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal, only a yes repairs."""
    path = _damage(playbook)
    damaged = path.read_bytes()
    monkeypatch.setattr("playbook_db.cli.database.is_interactive", lambda: True)
    asked = playbook("db", "repair", stdin="\n")
    assert "started from the backup" in asked.err
    assert "nothing was changed" in asked.err
    assert path.read_bytes() == damaged

    record = playbook("db", "repair", "--yes", "--json").json

    assert (record["damaged"], record["repaired"], record["live_points"], record["revisions"]) == (True, True, 2, 2)
    assert Path(record["backup"]).exists()
    assert record["missing_since"].startswith("20")
    assert record["corrected"] == []
    assert Path(record["damaged_file"]).read_bytes() == damaged
    assert playbook("db", "repair", "--json").json["damaged"] is False


def test_check_repairs_the_search(playbook: Playbook) -> None:
    playbook("add", "use ruff")
    with closing(sqlite3.connect(playbook("db", "path").out.strip())) as connection, connection:
        connection.execute("INSERT INTO point_search (rowid, name, text) VALUES (7, 'oth-007', 'nobody said this')")

    done = playbook("db", "check", "--repair-points")

    assert done.out.endswith(": all is well\n")
    assert "rebuilt the full-text index; everything else is well" in done.err


@pytest.mark.parametrize("there", [False, True], ids=["no file", "a file of nothing"])
def test_repair_explains_what_it_cannot_do(playbook: Playbook, there: bool) -> None:
    path = Path(settings.data_dir()) / "playbook.db"
    path.parent.mkdir(parents=True)
    if there:
        path.write_bytes(b"\0" * 5000)

    result = playbook("db", "repair")

    assert result.code == 1
    assert "playbook init" in result.err
    assert path.exists() == there
