"""Whether the right point comes: searches in a playbook of a thousand points, for prompts and bug reports.

The corpus (`retrieval.json`) was written and split before there was a rule or a threshold. The figure any@k is the
share of prompts of which a right point is among the first k points. MRR@10 is the mean of 1/place. Of
prompts that no point fits, the tables give the share that is answered all the same.
"""

import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from benchmarks import sandbox
from benchmarks.figures import Figures
from benchmarks.quality.retrieval_corpus import (
    SPLITS,
    UNRELATED,
    WORDINGS,
    Point,
    Prompt,
    part_of,
    read_errors,
    read_nothing,
    read_points,
    read_points_about_errors,
    read_prompts,
    read_unrelated,
)
from playbook_db.domain import search_words
from playbook_db.domain.playbook import Header, KeyPoint, playbook_of
from playbook_db.domain.playbook_file import Reading
from playbook_db.services.playbook import import_export
from playbook_db.services.project import Project
from playbook_db.store.queries import hook_queries

SHOWN = 3  # points with a prompt
_SIZES = (20, 60, 500, 10_000)  # points of a playbook
_AT_ONCE = 10  # prompts whose points one small playbook has to hold
_DEPTH = 50
Search = Callable[[str, int], Sequence[str]]


class _InMemory(sqlite3.Connection):
    """A database in memory that ends with who searches it, without a warning that it was left open."""

    def __del__(self) -> None:
        self.close()


@dataclass(frozen=True, slots=True)
class Stored:
    """A playbook in a database of the product's."""

    book: hook_queries.Book

    def search(self, query: str, limit: int) -> Sequence[str]:
        """What the product's search finds."""
        found = hook_queries.search(self.book, query)
        return [point.name for point, _ in found[:limit]]

    def show(self, query: str, limit: int, *, strongly: bool = False) -> Sequence[str]:
        """What of that fits well enough to be shown unasked."""
        terms = search_words.terms(query)
        found = hook_queries.fitting(self.book, terms, strongly=strongly)
        return [point.name for point, _ in found[:limit]]


def stored(playbooks: Sequence[Sequence[Point]]) -> list[Stored]:
    """These *playbooks*, all in one database."""
    connection = sqlite3.connect(":memory:", factory=_InMemory, check_same_thread=False)
    keys = [f"/playbook-{number}" for number in range(len(playbooks))]
    with tempfile.TemporaryDirectory(prefix="playbook-bench-") as folder, sandbox.opened(Path(folder)) as (_, project):
        for key, points in zip(keys, playbooks, strict=True):
            live = [point for point in points if point.live]
            for kept in (points, live) if len(live) < len(points) else (live,):
                playbook = playbook_of([KeyPoint(each.name, each.text, each.section) for each in kept], header=Header())
                reading = Reading(playbook)
                import_export.import_playbook(Project(project.store, key), reading, source="the corpus", replace=True)
        with closing(sqlite3.connect(sandbox.database_path(Path(folder)))) as written:
            written.backup(connection)
    found = [hook_queries.find_project(connection.execute, key) for key in keys]
    return [Stored(hook_queries.Book(connection, each)) for each in found if each is not None]


@cache
def stored_corpus(wording: str) -> Stored:
    """The playbook of our own corpus."""
    return stored([read_points(wording)])[0]


def run(*, quick: bool) -> Iterator[Figures]:
    """The tables of the whole corpus, of sizes of the playbook, of errors and of unrelated prompts."""
    yield _corpus()
    yield _sizes(quick=quick)
    yield _errors()
    yield _unrelated()


def scores(search: Search, prompts: Sequence[Prompt]) -> tuple[float, float, float]:
    """any@1, any@3 and MRR@10 of *search* for *prompts*."""
    places = []
    for prompt in prompts:
        found = search(prompt.text, _DEPTH)
        places.append(next((place for place, name in enumerate(found, 1) if name in prompt.gold), _DEPTH + 1))
    first, third = (sum(place <= k for place in places) / len(prompts) for k in (1, 3))
    return first, third, sum(1 / place for place in places if place <= 10) / len(prompts)


def answered(search: Search, nothing: Sequence[Prompt]) -> float:
    """The share of the prompts *nothing*, which no point fits, that get a point."""
    return sum(bool(search(prompt.text, SHOWN)) for prompt in nothing) / len(nothing)


def _corpus() -> Figures:
    rows = []
    for wording in WORDINGS:
        book = stored_corpus(wording)
        for name, search in (("search", book.search), ("shown", book.show)):
            for split in SPLITS:
                cells = (f"{score:.3f}" for score in scores(search, read_prompts(split)))
                wrong = (f"{100 * answered(search, read(split)):.0f} %" for read in (read_nothing, read_unrelated))
                rows.append((f"{wording}, {name}, {split}", *cells, *wrong))
    return Figures(
        f"Retrieval: the right point among {len(read_points('bare')):,}",
        ("points, what, half", "any@1", "any@3", "MRR@10", "nothing fits, answered", "unrelated, answered"),
        rows,
        ("Bare points only say what to do; named points also name their place.",),
    )


def in_size(wording: str, split: str, size: int) -> tuple[float, float]:
    """In playbooks of so many points: any@3 of what is shown, and which share of prompts that fit nothing is answered.

    A playbook holds what some of the prompts want, and others by chance.
    """
    points, prompts, nothing = read_points(wording), read_prompts(split), read_nothing(split)
    step = _AT_ONCE if size < len(points) else len(prompts)
    parts = [prompts[at : at + step] for at in range(0, len(prompts), step)]
    playbooks = [part_of(points, {name for prompt in part for name in prompt.gold}, size) for part in parts]
    right, wrong = 0, 0.0
    for playbook, part in zip(stored(playbooks), parts, strict=True):
        right += sum(bool(prompt.gold.intersection(playbook.show(prompt.text, SHOWN))) for prompt in part)
        wrong += answered(playbook.show, nothing)
    return right / len(prompts), wrong / len(parts)


def at_errors(split: str, size: int) -> tuple[float, float, float]:
    """Of a playbook of so many points, the share of errors that get their point, and the share that get another one.

    The third figure is the share of errors that get a point although no point is about them."""
    about, others = read_errors(split)
    (playbook,) = stored([part_of([*read_points_about_errors(), *read_points("named")], _ABOUT_ERRORS, size)])
    first = [set(playbook.show(prompt.text, 1, strongly=True)) for prompt in about]
    right = sum(bool(names & prompt.gold) for names, prompt in zip(first, about, strict=True))
    wrong = sum(bool(names - prompt.gold) for names, prompt in zip(first, about, strict=True))
    answers = sum(bool(playbook.show(prompt.text, 1, strongly=True)) for prompt in others)
    return right / len(about), wrong / len(about), answers / len(others)


_ABOUT_ERRORS = frozenset(point.name for point in read_points_about_errors())


def _sizes(*, quick: bool) -> Figures:
    rows = []
    for size in _SIZES[: 1 if quick else None]:
        for wording in WORDINGS:
            (right, wrong), (right_held, wrong_held) = (in_size(wording, split, size) for split in SPLITS)
            nothing = f"{100 * wrong:.0f} % / {100 * wrong_held:.0f} %"
            rows.append((f"{size:,} points, {wording}", f"{right:.3f} / {right_held:.3f}", nothing))
    return Figures(
        "Retrieval by size of the playbook: what is shown at a prompt, train / held out",
        ("", "any@3", "nothing fits, answered"),
        rows,
    )


def _errors() -> Figures:
    rows = []
    for size in (60, 500, len(read_points("named"))):
        for split in SPLITS:
            cells = (f"{100 * share:.0f} %" for share in at_errors(split, size))
            rows.append((f"{size:,} points, {split}", *cells))
    return Figures(
        "Retrieval at an error: the one point that is shown",
        ("", "its point", "another", "no point is about it, answered"),
        rows,
    )


def _unrelated() -> Figures:
    """How many prompts of each set that no point is about are answered, by playbook."""
    sets = [read_unrelated(split) for split in UNRELATED]
    rows = []
    for wording in WORDINGS:
        points = [point for point in read_points(wording) if point.live]
        playbooks = [part_of(points, (), size) for size in (len(points), 500, 60)]
        for playbook, held in zip(playbooks, stored(playbooks), strict=True):
            cells = (f"{sum(bool(held.show(prompt.text, 1)) for prompt in prompts)}" for prompts in sets)
            rows.append((f"{len(playbook):,} points, {wording}", *cells))
    columns = (f"{split}, of {len(prompts)}" for split, prompts in zip(UNRELATED, sets, strict=True))
    return Figures("Retrieval: prompts that no point is about, answered", ("", *columns), rows)
