"""A fault at every call: `python -m tests.faults.positions [CASE ...] [--every K]`.

The n-th call that opens, writes, syncs, renames, links, removes or cuts a file fails, for n = 1, 2, ...
"""

import argparse
import errno
import json
import os
import shutil
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tests.faults import cases, shim
from tests.faults.cases import CASES, Case, Place
from tests.faults.forks import in_fork, start, warm_up

ERRORS = (errno.EIO, errno.ENOSPC, errno.EDQUOT, errno.EACCES)


def run_case(case: Case, place: Place, template: Place, *, errors: int = 1, every: int = 1) -> tuple[int, list[Any]]:
    """Try faults at the *every*-th calls, with so many *errors* in turn. Returns how many fired, and what broke."""
    shutil.rmtree(place.root, ignore_errors=True)
    place.root.mkdir(parents=True)
    in_fork(place, lambda: case.prepare(place))
    os.rename(place.root, template.root)
    before, after = (_state_after(case, template, place, acts=acts) for acts in (False, True))
    fired, broken = 0, []
    number = 1
    while True:
        is_fired = False
        for turn in range(errors):
            error = ERRORS[(number // every + turn) % len(ERRORS)]
            _copy(template, place)
            call, ended = _act(case, place, number, error)
            if not call:
                continue
            is_fired, fired = True, fired + 1
            how = _judge(case, place, ended, before, after)
            broken += [[number, errno.errorcode[error], call, each] for each in how]
        if not is_fired:
            return fired, broken
        number += every


def _judge(case: Case, place: Place, ended: dict[str, Any], before: Any, after: Any) -> list[str]:
    how = []
    if ended["code"] not in (0, 1, 2) or "Traceback" in ended["err"]:
        how.append(f"it ended with {ended['code']}: {ended['err'][-1500:]}")
    if ended["code"] and not ended["err"].strip():
        how.append("it failed and said nothing")
    found = in_fork(place, lambda: [cases.check(place), cases.state(place, case)])
    if found[0]:
        how.append(f"db check: {found[0][-500:]}")
    if found[1] not in (before, after):
        how.append(f"neither before nor after: {_difference(found[1], before)} / {_difference(found[1], after)}")
    elif ended["code"] == 0 and found[1] != after and not ended["err"]:
        how.append("it said that all went well, and nothing was done")
    again = in_fork(place, lambda: asdict(case.act(place)))
    is_done = found[1] == after
    if again["code"] not in (0, case.again if is_done else 0):
        how.append(f"the same again ended with {again['code']}: {again['err'][-500:]}")
    redone = in_fork(place, lambda: cases.state(place, case))
    if not is_done and redone not in ((before, after) if case.waits else (after,)):
        how.append("the same again did something else")
    if left := in_fork(place, lambda: cases.check(place)):
        how.append(f"db check after the same again: {left[-500:]}")
    return how


def _difference(one: Any, other: Any) -> str:
    return ", ".join(
        f"{name}: {str(one.get(name))[:300]}" for name in {*one, *other} if one.get(name) != other.get(name)
    )


def _state_after(case: Case, template: Place, place: Place, *, acts: bool) -> Any:
    _copy(template, place)
    if acts:
        ended = in_fork(place, lambda: asdict(case.act(place)))
        assert ended["code"] == 0, ended
    return in_fork(place, lambda: cases.state(place, case))


def _act(case: Case, place: Place, number: int, error: int) -> tuple[str, dict[str, Any]]:
    """The call that failed, if any, and how the act ended."""

    def act() -> list[Any]:
        library = shim.loaded()
        library.faults_arm(number, error)
        ended = case.act(place)
        library.faults_disarm()
        return [library.faults_fired().decode(), asdict(ended)]

    call, ended = in_fork(place, act)
    return call, ended


def _copy(template: Place, place: Place) -> None:
    shutil.rmtree(place.root, ignore_errors=True)
    shutil.copytree(template.root, place.root, symlinks=True)


def _main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", metavar="CASE")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--errors", type=int, default=len(ERRORS), help="how many errors are tried at each call")
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    if "LD_PRELOAD" not in os.environ:
        with tempfile.TemporaryDirectory() as folder:
            sys.exit(start(["tests.faults.positions", "--folder", folder, *sys.argv[1:]], Path(folder) / "place"))
    names = given.cases or list(CASES)
    warm_up(given.folder / "warm", names)
    place, failed = Place(given.folder / "place"), False
    for name in names:
        template = Place(given.folder / name.replace(" ", "-"))
        fired, broken = run_case(CASES[name], place, template, errors=given.errors, every=given.every)
        answer = {"case": name, "fired": fired, "broken": broken}
        sys.stdout.write(f"{json.dumps(answer)}\n")
        sys.stdout.flush()
        failed |= bool(broken)
    sys.exit(failed)


if __name__ == "__main__":
    _main()
