"""How sessions went: what counts as a correction, and whether two groups of sessions differ."""

import math
import random
from collections.abc import Sequence
from statistics import fmean, variance

import pytest

from playbook_db.domain.trust import outcomes
from playbook_db.domain.trust.outcomes import Difference, Sample, SessionCounts, compare, is_correction


@pytest.mark.parametrize(
    "text",
    [
        "no, the other file", "No. Use uv.", "NO!", "no", "Nope, not there", "stop", "Stop. That's production.",
        "no - use pnpm", "no — use pnpm", "wrong: it was the other", "That's wrong, it needs a lock",
        "that’s not what I asked for", "This is not right", "I said uv, not pip", "I told you to run the tests",
        "why did you delete the test?", "undo that please", "revert this", "you forgot the migration", "  no,\nuse x",
        "Nein, die andere Datei", "das ist falsch", "So nicht!", "non, pas celui-là", "C'est faux", "no, usa uv",
        "así no", "não, use o outro", "нет, другой файл", "это не то", "不对，用另一个", "違います", "틀렸어",
    ],
)  # fmt: skip
def test_a_turn_that_puts_the_assistant_right_is_a_correction(text: str) -> None:
    """By how it begins, in several languages."""
    assert is_correction(text)


@pytest.mark.parametrize(
    "text",
    [
        "", "no problem, go on", "No-op functions should be removed", "nobody uses this", "now add a test", "note: x",
        "stop the server and start it again", "Wrong answers must raise an error", "mend the bug", "yes, do that",
        "thank you", "not yet", "I saidan", "undo the migration 0005", "revert commit abc", "Actually, also add x",
        "nonsense words", "falsches Passwort melden", "non-ASCII names fail", "please say no, then",
        "neem de tests mee", "noch ein Test", "stopping is fine", "你好", "mal sehen, was geht", "halting problem",
    ],
)  # fmt: skip
def test_a_turn_that_only_looks_like_one_is_none(text: str) -> None:
    """Rather one too few: what begins with the same letters, or with the same word and goes on another way."""
    assert not is_correction(text)


def _sample(values: Sequence[float]) -> Sample:
    return Sample(len(values), sum(values), sum(value * value for value in values))


def _one(without: Sequence[float], shown: Sequence[float]) -> Difference:
    return compare({"it": _sample(without)}, {"it": _sample(shown)})["it"]


def _share_within(t: float, freedom: float) -> float:
    """Which share of Student's distribution lies within *t*, by Simpson's rule."""
    scale = math.gamma((freedom + 1) / 2) / math.sqrt(freedom * math.pi) / math.gamma(freedom / 2)
    at = [scale * (1 + (t * step / 1000) ** 2 / freedom) ** (-(freedom + 1) / 2) for step in range(1001)]
    return 2 * t / 3000 * (at[0] + at[-1] + 4 * sum(at[1::2]) + 2 * sum(at[2:-1:2]))


def test_the_interval_is_welchs() -> None:
    """95 % of the distribution with Welch's degrees of freedom, about the difference of the means."""
    chance = random.Random(5)
    without = [chance.gauss(10, 5) for _ in range(24)]
    shown = [chance.gauss(8, 2) for _ in range(40)]

    difference = _one(without, shown)

    errors = [variance(without) / 24, variance(shown) / 40]
    freedom = sum(errors) ** 2 / (errors[0] ** 2 / 23 + errors[1] ** 2 / 39)
    half = (difference.high or 0) - difference.by
    assert (difference.without, difference.shown) == pytest.approx((fmean(without), fmean(shown)))
    assert difference.by == pytest.approx(fmean(shown) - fmean(without))
    assert difference.by - (difference.low or 0) == pytest.approx(half)
    assert _share_within(half / sum(errors) ** 0.5, freedom) == pytest.approx(0.95, abs=1e-4)


@pytest.mark.parametrize(
    ("share", "freedom", "quantile"),
    [(0.975, 19, 2.0930), (0.975, 30, 2.0423), (0.99375, 19, 2.7589), (0.99375, 60, 2.5762), (0.975, 1e9, 1.95996)],
)
def test_the_quantiles_are_those_of_the_tables(share: float, freedom: float, quantile: float) -> None:
    """Of Student's t, to three digits after the point."""
    assert outcomes.quantile(share, freedom) == pytest.approx(quantile, abs=0.001)


def test_with_too_few_sessions_on_one_side_nothing_is_said() -> None:
    """However plain the difference looks."""
    assert not _one([9.0] * 19, [1.0] * 1000).is_significant
    assert _one([9.0] * 19, [1.0] * 1000).low is None
    assert _one([9.0] * 20, [1.0] * 1000).is_significant
    assert _one([], []) == Difference(0, 0, 0, None, None)


def test_where_all_are_alike_there_is_no_difference() -> None:
    """Nothing is divided by zero."""
    difference = _one([0.0] * 30, [0.0] * 30)

    assert (difference.low, difference.high, difference.is_significant) == (0, 0, False)


def test_where_nothing_differs_an_interval_rarely_says_so() -> None:
    """Skewed numbers, as failed calls are: of 300 comparisons of four, about 5 % say that any of the four differs."""
    chance = random.Random(7)

    def sessions(count: int) -> Sample:
        return _sample([int(chance.expovariate(0.4)) for _ in range(count)])

    names = ("failed", "corrections", "turns", "tokens")
    wrong = sum(
        any(
            each.is_significant
            for each in compare({n: sessions(40) for n in names}, {n: sessions(200) for n in names}).values()
        )
        for _ in range(300)
    )

    assert wrong / 300 < 0.1


def test_what_two_chunks_count_is_added_up() -> None:
    """Field by field."""
    assert SessionCounts(1, 2, 3, 4, 5) + SessionCounts(10, 20, 30, 40, 50) == SessionCounts(11, 22, 33, 44, 55)
