"""The corpus for the search holds what its head says, and is the same each time."""

from collections import Counter

import pytest

from benchmarks.quality.retrieval_corpus import (
    SPLITS,
    UNRELATED,
    WORDINGS,
    read_errors,
    read_nothing,
    read_points,
    read_points_about_errors,
    read_prompts,
    read_unrelated,
)

PROMPTS = [prompt for split in SPLITS for prompt in read_prompts(split)]
NOTHING = [prompt for split in SPLITS for prompt in read_nothing(split)]


@pytest.mark.parametrize("wording", WORDINGS)
def test_points_are_many_and_each_is_there_once(wording: str) -> None:
    """About a thousand, no text and no name twice."""
    points = read_points(wording)

    assert 1_000 <= len(points) <= 1_200
    assert len({point.name for point in points}) == len({point.text for point in points}) == len(points)


def test_every_prompt_has_points_that_are_there_and_live() -> None:
    """Half of at least 60 prompts name a file, a command or an error; what an amended rule replaced is no gold."""
    live = {point.name for point in read_points("bare") if point.live}
    names = Counter(prompt.names for prompt in PROMPTS)

    assert all(prompt.gold and prompt.gold <= live and prompt.old not in prompt.gold for prompt in PROMPTS)
    assert len(PROMPTS) >= 60
    assert abs(names[True] - names[False]) <= 4
    assert {prompt.language for prompt in PROMPTS} == {"en", "de", "ja"}


def test_an_old_rule_is_still_there_or_retired() -> None:
    """Both kinds are measured."""
    points = {point.name: point for point in read_points("named")}

    assert Counter(points[prompt.old].live for prompt in PROMPTS if prompt.old) == {False: 7, True: 4}


def test_prompts_that_fit_nothing_are_at_least_sixty() -> None:
    """None of them has points, and none is there twice."""
    assert len({prompt.text for prompt in NOTHING}) == len(NOTHING) >= 60
    assert not any(prompt.gold for prompt in NOTHING)


def test_unrelated_prompts_have_up_to_sixty_words() -> None:
    """None is there twice; most are longer than those of the other set."""
    sets = [read_unrelated(split) for split in UNRELATED]
    texts = [prompt.text for prompts in sets for prompt in prompts]

    assert [len(prompts) for prompts in sets] == [40, 40, 40, 80, 80]
    assert len(set(texts)) == len(texts)
    assert max(len(text.split()) for text in texts) <= 60
    assert sum(len(text.split()) >= 10 for text in texts) > 50


def test_the_halves_are_about_equal() -> None:
    """Every second prompt of a kind is held out."""
    assert abs(Counter(prompt.split for prompt in PROMPTS).total() / 2 - len(read_prompts("train"))) <= 3


def test_errors_have_a_point_or_none() -> None:
    """At least 30 of each kind, in two halves; each point that is named is there."""
    there = {point.name for point in read_points_about_errors()}
    halves = [read_errors(split) for split in SPLITS]

    assert all(prompt.gold <= there for about, _ in halves for prompt in about)
    assert [sum(map(len, kind)) for kind in zip(*halves, strict=True)] == [34, 40]
