"""What makes a playbook good or bad, measured without a model: offline, seeded, each part a module of its own."""

from dataclasses import replace
from pathlib import Path

from benchmarks.figures import Figures
from benchmarks.quality import duplicates, ranking, retrieval, shortening, trials


def run(folder: Path, *, quick: bool, corpus: Path | None = None) -> Figures:
    """The tables of all parts. *corpus* is a folder of public data that the user fetched, for parts that read such."""
    tables = [*ranking.run(quick=quick), *duplicates.run(quick=quick, corpus=corpus), shortening.run(quick=quick)]
    tables += [*retrieval.run(quick=quick, corpus=corpus), trials.run()]
    first, *others = tables
    return replace(first, more=others)
