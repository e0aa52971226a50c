"""The rules of search and of shown points are as good as docs/internals/evidence.md says."""

import pytest

from benchmarks.quality.retrieval import answered, at_errors, in_size, scores, stored_corpus
from benchmarks.quality.retrieval_corpus import (
    SPLITS,
    UNRELATED,
    read_nothing,
    read_points,
    read_prompts,
    read_unrelated,
)

pytestmark = pytest.mark.nightly


@pytest.mark.parametrize(
    ("wording", "split", "found", "shown", "wrong"),
    [
        ("bare", "train", 0.368, 0.263, 0.05),
        ("bare", "held-out", 0.333, 0.25, 0.026),
        ("named", "train", 0.763, 0.711, 0.075),
        ("named", "held-out", 0.750, 0.694, 0.0),
    ],
)
def test_right_points_are_found_and_shown(wording: str, split: str, found: float, shown: float, wrong: float) -> None:
    """Also, how often hooks answer if nothing fits."""
    book, prompts = stored_corpus(wording), read_prompts(split)

    assert scores(book.search, prompts)[1] >= found - 0.001
    assert scores(book.show, prompts)[1] >= shown - 0.001
    assert answered(book.show, read_nothing(split)) <= wrong + 0.001


@pytest.mark.parametrize(("wording", "counts"), [("bare", [1, 2, 2, 3, 5]), ("named", [1, 2, 3, 4, 6])])
def test_few_unrelated_prompts_are_answered(wording: str, counts: list[int]) -> None:
    """Three sets have 40 prompts, two have 80."""
    show = stored_corpus(wording).show

    for split, most in zip(UNRELATED, counts, strict=True):
        assert sum(bool(show(prompt.text, 1)) for prompt in read_unrelated(split)) <= most, split


def test_point_that_names_the_place_is_shown() -> None:
    prompts = [each for split in SPLITS for each in read_prompts(split) if each.names and each.language == "en"]

    assert scores(stored_corpus("named").show, prompts)[1] == 1


def test_retired_point_is_not_found() -> None:
    retired = {point.name for point in read_points("named") if not point.live}
    search = stored_corpus("named").search

    assert not any(retired.intersection(search(each.text, 50)) for split in SPLITS for each in read_prompts(split))


def test_small_playbook_shows_the_right_point() -> None:
    right, wrong = in_size("named", "train", 60)
    its_own, another, answers = at_errors("train", 60)

    assert right > 0.78
    assert wrong < 0.06
    assert its_own > 0.94
    assert another == 0
    assert answers <= 0.1
