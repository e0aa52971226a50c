"""Sets up what the plugin's worker needs: playbook_db.claude_code.runtime. `--status` tells how far that is."""

import os
import sys

sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from playbook_db.claude_code import runtime

sys.exit(runtime.main(sys.argv[1:]))
