"""One piece of work in a process of its own, for its time and its peak of memory."""

import importlib
import json
import resource
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.sandbox import ROOT, environment


@dataclass(frozen=True, slots=True)
class Measured:
    """What a piece of work took: seconds, the process's peak of memory, and how much of it stood before the work."""

    seconds: float
    peak_bytes: int
    start_bytes: int


def measured(work: str, home: Path, **given: Any) -> Measured:
    """Run *work*, a function named `module:function`, in a process that lives in *home*.

    The function prepares, calls its first argument `begin`, works, and returns the seconds that the work took.
    """
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.isolated", work, json.dumps(given)],
        env=environment(home),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{work} failed:\n{done.stderr}"
    return Measured(**json.loads(done.stdout.splitlines()[-1]))


def peak_bytes() -> int:
    """The most memory that this process ever held."""
    try:  # ru_maxrss remembers the parent's size from before exec; this counter does not
        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
        return int(status.split("VmHWM:")[1].split()[0]) * 1024
    except (OSError, IndexError, ValueError):
        held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return held if sys.platform == "darwin" else held * 1024


def _main(work: str, given: Mapping[str, Any]) -> None:
    module, _, name = work.partition(":")
    before: list[int] = []
    seconds = getattr(importlib.import_module(module), name)(begin=lambda: before.append(peak_bytes()), **given)
    print(json.dumps({"seconds": seconds, "peak_bytes": peak_bytes(), "start_bytes": before[0]}))


if __name__ == "__main__":
    _main(sys.argv[1], json.loads(sys.argv[2]))
