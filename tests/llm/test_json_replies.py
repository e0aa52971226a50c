"""JSON out of a reply: which object wins, what is complete of one that breaks off, and that nothing ever raises."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playbook_db.llm.json_replies import find_object, read_object
from playbook_db.llm.model import Reply, Usage

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(st.text(max_size=5), values, max_size=4)
prose = st.text(st.characters(blacklist_characters="{}`"))


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1}',
        '  \n{"a": 1}\n ',
        '```json\n{"a": 1}\n```',
        '```JSON\n{"a": 1}\n```',
        '```\n{"a": 1}\n```',
        '```{"a": 1}```',
        '```python\n{"a": 1}\n```',
        'Here you are:\n\n{"a": 1}\n\nLet me know.',
        'I use {braces} and {"unbalanced, then {"a": 1} for you',
        "```json\nnot json\n```\n" + '{"a": 1}',
        '```json\n[1]\n```\nand {"a": 1}',
        '{"a": 1} and {"b": 2}',
        '```\n{"b": 2}\n```\n```json\n{"a": 1}\n```',
        '{"b": 2}\n```json\n{"a": 1}\n```',
        '```json\n{"a": 1}',
        '```json\n{"b": 2} oops\n```\n```json\n{"a": 1}\n```',
        '\ufeff{"a": 1}',
        '[{"a": 1}]',
    ],
)
def test_object_is_found_anywhere(text: str) -> None:
    assert find_object(text) == {"a": 1}


@pytest.mark.parametrize("inner", ["}", "{", '"', "\\", '\\"}', "```", '```json\n{"b": 2}\n```', "\n", "\u2028"])
def test_braces_and_quotes_in_strings_are_text(inner: str) -> None:
    wanted = {"analysis": f"before {inner} after", "list": [{"x": inner}]}

    assert find_object(f"So:\n{json.dumps(wanted)}\nDone.") == wanted
    assert find_object(f"```json\n{json.dumps(wanted)}\n```") == wanted


@pytest.mark.parametrize(
    "text",
    [
        '{} {"analysis": ", ]"}',
        'As {"b": 1} says: {"analysis": ", ]"}',
        '{"answer": {"analysis": ", ]"}}',
        '```json\n{"b": 1}\n```\n{"analysis": ", ]"}',
    ],
)
def test_first_object_with_a_known_key_wins(text: str) -> None:
    assert find_object(text, ["analysis"]) == {"analysis": ", ]"}


def test_object_without_known_keys_is_a_last_resort() -> None:
    assert find_object('{"a": 1} {"b": 2}', ["analysis"]) == {"a": 1}


def test_line_break_in_a_string_is_allowed() -> None:
    assert find_object('{"a": "one\ntwo\tthree"}') == {"a": "one\ntwo\tthree"}


@pytest.mark.parametrize(
    "text", ["", " ", "no json", "[1, 2]", "7", "null", "{", "}", "{'a': 1}", '{"a": }', "```json\n```"]
)
def test_no_object_gives_none(text: str) -> None:
    assert find_object(text) is None


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('{"a": "one", "l": [1, 2, ], }', {"a": "one", "l": [1, 2]}),
        (
            'So:\n```json\n{"a": "a "b" c", "l": [{"n": 1}]}\n```\nDone.',
            {"a": 'a "b" c', "l": [{"n": 1}]},
        ),
        ('{"x": 1} but {"a": \'one\', "l": [True]}', {"a": "one", "l": [True]}),
    ],
    ids=["comma", "quotes", "python"],
)
def test_broken_json_is_repaired(text: str, wanted: dict[str, Any]) -> None:
    assert read_object(_reply(text), ["a", "l"]) == (wanted, True)


@pytest.mark.parametrize("is_cut", [True, False])
@pytest.mark.parametrize("text", ['{"a": "one", "l": [1, 2', '```json\n{"a": "one", "l": [1, {"x": "'])
def test_cut_off_reply_is_not_repaired(text: str, is_cut: bool) -> None:
    assert read_object(_reply(text, is_cut=is_cut), ["a", "l"]) == ({"a": "one", "l": [1]}, False)


def _reply(text: str, *, is_cut: bool = False) -> Reply:
    return Reply(text, None, is_cut, Usage(0, 0, 0, None), "m", 0)


@given(wanted=objects, before=prose, after=prose)
def test_object_between_words_is_found(wanted: dict[str, Any], before: str, after: str) -> None:
    assert find_object(f"{before}{json.dumps(wanted)}{after}") == wanted


@given(st.text('{}[]",:\\`json 1\n', max_size=80))
def test_no_reply_raises(text: str) -> None:
    found, _ = read_object(_reply(text), ["1", "json"])

    assert found is None or isinstance(found, dict)


@given(
    text=st.text(),
    items=st.lists(st.dictionaries(st.text(), st.text() | st.integers()), max_size=5),
    list_first=st.booleans(),
    data=st.data(),
)
def test_complete_items_of_a_cut_off_object_are_found(
    text: str, items: list[dict[str, Any]], list_first: bool, data: st.DataObject
) -> None:
    entries: list[tuple[str, Any]] = [("text", text), ("list", items)]
    whole = json.dumps(dict(reversed(entries) if list_first else entries))
    cut = whole[: data.draw(st.integers(0, len(whole)))]

    found = read_object(_reply(cut, is_cut=True), ["text", "list"])[0] or {}

    assert found.get("text", text) == text
    kept = found.get("list", [])
    assert kept == items[: len(kept)]
    opening = whole.index("[", whole.index('"list": ['))
    ends, place = [], opening + 1
    for item in items:
        place = whole.index(json.dumps(item), place) + len(json.dumps(item))
        ends.append(place)
    assert len(kept) == sum(len(cut) >= end for end in ends)


def test_cut_off_object_has_the_keys() -> None:
    assert read_object(_reply('As in {"x": 1}: {"list": [1, 2, 3'), ["list"]) == ({"list": [1, 2]}, False)
    assert read_object(_reply('As in {"x": 1'), ["list"]) == (None, True)
