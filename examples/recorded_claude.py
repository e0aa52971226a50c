#!/usr/bin/env python3
"""A replacement for `claude -p` with recorded answers, for a demo without a key and without Claude Code.

The reflector's prompt is the one that asks for `bullet_tags`. The prompt for risky texts has `<notes>`.
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
        {
            "name": "pat-001",
            "tag": "helpful",
            "rationale": "The user wants narrow runs.",
            "ignored": False,
            "evidence": ["Don't run everything each time"],
        },
        {
            "name": "pat-004",
            "tag": "helpful",
            "rationale": "The clash was answered with 409 and the booking's id.",
            "ignored": False,
            "evidence": ["the API should still name the clash", "9 passed in 0.52s"],
        },
    ],
    "lessons": [
        {
            "kind": "rule",
            "text": "The day of departure is free: a booking may begin on the day on which another one ends.",
            "cause": "The form compared days; a berth is taken by the night.",
            "fix": "Compare nights.",
            "applies_to": "tests/test_overlap.py",
            "evidence": ["the day of departure is free for us, always"],
        }
    ],
}
CURATION = {
    "reasoning": "One rule of the domain is missing and will be needed again.",
    "apart": [],
    "operations": [
        {
            "type": "ADD",
            "section": "PROJECT CONTEXT",
            "text": "The day of departure is free: bookings overlap only if one starts before the other's last night.",
            "evidence": ["the day of departure is free for us, always"],
        }
    ],
}

prompt = sys.stdin.read()
MARKS = {"risky": [], "safe": [1]}
answer = MARKS if "<notes>" in prompt else REFLECTION if "bullet_tags" in prompt else CURATION
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
