"""`python -m benchmarks`: take all figures, or those named, and print them."""

import argparse
import functools
import platform
import sqlite3
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks import cli, hooks, quality, redaction, team
from benchmarks.end_to_end import by_hand, trial, without_model
from benchmarks.end_to_end.sde_bench import CorpusError
from benchmarks.figures import Figures, show

BENCHMARKS = {
    "hooks": hooks.run,
    "cli": cli.run,
    "quality": quality.run,
    "redaction": redaction.run,
    "sde-bench": without_model.run,
    "team": team.run,
}


def main() -> None:
    """Run the benchmarks that the command line names, all of them where it names none."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=f"which ones: {', '.join(BENCHMARKS)} (default: all)")
    parser.add_argument("--quick", action="store_true", help="small counts, to see that they run; no figures to quote")
    parser.add_argument("--corpus", type=Path, metavar="DIR", help="for sde-bench: the folder of its data")
    parser.add_argument("--model", help="for sde-bench: ask this model; it shows the cost, and asks you first")
    parser.add_argument("--by-hand", type=Path, metavar="FOLDER", help="for sde-bench: people answer files in FOLDER")
    parser.add_argument("--yes", action="store_true", help="with --model: don't ask")
    given = parser.parse_args()
    unknown = set(given.names) - set(BENCHMARKS)
    if unknown:
        parser.error(f"there is no benchmark {', '.join(sorted(unknown))}; there are: {', '.join(BENCHMARKS)}")
    print(f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}, {platform.platform()}")
    runs: dict[str, Callable[..., Figures]] = dict(BENCHMARKS)
    runs["sde-bench"] = functools.partial(without_model.run, corpus=given.corpus)
    is_alone = given.names == ["sde-bench"] and given.corpus and not (given.model and given.by_hand)
    if (given.model or given.by_hand) and not is_alone:
        parser.error("--model and --by-hand are for sde-bench alone, and need --corpus DIR; use one of them")
    if given.by_hand:
        runs["sde-bench"] = functools.partial(by_hand.run, corpus=given.corpus, folder=given.by_hand)
    if given.model:
        runs["sde-bench"] = functools.partial(trial.run, corpus=given.corpus, model=given.model, is_agreed=given.yes)
    for name, run in runs.items():
        if given.names and name not in given.names:
            continue
        started = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="playbook-bench-") as folder:
            try:
                figures = run(Path(folder), quick=given.quick)
            except CorpusError as error:
                raise SystemExit(str(error)) from None
        print(f"\n{show(figures)}\n  ({name}: {time.monotonic() - started:.0f} s)", flush=True)


if __name__ == "__main__":
    main()
