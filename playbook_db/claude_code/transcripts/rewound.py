"""The prompts that the user withdrew, with `/rewind` or with Esc before the answer.

They stay in the transcript, and the next prompt has the same parent. What followed such a prompt was withdrawn, too.
"""

from collections.abc import Callable
from typing import Any

from playbook_db.claude_code.transcripts.raw_lines import parse, raw_lines
from playbook_db.projects import open_plain


class Rewound:
    """Finds the lines of the transcript at *path* that the user withdrew. *is_prompt* says whether a line is a prompt.
    Set `may_grow` to have the file read again from the last line on."""

    def __init__(self, path: str, is_prompt: Callable[[dict[str, Any]], bool]) -> None:
        self.may_grow = True
        self._path = path
        self._is_prompt = is_prompt
        self._end = 0
        self._newest: dict[int, int] = {}  # the newest prompt of each parent; hashes of uuids, as there may be many
        self._prompts: set[int] = set()
        self._lines: set[int] = set()

    def has(self, content: dict[str, Any]) -> bool:
        """Return whether a line was withdrawn. Call this for all lines in order. Raises OSError if the file can't be
        read."""
        uuid, parent = _hash(content.get("uuid")), _hash(content.get("parentUuid"))
        if parent and self.may_grow:
            self._read()
        is_rewound = uuid in self._lines or parent in self._lines
        if is_rewound and uuid:
            self._lines.add(uuid)
        return is_rewound

    def _read(self) -> None:
        """Compare the prompts up to the file's end."""
        self.may_grow = False
        with open(open_plain(self._path), "rb") as file:
            for _, end, raw in raw_lines(file, self._end):
                self._end = end
                if b'"user"' in raw and b'"parentUuid"' in raw and b'"tool_result"' not in raw:
                    self._compare(parse(raw) or {})

    def _compare(self, content: dict[str, Any]) -> None:
        uuid, parent = _hash(content.get("uuid")), _hash(content.get("parentUuid"))
        if uuid and parent and uuid not in self._prompts and self._is_prompt(content):
            self._prompts.add(uuid)
            if parent in self._newest:
                self._lines.add(self._newest[parent])
            self._newest[parent] = uuid


def _hash(uuid: object) -> int:
    return hash(uuid) if isinstance(uuid, str) else 0
