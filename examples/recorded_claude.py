#!/usr/bin/env python3
"""Stands in for `claude -p` in the demo, where there is neither a key nor Claude Code; its answers are recorded.

The reflector's prompt is the one that asks for `bullet_tags`.
"""

import json
import sys

REFLECTION = {
    "analysis": (
        "The failing test came first and showed the bug at once [pat-001]. What cost time: the first fix was tried "
        "with the whole suite, four minutes a run. The user said that the day of departure counts as free; "
        "the playbook doesn't know that."
    ),
    "bullet_tags": [
        {"name": "pat-001", "tag": "helpful", "rationale": "The failing test was written first and found the bug."},
        {"name": "pat-004", "tag": "helpful", "rationale": "The clash was answered with 409 and the booking's id."},
    ],
}
CURATION = {
    "reasoning": "One rule of the domain is missing and will be needed again.",
    "operations": [
        {
            "type": "ADD",
            "section": "PROJECT CONTEXT",
            "text": "The day of departure is free: bookings overlap only if one starts before the other's last night.",
        }
    ],
}

prompt = sys.stdin.read()
answer = REFLECTION if "bullet_tags" in prompt else CURATION
print(
    json.dumps(
        {
            "type": "result",
            "is_error": False,
            "result": json.dumps(answer),
            "structured_output": answer,
            "usage": {"input_tokens": len(prompt) // 4, "output_tokens": len(json.dumps(answer)) // 4},
            "modelUsage": {"recorded": {}},
        }
    )
)
