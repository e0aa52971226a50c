"""Whether the tests notice a broken promise: `python -m benchmarks.mutations`.

Each entry of tests/mutations.toml is broken by itself in a copy of this checkout, and its tests must fail then.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.promises import Promise, broken, read_list
from benchmarks.sandbox import ROOT

_OPTIONS = ("-rfE", "--tb=no", "-p", "no:cacheprovider", "--hypothesis-profile=unshrunk", "--tier=all")
_FAILED = re.compile(r"^(?:FAILED|ERROR) (.*)", re.MULTILINE)
_TESTS_PASSED, _A_TEST_FAILED = 0, 1  # pytest's exit codes; with another one no test has failed


def copy_checkout(target: Path) -> Path:
    """Copy this checkout to *target*, and see that the copy's package is what Python imports."""
    shutil.copytree(ROOT, target, ignore=shutil.ignore_patterns(".git", ".venv", ".*_cache", "__pycache__", "dist"))
    done = _python(target, "-P", "-c", "import playbook_db; print(playbook_db.__file__)")
    assert done.stdout.startswith(f"{target}{os.sep}"), f"not the copy in {target} is imported: {done}"
    return target


def try_out(promise: Promise, checkout: Path) -> tuple[str, str]:
    """Run the tests of *promise* with it broken in *checkout*; the verdict, and the first failure or the problem."""
    path = checkout / promise.file
    original = path.read_text(encoding="utf-8")
    try:
        _write(path, broken(promise))
        done = _python(checkout, "-m", "pytest", "-x", *_OPTIONS, *promise.tests)
    except LookupError as error:
        return "unusable", str(error)
    except subprocess.TimeoutExpired:
        return "caught", "its tests don't end"
    finally:
        _write(path, original)
    if done.returncode not in (_TESTS_PASSED, _A_TEST_FAILED):
        return "unusable", (done.stdout + done.stderr)[-300:]
    return ("caught" if done.returncode else "survived"), "".join(_FAILED.findall(done.stdout)[:1])


def _python(checkout: Path, *arguments: str, timeout_s: float = 300) -> "subprocess.CompletedProcess[str]":
    env, command = {**os.environ, "PYTHONPATH": str(checkout)}, [sys.executable, *arguments]
    return subprocess.run(command, cwd=checkout, env=env, capture_output=True, text=True, timeout=timeout_s)


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    os.utime(path, (hash(text) % 2**31,) * 2)  # else the bytecode of another text may be taken for this one's


def main() -> None:
    """Break each promise by itself; the exit code is 1 if one is broken unnoticed, or its tests fail anyway."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mutations", description=__doc__)
    parser.add_argument("--only", metavar="TEXT", default="", help="those with TEXT in their behavior or function")
    given = parser.parse_args()
    chosen = [each for each in read_list() if given.only.casefold() in f"{each.behavior} {each.function}".casefold()]
    with tempfile.TemporaryDirectory(prefix="playbook-mutations-") as folder:
        checkout = copy_checkout(Path(folder).resolve() / "checkout")
        tests = dict.fromkeys(test for promise in chosen for test in promise.tests)
        done = _python(checkout, "-m", "pytest", *_OPTIONS, *tests, timeout_s=1800)
        if done.returncode != _TESTS_PASSED:
            sys.exit(f"The tests fail with no promise broken:\n{(done.stdout + done.stderr)[-2000:]}")
        verdicts = []
        for promise in chosen:
            verdict, why = try_out(promise, checkout)
            print(f"{verdict}\t{promise.behavior}\t{why}", flush=True)
            verdicts.append(verdict)
    print(f"caught: {verdicts.count('caught')} of {len(verdicts)}")
    sys.exit(verdicts.count("caught") < len(verdicts))


if __name__ == "__main__":
    main()
