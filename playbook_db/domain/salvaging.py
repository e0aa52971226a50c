"""What the readable parts of a damaged playbook say together: which points there are, and when what was done.

A point's own row and its history tell the same, as a rule. Where they don't, the later one is right; a row is dated by
its rank. What the history then lacks is said by one closing revision. Pure.
"""

import bisect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from playbook_db.domain import prompt_text
from playbook_db.domain.diff import rising

LOST = "lost in the damage"
_MICROSECOND = timedelta(microseconds=1)
_MOST_POSITION = 2**53
_TIME_LENGTH = len("2026-11-21T01:05:52.123456+00:00")


@dataclass(frozen=True, slots=True)
class SalvagedPoint:
    """A point as one source has it. `section` is a slug; `retired_in` is None of a live one; `revision` is the one
    that changed it last, None where that isn't known. A `text` that couldn't be read is None."""

    section: str
    position: int
    text: str | None
    helpful: int
    harmful: int
    is_live: bool
    revision: int | None = None
    created_in: int = 0
    retired_in: int | None = None
    reason: str | None = None
    is_forgotten: bool = False


@dataclass(frozen=True, slots=True)
class ClosingChange:
    """What the closing revision says of a point; `text` where the history has another."""

    kind: str
    point: SalvagedPoint
    text: str | None


def changed_in(helpful: object, harmful: object, rank: object) -> int | None:
    """The revision in which a point was last changed, which its rank tells; None where rank and votes don't agree."""
    if not isinstance(rank, int | float) or not isinstance(helpful, int) or not isinstance(harmful, int):
        return None
    if not 0 <= helpful < 2**53 or not 0 <= harmful < 2**53:
        return None
    age = (rank - prompt_text.rank(helpful, harmful, 0)) * prompt_text.FADING_REVISIONS
    return round(age) if 0.5 < age < 2**40 and abs(age - round(age)) < 1e-4 else None


def settle(row: SalvagedPoint | None, past: SalvagedPoint | None, *, is_ranked: bool = True) -> SalvagedPoint | None:
    """The point that its *row* and its *past*, the last state in the history, give together; None without a text.

    `is_ranked` is false for a file of before there were ranks: there a row is right whatever the history says.
    """
    if row is None or past is None:
        found = row or past
        return found if found is not None and found.text is not None else None
    text = _better_text(row.text, past.text)
    if not is_ranked or (row.revision is not None and row.revision >= (past.revision or 0)):
        return replace(row, text=text)
    told = past.text if past.text is not None and not _is_spoilt(past.text) else row.text
    if row.revision is not None:
        return replace(past, text=told, created_in=row.created_in)
    # The votes or the rank of the row are damaged; the rest of it is still its own.
    return replace(row, text=text, helpful=past.helpful, harmful=past.harmful)


def place_apart(points: Mapping[int, SalvagedPoint]) -> dict[int, SalvagedPoint]:
    """The *points* by number, with positions that order them: no two live ones of a section stand at the same."""
    taken: set[tuple[str, int]] = set()
    last = max((point.position for point in points.values() if point.position < _MOST_POSITION), default=0)
    placed = dict(points)
    for number, point in points.items():
        place = (point.section, point.position)
        if not 0 <= point.position < _MOST_POSITION or (point.is_live and place in taken):
            last += 1
            placed[number] = replace(point, position=last)
        elif point.is_live:
            taken.add(place)
    return placed


def closing_change(point: SalvagedPoint, past: SalvagedPoint | None) -> ClosingChange | None:
    """What must be said of *point* after a history that ends with *past*, so that both are the same."""
    text = point.text if past is None or past.text != point.text else None
    was_live = past is not None and past.text is not None and past.is_live
    votes = past is None or (past.helpful, past.harmful) != (point.helpful, point.harmful)
    section = past is None or past.section != point.section
    if not point.is_live:
        is_said = past is not None and not past.is_live and not (votes or section or text)
        return None if is_said else ClosingChange("retire", point, text)
    if past is None or not was_live:
        kind = "add" if past is None else ("edit" if past.is_live else "restore")
        return ClosingChange(kind, point, point.text if past is None or past.text is None else text)
    if text is not None or section:
        return ClosingChange("edit", point, text)
    if votes:
        return ClosingChange("vote" if past.position == point.position else "edit", point, None)
    return ClosingChange("move", point, None) if past.position != point.position else None


def believable(times: Iterable[tuple[int, str]]) -> dict[int, str]:
    """The most of *times*, revisions' numbers with theirs, that go up together: a number or a time that is out of
    line is damaged."""
    rows = sorted((number, time) for number, time in times if number > 0 and _is_time(time))
    return {rows[place][0]: rows[place][1] for place in rising([time for _, time in rows])}


def fill_gaps(known: Mapping[int, str], last: int, *, now: str) -> dict[int, str]:
    """The times of the revisions 1 to *last*: those *known*, and for the others some in between, all going up."""
    numbers = sorted(number for number in known if number <= last)
    filled: dict[int, str] = {}
    for number in range(1, last + 1):
        if number in known:
            filled[number] = known[number]
            continue
        place = bisect.bisect_left(numbers, number)
        after = numbers[place] if place < len(numbers) else None
        if number == 1 or number - 1 not in filled:
            end = _moment(known[after]) if after else _moment(now) - last * _MICROSECOND
            moment = end - ((after or last + 1) - number) * _MICROSECOND
        elif after is None:
            moment = _moment(filled[number - 1]) + _MICROSECOND
        else:
            start = _moment(filled[number - 1])
            moment = start + max((_moment(known[after]) - start) / (after - number + 1), _MICROSECOND)
        filled[number] = _told(moment)
    return _going_up(filled)


def time_after(last: str | None, now: str) -> str:
    """*now*, or just after *last* where the clock says otherwise."""
    return now if last is None or now > last else _told(_moment(last) + _MICROSECOND)


def _going_up(times: dict[int, str]) -> dict[int, str]:
    last: str | None = None
    for number, time in times.items():
        if last is not None and time <= last:
            times[number] = _told(_moment(last) + _MICROSECOND)
        last = times[number]
    return times


def _is_time(value: str) -> bool:
    try:
        return len(value) == _TIME_LENGTH and _told(_moment(value)) == value and value > "1971"
    except (ValueError, OverflowError):
        return False


def _moment(time: str) -> datetime:
    return datetime.fromisoformat(time)


def _told(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


def _better_text(first: str | None, second: str | None) -> str | None:
    """The first text, unless it is missing or shows damage that the second doesn't."""
    if first is None or (second is not None and _is_spoilt(first) and not _is_spoilt(second)):
        return second
    return first


def _is_spoilt(text: str) -> bool:
    return any(char == "\ufffd" or (not char.isprintable() and not char.isspace()) for char in text)
