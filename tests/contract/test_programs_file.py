"""What load_playbook() and save_playbook() make of a file that was edited, damaged, refused or put back."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from playbook_db.contract import (
    load_playbook,
    save_playbook,
    update_playbook_data,
)
from tests.builders import a_flat_dict, a_sections_dict, an_entry
from tests.contract.playbooks import (
    OTHERS,
    Layout,
    an_addition,
    entries_of,
    file_in,
    helpful,
    outcome_of,
    read_file,
    save,
    texts_of,
    write_file,
)


@pytest.mark.postgres
def test_hand_edit_is_read(folder: Path) -> None:
    write_file(folder, a_flat_dict(an_entry("kpt_001", "one", 3), an_entry("kpt_002", "two")))
    save()
    edited = read_file(folder)
    edited["sections"][OTHERS] = [an_entry("kpt_001", "one, reworded", 3), an_entry("kpt_003", "three", 1)]
    write_file(folder, edited)

    assert outcome_of(load_playbook()) == [
        (OTHERS, "kpt_001", "one, reworded", 3, 0),
        (OTHERS, "kpt_003", "three", 1, 0),
    ]


@pytest.mark.postgres
def test_hand_edit_before_a_save_is_merged(folder: Path) -> None:
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


DAMAGED = {
    "cut in half": lambda data: data[: len(data) // 2],
    "empty": lambda data: b"",
    "no UTF-8": lambda data: data.replace(b"one", b"\xff\xfe"),
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


def test_damaged_file_is_set_aside(
    folder: Path, capsys: pytest.CaptureFixture[str], damage: Callable[[Path], bytes]
) -> None:
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


def test_file_damaged_before_a_save_is_set_aside(folder: Path, damage: Callable[[Path], bytes]) -> None:
    write_file(folder, a_flat_dict(an_entry("kpt_001", "one", 4, 1), an_entry("kpt_002", "two")))
    playbook = update_playbook_data(load_playbook(), helpful("kpt_001"))
    damaged = damage(file_in(folder))

    save_playbook(playbook)

    expected = [(OTHERS, "kpt_001", "one", 5, 1), (OTHERS, "kpt_002", "two", 0, 0)]
    assert outcome_of(load_playbook()) == outcome_of(read_file(folder)) == expected
    assert set_aside(folder) == [damaged]


def test_damaged_files_get_different_names(folder: Path) -> None:
    damaged = [f'{{"version": "1.0", "key_points": [{number}'.encode() for number in range(3)]
    for data in damaged:
        file_in(folder).write_bytes(data)
        load_playbook()

    assert sorted(set_aside(folder)) == damaged


REFUSED = {
    "a score that is text": '{"name": "kpt_001", "text": "one", "score": "abc"}',
    "a negative counter": '{"name": "kpt_001", "text": "one", "helpful": -1, "harmful": 0}',
    "an entry that is a number": "7",
    "an entry without a text": '{"name": "kpt_001"}',
    "a name that stands twice": '{"name": "kpt_009", "text": "one"}, {"name": "kpt_009", "text": "two"}',
}


@pytest.mark.parametrize("entries", REFUSED.values(), ids=REFUSED)
def test_refused_file_is_unchanged(
    folder: Path, layout: Layout, capsys: pytest.CaptureFixture[str], entries: str
) -> None:
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


def test_refusal_names_entry_and_value(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_file(folder, a_flat_dict("one", {"name": "kpt_007", "text": "two", "score": "abc"}))

    assert load_playbook() == a_sections_dict({})
    output = capsys.readouterr().err
    assert all(part in output for part in (str(path), "entry 2", "kpt_007", "abc"))


def test_saving_keeps_a_refused_file_aside(folder: Path) -> None:
    path = write_file(folder, a_flat_dict({"name": "kpt_001", "text": "one", "score": "abc"}))
    refused = path.read_bytes()

    save(an_addition("new"))

    assert texts_of(read_file(folder)) == ["new"]
    assert set_aside(folder) == [refused]


def test_link_out_of_the_project_is_ignored(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outside = tmp_path / "outside.json"
    outside.write_text(json.dumps(a_flat_dict("somebody else's")))
    file_in(folder).symlink_to(outside)

    save(an_addition("new"))

    assert outside.read_text() == json.dumps(a_flat_dict("somebody else's"))
    assert texts_of(load_playbook()) == ["new"]
    assert "outside the project" in capsys.readouterr().err


def test_sections_win_and_unknown_ones_become_others(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    both = {"key_points": ["ignored"], "sections": {"NO SUCH": [an_entry("x-1", "one")], "others ": ["two"]}}
    write_file(folder, both)

    assert [(section, text) for section, _, text, _, _ in outcome_of(load_playbook())] == [
        (OTHERS, "one"),
        (OTHERS, "two"),
    ]
    output = capsys.readouterr().err
    assert "key_points" in output
    assert "NO SUCH" in output


def test_missing_version_and_time_get_defaults(folder: Path) -> None:
    write_file(folder, {"key_points": ["one"]})

    loaded = load_playbook()

    assert (loaded["version"], loaded["last_updated"]) == ("1.0", None)
