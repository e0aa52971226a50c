"""A worker in a process of its own, forked from one that has imported what takes it longer than its work."""

import os
from collections.abc import Mapping

from benchmarks.torture.learning import NURSERY


def work_with(environ: Mapping[str, str], patience_s: float) -> int | None:
    """The exit code of a worker that has *environ* and nothing else, or None where it is at work still."""
    process = NURSERY.Process(target=_work_with, args=(dict(environ),))
    process.start()
    process.join(patience_s)
    return process.exitcode


def _work_with(environ: Mapping[str, str]) -> None:
    os.environ.clear()
    os.environ.update(environ)
    os.chdir("/")
    from playbook_db.claude_code import worker  # late: with its environment, should it not be there yet

    worker.main()
