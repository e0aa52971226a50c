"""Starting the worker from a hook, with the Python that has what it needs."""

import os
import sys

from playbook_db import settings
from playbook_db.claude_code import detaching, registration

TYPE_CHECKING = False
if TYPE_CHECKING:
    from playbook_db.claude_code.frame import Frame

WORKER = "playbook_db.claude_code.worker"
_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def start(hook: "Frame") -> None:
    """Start the worker, which leaves again where one is at work; as a plugin, what it needs is set up before."""
    try:
        if registration.own_scope() != registration.PLUGIN:
            detaching.start([sys.argv[2], "-P", "-m", WORKER])
        elif os.access(settings.runtime_python(), os.X_OK):
            start_in_runtime()
        elif not os.environ.get("PLAYBOOK_NO_SETUP"):
            detaching.start([sys.executable, "-I", os.path.join(_ROOT, "hooks", "setup.py")])
    except (OSError, IndexError) as error:
        hook.note(f"the worker can't be started ({error}); what waits is kept. Run: playbook doctor")


def start_in_runtime() -> None:
    """Start the worker in the environment that the plugin has set up; our own code is run from the plugin's folder."""
    detaching.start([settings.runtime_python(), "-P", "-m", WORKER], more={"PYTHONPATH": _ROOT})
