"""The hook of PreToolUse. When a session first reads or changes a file, the hook shows the point that best matches the
file's path. Claude Code passes the point on with the call's result, and always reads a file before changing it. The
hook also adds matching points to a subagent's task.

Started by `hooks/tool.py`. The script `hooks/touched` skips later calls on the same file. Standard library only.
"""

from playbook_db.claude_code.hooks import events, hook_runner, remind, showing, touched

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

_DEFAULT_AGENT = "general-purpose"
DEADLINE_S = remind.DEADLINE_S


def main() -> "NoReturn":
    """Answer the event on standard input. The first argument is the hook's scope in the settings."""
    showing.run("tool", _work, deadline_s=DEADLINE_S)


def _work(hook: hook_runner.Hook, pending: "list[dict[str, Any]]") -> None:
    read = events.read(hook, (remind.FILE,), "no key point was looked for")
    if read is None:
        return
    event, folder = read
    inputs = event.payload.get("tool_input")
    inputs = inputs if isinstance(inputs, dict) else {}
    if remind.moment_of(event) == remind.TASK:
        question = remind.beginning_and_end(inputs.get("prompt"))
        event.agent_type = events.storable(inputs.get("subagent_type")) or _DEFAULT_AGENT
        if question:
            remind.answer(hook, event, folder, question, pending)
        return
    path = events.storable(inputs.get("file_path") or inputs.get("notebook_path"))
    if path and touched.is_first(event.session_id, path):
        name = touched.in_project(path, folder)
        if name:
            remind.answer(hook, event, folder, name, pending)
