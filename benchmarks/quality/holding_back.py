"""A simulation of points that are held back: how often an interval finds an effect that is there, and one that isn't.

In each of 100 sessions 20 of 60 points are due, and a coin for each decides which fifth is held back. In 30 % of the
trials the thing that the point names goes wrong; a point that is shown prevents a third of that. Three intervals are
compared: of all trials together, with the errors clustered by point, and the product's, within each session.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import exp, log, sqrt

from benchmarks.figures import Figures
from playbook_db.domain.trust.holdout import Trials, compare
from playbook_db.domain.trust.outcomes import quantile

RUNS = 1000
PREVENTED = 1 / 3
_Z = quantile(0.975, float("inf"))


@dataclass(frozen=True)
class World:
    """How trials go: `by_session` and `by_point` are standard deviations of the log odds of going wrong, and `share`
    has the shares that are held back in the first and the second half of the sessions, `base` what goes wrong there."""

    name: str
    sessions: int = 100
    shown: int = 20
    share: tuple[float, float] = (0.2, 0.2)
    base: tuple[float, float] = (0.3, 0.3)
    by_session: float = 0.0
    by_point: float = 0.0
    helps_half: bool = False  # of the points, twice as much
    points: int = 60


WORLDS = (
    World("independent trials"),
    World("sessions differ", by_session=1),
    World("points differ", by_point=1),
    World("both differ", by_session=1, by_point=1),
    World("both differ widely", by_session=2, by_point=2),
    World("both differ, half of the points help", by_session=1, by_point=1, helps_half=True),
    World("the share and the work change", share=(0.1, 0.4), base=(0.2, 0.4)),
    World("3 points a session, both differ", shown=3, by_session=1, by_point=1),
    World("30 sessions, both differ", sessions=30, by_session=1, by_point=1),
    World("3 % go wrong, both differ", base=(0.03, 0.03), by_session=1, by_point=1),
)
INTERVALS = ("together", "clustered by point", "within sessions")


def simulate(world: World, rng: random.Random, *, is_effective: bool) -> tuple[list[Trials], list[Trials]]:
    """The trials of one made-up playbook, by session and by point."""
    odds = [rng.gauss(0, world.by_point) for _ in range(world.points)]
    factors = [1.0] * world.points
    if is_effective:
        factors = [1 - PREVENTED * (2 * (n % 2) if world.helps_half else 1) for n in range(world.points)]
    counts = [[0, 0, 0, 0] for _ in range(world.points)]
    sessions = []
    for number in range(world.sessions):
        is_late = number >= world.sessions / 2
        base, share = world.base[is_late], world.share[is_late]
        of_session = log(base / (1 - base)) + rng.gauss(0, world.by_session)
        of_all = [0, 0, 0, 0]
        for point in rng.sample(range(world.points), world.shown):
            wrong = 1 / (1 + exp(-of_session - odds[point]))
            place = 0 if rng.random() < share else 2
            is_wrong = rng.random() < (wrong * factors[point] if place else wrong)
            for count in (of_all, counts[point]):
                count[place] += 1
                count[place + 1] += is_wrong
        sessions.append(Trials(*of_all))
    return sessions, [Trials(*each) for each in counts]


def together(by_point: Sequence[Trials]) -> tuple[float, float] | None:
    """The interval that takes all trials for independent."""
    every = sum(by_point, Trials())
    if not every.held_back or not every.shown:
        return None
    without, shown = every.held_back_wrong / every.held_back, every.shown_wrong / every.shown
    half = _Z * sqrt(without * (1 - without) / every.held_back + shown * (1 - shown) / every.shown)
    return shown - without - half, shown - without + half


def clustered(by_point: Sequence[Trials]) -> tuple[float, float] | None:
    """The interval that takes the trials of one point for dependent."""
    every = sum(by_point, Trials())
    if not every.held_back or not every.shown:
        return None
    without, shown = every.held_back_wrong / every.held_back, every.shown_wrong / every.shown
    parts = (
        (each.shown_wrong - shown * each.shown) / every.shown
        - (each.held_back_wrong - without * each.held_back) / every.held_back
        for each in by_point
    )
    error = sqrt(sum(part**2 for part in parts) * len(by_point) / (len(by_point) - 1))
    half = quantile(0.975, len(by_point) - 1) * error
    return shown - without - half, shown - without + half


def within_sessions(by_session: Sequence[Trials]) -> tuple[float, float] | None:
    """The product's interval; None if it has too few data."""
    compared = compare(by_session)
    return None if compared.low is None or compared.high is None else (compared.low, compared.high)


def found(world: World, *, is_effective: bool, runs: int) -> list[float]:
    """In what share of the *runs* each of INTERVALS leaves out 0."""
    rng = random.Random(f"{world.name} {is_effective}")
    hits = [0] * len(INTERVALS)
    for _ in range(runs):
        by_session, by_point = simulate(world, rng, is_effective=is_effective)
        intervals = (together(by_point), clustered(by_point), within_sessions(by_session))
        for place, interval in enumerate(intervals):
            hits[place] += interval is not None and not interval[0] <= 0 <= interval[1]
    return [each / runs for each in hits]


def run() -> Iterator[Figures]:
    """False alarms, effects found, and how many sessions that takes."""
    for title, is_effective in (("no point helps", False), ("points prevent a third", True)):
        rows = [
            (world.name, *(f"{each:.3f}" for each in found(world, is_effective=is_effective, runs=RUNS)))
            for world in WORLDS
        ]
        yield Figures(f"Held-back points, {title}: intervals that leave out 0", ("worlds", *INTERVALS), rows)
    rows = []
    for sessions in (20, 40, 60, 100):
        worlds = [replace(each, sessions=sessions) for each in (WORLDS[0], WORLDS[3])]
        shares = [found(each, is_effective=True, runs=RUNS)[-1] for each in worlds]
        rows.append((str(sessions), *(f"{each:.3f}" for each in shares)))
    yield Figures("Held-back points, an effect of a third is found", ("sessions", "independent", "both differ"), rows)


if __name__ == "__main__":
    for table in run():
        print(table.title, *map("  ".join, (table.columns, *table.rows)), "", sep="\n", flush=True)
