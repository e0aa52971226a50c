"""How good the rules about points are, measured without a model: offline, seeded, each part a module of its own."""

from dataclasses import replace
from pathlib import Path

from benchmarks.figures import Figures
from benchmarks.quality import duplicates, retrieval, trials


def run(folder: Path, *, quick: bool) -> Figures:
    """The tables of all parts."""
    first, *others = [*duplicates.run(quick=quick), *retrieval.run(quick=quick), trials.run()]
    return replace(first, more=others)
