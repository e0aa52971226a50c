"""The messages that the user typed while the assistant worked.

The client keeps such a message as an attachment. Older clients keep it only as operations of a queue: `enqueue`, and
then `remove` if the assistant got it in mid-turn, or `dequeue` if an entry of the user follows. Some write both.
"""

from collections import Counter
from typing import Any

_NOTES = ("<task-notification", "<agent-message", "<teammate-message", '{"task_id"')  # the client's, or other agents'


class Queue:
    """Follows the queue of a session, line by line."""

    def __init__(self) -> None:
        self._waiting: list[str] = []
        self._ahead: Counter[str] = Counter()  # how often operations handed over a text, minus attachments

    def as_users(self, content: dict[str, Any]) -> dict[str, Any]:
        """Return the *content* of a line. If the line hands over a queued message, return it as an entry of the user,
        or `{}` if an earlier line had the same message."""
        attachment, prompt, step = content.get("attachment"), content.get("content"), 1
        if content.get("type") == "queue-operation":
            prompt = self._handed_over(content.get("operation"), prompt if isinstance(prompt, str) else "")
        elif isinstance(attachment, dict) and attachment.get("type") == "queued_command":
            is_typed = attachment.get("commandMode", "prompt") == "prompt" and not attachment.get("isMeta")
            prompt, step = attachment.get("prompt") if is_typed else "", -1
            content = {**content, "origin": attachment.get("origin")}
        else:
            return content
        blocks = prompt if isinstance(prompt, list) else [{"text": prompt}]
        text = "\n".join(str(block.get("text") or "") for block in blocks if isinstance(block, dict)).strip()
        if not text or text.startswith(_NOTES):
            return content
        self._ahead[text] += step
        return {**content, "type": "user", "message": {"content": prompt}} if self._ahead[text] * step > 0 else {}

    def _handed_over(self, operation: object, text: str) -> str:
        """Return the message that an operation hands over in mid-turn, or `""` if it does something else."""
        if operation == "enqueue":
            self._waiting.append(text)
        elif operation == "popAll":  # into the input line
            self._waiting.clear()
        elif operation in ("remove", "dequeue") and self._waiting:
            text = self._waiting.pop(self._waiting.index(text) if text in self._waiting else 0)
            return text if operation == "remove" else ""
        return ""
