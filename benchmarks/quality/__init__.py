"""What makes a playbook good or bad, measured without a model: offline, seeded, each part a module of its own."""

from dataclasses import replace
from pathlib import Path

from benchmarks.figures import Figures
from benchmarks.quality import ranking, shortening


def run(folder: Path, *, quick: bool, corpus: Path | None = None) -> Figures:
    """The tables of all parts. *corpus* is a folder of public data that the user fetched, for parts that read such."""
    first, *others = [*ranking.run(quick=quick), shortening.run(quick=quick)]
    return replace(first, more=others)
