"""Starting the worker from a hook, as a process that outlives the session. Its Python has the dependencies.

For the hooks and for the plugin's set-up. Standard library only.
"""

import os
import sys

from playbook_db import project_env, settings
from playbook_db.claude_code import registration

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from playbook_db.claude_code.hooks.hook_runner import Hook

WORKER = "playbook_db.claude_code.worker"

_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
_OF_THE_SESSION = (  # the worker keeps what a user sets for Claude Code, such as CLAUDE_CODE_USE_BEDROCK
    "AI_AGENT", "CLAUDECODE", "CLAUDE_CODE_CHILD_", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_MESSAGING_",
    "CLAUDE_CODE_SESSION_", "CLAUDE_EFFORT", "CLAUDE_ENV_FILE", "CLAUDE_PID", "CLAUDE_PLUGIN_", "CLAUDE_PROJECT_DIR",
)  # fmt: skip


def start(hook: "Hook", folder: str) -> None:
    """Start the worker, which ends at once if another one runs. For the plugin, first set up the worker's environment.

    The worker doesn't inherit the variables that the project in *folder* sets.
    """
    environ = project_env.worker_environment(folder)
    try:
        if registration.own_scope() != registration.PLUGIN:
            start_detached([sys.argv[2], "-P", "-m", WORKER], environ)
        else:  # an update of the plugin may need other packages
            start_detached([sys.executable, "-I", os.path.join(_ROOT, "hooks", "setup.py")], environ)
    except (OSError, IndexError) as error:
        hook.note(f"the worker can't be started ({error}); the jobs are kept. Run: playbook doctor")


def start_in_runtime() -> None:
    """Start the worker in the plugin's environment. Our own code runs from the plugin's folder."""
    start_detached([settings.runtime_python(), "-P", "-m", WORKER], {**os.environ, "PYTHONPATH": _ROOT})


def start_detached(command: "Sequence[str]", environ: "Mapping[str, str]") -> None:
    """Run *command* (a program and its arguments) detached from this process, and discard its output.

    It is outside the client's process tree, so the client can't kill it. Its environment is *environ* without the
    session's own variables.
    """
    from playbook_db import platforms  # late: most hooks start nothing

    environment = {name: value for name, value in environ.items() if not name.startswith(_OF_THE_SESSION)}
    platforms.run_detached(command, {**environment, "PYTHONUTF8": "1"})
