"""Our hooks in Claude Code's settings: their events, commands and files, and the switches that turn them off.

For `install` and doctor, and for the hooks themselves, which notice here that they are registered twice or not wanted:
the standard library alone, nothing heavy at the top.
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
REVIEW = "playbook_review"  # which lessons wait for a person
REVIEW_MODES = ("none", "fetched", "all")  # ever stricter
MCP_WRITES = "playbook_mcp_writes"  # whether points that a session adds by MCP wait
MCP_MODES = ("live", "propose")  # it counts at once, or waits for a person


def own_scope() -> str:
    """The scope in which the running hook is registered: its first argument, or else `plugin`."""
    return sys.argv[1] if len(sys.argv) > 1 else PLUGIN


def settings_file(scope: str, folder: str) -> str:
    """The settings file of *scope* for the project in *folder*."""
    if scope == "user":
        return os.path.join(settings.claude_dir(), "settings.json")
    return os.path.join(folder, ".claude", "settings.json" if scope == "project" else "settings.local.json")


def settings_files(folder: str) -> "list[str]":
    """The settings files of a project in *folder*: the user's, the project's and the local one. The last one wins."""
    return [settings_file(scope, folder) for scope in SCOPES]


def is_on(switch: str, folder: str) -> bool:
    """Whether *switch* is on for the project in *folder*; it is on by default."""
    return switch_choice(switch, folder)[0]


def switch_choice(switch: str, folder: str) -> "tuple[bool, str | None]":
    """As `is_on`, with the file that says so; None if it is the default."""
    return _last(switch, folder, True, lambda value: isinstance(value, bool))


def review_mode(folder: str) -> str:
    """Which lessons in the project in *folder* become proposals: `none`, `fetched` (from a web page, or without
    evidence) or `all`. A project's file, which may come with a clone, can only ask for more than the user."""
    return review_choice(folder)[0]


def review_choice(folder: str) -> "tuple[str, str | None, list[str]]":
    """As `review_mode`, with the file that says so (None if it is the default) and the files that are ignored."""
    return _strictest(REVIEW, REVIEW_MODES, "fetched", folder)


def mcp_choice(folder: str) -> "tuple[str, str | None, list[str]]":
    """Whether points that a session adds by MCP count at once (`live`) or wait (`propose`), in the project in *folder*.

    With the file that says so (None if it is the default), and the project's files that are ignored: only the user can
    say `live`, as a project's file may come with a clone.
    """
    return _strictest(MCP_WRITES, MCP_MODES, "propose", folder)


def _strictest(name: str, modes: "tuple[str, ...]", default: str, folder: str) -> "tuple[str, str | None, list[str]]":
    """The mode that the user sets for *name*, or *default*, or a stricter (later) one that a project's file sets."""
    users, *others = dict.fromkeys(settings_files(folder))  # home as project: two scopes, one file
    choice = _setting(name, users)
    mode, source = (choice, users) if choice in modes else (default, None)
    unheard = []
    for path in others:
        choice = _setting(name, path)
        if choice in modes and modes.index(choice) > modes.index(mode):
            mode, source = choice, path
        elif choice in modes and choice != mode:
            unheard.append(path)
    return mode, source, unheard


def is_shown_to_subagent(agent_type: str, folder: str) -> bool:
    """Whether subagents of that type get the playbook of the project in *folder*."""
    types, _ = subagents_choice(folder)
    return agent_type in types or (ALL_TYPES in types and agent_type not in ("", *LOOKING))


def subagents_choice(folder: str) -> "tuple[list[str], str | None]":
    """The types of subagents that get the playbook in *folder*, and the file that says so (None: the default)."""

    def is_list(value: object) -> bool:
        return isinstance(value, list) and all(isinstance(each, str) for each in value)

    return _last(SUBAGENTS, folder, [ALL_TYPES], is_list)


def _last(name: str, folder: str, default: "Any", is_one: "Callable[[object], bool]") -> "tuple[Any, str | None]":
    """The last valid value (*is_one*) of *name* in the settings files, and its file; or else *default* and None."""
    value, source = default, None
    for path in settings_files(folder):
        choice = _setting(name, path)
        if is_one(choice):
            value, source = choice, path
    return value, source


def command(hook: str, *, scope: str, python: str, hooks_folder: str, worker_python: str) -> str:
    """The shell command that runs *hook*, one of those in EVENTS, under *python*; the worker will use *worker_python*.

    It exits with 0 if an interpreter or a file is gone: Python's exit code for a missing file is 2, with which a
    hook blocks a compaction. The shell waits for it, so that it ends with exit code 0 whatever becomes of Python. For
    most tool calls the script `touched` ends it before Python starts.
    """
    file = os.path.join(hooks_folder, f"{hook}.py")
    run = f"{_quoted(python)} -I -S {_quoted(file)} {scope} {_quoted(worker_python)}"
    if hook == "tool":
        first = _quoted(os.path.join(hooks_folder, "touched"))
        run = f"[ -r {first} ] && . {first} && payload | {run}"
    return f"[ -x {_quoted(python)} ] && [ -r {_quoted(file)} ] && {run}; exit 0 {MARKER}"


def guard_command(guard: str, *, python: str, hooks_folder: str) -> str:
    """The shell command of *guard*, its mode, its pattern and its point's name. It ends as those of `command` do."""
    file = os.path.join(hooks_folder, "guard.py")
    run = f"{_quoted(python)} -I -S {_quoted(file)} guard {_quoted(guard)}"
    return f"[ -x {_quoted(python)} ] && [ -r {_quoted(file)} ] && {run}; exit 0 {GUARD_MARKER}"


def programs(command: str) -> "tuple[str, str, str]":
    """The hook's interpreter, its file and the worker's interpreter in a command of ours; `""` for a missing one."""
    quoted = command.split("'")
    if len(quoted) in (11, 15) and quoted[0] == "[ -x ":  # as `command` writes it, with no quote inside a word
        return quoted[1], quoted[3], quoted[-2]
    import shlex  # late: slow

    try:
        words = shlex.split(command, comments=True)
        return words[2], words[7], words[-3].rstrip(";")
    except (ValueError, IndexError):
        return "", "", ""


def is_guard(hook: object) -> bool:
    """Whether a hook, as a settings file has it, is a guard of ours."""
    command = hook.get("command") if isinstance(hook, dict) else None
    return isinstance(command, str) and command.rstrip().endswith(GUARD_MARKER)


def is_live(command: str) -> bool:
    """Whether the interpreter and the file that a command of ours names are there."""
    python, file, _ = programs(command)
    return os.access(python, os.X_OK) and os.access(file, os.R_OK)


def is_ours(hook: object) -> bool:
    """Whether a hook, as a settings file has it, is ours."""
    command = hook.get("command") if isinstance(hook, dict) else None
    return isinstance(command, str) and command.rstrip().endswith(MARKER)


def groups_of_hooks(document: object) -> "Iterator[tuple[str, dict[str, Any]]]":
    """The events and groups of hooks in a settings file's content; entries of another form are skipped."""
    hooks = document.get("hooks") if isinstance(document, dict) else None
    for event, groups in [*hooks.items()] if isinstance(hooks, dict) else ():
        for group in [*groups] if isinstance(groups, list) else ():
            if isinstance(group, dict) and isinstance(group.get("hooks"), list):
                yield event, group


def our_hooks(document: object, event: str) -> "list[dict[str, Any]]":
    """Our hooks for *event* in a settings file's content."""
    groups = [group for name, group in groups_of_hooks(document) if name == event]
    return [hook for group in groups for hook in group["hooks"] if is_ours(hook)]


def has_live_hook(path: str, event: str) -> bool:
    """Whether the settings file at *path*, if any, registers our hook for *event*, with files that are there."""
    return any(is_live(hook["command"]) for hook in our_hooks(read_settings(path, MARKER), event))


def answers_elsewhere(event: str, scope: str, folder: str) -> bool:
    """Whether a settings file that comes before *scope* registers our hook for *event*, with files that are there."""
    before = SCOPES if scope == PLUGIN else SCOPES[: SCOPES.index(scope)] if scope in SCOPES else ()
    own = settings_file(scope, folder) if scope in SCOPES else ""  # home as project: two scopes, one file
    paths = [settings_file(other, folder) for other in before]
    return any(path != own and has_live_hook(path, event) for path in paths)


def _setting(name: str, path: str) -> "Any":
    document = read_settings(path, name)
    return document.get(name) if isinstance(document, dict) else None


def read_settings(path: str, word: str = "") -> object:
    """The content of the settings file at *path*; None if it can't be read, or (unparsed) if *word* isn't in it."""
    try:
        content = projects.read_plain(path)
        if word.encode() not in content:
            return None
        from playbook_db.claude_code.hooks import events  # late: mostly no file has the word

        return events.scanned(content.decode("utf-8-sig").strip(" \t\r\n"))
    except (OSError, ValueError):
        return None


def _quoted(text: str) -> str:
    """*text* as one word for the shell; `shlex.quote` without its imports."""
    return "'" + text.replace("'", "'\"'\"'") + "'"
