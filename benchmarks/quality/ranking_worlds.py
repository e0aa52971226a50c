"""A rule of ranking is chosen in one half of 60 kinds of worlds and judged once in the other half, with other seeds.

The kinds differ in how many relevant points get a vote, the number of topics, the noise of the votes, and in what else
is true: nothing, bias, drift, votes that go together, or a limit in characters. Which rule wins is fixed beforehand: of
the rules that lose nowhere, the one with the least regret on average. A rule loses in a kind of world if its regret
exceeds the former rule's by more than `TOLERATED` and two standard errors.
"""

import itertools
import random
import statistics
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace

from benchmarks.figures import Figures
from benchmarks.quality.ranking import BEFORE, FORMER, Comparison, Rule, Scenario, compare, has_turned, upper_bound

TOLERATED = 0.02
CHOICE_SEEDS, JUDGE_SEEDS = range(1000, 1020), range(2000, 2020)
KINDS = {
    "plain": Scenario(""),
    "bias": Scenario("", bias=0.5),
    "drift": Scenario("", drift=0.5),
    "together": Scenario("", bias=0.25, shared_outcome=0.5),
    "characters": Scenario("", is_capped_by_length=True),
}
VOTED, TOPICS, NOISE = (0.1, 0.25, 0.5), (8, 40), (0.1, 0.3)
WORLDS = [
    replace(
        scenario,
        name=f"{kind}, votes {voted:.0%}, {topics} topics, noise {noise}",
        voted=voted,
        topics=topics,
        noise=noise,
    )
    for (kind, scenario), voted, topics, noise in itertools.product(KINDS.items(), VOTED, TOPICS, NOISE)
]
RULES = (
    BEFORE,
    *(
        Rule(
            f"z = {z}, {f'{vain} in vain rest' if vain else 'none rests in vain'}",
            upper_bound(z),
            share,
            vain,
            has_turned,
        )
        for z, vain, share in itertools.product((0, 0.25, 0.5, 0.75, 1), (None, 400, 100), (0.0,))
    ),
    Rule("z = 0.5, none rests in vain, share 1/8", upper_bound(0.5), 1 / 8, None, has_turned),
)


def halves() -> tuple[list[Scenario], list[Scenario]]:
    """The kinds of worlds to choose in, and those to judge in."""
    shuffled = random.Random(2026).sample(WORLDS, len(WORLDS))
    return shuffled[::2], shuffled[1::2]


def excess(result: Comparison) -> float:
    """By how much a rule loses in a kind of world; nothing to object to if that is at most `TOLERATED`."""
    return result.difference - result.error


def best_of(results: Sequence[Sequence[Comparison]]) -> str:
    """The rule that the choice falls on, from the results of each kind of world."""
    by_rule = [*zip(*results, strict=True)]
    admitted = [each for each in by_rule if max(map(excess, each)) <= TOLERATED] or [
        min(by_rule, key=lambda each: max(map(excess, each)))
    ]
    return min(admitted, key=lambda each: statistics.mean(world.regret for world in each))[0].rule


def run() -> Iterator[Figures]:
    """The choice, and the judgment of what was chosen and of the product's rule before this choice."""
    choice, judged = halves()
    with ProcessPoolExecutor() as pool:
        chosen_in = [*pool.map(_compare_all, choice)]
        yield _summary("Ranking, chosen in 30 kinds of worlds", chosen_in)
        winner = best_of(chosen_in)
        judged_in = [*pool.map(_judge, judged, itertools.repeat(winner))]
    yield _summary(f"Ranking, judged in 30 others: {winner}", judged_in)
    rows = [
        (scenario.name, *(f"{each.difference:+.3f} +- {each.error:.3f}" for each in results[1:]))
        for scenario, results in zip(judged, judged_in, strict=True)
    ]
    yield Figures("Ranking, each of the 30 others", ("worlds", winner, FORMER.name), sorted(rows))


def _compare_all(scenario: Scenario) -> list[Comparison]:
    return compare(scenario, RULES, CHOICE_SEEDS)


def _judge(scenario: Scenario, winner: str) -> list[Comparison]:
    rule = next(rule for rule in RULES if rule.name == winner)  # by its name, as functions can't be sent to a process
    return compare(scenario, (BEFORE, rule, FORMER), JUDGE_SEEDS)


def _summary(title: str, results: Sequence[Sequence[Comparison]]) -> Figures:
    rows = []
    for of_rule in zip(*results, strict=True):
        columns = ([getattr(each, name) for each in of_rule] for name in ("regret", "difference", "bad"))
        regret, difference, bad = map(statistics.mean, columns)
        rows.append(
            (of_rule[0].rule, f"{regret:.3f}", f"{difference:+.3f}", f"{max(map(excess, of_rule)):+.3f}", f"{bad:.3f}")
        )
    return Figures(title, ("rule", "regret", "difference", "worst excess", "bad points, 2nd half"), rows)


if __name__ == "__main__":
    for table in run():
        print(table.title, *map("  ".join, (table.columns, *table.rows)), "", sep="\n")
