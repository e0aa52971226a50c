"""The list of mutations follows the code. `python -m benchmarks.mutations` tries them out, which takes long."""

from pathlib import Path

from benchmarks.mutations import problem_of, read_list

ROOT = Path(__file__).parents[1]


def test_each_mutation_applies_to_the_code_as_it_is() -> None:
    """Whoever moves or rewords a line that one changes brings its entry in tests/mutations.toml after it."""
    problems = {mutation.behaviour: problem for mutation in read_list() if (problem := problem_of(mutation))}

    assert problems == {}


def test_each_mutation_names_tests_that_are_there() -> None:
    """A test that is renamed or moved is renamed in the list too."""
    named = {test for mutation in read_list() for test in mutation.tests}

    assert [test for test in sorted(named) if not _is_there(test)] == []


def test_each_behaviour_stands_once_in_the_list() -> None:
    """So that what the tests said before and what they say now can be compared one by one."""
    behaviours = [mutation.behaviour for mutation in read_list()]

    assert len(set(behaviours)) == len(behaviours) >= 160


def _is_there(test: str) -> bool:
    file, _, name = test.partition("::")
    path = ROOT / file
    return path.is_file() and (not name or f"def {name}(" in path.read_text(encoding="utf-8"))
