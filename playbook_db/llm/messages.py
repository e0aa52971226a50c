"""A session's messages, as the text that a prompt shows. Pure."""

import json
from collections.abc import Iterable
from typing import Any


def render_messages(messages: Iterable[Any]) -> str:
    """*messages* (`{"role", "content"}`, the content text or a list of blocks), each under who said it.

    What is none, or says nothing, is left out.
    """
    spoken = [(message.get("role"), _text(message.get("content"))) for message in messages if isinstance(message, dict)]
    return "\n\n".join(f"[{role or 'unknown'}]\n{text}" for role, text in spoken if text.strip())


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(told for block in content if (told := _block(block)))
    return ""


def _block(block: object) -> str:
    if isinstance(block, str):
        return block
    if not isinstance(block, dict):
        return ""
    if block.get("type") == "tool_use":
        return f"(uses {block.get('name')}: {json.dumps(block.get('input'), ensure_ascii=False, default=str)})"
    if block.get("type") == "tool_result":
        return f"({'error' if block.get('is_error') else 'result'}: {_text(block.get('content'))})"
    return next((block[key] for key in ("text", "thinking") if isinstance(block.get(key), str)), "")
