"""Claude Code starts this: playbook_db.claude_code.hooks.tool. It is short, as each start compiles it."""

import os
import sys

_above = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# At the end, so that nothing beside the package can stand in for a module of Python's own.
sys.path.append(os.path.dirname(_above) if os.path.basename(_above) == "playbook_db" else _above)
try:
    from playbook_db.claude_code.hooks.tool import main
except Exception:  # a Python older than 3.8, or half an installation; `playbook doctor` tells which
    os.write(1, b"{}\n")
    os._exit(0)
main()
