"""Replaces the worker's Python: writes down what it finds, works for a while, and writes that it is done.

Called as `fake_worker.py FOLDER SECONDS ARGUMENT ...`; standard library only.
"""

import json
import os
import sys
import time
from pathlib import Path

FIRST_OWN, MOST = 3, 256  # descriptors


def _is_nothing(descriptor: int) -> bool:
    return os.fstat(descriptor).st_rdev == os.stat(os.devnull).st_rdev


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


def _write(into: str, **found: object) -> None:
    path = Path(into) / f"{os.getpid()}.json"
    part = path.with_suffix(".part")
    part.write_text(json.dumps(found))
    part.rename(path)


def main() -> None:
    """Be a worker."""
    _, into, work_s, *arguments = sys.argv
    inherited = [descriptor for descriptor in range(FIRST_OWN, MOST) if _is_open(descriptor)]
    found = {
        "pid": os.getpid(),
        "session": os.getsid(0),
        "folder": os.getcwd(),
        "arguments": arguments,
        "environment": dict(os.environ),
        "inherited": inherited,
        "is_silent": all(_is_nothing(standard) for standard in range(FIRST_OWN)),
    }
    _write(into, **found, parent=os.getppid(), ended_at=None)
    time.sleep(float(work_s))
    _write(into, **found, parent=os.getppid(), ended_at=time.time())


if __name__ == "__main__":
    main()
