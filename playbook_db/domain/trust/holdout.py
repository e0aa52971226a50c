"""Comparing trials in which a point was shown with trials in which it was held back.

A trial is one point in one session. It goes wrong if the point's error occurs, or its command or file causes trouble.
"""

from collections.abc import Iterable, Iterator
from dataclasses import astuple, dataclass
from math import ceil, inf, sqrt

from playbook_db.domain.trust.outcomes import CONFIDENCE, FEWEST_SESSIONS, quantile

FEWEST_WRONG = 20  # with fewer trials that went wrong, no conclusion is drawn
_SURE, _POWER = quantile((1 + CONFIDENCE) / 2, inf), quantile(0.8, inf)


@dataclass(frozen=True, slots=True)
class Trials:
    """The numbers of trials with a point `held_back` and with a point `shown`, and how many of each went wrong."""

    held_back: int = 0
    held_back_wrong: int = 0
    shown: int = 0
    shown_wrong: int = 0

    @property
    def has_both(self) -> bool:
        """Whether there are trials of both kinds."""
        return self.held_back > 0 and self.shown > 0

    def __add__(self, other: "Trials") -> "Trials":
        return Trials(*map(sum, zip(astuple(self), astuple(other), strict=True)))


@dataclass(frozen=True, slots=True)
class TrialComparison:
    """The difference between the rates at which trials go wrong: with points shown, minus with points held back.

    `low` and `high` are its interval, or None if there are too few trials. `detectable` is the smallest difference that
    such trials reveal in 4 of 5 cases. `needed`: so many trials would reveal that points halve the rate.
    """

    trials: Trials
    needed: int
    difference: float
    low: float | None = None
    high: float | None = None
    detectable: float | None = None

    def in_words(self) -> Iterator[str]:
        """Yield sentences about the counts, the interval, and (if the interval contains 0) the trials still needed."""
        held_back, held_back_wrong, shown, shown_wrong = astuple(self.trials)
        yield f"{held_back_wrong:,} of {held_back:,} went wrong without the point, {shown_wrong:,} of {shown:,} with it"
        if self.low is not None and self.high is not None and self.detectable is not None:
            interval = f"{self.difference:+.1%} ({CONFIDENCE:.0%} interval {self.low:+.1%} to {self.high:+.1%})"
            yield f"the difference is {interval}; such data show {self.detectable:.1%} or more in 4 of 5 cases"
        if self.low is None or self.high is None or self.low <= 0 <= self.high:
            yield f"no difference can be told yet; if the rate is halved, about {self.needed:,} in all would show it"


def compare(by_session: Iterable[Trials]) -> TrialComparison:
    """Compare shown and held-back points within each session, and combine the differences of all sessions.

    A session's weight depends on its trials of both kinds (Mantel and Haenszel). So it doesn't matter if some sessions
    go wrong more often, or held back another share of points. The interval is Student's.
    """
    both = [each for each in by_session if each.has_both]
    trials = sum(both, Trials())
    weights = [each.held_back * each.shown / (each.held_back + each.shown) for each in both]
    rates = [each.shown_wrong / each.shown - each.held_back_wrong / each.held_back for each in both]
    total = sum(weights) or 1.0
    mean = sum(weight * rate for weight, rate in zip(weights, rates, strict=True)) / total
    if len(both) < FEWEST_SESSIONS or trials.held_back_wrong + trials.shown_wrong < FEWEST_WRONG:
        return TrialComparison(trials, _needed(trials), mean)
    squares = sum((weight * (rate - mean)) ** 2 for weight, rate in zip(weights, rates, strict=True))
    error = sqrt(squares * len(both) / (len(both) - 1)) / total
    return _compared(trials, mean, error, quantile((1 + CONFIDENCE) / 2, len(both) - 1))


def compare_point(trials: Trials) -> TrialComparison:
    """Compare the trials of one point, of which there must be both kinds. The interval is Agresti and Caffo's."""
    kinds = ((trials.shown_wrong + 1, trials.shown + 2), (trials.held_back_wrong + 1, trials.held_back + 2))
    shown, without = (wrong / number for wrong, number in kinds)
    error = sqrt(sum(wrong / number * (1 - wrong / number) / number for wrong, number in kinds))
    return _compared(trials, shown - without, error, _SURE)


def _compared(trials: Trials, mean: float, error: float, t: float) -> TrialComparison:
    low, high = max(-1.0, mean - t * error), min(1.0, mean + t * error)
    return TrialComparison(trials, _needed(trials), mean, low, high, (t + _POWER) * error)


def _needed(trials: Trials) -> int:
    number = trials.held_back + trials.shown
    rate = (trials.held_back_wrong + trials.shown_wrong + 1) / (number + 2)
    share = trials.held_back / number if number else 0.5
    return ceil((2 * (_SURE + _POWER)) ** 2 * (1 - rate) / rate / share / (1 - share))
