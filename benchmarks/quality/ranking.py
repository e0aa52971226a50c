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
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field

from benchmarks.figures import Figures
from playbook_db.domain import operations, prompt_text

SESSIONS, NEW_POINTS = 400, 3
QUALITIES, SHARES = (0.85, 0.5, 0.15), (0.5, 0.3, 0.2)
GOOD, BAD = QUALITIES[0], QUALITIES[-1]
POINTS_SHOWN = 60
SEEDS = 20
FADING = 2000  # revisions
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
    topics: int = 8
    voted: float = 0.5  # the chance that a point that was shown and is relevant gets a vote


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
    harmful_in_a_row: int = 0  # its last votes
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
        topic.append(chance.randrange(scenario.topics))
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
        of_session = chance.randrange(scenario.topics)
        everywhere = chance.random() < scenario.shared_outcome
        outcome = chance.random() < sum(map(float.__mul__, QUALITIES, SHARES))
        ballot: dict[int, bool | None] = {}
        for number in range((session + 1) * NEW_POINTS):
            if topic[original[number]] == of_session:
                helped = outcome if everywhere else chance.random() < now[number]
                vote = (helped or chance.random() < scenario.bias) != (chance.random() < scenario.noise)
                ballot[number] = vote if chance.random() < scenario.voted else None
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
    tally.harmful_in_a_row = 0 if helpful else tally.harmful_in_a_row + 1
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


def wilson_lower(tally: Tally, session: int) -> float:
    """The first rule: the lower bound of Wilson's interval, one standard deviation, and a little for its age."""
    votes = tally.helpful + tally.harmful + 2
    share = (tally.helpful + 1) / votes
    spread = math.sqrt(share * (1 - share) / votes + 1 / (4 * votes * votes))
    return (share + 1 / (2 * votes) - spread) / (1 + 1 / votes) + tally.changed_in / FADING


def stored(tally: Tally, session: int) -> float:
    """The product's own rule; a session is a revision."""
    return prompt_text.rank(tally.helpful, tally.harmful, tally.changed_in)


def upper_bound(z: float) -> Callable[[Tally, int], float]:
    """The upper bound of Wilson's interval, *z* standard deviations, and a little for its age."""

    def bound(tally: Tally, session: int) -> float:
        votes = tally.helpful + tally.harmful + 2
        share = (tally.helpful + 1) / votes
        spread = z * math.sqrt(share * (1 - share) / votes + z * z / (4 * votes * votes))
        return (share + z * z / (2 * votes) + spread) / (1 + z * z / votes) + tally.changed_in / FADING

    return bound


def mean(tally: Tally, session: int) -> float:
    """The share of helpful votes, with one imagined vote on either side."""
    return (tally.helpful + 1) / (tally.helpful + tally.harmful + 2)


def decayed_mean(tally: Tally, session: int) -> float:
    """The same, where a vote weighs half as much after HALF_LIFE sessions."""
    weight = 0.5 ** ((session - tally.changed_in) / HALF_LIFE)
    return (tally.recent_helpful * weight + 1) / ((tally.recent_helpful + tally.recent_harmful) * weight + 2)


def decayed_at_votes(tally: Tally, session: int) -> float:
    """The same as of the point's last vote, which a stored number can hold."""
    return (tally.recent_helpful + 1) / (tally.recent_helpful + tally.recent_harmful + 2)


def has_turned(tally: Tally) -> bool:
    """Whether the last votes of a point were harmful: the product's own rule for resting."""
    return tally.harmful_in_a_row >= operations.REST_HARMFUL


BEFORE = Rule("before: lower bound, share 1/8", wilson_lower, 1 / 8)
FORMER = Rule("z = 1, 100 in vain rest", upper_bound(1), rests_after=100, rests=has_turned)
CHOSEN = Rule("chosen: upper bound, three harmful in a row rest", stored, rests=has_turned)
RULES = (
    BEFORE,
    Rule("lower bound", wilson_lower),
    Rule("mean (h+1)/(n+2)", mean),
    Rule("mean, share 1/8", mean, 1 / 8),
    Rule("decayed mean, needs a clock", decayed_mean, needs_clock=True),
    Rule("decayed mean, needs a clock, share 1/8", decayed_mean, 1 / 8, needs_clock=True),
    Rule("decayed mean as of the last vote", decayed_at_votes),
    Rule("upper bound", stored),
    Rule("upper bound, share 1/16", stored, 1 / 16),
    Rule("upper bound, share 1/8", stored, 1 / 8),
    Rule("upper bound, share 1/4", stored, 1 / 4),
    *(Rule(f"upper bound, {n} in vain rest", stored, rests_after=n) for n in (20, 40, 60, 100)),
    FORMER,
    CHOSEN,
)
SCENARIOS = (
    Scenario("noise .1"),
    Scenario("bias .5", bias=0.5),
    Scenario("drift .5", drift=0.5),
    Scenario("bias .25, half of the sessions have one outcome for all", bias=0.25, shared_outcome=0.5),
    Scenario("bias .25, drift .25, three of ten points are copies", bias=0.25, drift=0.25, copies=0.3),
    Scenario("bias .25, drift .25, room by characters", bias=0.25, drift=0.25, is_capped_by_length=True),
)


@dataclass(frozen=True)
class Comparison:
    """A rule in one scenario, on average: its regret, by how much that differs from the first rule's with two standard
    errors, and the share of bad points among those shown in the second half."""

    rule: str
    regret: float
    difference: float
    error: float
    bad: float


def compare(scenario: Scenario, rules: Sequence[Rule], seeds: Sequence[int]) -> list[Comparison]:
    """How each of *rules* does in the worlds of *seeds*, the same for all."""
    room = ROOM_UNITS if scenario.is_capped_by_length else POINTS_SHOWN
    worlds = [make_world(seed, scenario) for seed in seeds]
    best = [oracle(world, room) for world in worlds]
    compared = []
    base: list[float] = []
    for rule in rules:
        results = [simulate(world, rule, room) for world in worlds]
        regrets = [1 - result.worth / most for result, most in zip(results, best, strict=True)]
        base = base or regrets
        differences = [ours - theirs for ours, theirs in zip(regrets, base, strict=True)]
        error = 2 * statistics.stdev(differences) / math.sqrt(len(seeds))
        bad = statistics.mean(result.bad for result in results)
        compared.append(Comparison(rule.name, statistics.mean(regrets), statistics.mean(differences), error, bad))
    return compared


def run(*, quick: bool) -> Iterator[Figures]:
    """A table for each scenario; quickly, of what was and what is alone."""
    if quick:
        yield from (_table(scenario, (BEFORE, CHOSEN), range(2)) for scenario in SCENARIOS)
        return
    with ProcessPoolExecutor() as pool:
        yield from pool.map(_full_table, SCENARIOS)


def _full_table(scenario: Scenario) -> Figures:
    return _table(scenario, RULES, range(SEEDS))


def _table(scenario: Scenario, rules: Sequence[Rule], seeds: Sequence[int]) -> Figures:
    rows = [
        (each.rule, f"{each.regret:.3f}", f"{each.difference:+.3f} +- {each.error:.3f}", f"{each.bad:.3f}")
        for each in compare(scenario, rules, seeds)
    ]
    return Figures(f"Ranking: {scenario.name}", ("rule", "regret", "difference", "bad points, 2nd half"), rows)
