"""Where Claude Code is told of our hooks: which events, with which command, in which settings file.

A hook reads this too, to notice that it is registered twice: the standard library alone, nothing heavy at the top.
"""

import os
import sys

from playbook_db import settings

EVENTS = {  # the event, the hook that answers it, the seconds after which Claude Code may end it
    "SessionStart": ("inject", 5),
    "PreCompact": ("enqueue", 5),
    "SubagentStop": ("enqueue", 5),
    "SessionEnd": ("enqueue", 10),  # raises the 1.5 s that Claude Code gives all hooks together at the end
}
SCOPES = ("user", "project", "local")  # of two that register the same hook, the one named first here answers
PLUGIN = "plugin"  # answers where no settings file registers the hook
MARKER = "# playbook-db"  # ends each command of ours, so that it can be told from others' hooks


def own_scope() -> str:
    """Where the hook that runs is registered: its first argument, `plugin` without one."""
    return sys.argv[1] if len(sys.argv) > 1 else PLUGIN


def settings_file(scope: str, folder: str) -> str:
    """The settings file of *scope* for the project in *folder*."""
    if scope == "user":
        return os.path.join(settings.claude_dir(), "settings.json")
    return os.path.join(folder, ".claude", "settings.json" if scope == "project" else "settings.local.json")


def command(hook: str, *, scope: str, python: str, hooks_folder: str, worker_python: str) -> str:
    """The shell command that runs *hook*, `inject` or `enqueue`, under *python*; the worker will use *worker_python*.

    It ends well where an interpreter or a file has gone: Python's exit code for a missing file is 2, with which a
    hook blocks a compaction.
    """
    file = os.path.join(hooks_folder, f"{hook}.py")
    run = f"{_quoted(python)} -I -S {_quoted(file)} {scope} {_quoted(worker_python)}"
    return f"[ -x {_quoted(python)} ] && [ -r {_quoted(file)} ] && exec {run}; exit 0 {MARKER}"


def answers_elsewhere(event: str, scope: str, folder: str) -> bool:
    """Whether a settings file that comes before *scope* registers our hook for *event*, with files that are there."""
    before = SCOPES if scope == PLUGIN else SCOPES[: SCOPES.index(scope)] if scope in SCOPES else ()
    seen = {settings_file(scope, folder)} if scope in SCOPES else set()  # home as project: two scopes, one file
    for other in before:
        path = settings_file(other, folder)
        if path not in seen and _has_live_hook(path, event):
            return True
    return False


def our_commands(document: object, event: str) -> "list[str]":
    """Our commands for *event* in a settings file's content; other people's hooks, of any shape, are passed over."""
    hooks = document.get("hooks") if isinstance(document, dict) else None
    groups = hooks.get(event) if isinstance(hooks, dict) else None
    found = []
    for group in groups if isinstance(groups, list) else ():
        entries = group.get("hooks") if isinstance(group, dict) else None
        for entry in entries if isinstance(entries, list) else ():
            told = entry.get("command") if isinstance(entry, dict) else None
            if isinstance(told, str) and told.rstrip().endswith(MARKER):
                found.append(told)
    return found


def is_live(told: str) -> bool:
    """Whether the interpreter and the file that a command of ours names are there."""
    import shlex

    try:
        words = shlex.split(told, comments=True)
        python, file = words[2], words[7]
    except (ValueError, IndexError):
        return False
    return os.access(python, os.X_OK) and os.access(file, os.R_OK)


def _has_live_hook(path: str, event: str) -> bool:
    try:
        with open(path, "rb") as file:
            content = file.read()
    except OSError:
        return False
    if MARKER.encode() not in content:  # nearly always: no parsing then
        return False
    import json

    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        return False
    return any(is_live(told) for told in our_commands(document, event))


def _quoted(text: str) -> str:
    """*text* as one word for the shell; `shlex.quote` without its imports."""
    return "'" + text.replace("'", "'\"'\"'") + "'"


# Claude Code's settings files, read where they stand: which of a session's events we are to learn from.


SWITCHES = ("playbook_update_on_exit", "playbook_update_on_clear", "playbook_update_on_subagent_stop")


def files(folder: str) -> "list[str]":
    """The settings files of a project in *folder*, the last of which wins: the user's, the project's, the local."""
    return [settings_file(scope, folder) for scope in SCOPES]


def is_on(switch: str, folder: str) -> bool:
    """Whether *switch*, one of SWITCHES, is on for the project in *folder*; it is, where no file says otherwise."""
    on = True
    for path in files(folder):
        try:
            with open(path, "rb") as file:
                content = file.read()
        except OSError:
            continue
        if switch.encode() not in content:  # nearly always: no parsing then
            continue
        import json

        try:
            document = json.loads(content)
        except (ValueError, RecursionError):
            continue
        if isinstance(document, dict) and isinstance(document.get(switch), bool):
            on = document[switch]
    return on
