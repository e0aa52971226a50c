"""Whether the right point comes: searches over a playbook of a thousand points, for prompts and bug reports.

The corpus was written and split before there was a rule or a threshold (`retrieval.json`). Measured are, over prompts
that have points: any@k, whether one of these is among the first k; MRR@10, the mean of 1/place; any@1,500 characters,
whether one fits into these; and over prompts that fit nothing, which share was answered all the same.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from benchmarks.figures import Figures
from benchmarks.quality.public_retrieval import Part, read_locomo, read_sde_bench
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
from benchmarks.quality.retrieval_methods import (
    PLAIN,
    PORTER,
    Method,
    Search,
    any_word,
    at_random,
    by_rank,
    few_words,
    newest_first,
    product,
    shown,
    stored,
)

SHOWN = 3  # points at a prompt
SHOWN_CHARACTERS = 1_500
METHODS: Mapping[str, Method] = {
    "newest first": newest_first,
    "by rank": by_rank,
    "random": at_random,
    "any word, unicode61": any_word(PLAIN),
    "any word, porter": any_word(PORTER),
    "12 words that count, porter": few_words,
    "the product's search": product,
    "what the product shows": shown,
}
_OURS, _SHOWS, _PLAIN_OR = "the product's search", "what the product shows", "any word, porter"
_SIZES = (20, 60, 500, 10_000)  # points of a playbook
_AT_ONCE = 10  # prompts whose points one small playbook has to hold
_DEPTH = 50
_SCORES = ("any@1", "any@3", "any@5", "MRR@10", "any@1,500 ch.")


@dataclass(frozen=True, slots=True)
class Scores:
    """Means over the prompts, each from 0 to 1."""

    any_1: float
    any_3: float
    any_5: float
    mrr: float
    in_characters: float


def run(*, quick: bool, corpus: Path | None = None) -> Iterator[Figures]:
    """A table for each wording of the points, one of kinds of prompts, and those of public data where it is there."""
    yield from (_methods(wording) for wording in WORDINGS)
    yield _kinds()
    yield _sizes(quick=quick)
    yield _errors()
    yield _unrelated(corpus)
    if corpus is not None:
        yield from _sde_bench(corpus)
        yield from _locomo(corpus, quick=quick)


@cache
def searches(wording: str) -> dict[str, Search]:
    """All methods over our own corpus; only the product's search is given retired points, which it has to leave out."""
    points = read_points(wording)
    return _searches(METHODS, points)


def scores(search: Search, prompts: Sequence[Prompt], points: Sequence[Point]) -> Scores:
    """How well *search* finds what the *prompts* should bring."""
    sizes = {point.name: len(point.text) + 1 for point in points}
    places, fitting = [], 0
    for prompt in prompts:
        found = search(prompt.text, _DEPTH)
        places.append(next((place for place, name in enumerate(found, 1) if name in prompt.gold), _DEPTH + 1))
        room = SHOWN_CHARACTERS - sum(sizes[name] for name in found[: places[-1]])
        fitting += places[-1] <= _DEPTH and room >= 0
    count = len(prompts)
    first = [sum(place <= k for place in places) / count for k in (1, 3, 5)]
    return Scores(*first, sum(1 / place for place in places if place <= 10) / count, fitting / count)


def answered(search: Search, nothing: Sequence[Prompt]) -> float:
    """Which share of the prompts that fit nothing is answered with something."""
    return sum(bool(search(prompt.text, SHOWN)) for prompt in nothing) / len(nothing)


def old_rules(search: Search, prompts: Sequence[Prompt]) -> tuple[int, int, int]:
    """To how many prompts about amended rules the old one is shown, to how many before the new; how many there are."""
    amended = [prompt for prompt in prompts if prompt.old]
    shown = before = 0
    for prompt in amended:
        found = list(search(prompt.text, SHOWN))
        if prompt.old in found:
            shown += 1
            before += not prompt.gold.intersection(found[: found.index(prompt.old)])
    return shown, before, len(amended)


def _searches(methods: Mapping[str, Method], points: Sequence[Point]) -> dict[str, Search]:
    live = [point for point in points if point.live]
    return {name: method(points if method in (product, shown) else live) for name, method in methods.items()}


def _methods(wording: str) -> Figures:
    points, rows = read_points(wording), []
    for name, search in searches(wording).items():
        for split in SPLITS:
            prompts = read_prompts(split)
            shown, before, amended = old_rules(search, prompts)
            nothing, unrelated = (
                f"{100 * answered(search, read(split)):.0f} %" for read in (read_nothing, read_unrelated)
            )
            old = f"{shown} of {amended}", f"{before}"
            rows.append((f"{name}, {split}", *_cells(scores(search, prompts, points)), nothing, unrelated, *old))
    says = {"bare": "say what to do", "named": "name their place"}[wording]
    return Figures(
        f"Retrieval: the right point among {len(points):,}, where the points {says}",
        ("", *_SCORES, "nothing fits, answered", "unrelated, answered", "old rule shown", "before the new"),
        rows,
    )


def _kinds() -> Figures:
    """By what the prompt says, both halves of the split together but where the table tells them apart."""
    both = [prompt for split in SPLITS for prompt in read_prompts(split)]
    kinds: dict[str, list[Prompt]] = {
        f"{what}, {split}": [prompt for prompt in both if (prompt.names, prompt.split) == (names, split)]
        for what, names in (("names a file, command or error", True), ("names none", False))
        for split in SPLITS
    }
    kinds |= {f"in {tongue}": [p for p in both if p.language == code] for tongue, code in _LANGUAGES.items()}
    rows = []
    for wording in WORDINGS:
        points, found = read_points(wording), searches(wording)
        for kind, prompts in kinds.items():
            of = [scores(found[name], prompts, points) for name in (_OURS, _SHOWS, _PLAIN_OR)]
            cells = [f"{each:.2f}" for score in of for each in (score.any_3, score.mrr)]
            rows.append((f"{wording}; prompt {kind}", f"{len(prompts)}", *cells))
    return Figures(
        "Retrieval by kind of prompt: the product's search, what of that is shown, and any word (porter)",
        ("", "prompts", "any@3", "MRR@10", "shown any@3", "shown MRR@10", "plain any@3", "plain MRR@10"),
        rows,
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
    """Among so many points: to which share of errors the point about that error is shown, to which another point; and
    to which share of those that no point is about one is shown all the same."""
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


def _unrelated(corpus: Path | None) -> Figures:
    """How many of each set of prompts that no point is about are answered, by playbook."""
    sets = [read_unrelated(split) for split in UNRELATED]
    rows = []
    for wording in WORDINGS:
        points = [point for point in read_points(wording) if point.live]
        part = corpus and read_sde_bench(corpus, wording)
        playbooks = [[*part.points, *points]] if part else []
        playbooks += [part_of(points, (), size) for size in (len(points), 500, 60)]
        for playbook, held in zip(playbooks, stored(playbooks), strict=True):
            cells = (f"{sum(bool(held.show(prompt.text, 1)) for prompt in prompts)}" for prompts in sets)
            rows.append((f"{len(playbook):,} points, {wording}", *cells))
    columns = (f"{split}, of {len(prompts)}" for split, prompts in zip(UNRELATED, sets, strict=True))
    return Figures("Retrieval: prompts that no point is about, answered", ("", *columns), rows)


_LANGUAGES = {"German": "de", "Japanese": "ja"}


def _sde_bench(corpus: Path) -> Iterator[Figures]:
    """Alone, and among our own points."""
    rows = []
    for wording in WORDINGS:
        part = read_sde_bench(corpus, wording)
        if part is None:
            return
        for others in ([], [point for point in read_points(wording) if point.live]):
            points = [*part.points, *others]
            for name, search in _searches(METHODS, points).items():
                cells = _cells(scores(search, part.prompts, points))
                rows.append((f"{wording}, {len(points):,} points; {name}", *cells))
    yield Figures("Retrieval: the decision for a bug report, sde-bench", ("", *_SCORES), rows)


def _locomo(corpus: Path, *, quick: bool) -> Iterator[Figures]:
    parts = list(read_locomo(corpus))[: 1 if quick else None]
    if not parts:
        return
    rows = []
    for name, method in METHODS.items():
        each = [(len(part.prompts), _part_scores(method, part)) for part in parts]
        count = sum(size for size, _ in each)
        means = [sum(size * getattr(of, field) for size, of in each) / count for field in Scores.__slots__]
        rows.append((name, *_cells(Scores(*means))))
    yield Figures(f"Retrieval: turns of conversations, {count:,} questions of LoCoMo", ("", *_SCORES), rows)


def _part_scores(method: Method, part: Part) -> Scores:
    return scores(method(part.points), part.prompts, part.points)


def _cells(of: Scores) -> tuple[str, ...]:
    return tuple(f"{value:.3f}" for value in (of.any_1, of.any_3, of.any_5, of.mrr, of.in_characters))
