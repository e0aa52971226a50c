"""The playbook in numbers: its points, what sessions made of them, what learning cost, and how the file grows."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from itertools import groupby, pairwise
from typing import Any

from playbook_db.domain.times import timestamp
from playbook_db.services.projects import Project
from playbook_db.store import statistics
from playbook_db.store.connect import sqlite_path
from playbook_db.store.past import Past
from playbook_db.store.sqlite import backups
from playbook_db.store.statistics import CountedPoint, DayCalls, DayVotes, SectionCount, Sightings, TableSize

AGES_DAYS = (7, 30, 90)
LISTED_POINTS = 5  # of the most and of the least used
_WEEK = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class PointUse:
    """A live point, in how many sessions it was shown and cited, and its votes as its counters have them."""

    name: str
    text: str
    shown: int
    cited: int
    helpful: int
    harmful: int


@dataclass(frozen=True, slots=True)
class Use:
    """What sessions made of the points that they were shown.

    `shown` and `cited` count a point once for each session; `helpful` and `harmful` are the votes that sessions cast
    since points are recorded as shown. `most` and `least` are live points: the ones most cited, and the ones least
    cited for how often they were shown.
    """

    shown_since: str | None
    cited_since: str | None
    sessions_shown: int
    sessions_citing: int
    points_shown: int
    points_cited: int
    shown: int
    cited: int
    helpful: int
    harmful: int
    most: tuple[PointUse, ...]
    least: tuple[PointUse, ...]

    def share_of_shown(self, count: int) -> float | None:
        """*count* as a part of the times that a point was shown to a session; None where none ever was."""
        return count / self.shown if self.shown else None


@dataclass(frozen=True, slots=True)
class Week:
    """One week, named by its Monday (UTC): votes cast, models asked, and what that took."""

    monday: date
    helpful: int
    harmful: int
    neutral: int
    calls: int
    tokens: int
    cost_usd: float


@dataclass(frozen=True, slots=True)
class Learning:
    """What learning took: sessions and stretches learnt from, calls, tokens and US dollars (`unpriced` calls not
    counted in); `helpful_points` are the live points that helped more than they harmed."""

    sessions: int
    stretches: int
    calls: int
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    cost_usd: float
    unpriced: int
    helpful_points: int

    @property
    def tokens(self) -> int:
        """All tokens, sent, received and read from a cache."""
        return self.input_tokens + self.output_tokens + self.cached_tokens

    @property
    def cost_usd_a_helpful_point(self) -> float | None:
        """US dollars for each helpful point; None where there is none."""
        return self.cost_usd / self.helpful_points if self.helpful_points else None


@dataclass(frozen=True, slots=True)
class Growth:
    """The file now, all projects together: its size (None where it is no file), its tables, and how large each backup
    of it was, the oldest first."""

    size_bytes: int | None
    tables: tuple[TableSize, ...]
    backups: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Statistics:
    """A playbook in numbers, at one moment. `ages` says how many live points came in the last so many days; `weeks` go
    without a gap from the first in which anything happened to this one."""

    project: str
    time: str
    sections: tuple[SectionCount, ...]
    ages: tuple[tuple[int, int], ...]
    unmatched_votes: int
    use: Use
    learning: Learning
    weeks: tuple[Week, ...]
    revisions: dict[str, int]
    file: Growth

    @property
    def live(self) -> int:
        """How many points are live."""
        return sum(section.live for section in self.sections)

    @property
    def retired(self) -> int:
        """How many points have left."""
        return sum(section.retired for section in self.sections)

    @property
    def age_groups(self) -> tuple[tuple[str, int], ...]:
        """The live points by age, the youngest first, each in one group: its name, and how many."""
        days, came = zip(*self.ages, strict=True)
        names = [f"under {days[0]} days", *(f"{first} to {last} days" for first, last in pairwise(days)), "older"]
        counts = [later - earlier for earlier, later in pairwise((0, *came, self.live))]
        return tuple(zip(names, counts, strict=True))


def gather(project: Project, *, now: datetime | None = None) -> Statistics:
    """The project's playbook in numbers, as of one moment; all zeros where there is none."""
    moment = now or datetime.now(UTC)
    with project.store.snapshot() as connection:
        number = Past.open(connection, project.key).playbook_id or 0
        ages = [(days, timestamp(moment - timedelta(days=days))) for days in AGES_DAYS]
        votes, calls = statistics.votes_by_day(connection, number), statistics.calls_by_day(connection, number)
        points = statistics.live_points(connection, number)
        shown, cited = statistics.shown(connection, number), statistics.cited(connection, number)
        most, least = _most_used(points, shown, cited), _least_used(points, shown, cited)
        texts = statistics.texts(connection, number, [point.id for point in (*most, *least)])
        return Statistics(
            project.key,
            timestamp(moment),
            tuple(statistics.sections(connection, number)),
            tuple((days, statistics.came_since(connection, number, since)) for days, since in ages),
            sum(day.unmatched for day in votes),
            _use(shown, cited, votes, *([_point_use(p, texts, shown, cited) for p in some] for some in (most, least))),
            _learning(statistics.learnt_from(connection, number), calls, points),
            _weeks(votes, calls, moment.astimezone(UTC).date()),
            statistics.revisions_by_source(connection, number),
            Growth(
                statistics.file_bytes(connection),
                tuple(statistics.tables(connection)),
                _backups(sqlite_path(project.store.url)),
            ),
        )


def _most_used(points: Sequence[CountedPoint], shown: Sightings, cited: Sightings) -> list[CountedPoint]:
    met = [point for point in points if cited.by_point[point.id]]
    met.sort(key=lambda p: (-cited.by_point[p.id], -shown.by_point[p.id], p.harmful - p.helpful, p.name))
    return met[:LISTED_POINTS]


def _least_used(points: Sequence[CountedPoint], shown: Sightings, cited: Sightings) -> list[CountedPoint]:
    """The points least cited for how often they were shown, those that help least first; none of the most used."""
    first = {point.id for point in _most_used(points, shown, cited)}
    met = [point for point in points if shown.by_point[point.id] and point.id not in first]
    rate = {point.id: cited.by_point[point.id] / shown.by_point[point.id] for point in met}
    met.sort(key=lambda p: (rate[p.id], -shown.by_point[p.id], p.helpful - p.harmful, p.name))
    return met[:LISTED_POINTS]


def _point_use(point: CountedPoint, texts: dict[int, str], shown: Sightings, cited: Sightings) -> PointUse:
    met = shown.by_point[point.id], cited.by_point[point.id]
    return PointUse(point.name, texts[point.id], *met, point.helpful, point.harmful)


def _use(
    shown: Sightings, cited: Sightings, votes: Iterable[DayVotes], most: Iterable[PointUse], least: Iterable[PointUse]
) -> Use:
    since = (shown.since or "~")[:10]
    cast = [day for day in votes if day.by_session and day.day >= since]
    return Use(
        shown.since,
        cited.since,
        shown.sessions,
        cited.sessions,
        len(shown.by_point),
        len(cited.by_point),
        shown.by_point.total(),
        cited.by_point.total(),
        most=tuple(most),
        least=tuple(least),
        **_totals(cast, "helpful", "harmful"),
    )


def _learning(learnt_from: tuple[int, int], calls: Sequence[DayCalls], points: Iterable[CountedPoint]) -> Learning:
    return Learning(
        *learnt_from,
        **_totals(calls, "calls", "input_tokens", "output_tokens", "cached_tokens", "cost_usd", "unpriced"),
        helpful_points=sum(point.helpful > point.harmful for point in points),
    )


def _weeks(votes: Sequence[DayVotes], calls: Sequence[DayCalls], today: date) -> tuple[Week, ...]:
    cast = {monday: list(days) for monday, days in groupby(votes, key=lambda day: _monday(day.day))}
    made = {monday: list(days) for monday, days in groupby(calls, key=lambda day: _monday(day.day))}
    mondays = {*cast, *made}
    if not mondays:
        return ()
    first, last = min(mondays), max(*mondays, _monday(today.isoformat()))
    count = (last - first) // _WEEK + 1
    return tuple(
        Week(
            monday,
            **_totals(cast.get(monday, []), "helpful", "harmful", "neutral"),
            **_totals(made.get(monday, []), "calls", "tokens", "cost_usd"),
        )
        for monday in (first + _WEEK * number for number in range(count))
    )


def _totals(days: Sequence[DayVotes] | Sequence[DayCalls], *kinds: str) -> dict[str, Any]:
    """The sum over *days* of each of *kinds*."""
    return {kind: sum(getattr(day, kind) for day in days) for kind in kinds}


def _monday(day: str) -> date:
    found = date.fromisoformat(day)
    return found - timedelta(days=found.weekday())


def _backups(path: str | None) -> tuple[tuple[str, int], ...]:
    found = backups.list_backups(path) if path else []
    return tuple((timestamp(backup.time), backup.size_bytes) for backup in sorted(found, key=lambda each: each.time))
