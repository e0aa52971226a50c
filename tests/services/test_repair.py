"""Repairing a damaged database: what is kept, where it comes from, and that nothing is ever overwritten."""

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from playbook_db import settings
from playbook_db.domain import playbook_file
from playbook_db.domain.playbook import KeyPoint
from playbook_db.errors import DamagedError, DatabaseBusyError, DatabaseError, RepairError, SchemaTooNewError
from playbook_db.services import maintenance, opening, repair
from playbook_db.services.playbook import edit, forget, import_export
from playbook_db.services.project import Project, read_playbook
from playbook_db.services.sharing import mirror
from playbook_db.store import at_hand, jobs
from playbook_db.store.engine import open_store
from playbook_db.store.playbook import erasure
from playbook_db.store.sqlite import backups, files
from playbook_db.store.upkeep import salvage
from tests.builders import a_sections_dict, an_entry, list_retired
from tests.databases import fill_once
from tests.sample_database import write_sample_database

pytestmark = [pytest.mark.sqlite, pytest.mark.slow]  # databases of many states

_PAGE = 4096


@pytest.fixture
def path(project: Project) -> Path:
    """The database file of a playbook with a history, in one file, closed."""
    project.store.close()
    fill_once("repair", Path(project.store.where), project.key, lambda: _live(project))
    return _closed(project)


def _live(project: Project) -> None:
    for number in range(1, 41):
        edit.add(project, f"advice {number} " + "and why it holds " * 8, section="pat")
    for number in range(1, 41, 3):
        edit.vote(project, f"pat-{number:03d}", "helpful")
    edit.edit(project, "pat-002", text="advice 2, reworded")
    edit.retire(project, "pat-004", reason="wrong")


def _closed(project: Project) -> Path:
    project.store.tidy()
    project.store.close()
    return Path(project.store.where)


def _points(project: Project) -> dict[str, KeyPoint]:
    return dict(read_playbook(project).by_name)


def _pages(path: Path, name: str) -> list[int]:
    """The pages of the tree *name*, counted from 1, leaves only where there are several."""
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT pageno, pagetype FROM dbstat WHERE name = ?", (name,)).fetchall()
    leaves = [number for number, kind in rows if kind == "leaf"]
    return leaves or [number for number, _ in rows]


def _zero(path: Path, *numbers: int) -> bytes:
    """Zero these pages; the file's bytes then."""
    with path.open("rb+") as file:
        for number in numbers:
            file.seek((number - 1) * _PAGE)
            file.write(bytes(_PAGE))
    return path.read_bytes()


def _repair(path: Path, **options: Any) -> repair.Repaired:
    repaired = repair.repair(f"sqlite:///{path}", folder=os.environ["CLAUDE_PROJECT_DIR"], **options)
    assert options.get("dry_run") or not maintenance.check_database(f"sqlite:///{path}").problems
    return repaired


def _rows(path: Path, table: str) -> list[Any]:
    with closing(sqlite3.connect(path)) as connection:
        return sorted(connection.execute(f"SELECT * FROM {table}"), key=repr)


def test_a_sound_database_is_left_alone(path: Path) -> None:
    """Not a byte is changed, and nothing is put beside it but the lock."""
    before = path.read_bytes()

    assert not _repair(path).is_damaged
    assert path.read_bytes() == before
    assert not list(path.parent.glob("playbook.db.damaged*"))


def test_where_only_an_index_or_the_header_is_damaged_nothing_is_lost(path: Path) -> None:
    """SQLite writes the file anew: history, votes and header are as they were, and no revision tells of a repair."""
    tables = ("playbooks", "revisions", "key_points", "changes", "votes")
    before = {table: _rows(path, table) for table in tables}
    sound = path.read_bytes()
    index = _zero(path, *_pages(path, "ix_changes_point"))

    for damaged in (index, bytes(100) + sound[100:]):
        path.write_bytes(damaged)
        repaired = _repair(path)

        assert repaired.is_whole
        assert {table: _rows(path, table) for table in tables} == before
        assert repaired.aside is not None
        assert Path(repaired.aside).read_bytes() == damaged


def test_a_damaged_view_that_the_index_reads_is_replaced(path: Path, project: Project) -> None:
    """The index no longer matches its source then, but can't be rebuilt from that one; the points stay."""
    before = _points(project)
    project.store.close()
    path.write_bytes(path.read_bytes().replace(b"THEN k.text ELSE", b"THEN k.name ELSE"))

    assert _repair(path).is_damaged
    assert _points(project) == before


def test_without_a_backup_all_points_that_can_be_read_come_in_by_one_revision(path: Path, project: Project) -> None:
    """In their order, with their votes; the retired ones too. That there was a history is said."""
    before, retired = _points(project), list_retired(project)
    project.store.close()
    _zero(path, 1)

    (repaired,) = _repair(path).playbooks

    assert (repaired.key, repaired.revision, repaired.kept_to, repaired.last_revision) == (project.key, 1, 0, 56)
    assert repaired.lost_history == "All history is lost, up to revision 56; the points are as they were last seen."
    assert _points(project) == before
    assert [(name, gone.point, gone.reason) for name, gone in list_retired(project).items()] == [
        (name, gone.point, gone.reason) for name, gone in retired.items()
    ]
    assert [(row[3], row[6]) for row in _rows(path, "revisions")] == [("import", "repaired: its history is lost")]


def test_after_a_backup_only_what_was_changed_since_comes_in(path: Path, project: Project) -> None:
    """The history up to it stays as it is; which revisions after it are lost is said."""
    taken = backups.take(str(path), backups.BY_HAND, now=datetime.now(UTC))
    history = _rows(path, "revisions")
    edit.vote(project, "pat-040", "harmful")
    edit.add(project, "learned since the backup", section="pat")
    edit.retire(project, "pat-039", reason="settled")
    edit.edit(project, "pat-038", text="reworded since the backup")
    _closed(project)
    before = _points(project)
    project.store.close()
    _zero(path, *_pages(path, "changes"))

    result = _repair(path)

    (repaired,) = result.playbooks
    assert result.backup is not None
    assert result.backup.path == taken.path
    assert (repaired.revision, repaired.kept_to, repaired.last_revision) == (57, 56, 60)
    assert repaired.summary == "1 added, 2 edited, 1 retired"
    assert repaired.lost_history.startswith("History after revision 56 (20")
    assert _points(project) == before
    *kept, last = sorted(_rows(path, "revisions"))
    assert kept == sorted(history)
    assert (last[3], last[6]) == ("import", "repaired: the history after revision 56 is lost")


def test_revisions_that_left_no_trace_in_the_points_are_told_as_lost_too(path: Path, project: Project) -> None:
    """The repair is a revision of its own then as well, so that the log shows it."""
    text = _points(project)["pat-001"].text
    backups.take(str(path), backups.BY_HAND, now=datetime.now(UTC))
    edit.edit(project, "pat-001", text="something else")
    edit.edit(project, "pat-001", text=text)
    _closed(project)
    _zero(path, *_pages(path, "changes"))

    (repaired,) = _repair(path).playbooks

    assert (repaired.revision, repaired.summary) == (57, "no points changed")
    assert max(_rows(path, "revisions"))[6] == "repaired: the history after revision 56 is lost"


def test_a_name_that_is_lost_everywhere_comes_from_the_backup_else_is_given_anew(path: Path, project: Project) -> None:
    """A text without a name isn't thrown away."""
    before = {point.text for point in _points(project).values()}
    project.store.close()
    lost = [*_pages(path, "key_points"), *_pages(path, "sqlite_autoindex_key_points_2")]
    backup = backups.take(str(path), backups.BY_HAND, now=datetime.now(UTC))
    edit.edit(project, "pat-005", text="advice 5, reworded")
    _closed(project)
    damaged = _zero(path, *lost)

    (with_backup,) = _repair(path).playbooks
    points = _points(project)
    project.store.close()
    os.unlink(backup.path)
    path.write_bytes(damaged)
    (without,) = _repair(path).playbooks

    assert (with_backup.renamed, points["pat-005"].text) == ((), "advice 5, reworded")
    assert len(without.renamed) == 40
    assert {point.text for point in _points(project).values()} == {point.text for point in points.values()}
    assert len(before - {point.text for point in points.values()}) == 1


def test_points_that_only_the_backup_has_stay_and_those_retired_since_do_not(path: Path, project: Project) -> None:
    """What is known to have been retired since stays away."""
    backups.take(str(path), backups.BY_HAND, now=datetime.now(UTC))
    edit.retire(project, "pat-040", reason="settled")
    _closed(project)
    lost = ("changes", "revisions", "sqlite_autoindex_key_points_1", "sqlite_autoindex_key_points_2")
    leaves = _pages(path, "key_points")
    assert len(leaves) > 1
    _zero(path, *(page for name in lost for page in _pages(path, name)), leaves[0])

    _repair(path)

    assert set(_points(project)) == {f"pat-{number:03d}" for number in range(1, 41)} - {"pat-004", "pat-040"}


@pytest.mark.parametrize("data", [b"", bytes(50_000)], ids=["empty", "zeros"])
def test_where_nothing_can_be_read_the_backup_becomes_the_database(path: Path, data: bytes) -> None:
    """All of it, with its history, and nothing else."""
    backups.take(str(path), backups.BY_HAND, now=datetime.now(UTC))
    before = [_rows(path, table) for table in ("revisions", "changes", "key_points")]
    path.write_bytes(data)

    assert _repair(path).playbooks == ()
    assert [_rows(path, table) for table in ("revisions", "changes", "key_points")] == before


def test_a_backup_that_went_another_way_is_passed_over(path: Path, project: Project) -> None:
    """As those are that were taken before an older one was put back: what was left behind doesn't return."""
    older = backups.take(str(path), backups.BY_HAND, now=datetime(2026, 1, 1, tzinfo=UTC))
    before = path.read_bytes()
    edit.add(project, "a thing of the other way", section="pat")
    _closed(project)
    backups.take(str(path), backups.BEFORE_RESTORE, now=datetime.now(UTC))
    for changes in (False, True):
        path.write_bytes(before)
        if changes:
            edit.vote(project, "pat-040", "harmful")
            _closed(project)
        points = _points(project)
        project.store.close()
        _zero(path, *_pages(path, "changes"))

        repaired = _repair(path)

        assert repaired.backup is not None
        assert repaired.backup.path == older.path
        assert _points(project) == points
        project.store.close()


def test_how_far_it_had_learned_is_saved_so_that_nothing_is_learned_twice(path: Path, project: Project) -> None:
    """Cursors, jobs and proposals since the backup, waiting or decided; the mirror's setting and the project's too."""

    def learn(reached: int) -> None:
        with project.store.write(project.key) as book:
            job = {"session_id": f"s{reached}", "transcript_path": f"/t/{reached}.jsonl"}
            jobs.add(book.connection, book.playbook_id, job, now=f"2026-01-{reached}")
            book.move_cursor("/t/s.jsonl", reached, session_id="s")
            book.decide([1], "rejected", "ann", None)
            for text in ("what a page said", f"what page {reached} said"):
                book.add_proposal({"text": text}, "ADD", (), "outside", f"s{reached}")

    learn(10)
    _closed(project)
    backups.take(str(path), backups.BY_HAND, now=datetime.now(UTC))
    learn(20)
    mirror.switch(project, on=True)
    _closed(project)
    tables = ("jobs", "transcripts", "proposals")
    before = [_rows(path, table) for table in tables]
    _zero(path, *_pages(path, "changes"))

    _repair(path)

    assert [_rows(path, table) for table in tables] == before
    assert mirror.state(project) == "on"


@pytest.mark.parametrize("with_backup", [True, False])
def test_what_was_forgotten_stays_forgotten(path: Path, project: Project, with_backup: bool) -> None:
    """Though a backup that the forgetting didn't reach still says it: its text is in no byte of the new file."""
    kept = backups.take(str(path), backups.BY_HAND, now=datetime.now(UTC)).path
    old = Path(kept).read_bytes()
    text = _points(project)["pat-007"].text
    forget.forget(project, forget.Request(name="pat-007"))
    for backup in backups.list_backups(str(path)):
        os.unlink(backup.path)
    if with_backup:
        Path(kept).write_bytes(old)
    _closed(project)
    _zero(path, *_pages(path, "changes"))

    _repair(path)

    with project.store.read(project.key) as book:
        assert [name for name, each in book.retired().items() if each.is_forgotten] == ["pat-007"]
        assert not erasure.waiting(book.connection)
    _closed(project)
    assert text.encode() not in path.read_bytes()


def test_a_project_that_moved_after_the_backup_keeps_its_history(path: Path, project: Project, tmp_path: Path) -> None:
    """Its key is the new folder; no playbook is left for the old one."""
    backups.take(str(path), backups.BY_HAND, now=datetime.now(UTC))
    (tmp_path / "moved").mkdir()
    opening.move(project.store, project.folder, str(tmp_path / "moved"))
    _closed(project)
    history = _rows(path, "revisions")
    _zero(path, *_pages(path, "changes"))

    _repair(path)

    assert [row[1] for row in _rows(path, "playbooks")] == [str(tmp_path / "moved")]
    assert _rows(path, "revisions") == history


@pytest.mark.parametrize("is_there", [True, False])
def test_what_only_the_log_of_an_emptied_file_holds_is_saved(path: Path, project: Project, is_there: bool) -> None:
    """SQLite would remove that log at the first look; until the repair nobody of ours takes one."""
    for number in range(30):
        edit.edit(project, f"pat-{number + 5:03d}", text=f"advice {number} in the log")
    before = _points(project)
    log = Path(f"{path}-wal").read_bytes()
    project.store.close()
    path.write_bytes(b"")
    if not is_there:
        path.unlink()
    Path(f"{path}-wal").write_bytes(log)

    with pytest.raises(DamagedError, match="db repair"):
        open_store(f"sqlite:///{path}")
    if is_there:
        with pytest.raises(at_hand.UnusableError, match="db repair"):
            at_hand.connect(str(path), wait_s=0)
    assert maintenance.check_database(f"sqlite:///{path}").remedy
    assert Path(f"{path}-wal").read_bytes() == log
    repaired = _repair(path)

    assert Path(f"{repaired.aside}-wal").read_bytes() == log
    with closing(sqlite3.connect(path)) as connection:
        kept = {name for (name,) in connection.execute("SELECT name FROM key_points")}
    assert {f"pat-{number + 5:03d}" for number in range(30)} <= kept <= before.keys() | {"pat-004"}


def test_a_database_behind_a_link_is_repaired_with_its_log(path: Path, project: Project, tmp_path: Path) -> None:
    """SQLite has the log beside the file, not beside the link; the link stays, and leads to the new file."""
    (tmp_path / "elsewhere").mkdir()
    edit.add(project, "in the log alone")
    log = Path(f"{path}-wal").read_bytes()
    data = path.read_bytes()
    project.store.close()
    real = tmp_path / "elsewhere" / "real.db"
    path.unlink()
    path.symlink_to(real)
    real.write_bytes(data)
    Path(f"{real}-wal").write_bytes(log)
    assert not _repair(path).is_damaged
    real.write_bytes(bytes(100) + data[100:])

    repaired = _repair(path)

    assert path.is_symlink()
    assert repaired.aside is not None
    assert Path(f"{repaired.aside}-wal").read_bytes() == log
    assert "in the log alone" in {point.text for point in _points(project).values()}


def test_of_a_damaged_key_and_its_index_the_folder_that_is_there_is_right(path: Path, project: Project) -> None:
    """One turned byte must not give a playbook to a project that doesn't exist."""
    Path(project.key).mkdir(exist_ok=True)
    (page,) = _pages(path, "playbooks")
    data = path.read_bytes()
    place = data.index(project.key.encode(), (page - 1) * _PAGE, page * _PAGE) + len(project.key) - 1
    path.write_bytes(data[:place] + b"~" + data[place + 1 :])

    _repair(path)

    assert [row[1] for row in _rows(path, "playbooks")] == [project.key]


def test_a_name_that_damage_made_that_of_another_point_is_given_anew(path: Path, project: Project) -> None:
    """SQLite refuses to write the file anew then; no text is lost."""
    before = {point.text for point in _points(project).values()}
    project.store.close()
    data = path.read_bytes()
    row = b"pat-007pat"  # name and section
    assert data.count(row) == 1
    path.write_bytes(data.replace(row, b"pat-008pat"))

    (repaired,) = _repair(path).playbooks

    assert repaired.renamed == ("pat-041",)
    assert {point.text for point in _points(project).values()} == before


def test_a_full_disk_is_told_and_leaves_the_file_as_it_is(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite meets the end of the disk in its own way, at any file of the repair."""
    damaged = _zero(path, _pages(path, "changes")[0])

    def full(*_: Any, **__: Any) -> None:
        with closing(sqlite3.connect(":memory:")) as connection:
            connection.execute("PRAGMA max_page_count = 2")
            connection.execute("CREATE TABLE much (x)")
            connection.execute("INSERT INTO much VALUES (zeroblob(100000))")

    monkeypatch.setattr(salvage, "read", full)

    with pytest.raises(RepairError, match=r"can't be repaired: database or disk is full"):
        _repair(path)
    assert path.read_bytes() == damaged
    assert not Path(f"{path}.repairing").exists()


def test_without_a_backup_the_mirror_of_the_project_is_the_last_resort(path: Path, project: Project) -> None:
    """It waits for the user, since who had agreed to it is lost too; then its points have their names."""
    mirror.switch(project, on=True)
    before = _points(project)
    content = Path(project.mirror_path).read_bytes()
    _closed(project)
    path.write_bytes(b"\0" * 50_000)

    repaired = _repair(path)

    (told,) = repaired.mirrors
    assert told.startswith(f"{project.mirror_path} holds 39 key points")
    assert told.endswith("playbook init")
    assert (_points(project), mirror.state(project)) == ({}, "undecided")
    assert Path(project.mirror_path).read_bytes() == content
    mirror.accept(project)
    assert {(p.name, p.text, p.helpful) for p in _points(project).values()} == {
        (p.name, p.text, p.helpful) for p in before.values()
    }


def test_the_last_resort_is_taken_in_at_once_where_its_consent_was_saved(path: Path, project: Project) -> None:
    """The backup that the repair begins with knows the mirror, though it has no revision yet."""
    os.unlink(path)
    with open_store(f"sqlite:///{path}") as store:
        mirror.switch(Project.in_folder(store, os.environ["CLAUDE_PROJECT_DIR"]), on=True)
        store.tidy()
    backups.take(str(path), backups.BY_HAND, now=datetime.now(UTC))
    file = Path(project.mirror_path)
    file.write_text(json.dumps(a_sections_dict({"OTHERS": [an_entry("oth-001", "written by a colleague")]})))
    path.write_bytes(b"\0" * 50_000)

    repaired = _repair(path)

    assert repaired.backup is not None
    assert not any("playbook init" in told for told in repaired.mirrors)
    assert [point.text for point in _points(project).values()] == ["written by a colleague"]


def test_where_there_is_nothing_at_all_the_file_is_left_as_it_is(tmp_path: Path, folder: Path) -> None:
    """Somebody's notes are no database."""
    path = tmp_path / "notes.txt"
    path.write_text("dear diary " * 1000)

    with pytest.raises(RepairError, match=r"neither a sound backup nor a mirror"):
        _repair(path)

    assert path.read_text() == "dear diary " * 1000
    assert not list(tmp_path.glob("notes.txt.damaged*"))


@pytest.mark.parametrize("with_backup", [True, False])
def test_a_mirror_that_is_kept_neither_takes_saved_points_away_nor_doubles_votes(
    path: Path, project: Project, with_backup: bool
) -> None:
    """The file's votes are ours: the higher counter is kept, never the sum."""
    mirror.switch(project, on=True)
    if with_backup:
        backups.take(str(path), backups.BY_HAND, now=datetime.now(UTC))
    edit.vote(project, "pat-040", "helpful")
    edit.add(project, "learned since", section="pat")
    mirror.sync(project)
    before = {(p.name, p.text, p.helpful, p.harmful) for p in _points(project).values()}
    _closed(project)
    _zero(path, *_pages(path, "changes")[::2])

    _repair(path)
    mirror.sync(project)

    assert {(p.name, p.text, p.helpful, p.harmful) for p in _points(project).values()} == before


def test_what_only_the_mirror_still_has_is_taken_in_at_once(path: Path, project: Project) -> None:
    """A point whose row, history and names are all lost stands in the file."""
    mirror.switch(project, on=True)
    before = {point.text for point in _points(project).values()}
    _closed(project)
    names = ("changes", "sqlite_autoindex_key_points_1", "sqlite_autoindex_key_points_2")
    _zero(path, *(page for name in names for page in _pages(path, name)), _pages(path, "key_points")[0])

    repaired = _repair(path)

    assert {point.text for point in _points(project).values()} == before
    assert any("added" in told for told in repaired.mirrors)


def test_a_rehearsal_tells_and_leaves_everything(path: Path) -> None:
    """The damaged file keeps its place, and nothing is left beside it."""
    damaged = _zero(path, *_pages(path, "changes"))
    beside = {file.name for file in path.parent.iterdir()}

    repaired = _repair(path, dry_run=True)

    assert repaired.is_damaged
    assert repaired.playbooks[0].revision == 1
    assert repaired.aside is None
    assert path.read_bytes() == damaged
    assert {file.name for file in path.parent.iterdir()} - beside <= {"playbook.db.upgrade.lock", "backups"}


def test_a_damaged_log_goes_aside_with_its_file(path: Path, project: Project) -> None:
    """Both as they were; the new file has none of it."""
    edit.add(project, "in the log")
    project.store.close()
    log = Path(f"{path}-wal")
    edit.add(project, "and this one")
    data, logged = path.read_bytes(), log.read_bytes()
    project.store.close()
    path.write_bytes(data[:16] + bytes(84) + data[100:])
    log.write_bytes(logged)
    damaged = path.read_bytes()

    repaired = _repair(path)

    assert repaired.aside is not None
    assert (Path(repaired.aside).read_bytes(), Path(f"{repaired.aside}-wal").read_bytes()) == (damaged, logged)
    assert {"in the log", "and this one"} <= {point.text for point in _points(project).values()}


def test_commits_behind_a_damaged_frame_of_the_log_come_back(path: Path, project: Project) -> None:
    """SQLite reads the log up to there and finds nothing wrong with what it sees."""
    edit.add(project, "before the damage")
    data = path.read_bytes()
    edit.add(project, "behind the damage")
    log = bytearray(Path(f"{path}-wal").read_bytes())
    project.store.close()
    log[32 + 24 + 100] ^= 0xFF
    path.write_bytes(data)
    Path(f"{path}-wal").write_bytes(log)
    assert not maintenance.check_database(f"sqlite:///{path}").problems

    assert _repair(path).is_damaged
    assert {"before the damage", "behind the damage"} <= {point.text for point in _points(project).values()}


def test_a_repair_that_was_killed_between_its_two_renamings_begins_anew(path: Path, project: Project) -> None:
    """The log that has gone aside comes back to its file, and no commit is lost."""
    edit.add(project, "in the log alone")
    data, log = path.read_bytes(), Path(f"{path}-wal").read_bytes()
    project.store.close()
    path.write_bytes(data[:16] + bytes(84) + data[100:])
    aside = f"{path}.damaged-20260101T000000Z"
    os.link(path, aside)
    Path(f"{aside}-wal").write_bytes(log)
    Path(f"{path}-wal").unlink(missing_ok=True)
    Path(f"{path}-shm").unlink(missing_ok=True)
    (path.parent / "playbook.db.repairing").mkdir()

    repaired = _repair(path)

    assert "in the log alone" in {point.text for point in _points(project).values()}
    assert repaired.aside is not None
    assert Path(f"{repaired.aside}-wal").read_bytes() == log
    assert not os.path.exists(aside)
    assert not (path.parent / "playbook.db.repairing").exists()


def test_a_file_that_was_written_into_meanwhile_is_not_replaced(path: Path, tmp_path: Path) -> None:
    """What came in after the copy would be lost."""
    copied = files.copy_to(str(path), str(tmp_path / "copy"))
    with path.open("ab") as file:
        file.write(b"more")
    (tmp_path / "new").write_bytes(b"new")

    swapped = files.swap(str(tmp_path / "new"), str(path), now=datetime.now(UTC), copied=copied)

    assert swapped is None
    assert path.read_bytes().endswith(b"more")


def test_where_a_file_can_not_have_two_names_nothing_is_replaced(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on some network and memory-card file systems."""

    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    damaged = _zero(path, 1)

    with pytest.raises(DatabaseError, match=r"can't be replaced: Operation not permitted\. It was not changed\.$"):
        _repair(path)

    assert path.read_bytes() == damaged


def test_a_database_that_another_program_has_open_is_not_replaced(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it wrote would go into a file that has lost its name."""
    script = (
        "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('SELECT count(*) FROM votes').fetchall();"
        "print('open', flush=True); sys.stdin.read()"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", script, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert other.stdout is not None
    other.stdout.readline()
    damaged = _zero(path, _pages_of_changes(path))
    monkeypatch.setattr(settings, "LOCK_WAIT_S", 0.2)

    with pytest.raises(DatabaseBusyError):
        _repair(path)
    other.communicate("")

    assert path.read_bytes() == damaged
    monkeypatch.setattr(settings, "LOCK_WAIT_S", 5.0)
    assert _repair(path).aside is not None


def _pages_of_changes(path: Path) -> int:
    """A page of the history, read off a copy: this process must not have the file itself open."""
    copy = Path(f"{path}.copy")
    copy.write_bytes(path.read_bytes())
    found = _pages(copy, "changes")[0]
    copy.unlink()
    return found


def test_while_the_worker_is_at_work_nothing_is_repaired(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has the database open, and is waited for no longer than for any other lock."""
    damaged = _zero(path, *_pages(path, "changes"))
    monkeypatch.setattr(settings, "LOCK_WAIT_S", 0.1)
    os.makedirs(settings.data_dir(), exist_ok=True)

    with FileLock(settings.worker_lock()), pytest.raises(RepairError, match="The worker used"):
        _repair(path)

    assert path.read_bytes() == damaged


def test_the_database_of_another_program_or_of_a_later_version_is_refused(tmp_path: Path, folder: Path) -> None:
    """Neither is damaged because we don't know it."""
    foreign = tmp_path / "firefox.db"
    with closing(sqlite3.connect(foreign)) as connection:
        connection.execute("CREATE TABLE bookmarks (url)")
    newer = tmp_path / "newer.db"
    with open_store(f"sqlite:///{newer}") as store:
        edit.add(Project.in_folder(store, str(folder)), "from the future")
        store.tidy()
    with closing(sqlite3.connect(newer)) as connection:
        connection.executescript("PRAGMA user_version = 99; UPDATE alembic_version SET version_num = '0099'")

    for path, error in ((foreign, RepairError), (newer, SchemaTooNewError)):
        before = path.read_bytes()
        with pytest.raises(error):
            _repair(path)
        assert path.read_bytes() == before


def test_an_imported_header_survives(project: Project, folder: Path) -> None:
    """Top-level keys that are not ours, in their order."""
    text = json.dumps({"team": "core", **a_sections_dict({"OTHERS": [an_entry("oth-001")]})}, indent=2)
    import_export.import_playbook(project, playbook_file.decode(text, source="F"), source="F")
    path = _closed(project)
    _zero(path, *_pages(path, "changes"))

    _repair(path)

    assert read_playbook(project).header.get("team") == "core"


def test_what_entries_said_beside_survives(project: Project) -> None:
    """With the points that said it."""
    entries = [an_entry("oth-001"), an_entry("oth-002", "use ruff") | {"note": "mine"}]
    text = json.dumps(a_sections_dict({"OTHERS": entries}))
    import_export.import_playbook(project, playbook_file.decode(text, source="F"), source="F")
    path = _closed(project)
    _zero(path, *_pages(path, "changes"))

    _repair(path)

    assert [edit.find(project, name).extra for name in ("oth-001", "oth-002")] == ["{}", '{"note": "mine"}']


def test_a_key_that_is_lost_everywhere_comes_from_a_backup_of_the_same_playbook_alone(
    path: Path, project: Project, tmp_path: Path
) -> None:
    """A backup of another database that lies there has a playbook of the same number; it is another."""
    texts = {point.text for point in _points(project).values()}
    project.store.close()
    own = backups.take(str(path), backups.BY_HAND, now=datetime.now(UTC)).path
    kept = Path(own).read_bytes()
    lost = [*_pages(path, "playbooks"), *_pages(path, "sqlite_autoindex_playbooks_1")]
    damaged = _zero(path, *lost)

    assert _keys_after(path) == [project.key]
    os.unlink(own)
    write_sample_database(Path(own))
    path.write_bytes(damaged)
    keys = _keys_after(path)

    assert keys[0] == "/lost/playbook-1"
    with closing(sqlite3.connect(path)) as connection:
        found = {text for (text,) in connection.execute("SELECT text FROM key_points WHERE playbook_id = 1")}
    assert texts <= found
    assert kept != damaged


def _keys_after(path: Path) -> list[str]:
    _repair(path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return [key for (key,) in connection.execute("SELECT key FROM playbooks ORDER BY id")]


def test_the_users_own_playbook_is_his_own_again_though_its_key_is_lost(path: Path, project: Project) -> None:
    """The names of its points tell, where neither its row nor the index can be read."""
    own = Project.of_user(project.store)
    for text in ("say it briefly", "English names"):
        edit.add(own, text)
    edit.vote(own, "uoth-001", "helpful")
    before = _points(own)
    _closed(project)
    _zero(path, *_pages(path, "playbooks"), *_pages(path, "sqlite_autoindex_playbooks_1"))

    _repair(path)

    assert _points(own) == before
    assert sorted(row[1:3] for row in _rows(path, "playbooks")) == [("/lost/playbook-1", "project"), (own.key, "user")]
