"""Playbook files that something happened to: bytes lost or turned, values of another kind, things said twice."""

import copy
import json
import random
from collections.abc import Callable
from typing import Any

from benchmarks import samples
from playbook_db.domain import playbook_file

_STRANGE: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 3.0, 0.5, 1e308, -0.0, 2**63 - 1, 2**63, -(2**63), 10**400, "", " ", "x", "\n", "\x00",
    "\u2028", "pat-001", "]", "💥" * 40, "é" * 300, "\ud800", [], {}, [[]], [None], {"": ""}, {"name": "pat-001"},
    {"name": "a", "text": "b", "helpful": True}, {"name": None, "text": "c", "score": -3}, "NaN", "1",
)  # fmt: skip
_INTRUDERS = (
    b"\x00", b"\xff", b"NaN", b"-Infinity", b"1e999", b"9" * 5000, b"[" * 20000, b"\\ud800", b"<<<<<<< ours\n",
    b",", b'"', b'{"name": "x", "name": "y"}', b"\xef\xbb\xbf", b"/* */", b"0x1F", b"01",
)  # fmt: skip
_SHAPES: tuple[Any, ...] = (
    {"version": "1.0", "last_updated": None, "key_points": ["use uv", {"name": "kpt_001", "text": "b"}]},
    {"key_points": [{"name": "kpt_007", "text": "scored", "score": -4}, "bare", {"text": "no name", "score": 2}]},
    {"sections": {}},
    {"sections": {"pat": ["in a section nobody knows"], " others ": ["in one of ours"]}, "key_points": []},
    {
        "version": "1.0",
        "last_updated": "2026-01-01T00:00:00+00:00",
        "team": {"name": "core", "since": [2024, 1.5]},
        "sections": {
            "PATTERNS & APPROACHES": [{"name": "pat-001", "text": 'naïve 💡 \\ " text', "helpful": 3, "harmful": 0}],
            "OTHERS": [{"name": "oth-001", "text": "line\nbreak", "helpful": 0, "harmful": 2}, "bare"],
        },
    },
)


def mutant(rng: random.Random) -> bytes:
    """A playbook file after one to three accidents; now and then it is still a good one."""
    value = _original(rng)
    for _ in range(rng.choice((0, 1, 1, 2, 3))):
        value = in_values(value, rng)
    return in_bytes(_written(value, rng), rng)


def in_values(value: Any, rng: random.Random) -> Any:
    """The JSON *value* after an accident."""
    return rng.choice(_IN_VALUES)(value, rng)


def in_bytes(data: bytes, rng: random.Random) -> bytes:
    """*data* after up to two accidents, after none in half of all cases."""
    for _ in range(rng.choice((0, 0, 0, 1, 1, 2))):
        data = rng.choice(_IN_BYTES)(data, rng)
    return data


def _original(rng: random.Random) -> Any:
    if rng.random() < 0.5:
        return copy.deepcopy(rng.choice(_SHAPES))
    return json.loads(playbook_file.encode(samples.playbook(rng.choice((1, 3, 12)))))


def _written(value: Any, rng: random.Random) -> bytes:
    text = json.dumps(value, indent=rng.choice((None, 2)), ensure_ascii=rng.random() < 0.5)
    text += rng.choice(("", "\n"))
    encoding = rng.choice(("utf-8",) * 12 + ("utf-8-sig", "utf-16", "latin-1"))
    return text.encode(encoding, errors="surrogatepass" if encoding.startswith("utf") else "replace")


def _replace_a_value(value: Any, rng: random.Random) -> Any:
    """Any value in the tree, the whole of it included, becomes a strange one."""
    return _at_a_node(value, rng, lambda _: copy.deepcopy(rng.choice(_STRANGE)))


def _wrap_a_value(value: Any, rng: random.Random) -> Any:
    def wrapped(node: Any) -> Any:
        for _ in range(rng.choice((1, 2, 50, 400))):
            node = [node] if rng.random() < 0.5 else {rng.choice(("name", "text", "sections", "")): node}
        return node

    return _at_a_node(value, rng, wrapped)


def _add_or_drop(value: Any, rng: random.Random) -> Any:
    def changed(node: Any) -> Any:
        if isinstance(node, dict):
            if node and rng.random() < 0.5:
                del node[rng.choice(list(node))]
            else:
                key = rng.choice(
                    ("name", "text", "helpful", "harmful", "score", "sections", "key_points", "", "\ud800")
                )
                node[key] = copy.deepcopy(rng.choice(_STRANGE))
        elif isinstance(node, list):
            node.append(copy.deepcopy(rng.choice(node) if node and rng.random() < 0.7 else rng.choice(_STRANGE)))
        return node

    return _at_a_node(value, rng, changed)


def _at_a_node(value: Any, rng: random.Random, change: Callable[[Any], Any]) -> Any:
    """*value* with one node of its tree, drawn by walking down, put through *change*."""
    if not (isinstance(value, (dict, list)) and value) or rng.random() < 0.2:
        return change(value)
    place: Any = rng.choice(list(value) if isinstance(value, dict) else range(len(value)))
    value[place] = _at_a_node(value[place], rng, change)
    return value


def _truncate(data: bytes, rng: random.Random) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def _turn_bits(data: bytes, rng: random.Random) -> bytes:
    turned = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 8)) if data else 0):
        turned[rng.randrange(len(turned))] ^= 1 << rng.randrange(8)
    return bytes(turned)


def _drop_or_repeat(data: bytes, rng: random.Random) -> bytes:
    start = rng.randrange(len(data) + 1)
    end = min(len(data), start + rng.choice((1, 5, 60)))
    return data[:start] + data[end:] if rng.random() < 0.5 else data[:end] + data[start:]


def _put_in(data: bytes, rng: random.Random) -> bytes:
    place = rng.randrange(len(data) + 1)
    return data[:place] + rng.choice(_INTRUDERS) + data[place:]


_IN_VALUES = (_replace_a_value, _replace_a_value, _wrap_a_value, _add_or_drop, _add_or_drop)
_IN_BYTES = (_truncate, _turn_bits, _drop_or_repeat, _put_in)
