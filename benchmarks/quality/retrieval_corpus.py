"""The corpus for the search: prompts with the key points that should come for them, and those that should bring none.

Our own corpus is in `retrieval.json`, which describes itself. This module generates its filler, the same each time.
Failed calls are in `retrieval_errors.json`.
"""

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from playbook_db.domain.sections import OTHERS, SLUG_SECTIONS

CORPUS = Path(__file__).with_name("retrieval.json")
ERRORS = Path(__file__).with_name("retrieval_errors.json")
SPLITS = ("train", "held-out")
UNRELATED = (*SPLITS, "third", "fourth", "fifth")  # sets of prompts that no point is about
WORDINGS = ("bare", "named")
_LETTERS = {"P": SLUG_SECTIONS["pat"], "M": SLUG_SECTIONS["mis"], "C": SLUG_SECTIONS["ctx"], "U": SLUG_SECTIONS["pref"]}


@dataclass(frozen=True, slots=True)
class Point:
    """A key point as a search meets it. `age` counts from the newest, 0; `live` is False for a retired one."""

    name: str
    text: str
    section: str = OTHERS
    helpful: int = 0
    harmful: int = 0
    age: int = 0
    live: bool = True


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a user wrote. `gold` names the points that should come, if any; `old` was replaced."""

    text: str
    gold: frozenset[str] = frozenset()
    split: str = ""
    names: bool = False  # whether the prompt names a file, a command or an error
    language: str = "en"
    old: str = ""


def read_prompts(split: str) -> list[Prompt]:
    """The prompts of that *split* for which points should come."""
    return [
        Prompt(row["text"], frozenset(row["gold"]), split, row["names"], row["lang"], row.get("old", ""))
        for row in _read()["prompts"]
        if row["split"] == split
    ]


def read_nothing(split: str) -> list[Prompt]:
    """The prompts of that *split* for which no point is meant."""
    return [
        Prompt(row["text"], split=split, language=row["lang"]) for row in _read()["nothing"] if row["split"] == split
    ]


def read_unrelated(split: str) -> list[Prompt]:
    """The longer prompts of that *split* about things that no point is about."""
    return [Prompt(row["text"], split=split) for row in _read()["unrelated"] if row["split"] == split]


def read_points(wording: str) -> list[Point]:
    """All points, newest first: those that should come in that *wording*, the superseded ones, the filler."""
    data = _read()
    texts = [(row["id"], row["section"], row[wording], True) for row in data["points"]]
    texts += [(row["id"], row["section"], row["text"], row["state"] == "live") for row in data["superseded"]]
    texts += [(name, section, text, True) for name, section, text in _filler(data["filler"])]
    texts.sort(key=lambda row: _chance(row[0], "age"))
    return [
        Point(name, text, section, _chance(name, "helpful") % 8, _chance(name, "harmful") % 3, age, live)
        for age, (name, section, text, live) in enumerate(texts)
    ]


def read_errors(split: str) -> tuple[list[Prompt], list[Prompt]]:
    """The failed calls of that *split*: those that a point is about, and the others."""
    prompts = [
        Prompt(f"{row['what']}\n{row['error']}", frozenset(row["gold"]), split)
        for row in _read(ERRORS)["errors"]
        if row["split"] == split
    ]
    return [prompt for prompt in prompts if prompt.gold], [prompt for prompt in prompts if not prompt.gold]


def read_points_about_errors() -> list[Point]:
    """The points that name an error, and some that are about the same programs."""
    return [Point(row["id"], row["text"]) for row in _read(ERRORS)["points"]]


def part_of(points: Sequence[Point], wanted: Collection[str], size: int) -> list[Point]:
    """A number of live *points*, always the same ones, with all that are *wanted*.

    If *size* is larger than the number of points, the others come again with a number in their names."""
    live = [point for point in points if point.live]
    kept = [point for point in live if point.name in wanted]
    rest = sorted((point for point in live if point.name not in wanted), key=lambda point: _chance(point.name, "part"))
    copy = 1
    while len(kept) + len(rest) < size:
        copy += 1
        rest += [
            replace(point, name=f"{point.name}-{copy}", text=f"{point.text} ({copy})")
            for point in live
            if point.name not in wanted
        ]
    return [*kept, *rest][:size]


def _filler(filler: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Name, section and text of each point that fits no prompt; a text that two projects share comes once."""
    seen = set[str]()
    for place, (project, words) in enumerate(filler["vocabularies"].items()):
        for number, template in enumerate(filler["templates"]):
            letter, *variants = template.split("|")
            text = variants[place % len(variants)].format(**words)
            if text not in seen:
                seen.add(text)
                yield f"{project}-{number:03}", _LETTERS.get(letter, OTHERS), text
    for project, texts in filler["own"].items():
        for number, row in enumerate(texts):
            letter, text = row.split("|", 1)
            yield f"{project}-{number:03}", _LETTERS.get(letter, OTHERS), text


def _chance(name: str, what: str) -> int:
    """A number that looks random and is the same each time."""
    return int.from_bytes(hashlib.sha256(f"{what}:{name}".encode()).digest()[:6])


@cache
def _read(file: Path = CORPUS) -> Mapping[str, Any]:
    corpus: Mapping[str, Any] = json.loads(file.read_text("utf-8"))
    return corpus
