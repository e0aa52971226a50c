"""Sets up what the plugin's worker needs: playbook_db.claude_code.plugin_env.

`--status` tells how far that is, `--now` tries again after a failure.
"""

import os
import sys

sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from playbook_db.claude_code import plugin_env

sys.exit(plugin_env.main(sys.argv[1:]))
