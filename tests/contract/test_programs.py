"""What programs are promised that load the playbook, change it and save it."""

import copy
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from playbook_db.contract import (
    load_playbook,
    save_playbook,
    update_playbook_data,
)
from playbook_db.errors import PlaybookFileError
from playbook_db.services.project import Project
from playbook_db.services.sharing import mirror
from tests.builders import a_flat_dict, a_sections_dict, an_entry, list_retired
from tests.contract.playbooks import (
    CONTEXT,
    DATED,
    MISTAKES,
    OTHERS,
    PATTERNS,
    Carried,
    Layout,
    a_dict,
    an_addition,
    by_name,
    entries_of,
    file_in,
    helpful,
    outcome_of,
    read_file,
    save,
    texts_of,
    write_file,
)

# --- what is written ---


def test_saving_sets_last_updated(folder: Path) -> None:
    write_file(folder, a_flat_dict("one", **DATED))
    loaded = load_playbook()

    before = datetime.now(UTC)
    save_playbook(loaded)
    after = datetime.now(UTC)

    assert before <= datetime.fromisoformat(loaded["last_updated"]) <= after
    assert read_file(folder)["last_updated"] == load_playbook()["last_updated"] == loaded["last_updated"]


def test_loading_keeps_last_updated(folder: Path) -> None:
    fresh = load_playbook()
    write_file(folder, a_flat_dict("one", **DATED))

    assert fresh["last_updated"] is None
    assert load_playbook()["last_updated"] == load_playbook()["last_updated"] == DATED["last_updated"]


@pytest.mark.postgres
def test_equal_texts_stay_two_points(folder: Path) -> None:
    write_file(folder, a_flat_dict("one", **DATED))
    loaded = load_playbook()
    loaded["sections"][OTHERS].append(an_entry("oth-009", "One."))
    save_playbook(loaded)

    assert texts_of(load_playbook()) == ["one", "One."]


def test_version_and_unknown_keys_survive(folder: Path, layout: Layout) -> None:
    extra = {"version": "2.7-beta", "team": "ä", "nested": {"b": [1, 2.5, None], "a": {"": False}}}
    write_file(folder, a_dict(layout, an_entry("kpt_001"), **extra))

    save(helpful("kpt_001"))

    for found in (load_playbook(), read_file(folder)):
        assert {key: found[key] for key in extra} == extra


@pytest.mark.postgres
def test_programs_can_change_top_level_keys(folder: Path) -> None:
    write_file(folder, a_flat_dict("one", gone="x", changed=1))
    playbook = load_playbook()
    del playbook["gone"]
    playbook.update(changed=2, added=["y"])

    save_playbook(playbook)

    found = read_file(folder)
    assert "gone" not in found
    assert (found["changed"], found["added"]) == (2, ["y"])


def test_entries_have_exactly_four_keys(folder: Path, layout: Layout) -> None:
    save_playbook(a_dict(layout, {"note": "x", "score": 3, **an_entry("kpt_001", "one", 1, 2), "added": 4}))

    (written,) = entries_of(read_file(folder))
    assert list(written.items()) == list(an_entry("kpt_001", "one", 1, 2).items())


def test_file_has_five_sections_in_order(folder: Path) -> None:
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


def test_saving_creates_the_file(folder: Path) -> None:
    (folder / ".claude").rmdir()

    save(an_addition("one"))

    assert texts_of(read_file(folder)) == ["one"]


def test_loading_writes_no_file(folder: Path) -> None:
    save(an_addition("one"))
    file_in(folder).unlink()

    assert texts_of(load_playbook()) == ["one"]
    assert list((folder / ".claude").iterdir()) == []


def test_saving_writes_with_the_mirror_off(folder: Path, kept: Project) -> None:
    save(an_addition("one"))
    mirror.switch(kept, on=False)

    save(an_addition("two"))
    second = texts_of(read_file(folder))
    file_in(folder).unlink()
    save(an_addition("three"))

    assert second == ["one", "two"]
    assert texts_of(read_file(folder)) == ["one", "two", "three"]


def test_saving_merges_a_file_not_yet_read(folder: Path, kept: Project) -> None:
    write_file(folder, a_flat_dict(an_entry("kpt_001", "from the file", 5, 1), **DATED))
    mirror.switch(kept, on=False)

    save(an_addition("by the program"))

    expected = [(PATTERNS, "pat-001", "by the program", 0, 0), (OTHERS, "kpt_001", "from the file", 5, 1)]
    assert outcome_of(read_file(folder)) == outcome_of(load_playbook()) == expected


def test_saving_leaves_one_file(folder: Path) -> None:
    save(an_addition("one"))
    save(an_addition("two"))

    assert [path.name for path in (folder / ".claude").iterdir()] == ["playbook.json"]


def test_without_a_project_the_home_is_used(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CLAUDE_PROJECT_DIR", raising=False)

    save(an_addition("one"))

    assert texts_of(read_file(home)) == ["one"]


@pytest.mark.postgres
def test_projects_are_separate(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save(an_addition("of the first"))
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(tmp_path / "second"))

    save(an_addition("of the second"))

    assert texts_of(load_playbook()) == ["of the second"]
    assert texts_of(read_file(folder)) == ["of the first"]


# --- what is saved ---


@pytest.mark.postgres
def test_load_returns_what_was_saved(folder: Path) -> None:
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


def test_playbook_outlives_its_file(folder: Path) -> None:
    saved = outcome_of(save(an_addition("one"), an_addition("two")))
    file_in(folder).unlink()

    assert outcome_of(load_playbook()) == saved


def test_saving_twice_counts_no_vote_twice(folder: Path, carried: Carried) -> None:
    write_file(folder, a_flat_dict(an_entry("kpt_001", "one", helpful=5), **DATED))
    playbook = update_playbook_data(carried(load_playbook()), helpful("kpt_001"))

    for _ in range(3):
        save_playbook(playbook)
        playbook = carried(playbook)
    save_playbook(update_playbook_data(playbook, helpful("kpt_001")))

    assert by_name(load_playbook())["kpt_001"]["helpful"] == by_name(playbook)["kpt_001"]["helpful"] == 7


def test_hand_built_dict_replaces_the_playbook(folder: Path) -> None:
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


@pytest.mark.postgres
def test_missing_points_are_retired(folder: Path, kept: Project) -> None:
    write_file(folder, a_flat_dict(an_entry("kpt_001", "one", 9, 2), an_entry("kpt_002", "two")))
    load_playbook()

    save_playbook(a_flat_dict(an_entry("kpt_002", "two")))

    gone = list_retired(kept)["kpt_001"].point
    assert (gone.text, gone.helpful, gone.harmful) == ("one", 9, 2)


def test_flat_dict_stays_flat(folder: Path) -> None:
    flat = update_playbook_data(a_flat_dict("one"), {"new_key_points": ["two"]})

    save_playbook(flat)

    assert list(flat) == ["version", "last_updated", "key_points"]
    assert flat["key_points"] == [an_entry("kpt_001", "one"), an_entry("kpt_002", "two")]
    assert outcome_of(load_playbook()) == [(OTHERS, "kpt_001", "one", 0, 0), (OTHERS, "kpt_002", "two", 0, 0)]


@pytest.mark.parametrize("is_base_known", [True, False])
def test_flat_dict_keeps_sections(folder: Path, is_base_known: bool) -> None:
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
        {"harmful": float("nan")},
        {"text": None},
        {"name": "pat-001]\n[pat-002"},
    ],
)
def test_bad_entry_is_refused_and_nothing_saved(folder: Path, layout: Layout, bad: dict[str, Any]) -> None:
    save_playbook(a_dict(layout, an_entry("kpt_001", "one", 4, 1)))
    before, bytes_before = load_playbook(), file_in(folder).read_bytes()
    playbook = a_dict(layout, an_entry("kpt_001", "one", 4, 1), {**an_entry("kpt_002", "two"), **bad})
    given = copy.deepcopy(playbook)

    with pytest.raises(PlaybookFileError, match="entry 2"):
        save_playbook(playbook)

    assert load_playbook() == before
    assert file_in(folder).read_bytes() == bytes_before
    assert repr(playbook) == repr(given)


def test_double_name_is_refused(layout: Layout, folder: Path) -> None:
    with pytest.raises(PlaybookFileError, match=r"entry 2.*entry 1"):
        save_playbook(a_dict(layout, an_entry("kpt_001", "one"), an_entry("kpt_001", "two")))

    assert entries_of(load_playbook()) == []


def test_saving_into_another_project_replaces(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_file(folder, a_sections_dict({PATTERNS: [an_entry("pat-001", "of A", 5)]}))
    loaded = load_playbook()
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(tmp_path / "B"))
    save_playbook(a_sections_dict({PATTERNS: [an_entry("pat-001", "of B", 9)]}))
    save(an_addition("second of B"))

    save_playbook(loaded)

    assert outcome_of(load_playbook()) == [(PATTERNS, "pat-001", "of A", 5, 0)]


@pytest.mark.parametrize("value", [{1, 2}, float("nan"), b"x"], ids=str)
def test_unwritable_value_is_refused(folder: Path, value: object) -> None:
    with pytest.raises(PlaybookFileError, match="`x`"):
        save_playbook({**a_sections_dict({PATTERNS: [an_entry("pat-001")]}), "x": value})

    assert texts_of(load_playbook()) == []
