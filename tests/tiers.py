"""The two tiers of the tests, and the order in which they run; a plugin of pytest.

`make test` runs the commit tier: all tests without the mark `nightly`. `make test-all` runs all tests, and so does
`pytest --tier=all`. If you name a file on the command line, all of its tests run.
"""

import random
import uuid
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, Phase, settings

from tests import postgres

_Test = TypeVar("_Test", bound=Callable[..., Any])
# The commit tier tries the same examples each time, and fails at none that has nothing to do with a change. The other
# tier looks for new ones, and prints a failing one with a decorator that repeats it.
settings.register_profile(
    "random",
    derandomize=False,  # which a run by CI would turn on
    deadline=None,
    max_examples=100,
    print_blob=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
settings.register_profile("fixed", parent=settings.get_profile("random"), derandomize=True, max_examples=25)
# Whoever wants to know only that a test fails needs no smallest counterexample, which takes many times as long.
settings.register_profile(
    "unshrunk",
    parent=settings.get_profile("random"),
    derandomize=True,
    phases=(Phase.explicit, Phase.generate),
    report_multiple_bugs=False,
)


def few(each: _Test) -> _Test:
    """Decorate a slow property: it tries a quarter of the usual number of examples."""
    limited: _Test = settings(max_examples=settings.default.max_examples // 4)(each)
    return limited


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("playbook-db")
    group.addoption("--tier", choices=("commit", "all"), default="commit", help="the tests to run; see tests/README.md")
    group.addoption("--shuffle", type=int, metavar="SEED", help="run in the random order of SEED; 0 chooses a seed")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Choose how far properties look, and a seed before xdist hands the options to its workers."""
    settings.load_profile("random" if config.option.tier == "all" else "fixed")
    if config.option.shuffle == 0:
        config.option.shuffle = random.randrange(1, 10**6)
    if not hasattr(config, "workerinput") and hasattr(config.option, "testrunuid"):
        config.option.testrunuid = config.option.testrunuid or uuid.uuid4().hex


def pytest_unconfigure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput") and getattr(config.option, "testrunuid", None):
        postgres.end_run(config.option.testrunuid)


def pytest_report_header(config: pytest.Config) -> str | None:
    return f"order: --shuffle={config.option.shuffle}" if config.option.shuffle else None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the nightly tests in the commit tier, and shuffle the rest if `--shuffle` is given."""
    if config.option.tier == "commit":
        named = tuple(each for arg in config.args if ".py" in (each := arg.replace("\\", "/").partition("[")[0]))
        nightly = nightly_of(items)
        left_out = {item for item in items if item in nightly and not _is_named(item, named)}
        config.hook.pytest_deselected(items=[*left_out])
        items[:] = [item for item in items if item not in left_out]
    if config.option.shuffle:
        shuffle(items, random.Random(config.option.shuffle))


def nightly_of(items: Iterable[pytest.Item]) -> set[pytest.Item]:
    """The tests that are marked `nightly`; of those with `nightly(after=N)`, all cases but the first N."""
    nightly, cases = set(), Counter[str]()
    for item in items:
        marks = [mark.kwargs.get("after", 0) for mark in item.iter_markers("nightly")]
        name = item.nodeid.partition("[")[0]
        cases[name] += 0 not in marks
        if marks and (0 in marks or cases[name] > min(marks)):
            nightly.add(item)
    return nightly


def _is_named(item: pytest.Item, named: tuple[str, ...]) -> bool:
    return bool(named) and (item.nodeid.startswith(named) or f"{item.path}".startswith(named))


def shuffle(items: list[pytest.Item], rng: random.Random) -> None:
    """Shuffle the files, and the tests within each: tests of a file may share what is expensive."""
    files = list(dict.fromkeys(item.path for item in items))
    rng.shuffle(files)
    place = {path: number for number, path in enumerate(files)}
    rng.shuffle(items)
    items.sort(key=lambda item: place[item.path])
