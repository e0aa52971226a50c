"""A hook in the place of ours: `placebo.py COMMAND`. It runs COMMAND, and replaces each point by an irrelevant text of
the same length. So a session gets as much text at the same moments, and learns nothing.
"""

import json
import re
import subprocess
import sys
from itertools import cycle, islice
from typing import Any

_POINT = re.compile(r"(?m)^(\[[a-z]+-\d+\] helpful=\d+ harmful=\d+ :: )(.*)$")
_TEXT = (
    "Water boils at a lower temperature on a high mountain than at the coast. A violin has four strings, and most "
    "guitars have six. The moon is full about every twenty-nine and a half days. Rye grows on poorer soil than wheat. "
)


def without_content(value: Any) -> Any:
    """*value*, an answer of a hook, with irrelevant texts of the same length in the place of its points' texts."""
    if isinstance(value, dict):
        return {key: without_content(each) for key, each in value.items()}
    return _POINT.sub(_replaced, value) if isinstance(value, str) else value


def _replaced(found: "re.Match[str]") -> str:
    return found[1] + "".join(islice(cycle(_TEXT), len(found[2])))


def main() -> None:
    """Run the hook, and print its answer without content."""
    done = subprocess.run(["/bin/sh", "-c", sys.argv[1]], stdin=sys.stdin, capture_output=True, text=True)
    if done.stdout.strip():
        print(json.dumps(without_content(json.loads(done.stdout))))
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()
