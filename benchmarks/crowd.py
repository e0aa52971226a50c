"""Many processes that begin at the same moment."""

import multiprocessing
import queue
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.synchronize import Barrier
from typing import Any

from benchmarks.sandbox import living_in
from playbook_db import settings

LIMIT_S = 900.0  # seconds; a crowd that isn't through by then hangs

# The work of one process: prepares, calls the function it is given (all begin together), goes on; what it returns
# must go through a pipe.
Work = Callable[..., Any]


def together(works: Sequence[tuple[Work, Mapping[str, Any]]], environment: Mapping[str, str]) -> list[Any]:
    """Run each of *works* (a function of a module, and its named arguments) in a process of its own, all at once.

    The function's first argument is called `begin`: a function that returns once everyone has called it. What the
    functions return comes back in their order. Raises AssertionError with the traceback of one that failed.
    """
    context = multiprocessing.get_context("spawn")  # nothing open here may be inherited
    barrier = context.Barrier(len(works))
    answers: Any = context.Queue()
    processes = [
        context.Process(target=_run, args=(place, work, dict(given), dict(environment), barrier, answers), daemon=True)
        for place, (work, given) in enumerate(works)
    ]
    for process in processes:
        process.start()
    try:
        found = _collect(answers, processes)
    finally:
        for process in processes:
            process.kill()
            process.join()
    failed = [answer for succeeded, answer in found.values() if not succeeded]
    if failed:
        failed.sort(key=lambda trace: "BrokenBarrierError" in trace)  # those only waited for one that failed
        raise AssertionError(f"{len(failed)} of {len(works)} processes failed; the first:\n{failed[0]}")
    return [found[place][1] for place in range(len(works))]


def _collect(answers: Any, processes: Sequence[Any]) -> dict[int, tuple[bool, Any]]:
    found: dict[int, tuple[bool, Any]] = {}
    deadline = time.monotonic() + LIMIT_S
    while len(found) < len(processes):
        try:
            place, succeeded, answer = answers.get(timeout=1.0)
            found[place] = (succeeded, answer)
        except queue.Empty:
            silent = [p.exitcode for place, p in enumerate(processes) if place not in found and p.exitcode]
            if silent:
                raise AssertionError(f"a process ended without a word, exit code {silent[0]}") from None
            if time.monotonic() > deadline:
                raise AssertionError(f"processes hang: {len(found)} of {len(processes)} were through") from None
    return found


def _run(
    place: int,
    work: Work,
    given: dict[str, Any],
    environment: dict[str, str],
    barrier: Barrier,
    answers: Any,
) -> None:
    settings.LOCK_WAIT_S = LIMIT_S  # of a busy machine's processes one may hold the lock for long, and none be lost
    try:
        with living_in(environment):
            answers.put((place, True, work(begin=lambda: barrier.wait(LIMIT_S), **given)))
    except BaseException:  # the outer door of this process: whatever it is, the parent shows it
        barrier.abort()
        answers.put((place, False, traceback.format_exc()))
