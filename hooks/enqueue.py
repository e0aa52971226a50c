"""Claude Code starts this: playbook_db.claude_code.hooks.enqueue. It is short, as each start compiles it."""

import sys

_above = __file__.rsplit("/", 2)[0]
# At the end, so that nothing beside the package can stand in for a module of Python's own.
sys.path.append(_above[: -len("/playbook_db")] if _above.endswith("/playbook_db") else _above)
try:
    from playbook_db.claude_code.hooks.enqueue import main
except Exception:  # a Python older than 3.9, or half an installation; `playbook doctor` tells which
    sys.exit()
main()
