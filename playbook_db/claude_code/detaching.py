"""Starting a process that outlives the session, whatever Claude Code does to the hook's process tree."""

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_OF_THE_SESSION = (  # what a user sets for Claude Code, such as CLAUDE_CODE_USE_BEDROCK, is the worker's too
    "AI_AGENT", "CLAUDECODE", "CLAUDE_CODE_CHILD_", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_MESSAGING_",
    "CLAUDE_CODE_SESSION_", "CLAUDE_EFFORT", "CLAUDE_ENV_FILE", "CLAUDE_PID", "CLAUDE_PLUGIN_", "CLAUDE_PROJECT_DIR",
)  # fmt: skip
_MOST_DESCRIPTORS = 1024  # where they can't be listed


def start(command: "Sequence[str]", *, more: "Mapping[str, str] | None" = None) -> None:
    """Run *command*, a program and its arguments, apart from this process; nothing is heard of it.

    Its parent ends at once, so that it belongs to no tree of the client's; it leads a session of its own, in `/`, with
    all three standard streams on nothing and no other descriptor. It has this environment without the session's own
    variables, and with *more*.
    """
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    try:
        os.setsid()
        if os.fork() == 0:
            _close_descriptors()
            os.chdir("/")
            os.execve(command[0], list(command), {**_environment(), **(more or {})})  # noqa: S606 - a list, ours
    finally:
        os._exit(0)


def _environment() -> "dict[str, str]":
    return {name: value for name, value in os.environ.items() if not name.startswith(_OF_THE_SESSION)}


def _close_descriptors() -> None:
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nothing, standard)
    try:
        inherited = [int(name) for name in os.listdir("/dev/fd")]
    except OSError:
        inherited = list(range(_MOST_DESCRIPTORS))
    for descriptor in inherited:
        if descriptor > 2:
            try:
                os.close(descriptor)
            except OSError:
                pass
