"""The content of playbook.json: every shape that is read, and what is written."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playbook_db.domain.playbook import MAX_COUNTER, Header, Playbook, playbook_of
from playbook_db.domain.playbook_file import Layout, Reading, decode, encode, read_playbook
from playbook_db.domain.sections import SECTION_SLUGS
from playbook_db.errors import PlaybookFileError
from tests.builders import (
    a_flat_dict,
    a_key_point,
    a_playbook,
    a_sections_dict,
    an_entry,
    counters,
    filed_playbooks,
    section_names,
    texts,
)

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
    """The error with which *data* is refused; it names the file and says that nothing was imported."""
    with pytest.raises(PlaybookFileError) as caught:
        decode(data, source=SOURCE)
    assert str(caught.value).startswith(f"{SOURCE}{', ' if caught.value.place else ''}{caught.value.place}: ")
    assert str(caught.value).endswith("Nothing was imported from it.")
    return caught.value


# --- round trips ---


@given(filed_playbooks())
def test_encode_and_decode_lose_nothing(playbook: Playbook) -> None:
    reading = decode(encode(playbook).encode("utf-8"), source=SOURCE)

    assert reading.playbook == playbook
    assert not reading.warnings
    assert not reading.migrated


@given(filed_playbooks())
def test_encoding_equals_json_dumps(playbook: Playbook) -> None:
    for layout in ("sections", "flat"):
        assert encode(playbook, layout=layout) == text_of(content_of(playbook, layout), playbook.header)


@given(filed_playbooks())
def test_canonical_file_is_unchanged(playbook: Playbook) -> None:
    original = text_of(content_of(playbook), playbook.header).encode("utf-8")

    assert encode(decode(original, source=SOURCE).playbook).encode("utf-8") == original


@given(filed_playbooks())
def test_canonical_flat_file_is_unchanged(playbook: Playbook) -> None:
    original = text_of(content_of(playbook, "flat"), playbook.header)

    reading = decode(original, source=SOURCE)

    assert reading.is_flat
    assert encode(reading.playbook, layout="flat") == original


def test_new_playbook_has_the_documented_keys() -> None:
    assert encode(Playbook()) == (
        '{\n  "version": "1.0",\n  "last_updated": null,\n  "sections": {\n    "PATTERNS & APPROACHES": [],\n'
        '    "MISTAKES TO AVOID": [],\n    "USER PREFERENCES": [],\n    "PROJECT CONTEXT": [],\n    "OTHERS": []\n'
        "  }\n}\n"
    )


def test_entry_has_four_keys() -> None:
    text = '{"key_points": [{"name": "kpt_001", "score": -3, "text": "ünïcode \\u2028", "extra": 1}]}'

    written = encode(decode(text, source=SOURCE).playbook, layout="flat")

    assert written == (
        '{\n  "key_points": [\n    {\n      "name": "kpt_001",\n      "text": "ünïcode \u2028",\n'
        '      "helpful": 0,\n      "harmful": 3\n    }\n  ]\n}'
    )


def test_header_without_points_gets_them_last() -> None:
    playbook = playbook_of([a_key_point()], header=Header((("version", "2"),)))

    assert list(json.loads(encode(playbook))) == ["version", "sections"]


@pytest.mark.parametrize("text", ['{"sections": {}}', '{"sections": {}}\n'])
def test_final_newline_is_kept(text: str) -> None:
    assert decode(text, source=SOURCE).playbook.header.final_newline == text.endswith("\n")


def test_byte_order_mark_is_ignored() -> None:
    plain = encode(a_playbook(a_key_point()))

    for data in (plain.encode("utf-8-sig"), f"\ufeff{plain}"):
        assert decode(data, source=SOURCE).playbook == decode(plain, source=SOURCE).playbook


# --- what is no JSON ---


@pytest.mark.parametrize(
    ("text", "place", "problem"),
    [
        ('{"sections": {},\n  oops}', "line 2, column 3", "this is not JSON ("),
        ('{"sections": {}', "line 1, column 16", "this is not JSON ("),
        ('{"sections": {}} {}', "line 1, column 18", "this is not JSON (Extra data)"),
        ('{"key_points": ["a\nb"]}', "line 1, column 19", "this is not JSON (Invalid control character"),
        ("{'sections': {}}", "line 1, column 2", "this is not JSON ("),
        ("", "line 1, column 1", "the file is empty."),
        (" \n", "line 2, column 1", "the file is empty."),
    ],
)
def test_broken_json_names_line_and_column(text: str, place: str, problem: str) -> None:
    error = refusal_of(text)

    assert error.place == place
    assert error.problem.startswith(problem)
    assert error.damaged
    assert not error.in_git_merge


@pytest.mark.parametrize("before", ["", '{\n  "version": "1.0",\n'])
def test_git_conflict_is_recognized(before: str) -> None:
    error = refusal_of(f'{before}<<<<<<< HEAD\n  "a": 1,\n=======\n  "a": 2,\n>>>>>>> main\n  "sections": {{}}\n}}')

    assert error.in_git_merge
    assert error.damaged
    assert error.problem == "a git merge is not finished (conflict markers); finish it first."


def test_text_about_conflicts_is_no_conflict() -> None:
    text = encode(a_playbook(a_key_point(text="\n<<<<<<< HEAD\n")))

    assert decode(text, source=SOURCE).playbook.points[0].text == "\n<<<<<<< HEAD\n"
    assert not refusal_of(text[:-3]).in_git_merge


@pytest.mark.parametrize("encoding", ["utf-16-be", "utf-16-le"])
def test_utf_16_is_refused(encoding: str) -> None:
    """PowerShell writes it."""
    error = refusal_of('\ufeff{"sections": {}}'.encode(encoding))

    assert (error.place, error.damaged) == ("byte 0", True)
    assert error.problem == "this is not UTF-8. It looks like UTF-16; save it as UTF-8."


def test_other_encodings_are_refused() -> None:
    error = refusal_of('{"key_points": ["für"]}'.encode("latin-1"))

    assert (error.place, error.problem, error.damaged) == ("byte 18", "this is not UTF-8.", True)


# --- JSON, but no playbook ---


@pytest.mark.parametrize("text", ["[]", '"use ruff"', "5", "null"])
def test_file_must_be_an_object(text: str) -> None:
    error = refusal_of(text)

    assert error.problem == f"a playbook must be a JSON object, but this is {text}."
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
def test_double_key_is_refused(text: str, key: str) -> None:
    error = refusal_of(text)

    assert f"the key {key!r} appears twice" in error.problem
    assert not error.damaged


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity"])
@pytest.mark.parametrize("text", ['{{"key_points": [{{"text": "a", "score": {}}}]}}', '{{"sections": {{}}, "x": {}}}'])
def test_nan_and_infinity_are_refused(text: str, value: str) -> None:
    error = refusal_of(text.format(value))

    assert (error.place, error.problem) in [
        ("`key_points`, entry 1", f"`score` must be a whole number, but it is {value}."),
        ("`x`", "it holds a number that JSON can't keep."),
    ]
    assert not error.damaged


@pytest.mark.parametrize(
    ("number", "shown"), [("1e400", "Infinity"), ("-1e400", "-Infinity"), ("9223372036854775808", None)]
)
@pytest.mark.parametrize("key", ["helpful", "harmful", "score"])
def test_number_out_of_range_is_refused(key: str, number: str, shown: str | None) -> None:
    error = refusal_of(f'{{"key_points": ["a", {{"name": "kpt_007", "text": "b", "{key}": {number}}}]}}')

    assert error.place == "`key_points`, entry 2 ('kpt_007')"
    assert f"`{key}` must be a whole number" in error.problem
    assert f"it is {shown or number}." in error.problem


@pytest.mark.parametrize(
    ("field", "place", "problem"),
    [
        ('"limit": 1e400', "`limit`", "it holds a number that JSON can't keep."),
        ('"notes": {"a": [-1e400]}', "`notes`", "it holds a number that JSON can't keep."),
        ('"author": "\\ud83d"', "`author`", "it holds half a surrogate pair."),
        ('"\\ud83d": 1', "`?`", "it holds half a surrogate pair."),
    ],
)
def test_unwritable_header_is_refused(field: str, place: str, problem: str) -> None:
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
def test_half_a_surrogate_pair_is_refused(entry: str, place: str) -> None:
    error = refusal_of(f'{{"sections": {{"OTHERS": [{entry}]}}}}')

    assert error.place == place
    assert '"half \\ud83d"' in error.problem
    assert str(error).isascii()


def test_surrogate_pair_is_one_character() -> None:
    reading = decode('{"key_points": ["\\ud83d\\ude00"]}', source=SOURCE)

    assert reading.playbook.points[0].text == "😀"


def test_deep_nesting_is_refused() -> None:
    for text in ("[" * 100_000, '{"sections": {}, "x": ' + "[" * 100_000 + "]" * 100_000 + "}"):
        error = refusal_of(text)

        assert error.problem == "it is nested too deeply for a playbook."
    error = refusal_of('{"sections": {}, "x": ' + "[" * 101 + "]" * 101 + "}")
    assert (error.place, error.problem) == ("`x`", "it is nested more than 100 deep.")


def test_refusal_can_always_be_printed() -> None:
    assert str(refusal_of('{"\\ud800": 1e400, "sections": {}}')).encode("utf-8")


PATTERNS, MISTAKES, OTHERS = "PATTERNS & APPROACHES", "MISTAKES TO AVOID", "OTHERS"

scores = st.integers(-5, 5)
own_names = st.sampled_from(["kpt_001", "kpt_002", "pat-001", "oth-002", "mine"])
entries = st.one_of(
    texts,
    st.fixed_dictionaries({"text": texts}, optional={"score": scores}),
    st.fixed_dictionaries({"text": texts, "name": own_names}, optional={"score": scores}),
    st.fixed_dictionaries({"text": texts, "name": own_names, "helpful": counters, "harmful": counters}),
)


def read(data: object, *, rename_duplicates: bool = False) -> Reading:
    """The reading of *data* from a file of the usual name."""
    return read_playbook(data, source=SOURCE, rename_duplicates=rename_duplicates)


def read_entry(entry: object) -> tuple[str, str, int, int]:
    """What became of the one entry of a flat file: name, text, helpful, harmful."""
    (point,) = read(a_flat_dict(entry)).playbook.points
    return point.name, point.text, point.helpful, point.harmful


def content_refusal(data: object) -> PlaybookFileError:
    """The error with which the decoded *data* is refused; the file isn't called damaged."""
    with pytest.raises(PlaybookFileError) as caught:
        read(data)
    assert str(caught.value).startswith(SOURCE)
    assert str(caught.value).endswith("Nothing was imported from it.")
    assert not caught.value.damaged
    return caught.value


# --- shapes of an entry ---


@pytest.mark.parametrize(
    ("entry", "point"),
    [
        ("always use type hints", ("kpt_001", "always use type hints", 0, 0)),
        ({"text": "use types"}, ("kpt_001", "use types", 0, 0)),
        ({"name": None, "text": "use types"}, ("kpt_001", "use types", 0, 0)),
        ({"name": "kpt_005", "text": "use types"}, ("kpt_005", "use types", 0, 0)),
        ({"name": "kpt_001", "text": "use types", "score": 5}, ("kpt_001", "use types", 5, 0)),
        ({"name": "kpt_001", "text": "use types", "score": 0}, ("kpt_001", "use types", 0, 0)),
        ({"name": "kpt_001", "text": "use types", "score": -3}, ("kpt_001", "use types", 0, 3)),
        ({"name": "kpt_001", "text": "use types", "score": -7.0}, ("kpt_001", "use types", 0, 7)),
        ({"text": "use types", "score": 2}, ("kpt_001", "use types", 2, 0)),
        ({"name": "kpt_001", "text": "use types", "helpful": 3, "harmful": 1}, ("kpt_001", "use types", 3, 1)),
        ({"text": "use types", "helpful": 3, "harmful": 1}, ("kpt_001", "use types", 3, 1)),
        ({"text": "use types", "helpful": 3}, ("kpt_001", "use types", 3, 0)),
        ({"text": "use types", "harmful": 2.0}, ("kpt_001", "use types", 0, 2)),
        ({"text": "use types", "helpful": 3, "harmful": 1, "score": 2}, ("kpt_001", "use types", 3, 1)),
        ({"text": "use types", "helpful": 3, "harmful": 1, "score": "x"}, ("kpt_001", "use types", 3, 1)),
        ({"text": "use types", "harmful": 1, "score": 4}, ("kpt_001", "use types", 4, 0)),
        ({"text": "use types", "helpful": 9, "score": -2}, ("kpt_001", "use types", 0, 2)),
        ({"text": "use types", "tags": ["a"], "added": "2026-01-01"}, ("kpt_001", "use types", 0, 0)),
        ({"text": " use types\n", "helpful": MAX_COUNTER}, ("kpt_001", " use types\n", MAX_COUNTER, 0)),
    ],
)
def test_each_shape_becomes_a_point(entry: object, point: tuple[str, str, int, int]) -> None:
    assert read_entry(entry) == point


@pytest.mark.parametrize(
    ("entry", "warning"),
    [
        ({"harmful": 1, "score": 4}, "`key_points`, entry 1: `harmful` (1) is left out, since `score` counts"),
        (
            {"helpful": 3, "harmful": 1, "score": 2},
            "`key_points`, entry 1: `score` (2) is left out, since `helpful` and `harmful` count",
        ),
    ],
)
def test_ignored_values_are_named(entry: dict[str, object], warning: str) -> None:
    assert read(a_flat_dict({"text": "use types"} | entry)).warnings == (warning,)


@given(st.lists(entries, max_size=6), st.lists(st.tuples(section_names, st.lists(entries, max_size=4)), max_size=4))
def test_no_entry_is_lost_and_names_are_unique(flat: list[Any], sections: list[tuple[str, list[Any]]]) -> None:
    by_section = dict(sections)
    canonical = [entry for title in a_sections_dict({})["sections"] for entry in by_section.get(title, [])]
    for data, listed in ((a_flat_dict(*flat), flat), ({"sections": by_section}, canonical)):
        points = read(data, rename_duplicates=True).playbook.points

        assert [p.text for p in points] == [raw if isinstance(raw, str) else raw["text"] for raw in listed]
        assert len({p.name for p in points}) == len(points)


@given(st.lists(entries, max_size=6))
def test_second_load_migrates_nothing(flat: list[Any]) -> None:
    first = read(a_flat_dict(*flat), rename_duplicates=True).playbook

    second = read(a_flat_dict(*(an_entry(p.name, p.text, p.helpful, p.harmful) for p in first.points)))

    assert second.playbook == first
    assert not second.migrated
    assert not second.warnings


# --- flat and sections ---


def test_flat_file_goes_to_others() -> None:
    reading = read(a_flat_dict(an_entry("pat-001"), an_entry("kpt_007")))

    assert [(point.name, point.section) for point in reading.playbook.points] == [
        ("pat-001", OTHERS),
        ("kpt_007", OTHERS),
    ]
    assert reading.is_flat
    assert reading.warnings == ()


def test_sections_get_canonical_order() -> None:
    reading = read(
        {
            "sections": {
                OTHERS: [an_entry("oth-002"), an_entry("oth-001")],
                "patterns & approaches": [an_entry("pat-001")],
            }
        }
    )

    assert [(point.name, point.section) for point in reading.playbook.points] == [
        ("pat-001", PATTERNS),
        ("oth-002", OTHERS),
        ("oth-001", OTHERS),
    ]
    assert not reading.is_flat
    assert reading.warnings == ()


@pytest.mark.parametrize("field", ['"skills": {"a-1": {"content": "x"}}', '"bullets": [{"id": "a-1", "content": "x"}]'])
def test_sections_of_ids_are_refused(field: str) -> None:
    data = f'{{{field}, "sections": {{"testing": ["a-1"], "other": ["gone-1"]}}}}'

    with pytest.raises(PlaybookFileError, match=r"they list ids of `(skills|bullets)`.* Put the texts into a Markdown"):
        decode(data, source="F")
    points = decode(data.replace('["a-1"]', '["a-2"]'), source="F").playbook.points
    assert [point.text for point in points] == ["a-2", "gone-1"]


def test_texts_like_ids_are_refused() -> None:
    with pytest.raises(PlaybookFileError, match="they list ids such as `testing-00001`, so this is another tool's"):
        read({"sections": {"testing": ["use uv", "testing-00001"]}})
    assert read({"sections": {"testing": ["see testing-00001"]}}).playbook.points


def test_unknown_section_goes_to_others() -> None:
    reading = read({"sections": {"TIPS": [an_entry("tip-1"), "be brief"], OTHERS: [an_entry("oth-001")]}})

    assert [(point.name, point.section) for point in reading.playbook.points] == [
        ("tip-1", OTHERS),
        ("oth-002", OTHERS),
        ("oth-001", OTHERS),
    ]
    assert reading.warnings == ("the section 'TIPS' is unknown; its points (2) go to OTHERS",)


def test_sections_win_over_key_points() -> None:
    reading = read({**a_flat_dict(an_entry("kpt_001")), "sections": {PATTERNS: [an_entry("pat-001")]}})

    assert [point.name for point in reading.playbook.points] == ["pat-001"]
    assert not reading.is_flat
    assert reading.warnings == ("it has both `sections` and `key_points`; `key_points` is ignored",)


@pytest.mark.parametrize(
    ("data", "fields"),
    [
        (
            {"a": 1, "key_points": [], "last_updated": "2026", "z": {"b": []}},
            (("a", 1), ("sections", None), ("last_updated", "2026"), ("z", {"b": []})),
        ),
        ({"sections": {}, "version": 2}, (("sections", None), ("version", 2))),
        ({"key_points": [], "version": "1.0", "sections": {}}, (("version", "1.0"), ("sections", None))),
    ],
)
def test_other_keys_keep_their_place(data: dict[str, Any], fields: tuple[tuple[str, Any], ...]) -> None:
    assert read(data).playbook.header.fields == fields


# --- names ---


def test_unnamed_entry_gets_a_free_name() -> None:
    reading = read(a_flat_dict("a", an_entry("kpt_002"), "b", an_entry("kpt_009"), "c", {"text": "d"}))

    assert [point.name for point in reading.playbook.points] == [
        "kpt_001",
        "kpt_002",
        "kpt_003",
        "kpt_009",
        "kpt_010",
        "kpt_011",
    ]


def test_unnamed_entry_gets_its_sections_slug() -> None:
    reading = read({"sections": {PATTERNS: ["a", an_entry("pat-005"), "b"], MISTAKES: [{"text": "c", "score": -1}]}})

    assert [point.name for point in reading.playbook.points] == ["pat-001", "pat-005", "pat-006", "mis-001"]


def test_double_name_is_refused() -> None:
    error = content_refusal({"sections": {PATTERNS: ["a", an_entry("kpt_001")], OTHERS: [an_entry("kpt_001", "b")]}})

    assert error.place == "section 'OTHERS', entry 1"
    assert "'kpt_001'" in error.problem
    assert f"section '{PATTERNS}', entry 2" in error.problem
    assert "--rename-duplicates" in error.problem


def test_duplicates_can_be_renamed() -> None:
    reading = read(
        {
            "sections": {
                PATTERNS: [an_entry("x", "a"), an_entry("x", "b"), an_entry("pat-004")],
                OTHERS: [an_entry("x")],
            }
        },
        rename_duplicates=True,
    )

    assert [point.name for point in reading.playbook.points] == ["x", "pat-005", "pat-004", "oth-001"]
    assert reading.warnings == (
        f"the second 'x' (section '{PATTERNS}', entry 2) is now 'pat-005'",
        "the second 'x' (section 'OTHERS', entry 1) is now 'oth-001'",
    )


# --- refusals ---


@pytest.mark.parametrize("value", ["3", -1, True, 1.5, float("nan"), float("inf"), 2**63, 10**70, None, [], {"n": 1}])
@pytest.mark.parametrize("key", ["helpful", "harmful"])
def test_odd_counter_is_refused(key: str, value: object) -> None:
    error = content_refusal(a_flat_dict("a", {"name": "kpt_007", "text": "b", key: value}))

    assert error.place == "`key_points`, entry 2 ('kpt_007')"
    assert f"`{key}` must be a whole number of 0 or more, but it is {json.dumps(value)[:60]}" in error.problem


@pytest.mark.parametrize(
    "value", ["-3", True, 0.5, float("nan"), float("-inf"), 2**63, -(2**63), None, [5], {}, "a long text " * 30]
)
def test_odd_score_is_refused(value: object) -> None:
    error = content_refusal({"sections": {MISTAKES: [{"name": "mis-001", "text": "b", "score": value}]}})

    assert error.place == "section 'MISTAKES TO AVOID', entry 1 ('mis-001')"
    assert f"`score` must be a whole number, but it is {json.dumps(value)[:60]}" in error.problem
    assert len(str(error)) < 250


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("", '`text` is "": a text must not be blank.'),
        (" \n", '`text` is " \\n": a text must not be blank.'),
        (None, "`text` is null: a text must be a string."),
        (5, "`text` is 5: a text must be a string."),
        (["a"], '`text` is ["a"]: a text must be a string.'),
        ("ab\ud83d", '`text` is "ab\\ud83d": a text must be Unicode, but this one contains half a surrogate pair'),
    ],
)
def test_odd_text_is_refused(value: object, problem: str) -> None:
    error = content_refusal(a_flat_dict({"name": "kpt_001", "text": value}))

    assert error.place == "`key_points`, entry 1 ('kpt_001')"
    assert error.problem.startswith(problem)


def test_entry_needs_a_text() -> None:
    assert "`text` is null" in content_refusal(a_flat_dict({"name": "kpt_001", "score": 1})).problem
    assert '`text` is " "' in content_refusal(a_flat_dict("a", " ")).problem


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("", '`name` is "": a name must not be blank.'),
        ("a] b", '`name` is "a] b": a name must not hold brackets, line breaks or control characters.'),
        ("a\nb", '`name` is "a\\nb": a name must not hold brackets, line breaks or control characters.'),
        ("\ud800", '`name` is "\\ud800": a name must not hold brackets, line breaks or control characters.'),
        ("x" * 201, f'`name` is "{"x" * 59}…: a name must not be longer than 200 characters.'),
        (7, "`name` must be a text, but it is 7."),
        (["a"], '`name` must be a text, but it is ["a"].'),
    ],
)
def test_bad_name_is_refused(value: object, problem: str) -> None:
    error = content_refusal({"sections": {"TIPS": [{"name": value, "text": "a"}]}})

    assert error.place.startswith("section 'TIPS', entry 1")
    assert error.problem == problem


@pytest.mark.parametrize("entry", [None, 5, 1.5, True, ["a"]])
def test_unknown_shape_is_refused(entry: object) -> None:
    error = content_refusal(a_flat_dict("a", entry))

    assert error.place == "`key_points`, entry 2"
    assert error.problem == f"an entry must be a text or an object, but this is {json.dumps(entry)}."


@pytest.mark.parametrize(
    ("data", "place", "problem"),
    [
        ([], "", "a playbook must be a JSON object, but this is []."),
        ("use ruff", "", 'a playbook must be a JSON object, but this is "use ruff".'),
        (None, "", "a playbook must be a JSON object, but this is null."),
        ({}, "", "it has neither `sections` nor `key_points`, so it isn't a playbook."),
        ({"key_points": {}}, "`key_points`", "it must be a list, but it is {}."),
        ({"key_points": None}, "`key_points`", "it must be a list, but it is null."),
        ({"sections": []}, "`sections`", "it must be an object, but it is []."),
        ({"sections": None, "key_points": []}, "`sections`", "it must be an object, but it is null."),
        ({"sections": {OTHERS: {}}}, "section 'OTHERS'", "it must be a list, but it is {}."),
        ({"sections": {"TIPS": None}}, "section 'TIPS'", "it must be a list, but it is null."),
    ],
)
def test_other_json_is_refused(data: object, place: str, problem: str) -> None:
    error = content_refusal(data)

    assert (error.place, error.problem) == (place, problem)


def test_migration_is_reported_by_new_name() -> None:
    data = a_flat_dict({"name": "a", "text": "x"}, {"name": "a", "text": "y"})

    reading = read_playbook(data, source="F", rename_duplicates=True)

    assert [entry.name for entry in reading.migrated] == [point.name for point in reading.playbook.points]


def test_other_keys_of_an_entry_are_kept() -> None:
    entry = an_entry("oth-001") | {"note": "mine", "odd": float("nan"), "half": "\ud800"}

    reading = read_playbook(a_sections_dict({"OTHERS": [entry]}), source="F")

    assert reading.extras == {"oth-001": '{"note": "mine"}'}
    assert reading.warnings == (
        "section 'OTHERS', entry 1: `odd` is left out, since it holds a number that JSON can't keep",
        "section 'OTHERS', entry 1: `half` is left out, since it holds half a surrogate pair",
    )
