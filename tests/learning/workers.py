"""A worker in a process of its own, forked from one that has imported everything."""

import os
from collections.abc import Mapping

from benchmarks.torture.learning import NURSERY


def work_with(environ: Mapping[str, str], patience_s: float) -> int | None:
    """The exit code of a worker that has only *environ*, or None if it is still at work."""
    process = NURSERY.Process(target=_work_with, args=(dict(environ),))
    process.start()
    process.join(patience_s)
    return process.exitcode


def _work_with(environ: Mapping[str, str]) -> None:
    os.environ.clear()
    os.environ.update(environ)
    os.chdir("/")
    from playbook_db.claude_code import worker  # late: it may read its environment

    worker.main()
