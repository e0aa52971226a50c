"""Forgetting: an erased text is in none of our files, and nothing else has changed."""

import errno
import json
import os
import re
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import text as sql

from playbook_db import files, settings
from playbook_db.domain import playbook_file
from playbook_db.domain.erasure import MARK, Eraser
from playbook_db.domain.playbook import Playbook, Vote
from playbook_db.domain.trust.evidence import Evidence
from playbook_db.errors import DatabaseError, NotFoundError, PointRuleError
from playbook_db.services import maintenance
from playbook_db.services.learning import diagnostics, queue
from playbook_db.services.playbook import dict_api, edit, forget, import_export, review
from playbook_db.services.playbook.forget import Request
from playbook_db.services.project import Project, read_playbook
from playbook_db.services.sharing import mirror
from playbook_db.store.engine import open_store
from playbook_db.store.playbook.learning import ChunkKey
from playbook_db.store.playbook.proposal_rows import Kind
from playbook_db.store.sqlite import backups
from playbook_db.store.upkeep import database_file
from tests.builders import last_revision, list_retired
from tests.databases import NewProject
from tests.services.histories import Step, histories, live_through
from tests.tiers import few

pytestmark = [pytest.mark.sqlite, pytest.mark.slow]  # databases of many states
_TEXT = 'the "token" of Zanzibär is 4711, keep it'
_OLDER = "the tokën of Zanzibär is 4711, keep it"
_SIGN = "Zanzib"  # in every wording, however it is escaped
_PATTERN = re.compile(r"(?i)the \S+ of Zanzib.r is \d+")
_ALL = re.compile(r"(?i)\S*Zanzib\S*")
_BACKUP = "backups/playbook-20261120T101500Z.daily.db"


def _holding(folder: Path) -> list[str]:
    """The files under *folder* that contain the sign."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return sorted(str(path.relative_to(folder)) for path in files if _SIGN.encode() in path.read_bytes())


def _at(project: Project, revision: int) -> Playbook:
    with project.store.read(project.key) as book:
        return book.at(revision)


def _rows(project: Project, query: str) -> list[Any]:
    with project.store.snapshot() as connection:
        return [tuple(row) for row in connection.execute(sql(query))]


def _learn(project: Project) -> None:
    """Learn something that quotes the text everywhere."""
    said = f"because {_TEXT} helped"
    votes = (Vote("pat-001", "helpful", said), Vote("pat-002", "neutral", said), Vote(_TEXT, "helpful", None, False))
    with project.store.write(project.key) as book:
        book.commit("learn", f"learned {_TEXT}", votes=votes)
    tags = [{"name": "pat-001", "tag": "helpful", "rationale": f"{_SIGN} in other words"}, {"name": "x", "more": _TEXT}]
    with project.store.write(project.key) as book:
        chunk = ChunkKey("/t.jsonl", 0, 9)
        number = book.add_reflection(chunk, session_id="s", analysis=said, bullet_tags=tags, calls=())
        book.finish_reflection(number, revision=1, curator_reasoning=said, calls=())
    queue.take_in(project.store, project.key, {"transcript_path": "/t.jsonl", "session_id": "s"})
    job = queue.claim(project.store)
    assert job is not None
    queue.note_failure(project.store, job, " ".join(said.split()), for_good=True)


@pytest.fixture
def spread(project: Project, tmp_path: Path, home: Path) -> Project:
    """A project that has one text in all of our files."""
    (tmp_path / "project" / ".claude" / "diagnostic_mode").touch()
    given = json.dumps({"version": "1.0", "about": {f"x {_TEXT}": [_TEXT]}, "key_points": []})
    import_export.import_playbook(project, playbook_file.decode(given, source="a test"), source="a test")
    edit.add(project, _OLDER, section="pat")
    edit.add(project, "use ruff always", section="pat")
    edit.add(project, f"never print what {_TEXT} says", section="mis")
    edit.edit(project, "pat-001", text=_TEXT)
    edit.edit(project, "pat-002", text=f"use ruff ({_OLDER})")
    edit.edit(project, "pat-002", text="use ruff")
    _learn(project)
    batch = [{"type": "FROB", "text": _TEXT}, {"type": _TEXT}, {"type": "ADD", "text": "use mypy"}]
    edit.apply_batch(project, batch, origin=f"{_TEXT}.json")
    edit.add(project, f"also: {_TEXT}", section="ctx")
    edit.retire(project, "ctx-001", reason=f"says {_TEXT} again")
    diagnostics.pruning(project.folder, [edit.find(project, "pat-001").point])
    diagnostics.save(project.folder, json.dumps({"answer": _TEXT}), "curator")
    (Path(settings.logs_dir())).mkdir(parents=True)
    Path(settings.logs_dir(), "worker.log").write_text(f"2026 worker: {' '.join(_TEXT.split())}\n")
    mirror.switch(project, on=True)
    Path(f"{project.mirror_path}.damaged-20261120T101500").write_text(f'<<<<<<< {json.dumps(_TEXT)}\n"{_TEXT}"')
    _back_up(project)
    return project


def _back_up(project: Project) -> None:
    backups.take(project.store.where, backups.DAILY, now=datetime(2026, 11, 20, 10, 15, tzinfo=UTC))


def test_forgotten_text_leaves_all_our_files(spread: Project, tmp_path: Path) -> None:
    """Database, log, backups, mirror, diagnostics: in no form."""
    before = _holding(tmp_path)
    kinds = ("playbook.db", _BACKUP, ".claude/playbook.json", "damaged", "diagnostic", "worker.log")
    assert all(any(kind in path for path in before) for kind in kinds)
    stays = {"pat-001", "use ruff", "use mypy", "never print what [forgotten] says"}

    done = forget.forget(spread, Request(name="pat-001"))

    assert _holding(tmp_path) == []
    assert (done.is_rewritten, done.notes) == (True, ())
    assert maintenance.check(spread.store) == []
    assert {point.text for point in read_playbook(spread).points} == stays - {"pat-001"}
    assert os.path.basename(done.backups[0]) == os.path.basename(_BACKUP)


def test_forgetting_is_one_revision_without_the_text(spread: Project) -> None:
    last = last_revision(spread)

    done = forget.forget(spread, Request(name="pat-001"))

    assert _rows(spread, f"SELECT number, source, message FROM revisions WHERE number > {last}") == [
        (last + 1, "edit", "forgot pat-001")
    ]
    assert list_retired(spread)["pat-001"].reason == "forgotten"
    assert _at(spread, last).by_name["pat-001"].text == MARK
    assert _rows(spread, "SELECT points, fields, purged_at IS NULL FROM erasures") == [
        ('["pat-001"]', len(done.erasures[spread.key].fields), 0)
    ]
    assert _rows(spread, "SELECT count(*) FROM votes WHERE rationale IS NOT NULL AND point_id = 1") == [(0,)]


def test_pattern_erases_what_matches(spread: Project, tmp_path: Path) -> None:
    """Points whose current text doesn't match stay; their older texts lose what matched."""
    edit.edit(spread, "pat-001", text="the token is in the vault")
    edit.edit(spread, "mis-001", text="never print tokens")

    done = forget.forget(spread, Request(pattern=re.compile(r"(?i)the \S+ of Zanzib.r is \d+|Zanzib.r|Zanzib")))

    assert _holding(tmp_path) == []
    assert done.erasures[spread.key].names == ("ctx-001",)
    texts = {point.text for point in read_playbook(spread).points}
    assert texts == {"the token is in the vault", "use ruff", "use mypy", "never print tokens"}
    assert _at(spread, 2).by_name["pat-001"].text == f"{MARK}, keep it"
    assert maintenance.check(spread.store) == []


def test_one_new_backup_replaces_old_ones(spread: Project, tmp_path: Path) -> None:
    """The new backup can be restored, and contains the erasure."""
    backups.take(spread.store.where, backups.BY_HAND, now=datetime(2026, 11, 20, 10, 15, tzinfo=UTC))
    old = {path.name for path in (tmp_path / "backups").iterdir()}

    done = forget.forget(spread, Request(name="pat-001"))

    assert {os.path.basename(path) for path in done.backups} == old
    assert [str(path) for path in (tmp_path / "backups").iterdir()] == [done.new_backup]
    with open_store(f"sqlite:///{done.new_backup}") as store:
        assert maintenance.check(store) == []
        retired = list_retired(Project.in_folder(store, spread.folder))
        assert retired["pat-001"].reason == "forgotten"


def test_old_backups_stay_if_no_new_one_fits(spread: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next run tries again."""

    def fail(*_: object, **__: object) -> None:
        raise DatabaseError("The disk is full. No backup was made.")

    with monkeypatch.context() as patched:
        patched.setattr(database_file, "take", fail)
        done = forget.forget(spread, Request(name="pat-001"))

    assert _holding(tmp_path) == [_BACKUP]
    assert (done.new_backup, done.is_rewritten) == (None, True)
    assert "The disk is full" in done.notes[-1]
    assert _BACKUP in done.notes[-1]
    assert forget.finish_waiting(spread.store)
    assert _holding(tmp_path) == []


def test_what_cannot_be_rewritten_is_named(spread: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next run tries the database again."""
    with monkeypatch.context() as patched:
        patched.setattr(files, "replace_file", Mock(side_effect=OSError(errno.EROFS, "read-only")))
        patched.setattr(database_file, "rewrite", Mock(side_effect=DatabaseError("It can't be rewritten.")))
        done = forget.forget(spread, Request(name="pat-001"))

    assert not done.is_rewritten
    assert "It can't be rewritten." in done.notes
    assert any("worker.log can't be rewritten: read-only. It may still hold" in note for note in done.notes)
    assert forget.finish_waiting(spread.store)
    assert not [name for name in _holding(tmp_path) if ".db" in name]


def test_text_in_free_pages_is_erased(project: Project, tmp_path: Path) -> None:
    """SQLite leaves old bytes in free pages of the file."""
    edit.add(project, _TEXT)
    with closing(sqlite3.connect(project.store.where)) as raw, raw:
        raw.execute("PRAGMA secure_delete = OFF")
        job = "INSERT INTO jobs (playbook_id, id, kind, created_at, error) VALUES (1, ?, 'learn', 't', ?)"
        raw.executemany(job, [(number, f"{number} {_TEXT}" * 99) for number in range(30)])
        raw.execute("DELETE FROM jobs")
    _back_up(project)
    project.store.tidy()
    assert (tmp_path / "playbook.db").read_bytes().count(_SIGN.encode()) > 99
    assert (tmp_path / _BACKUP).read_bytes().count(_SIGN.encode()) == 2

    forget.forget(project, Request(name="oth-001"))

    assert _holding(tmp_path) == []


def test_backups_without_the_text_stay(project: Project, tmp_path: Path) -> None:
    edit.add(project, "use ruff always")
    _back_up(project)
    before = (tmp_path / _BACKUP).read_bytes()
    edit.add(project, _TEXT)

    done = forget.forget(project, Request(name="oth-002"))

    assert (tmp_path / _BACKUP).read_bytes() == before
    assert done.backups == ()


def test_files_that_may_keep_the_text_are_named(spread: Project, tmp_path: Path) -> None:
    """A damaged backup, an unknown file and a mirror that is off stay as they are."""
    backup, unknown = tmp_path / _BACKUP, tmp_path / "playbook.db.damaged-20261120"
    backup.write_bytes(backup.read_bytes()[:4096] + b"\xff" * 4096)
    unknown.write_bytes(_TEXT.encode())
    mirror.switch(spread, on=False)
    before = [path.read_bytes() for path in (backup, unknown)]

    notes = " ".join(forget.forget(spread, Request(name="pat-001")).notes)

    assert "may still hold" in notes
    assert f"{unknown.name} holds it too" in notes
    assert "playbook.json still holds it" in notes
    assert [path.read_bytes() for path in (backup, unknown)] == before


def test_open_reader_delays_the_erasure(spread: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next run after the reader's end erases what is left."""
    monkeypatch.setattr(settings, "LOCK_WAIT_S", 0.1)
    reader = sqlite3.connect(spread.store.where, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM changes").fetchone()

    done = forget.forget(spread, Request(name="pat-001"))

    assert not done.is_rewritten
    assert not forget.finish_waiting(spread.store)
    assert set(_holding(tmp_path)) in ({"playbook.db"}, {"playbook.db-wal"}, {"playbook.db", "playbook.db-wal"})
    reader.execute("ROLLBACK")
    reader.close()
    assert forget.finish_waiting(spread.store)
    assert _holding(tmp_path) == []
    assert _rows(spread, "SELECT count(*) FROM erasures WHERE purged_at IS NULL") == [(0,)]


def test_concurrent_writes_are_erased_too(spread: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = forget._Work.erase

    def meanwhile(*given: Any, **how: Any) -> Any:
        monkeypatch.setattr(forget._Work, "erase", real)
        edit.edit(spread, "pat-002", text=f"use ruff, {_TEXT}")
        edit.edit(spread, "pat-001", text=f"{_TEXT}; {_SIGN}")
        edit.retire(spread, "mis-001", reason=f"{_TEXT} again")
        return real(*given, **how)

    monkeypatch.setattr(forget._Work, "erase", meanwhile)

    forget.forget(spread, Request(pattern=_ALL))

    assert _holding(tmp_path) == []
    assert maintenance.check(spread.store) == []


@pytest.mark.postgres
def test_two_erasures_at_once_erase_both_texts(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    edit.add(project, f"the key {_SIGN} opens the door to Samarkand")
    real = forget._Work.erase

    def meanwhile(*given: Any, **how: Any) -> Any:
        monkeypatch.setattr(forget._Work, "erase", real)
        edit.edit(project, "oth-001", text="the key is in the vault")
        forget.forget(project, Request(pattern=re.compile("Samarkand")))
        return real(*given, **how)

    edit.edit(project, "oth-001", text="the key is in a vault")
    monkeypatch.setattr(forget._Work, "erase", meanwhile)

    forget.forget(project, Request(pattern=re.compile(_SIGN)))

    assert _rows(project, "SELECT text FROM changes WHERE text LIKE '%door%'") == [
        (f"the key {MARK} opens the door to {MARK}",)
    ]


def _be_killed(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.nightly(after=2)
@pytest.mark.parametrize(
    ("step", "erasure"),
    [
        ("_sync_mirrors", Request(name="pat-001")),
        ("_Work.backups_holding", Request(pattern=_ALL)),
        ("_replace_backups", Request(name="pat-001")),
        ("_rewrite", Request(pattern=_ALL)),
    ],
    ids=["mirrors", "search of backups", "backups", "rewrite"],
)
def test_repeating_a_killed_erasure_finishes_it(
    spread: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, erasure: Request
) -> None:
    """The kill comes after the commit."""
    with monkeypatch.context() as patched:
        patched.setattr(f"playbook_db.services.playbook.forget.{step}", _be_killed)
        with pytest.raises(KeyboardInterrupt):
            forget.forget(spread, erasure)
    assert _holding(tmp_path)

    with suppress(PointRuleError):  # forgotten already
        assert forget.forget(spread, erasure).erasures == {}

    assert _holding(tmp_path) == []
    assert len(list((tmp_path / "backups").iterdir())) == 1


def test_points_with_equal_text_are_forgotten_too(project: Project) -> None:
    edit.add(project, "keep 4711 secret")
    edit.apply_batch(project, [{"type": "ADD", "text": "x", "section": "OTHERS"}], origin="a test")
    edit.edit(project, "oth-002", text="keep 4711 secret.")
    edit.add(project, "always keep 4711 secret")

    forget.forget(project, Request(name="oth-001"))

    assert [(point.name, point.text) for point in read_playbook(project).points] == [("oth-003", f"always {MARK}")]


def test_similar_points_are_named(project: Project) -> None:
    edit.add(project, "the staging token for payments is 4711")
    edit.add(project, "payments: the staging token is really 4711")

    (note,) = forget.preview(project, Request(name="oth-001")).notes

    assert "oth-002" in note


def test_unknown_points_cannot_be_forgotten(project: Project) -> None:
    edit.add(project, _TEXT)
    with pytest.raises(NotFoundError):
        forget.forget(project, Request(name="oth-002"))
    assert forget.forget(project, Request(pattern=re.compile("nowhere"))).is_nothing
    assert last_revision(project) == 1

    forget.forget(project, Request(name="oth-001"))
    with pytest.raises(PointRuleError, match="forgotten already"):
        forget.forget(project, Request(name="oth-001"))


@pytest.mark.postgres
def test_pattern_can_erase_in_all_projects(project: Project, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = Project.in_folder(project.store, str(tmp_path / "other"))
    own = Project.of_user(project.store)
    for each in (project, other, own):
        edit.add(each, f"use {_TEXT}")
        edit.add(each, "use ruff always")

    planned = forget.preview(project, Request(pattern=_PATTERN))
    assert list(planned.erasures) == [project.key]
    assert planned.notes[0] == f"the playbook of {other.key} says it too, and keeps it: oth-001"
    assert planned.notes[1] == "your personal playbook says it too, and keeps it: uoth-001"
    assert len(planned.notes) == 2 + 2 * project.store.is_shared  # what a server keeps
    done = forget.forget(project, Request(pattern=_PATTERN, in_all_projects=True))

    assert set(done.erasures) == {project.key, other.key, own.key}
    assert list(read_playbook(own).by_name) == ["uoth-002"]
    assert [list(read_playbook(each).by_name) for each in (project, other)] == [["oth-002"]] * 2


def _by_import(project: Project, text: str) -> tuple[str, ...]:
    reading = playbook_file.decode(text, source="a test")
    return tuple(import_export.import_playbook(project, reading, source="a test").notes)


def _by_mirror(project: Project, text: str) -> tuple[str, ...]:
    Path(project.mirror_path).write_text(text)
    return mirror.sync(project).notes


def _by_program(project: Project, text: str) -> tuple[str, ...]:
    return dict_api.save(project, json.loads(text))


@pytest.mark.parametrize("come_in", [_by_import, _by_mirror, _by_program])
def test_older_copies_bring_no_forgotten_point_back(
    spread: Project, come_in: Callable[[Project, str], tuple[str, ...]]
) -> None:
    """The copy's other changes are imported."""
    old = import_export.export_playbook(spread).replace("use ruff", "use ruff and mypy")
    forget.forget(spread, Request(name="pat-001"))

    notes = come_in(spread, old)

    assert "pat-001 was forgotten here; the incoming text was left out" in notes
    points = read_playbook(spread).by_name
    assert "pat-001" not in points
    assert "use ruff and mypy" in {point.text for point in points.values()}
    assert maintenance.check(spread.store) == []


def test_older_mirror_brings_no_erased_words_back(project: Project, tmp_path: Path) -> None:
    mirror.switch(project, on=True)
    edit.add(project, _TEXT, section="pat")
    edit.add(project, f"never print what {_TEXT} says", section="mis")
    old = import_export.export_playbook(project)
    edit.edit(project, "pat-001", text="the token is in the vault")
    forget.forget(project, Request(pattern=re.compile("the .token. of Zanzibär is 4711, keep it")))
    edit.add(project, "use ruff always")

    _by_mirror(project, old)

    texts = {point.text for point in read_playbook(project).points}
    assert texts == {"the token is in the vault", "use ruff always"}
    assert _holding(tmp_path) == []


@pytest.mark.parametrize("come_in", [_by_import, _by_mirror])
def test_undated_copies_bring_no_erased_words_back(
    project: Project, come_in: Callable[[Project, str], tuple[str, ...]]
) -> None:
    mirror.switch(project, on=True)
    _by_import(project, json.dumps({"version": "1.0", f"x {_TEXT}": 1, "key_points": []}))
    edit.add(project, f"never print what {_TEXT} says")
    edit.add(project, _TEXT)
    old = json.dumps(json.loads(import_export.export_playbook(project)) | {"last_updated": None})
    forget.forget(project, Request(name="oth-002"))

    notes = come_in(project, old)

    assert [note for note in notes if "oth-001: the text that came in may hold what was forgotten" in note]
    assert _SIGN not in import_export.export_playbook(project)


@few
@given(history=histories, chosen=st.integers(0, 5))
def test_forgetting_changes_only_the_text(new_project: NewProject, history: list[Step], chosen: int) -> None:
    """All revisions keep their points, counters and order."""
    project = new_project()
    last = live_through(project, history)
    names = [*read_playbook(project).by_name, *list_retired(project)]
    before = [_at(project, revision).points for revision in range(last + 1)]

    share = forget.forget(project, Request(name=names[chosen % len(names)])).erasures[project.key]

    eraser = Eraser(share.texts)
    for revision, points in enumerate(before):
        texts = [MARK if point.name in share.names else eraser.erase(point.text) for point in points]
        expected = tuple(replace(point, text=text) for point, text in zip(points, texts, strict=True))
        assert _at(project, revision).points == expected
    assert _at(project, last + 1).points == tuple(
        point for point in _at(project, last).points if point.name not in share.names
    )
    assert maintenance.check(project.store) == []


@pytest.mark.postgres
def test_extra_fields_are_erased_too(project: Project, folder: Path) -> None:
    """An older file brings none of it back."""
    entries = [{"name": "oth-001", "text": _TEXT, "note": "mine"}, {"name": "oth-002", "text": "b", "note": _TEXT}]
    file = folder / ".claude" / "playbook.json"
    mirror.switch(project, on=True)
    file.write_text(json.dumps({"sections": {"OTHERS": entries}}))
    mirror.sync(project)

    forget.forget(project, Request(name="oth-001"))

    assert _holding(folder) == []
    assert edit.find(project, "oth-001").extra == "{}"
    assert edit.find(project, "oth-002").extra == f'{{"note": "{MARK}"}}'
    file.write_text(json.dumps({"sections": {"OTHERS": entries}}))
    mirror.sync(project)
    assert edit.find(project, "oth-002").extra == f'{{"note": "{MARK}"}}'


def _propose(project: Project, kind: Kind, evidence: str = "no secret", **operation: Any) -> None:
    with project.store.write(project.key) as book:
        assert book.add_proposal(operation, kind, [Evidence(evidence, "WebFetch", "outside")], "outside", "s1")


def _proposed(project: Project) -> list[tuple[str, str, bool]]:
    """Each proposal's state, its words, and whether they contain the sign."""
    rows = _rows(project, "SELECT state, operation, evidence FROM proposals ORDER BY id")
    return [(state, operation + evidence, _SIGN in operation + evidence) for state, operation, evidence in rows]


@pytest.mark.parametrize("by", ["name", "match"])
def test_proposals_lose_the_text_too(project: Project, by: str) -> None:
    """Proposals with other texts keep waiting."""
    edit.add(project, _TEXT)
    _propose(project, "ADD", text=f"{_TEXT} as was said")
    _propose(project, "ADD", text="stays", evidence=f"he said: {_TEXT}")
    _propose(project, "ADD", text=f"rejected: {_TEXT}")
    _propose(project, "UPDATE", target_id="oth-002", text="another point")
    with project.store.write(project.key) as book:
        book.decide([3], "rejected", "ann", None)

    forget.forget(project, Request("oth-001") if by == "name" else Request(pattern=_PATTERN))

    assert [(state, holds) for state, _, holds in _proposed(project)] == [
        ("rejected", False), ("waiting", False), ("rejected", False), ("waiting", False),
    ]  # fmt: skip
    assert [item.proposal.id for item in review.waiting(project)] == [2, 4]


def test_proposals_for_a_forgotten_point_are_erased(project: Project) -> None:
    """They may contain the secret in other words."""
    for text in (_TEXT, "another", "a third"):
        edit.add(project, text)
    said = "the password, in other words"
    _propose(project, "UPDATE", said, target_id="oth-001", text=said)
    _propose(project, "MERGE", said, source_ids=["oth-002", "oth-001"], merged_text=said)
    _propose(project, "DELETE", said, target_id="oth-001", reason=said)
    _propose(project, "VOTE", said, name="oth-001", tag="harmful", rationale=said)
    _propose(project, "DELETE", said, target_id="oth-002", reason=said)

    planned = forget.preview(project, Request("oth-001"))
    forget.forget(project, Request("oth-001"))

    (erased,) = planned.erasures.values()
    assert sum(field.table == "proposals" for field in erased.fields) == 8
    assert [(state, said in text) for state, text, _ in _proposed(project)] == [
        *[("rejected", False)] * 4, ("waiting", True),
    ]  # fmt: skip
