"""A program that has a playbook as a dict. As a script it gets the time, the dict, a point's name, a tag and a text as
JSON."""

import json
import sys
from typing import Any

from benchmarks.player import set_datetime
from playbook_db import contract


def vote_and_add(content: dict[str, Any], name: str, tag: str, text: str) -> None:
    """Vote on a point of the dict, add one to it, and save it."""
    content = contract.apply_bullet_tags(content, [{"name": name, "tag": tag}])
    added = [{"type": "ADD", "text": text, "section": "OTHERS"}]
    contract.save_playbook(contract.apply_structured_operations(content, added))


if __name__ == "__main__":
    now, *given = json.load(sys.stdin)
    set_datetime(lambda: now, setattr)
    vote_and_add(*given)
