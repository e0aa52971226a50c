"""What programs are promised that load and save the same playbook at once."""

import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from playbook_db.contract import (
    load_playbook,
    save_playbook,
    update_playbook_data,
)
from playbook_db.services.project import Project
from tests.builders import a_flat_dict, a_sections_dict, an_entry, list_retired
from tests.contract.playbooks import (
    DATED,
    MISTAKES,
    OTHERS,
    PATTERNS,
    Carried,
    an_addition,
    by_name,
    entries_of,
    helpful,
    outcome_of,
    read_file,
    save,
    texts_of,
    write_file,
)


def test_two_programs_lose_nothing(folder: Path, carried: Carried) -> None:
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


def test_hand_edits_outlive_a_late_save(folder: Path, carried: Carried) -> None:
    write_file(folder, a_sections_dict({PATTERNS: [an_entry("pat-001", "one"), an_entry("pat-002", "two")]}, **DATED))
    before = carried(load_playbook())
    for number, text in enumerate(("by hand", "by hand, too")):
        edited = read_file(folder)
        edited["sections"][PATTERNS][number]["text"] = text
        write_file(folder, edited)
        load_playbook()

    save_playbook(update_playbook_data(before, {**helpful("pat-001"), **an_addition("of the program")}))

    expected = [
        (PATTERNS, "pat-001", "by hand", 1, 0),
        (PATTERNS, "pat-002", "by hand, too", 0, 0),
        (PATTERNS, "pat-003", "of the program", 0, 0),
    ]
    assert outcome_of(load_playbook()) == outcome_of(read_file(folder)) == expected


def test_double_new_name_is_changed_on_one_side(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_file(folder, a_sections_dict({PATTERNS: [an_entry("pat-001", "one")]}, **DATED))
    first, second = load_playbook(), load_playbook()
    save_playbook(update_playbook_data(first, an_addition("of the first")))
    capsys.readouterr()

    save_playbook(update_playbook_data(second, an_addition("of the second")))

    assert outcome_of(load_playbook()) == [
        (PATTERNS, "pat-001", "one", 0, 0),
        (PATTERNS, "pat-002", "of the first", 0, 0),
        (PATTERNS, "pat-003", "of the second", 0, 0),
    ]
    assert outcome_of(second) == outcome_of(load_playbook())
    output = capsys.readouterr().err
    assert "pat-002" in output
    assert "pat-003" in output


def test_same_new_text_becomes_one_point(folder: Path) -> None:
    write_file(folder, a_sections_dict({PATTERNS: [an_entry("pat-001", "one")]}, **DATED))
    programs = [load_playbook(), load_playbook()]

    for playbook in programs:
        update_playbook_data(playbook, an_addition("learnt twice"))
        save_playbook(update_playbook_data(playbook, helpful("pat-002")))

    assert outcome_of(load_playbook())[1:] == [(PATTERNS, "pat-002", "learnt twice", 2, 0)]


@pytest.mark.postgres
def test_late_save_restores_no_deleted_point(folder: Path, kept: Project) -> None:
    write_file(folder, a_flat_dict(an_entry("kpt_001", "one"), an_entry("kpt_002", "two"), **DATED))
    first, second = load_playbook(), load_playbook()
    first = update_playbook_data(first, {"operations": [{"type": "DELETE", "target_id": "kpt_002"}]})
    save_playbook(first)

    save_playbook(update_playbook_data(second, helpful("kpt_001", "kpt_002")))

    assert outcome_of(load_playbook()) == [(OTHERS, "kpt_001", "one", 1, 0)]
    assert set(list_retired(kept)) == {"kpt_002"}


def test_conflicting_texts_are_reported(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_file(folder, a_flat_dict(an_entry("kpt_001", "one"), **DATED))
    first, second = load_playbook(), load_playbook()
    for playbook, text in ((first, "the first's"), (second, "the second's")):
        entries_of(playbook)[0]["text"] = text
        save_playbook(playbook)

    assert texts_of(load_playbook()) == ["the second's"]
    assert "kpt_001" in capsys.readouterr().err


@pytest.mark.postgres
def test_names_are_never_reused(folder: Path) -> None:
    write_file(
        folder, a_sections_dict({PATTERNS: [an_entry("pat-001", "one"), an_entry("pat-002", "old", 7)]}, **DATED)
    )
    late = load_playbook()
    save({"operations": [{"type": "DELETE", "target_id": "pat-002"}]})

    playbook = update_playbook_data(load_playbook(), an_addition("new"))
    save_playbook(playbook)
    save_playbook(update_playbook_data(late, helpful("pat-002", "pat-001")))

    assert outcome_of(load_playbook()) == [(PATTERNS, "pat-001", "one", 1, 0), (PATTERNS, "pat-003", "new", 0, 0)]


ROUNDS = """
import sys
from playbook_db.contract import load_playbook, save_playbook, update_playbook_data

for number in range(6):
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


@pytest.mark.nightly
@pytest.mark.slow
def test_four_programs_at_once_lose_nothing(folder: Path) -> None:
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
        errors = [process.communicate()[1] for process in running]
    assert [process.returncode for process in running] == [0] * 4, errors

    for found in (load_playbook(), read_file(folder)):
        entries = by_name(found)
        assert len(entries) == len(entries_of(found)) == 25
        assert entries.pop("pat-001")["helpful"] == 24
        assert {entry["text"] for entry in entries.values()} == {
            f"program {program}, round {number}" for program in range(4) for number in range(6)
        }
