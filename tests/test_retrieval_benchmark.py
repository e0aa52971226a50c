"""What the benchmark of the search measures: by hand on three points, and of the methods that a search has to beat."""

import json
import zipfile
from pathlib import Path

import pytest

from benchmarks.quality.public_retrieval import read_locomo, read_sde_bench
from benchmarks.quality.retrieval import METHODS, answered, at_errors, in_size, old_rules, run, scores, searches
from benchmarks.quality.retrieval_corpus import (
    SPLITS,
    UNRELATED,
    Point,
    Prompt,
    part_of,
    read_nothing,
    read_points,
    read_prompts,
    read_unrelated,
)
from benchmarks.quality.retrieval_methods import product

pytestmark = pytest.mark.nightly

POINTS = [
    Point("one", "a" * 1_000),
    Point("two", "b" * 499),
    Point("three", "c" * 10),
]


def test_scores_are_means_over_the_prompts() -> None:
    """The first gold point counts; one that doesn't fit into 1,500 characters is found all the same."""
    prompts = [Prompt("", frozenset({"one"})), Prompt("", frozenset({"two", "three"})), Prompt("", frozenset({"gone"}))]

    found = scores(lambda query, limit: ["one", "two", "three"][:limit], prompts, POINTS)

    assert (found.any_1, found.any_3, found.mrr) == pytest.approx((1 / 3, 2 / 3, 1.5 / 3))
    assert found.in_characters == pytest.approx(1 / 3)  # 1,001 and 500: one too many


def test_an_old_rule_counts_where_it_is_shown_and_where_it_comes_first() -> None:
    """Behind the new one it does less harm."""
    prompts = [Prompt("", frozenset({"new"}), old="old"), Prompt("", frozenset({"other"}))]

    assert old_rules(lambda query, limit: ["new", "old"], prompts) == (1, 0, 1)
    assert old_rules(lambda query, limit: ["old", "new"], prompts) == (1, 1, 1)
    assert old_rules(lambda query, limit: ["new"], prompts) == (0, 0, 1)


def test_answered_is_the_share_of_prompts_that_bring_something() -> None:
    """However many points come."""
    assert answered(lambda query, limit: ["one"] if query else [], [Prompt("x"), Prompt("")]) == 0.5


def test_the_product_s_search_brings_no_retired_point() -> None:
    """It is given them, as the database holds them."""
    points = read_points("named")
    retired = {point.name for point in points if not point.live}
    search = product(points)

    assert not any(retired.intersection(search(prompt.text, 50)) for split in SPLITS for prompt in read_prompts(split))


def test_on_train_the_product_s_search_beats_what_asks_for_no_word() -> None:
    """Newest first, by rank and random bring next to nothing."""
    points, prompts = read_points("named"), read_prompts("train")
    of = {name: scores(search, prompts, points).any_3 for name, search in searches("named").items()}

    assert set(of) == set(METHODS)
    assert of["the product's search"] > 0.5 > 0.1 > max(of["newest first"], of["by rank"], of["random"])


@pytest.mark.parametrize(
    ("wording", "split", "found", "shown", "wrong"),
    [
        ("bare", "train", 0.368, 0.263, 0.05),
        ("bare", "held-out", 0.333, 0.25, 0.026),
        ("named", "train", 0.763, 0.711, 0.075),
        ("named", "held-out", 0.750, 0.694, 0.0),
    ],
)
def test_the_product_is_as_good_as_published(
    wording: str, split: str, found: float, shown: float, wrong: float
) -> None:
    """docs/internals/evidence.md: any@3 of the search and the hook, and how often they answer though nothing fits."""
    points, prompts, of = read_points(wording), read_prompts(split), searches(wording)

    assert scores(of["the product's search"], prompts, points).any_3 >= found - 0.001
    assert scores(of["what the product shows"], prompts, points).any_3 >= shown - 0.001
    assert answered(of["what the product shows"], read_nothing(split)) <= wrong + 0.001 < 0.1


@pytest.mark.parametrize(("wording", "counts"), [("bare", [1, 2, 2, 3, 5]), ("named", [1, 2, 3, 4, 6])])
def test_few_unrelated_prompts_are_answered(wording: str, counts: list[int]) -> None:
    """docs/internals/evidence.md: of 40 prompts in each of three sets, and of 80 in each of two."""
    show = searches(wording)["what the product shows"]

    for split, most in zip(UNRELATED, counts, strict=True):
        assert sum(bool(show(prompt.text, 1)) for prompt in read_unrelated(split)) <= most, split


def test_where_prompt_and_point_name_the_place_the_point_is_shown() -> None:
    """All of them, of both halves."""
    points, search = read_points("named"), searches("named")["what the product shows"]
    prompts = [prompt for split in SPLITS for prompt in read_prompts(split) if prompt.names]

    assert scores(search, [prompt for prompt in prompts if prompt.language == "en"], points).any_3 == 1


def test_small_playbooks_and_errors_are_as_good_as_published() -> None:
    """docs/internals/evidence.md: 60 points."""
    right, wrong = in_size("named", "train", 60)
    its_own, another, answers = at_errors("train", 60)

    assert right > 0.78
    assert wrong < 0.06
    assert its_own > 0.94
    assert another == 0
    assert answers <= 0.1


def test_a_part_of_the_corpus_holds_what_is_wanted() -> None:
    """Where more points are asked for than there are, others come again."""
    points = read_points("bare")
    live = sum(point.live for point in points)

    for size in (20, live + 5_000):
        part = part_of(points, {"gold-001", "gold-002"}, size)
        names = {point.name for point in part}
        assert len(names) == len({point.text for point in part}) == size
        assert {"gold-001", "gold-002"} <= names


def test_public_data_is_read_where_a_folder_has_it(tmp_path: Path) -> None:
    """sde-bench and LoCoMo as their repositories hold them; a table more for each."""
    task = {"module": "crm/dedupe.py", "policy": "the fuller record wins", "bug_report": "contacts twice"}
    for name in ("first", "second"):
        file = tmp_path / "sde-bench" / name / "tasks" / "main" / "task.json"
        file.parent.mkdir(parents=True)
        file.write_text(json.dumps(task), "utf-8")
    talk = {
        "session_1": [{"dia_id": "D1:1", "text": "I sold the boat"}, {"dia_id": "D1:2", "text": "What a pity"}],
        "qa": [{"question": "Who sold a boat?", "evidence": ["D1:1"]}, {"question": "Why?", "evidence": []}],
    }
    (tmp_path / "locomo" / "data").mkdir(parents=True)
    with zipfile.ZipFile(tmp_path / "locomo" / "data" / "locomo10.zip", "w") as archive:
        archive.writestr("data/26.json", json.dumps(talk))

    part = read_sde_bench(tmp_path, "named")
    (locomo,) = read_locomo(tmp_path)

    assert part is not None
    assert [point.text for point in part.points] == ["crm/dedupe.py: the fuller record wins"]
    assert len(part.prompts) == 2
    assert [prompt.gold for prompt in locomo.prompts] == [{"D1:1"}]
    titles = [figures.title for figures in run(quick=True, corpus=tmp_path)]
    assert "sde-bench" in titles[-2]
    assert "LoCoMo" in titles[-1]
