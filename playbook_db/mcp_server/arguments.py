"""Reading the arguments of a tool by its declaration.

Names such as `[PAT-001]`, choices in any case, and numbers and lists as JSON text are understood. `null` means that an
optional argument isn't given. An argument's description tells a client what is wanted, also after an error.
"""

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from playbook_db.domain.sections import SECTION_ORDER, section_named
from playbook_db.errors import ArgumentError

_TAGS, _SECTIONS = ["helpful", "harmful", "neutral"], [*SECTION_ORDER]
_QUOTE = {"type": "string", "maxLength": 2_000}
_QUOTES = "at most 10 quotes of this session, word for word: the user's words, or a test's output"
SCHEMAS: dict[str, dict[str, Any]] = {  # of all arguments; one name means the same in each tool
    "name": {"type": "string", "maxLength": 80, "description": "a key point's name, such as pat-001"},
    "text": {"type": "string", "maxLength": 10_000, "description": "one short piece of advice"},
    "reason": {"type": "string", "maxLength": 1_000, "description": "the reason, in at most 1,000 characters"},
    "question": {"type": "string", "maxLength": 2_000, "description": "a text of 1 to 2,000 characters"},
    "prompt": {
        "type": "string",
        "maxLength": 2_000,
        "description": "a prompt; says if and why the point comes with it",
    },
    "file": {"type": "string", "maxLength": 1_000, "description": "a path; says if and why the point comes with it"},
    "what": {
        "type": "string",
        "maxLength": 40,
        "description": "a proposal (p3) or a revision (12), by default the last",
    },
    "tag": {"type": "string", "enum": _TAGS, "description": f"one of {', '.join(_TAGS)}"},
    "section": {"type": "string", "enum": _SECTIONS, "description": f"one of {', '.join(_SECTIONS)}"},
    "limit": {"type": "integer", "minimum": 1, "maximum": 50, "description": "a whole number from 1 to 50"},
    "offset": {"type": "integer", "minimum": 0, "description": "how many points to pass over"},
    "evidence": {"type": "array", "maxItems": 10, "items": _QUOTE, "description": _QUOTES},
}
_MEANT: Mapping[str, Callable[[str], str]] = {
    **dict.fromkeys(("name", "what", "tag"), lambda text: text.strip(" []").lower()),
    "section": section_named,
}


def read(declaration: Mapping[str, Any], values: object) -> dict[str, Any]:
    """Return the arguments in *values* of the tool with *declaration*, without those that are null. Raises
    ArgumentError, or PointRuleError for an unknown section."""
    tool, schema = declaration["name"], declaration["inputSchema"]
    values = {} if values is None else values
    if not isinstance(values, dict) or not values.keys() <= schema["properties"].keys():
        raise ArgumentError(f"{tool} takes only: {', '.join(schema['properties'])}. Call it again with these.")
    values = {name: _value(name, SCHEMAS[name], value) for name, value in values.items() if value is not None}
    wrong = [name for name in schema["required"] if not values.get(name)]
    for name in [*wrong, *(name for name, value in values.items() if value is None)]:
        rule = SCHEMAS[name]["description"]
        raise ArgumentError(f"{tool}: {name} must be {rule}. Correct it, and call {tool} again.")
    return values


def _value(name: str, schema: Mapping[str, Any], value: Any) -> Any:
    """Return the argument *name* as *schema* wants it, or None."""
    kind = schema["type"]
    with suppress(ValueError, RecursionError):
        value = json.loads(value) if kind != "string" and isinstance(value, str) else value
        if kind == "integer":
            is_right = type(value) is int and schema["minimum"] <= value <= schema.get("maximum", value)
        elif kind == "array":
            texts = value if isinstance(value, list) else [None]
            is_right = len(texts) <= schema["maxItems"] and None not in [_value("", _QUOTE, text) for text in texts]
        elif is_right := isinstance(value, str) and len(value) <= schema.get("maxLength", 80):
            value.encode()  # fails for half a surrogate pair
            value = _MEANT.get(name, str)(value)
        return value if is_right and value in schema.get("enum", [value]) else None
