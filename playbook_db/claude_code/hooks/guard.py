"""The hook of a guard: before a tool call that matches its pattern, it asks the user or refuses the call.

Shell lines of slash commands and skills are calls, too. Nobody is asked about them, so a guard refuses them.

The message is a key point. The hook logs each time it asks or refuses, and each time the user allows the call.
`claude_code.setup.guards` registers `hooks/guard.py`, which starts it. Standard library only. If the hook isn't sure,
it prints nothing, because Claude Code also starts it for every command that it can't parse.
"""

import json
import os
import sys

from playbook_db import projects, settings
from playbook_db.claude_code import registration
from playbook_db.claude_code.hooks import hook_runner, remind, showing
from playbook_db.store import sqlite_open
from playbook_db.store.queries import hook_queries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

SKILL_LINE = "PreSkillShellCommand"  # the event of a shell line, since client 2.1.332
DEADLINE_S = 2.0  # it rarely runs; if it ends early, the tool call goes ahead
_MOST_CHARS = 4000  # of a point
_WAIT_S = 0.5  # for a database that somebody holds
_BEGINNINGS = ("if", "then", "elif", "else", "do", "while", "until", "!", "time", "{")


def main() -> "NoReturn":
    """Answer the event on standard input. The second argument is `ask` or `deny`, a pattern and a point's name."""
    hook_runner.run("guard", _work, silence=showing.SILENCE, deadline_s=DEADLINE_S, spool=showing.keep_in_spool)


def log_path() -> str:
    """Return the path of the log, which has one line for each use of a guard."""
    return os.path.join(settings.logs_dir(), "guards.log")


def log_line(name: str, what: str, key: str) -> str:
    """Return the log line for a guard: its point's *name*, *what* it did, and the project *key*."""
    return " ".join(f"guard {name} {what} in {key}".split())


def _work(hook: hook_runner.Hook) -> None:
    read = hook_runner.read(hook, (remind.FILE, SKILL_LINE, "PostToolUse", remind.FAILURE), "the guard was skipped")
    if read is None:
        return
    event, folder = read
    name, pattern, mode = parts(sys.argv[2])
    inputs = event.payload.get("tool_input")
    command = inputs.get("command") if isinstance(inputs, dict) else None
    is_on = registration.is_on(registration.ON_GUARD, folder)
    if not is_on or not fits(pattern, event.payload.get("tool_name"), command):
        return
    what = "went on"
    if event.hook_event_name in (remind.FILE, SKILL_LINE):
        mode = mode if event.hook_event_name == remind.FILE else "deny"
        what = "asked" if mode == "ask" else "refused"
        text = text_of(name, folder)
        if not text:
            return
        import shlex  # late: a guard is rarely asked

        reason = f"{text} (your guard; to remove it: playbook unguard {shlex.quote(name)})"
        decision = {"permissionDecision": mode, "permissionDecisionReason": reason}
        answer = {"hookSpecificOutput": {"hookEventName": event.hook_event_name, **decision}}
        hook.say(f"{json.dumps(answer)}\n".encode("ascii"))
    hook_runner.append_line(log_path(), log_line(name, what, projects.project_key(projects.project_of(folder))))


def fits(pattern: str, tool: object, command: object) -> bool:
    """Return whether *pattern* matches a call of *tool* or, for the shell, *command*.

    Claude Code compares the patterns of other tools itself. A command is split into its parts. Each part is compared
    without quoted texts, leading keywords and variables.
    """
    import re  # late, as above

    guarded_tool, _, inner = pattern[:-1].partition("(")
    if tool != guarded_tool or tool != "Bash":
        return tool == guarded_tool
    quoted = re.compile(r"'[^']*'|\"(?:\\.|[^\"\\])*\"")
    calls = quoted.sub("_", inner.replace(":*", " *"))
    expression = ".*".join(map(re.escape, calls.split("*")))
    expression = expression[:-4] + "(?: .*)?" if calls.endswith(" *") else expression
    for part in re.split(r"&&|\|\||[;|&\n(){}`]", quoted.sub("_", command if isinstance(command, str) else "")):
        words = part.split()
        while words and (words[0] in _BEGINNINGS or re.fullmatch(r"\w+=\S*", words[0])):
            del words[0]
        if re.fullmatch(expression, " ".join(words)):
            return True
    return False


def parts(argument: str) -> "tuple[str, str, str]":
    """Split the *argument* of a guard's command into the point's name, the pattern and the mode. A pattern has no
    bracket inside. A name may have spaces."""
    mode, _, rest = argument.partition(" ")
    pattern, bracket, name = rest.partition(")")
    return name[1:], pattern + bracket, mode


def text_of(name: str, folder: str, *, closes: bool = False) -> "str | None":
    """Return the text of the point *name* as sessions in *folder* see it, or `""` if the point isn't live. Return None
    if the project's playbook isn't on this machine or is ignored. Raises UnusableError or the driver's Error.

    With *closes*, close the databases. A hook doesn't, because SQLite would move the whole log into the file.
    """
    path = showing.database_file(folder)
    if path is None:
        return None
    connection = sqlite_open.connect(path, wait_s=_WAIT_S)
    sources = []
    try:
        sources = remind.sources(connection, path, folder)
        for source in sources:
            text = hook_queries.named(source.book, name)
            if text is not None:
                from playbook_db.domain import prompt_text  # late, as above

                return prompt_text.shown(f"[{name}] {prompt_text.one_line(text)[:_MOST_CHARS]}")
        return "" if any(source.home.project.key != projects.USER_KEY for source in sources) else None
    finally:
        for opened in (connection, *[source.book.connection for source in sources]) if closes else ():
            opened.close()
