"""What programs are promised that load the playbook, change it and save it, alone or several at once."""

import copy
import json
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from playbook_db import settings
from playbook_db.contract import load_playbook, save_playbook, update_playbook_data
from playbook_db.errors import PlaybookFileError
from playbook_db.services import mirror
from playbook_db.services.editing import list_retired
from playbook_db.services.project import Project
from playbook_db.store.engine import open_store
from tests.builders import a_flat_dict, a_sections_dict, an_entry
from tests.contract.playbooks import (
    CONTEXT,
    MISTAKES,
    OTHERS,
    PATTERNS,
    Layout,
    a_dict,
    by_name,
    entries_of,
    file_in,
    outcome_of,
    read_file,
    write_file,
)

DATED = {"last_updated": "2026-01-15T10:00:00"}
Carried = Callable[[dict[str, Any]], dict[str, Any]]


def helpful(*names: str) -> dict[str, Any]:
    """The result of a session that found these points helpful."""
    return {"evaluations": [{"name": name, "rating": "helpful"} for name in names]}


def an_addition(text: str, section: str = PATTERNS) -> dict[str, Any]:
    """The result of a session that taught that text."""
    return {"new_key_points": [{"text": text, "section": section}]}


def texts_of(playbook: dict[str, Any]) -> list[str]:
    """The texts of a playbook dict, in its order."""
    return [entry["text"] for entry in entries_of(playbook)]


def save(*results: dict[str, Any]) -> dict[str, Any]:
    """Load the playbook, take it through sessions with these results, save it; it comes back."""
    playbook = load_playbook()
    for result in results:
        playbook = update_playbook_data(playbook, result)
    save_playbook(playbook)
    return playbook


def by_json(playbook: dict[str, Any]) -> dict[str, Any]:
    """*playbook* as a program has it that kept it as JSON in between."""
    made: dict[str, Any] = json.loads(json.dumps(playbook))
    return made


@pytest.fixture(
    params=[lambda playbook: playbook, copy.deepcopy, dict, by_json], ids=["itself", "deep", "dict", "json"]
)
def carried(request: pytest.FixtureRequest) -> Carried:
    """The ways on which a program may carry a loaded playbook to where it saves it."""
    return request.param


@pytest.fixture
def kept(folder: Path) -> Any:
    """The project in the database that load_playbook() and save_playbook() use."""
    with open_store(settings.database_url()) as store:
        yield Project(store, str(folder))


# --- what is written ---


def test_saving_sets_last_updated_to_now(folder: Path) -> None:
    """In the dict, in the file and in the next load stands the time of the save, ISO 8601."""
    write_file(folder, a_flat_dict("one", **DATED))
    loaded = load_playbook()

    before = datetime.now(UTC)
    save_playbook(loaded)
    after = datetime.now(UTC)

    assert before <= datetime.fromisoformat(loaded["last_updated"]) <= after
    assert read_file(folder)["last_updated"] == load_playbook()["last_updated"] == loaded["last_updated"]


def test_loading_leaves_last_updated_as_it_was(folder: Path) -> None:
    """The time is that of the last save, not of the last look; a new playbook has none."""
    fresh = load_playbook()
    write_file(folder, a_flat_dict("one", **DATED))

    assert fresh["last_updated"] is None
    assert load_playbook()["last_updated"] == load_playbook()["last_updated"] == DATED["last_updated"]


def test_saving_without_a_change_still_dates_the_playbook(folder: Path) -> None:
    """last_updated is the time of the last save, whether or not anything changed."""
    first, second = save()["last_updated"], save()["last_updated"]

    assert first < second == read_file(folder)["last_updated"]


def test_version_and_unknown_top_level_keys_survive(folder: Path, layout: Layout) -> None:
    """What the file has beside its points comes back from a load, a save and a second load, nested values too."""
    extra = {"version": "2.7-beta", "team": "ä", "nested": {"b": [1, 2.5, None], "a": {"": False}}}
    write_file(folder, a_dict(layout, an_entry("kpt_001"), **extra))

    save(helpful("kpt_001"))

    for found in (load_playbook(), read_file(folder)):
        assert {key: found[key] for key in extra} == extra


def test_top_level_keys_that_a_program_adds_or_removes_are_kept_so(folder: Path) -> None:
    """A top-level key is the program's to add, change and remove."""
    write_file(folder, a_flat_dict("one", gone="x", changed=1))
    playbook = load_playbook()
    del playbook["gone"]
    playbook.update(changed=2, added=["y"])

    save_playbook(playbook)

    found = read_file(folder)
    assert "gone" not in found
    assert (found["changed"], found["added"]) == (2, ["y"])


def test_the_entries_of_the_file_have_exactly_the_four_keys(folder: Path, layout: Layout) -> None:
    """Whatever else a program put into an entry is not written: name, text, helpful, harmful, in that order."""
    save_playbook(a_dict(layout, {"note": "x", "score": 3, **an_entry("kpt_001", "one", 1, 2), "added": 4}))

    (written,) = entries_of(read_file(folder))
    assert list(written.items()) == list(an_entry("kpt_001", "one", 1, 2).items())


def test_the_file_has_five_sections_in_order_and_can_be_read_by_people(folder: Path) -> None:
    """Two spaces of indent, characters as they are, all sections in the canonical order."""
    save_playbook({"sections": {"others": [an_entry("oth-001", "läuft 🎈")], "PATTERNS & APPROACHES": []}})

    text = file_in(folder).read_text(encoding="utf-8")
    assert "läuft 🎈" in text
    assert text.rstrip("\n") == json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    assert list(json.loads(text)["sections"]) == [
        "PATTERNS & APPROACHES",
        "MISTAKES TO AVOID",
        "USER PREFERENCES",
        "PROJECT CONTEXT",
        "OTHERS",
    ]


def test_saving_writes_the_file_where_there_was_none(folder: Path) -> None:
    """save_playbook() always writes it, the folder `.claude` included."""
    (folder / ".claude").rmdir()

    save(an_addition("one"))

    assert texts_of(read_file(folder)) == ["one"]


def test_loading_writes_no_file_where_there_is_none(folder: Path) -> None:
    """A look at the playbook leaves the work tree alone, also where the database holds one."""
    save(an_addition("one"))
    file_in(folder).unlink()

    assert texts_of(load_playbook()) == ["one"]
    assert list((folder / ".claude").iterdir()) == []


def test_saving_writes_the_file_although_the_mirror_was_switched_off(folder: Path, kept: Project) -> None:
    """The switch is for everything else; save_playbook() always writes the file."""
    save(an_addition("one"))
    mirror.switch(kept, on=False)

    save(an_addition("two"))
    second = texts_of(read_file(folder))
    file_in(folder).unlink()
    save(an_addition("three"))

    assert second == ["one", "two"]
    assert texts_of(read_file(folder)) == ["one", "two", "three"]


def test_saving_takes_in_and_writes_a_file_that_was_never_looked_at(folder: Path, kept: Project) -> None:
    """Although the mirror is off: what stands in the file is merged, not written over, and the file has both then."""
    write_file(folder, a_flat_dict(an_entry("kpt_001", "from the file", 5, 1), **DATED))
    mirror.switch(kept, on=False)

    save(an_addition("by the program"))

    expected = [(PATTERNS, "pat-001", "by the program", 0, 0), (OTHERS, "kpt_001", "from the file", 5, 1)]
    assert outcome_of(read_file(folder)) == outcome_of(load_playbook()) == expected


def test_saving_leaves_nothing_else_in_the_project(folder: Path) -> None:
    """One file; no temporary ones, no locks."""
    save(an_addition("one"))
    save(an_addition("two"))

    assert [path.name for path in (folder / ".claude").iterdir()] == ["playbook.json"]


def test_without_a_project_folder_the_playbook_is_the_one_of_the_home(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CLAUDE_PROJECT_DIR names the project; where it is unset, the home folder is meant, not the current one."""
    monkeypatch.delenv("CLAUDE_PROJECT_DIR", raising=False)

    save(an_addition("one"))

    assert texts_of(read_file(home)) == ["one"]


def test_two_projects_keep_their_playbooks_apart(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One database holds all projects of a person, and no point of one shows in another."""
    save(an_addition("of the first"))
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(tmp_path / "second"))

    save(an_addition("of the second"))

    assert texts_of(load_playbook()) == ["of the second"]
    assert texts_of(read_file(folder)) == ["of the first"]


# --- what is saved ---


def test_what_was_saved_is_what_is_loaded(folder: Path) -> None:
    """Sections, order, texts and counters, and the dict that was saved says the same."""
    playbook = load_playbook()
    playbook["sections"][MISTAKES] = [an_entry("mis-007", "seven", 7, 1), an_entry("kpt_002", "two")]
    playbook["sections"][PATTERNS] = [an_entry("pat-001", "line\nbreak {x}", 2**40, 0)]

    save_playbook(playbook)

    expected = [
        (PATTERNS, "pat-001", "line\nbreak {x}", 2**40, 0),
        (MISTAKES, "mis-007", "seven", 7, 1),
        (MISTAKES, "kpt_002", "two", 0, 0),
    ]
    assert outcome_of(load_playbook()) == outcome_of(read_file(folder)) == outcome_of(playbook) == expected


def test_the_playbook_outlives_its_file(folder: Path) -> None:
    """The database is the truth: a file that was deleted takes nothing with it."""
    saved = outcome_of(save(an_addition("one"), an_addition("two")))
    file_in(folder).unlink()

    assert outcome_of(load_playbook()) == saved


def test_saving_one_dict_again_and_again_counts_no_vote_twice(folder: Path, carried: Carried) -> None:
    """After a save the dict stands for what was saved; only what is new since then is added."""
    write_file(folder, a_flat_dict(an_entry("kpt_001", "one", helpful=5), **DATED))
    playbook = update_playbook_data(carried(load_playbook()), helpful("kpt_001"))

    for _ in range(3):
        save_playbook(playbook)
        playbook = carried(playbook)
    save_playbook(update_playbook_data(playbook, helpful("kpt_001")))

    assert by_name(load_playbook())["kpt_001"]["helpful"] == by_name(playbook)["kpt_001"]["helpful"] == 7


def test_a_hand_built_dict_makes_the_playbook_equal_to_it(folder: Path) -> None:
    """A dict that comes from no known state is the whole truth: what it lacks leaves, its sections and order hold."""
    write_file(folder, a_sections_dict({PATTERNS: [an_entry("pat-001", "one", 9), an_entry("pat-002", "two", 5)]}))
    load_playbook()
    wanted = {
        "version": "3",
        "sections": {
            PATTERNS: [an_entry("pat-009", "nine"), an_entry("pat-002", "two, reworded", 1, 2)],
            CONTEXT: [an_entry("ctx-001", "new", 0, 4)],
        },
    }

    save_playbook(copy.deepcopy(wanted))

    loaded = load_playbook()
    assert outcome_of(loaded) == outcome_of(wanted)
    assert loaded["version"] == "3"
    assert outcome_of(read_file(folder)) == outcome_of(wanted)


def test_what_a_hand_built_dict_lacks_is_retired_and_not_lost(folder: Path, kept: Project) -> None:
    """A point that leaves by a save can be looked up and brought back."""
    write_file(folder, a_flat_dict(an_entry("kpt_001", "one", 9, 2), an_entry("kpt_002", "two")))
    load_playbook()

    save_playbook(a_flat_dict(an_entry("kpt_002", "two")))

    gone = list_retired(kept)["kpt_001"].point
    assert (gone.text, gone.helpful, gone.harmful) == ("one", 9, 2)


def test_a_flat_dict_stays_flat(folder: Path) -> None:
    """save_playbook() of a dict with key_points adds no sections to it; new points of it are kpt_NNN."""
    flat = update_playbook_data(a_flat_dict("one"), {"new_key_points": ["two"]})

    save_playbook(flat)

    assert list(flat) == ["version", "last_updated", "key_points"]
    assert flat["key_points"] == [an_entry("kpt_001", "one"), an_entry("kpt_002", "two")]
    assert outcome_of(load_playbook()) == [(OTHERS, "kpt_001", "one", 0, 0), (OTHERS, "kpt_002", "two", 0, 0)]


@pytest.mark.parametrize("is_base_known", [True, False])
def test_a_flat_dict_does_not_move_points_out_of_their_sections(folder: Path, is_base_known: bool) -> None:
    """A flat view knows no sections; what it says of a point leaves the point where it is. New ones go to OTHERS."""
    write_file(folder, a_sections_dict({PATTERNS: [an_entry("pat-001", "one")], CONTEXT: [an_entry("ctx-001", "two")]}))
    loaded = save()
    flat = a_flat_dict(*entries_of(loaded), last_updated=loaded["last_updated"] if is_base_known else None)

    save_playbook(update_playbook_data(flat, {**helpful("ctx-001"), "new_key_points": ["three"]}))

    expected = [
        (PATTERNS, "pat-001", "one", 0, 0),
        (CONTEXT, "ctx-001", "two", 1, 0),
        (OTHERS, "kpt_001", "three", 0, 0),
    ]
    assert outcome_of(load_playbook()) == expected
    assert "sections" not in flat


@pytest.mark.parametrize(
    "bad",
    [
        {"helpful": -1},
        {"harmful": True},
        {"helpful": "3"},
        {"helpful": 1.5},
        {"harmful": float("nan")},
        {"harmful": float("inf")},
        {"helpful": None},
        {"text": ""},
        {"text": None},
        {"name": "pat-001]\n[pat-002"},
        {"name": 7},
    ],
)
def test_an_entry_that_cannot_be_kept_is_refused_and_nothing_is_saved(
    folder: Path, layout: Layout, bad: dict[str, Any]
) -> None:
    """The error names the entry; database, file and dict stay as they were."""
    save_playbook(a_dict(layout, an_entry("kpt_001", "one", 4, 1)))
    before, bytes_before = load_playbook(), file_in(folder).read_bytes()
    playbook = a_dict(layout, an_entry("kpt_001", "one", 4, 1), {**an_entry("kpt_002", "two"), **bad})
    given = copy.deepcopy(playbook)

    with pytest.raises(PlaybookFileError, match="entry 2"):
        save_playbook(playbook)

    assert load_playbook() == before
    assert file_in(folder).read_bytes() == bytes_before
    assert repr(playbook) == repr(given)


def test_a_name_that_stands_twice_is_refused_with_both_places(layout: Layout, folder: Path) -> None:
    """Names are unique over the whole playbook; nothing is dropped in silence."""
    with pytest.raises(PlaybookFileError, match=r"entry 2.*entry 1"):
        save_playbook(a_dict(layout, an_entry("kpt_001", "one"), an_entry("kpt_001", "two")))

    assert entries_of(load_playbook()) == []


# --- what stands in the file ---


def test_a_hand_edit_of_the_file_is_taken_in(folder: Path) -> None:
    """A reworded, an added and a removed entry of the file are in the next load."""
    write_file(folder, a_flat_dict(an_entry("kpt_001", "one", 3), an_entry("kpt_002", "two")))
    save()
    edited = read_file(folder)
    edited["sections"][OTHERS] = [an_entry("kpt_001", "one, reworded", 3), an_entry("kpt_003", "three", 1)]
    write_file(folder, edited)

    assert outcome_of(load_playbook()) == [
        (OTHERS, "kpt_001", "one, reworded", 3, 0),
        (OTHERS, "kpt_003", "three", 1, 0),
    ]


def test_a_hand_edit_between_load_and_save_is_not_written_over(folder: Path) -> None:
    """What stands in the file when a program saves is merged with what the program did; votes of both add up."""
    write_file(folder, a_flat_dict(an_entry("kpt_001", "one", 3)))
    save()
    playbook = update_playbook_data(load_playbook(), {**helpful("kpt_001"), **an_addition("by the program")})
    edited = read_file(folder)
    edited["sections"][OTHERS] = [an_entry("kpt_001", "one", 5), an_entry("kpt_002", "by hand")]
    write_file(folder, edited)

    save_playbook(playbook)

    expected = {("one", 6), ("by hand", 0), ("by the program", 0)}
    for found in (load_playbook(), read_file(folder), playbook):
        assert {(entry["text"], entry["helpful"]) for entry in entries_of(found)} == expected


def test_an_older_copy_of_the_file_takes_nothing_back(folder: Path) -> None:
    """Put back by a branch switch and edited there, it is merged: the newer point stays, the edit comes in, and the
    file holds both."""
    write_file(folder, a_flat_dict(an_entry("kpt_001", "one", 3), **DATED))
    save()
    older = read_file(folder)
    save(an_addition("newer"))
    older["sections"][OTHERS][0]["helpful"] = 4
    write_file(folder, older)

    loaded = load_playbook()

    assert outcome_of(loaded) == [(PATTERNS, "pat-001", "newer", 0, 0), (OTHERS, "kpt_001", "one", 4, 0)]
    assert outcome_of(read_file(folder)) == outcome_of(loaded)


DAMAGED = {
    "cut in half": lambda data: data[: len(data) // 2],
    "cut before its last bracket": lambda data: data.rstrip()[:-1],
    "empty": lambda data: b"",
    "no UTF-8": lambda data: data.replace(b"one", b"\xff\xfe"),
    "no JSON": lambda data: b"It was here a moment ago.",
}


@pytest.fixture(params=DAMAGED.values(), ids=DAMAGED)
def damage(request: pytest.FixtureRequest) -> Callable[[Path], bytes]:
    """Damages the file at a path; its bytes afterwards."""

    def spoil(path: Path) -> bytes:
        data: bytes = request.param(path.read_bytes())
        path.write_bytes(data)
        return data

    return spoil


def set_aside(folder: Path) -> list[bytes]:
    """What the other files beside the playbook's hold."""
    return [path.read_bytes() for path in (folder / ".claude").iterdir() if path.name != "playbook.json"]


def test_a_damaged_file_takes_nothing_out_of_the_database(
    folder: Path, capsys: pytest.CaptureFixture[str], damage: Callable[[Path], bytes]
) -> None:
    """What the database has comes back; the file is set aside as it was, and stderr names it."""
    write_file(folder, a_flat_dict(an_entry("kpt_001", "one", 4, 1), an_entry("kpt_002", "two")))
    saved = outcome_of(save())
    damaged = damage(file_in(folder))
    capsys.readouterr()

    loaded = load_playbook()

    assert outcome_of(loaded) == saved
    assert set_aside(folder) == [damaged]
    assert str(file_in(folder)) in capsys.readouterr().err
    save_playbook(loaded)
    assert outcome_of(read_file(folder)) == outcome_of(load_playbook()) == saved


def test_a_file_damaged_between_load_and_save_takes_nothing_along(
    folder: Path, damage: Callable[[Path], bytes]
) -> None:
    """The save keeps all points and the vote, writes a sound file, and the damaged one is set aside."""
    write_file(folder, a_flat_dict(an_entry("kpt_001", "one", 4, 1), an_entry("kpt_002", "two")))
    playbook = update_playbook_data(load_playbook(), helpful("kpt_001"))
    damaged = damage(file_in(folder))

    save_playbook(playbook)

    expected = [(OTHERS, "kpt_001", "one", 5, 1), (OTHERS, "kpt_002", "two", 0, 0)]
    assert outcome_of(load_playbook()) == outcome_of(read_file(folder)) == expected
    assert set_aside(folder) == [damaged]


def test_a_damaged_file_and_an_empty_database_give_the_empty_playbook(
    folder: Path, capsys: pytest.CaptureFixture[str], damage: Callable[[Path], bytes]
) -> None:
    """Nothing is there to fall back on; the file is set aside and reported, so that a later save hides nothing."""
    write_file(folder, a_flat_dict(an_entry("kpt_001", "one")))
    damaged = damage(file_in(folder))

    loaded = load_playbook()

    assert loaded == a_sections_dict({})
    assert str(file_in(folder)) in capsys.readouterr().err
    save_playbook(update_playbook_data(loaded, an_addition("new")))
    assert texts_of(read_file(folder)) == ["new"]
    assert set_aside(folder) == [damaged]


def test_no_damaged_file_is_ever_written_over_by_another(folder: Path) -> None:
    """Each one is set aside under a name of its own, however quickly they follow each other."""
    damaged = [f'{{"version": "1.0", "key_points": [{number}'.encode() for number in range(3)]
    for data in damaged:
        file_in(folder).write_bytes(data)
        load_playbook()

    assert sorted(set_aside(folder)) == damaged


REFUSED = {
    "a score that is text": '{"name": "kpt_001", "text": "one", "score": "abc"}',
    "a score of true": '{"name": "kpt_001", "text": "one", "score": true}',
    "a score that is not whole": '{"name": "kpt_001", "text": "one", "score": 1.5}',
    "a score of NaN": '{"name": "kpt_001", "text": "one", "score": NaN}',
    "a score that is too large": '{"name": "kpt_001", "text": "one", "score": 1e400}',
    "a score of null": '{"name": "kpt_001", "text": "one", "score": null}',
    "a negative counter": '{"name": "kpt_001", "text": "one", "helpful": -1, "harmful": 0}',
    "a counter of true": '{"name": "kpt_001", "text": "one", "helpful": true, "harmful": 0}',
    "a counter of NaN": '{"name": "kpt_001", "text": "one", "helpful": 0, "harmful": NaN}',
    "an infinite counter": '{"name": "kpt_001", "text": "one", "helpful": 0, "harmful": Infinity}',
    "a counter that is text": '{"name": "kpt_001", "text": "one", "helpful": "3", "harmful": 0}',
    "a counter that is an object": '{"name": "kpt_001", "text": "one", "helpful": {}, "harmful": 0}',
    "an entry that is a number": "7",
    "an entry without a text": '{"name": "kpt_001"}',
    "a name that stands twice": '{"name": "kpt_009", "text": "one"}, {"name": "kpt_009", "text": "two"}',
}


@pytest.mark.parametrize("entries", REFUSED.values(), ids=REFUSED)
def test_a_file_with_values_that_are_refused_is_left_as_it_is(
    folder: Path, layout: Layout, capsys: pytest.CaptureFixture[str], entries: str
) -> None:
    """Not a byte of it changes, nothing of it is taken in, stderr names it, and the database's playbook comes back."""
    save_playbook(a_flat_dict(an_entry("kpt_001", "from the database", 4, 1)))
    listed = f"[{entries}]"
    points = f'"key_points": {listed}' if layout == "flat" else f'"sections": {{"OTHERS": {listed}}}'
    path = write_file(folder, f'{{"version": "1.0",\n {points}}}')
    bytes_before = path.read_bytes()
    capsys.readouterr()

    loaded = load_playbook()

    assert outcome_of(loaded) == [(OTHERS, "kpt_001", "from the database", 4, 1)]
    assert path.read_bytes() == bytes_before
    assert set_aside(folder) == []
    assert str(path) in capsys.readouterr().err


def test_a_refusal_names_entry_and_value(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """File, entry and value stand in the message, so that a person can mend it."""
    path = write_file(folder, a_flat_dict("one", {"name": "kpt_007", "text": "two", "score": "abc"}))

    assert load_playbook() == a_sections_dict({})
    told = capsys.readouterr().err
    assert all(part in told for part in (str(path), "entry 2", "kpt_007", "'abc'"))


def test_saving_over_a_refused_file_keeps_what_it_held(folder: Path) -> None:
    """save_playbook() always writes the file; one it can't take in is moved aside first, to the byte."""
    path = write_file(folder, a_flat_dict({"name": "kpt_001", "text": "one", "score": "abc"}))
    refused = path.read_bytes()

    save(an_addition("new"))

    assert texts_of(read_file(folder)) == ["new"]
    assert set_aside(folder) == [refused]


def test_a_file_that_links_out_of_the_project_is_left_alone(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither read nor written, and reported; the database keeps what is saved."""
    outside = tmp_path / "outside.json"
    outside.write_text(json.dumps(a_flat_dict("somebody else's")))
    file_in(folder).symlink_to(outside)

    save(an_addition("new"))

    assert outside.read_text() == json.dumps(a_flat_dict("somebody else's"))
    assert texts_of(load_playbook()) == ["new"]
    assert "link out of the project" in capsys.readouterr().err


def test_sections_win_over_key_points_and_unknown_sections_go_to_others(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both are told on stderr; nothing of an unknown section is dropped."""
    both = {"key_points": ["ignored"], "sections": {"NO SUCH": [an_entry("x-1", "one")], "others ": ["two"]}}
    write_file(folder, both)

    assert [(section, text) for section, _, text, _, _ in outcome_of(load_playbook())] == [
        (OTHERS, "one"),
        (OTHERS, "two"),
    ]
    told = capsys.readouterr().err
    assert "key_points" in told
    assert "NO SUCH" in told


# --- several at once ---


def test_two_programs_that_loaded_the_same_lose_nothing(folder: Path, carried: Carried) -> None:
    """Votes add up, both new points are there, and the second dict holds the outcome."""
    write_file(folder, a_sections_dict({PATTERNS: [an_entry("pat-001", "one", 5, 1)]}, **DATED))
    first, second = carried(load_playbook()), carried(load_playbook())

    save_playbook(update_playbook_data(first, {**helpful("pat-001"), **an_addition("of the first", MISTAKES)}))
    save_playbook(update_playbook_data(second, {**helpful("pat-001", "pat-001"), **an_addition("of the second")}))

    expected = [
        (PATTERNS, "pat-001", "one", 8, 1),
        (PATTERNS, "pat-002", "of the second", 0, 0),
        (MISTAKES, "mis-001", "of the first", 0, 0),
    ]
    assert outcome_of(load_playbook()) == outcome_of(read_file(folder)) == outcome_of(second) == expected


def test_a_name_that_two_programs_generated_is_given_anew_on_one_side(
    folder: Path, carried: Carried, capsys: pytest.CaptureFixture[str]
) -> None:
    """The one that came first keeps the name; the other's point gets the next one, and stderr says so."""
    write_file(folder, a_sections_dict({PATTERNS: [an_entry("pat-001", "one")]}, **DATED))
    first, second = carried(load_playbook()), carried(load_playbook())
    save_playbook(update_playbook_data(first, an_addition("of the first")))
    capsys.readouterr()

    save_playbook(update_playbook_data(second, an_addition("of the second")))

    assert outcome_of(load_playbook()) == [
        (PATTERNS, "pat-001", "one", 0, 0),
        (PATTERNS, "pat-002", "of the first", 0, 0),
        (PATTERNS, "pat-003", "of the second", 0, 0),
    ]
    assert outcome_of(second) == outcome_of(load_playbook())
    told = capsys.readouterr().err
    assert "pat-002" in told
    assert "pat-003" in told


def test_two_programs_that_loaded_an_empty_playbook_lose_nothing(folder: Path) -> None:
    """A new playbook is a known state too."""
    first, second = load_playbook(), load_playbook()

    save_playbook(update_playbook_data(first, an_addition("of the first")))
    save_playbook(update_playbook_data(second, an_addition("of the second")))

    assert texts_of(load_playbook()) == ["of the first", "of the second"]


def test_two_programs_that_learnt_the_same_have_one_point_of_it(folder: Path, carried: Carried) -> None:
    """The same text under the same generated name is one point; the votes of both sides are in it."""
    write_file(folder, a_sections_dict({PATTERNS: [an_entry("pat-001", "one")]}, **DATED))
    programs = [carried(load_playbook()), carried(load_playbook())]

    for playbook in programs:
        update_playbook_data(playbook, an_addition("learnt twice"))
        save_playbook(update_playbook_data(playbook, helpful("pat-002")))

    assert outcome_of(load_playbook())[1:] == [(PATTERNS, "pat-002", "learnt twice", 2, 0)]


def test_a_point_that_one_program_deleted_is_not_brought_back_by_the_other(
    folder: Path, carried: Carried, kept: Project
) -> None:
    """A late save merges: the deletion stays, and so does the late program's vote on another point."""
    write_file(folder, a_flat_dict(an_entry("kpt_001", "one"), an_entry("kpt_002", "two"), **DATED))
    first, second = carried(load_playbook()), carried(load_playbook())
    first = update_playbook_data(first, {"operations": [{"type": "DELETE", "target_id": "kpt_002"}]})
    save_playbook(first)

    save_playbook(update_playbook_data(second, helpful("kpt_001", "kpt_002")))

    assert outcome_of(load_playbook()) == [(OTHERS, "kpt_001", "one", 1, 0)]
    assert set(list_retired(kept)) == {"kpt_002"}


def test_texts_reworded_by_two_programs_are_reported(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The later text is live, the other is in the history, and stderr names the point."""
    write_file(folder, a_flat_dict(an_entry("kpt_001", "one"), **DATED))
    first, second = load_playbook(), load_playbook()
    for playbook, text in ((first, "the first's"), (second, "the second's")):
        entries_of(playbook)[0]["text"] = text
        save_playbook(playbook)

    assert texts_of(load_playbook()) == ["the second's"]
    assert "kpt_001" in capsys.readouterr().err


def test_a_name_is_never_given_twice_by_the_database(folder: Path, carried: Carried) -> None:
    """A dict function looks at the entries it has and may make the name of a deleted point again; the database gives
    another, and a late vote for the old point does not hit the new one."""
    write_file(
        folder, a_sections_dict({PATTERNS: [an_entry("pat-001", "one"), an_entry("pat-002", "old", 7)]}, **DATED)
    )
    late = carried(load_playbook())
    save({"operations": [{"type": "DELETE", "target_id": "pat-002"}]})

    playbook = update_playbook_data(carried(load_playbook()), an_addition("new"))
    regenerated = by_name(playbook)
    save_playbook(playbook)
    save_playbook(update_playbook_data(late, helpful("pat-002", "pat-001")))

    assert regenerated["pat-002"]["text"] == "new"
    assert outcome_of(load_playbook()) == [(PATTERNS, "pat-001", "one", 1, 0), (PATTERNS, "pat-003", "new", 0, 0)]


ROUNDS = """
import sys
from playbook_db.contract import load_playbook, save_playbook, update_playbook_data

for number in range(10):
    save_playbook(
        update_playbook_data(
            load_playbook(),
            {
                "evaluations": [{"name": "pat-001", "rating": "helpful"}],
                "new_key_points": [{"text": f"{sys.argv[1]}, round {number}", "section": "PATTERNS & APPROACHES"}],
            },
        )
    )
"""


def test_four_programs_at_once_lose_no_vote_and_no_point(folder: Path) -> None:
    """4 processes x 10 rounds of load, update and save: 40 votes, 40 new points of 40 names, in database and file."""
    write_file(folder, a_sections_dict({PATTERNS: [an_entry("pat-001", "one")]}, **DATED))
    load_playbook()
    with ExitStack() as stack:
        running = [
            stack.enter_context(
                subprocess.Popen(
                    [sys.executable, "-c", ROUNDS, f"program {number}"],
                    stderr=subprocess.PIPE,
                    env=os.environ,
                    text=True,
                )
            )
            for number in range(4)
        ]
        told = [process.communicate()[1] for process in running]
    assert [process.returncode for process in running] == [0] * 4, told

    for found in (load_playbook(), read_file(folder)):
        entries = by_name(found)
        assert len(entries) == len(entries_of(found)) == 41
        assert entries.pop("pat-001")["helpful"] == 40
        assert {entry["text"] for entry in entries.values()} == {
            f"program {program}, round {number}" for program in range(4) for number in range(10)
        }
