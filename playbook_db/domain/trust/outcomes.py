"""Measuring how sessions went: counting calls and corrections, and comparing two groups of sessions.

A difference between groups is an observation, not a proof: see `compare`.
"""

import re
from collections.abc import Mapping
from dataclasses import astuple, dataclass
from functools import cache
from math import isfinite, sqrt

FEWEST_SESSIONS = 20  # of each group; with fewer, no conclusion is drawn
CONFIDENCE = 0.95  # the probability that all intervals of one comparison contain the true values
EVENTS = {  # the events at which a session is shown points
    "SessionStart": "at the start", "UserPromptSubmit": "by prompt", "PostToolUseFailure": "at an error",
    "SubagentStart": "to a subagent",
}  # fmt: skip
MEASURES = {
    "failed_calls": "failed tool calls", "corrections": "corrections", "turns": "turns", "tokens": "tokens",
}  # fmt: skip

# Beginnings of a user's turn that corrects the assistant. Beginnings that other turns often have are left out.
_ALONE = (  # on their own, or before a comma, a full stop, a dash: "no, the other file", never "no problem"
    "no", "nope", "stop", "wrong", "incorrect", "nein", "stopp", "halt", "falsch", "non", "arrête", "faux", "mal",
    "incorrecto", "sbagliato", "não", "errado", "nee", "fout", "nie", "źle", "нет", "стоп", "неправильно", "неверно",
)  # fmt: skip
_PHRASES = (  # before the end of a word
    r"(?:that|this)(?:'s| is) (?:wrong|incorrect|not (?:right|correct|what|how|it))", "that isn't (?:right|what|how)",
    "not what i", "not like that", "i said", "i (?:already )?told you", "i asked you", "i meant", "why did you",
    r"you should(?:n't| not) have", "don't do that", "(?:undo|revert) (?:that|this|it)", "you (?:forgot|missed|broke)",
    "das ist falsch", "das stimmt nicht", "das ist nicht", "so nicht", "ich (?:habe gesagt|sagte|meinte)",
    "warum hast du", "c'est (?:faux|pas)", "ce n'est pas", "pas comme ça", "j'ai dit", "je t'ai dit", "eso no",
    "no es eso", "está mal", "así no", "te dije", "non è", "non così", "ho detto", "está errado", "não é isso",
    "eu disse", "dat klopt niet", "dat is fout", "ik zei", "to nie tak", "to źle", "не так", "это не",
    "я (?:сказал|говорил)",
)  # fmt: skip
_CHARACTERS = (  # in scripts without spaces between words
    "不对", "错了", "不是这样", "停下", "我说的是", "違う", "違います", "ちがう", "そうじゃない", "いや、", "틀렸",
    "그게 아니",
)  # fmt: skip
_MOST_CHARS = 200  # of a turn; its beginning is within them


@dataclass(frozen=True, slots=True)
class SessionCounts:
    """The counts of a session or of a part of it. `corrections` and `turns` are the user's. `tokens` include cached
    tokens."""

    tool_calls: int = 0
    failed_calls: int = 0
    corrections: int = 0
    turns: int = 0
    tokens: int = 0

    def __add__(self, other: "SessionCounts") -> "SessionCounts":
        return SessionCounts(*(mine + its for mine, its in zip(astuple(self), astuple(other), strict=True)))


NOTHING = SessionCounts()


def is_correction(text: str) -> bool:
    """Return whether *text*, a user's turn, begins like a correction of the assistant."""
    return _beginnings().match(text[:_MOST_CHARS].strip().casefold().replace("’", "'")) is not None


@cache
def _beginnings() -> re.Pattern[str]:
    alone, phrases, characters = (r"|".join(each) for each in (_ALONE, _PHRASES, _CHARACTERS))
    return re.compile(rf"(?:(?:{alone})(?:\s*(?:[,.;:!…]|$)|\s+[-–—])|(?:{phrases})(?!\w)|{characters})")


@dataclass(frozen=True, slots=True)
class Sample:
    """One measure over several `sessions`: the sum of its values, and the sum of their squares."""

    sessions: int
    total: float
    squares: float

    @property
    def mean(self) -> float:
        """The mean of the values, or 0 without sessions."""
        return self.total / self.sessions if self.sessions else 0.0

    @property
    def squared_error(self) -> float:
        """The square of the standard error of the mean. It needs at least two sessions."""
        return max(0.0, self.squares - self.total * self.mean) / (self.sessions - 1) / self.sessions


@dataclass(frozen=True, slots=True)
class Difference:
    """One measure's means in sessions that were `shown` the playbook and in sessions `without` it.

    `by` is the difference of the means. `low` and `high` are its interval, or None if there are too few sessions.
    """

    without: float
    shown: float
    by: float
    low: float | None
    high: float | None

    @property
    def is_significant(self) -> bool:
        """Whether the interval of the difference doesn't contain 0."""
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)


def compare(without: Mapping[str, Sample], shown: Mapping[str, Sample]) -> dict[str, Difference]:
    """Compare each measure between the sessions that were *shown* the playbook and those *without* it.

    The intervals are Welch's for two means. All of them hold at once with CONFIDENCE (Bonferroni). The measures are
    skewed, so the intervals are rough if there are few sessions.
    """
    share = (1 - CONFIDENCE) / max(1, len(shown))
    return {name: _difference(without[name], shown[name], share) for name in shown}


def _difference(without: Sample, shown: Sample, share: float) -> Difference:
    by = shown.mean - without.mean
    if min(without.sessions, shown.sessions) < FEWEST_SESSIONS:
        return Difference(without.mean, shown.mean, by, None, None)
    errors = [(each.squared_error, each.sessions - 1) for each in (without, shown)]
    total = sum(error for error, _ in errors)
    freedom = total**2 / sum(error**2 / count for error, count in errors) if total else float("inf")
    half = quantile(1 - share / 2, freedom) * sqrt(total)
    return Difference(without.mean, shown.mean, by, by - half, by + half)


def quantile(share: float, freedom: float) -> float:
    """Return the quantile of Student's t with *freedom* degrees of freedom, by Abramowitz and Stegun 26.7.5. It is
    correct to 0.001 for 19 degrees or more."""
    from statistics import NormalDist  # late: every command loads this module

    z = NormalDist().inv_cdf(share)
    if not isfinite(freedom):
        return z
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return z + sum(term / freedom**power for power, term in enumerate(terms, 1))
