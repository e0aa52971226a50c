"""Which points a session is shown: rules of ranking, of the share for points without votes and of resting, in a
simulation whose truth is known.

A world is drawn from a seed: when points come, how good they are, which sessions need them, and the vote that each
would get there if it was shown. Every rule meets the same worlds, so that differences are paired. It ranks rules; what
real sessions do it doesn't know.
"""

import itertools
import math
import random
import statistics
from bisect import bisect_left, insort
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from benchmarks.figures import Figures

SESSIONS, NEW_POINTS, TOPICS = 400, 3, 8
QUALITIES, SHARES = (0.85, 0.5, 0.15), (0.5, 0.3, 0.2)
GOOD, BAD = QUALITIES[0], QUALITIES[-1]
CITED = 0.5  # the chance that a point that was shown and is relevant gets a vote
POINTS_SHOWN = 60
SEEDS = 20
HALF_LIFE = 50  # sessions after which a vote weighs half as much, for the rules that know recent votes
ROOM_UNITS = 9_800 - 600  # of text, without the words and headers around the points
ENTRY_UNITS = 32  # of an entry beside its text


@dataclass(frozen=True)
class Scenario:
    """What the votes of a world are worth, and what else is true of it."""

    name: str
    noise: float = 0.1  # the chance that a vote is turned round
    bias: float = 0.0  # the chance that a bad outcome is called helpful all the same
    drift: float = 0.0  # the share of the good points that turn bad at half-time
    shared_outcome: float = 0.0  # the chance that a session's outcome is that of every point in it
    copies: float = 0.0  # the chance that a new point says what an earlier one says
    is_capped_by_length: bool = False


@dataclass(frozen=True)
class World:
    """All that a rule can't change. A point's number is its place; three come with each session."""

    values: tuple[Sequence[float], Sequence[float]]  # of a point where it is relevant: in the first half, in the second
    votes: Sequence[
        Mapping[int, bool | None]
    ]  # by session: the relevant points and whether they would be called helpful
    original: Sequence[int]  # what a point says: the number of the first that says it
    units: Sequence[int]  # what an entry takes of ROOM


@dataclass(slots=True)
class Tally:
    """What is known of a point: its votes, and when the last came or it was added, as a session's number."""

    changed_in: int
    helpful: int = 0
    harmful: int = 0
    in_vain: int = 0  # sessions that it was shown in since its last vote
    recent_helpful: float = 0.0  # as of `changed_in`, older votes weigh less
    recent_harmful: float = 0.0


@dataclass(frozen=True)
class Rule:
    """How points are ordered and which rest; `share` of the room goes to the newest without votes."""

    name: str
    rank: Callable[[Tally, int], float]
    share: float = 0.0
    rests_after: int | None = None  # sessions in a row that it was shown in without a vote
    rests: Callable[[Tally], bool] = field(default=lambda tally: False)
    needs_clock: bool = False  # the order changes with time alone


@dataclass(frozen=True)
class Result:
    """What a rule reached: what the shown points were worth, and how many of those of the second half were bad."""

    worth: float
    bad: float


def make_world(seed: int, scenario: Scenario) -> World:
    """The world of *seed* under *scenario*."""
    chance = random.Random(seed)
    count = SESSIONS * NEW_POINTS
    original = list(range(count))
    quality, topic, units = [], [], []
    for number in range(count):
        quality.append(chance.choices(QUALITIES, SHARES)[0])
        topic.append(chance.randrange(TOPICS))
        units.append(ENTRY_UNITS + min(max(round(chance.lognormvariate(5.1, 0.6)), 30), 1500))
        if number and chance.random() < scenario.copies:
            original[number] = original[chance.randrange(number)]
    turns_bad = [each == GOOD and chance.random() < scenario.drift for each in quality]
    first_half = [quality[each] for each in original]
    half = SESSIONS // 2 * NEW_POINTS
    second_half = [
        BAD if each < half and turns_bad[each] else value for each, value in zip(original, first_half, strict=True)
    ]
    votes = []
    for session in range(SESSIONS):
        now = first_half if session < SESSIONS // 2 else second_half
        of_session = chance.randrange(TOPICS)
        everywhere = chance.random() < scenario.shared_outcome
        outcome = chance.random() < sum(map(float.__mul__, QUALITIES, SHARES))
        ballot: dict[int, bool | None] = {}
        for number in range((session + 1) * NEW_POINTS):
            if topic[original[number]] == of_session:
                helped = outcome if everywhere else chance.random() < now[number]
                vote = (helped or chance.random() < scenario.bias) != (chance.random() < scenario.noise)
                ballot[number] = vote if chance.random() < CITED else None
        votes.append(ballot)
    values = tuple([2 * each - 1 for each in qualities] for qualities in (first_half, second_half))
    return World((values[0], values[1]), votes, original, units if scenario.is_capped_by_length else [1] * count)


def simulate(world: World, rule: Rule, room: int) -> Result:
    """Let *rule* choose in each session what is shown, and learn from its votes; three harmful ones retire a point."""
    tallies: dict[int, Tally] = {}
    order: list[tuple[float, int]] = []  # the points that neither rest nor were retired, best first
    place: dict[int, tuple[float, int]] = {}
    unjudged: deque[int] = deque()
    worth, bad, shown_late = 0.0, 0, 0

    def put(number: int, session: int) -> None:
        place[number] = (-rule.rank(tallies[number], session), number)
        insort(order, place[number])

    def take_out(number: int) -> None:
        del order[bisect_left(order, place.pop(number))]

    for session, ballot in enumerate(world.votes):
        values = world.values[session >= SESSIONS // 2]
        for number in range(session * NEW_POINTS, (session + 1) * NEW_POINTS):
            tallies[number] = Tally(session)
            unjudged.appendleft(number)
            put(number, session)
        if rule.needs_clock:
            for each in [*place]:
                place[each] = (-rule.rank(tallies[each], session), each)
            order = sorted(place.values())
        chosen = _choose(world, rule, order, (each for each in itertools.islice(unjudged, 50) if each in place), room)
        if session >= SESSIONS // 2:
            bad += sum(values[each] < 0 for each in chosen)
            shown_late += len(chosen)
        seen = set()
        for number in chosen:
            tally = tallies[number]
            tally.in_vain += 1
            if number in ballot and world.original[number] not in seen:
                seen.add(world.original[number])  # what is said twice helps once, and one of the two is cited
                worth += values[number]
                if (vote := ballot[number]) is not None:
                    take_out(number)
                    _count(tally, session, helpful=vote)
                    if number in unjudged:
                        unjudged.remove(number)
                    if not (tally.harmful >= 3 and tally.harmful > tally.helpful) and not rule.rests(tally):
                        put(number, session)
                    continue
            if rule.rests_after is not None and tally.in_vain >= rule.rests_after:
                take_out(number)
    return Result(worth, bad / max(shown_late, 1))


def _count(tally: Tally, session: int, *, helpful: bool) -> None:
    weight = 0.5 ** ((session - tally.changed_in) / HALF_LIFE)
    tally.recent_helpful = tally.recent_helpful * weight + helpful
    tally.recent_harmful = tally.recent_harmful * weight + (not helpful)
    tally.helpful += helpful
    tally.harmful += not helpful
    tally.changed_in, tally.in_vain = session, 0


def _choose(
    world: World, rule: Rule, order: Sequence[tuple[float, int]], unjudged: Iterator[int], room: int
) -> list[int]:
    chosen: dict[int, None] = {}
    share = int(room * rule.share)
    left = _fill(world, chosen, unjudged, share) if share else 0
    _fill(world, chosen, (number for _, number in order), room - share + left)
    return [*chosen]


def _fill(world: World, chosen: dict[int, None], points: Iterator[int], room: int) -> int:
    misfits = 0
    for number in points:
        if room <= 0 or misfits > 50:
            break
        if number in chosen:
            continue
        if world.units[number] > room:
            misfits += 1
            continue
        room -= world.units[number]
        chosen[number] = None
    return room


def oracle(world: World, room: int) -> float:
    """What one who knows each point's worth reaches: the best first, then the older, none that harms or repeats."""
    worth = 0.0
    for session, ballot in enumerate(world.votes):
        values = world.values[session >= SESSIONS // 2]
        there = range((session + 1) * NEW_POINTS)
        good = sorted((-values[each], each) for each in there if values[each] > 0 and world.original[each] == each)
        chosen: dict[int, None] = {}
        _fill(world, chosen, (number for _, number in good), room)
        worth += sum(values[each] for each in chosen if each in ballot)
    return worth


def wilson(helpful: float, harmful: float, side: int) -> float:
    """The upper (1) or lower (-1) bound of Wilson's interval, with one imagined vote on either side."""
    votes = helpful + harmful + 2
    share = (helpful + 1) / votes
    spread = math.sqrt(share * (1 - share) / votes + 1 / (4 * votes * votes))
    return (share + 1 / (2 * votes) + side * spread) / (1 + 1 / votes)


def _decayed(tally: Tally, session: int) -> float:
    weight = 0.5 ** ((session - tally.changed_in) / HALF_LIFE)
    return (tally.recent_helpful * weight + 1) / ((tally.recent_helpful + tally.recent_harmful) * weight + 2)


BEFORE = Rule(
    "before: lower bound + age, share 1/8", lambda t, _: wilson(t.helpful, t.harmful, -1) + t.changed_in / 2000, 1 / 8
)
RULES = (
    BEFORE,
    Rule("mean (h+1)/(n+2)", lambda t, _: (t.helpful + 1) / (t.helpful + t.harmful + 2)),
    Rule("Wilson's upper bound", lambda t, _: wilson(t.helpful, t.harmful, 1)),
    Rule("decayed mean, half-life 50 sessions", _decayed, needs_clock=True),
)
SCENARIOS = (Scenario("noise .1"), Scenario("bias .5", bias=0.5), Scenario("drift .5", drift=0.5))


def compare(scenario: Scenario, rules: Sequence[Rule], seeds: Sequence[int]) -> Figures:
    """Regret and the share of bad points for each of *rules*, and the difference from the first one's regret."""
    room = ROOM_UNITS if scenario.is_capped_by_length else POINTS_SHOWN
    worlds = [make_world(seed, scenario) for seed in seeds]
    best = [oracle(world, room) for world in worlds]
    rows = []
    base: list[float] = []
    for rule in rules:
        results = [simulate(world, rule, room) for world in worlds]
        regrets = [1 - result.worth / most for result, most in zip(results, best, strict=True)]
        base = base or regrets
        bad = statistics.mean(result.bad for result in results)
        rows.append((rule.name, f"{statistics.mean(regrets):.3f}", _difference(regrets, base), f"{bad:.3f}"))
    return Figures(f"Ranking: {scenario.name}", ("rule", "regret", "difference", "bad points shown late"), rows)


def run(*, quick: bool) -> Iterator[Figures]:
    """A table for each scenario."""
    for scenario in SCENARIOS:
        yield compare(scenario, RULES, range(2 if quick else SEEDS))


def _difference(ours: Sequence[float], theirs: Sequence[float]) -> str:
    each = [a - b for a, b in zip(ours, theirs, strict=True)]
    return f"{statistics.mean(each):+.3f} +- {2 * statistics.stdev(each) / math.sqrt(len(each)):.3f}"
