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


@pytest.mark.postgres
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
    "a negative counter": '{"name": "kpt_001", "text": "one", "helpful": -1, "harmful": 0}',
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
    assert all(part in told for part in (str(path), "entry 2", "kpt_007", "abc"))


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
    assert "outside the project" in capsys.readouterr().err


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


def test_a_file_without_version_and_time_loads_with_both(folder: Path) -> None:
    """Programs rely on the keys that the documents list."""
    write_file(folder, {"key_points": ["one"]})

    loaded = load_playbook()

    assert (loaded["version"], loaded["last_updated"]) == ("1.0", None)
