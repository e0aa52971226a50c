"""What trials of held-back points say: their difference, its interval, and how many are needed."""

import pytest

from playbook_db.domain.trust.holdout import Trials, compare, compare_point

TEN, TEN_OTHERS = [Trials(2, 1, 8, 2)] * 10, [Trials(3, 2, 2, 0)] * 10


def test_the_figures_are_those_of_a_computation_by_hand() -> None:
    """Weights 1.6 and 1.2, differences -1/4 and -2/3; the mean is (16 * -1/4 + 12 * -2/3) / 28 = -3/7. Ten deviations
    each, 2/7 and -2/7, give an error of sqrt(20 * 4/49 * 20/19) / 28 = .04682; t(19) is 2.0930."""
    compared = compare([*TEN, *TEN_OTHERS])

    assert compared.trials == Trials(50, 30, 100, 20)
    assert compared.difference == pytest.approx(-3 / 7)
    assert compared.low == pytest.approx(-0.52657, abs=1e-4)
    assert compared.high == pytest.approx(-0.33058, abs=1e-4)
    assert compared.detectable == pytest.approx(0.13740, abs=1e-4)
    assert compared.needed == 280  # (2 * (1.95996 + .84162))**2 * (101/152) / (51/152) / (1/3 * 2/3)


def test_a_session_with_one_kind_alone_says_nothing() -> None:
    """Whatever went wrong in it."""
    others = [Trials(5, 5, 0, 0), Trials(0, 0, 60, 60), Trials()]

    assert compare([*TEN, *TEN_OTHERS, *others]) == compare([*TEN, *TEN_OTHERS])


def test_a_share_that_changes_with_the_work_makes_no_difference() -> None:
    """Where more is held back, more goes wrong: over all trials 41 % without the points and 9 % with them."""
    compared = compare([Trials(8, 4, 2, 1)] * 20 + [Trials(2, 0, 8, 0)] * 20)

    assert compared.trials == Trials(200, 80, 200, 20)
    assert (compared.difference, compared.low, compared.high) == (0, 0, 0)


@pytest.mark.parametrize("few", [[*TEN, *TEN_OTHERS[:9]], [Trials(2, 0, 8, 0)] * 30, [Trials(5, 0, 8, 1)] * 19, []])
def test_too_few_trials_have_no_interval(few: list[Trials]) -> None:
    """Of sessions, or of trials that went wrong. But it is said how many are needed."""
    compared = compare(few)

    assert compared.low is compared.high is compared.detectable is None
    assert compared.needed > 0
    assert "no difference can be told yet" in " ".join(compared.in_words())


def test_one_point_s_interval_is_wide_however_few_its_trials_are() -> None:
    """Agresti and Caffo's: 5 of 12 without, 5 of 42 with it, and an error of .15084."""
    compared = compare_point(Trials(10, 4, 40, 4))

    assert compared.difference == pytest.approx(-0.29762, abs=1e-4)
    assert (compared.low, compared.high) == pytest.approx((-0.59325, -0.00198), abs=1e-4)
    lowest = compare_point(Trials(1, 1, 1, 0))
    assert (lowest.low, lowest.high) == pytest.approx((-1, 0.42105), abs=1e-4)


def test_the_words_say_what_the_data_could_show() -> None:
    """And the trials that are needed, if the interval holds 0."""
    found = list(compare([*TEN, *TEN_OTHERS]).in_words())
    assert found == [
        "30 of 50 went wrong without the point, 20 of 100 with it",
        "the difference is -42.9% (95% interval -52.7% to -33.1%); such data show 13.7% or more in 4 of 5 cases",
    ]
    *_, needed = compare([Trials(8, 4, 2, 1)] * 20).in_words()
    assert needed.startswith("no difference can be told yet; if the rate is halved, about ")
