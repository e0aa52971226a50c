"""Evidence, which a scripted model lacks and a good one gives: its tags and operations quote the user's first words."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tests.messages_api import Answer, Request, Scripted

_FIRST_WORDS = re.compile(r"## User\n\n([^\n]+)")
_QUOTED = re.compile(r'"evidence": (\["(?:[^"\\]|\\.)*"\])')


def quoting(scripted: Scripted) -> Callable[[Request], Answer | str]:
    """*scripted*, with evidence in each of its tags and operations that has none."""

    def answer(request: Request) -> Answer | str:
        given = scripted(request) if callable(scripted) else scripted
        if isinstance(given, str):
            return with_evidence(given, request)
        return replace(given, text=with_evidence(given.text, request))

    return answer


def with_evidence(text: str, request: Request) -> str:
    """The answer *text* to *request* with evidence: the reflector's quotes the transcript, the curator's the lesson."""
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
        lesson = {"kind": "worked", "text": "See above.", "cause": "", "fix": "", "applies_to": "", "evidence": quotes}
        answer.setdefault("lessons", [lesson] if quotes else [])
    elif "operations" in answer:
        match = _QUOTED.search(prompt)
        _quote(answer["operations"], json.loads(match[1]) if match else [])
    return json.dumps(answer)


def _quote(items: Any, quotes: list[str]) -> None:
    for item in items if isinstance(items, list) else []:
        if isinstance(item, dict):
            item.setdefault("evidence", quotes)
