"""Bar charts: their values, axis and texts. The template `charts.html` draws them as SVG."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from math import ceil, floor, log10

_MIN_STEPS, _MAX_STEPS = 3, 6  # of the axis
_MIN_STEP = 0.0001  # of values that have decimals


@dataclass(frozen=True)
class Chart:
    """Rows of a label and its values, which are >= 0, one for each of the `series`.

    The bars of a label stand side by side, or on one another if `is_stacked`. `unit` formats the text of a value, which
    has at least so many `decimals`; 0 means whole numbers.
    """

    heading: str
    series: Sequence[str]
    rows: Sequence[tuple[str, *tuple[float, ...]]]
    is_stacked: bool = False
    unit: str = "{}"
    decimals: int = 0

    @cached_property
    def largest(self) -> float:
        """The value of the highest column; 0 if there is nothing to draw."""
        return max((end for _, bars in self.columns for _, _, end in bars), default=0)

    @property
    def values(self) -> int:
        """How many bars aren't 0."""
        return sum(value > 0 for _, bars in self.columns for _, value, _ in bars)

    @cached_property
    def guides(self) -> list[float]:
        """The values of the guide lines from 0 on, in steps of 1, 2 or 5 times a power of ten."""
        exact = self.largest / _MAX_STEPS
        power = 10.0 ** floor(log10(max(exact, _MIN_STEP if self.decimals else 1)))
        step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= exact)
        return [number * step for number in range(max(ceil(self.largest / step), _MIN_STEPS) + 1)]

    @property
    def columns(self) -> Iterator[tuple[str, list[tuple[str, float, float]]]]:
        """Each label with its bars: the series, the value, and the value at the upper end of the bar."""
        for label, *values in self.rows:
            ends = accumulate(values) if self.is_stacked else values
            yield label, list(zip(self.series, values, ends, strict=True))

    def text(self, value: float) -> str:
        """*value* with its unit, and with enough decimals to tell two guide lines apart."""
        decimals = max(self.decimals, -floor(log10(self.guides[1])))
        return self.unit.format(f"{value:,.{decimals}f}")
