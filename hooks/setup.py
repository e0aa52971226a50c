"""Sets up what the plugin's worker needs: playbook_db.claude_code.plugin_env.

`--status` tells how far that is, `--now` tries again after a failure. `--status mcp` runs an MCP server that tells it.
"""

import os
import sys

sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from playbook_db import platforms
from playbook_db.claude_code import plugin_env

if sys.argv[1:] == ["--status", "mcp"]:
    from playbook_db.mcp_server import protocol

    protocol.explain(platforms.unsupported() or f"{plugin_env.describe()}. Sessions that start later have them.")
else:
    sys.exit(plugin_env.main(sys.argv[1:]))
