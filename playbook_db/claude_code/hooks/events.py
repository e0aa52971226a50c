"""Reading the input that Claude Code gives a hook: a JSON object on standard input, and environment variables.

For the hooks. The input isn't trusted: a field that is missing or has the wrong type becomes None. Imports only a small
part of the standard library.
"""

import os

from playbook_db import projects, settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Any

    from playbook_db.claude_code.hooks.hook_runner import Hook


class Event:
    """One event of a session. Each field is a string or None."""

    hook_event_name: "str | None"
    session_id: "str | None"
    transcript_path: "str | None"
    cwd: "str | None"
    source: "str | None"
    reason: "str | None"
    trigger: "str | None"
    agent_id: "str | None"
    agent_type: "str | None"
    agent_transcript_path: "str | None"

    def __init__(self, payload: "dict[str, Any]") -> None:
        self.payload = payload  # as it came, with what single events have
        for name in Event.__annotations__:
            setattr(self, name, storable(payload.get(name)))


def read(hook: "Hook", names: "Collection[str]", consequence: str) -> "tuple[Event, str] | None":
    """Read the event from the standard input of *hook*. Return it with its project's folder, or None unless Claude Code
    sent it and its name is in *names*. Another host gets no output. If the input can't be parsed, log that and the
    *consequence*."""
    event = parse(hook.payload())
    if event is None:
        hook.note(f"standard input is not a JSON object; {consequence}")
    elif _is_of_another_host(event):
        hook.say(b"")
    elif event.hook_event_name in names:
        folder = os.environ.get("CLAUDE_PROJECT_DIR")  # Claude Code sets it; `cwd` changes during the session
        if folder:
            return event, projects.project_dir(folder)
        if event.cwd and os.path.isabs(event.cwd):
            return event, projects.enclosing_project(projects.as_path(event.cwd))
        hook.note(f"neither CLAUDE_PROJECT_DIR nor cwd names the project; {consequence}")
    return None


def _is_of_another_host(event: Event) -> bool:
    """Return whether a different agent sent *event*. Claude Code names a transcript, `projects/FOLDER/SESSION.jsonl`.
    Environment variables don't help, because one agent inherits them from another."""
    above, folder, name = f"//{event.transcript_path or ''}".split("/")[-3:]
    return name in ("", "events.jsonl") or name.startswith("rollout-") or "chats" in (above, folder)


def parse(data: bytes) -> "Event | None":
    """Parse *data* as an event. Return None if it isn't a JSON object."""
    text = data.decode("utf-8", "surrogateescape").strip(" \t\r\n\ufeff")
    payload = scanned(text)
    return Event(payload) if isinstance(payload, dict) else None


def scanned(text: str) -> "Any":
    """Parse *text* as JSON. Return None if it isn't valid."""
    try:
        return _scan(text)
    except Exception:  # no JSON, or a Python without that scanner
        import json

        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            return None


def storable(value: object) -> "str | None":
    """Return *value* without NUL and lone surrogates, so that it can be stored, or None if it isn't a string."""
    if not isinstance(value, str):
        return None
    return projects.as_text(value).encode("utf-8", "replace").decode("utf-8").replace("\0", "?")


def session_folder_name(folder: str) -> str:
    """Return the name of the folder in which Claude Code keeps the transcripts of sessions that began in *folder*."""
    return "".join([char if char.isascii() and char.isalnum() else "-" for char in folder])


def _scan(text: str) -> object:
    """Parse *text* as JSON with Python's C scanner, because `import json` takes longer than all the work of a hook."""
    from _json import make_scanner

    class Context:
        strict = True
        object_hook = object_pairs_hook = None
        parse_float = float
        parse_int = int
        parse_constant = float
        memo: "dict[str, str]" = {}  # noqa: RUF012 - the scanner asks for it

    value, end = make_scanner(Context())(text, 0)  # type: ignore[arg-type]
    if end != len(text):
        raise ValueError(f"more than one JSON value, from character {end + 1} on")
    return value


def folder_of_session(session_id: str, cwd: str) -> "str | None":
    """Return the session's first folder if it is *cwd* (the shell's current folder) or above it, else None.

    The shell has no `CLAUDE_PROJECT_DIR` (seen with client 2.1.329). A session without a transcript has just begun.
    """
    root = os.path.join(settings.claude_dir(), "projects")
    try:
        names = {name for name in os.listdir(root) if os.path.exists(os.path.join(root, name, f"{session_id}.jsonl"))}
    except OSError:
        names = set()
    for here in projects.upwards(os.path.normpath(cwd)):
        if not names or names & {session_folder_name(here), session_folder_name(os.path.realpath(here))}:
            return here
    return None
