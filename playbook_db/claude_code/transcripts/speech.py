"""What the client writes around people's words in a line of a transcript, and who said them."""

import re
from typing import Any

from playbook_db.claude_code.transcripts import own_text
from playbook_db.domain.playbook import storable

ROLES = ("user", "assistant")
NOT_SPEECH = ("isMeta", "isVisibleInTranscriptOnly", "isCompactSummary")
# The client writes these in the user's name: the echo of a local command, a note of a finished background task.
_ECHOES = (
    "<command-name>", "<command-message>", "<local-command-stdout>", "<local-command-stderr>", "<task-notification>",
)  # fmt: skip
COMMAND_ECHOES = ("<command-name>", "<command-message>")
_COMMAND = re.compile(r"<command-name>(.*?)</command-name>.*?<command-args>(.*)</command-args>", re.DOTALL)
_IDE_NOTE = re.compile(r"\s*<(ide_\w+)>.*</\1>\s*", re.DOTALL)
_INJECTED = re.compile(
    r"(?:SessionStart|SubagentStart|UserPromptSubmit)(?::\w+)? hook (?:additional context|success): "
)
INTERRUPTED = "[Request interrupted by user"  # the client's words
_TAG = re.compile(r"<([A-Za-z][\w.:-]*)(?=[\s/>])")
_QUOTED = re.compile(r"^[ \t]*>.*\n?", re.MULTILINE)
_CODE = re.compile(r"```.*?```|`[^`\n]*`|<private>.*?</private>", re.DOTALL)  # and what the user keeps private
_SUMMARY = "This session is being continued from a previous conversation"
TYPED_OUTPUT = ("<bash-stdout", "<bash-stderr")


def speech_of(content: dict[str, Any]) -> str:
    """Return the words of the user or the assistant in a line, or `""` if there are none."""
    if content.get("type") not in ROLES or any(content.get(mark) for mark in NOT_SPEECH):
        return ""
    texts = (block.get("text") for block in blocks_of(content) if block.get("type") == "text")
    text = "\n".join(each for each in texts if isinstance(each, str))
    return "" if text.lstrip().startswith(_ECHOES) else text


def blocks_of(content: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the content blocks of the message in a line."""
    message = content.get("message")
    blocks = message.get("content") if isinstance(message, dict) else None
    if isinstance(blocks, str):
        return [{"type": "text", "text": blocks}]
    return [block for block in blocks if isinstance(block, dict)] if isinstance(blocks, list) else []


def is_prompt(content: dict[str, Any]) -> bool:
    """Return whether a line has a prompt of the user."""
    if content.get("type") != "user" or content.get("isSidechain") or any(content.get(mark) for mark in NOT_SPEECH):
        return False
    text = "".join(text_of(block.get("text")) for block in blocks_of(content))
    is_note = users_own(text).lstrip().startswith((INTERRUPTED, *TYPED_OUTPUT))
    return is_persons(content) and not is_note and bool(typed_command(content) or users_own(text).strip())


def typed_command(content: dict[str, Any]) -> str:
    """Return the slash command with its words if the user typed it in this line, or `""` if it has no words."""
    is_users = content.get("type") == "user" and is_persons(content) and not content.get("sourceToolUseID")
    for block in blocks_of(content) if is_users and not content.get("isMeta") else ():
        text = text_of(block.get("text")).lstrip()
        match = _COMMAND.search(text) if text.startswith(COMMAND_ECHOES) else None
        if match and match[2].strip():
            return f"/{match[1].lstrip('/')} {match[2].strip()}"
    return ""


def is_persons(content: dict[str, Any]) -> bool:
    """Return whether the user sent this message, according to the client."""
    origin = content.get("origin")
    is_human = not isinstance(origin, dict) or origin.get("kind", "human") == "human"
    return is_human and content.get("promptSource") != "system" and content.get("rowSource", "local") == "local"


def own_words(text: str) -> str:
    """Return the part of *text* that looks typed by a person: without quotations, as in a mail, and without texts in
    tags, except in code. A text that begins with an open tag has none."""
    if text.startswith(_SUMMARY) or "<task-notification" in text:
        return ""
    code = _CODE.sub(lambda match: " " * len(match[0]), text)
    for name in sorted({*_TAG.findall(code)}):
        start, end = code.find(f"<{name}"), code.find(">", code.rfind(f"</{name}")) + 1
        if start < code.rfind(f"</{name}") and end:
            code, text = code[:start] + code[end:], text[:start] + text[end:]
    return "" if _TAG.match(code.lstrip()) else _QUOTED.sub("", text)


def users_own(text: str) -> str:
    """Return *text* without the client's reminders and notes, or `""` if it is a command's echo or a hook's output."""
    own = own_text.without_reminders(text)
    while match := _IDE_NOTE.match(own):
        own = own[match.end() :]
    bare = own.lstrip()
    return "" if bare.startswith((*_ECHOES, "<local-command-caveat>")) or _INJECTED.match(bare) else own


def text_of(value: object) -> str:
    """Return *value* as text that any database or request accepts, or `""` if it isn't a string."""
    if not isinstance(value, str):
        return ""
    return value if value.isascii() and "\0" not in value else storable(value).replace("\0", "\ufffd")
