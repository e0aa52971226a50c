"""What the benchmark of quality says of the rules in use, on so few seeds that it takes no time."""

import pytest

from benchmarks.quality.ranking import BEFORE, CHOSEN, Rule, Scenario, compare

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
