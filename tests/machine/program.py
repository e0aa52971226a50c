"""A program with a playbook as a dict. As a script, it gets the time and its arguments as JSON."""

import json
import sys
from typing import Any

from benchmarks.player import set_datetime
from playbook_db import contract


def vote_and_add(content: dict[str, Any], name: str, tag: str, text: str) -> None:
    content = contract.apply_bullet_tags(content, [{"name": name, "tag": tag}])
    added = [{"type": "ADD", "text": text, "section": "OTHERS"}]
    contract.save_playbook(contract.apply_structured_operations(content, added))


if __name__ == "__main__":
    now, *given = json.load(sys.stdin)
    set_datetime(lambda: now, setattr)
    vote_and_add(*given)
