"""Three files become one, by the rules of the mirror."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playbook_db.domain import playbook_file
from playbook_db.domain.merging.file_merge import FileMerge, Side, merge_files
from playbook_db.domain.playbook import Playbook, normalised
from playbook_db.domain.playbook_file import Reading
from tests.builders import a_flat_dict, a_sections_dict, an_entry, playbooks_of_few_texts, versions_of

TIMES = [f"2026-01-0{day}T00:00:00.000000+00:00" for day in range(1, 5)]


def _bytes(*entries: Any, day: int = 1, **fields: Any) -> bytes:
    content = a_sections_dict({"OTHERS": [*entries]}, last_updated=TIMES[day - 1], **fields)
    return (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode()


def _read(data: bytes) -> Reading:
    return playbook_file.decode(data, source="F")


def _merge(base: bytes | None, ours: bytes, theirs: bytes, **options: Any) -> FileMerge:
    before = None if base is None else _read(base)
    return merge_files(before, Side(ours, _read(ours)), Side(theirs, _read(theirs)), **options)


def _entries(merged: FileMerge) -> list[Any]:
    """Name, text and helpful votes of each point."""
    return [(p.name, p.text, p.helpful) for p in _read(merged.data).playbook.points]


def test_votes_of_both_sides_add_up() -> None:
    base, ours = _bytes(an_entry("oth-001", helpful=1)), _bytes(an_entry("oth-001", helpful=3), day=2)
    merged = _merge(base, ours, _bytes(an_entry("oth-001", helpful=2), day=3))

    assert _entries(merged) == [("oth-001", "use type hints", 4)]
    assert merged.notes == ("brought into ours: 1 with other votes",)
    time = json.loads(merged.data)["last_updated"]
    assert TIMES[2] < time < TIMES[3]


def test_later_text_wins_and_the_other_is_reported() -> None:
    base, ours = _bytes(an_entry("oth-001", "one")), _bytes(an_entry("oth-001", "one, ours"), day=3)
    merged = _merge(base, ours, _bytes(an_entry("oth-001", "one, theirs"), day=2))

    assert _entries(merged) == [("oth-001", "one, ours", 0)]
    assert any("theirs that isn't live" in note and "one, theirs" in note for note in merged.notes)


def test_higher_counters_win_without_an_ancestor() -> None:
    """As in `playbook import`: one file may be an older copy of the other."""
    ours = _bytes(an_entry("oth-001", "one", helpful=3), an_entry("oth-002", "ours"))
    theirs = _bytes(an_entry("oth-001", "One.", helpful=2), an_entry("oth-002", "theirs"), day=2)

    assert _entries(_merge(None, ours, theirs)) == [
        ("oth-001", "one", 3),
        ("oth-002", "ours", 0),
        ("oth-003", "theirs", 0),
    ]


@pytest.mark.parametrize("which", ["ours", "theirs"])
@pytest.mark.parametrize(
    "form", [lambda data: data, lambda data: b"\xef\xbb\xbf" + data.replace(b"\n", b"\r\n")], ids=["plain", "Windows"]
)
def test_side_that_has_all_is_unchanged(which: str, form: Any) -> None:
    """Git then sees no change of that side."""
    base, more = _bytes(an_entry("oth-001")), form(_bytes(an_entry("oth-001", helpful=1), day=2))
    as_before = _bytes(an_entry("oth-001"), day=3)
    merged = _merge(base, *((more, as_before) if which == "ours" else (as_before, more)))

    assert merged.data == more


def test_windows_line_ends_are_converted() -> None:
    base, ours = _bytes(an_entry("oth-001")), _bytes(an_entry("oth-001", helpful=1), day=2)
    theirs = b"\xef\xbb\xbf" + _bytes(an_entry("oth-001", helpful=1), day=3).replace(b"\n", b"\r\n")
    merged = _merge(base, ours.replace(b"\n", b"\r\n"), theirs)

    assert _entries(merged) == [("oth-001", "use type hints", 2)]
    assert b"\r" not in merged.data
    assert merged.data.startswith(b"{")


def test_other_keys_are_merged_one_by_one() -> None:
    base = _bytes({**an_entry("oth-001"), "tags": ["a"], "note": "x"}, team="us", ratio=1)
    ours = _bytes(
        {**an_entry("oth-001"), "tags": ["b"], "note": "x"}, an_entry("oth-002", "ours"), day=2, team="we", ratio=1
    )
    theirs = _bytes(
        {**an_entry("oth-001"), "tags": ["a"], "note": "y"},
        {**an_entry("oth-002", "theirs"), "by": "Ann"},
        day=3, team="us", ratio=2, new=None,
    )  # fmt: skip
    content = json.loads(_merge(base, ours, theirs).data)

    entries = {entry["name"]: entry for entry in content["sections"]["OTHERS"]}
    assert (entries["oth-001"]["tags"], entries["oth-001"]["note"]) == (["b"], "y")
    assert entries["oth-003"] == {**an_entry("oth-003", "theirs"), "by": "Ann"}
    assert (content["team"], content["ratio"], content["new"]) == ("we", 2, None)


def test_flat_files_get_the_sections_of_one_side() -> None:
    flat = [json.dumps(a_flat_dict(an_entry("kpt_001", helpful=votes))).encode() for votes in (0, 1, 2)]
    merged = _merge(*flat)
    assert json.loads(merged.data)["key_points"] == [an_entry("kpt_001", helpful=3)]

    sections = a_sections_dict({"PROJECT CONTEXT": [an_entry("kpt_001", helpful=1)]})
    mixed = json.loads(_merge(flat[0], flat[1], json.dumps(sections).encode()).data)
    assert mixed["sections"]["PROJECT CONTEXT"] == [an_entry("kpt_001", helpful=2)]


def test_closer_ancestor_counts_nothing_twice() -> None:
    base = _bytes(an_entry("oth-001"))
    earlier = _bytes(an_entry("oth-001", helpful=1), day=2)
    later = _bytes(an_entry("oth-001", helpful=2), an_entry("oth-002", "two"), day=3)
    ancestor = _read(earlier).playbook

    assert _merge(base, later, earlier, ancestor=ancestor).data == later
    assert _merge(base, earlier, later, ancestor=ancestor).data == later


@given(data=st.data(), base=playbooks_of_few_texts())
def test_merge_loses_no_added_text(data: st.DataObject, base: Playbook) -> None:
    """Another merge with either side changes nothing."""
    ours, theirs = (data.draw(versions_of(base)) for _ in range(2))
    texts = [playbook_file.encode(each).encode() for each in (base, ours, theirs)]
    merged = _merge(*texts)
    points = _read(merged.data).playbook

    live = {normalised(point.text) for point in points.points}
    known = {point.text for point in base.points}  # under another name, the other side may have reworded it
    for side in (ours, theirs):
        for point in side.points:
            assert point.name in base.by_name or point.text in known or normalised(point.text) in live
    assert _merge(texts[1], texts[1], merged.data).data == merged.data
    assert _merge(texts[1], merged.data, texts[1]).data == merged.data
