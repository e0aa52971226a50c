"""Texts in a template: each goes where it belongs, and nothing in it is read."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playbook_db.errors import SettingError
from playbook_db.llm import curator, reflector
from playbook_db.llm.model import enclosed, fill, fill_blocks, require
from playbook_db.services.templates import load_template

NAMES = ("transcript", "playbook", "cited_ids")
braced = st.text("{}transcipolybked_ 0!:", max_size=30) | st.sampled_from([f"{{{name}}}" for name in NAMES])


@pytest.mark.parametrize(
    "hostile", ["{playbook}", "{transcript}", "{0}", "{", "}}", "{{transcript}}", "\\1", "\\g<0>", "%s"]
)
def test_braces_in_filled_texts_stay(hostile: str) -> None:
    filled = fill("T {transcript} P {playbook}", {"transcript": hostile, "playbook": "points"})

    assert filled == f"T {hostile} P points"


def test_json_examples_survive() -> None:
    assert fill('{"a": {}} {x} {transcript}', {"transcript": "t"}) == '{"a": {}} {x} t'


@given(
    values=st.fixed_dictionaries(dict.fromkeys(NAMES, braced)),
    order=st.permutations(NAMES),
    pieces=st.lists(st.text("ab {}\n"), min_size=4, max_size=4),
)
def test_every_text_is_in_its_place(values: dict[str, str], order: list[str], pieces: list[str]) -> None:
    template = "".join(f"{piece}|{{{name}}}|" for piece, name in zip(pieces, order, strict=False)) + pieces[3]

    assert (
        fill(template, values)
        == "".join(f"{p}|{values[name]}|" for p, name in zip(pieces, order, strict=False)) + pieces[3]
    )


def test_blocks_end_where_prompts_differ() -> None:
    values = {"a": "A{b}", "b": "B{a}", "c": "C"}
    template = 'do {"this"} {b} and {a}, {c} and {b}'

    assert fill_blocks(template, values) == ('do {"this"} ', "B{a} and A{b}, C and {b}")
    assert fill_blocks(template, values, stable=["b"]) == ('do {"this"} ', "B{a} and ", "A{b}, C and {b}")
    assert fill_blocks(template, values, stable=["a", "b", "c"]) == ('do {"this"} ', "B{a} and A{b}, C and {b}")
    assert fill_blocks("{a}", values) == ("A{b}",)
    assert fill_blocks("do this", values) == ("do this",)


def test_template_without_placeholder_is_refused() -> None:
    with pytest.raises(SettingError, match=r"reflector.txt lacks \{transcript\}"):
        require("no place", "transcript", "reflector.txt")


def test_text_cannot_close_its_tag() -> None:
    for closing in ("</transcript>", "</ Transcript>", "</TRANSCRIPT"):
        assert closing not in enclosed(f"a {closing} b", "transcript")
    assert enclosed("</b> <transcript>", "transcript") == "</b> <transcript>"


@pytest.mark.parametrize(
    ("name", "placeholders"),
    [
        ("reflector.txt", ["transcript", "playbook", "marks", "cited_ids", "branch", "day", "instructions"]),
        ("curator.txt", ["playbook", "marks", "analysis", "lessons", "candidates"]),
        ("reflection.txt", ["transcript", "playbook"]),
    ],
)
def test_templates_have_each_placeholder_once(name: str, placeholders: list[str]) -> None:
    template = load_template(name)

    assert [template.count(f"{{{placeholder}}}") for placeholder in placeholders] == [1] * len(placeholders)
    stable = fill_blocks(template, dict.fromkeys(placeholders, "-"))[0]
    assert len(stable) > 0.75 * len(template)
    assert "never instructions" in stable


@pytest.mark.parametrize(
    ("name", "first_key", "schema"),
    [("reflector.txt", "analysis", reflector.SCHEMA), ("curator.txt", "reasoning", curator.SCHEMA)],
)
def test_example_in_a_template_follows_its_schema(name: str, first_key: str, schema: dict[str, Any]) -> None:
    template = load_template(name)

    example, _ = json.JSONDecoder().raw_decode(template[template.index(f'{{"{first_key}"') :])

    assert_follows(example, schema)


@pytest.mark.parametrize(("name", "schema"), [("reflector.txt", reflector.SCHEMA), ("curator.txt", curator.SCHEMA)])
def test_template_explains_each_field(name: str, schema: dict[str, Any]) -> None:
    output = load_template(name).partition("An example, of another project:")[0]

    sections = {"bullet_tags": "# Tags", "lessons": "# Lessons"}
    missing = [each for each in fields_of(schema) if sections.get(each, f'"{each}"') not in output]
    assert missing == []


def fields_of(schema: dict[str, Any]) -> Iterator[str]:
    """All keys of the objects that *schema* describes."""
    for key, inner in schema.get("properties", {}).items():
        yield key
        yield from fields_of(inner)
    for inner in (*schema.get("anyOf", ()), *([schema["items"]] if "items" in schema else ())):
        yield from fields_of(inner)


def test_prompts_stay_short() -> None:
    templates = [load_template(name) for name in ("reflector.txt", "curator.txt")]

    assert sum(len(each.split()) for each in templates) <= 2200


def assert_follows(value: Any, schema: dict[str, Any]) -> None:
    """Assert that *value* follows *schema*, of the kinds that ours are made of."""
    if "anyOf" in schema:
        (schema,) = (each for each in schema["anyOf"] if each["properties"]["type"]["enum"] == [value["type"]])
    assert type(value) is {"object": dict, "array": list, "string": str, "boolean": bool}[schema["type"]]
    assert value in schema.get("enum", [value])
    if isinstance(value, dict):
        assert set(schema["required"]) <= value.keys() <= schema["properties"].keys()
        for key, inner in value.items():
            assert_follows(inner, schema["properties"][key])
    for inner in value if isinstance(value, list) else ():
        assert_follows(inner, schema["items"])


@pytest.mark.parametrize(("name", "length"), [("reflector.txt", 1024), ("curator.txt", 1024)])
def test_instructions_are_long_enough_to_cache(name: str, length: int) -> None:
    assert len(load_template(name).partition("{playbook}")[0]) > 4.5 * length


def test_curator_never_sees_the_transcript() -> None:
    assert "{transcript}" not in load_template("curator.txt")
