"""Cases in which a memory may do harm, from transcripts to what a session is shown (benchmarks/end_to_end/harm.py).

What still goes wrong is listed with its reason; the list may only shrink.
"""

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.end_to_end import harm
from benchmarks.end_to_end.harm import JOINED, KINDS, Case

pytestmark = [pytest.mark.slow, pytest.mark.sqlite]
CASES = harm.read_cases()
OTHERS = harm.others(60)
BY_WORDS = "the prompt shares words with a point about something else"
KNOWN = {
    ("superseded-by-test", "superseded"): "a removal that rests on a test waits until a person agrees, and so does "
    "a lesson that a line of a test's output says",
    ("contradictory-cache-key", "contradictory"): "a file brings one point at most",
    ("absent-retention", "absent"): BY_WORDS,
    ("absent-time-zone", "absent"): BY_WORDS,
    ("adjacent-thumbnails", "adjacent"): BY_WORDS,
    ("adjacent-csv-totals", "adjacent"): BY_WORDS,
    ("adjacent-migrations", "adjacent"): BY_WORDS,
}


def _case(name: str, kind: str) -> Case:
    return next(case for case in CASES if (case.id, case.kind) == (name, kind))


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_has_five_cases_or_more(kind: str) -> None:
    """And each case is listed once."""
    ids = [case.id for case in CASES if case.kind == kind]

    assert len(ids) == len(set(ids)) >= 5


@pytest.mark.nightly
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.id}-{case.kind.replace(' ', '-')}")
def test_a_case_does_no_harm(case: Case, tmp_path: Path) -> None:
    """What holds is a point; what no longer holds isn't shown; a contradiction is shown whole or not at all; a prompt
    that no point answers brings none."""
    outcome = harm.play(case, tmp_path, others=OTHERS)

    assert not outcome.faults or (case.id, case.kind) in KNOWN, outcome.faults


def test_a_rule_that_nobody_changed_counts_as_harm(tmp_path: Path) -> None:
    """A curator that only adds the new rule leaves the old one in place, and the case says so."""
    case = _case("superseded-dates", "superseded")
    first, second = case.sessions
    only_added = replace(second, operations=[{**second.operations[0], "type": "ADD", "old": []}])

    outcome = harm.play(replace(case, sessions=[first, only_added]), tmp_path, others=OTHERS)

    assert f"still a point: {case.never[0]}" in outcome.faults
    assert any(fault.startswith("prompt: no longer holds") for fault in outcome.faults)


def test_one_side_of_a_contradiction_counts_as_harm(tmp_path: Path) -> None:
    """If a session learned only one of them."""
    case = _case("contradictory-log-language", "contradictory")
    half = replace(case, sessions=case.sessions[:1])

    assert "prompt: one side alone" in harm.play(half, tmp_path, others=OTHERS).faults


def test_a_point_that_fits_counts_as_harm_where_none_should(tmp_path: Path) -> None:
    """The rule of a case that is *superseded*, asked as if it were *adjacent*."""
    case = replace(_case("superseded-dates", "superseded"), kind="adjacent")

    assert any(fault.startswith("prompt: [") for fault in harm.play(case, tmp_path, others=OTHERS).faults)


def test_joined_sides_come_together(tmp_path: Path) -> None:
    """As one point, at a file, too, which brings one point at most."""
    outcome = harm.play(_case("contradictory-cache-key", JOINED), tmp_path, others=OTHERS)

    assert (outcome.faults, outcome.helped) == ([], 2)
