"""Whether the tests notice when the code does something else: `python -m benchmarks.mutations`.

Each entry of tests/mutations.toml is tried in a copy of this checkout. One that was caught `before`, when the list was
made (`by` is the first test that failed then), and survives now is a proof that got lost.
"""

import argparse
import os
import queue
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from benchmarks.sandbox import ROOT

CAUGHT, SURVIVED, UNUSABLE = "caught", "survived", "does not apply"
_OPTIONS = ("-x", "-q", "--tb=no", "-p", "no:cacheprovider", "--hypothesis-profile=unshrunk", "--tier=all")
_FAILED = re.compile(r"^(?:FAILED|ERROR) ([^\s\[]+)", re.MULTILINE)


class Mutation(NamedTuple):
    """One change of one file: *old*, which stands there once, becomes *new*."""

    behaviour: str
    file: str
    old: str
    new: str
    tests: list[str]
    before: str
    by: str = ""


def read_list() -> list[Mutation]:
    """The mutations of tests/mutations.toml."""
    text = (ROOT / "tests" / "mutations.toml").read_text(encoding="utf-8")
    return [Mutation(**entry) for entry in tomllib.loads(text)["mutation"]]


def problem_of(mutation: Mutation) -> str | None:
    """Why *mutation* can't be applied to this checkout, None where it can."""
    path = ROOT / mutation.file
    count = path.read_text(encoding="utf-8").count(mutation.old) if path.is_file() else 0
    return None if count == 1 else f"{mutation.old!r} stands {count} times in {mutation.file}"


def copy_checkout(target: Path) -> Path:
    """Copy this checkout to *target*, and see that the copy's package is what Python imports."""
    shutil.copytree(ROOT, target, ignore=shutil.ignore_patterns(".git", ".venv", ".*_cache", "__pycache__", "dist"))
    result = _python(target, "-P", "-c", "import playbook_db; print(playbook_db.__file__)")
    assert result.stdout.startswith(f"{target}{os.sep}"), f"not the copy in {target} is imported: {result}"
    return target


def try_out(mutation: Mutation, copy: Path) -> tuple[str, str]:
    """Run the tests of *mutation* with it in the checkout *copy*, up to the first that fails; the verdict, and why."""
    if problem := problem_of(mutation):
        return UNUSABLE, problem
    path = copy / mutation.file
    original = path.read_text(encoding="utf-8")
    try:
        _write(path, original.replace(mutation.old, mutation.new))
        done = _python(copy, "-m", "pytest", *_OPTIONS, *mutation.tests)
    except subprocess.TimeoutExpired:
        return CAUGHT, "its tests don't end"
    finally:
        _write(path, original)
    if done.returncode > 1:
        return UNUSABLE, f"its tests can't be run: {(done.stdout + done.stderr)[-300:]}"
    return (CAUGHT if done.returncode else SURVIVED), "".join(_FAILED.findall(done.stdout)[:1])


def _python(copy: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    env = {**os.environ, "PYTHONPATH": str(copy)}
    return subprocess.run([sys.executable, *arguments], cwd=copy, env=env, capture_output=True, text=True, timeout=600)


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    os.utime(path, (hash(text) % 2**31,) * 2)  # else the bytecode of another text may be taken for this one's


def main() -> None:
    """Try the mutations out; the exit code is 1 where a proof got lost or a mutation doesn't apply."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mutations", description=__doc__)
    parser.add_argument("--only", metavar="TEXT", default="", help="those with TEXT in their behaviour or file")
    parser.add_argument("--jobs", metavar="N", type=int, default=1, help="how many at once (default: 1)")
    parser.add_argument("--check", action="store_true", help="see that each applies exactly once, and run no test")
    given = parser.parse_args()
    chosen = [m for m in read_list() if given.only.casefold() in f"{m.behaviour} {m.file}".casefold()]
    if given.check:
        sys.exit("\n".join(f"{m.behaviour}: {problem}" for m in chosen if (problem := problem_of(m))) or 0)
    copies = queue.SimpleQueue[Path]()

    def verdict_on(mutation: Mutation) -> str:
        copy = copies.get()
        verdict, why = try_out(mutation, copy)
        copies.put(copy)
        print(f"{verdict} (before: {mutation.before})\t{mutation.behaviour}\t{why}", flush=True)
        return verdict

    with tempfile.TemporaryDirectory(prefix="playbook-mutations-") as folder, ThreadPoolExecutor(given.jobs) as pool:
        for number in range(given.jobs):
            copies.put(copy_checkout(Path(folder).resolve() / str(number)))
        verdicts = list(pool.map(verdict_on, chosen))
    for verdict in (CAUGHT, SURVIVED, UNUSABLE):
        print(f"{verdict}: {verdicts.count(verdict)} (before: {sum(m.before == verdict for m in chosen)})")
    lost = sum(m.before == CAUGHT and verdict != CAUGHT for m, verdict in zip(chosen, verdicts, strict=True))
    print(f"caught before and no longer: {lost}")
    sys.exit(lost > 0 or UNUSABLE in verdicts)


if __name__ == "__main__":
    main()
