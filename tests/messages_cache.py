"""The prompt cache of the Messages API, as documented: what a request reads from it and writes to it.

The cache keeps all blocks up to a mark (`cache_control`) if they have at least `minimum` tokens. A later request reads
them if they are the same to the byte. The model, the form of the answer and the system prompt must be the same, too. A
block in two pieces is another one. A token is four characters here.
"""

import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.messages_wire import Request, Usage

CHARS_A_TOKEN = 4
MAX_MARKS = 4
LOOKED_BACK = 20  # blocks, from a mark on


@dataclass(slots=True)
class PromptCache:
    """The cache; entries never grow old. `usages` are what it made of each request, oldest first."""

    minimum: int = 1024
    usages: list[Usage] = field(default_factory=list)
    _entries: set[str] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, request: Request) -> Usage:
        """What *request* costs, its answer aside; what it writes can be read from now on."""
        with self._lock:
            self.usages.append(self._usage(request.body))
            return self.usages[-1]

    def _usage(self, body: Mapping[str, Any]) -> Usage:
        blocks = [*_blocks(body.get("system")), *_blocks(body["messages"][0]["content"])]
        marked = [place for place, block in enumerate(blocks) if "cache_control" in block]
        assert len(marked) <= MAX_MARKS, f"{len(marked)} marks; a request with more than {MAX_MARKS} is refused"
        ends, length = [], 0
        for block in blocks:
            length += len(block["text"])
            ends.append(length // CHARS_A_TOKEN)
        head = json.dumps([body.get("model"), body.get("output_config")])
        keys = [head + json.dumps([block["text"] for block in blocks[: place + 1]]) for place in range(len(blocks))]
        kept = [place for place in marked if ends[place] >= self.minimum]
        near = [place for mark in kept for place in range(max(0, mark - LOOKED_BACK + 1), mark + 1)]
        read = max((ends[place] for place in near if keys[place] in self._entries), default=0)
        written = max((ends[place] for place in kept), default=0) - read
        self._entries.update(keys[place] for place in kept)
        return Usage(ends[-1] - read - written, 20, written, read)


def _blocks(content: Any) -> list[Mapping[str, Any]]:
    return [{"text": content}] if isinstance(content, str) else list(content or ())
