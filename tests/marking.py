"""The answer of a scripted model that is asked which lessons are risky."""

import json
import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

_NOTES = re.compile(r"<notes>\n(.*)\n</notes>", re.DOTALL)
_NOTE = re.compile(r'^(\d+)\. (".*")$', re.MULTILINE)


def is_asked(question: str) -> bool:
    return "risky" in question and _NOTES.search(question) is not None


def notes_of(question: str) -> dict[int, str]:
    found = _NOTES.search(question)
    return {int(number): json.loads(text) for number, text in _NOTE.findall(found[1])} if found else {}


def marks(question: str, is_risky: Callable[[str], bool | None] = lambda text: False) -> str:
    """The answer to *question*. A text for which *is_risky* returns None is left out."""
    judged = {number: is_risky(text.replace("\u200b", "")) for number, text in notes_of(question).items()}
    risky, safe = ([number for number, risk in judged.items() if risk is wanted] for wanted in (True, False))
    return json.dumps({"risky": risky, "safe": safe})


@cache
def by_hand() -> Mapping[str, bool]:
    path = Path(__file__).parent / "data" / "sessions" / "marks.json"
    marked: Mapping[str, bool] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return marked
