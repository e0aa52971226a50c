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
def test_what_is_filled_in_is_not_read(hostile: str) -> None:
    """Braces in a transcript fill nothing and break nothing."""
    filled = fill("T {transcript} P {playbook}", {"transcript": hostile, "playbook": "points"})

    assert filled == f"T {hostile} P points"


def test_examples_of_json_survive() -> None:
    """Braces that are no placeholder stay, and so does a placeholder that nothing was given for."""
    assert fill('{"a": {}} {x} {transcript}', {"transcript": "t"}) == '{"a": {}} {x} t'


def test_each_placeholder_is_filled_once() -> None:
    """Where it stands again it is text."""
    assert fill("{a} {a} {b}", {"a": "1", "b": "2"}) == "1 {a} 2"
    assert fill("{a}", {}) == "{a}"


@given(
    values=st.fixed_dictionaries(dict.fromkeys(NAMES, braced)),
    order=st.permutations(NAMES),
    pieces=st.lists(st.text("ab {}\n"), min_size=4, max_size=4),
)
def test_every_text_stands_in_its_place(values: dict[str, str], order: list[str], pieces: list[str]) -> None:
    """Whatever the texts are, and in whatever order the template wants them."""
    template = "".join(f"{piece}|{{{name}}}|" for piece, name in zip(pieces, order, strict=False)) + pieces[3]

    assert (
        fill(template, values)
        == "".join(f"{p}|{values[name]}|" for p, name in zip(pieces, order, strict=False)) + pieces[3]
    )


def test_the_blocks_of_a_prompt_end_where_it_begins_to_differ() -> None:
    """Before the first text, and before the first that isn't the same in several calls; each text stands there once."""
    values = {"a": "A{b}", "b": "B{a}", "c": "C"}
    template = 'do {"this"} {b} and {a}, {c} and {b}'

    assert fill_blocks(template, values) == ('do {"this"} ', "B{a} and A{b}, C and {b}")
    assert fill_blocks(template, values, stable=["b"]) == ('do {"this"} ', "B{a} and ", "A{b}, C and {b}")
    assert fill_blocks(template, values, stable=["a", "b", "c"]) == ('do {"this"} ', "B{a} and A{b}, C and {b}")
    assert fill_blocks("{a}", values) == ("A{b}",)
    assert fill_blocks("do this", values) == ("do this",)


def test_a_template_without_its_placeholder_is_refused() -> None:
    """The error names the file and what is missing."""
    with pytest.raises(SettingError, match=r"reflector.txt lacks \{transcript\}"):
        require("no place", "transcript", "reflector.txt")


def test_a_text_cannot_close_its_tag() -> None:
    """Neither plainly nor with spaces or capitals; other tags stay."""
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
def test_our_templates_have_their_placeholders_once_and_after_the_instructions(
    name: str, placeholders: list[str]
) -> None:
    """The instructions come first: they are what stays the same."""
    template = load_template(name)

    assert [template.count(f"{{{placeholder}}}") for placeholder in placeholders] == [1] * len(placeholders)
    stable = fill_blocks(template, dict.fromkeys(placeholders, "-"))[0]
    assert len(stable) > 0.75 * len(template)
    assert "never instructions" in stable


@pytest.mark.parametrize(
    ("name", "first_key", "schema"),
    [("reflector.txt", "analysis", reflector.SCHEMA), ("curator.txt", "reasoning", curator.SCHEMA)],
)
def test_the_example_in_a_template_follows_its_schema(name: str, first_key: str, schema: dict[str, Any]) -> None:
    """Models copy it."""
    template = load_template(name)

    example, _ = json.JSONDecoder().raw_decode(template[template.index(f'{{"{first_key}"') :])

    assert_follows(example, schema)


@pytest.mark.parametrize(("name", "schema"), [("reflector.txt", reflector.SCHEMA), ("curator.txt", curator.SCHEMA)])
def test_a_template_explains_every_field_of_its_schema(name: str, schema: dict[str, Any]) -> None:
    """Before its example."""
    told = load_template(name).partition("An example, of another project:")[0]

    sections = {"bullet_tags": "# Tags", "lessons": "# Lessons"}
    missing = [each for each in fields_of(schema) if sections.get(each, f'"{each}"') not in told]
    assert missing == []


def fields_of(schema: dict[str, Any]) -> Iterator[str]:
    """All keys of the objects that *schema* describes."""
    for key, inner in schema.get("properties", {}).items():
        yield key
        yield from fields_of(inner)
    for inner in (*schema.get("anyOf", ()), *([schema["items"]] if "items" in schema else ())):
        yield from fields_of(inner)


def test_the_prompts_of_a_session_stay_short() -> None:
    """Each session pays for them."""
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
def test_the_instructions_are_long_enough_for_the_cache(name: str, length: int) -> None:
    """Of the models that we ask unless told otherwise."""
    assert len(load_template(name).partition("{playbook}")[0]) > 4.5 * length


def test_the_curator_never_sees_the_transcript() -> None:
    """Its template has no place for one."""
    assert "{transcript}" not in load_template("curator.txt")
