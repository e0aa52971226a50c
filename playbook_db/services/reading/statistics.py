"""Statistics of a playbook: its points and their use, the cost of learning, and the growth of the file."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from typing import Any

from playbook_db.domain.sections import SECTION_SLUGS
from playbook_db.domain.times import timestamp
from playbook_db.services.project import Project
from playbook_db.store.playbook import counts
from playbook_db.store.playbook.counts import DayCalls, DayVotes, LivePoint, Revisions
from playbook_db.store.queries.log_queries import EventUse, event_uses
from playbook_db.store.upkeep import database_file

AGES_DAYS = (7, 30, 90)
LISTED_POINTS = 5  # of the most and of the least used
_WEEK = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class SectionCount:
    """The numbers of live and of retired points in a section."""

    section: str
    live: int
    retired: int


@dataclass(frozen=True, slots=True)
class PointUse:
    """The use of a live point. `shown` counts the sessions that were shown it, and `cited` those that cited it."""

    name: str
    text: str
    shown: int
    cited: int
    helpful: int
    harmful: int


@dataclass(frozen=True, slots=True)
class Use:
    """The use that sessions made of the points that they were shown.

    `shown` counts a point once for each session that was shown it. `followed`, `cited`, `ignored` and `voted` count how
    often such a session followed, cited or ignored the point, or voted it helpful or harmful. `helpful` and `harmful`
    are its votes in force. `most` are the live points cited most often. `least` are those cited least often, relative
    to how often they were shown.
    """

    shown_since: str | None
    cited_since: str | None
    sessions_shown: int
    sessions_citing: int
    points_shown: int
    points_cited: int
    shown: int
    followed: int
    cited: int
    ignored: int
    voted: int
    helpful: int
    harmful: int
    most: tuple[PointUse, ...]
    least: tuple[PointUse, ...]
    by_event: tuple[EventUse, ...]

    def share_of_shown(self, count: int) -> float | None:
        """Return *count* divided by `shown`, or None if no point was shown."""
        return count / self.shown if self.shown else None


@dataclass(frozen=True, slots=True)
class Week:
    """The votes of the week that starts on `monday` (UTC), and the model calls with their tokens and US dollars."""

    monday: date
    helpful: int = 0
    harmful: int = 0
    neutral: int = 0
    calls: int = 0
    tokens: int = 0
    cost_usd: float = 0


@dataclass(frozen=True, slots=True)
class Learning:
    """The cost of learning, with the numbers of sessions, chunks of transcripts and model calls. The price of
    `unpriced` calls is unknown. `helpful_points` counts the live points that helped more than they harmed."""

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
        """All tokens: sent, received and read from a cache."""
        return self.input_tokens + self.output_tokens + self.cached_tokens

    @property
    def cost_usd_per_helpful_point(self) -> float | None:
        """The cost of learning in US dollars for each helpful point. None if there is no such point."""
        return self.cost_usd / self.helpful_points if self.helpful_points else None


@dataclass(frozen=True, slots=True)
class TableSize:
    """A table's number of rows and its size in the database file (None if unknown), for all projects together."""

    name: str
    rows: int
    size_bytes: int | None


@dataclass(frozen=True, slots=True)
class Growth:
    """The size of the database file, which has all projects (None if there is no file), and the sizes of its tables.
    `backups` are the times and sizes of the backups, oldest first."""

    size_bytes: int | None
    tables: tuple[TableSize, ...]
    backups: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class ActorTotals:
    """The work of one actor: the numbers of all `revisions`, of `learned` ones and of votes in force, and the time of
    the last revision. Actors are named as in `log --by` (None: sessions, in a file)."""

    actor: str | None
    revisions: int
    learned: int
    votes: int
    last_at: str


@dataclass(frozen=True, slots=True)
class Statistics:
    """All statistics of a playbook. `ages` maps a number of days to the number of live points created within them.
    `weeks` has no gaps. If `is_shared`, others use the database, too."""

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
    file: Growth

    @property
    def live(self) -> int:
        """The number of live points."""
        return sum(section.live for section in self.sections)

    @property
    def retired(self) -> int:
        """The number of retired points."""
        return sum(section.retired for section in self.sections)

    @property
    def votes(self) -> dict[str, int]:
        """All votes, by kind."""
        return {kind: sum(getattr(week, kind) for week in self.weeks) for kind in ("helpful", "harmful", "neutral")}

    @property
    def age_groups(self) -> tuple[tuple[str, int], ...]:
        """The names of the age groups, youngest first, and the number of live points in each."""
        days, came = zip(*self.ages, strict=True)
        names = [f"under {days[0]} days", *(f"{first} to {last} days" for first, last in pairwise(days)), "older"]
        counts = [later - earlier for earlier, later in pairwise((0, *came, self.live))]
        return tuple(zip(names, counts, strict=True))


def gather(project: Project, *, now: datetime | None = None) -> Statistics:
    """Return the statistics of the project's playbook. Without a playbook, all numbers are zero."""
    moment = now or datetime.now(UTC)
    with project.store.read(project.key) as book:
        answers, sizes = counts.count(book), counts.sizes(book)
    with project.own.store.read(project.own.key) as own:  # has the costs, even if the playbook is a team's
        answers |= counts.count_costs(own)
    live = [LivePoint(*row) for row in answers["live"]]
    votes = [DayVotes(*row) for row in answers["votes"]]
    calls = [DayCalls(*row) for row in reversed(answers["calls"])]
    revisions = [Revisions(*row) for row in answers["revisions"]]
    retired = dict(map(tuple, answers["retired"]))
    since = [(days, timestamp(moment - timedelta(days=days))) for days in AGES_DAYS]
    return Statistics(
        project.key,
        timestamp(moment),
        tuple(
            SectionCount(name, sum(point.section == name for point in live), retired.get(name, 0))
            for name in SECTION_SLUGS
        ),
        tuple((days, sum(point.created_at >= time for point in live)) for days, time in since),
        sum(each.unmatched for each in votes),
        _use(answers, live),
        _learning(answers, live, calls),
        weeks_of(votes, calls, moment.astimezone(UTC).date()),
        dict(_sums((each.source, each.number) for each in revisions).most_common()),
        _members(revisions, votes),
        project.store.is_shared,
        _growth(project, answers["tables"], sizes),
    )


def _use(answers: Mapping[str, Sequence[Any]], live: Sequence[LivePoint]) -> Use:
    (shown_since, sessions_shown), (cited_since, sessions_citing) = answers["shown in"][0], answers["cited in"][0]
    shown, cited = (Counter(dict(map(tuple, answers[title]))) for title in ("shown", "cited"))
    points = [
        PointUse(each.name, each.text, shown[each.name], cited[each.name], each.helpful, each.harmful) for each in live
    ]
    most = sorted((p for p in points if p.cited), key=lambda p: (-p.cited, -p.shown, p.harmful - p.helpful, p.name))
    most = most[:LISTED_POINTS]
    least = sorted(
        (p for p in points if p.shown and p not in most),
        key=lambda p: (p.cited / p.shown, -p.shown, p.helpful - p.harmful, p.name),
    )
    ((followed, ignored),) = answers["followed"]
    by_event, kinds = event_uses(answers["uses"]), ("shown", "cited", "voted", "helpful", "harmful")
    return Use(
        shown_since=shown_since,
        cited_since=cited_since,
        sessions_shown=sessions_shown,
        sessions_citing=sessions_citing,
        points_shown=len(shown),
        points_cited=len(cited),
        followed=followed,
        ignored=ignored,
        **{kind: sum(getattr(each, kind) for each in by_event) for kind in kinds},
        most=tuple(most),
        least=tuple(least[:LISTED_POINTS]),
        by_event=by_event,
    )


def _learning(answers: Mapping[str, Sequence[Any]], live: Sequence[LivePoint], calls: Sequence[DayCalls]) -> Learning:
    kinds = ("calls", "input_tokens", "output_tokens", "cached_tokens", "cost_usd")
    sessions, chunks = answers["learned from"][0]
    return Learning(
        sessions,
        chunks,
        **{kind: sum(getattr(day, kind) for day in calls) for kind in kinds},
        unpriced=answers["unpriced"][0][0],
        helpful_points=sum(point.helpful > point.harmful for point in live),
    )


def _sums(counted: Iterable[tuple[Any, int]]) -> Counter[Any]:
    """Add up the counts of equal things. Return the sums in the order of the things."""
    sums = Counter[Any]()
    for thing, count in sorted(counted, key=str):
        sums[thing] += count
    return sums


def _members(revisions: Sequence[Revisions], votes: Sequence[DayVotes]) -> tuple[ActorTotals, ...]:
    totals = _sums((each.actor, each.number) for each in revisions)
    learned = _sums((each.actor, each.number) for each in revisions if each.source == "learn")
    last_at = {each.actor: each.last_at for each in sorted(revisions, key=lambda each: each.last_at)}
    cast = _sums((each.actor, each.helpful + each.harmful + each.neutral) for each in votes)
    return tuple(
        ActorTotals(actor, count, learned[actor], cast[actor], last_at[actor]) for actor, count in totals.most_common()
    )


def _growth(project: Project, rows: Iterable[tuple[str, int]], sizes: tuple[int | None, Mapping[str, int]]) -> Growth:
    file_bytes, of_table = sizes
    tables = [TableSize(name, count, of_table.get(name)) for name, count in rows if count]
    tables.sort(key=lambda table: (table.size_bytes or 0, table.rows), reverse=True)
    backups = reversed(database_file.list_backups(project.store.url))
    return Growth(file_bytes, tuple(tables), tuple((timestamp(each.time), each.size_bytes) for each in backups))


def weeks_of(votes: Iterable[DayVotes], calls: Iterable[DayCalls], today: date) -> tuple[Week, ...]:
    """Return the votes and calls of each week, from the first week with any to the week of *today*."""
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
