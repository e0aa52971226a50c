"""The texts of rules: files that Claude Code loads with the files that they name, and a block of AGENTS.md.

Each has a signature, which shows whether somebody has edited it. So no table records what was written.
"""

import json
import re
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from playbook_db.domain.prompt_text import rule_line

_HEAD = "From the playbook; cite a key point that influences your response by its ID:\n\n"
_SIGNATURE = re.compile(r"^playbook: ([0-9a-f]{16})\n", re.MULTILINE)  # in the front matter; the model doesn't see it
_BEGIN, _END = "<!-- playbook begin {}: written by `playbook export --rules` -->\n", "<!-- playbook end -->"
_MARK = re.compile(r"^<!-- playbook (?:begin|end)\b", re.MULTILINE)
_BLOCK = re.compile(rf"^<!-- playbook begin ([0-9a-f]{{16}})\b[^\n]*-->\r?\n(.*?)^{_END}", re.MULTILINE | re.DOTALL)


def rule(paths: Sequence[str], points: Sequence[Any]) -> tuple[str, str]:
    """Return the name and the content of a rule that brings *points* with the files *paths*. `?` replaces characters
    that have a meaning in patterns."""
    name = re.sub("[^a-z0-9]+", "-", paths[0].lower())[-60:].strip("-")
    patterns = [json.dumps(re.sub(r"[^\w./ -]", "?", path), ensure_ascii=False) for path in paths]
    head, body = "\n  - ".join(["---\npaths:", *patterns]) + "\n", f"---\n{_body(points)}"
    return f"playbook-{name}-{_digest(repr(paths))[:6]}.md", f"{head}playbook: {_digest(head + body)}\n{body}"


def signed(text: str) -> bool | None:
    """Return whether the rule *text* is as it was written. Return None if it has no signature."""
    signature = _SIGNATURE.search(text)
    return signature and _digest(text.replace(signature[0], "", 1)) == signature[1]


def block_of(text: str) -> re.Match[str] | None:
    """Return our block in *text*, the content of AGENTS.md. Raises ValueError if there is more than one, or a part."""
    marks, block = _MARK.findall(text), _BLOCK.search(text)
    if marks and (len(marks) != 2 or block is None):
        raise ValueError("our marks don't enclose exactly one block")
    return block


def is_signed(block: re.Match[str]) -> bool:
    """Return whether *block* is as it was written."""
    return _digest(block[2].replace("\r\n", "\n")) == block[1]


def with_block(text: str | None, points: Sequence[Any]) -> str | None:
    """Return *text*, the content of AGENTS.md, with a block for *points* in the place of the old one or at the end.

    Without *points*, return the text as it was before the block. None means no file. Raises ValueError as `block_of`.
    """
    before, after, block = text or "", "", block_of(text or "")
    newline = "\r\n" if "\r\n" in before else "\n"
    if block:
        before, after = before[: block.start()], before[block.end() :]
    elif points:  # no newline after the block tells that the text had none, either
        after = newline if text is None or before.endswith("\n") else ""
        before += newline if before else ""
    if points:
        body = f"## Playbook\n\n{_body(points)}"
        return before + (_BEGIN.format(_digest(body)) + body + _END).replace("\n", newline) + after
    rest = before.removesuffix(newline) + after.removeprefix(newline)
    return text if not block else rest if rest or not after else None


def _body(points: Sequence[Any]) -> str:
    return _HEAD + "".join(f"{rule_line(point)}\n" for point in points)


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:16]
