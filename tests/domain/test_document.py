"""The text of a playbook file, decoded and encoded."""

import json
from typing import Any

import pytest
from hypothesis import given

from playbook_db.domain.playbook import Header, Playbook, playbook_of
from playbook_db.domain.playbook_file import MAX_DEPTH, Layout, decode, encode
from playbook_db.domain.sections import SECTION_SLUGS
from playbook_db.errors import PlaybookFileError
from tests.builders import a_key_point, a_playbook, an_entry, filed_playbooks

SOURCE = ".claude/playbook.json"


def content_of(playbook: Playbook, layout: Layout = "sections") -> dict[str, Any]:
    """What the playbook's file holds, as plain values."""
    entries = [(p.section, an_entry(p.name, p.text, p.helpful, p.harmful)) for p in playbook.points]
    by_section = {title: [entry for section, entry in entries if section == title] for title in SECTION_SLUGS}
    content: dict[str, Any] = {}
    for key, value in playbook.header.fields:
        if key != "sections":
            content[key] = value
        elif layout == "flat":
            content["key_points"] = [entry for _, entry in entries]
        else:
            content["sections"] = by_section
    return content


def text_of(content: dict[str, Any], header: Header) -> str:
    """The canonical text of a file with that content."""
    return json.dumps(content, indent=2, ensure_ascii=False) + ("\n" if header.final_newline else "")


def refusal_of(data: bytes | str) -> PlaybookFileError:
    """The error with which *data* is refused; it names the file and says that nothing was taken in."""
    with pytest.raises(PlaybookFileError) as caught:
        decode(data, source=SOURCE)
    assert str(caught.value).startswith(f"{SOURCE}{', ' if caught.value.place else ''}{caught.value.place}: ")
    assert str(caught.value).endswith("Nothing of it was taken in.")
    return caught.value


# --- round trips ---


@given(filed_playbooks())
def test_what_was_encoded_decodes_to_the_same_playbook(playbook: Playbook) -> None:
    """Points, order, header and final newline: nothing is lost, and nothing needs a word."""
    reading = decode(encode(playbook).encode("utf-8"), source=SOURCE)

    assert reading.playbook == playbook
    assert not reading.warnings
    assert not reading.migrated


@given(filed_playbooks())
def test_encoding_is_what_the_library_would_write(playbook: Playbook) -> None:
    """Byte for byte `json.dumps(..., indent=2, ensure_ascii=False)`, in both layouts."""
    for layout in ("sections", "flat"):
        assert encode(playbook, layout=layout) == text_of(content_of(playbook, layout), playbook.header)


@given(filed_playbooks())
def test_canonical_file_comes_out_as_it_went_in(playbook: Playbook) -> None:
    """To the byte: unknown keys in any place, `last_updated`, a final newline or none."""
    original = text_of(content_of(playbook), playbook.header).encode("utf-8")

    assert encode(decode(original, source=SOURCE).playbook).encode("utf-8") == original


@given(filed_playbooks())
def test_canonical_flat_file_comes_out_flat_as_it_went_in(playbook: Playbook) -> None:
    """The flat layout gives the flat file back."""
    original = text_of(content_of(playbook, "flat"), playbook.header)

    reading = decode(original, source=SOURCE)

    assert reading.is_flat
    assert encode(reading.playbook, layout="flat") == original


@given(filed_playbooks())
def test_flat_layout_lists_the_points_in_canonical_order(playbook: Playbook) -> None:
    """For tools that still read it; only the sections are lost."""
    reading = decode(encode(playbook, layout="flat"), source=SOURCE)

    assert [(p.name, p.text, p.helpful, p.harmful) for p in reading.playbook.points] == [
        (p.name, p.text, p.helpful, p.harmful) for p in playbook.points
    ]


def test_new_playbook_has_all_sections_and_the_documented_keys() -> None:
    """`version`, `last_updated`, then the five sections, and a newline at the end."""
    assert encode(Playbook()) == (
        '{\n  "version": "1.0",\n  "last_updated": null,\n  "sections": {\n    "PATTERNS & APPROACHES": [],\n'
        '    "MISTAKES TO AVOID": [],\n    "USER PREFERENCES": [],\n    "PROJECT CONTEXT": [],\n    "OTHERS": []\n'
        "  }\n}\n"
    )


def test_entry_is_written_with_exactly_its_four_keys() -> None:
    """No `score`, whatever was read."""
    text = '{"key_points": [{"name": "kpt_001", "score": -3, "text": "ünïcode \\u2028", "extra": 1}]}'

    written = encode(decode(text, source=SOURCE).playbook, layout="flat")

    assert written == (
        '{\n  "key_points": [\n    {\n      "name": "kpt_001",\n      "text": "ünïcode \u2028",\n'
        '      "helpful": 0,\n      "harmful": 3\n    }\n  ]\n}'
    )


def test_header_without_a_place_for_the_points_gets_them_last() -> None:
    """No header can make the points disappear."""
    playbook = playbook_of([a_key_point()], header=Header((("version", "2"),)))

    assert list(json.loads(encode(playbook))) == ["version", "sections"]


@pytest.mark.parametrize("text", ['{"sections": {}}', '{"sections": {}}\n'])
def test_final_newline_is_remembered(text: str) -> None:
    """Whether there is one is the file's own choice."""
    assert decode(text, source=SOURCE).playbook.header.final_newline == text.endswith("\n")


def test_byte_order_mark_is_passed_over() -> None:
    """Windows editors write one; it is no part of the file's content."""
    plain = encode(a_playbook(a_key_point()))

    for data in (plain.encode("utf-8-sig"), f"\ufeff{plain}"):
        assert decode(data, source=SOURCE).playbook == decode(plain, source=SOURCE).playbook


# --- what is no JSON ---


@pytest.mark.parametrize(
    ("text", "place", "problem"),
    [
        ('{"sections": {},\n  oops}', "line 2, column 3", "this is no JSON ("),
        ('{"sections": {}', "line 1, column 16", "this is no JSON ("),
        ('{"sections": {}} {}', "line 1, column 18", "this is no JSON (Extra data)"),
        ('{"key_points": ["a\nb"]}', "line 1, column 19", "this is no JSON (Invalid control character"),
        ("{'sections': {}}", "line 1, column 2", "this is no JSON ("),
        ("", "line 1, column 1", "the file is empty."),
        (" \n", "line 2, column 1", "the file is empty."),
    ],
)
def test_broken_json_is_refused_with_line_and_column(text: str, place: str, problem: str) -> None:
    """The file is damaged: no reader can make sense of it."""
    error = refusal_of(text)

    assert error.place == place
    assert error.problem.startswith(problem)
    assert error.damaged
    assert not error.in_git_merge


@pytest.mark.parametrize("before", ["", '{\n  "version": "1.0",\n'])
def test_unfinished_git_merge_is_told_from_other_damage(before: str) -> None:
    """Conflict markers mean that somebody is in the middle of something: the file is theirs to finish."""
    error = refusal_of(f'{before}<<<<<<< HEAD\n  "a": 1,\n=======\n  "a": 2,\n>>>>>>> main\n  "sections": {{}}\n}}')

    assert error.in_git_merge
    assert error.damaged
    assert error.problem == "a git merge is not finished (conflict markers); finish it first."


def test_text_about_conflict_markers_is_no_conflict() -> None:
    """A point may well be about git."""
    text = encode(a_playbook(a_key_point(text="\n<<<<<<< HEAD\n")))

    assert decode(text, source=SOURCE).playbook.points[0].text == "\n<<<<<<< HEAD\n"
    assert not refusal_of(text[:-3]).in_git_merge


@pytest.mark.parametrize("encoding", ["utf-16-be", "utf-16-le"])
def test_utf_16_is_refused_with_the_way_out(encoding: str) -> None:
    """PowerShell writes it, with a mark at the start that gives it away."""
    error = refusal_of('\ufeff{"sections": {}}'.encode(encoding))

    assert (error.place, error.damaged) == ("byte 0", True)
    assert error.problem == "this is no UTF-8. It looks like UTF-16; save it as UTF-8."


def test_utf_16_without_its_mark_is_damaged_all_the_same() -> None:
    """It may pass as UTF-8, but never as JSON."""
    error = refusal_of('{"sections": {}}'.encode("utf-16-le"))

    assert (error.place, error.damaged) == ("line 1, column 2", True)


def test_other_encodings_are_refused_at_the_byte() -> None:
    """Nothing is replaced by question marks."""
    error = refusal_of('{"key_points": ["für"]}'.encode("latin-1"))

    assert (error.place, error.problem, error.damaged) == ("byte 18", "this is no UTF-8.", True)


# --- JSON, but no playbook ---


@pytest.mark.parametrize("text", ["[]", '"use ruff"', "5", "null"])
def test_file_that_is_no_object_is_refused(text: str) -> None:
    """It is JSON, so it isn't damaged, but no playbook."""
    error = refusal_of(text)

    assert error.problem == f"a playbook is a JSON object, and this is {text}."
    assert not error.damaged


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ('{"sections": {"OTHERS": ["a"], "OTHERS": []}}', "OTHERS"),
        ('{"key_points": [{"text": "a", "text": "b"}]}', "text"),
        ('{"sections": {}, "version": 1, "version": 1}', "version"),
        ('{"sections": {}, "x": [{"\\u0061": 1, "a": 2}]}', "a"),
    ],
)
def test_key_that_stands_twice_is_refused(text: str, key: str) -> None:
    """JSON readers drop the first in silence; here nothing is dropped."""
    error = refusal_of(text)

    assert f"the key {key!r} stands twice" in error.problem
    assert not error.damaged


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity"])
@pytest.mark.parametrize("text", ['{{"key_points": [{{"text": "a", "score": {}}}]}}', '{{"sections": {{}}, "x": {}}}'])
def test_number_that_json_does_not_have_is_refused(text: str, value: str) -> None:
    """Python would read it; nobody else could read what we then write."""
    error = refusal_of(text.format(value))

    assert (error.place, error.problem) in [
        ("`key_points`, entry 1", f"`score` must be a whole number, and it is {value}."),
        ("`x`", "it holds a number that JSON can't keep."),
    ]
    assert not error.damaged


@pytest.mark.parametrize(
    ("number", "shown"), [("1e400", "Infinity"), ("-1e400", "-Infinity"), ("9223372036854775808", None)]
)
@pytest.mark.parametrize("key", ["helpful", "harmful", "score"])
def test_number_out_of_range_is_refused_with_entry_and_value(key: str, number: str, shown: str | None) -> None:
    """What a database integer can't hold is no count."""
    error = refusal_of(f'{{"key_points": ["a", {{"name": "kpt_007", "text": "b", "{key}": {number}}}]}}')

    assert error.place == "`key_points`, entry 2 ('kpt_007')"
    assert f"`{key}` must be a whole number" in error.problem
    assert f"it is {shown or number}." in error.problem


def test_number_of_thousands_of_digits_is_refused() -> None:
    """Python refuses to read it, which must not look like a bug of ours."""
    digits = "9" * 5000

    assert refusal_of(f'{{"sections": {{}}, "x": {digits}}}').place == "`x`"
    error = refusal_of(f'{{"key_points": ["a", {{"name": "kpt_007", "text": "b", "score": {digits}}}]}}')
    assert error.place == "`key_points`, entry 2 ('kpt_007')"


@pytest.mark.parametrize(
    ("field", "place", "problem"),
    [
        ('"limit": 1e400', "`limit`", "it holds a number that JSON can't keep."),
        ('"notes": {"a": [-1e400]}', "`notes`", "it holds a number that JSON can't keep."),
        ('"author": "\\ud83d"', "`author`", "it holds half a surrogate pair."),
        ('"\\ud83d": 1', "`?`", "it holds half a surrogate pair."),
    ],
)
def test_header_that_could_not_be_written_again_is_refused(field: str, place: str, problem: str) -> None:
    """Unknown keys survive to the letter, or the file isn't taken in."""
    error = refusal_of(f'{{"sections": {{}}, {field}}}')

    assert (error.place, error.problem) == (place, problem)
    assert not error.damaged


@pytest.mark.parametrize(
    ("entry", "place"),
    [
        ('"half \\ud83d"', "section 'OTHERS', entry 1"),
        ('{"name": "kpt_001", "text": "half \\ud83d"}', "section 'OTHERS', entry 1 ('kpt_001')"),
    ],
)
def test_half_a_surrogate_pair_is_refused_with_its_entry(entry: str, place: str) -> None:
    """JSON can say it, UTF-8 and the database can't; the message itself can be printed."""
    error = refusal_of(f'{{"sections": {{"OTHERS": [{entry}]}}}}')

    assert error.place == place
    assert '"half \\ud83d"' in error.problem
    assert str(error).isascii()


def test_whole_surrogate_pair_is_one_character() -> None:
    """Tools that escape everything write pairs."""
    reading = decode('{"key_points": ["\\ud83d\\ude00"]}', source=SOURCE)

    assert reading.playbook.points[0].text == "😀"


def test_deep_nesting_is_refused() -> None:
    """A file that exhausts the reader is refused like any other, without a traceback."""
    for text in ("[" * 100_000, '{"sections": {}, "x": ' + "[" * 100_000 + "]" * 100_000 + "}"):
        error = refusal_of(text)

        assert error.problem == "it is nested too deeply for a playbook."


def test_names_given_twice_are_renamed_when_asked_for() -> None:
    """The repair of `--rename-duplicates` reaches the reader."""
    text = '{"key_points": [{"name": "kpt_001", "text": "a"}, {"name": "kpt_001", "text": "b"}]}'

    reading = decode(text, source=SOURCE, rename_duplicates=True)

    assert [point.name for point in reading.playbook.points] == ["kpt_001", "kpt_002"]
    assert "'kpt_001'" in refusal_of(text).problem


def test_a_header_nested_too_deeply_is_refused() -> None:
    """What can be read can be copied, written and printed again, from wherever it is called."""
    depth = MAX_DEPTH + 1

    assert refusal_of(f'{{"x": {"[" * depth}{"]" * depth}, "sections": {{}}}}').place == "`x`"
    assert decode(f'{{"x": {"[" * MAX_DEPTH}{"]" * MAX_DEPTH}, "sections": {{}}}}', source=SOURCE)


def test_a_refusal_can_always_be_printed() -> None:
    """Whatever the file holds."""
    assert str(refusal_of('{"\\ud800": 1e400, "sections": {}}')).encode("utf-8")
