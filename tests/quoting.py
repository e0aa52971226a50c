"""Evidence, which a scripted model lacks and a good one gives: its tags and operations quote the user's first words."""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from tests.messages_api import Answer, Request, Scripted

_FIRST_WORDS = re.compile(r"## User\n\n([^\n]+)")
_QUOTED = re.compile(r'"evidence": (\["(?:[^"\\]|\\.)*"\])')


_KINDS = {
    "PATTERNS & APPROACHES": "worked", "MISTAKES TO AVOID": "wasteful", "USER PREFERENCES": "wish_of_the_user",
}  # fmt: skip


def quoting(scripted: Scripted, curated: object = None) -> Callable[[Request], Answer | str]:
    """*scripted* with evidence. A reflector without lessons gets those that the curator's answer *curated* adds."""
    added = _added(curated)

    def answer(request: Request) -> Answer | str:
        given = scripted(request) if callable(scripted) else scripted
        if isinstance(given, str):
            return with_evidence(given, request, added)
        return replace(given, text=with_evidence(given.text, request, added))

    return answer


def with_evidence(text: str, request: Request, added: Sequence[tuple[str, str]] = ()) -> str:
    """Reflectors quote the transcript, curators the lesson."""
    try:
        answer = json.loads(text)
    except ValueError:
        return text
    if not isinstance(answer, dict):
        return text
    prompt = request.last_said.partition("\n# Material\n")[2]  # behind the example
    if "bullet_tags" in answer:
        quotes = [match[1] for match in [_FIRST_WORDS.search(prompt)] if match]
        _quote(answer["bullet_tags"], quotes)
        rest = {"cause": "", "fix": "", "applies_to": "", "evidence": quotes}
        lessons = [{"kind": kind, "text": lesson, **rest} for kind, lesson in added or [("worked", "See above.")]]
        answer.setdefault("lessons", lessons if quotes else [])
    elif "operations" in answer:
        match = _QUOTED.search(prompt)
        _quote(answer["operations"], json.loads(match[1]) if match else [])
    return json.dumps(answer)


def _added(curated: object) -> list[tuple[str, str]]:
    try:
        operations = json.loads(curated).get("operations") if isinstance(curated, str) else None
    except (ValueError, AttributeError):
        operations = None
    return [
        (_KINDS.get(str(each.get("section")), ""), each["text"])
        for each in (operations if isinstance(operations, list) else ())
        if isinstance(each, dict) and each.get("type") == "ADD" and isinstance(each.get("text"), str)
    ]


def _quote(items: Any, quotes: list[str]) -> None:
    for item in items if isinstance(items, list) else []:
        if isinstance(item, dict):
            item.setdefault("evidence", quotes)
