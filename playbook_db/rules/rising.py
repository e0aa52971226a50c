"""What of a sequence is in order, and so what is out of line. Pure."""

import bisect
from collections.abc import Sequence
from typing import Any


def rising(keys: Sequence[Any]) -> list[int]:
    """The places in *keys* of the longest run that goes up throughout, not of neighbours only."""
    ends: list[Any] = []
    places: list[int] = []
    before: list[int] = []
    for place, key in enumerate(keys):
        length = bisect.bisect_left(ends, key)
        before.append(places[length - 1] if length else -1)
        ends[length : length + 1] = [key]
        places[length : length + 1] = [place]
    found = []
    place = places[-1] if places else -1
    while place >= 0:
        found.append(place)
        place = before[place]
    return found[::-1]
