"""What the benchmark of quality says of the rules in use, on so few seeds that it takes no time."""

import pytest

from benchmarks.quality.ranking import BEFORE, CHOSEN, Comparison, Rule, Scenario, compare
from benchmarks.quality.ranking_worlds import TOLERATED, WORLDS, best_of, halves

pytestmark = pytest.mark.nightly

_SEEDS = range(4)


@pytest.mark.parametrize("scenario", [Scenario("bias", bias=0.5), Scenario("drift", drift=0.5)], ids=["bias", "drift"])
def test_the_rule_in_use_shows_better_points_than_the_lower_bound(scenario: Scenario) -> None:
    """Where votes flatter and where points grow old: less regret, and two thirds of the bad points at most."""
    before, chosen = compare(scenario, (BEFORE, CHOSEN), _SEEDS)

    assert chosen.difference < -0.06
    assert chosen.bad < before.bad * 2 / 3


def test_plain_noise_makes_the_rule_in_use_no_worse() -> None:
    """Within what four worlds can tell."""
    _, chosen = compare(Scenario("noise"), (BEFORE, CHOSEN), _SEEDS)

    assert chosen.difference < 0.03


def test_points_that_turn_bad_are_shown_less_where_they_rest() -> None:
    """Three harmful votes in a row outweigh what came before."""
    awake = Rule("awake", CHOSEN.rank)
    never, resting = compare(Scenario("drift", drift=0.5), (awake, CHOSEN), _SEEDS)

    assert resting.bad < never.bad


def test_a_rule_is_judged_in_other_worlds_than_it_is_chosen_in() -> None:
    choice, judged = halves()

    assert len(choice) == len(judged) == 30
    assert {each.name for each in choice} | {each.name for each in judged} == {each.name for each in WORLDS}


def test_a_rule_that_loses_in_one_kind_of_world_is_not_chosen() -> None:
    """Even if it is the best on average. A difference within two standard errors is no loss."""

    def results(*differences: float) -> list[Comparison]:
        names = ("before", "bold", "safe")
        rows = zip(names, differences, strict=True)
        return [Comparison(name, 0.5 + difference, difference, 0.01, 0.1) for name, difference in rows]

    bold = 2 * TOLERATED + 0.01

    assert best_of([results(0, -0.3, -0.1), results(0, bold, 0.0)]) == "safe"
    assert best_of([results(0, -0.3, -0.1), results(0, TOLERATED, 0.0)]) == "bold"
