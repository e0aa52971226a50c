"""The playbook in numbers: its points, what sessions made of them, what learning cost, and how the file grows."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from typing import Any

from playbook_db.domain.sections import SECTION_SLUGS
from playbook_db.domain.times import timestamp
from playbook_db.domain.trust import outcomes
from playbook_db.domain.trust.outcomes import Difference
from playbook_db.services.project import Project
from playbook_db.store.playbook import statistics
from playbook_db.store.playbook.statistics import Compared, Counts, DayCalls, DayVotes, EventUse, TableSize
from playbook_db.store.upkeep import database_file

AGES_DAYS = (7, 30, 90)
LISTED_POINTS = 5  # of the most and of the least used
_WEEK = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class SectionCount:
    """How many points of a section are live and how many are retired."""

    section: str
    live: int
    retired: int


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
    cited for how often they were shown. `by_event` tells apart what first told a session of a point: its start, a
    prompt, an error, a subagent's start.
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
    by_event: tuple[EventUse, ...]

    def share_of_shown(self, count: int) -> float | None:
        """*count* as a part of the times that a point was shown to a session; None where none ever was."""
        return count / self.shown if self.shown else None


@dataclass(frozen=True, slots=True)
class Week:
    """One week, named by its Monday (UTC): votes cast, models called, and what that took."""

    monday: date
    helpful: int = 0
    harmful: int = 0
    neutral: int = 0
    calls: int = 0
    tokens: int = 0
    cost_usd: float = 0


@dataclass(frozen=True, slots=True)
class Learning:
    """What learning took: sessions and chunks learned from, calls, tokens and US dollars (`unpriced` calls not counted
    in); `helpful_points` are the live points that helped more than they harmed."""

    sessions: int
    chunks: int
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
    def cost_usd_per_helpful_point(self) -> float | None:
        """US dollars for each helpful point; None where there is none."""
        return self.cost_usd / self.helpful_points if self.helpful_points else None


@dataclass(frozen=True, slots=True)
class SessionComparison:
    """The sessions that were held out beside those that were `shown` the playbook, from the first held out, at `since`,
    to the last: how many there are, and by measure what the latter have more of. What it says is an observation."""

    since: str | None
    until: str | None
    held_out: int
    shown: int
    measures: dict[str, Difference]
    confidence: float = outcomes.CONFIDENCE

    @property
    def is_enough(self) -> bool:
        """Whether there are enough sessions on both sides to say anything."""
        return min(self.held_out, self.shown) >= outcomes.FEWEST_SESSIONS


@dataclass(frozen=True, slots=True)
class Growth:
    """The file now, all projects together: its size (None where it is no file), its tables, and how large each backup
    of it was, the oldest first."""

    size_bytes: int | None
    tables: tuple[TableSize, ...]
    backups: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class ActorTotals:
    """What an actor did, as `log --by` takes it (None: sessions, in a file of one's own): how many revisions and, of
    these, by learning; their votes that are in force; when they last wrote."""

    actor: str | None
    revisions: int
    learned: int
    votes: int
    last_at: str


@dataclass(frozen=True, slots=True)
class Statistics:
    """A playbook in numbers, at one moment; `is_shared` where others have the database, too. `ages` says how many live
    points came in the last so many days; `weeks` go without a gap from the first in which anything happened to this
    one."""

    project: str
    time: str
    sections: tuple[SectionCount, ...]
    ages: tuple[tuple[int, int], ...]
    unmatched_votes: int
    use: Use
    learning: Learning
    weeks: tuple[Week, ...]
    revisions: dict[str, int]
    members: tuple[ActorTotals, ...]
    is_shared: bool
    comparison: SessionComparison
    file: Growth

    @property
    def live(self) -> int:
        """How many points are live."""
        return sum(section.live for section in self.sections)

    @property
    def retired(self) -> int:
        """How many points are retired."""
        return sum(section.retired for section in self.sections)

    @property
    def votes(self) -> dict[str, int]:
        """The votes that were cast here, by kind."""
        return {kind: sum(getattr(week, kind) for week in self.weeks) for kind in ("helpful", "harmful", "neutral")}

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
    counts = statistics.count(project.store, project.key)
    taken = database_file.list_backups(project.store.url)
    since = [(days, timestamp(moment - timedelta(days=days))) for days in AGES_DAYS]
    return Statistics(
        project.key,
        timestamp(moment),
        tuple(
            SectionCount(name, sum(point.section == name for point in counts.live), counts.retired.get(name, 0))
            for name in SECTION_SLUGS
        ),
        tuple((days, sum(point.created_at >= time for point in counts.live)) for days, time in since),
        sum(votes.unmatched for votes in counts.votes),
        _use(counts),
        _learning(counts),
        weeks_of(counts.votes, counts.calls, moment.astimezone(UTC).date()),
        dict(_sums((each.source, each.count) for each in counts.revisions).most_common()),
        _members(counts),
        project.store.is_shared,
        _comparison(counts.compared),
        Growth(
            counts.file_bytes,
            tuple(counts.tables),
            tuple((timestamp(backup.time), backup.size_bytes) for backup in reversed(taken)),
        ),
    )


def use_of(project: Project, name: str) -> tuple[EventUse, ...]:
    """What sessions made of the point *name*, by the event that first told them of it."""
    with project.store.snapshot() as connection:
        return statistics.use_by_event(connection, project.key, name)


def compare_sessions(project: Project) -> SessionComparison:
    """The sessions that were held out beside those that were shown the playbook."""
    return _comparison(statistics.compare(project.store, project.key))


def _use(counts: Counts) -> Use:
    shown, cited = counts.shown, counts.cited
    points = [
        PointUse(each.name, each.text, shown.by_point[each.name], cited.by_point[each.name], each.helpful, each.harmful)
        for each in counts.live
    ]
    most = sorted((p for p in points if p.cited), key=lambda p: (-p.cited, -p.shown, p.harmful - p.helpful, p.name))
    most = most[:LISTED_POINTS]
    least = sorted(
        (p for p in points if p.shown and p not in most),
        key=lambda p: (p.cited / p.shown, -p.shown, p.helpful - p.harmful, p.name),
    )
    since = (shown.since or "~")[:10]
    cast = [votes for votes in counts.votes if votes.is_by_session and votes.day >= since]
    return Use(
        shown.since,
        cited.since,
        shown.count,
        cited.count,
        len(shown.by_point),
        len(cited.by_point),
        shown.by_point.total(),
        cited.by_point.total(),
        sum(votes.helpful for votes in cast),
        sum(votes.harmful for votes in cast),
        tuple(most),
        tuple(least[:LISTED_POINTS]),
        counts.by_event,
    )


def _learning(counts: Counts) -> Learning:
    kinds = ("calls", "input_tokens", "output_tokens", "cached_tokens", "cost_usd")
    return Learning(
        *counts.learned_from,
        **{kind: sum(getattr(day, kind) for day in counts.calls) for kind in kinds},
        unpriced=counts.unpriced,
        helpful_points=sum(point.helpful > point.harmful for point in counts.live),
    )


def _sums(counted: Iterable[tuple[Any, int]]) -> Counter[Any]:
    """The counts of each thing added up, in the order of the things."""
    sums = Counter[Any]()
    for thing, count in sorted(counted, key=str):
        sums[thing] += count
    return sums


def _members(counts: Counts) -> tuple[ActorTotals, ...]:
    """Who did what, who did most first."""
    revision_counts = counts.revisions
    revisions = _sums((each.actor, each.count) for each in revision_counts)
    learned = _sums((each.actor, each.count) for each in revision_counts if each.source == "learn")
    last_at = {each.actor: each.last_at for each in sorted(revision_counts, key=lambda each: each.last_at)}
    votes = _sums((each.actor, each.helpful + each.harmful + each.neutral) for each in counts.votes)
    return tuple(
        ActorTotals(actor, count, learned[actor], votes[actor], last_at[actor])
        for actor, count in revisions.most_common()
    )


def _comparison(compared: Compared) -> SessionComparison:
    held_out, shown = (max(each.sessions for each in group.values()) for group in (compared.held_out, compared.shown))
    measures = outcomes.compare(compared.held_out, compared.shown)
    return SessionComparison(compared.since, compared.until, held_out, shown, measures)


def weeks_of(votes: Iterable[DayVotes], calls: Iterable[DayCalls], today: date) -> tuple[Week, ...]:
    """The votes and calls of each week, without a gap from the first that has any to that of *today*."""
    sums: dict[date, dict[str, Any]] = defaultdict(lambda: defaultdict(int))
    days: list[DayVotes | DayCalls] = [*votes, *calls]
    for day in days:
        week = sums[_monday(day.day)]
        for kind in ("helpful", "harmful", "neutral", "calls", "tokens", "cost_usd"):
            week[kind] += getattr(day, kind, 0)
    if not sums:
        return ()
    first, last = min(sums), max(*sums, _monday(today.isoformat()))
    mondays = [first + _WEEK * number for number in range((last - first) // _WEEK + 1)]
    return tuple(Week(monday, **sums.get(monday, {})) for monday in mondays)


def _monday(day: str) -> date:
    parsed = date.fromisoformat(day)
    return parsed - timedelta(days=parsed.weekday())
