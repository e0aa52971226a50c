"""The tiers: each entry of their table names tests that are there, and no test is left out without a reason."""

import random
from pathlib import Path

import pytest

from tests import tiers

_ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("entry", [*tiers.NIGHTLY, *tiers.COMMIT, *tiers.CASES, *tiers.ON_SQLITE])
def test_each_entry_names_tests_that_are_there(entry: str) -> None:
    """A test that was renamed would slip into the other tier."""
    path, _, name = entry.partition("[")[0].partition("::")

    assert (_ROOT / path).exists()
    assert not name or f"\ndef {name}(" in (_ROOT / path).read_text(encoding="utf-8")


def test_what_stays_in_the_commit_tier_is_a_part_of_what_leaves_it() -> None:
    """Else the entry says nothing."""
    assert all(any(entry.startswith(place) for place in tiers.NIGHTLY) for entry in tiers.COMMIT)


@pytest.mark.parametrize(
    ("nodeid", "reason"),
    [
        ("tests/client/test_mcp.py::test_x[a/b::c]", "the real client"),
        ("tests/test_torture.py::test_x", "torture"),
        ("tests/claude_code/test_plugin_env.py::test_without_uv_pip_makes_it", "an installation by pip"),
        ("tests/claude_code/test_plugin_env.py::test_x", None),
        ("tests/clients/test_x.py::test_x", None),
        (next(iter(tiers.COMMIT)), None),
    ],
)
def test_a_test_is_nightly_by_its_folder_its_file_or_its_name(nodeid: str, reason: str | None) -> None:
    """With the reason that the table gives."""
    assert tiers.reason_of(nodeid) == reason


def test_a_random_order_is_repeated_by_its_seed(request: pytest.FixtureRequest) -> None:
    """Tests of one file stay together, as they may share a server."""
    ours, others = list(request.session.items[:200]), list(request.session.items[:200])

    tiers.shuffle(ours, random.Random(7))
    tiers.shuffle(others, random.Random(7))

    files = [item.path for item in ours]
    assert ours == others
    assert sorted(files, key=files.index) == files


def test_the_commit_tier_tries_the_same_examples_and_the_other_new_ones() -> None:
    """A failing example comes with a decorator that repeats it."""
    fixed, random_ones = (tiers.settings.get_profile(name) for name in ("fixed", "random"))

    assert (fixed.derandomize, random_ones.derandomize) == (True, False)
    assert random_ones.print_blob
