"""The registration of our hooks in Claude Code's settings: events, commands, files, and the switches of the hooks.

For `install`, doctor and the hooks. A hook checks here whether it is registered twice or switched off. So this module
imports only the standard library, and slow modules late.
"""

import os
import sys

from playbook_db import projects, settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

EVENTS = {  # the event, the hook that answers it, the seconds after which Claude Code may end it
    "SessionStart": ("inject", 5),
    "UserPromptSubmit": ("remind", 5),
    "PreToolUse": ("tool", 5),
    "PostToolUseFailure": ("remind", 5),
    "SubagentStart": ("remind", 5),
    "PreCompact": ("enqueue", 5),
    "SubagentStop": ("enqueue", 5),
    "SessionEnd": ("enqueue", 10),  # raises the 1.5 s that Claude Code gives all hooks together at the end
}
MATCHERS = {"PreToolUse": "Read|Edit|Write|NotebookEdit|Agent"}  # the tools of whose calls it is told
SCOPES = ("user", "project", "local")  # if two register the same hook, the first of them answers
PLUGIN = "plugin"  # answers if no settings file registers the hook
_QUOTE = "'\"'\"'"  # a single quote within a quoted word
MARKER = "# playbook-db"  # ends each command of ours, to distinguish it from others' hooks
GUARD_MARKER = f"{MARKER} guard"  # ends the command of a guard, which is no hook of `install`
ON_GUARD = "playbook_guards"
SWITCHES = ("playbook_update_on_exit", "playbook_update_on_clear", "playbook_update_on_subagent_stop")
MOMENTS = {  # switches, too: whether points come with these events
    "UserPromptSubmit": "playbook_on_prompt", "PreToolUse": "playbook_on_file",
    "PostToolUseFailure": "playbook_on_error",
}  # fmt: skip
SUBAGENTS = "playbook_subagents"  # which types of subagents are told of the playbook
ALL_TYPES = "*"  # except those in LOOKING
LOOKING = ("Explore", "Plan")  # they only read files; they get the playbook if a setting names them
SESSION_MESSAGE = "playbook_session_message"  # a switch: whether the user sees a line at a session's start
REVIEW = "playbook_review"  # which lessons wait for a person
REVIEW_MODES = ("none", "fetched", "all")  # ever stricter
MCP_WRITES = "playbook_mcp_writes"  # whether points that a session adds by MCP wait
MCP_MODES = ("live", "propose")  # it counts at once, or waits for a person


def own_scope() -> str:
    """Return the scope of the settings file that registers the running hook: its first argument, or else `plugin`."""
    return sys.argv[1] if len(sys.argv) > 1 else PLUGIN


def settings_file(scope: str, folder: str) -> str:
    """Return the settings file of *scope* for the project in *folder*."""
    if scope == "user":
        return os.path.join(settings.claude_dir(), "settings.json")
    return os.path.join(folder, ".claude", "settings.json" if scope == "project" else "settings.local.json")


def settings_files(folder: str) -> "list[str]":
    """Return the user's, the project's and the local settings file for the project in *folder*. The last one wins."""
    return [settings_file(scope, folder) for scope in SCOPES]


def is_on(switch: str, folder: str) -> bool:
    """Return whether *switch* is on for the project in *folder*. It is on by default."""
    return switch_choice(switch, folder)[0]


def switch_choice(switch: str, folder: str) -> "tuple[bool, str | None]":
    """Return whether *switch* is on, and the settings file that says so (None for the default)."""
    return _last(switch, folder, True, lambda value: isinstance(value, bool))


def review_mode(folder: str) -> str:
    """Return which lessons of the project in *folder* become proposals: `none`, `fetched` (from a web page, or without
    evidence) or `all`. A project's file, which may come with a clone, can only choose a stricter mode than the user."""
    return review_choice(folder)[0]


def review_choice(folder: str) -> "tuple[str, str | None]":
    """Return the `review_mode`, and the file that sets it (None for the default)."""
    return _strictest(REVIEW, REVIEW_MODES, "fetched", folder)


def mcp_choice(folder: str) -> "tuple[str, str | None]":
    """Return whether points that a session adds by MCP count at once (`live`) or wait (`propose`) in *folder*, and the
    file that sets it (None for the default). Only the user can choose `live`: a project's file may come with a
    clone."""
    return _strictest(MCP_WRITES, MCP_MODES, "propose", folder)


def _strictest(name: str, modes: "tuple[str, ...]", default: str, folder: str) -> "tuple[str, str | None]":
    """Return the user's mode for *name* (or *default*), or a project's if that is stricter: later in *modes*."""
    users, *others = settings_files(folder)
    choice = _setting(name, users)
    mode, source = (choice, users) if choice in modes else (default, None)
    for path in others:
        choice = _setting(name, path)
        if choice in modes and modes.index(choice) > modes.index(mode):
            mode, source = choice, path
    return mode, source


def is_shown_to_subagent(agent_type: str, folder: str) -> bool:
    """Return whether subagents of this type get the playbook of the project in *folder*."""
    types, _ = subagents_choice(folder)
    return agent_type in types or (ALL_TYPES in types and agent_type not in ("", *LOOKING))


def subagents_choice(folder: str) -> "tuple[list[str], str | None]":
    """Return the types of subagents that get the playbook, and the settings file with them (None for the default)."""

    def is_list(value: object) -> bool:
        return isinstance(value, list) and all(isinstance(each, str) for each in value)

    return _last(SUBAGENTS, folder, [ALL_TYPES], is_list)


def _last(name: str, folder: str, default: "Any", is_one: "Callable[[object], bool]") -> "tuple[Any, str | None]":
    """Return the last value of *name* that *is_one* accepts, and its settings file. Else return *default* and None."""
    value, source = default, None
    for path in settings_files(folder):
        choice = _setting(name, path)
        if is_one(choice):
            value, source = choice, path
    return value, source


def command(hook: str, *, scope: str, python: str, hooks_folder: str, worker_python: str) -> str:
    """Return the shell command that runs *hook*, a name in EVENTS, with *python*. The worker will use *worker_python*.

    The command exits with 0 if an interpreter or a file is gone. Python's exit code for a missing file is 2, with which
    a hook would block a compaction. The shell waits for Python and then exits with 0, even if Python was killed. For
    most tool calls the script `touched` ends the command before Python starts.
    """
    file = os.path.join(hooks_folder, f"{hook}.py")
    run = f"{_quoted(python)} -I -S {_quoted(file)} {scope} {_quoted(worker_python)}"
    if hook == "tool":
        first = _quoted(os.path.join(hooks_folder, "touched"))
        run = f"[ -r {first} ] && . {first} && payload | {run}"
    return f"[ -x {_quoted(python)} ] && [ -r {_quoted(file)} ] && {run}; exit 0 {MARKER}"


def guard_command(guard: str, *, python: str, hooks_folder: str) -> str:
    """Return the shell command for *guard*: a mode, a pattern and a point's name. Its exit code is as for `command`."""
    file = os.path.join(hooks_folder, "guard.py")
    run = f"{_quoted(python)} -I -S {_quoted(file)} guard {_quoted(guard)}"
    return f"[ -x {_quoted(python)} ] && [ -r {_quoted(file)} ] && {run}; exit 0 {GUARD_MARKER}"


def programs(command: str) -> "tuple[str, str, str]":
    """Return the hook's interpreter, its file and the worker's interpreter from *command*; `""` if missing."""
    quoted = command.replace(_QUOTE, "\0").split("'")[1::2]  # the words that `command` has quoted
    words = [word.replace("\0", "'") for word in quoted]
    return (words[0], words[1], words[-1]) if words[2:] else ("", "", "")


def is_guard(hook: object) -> bool:
    """Return whether a hook from a settings file is one of our guards."""
    return _ends_with(hook, GUARD_MARKER)


def is_live(command: str) -> bool:
    """Return whether the interpreter and the file that our command names exist."""
    python, file, _ = programs(command)
    return os.access(python, os.X_OK) and os.access(file, os.R_OK)


def is_ours(hook: object) -> bool:
    """Return whether a hook from a settings file is ours."""
    return _ends_with(hook, MARKER)


def _ends_with(hook: object, marker: str) -> bool:
    command = hook.get("command") if isinstance(hook, dict) else None
    return isinstance(command, str) and command.rstrip().endswith(marker)


def groups_of_hooks(document: object) -> "Iterator[tuple[str, dict[str, Any]]]":
    """Yield the events and groups of hooks in a settings file's content. Malformed entries are skipped."""
    hooks = document.get("hooks") if isinstance(document, dict) else None
    for event, groups in [*hooks.items()] if isinstance(hooks, dict) else ():
        for group in [*groups] if isinstance(groups, list) else ():
            if isinstance(group, dict) and isinstance(group.get("hooks"), list):
                yield event, group


def our_hooks(document: object, event: str) -> "list[dict[str, Any]]":
    """Return our hooks for *event* in a settings file's content."""
    groups = [group for name, group in groups_of_hooks(document) if name == event]
    return [hook for group in groups for hook in group["hooks"] if is_ours(hook)]


def answers_elsewhere(event: str, scope: str, folder: str) -> bool:
    """Return whether a scope before *scope* registers a working hook of ours for *event*."""
    before = SCOPES if scope == PLUGIN else SCOPES[: SCOPES.index(scope)] if scope in SCOPES else ()
    own = settings_file(scope, folder) if scope in SCOPES else ""  # home as project: two scopes, one file
    paths = [path for other in before if (path := settings_file(other, folder)) != own]
    return any(is_live(hook["command"]) for path in paths for hook in our_hooks(read_settings(path, MARKER), event))


def _setting(name: str, path: str) -> "Any":
    document = read_settings(path, name)
    return document.get(name) if isinstance(document, dict) else None


def read_settings(path: str, word: str = "") -> object:
    """Return the content of the settings file at *path*, or None if it can't be read or its text lacks *word*."""
    try:
        content = projects.read_plain(path)
        if word.encode() not in content:
            return None
        from playbook_db.claude_code.hooks import hook_runner  # late: mostly no file has the word

        return hook_runner.scanned(content.decode("utf-8-sig").strip(" \t\r\n"))
    except (OSError, ValueError):
        return None


def _quoted(text: str) -> str:
    """Quote *text* as one word for the shell, like `shlex.quote` but without its imports."""
    return "'" + text.replace("'", _QUOTE) + "'"
