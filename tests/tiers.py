"""The two tiers of the tests, and the order in which they run; a plugin of pytest.

`make test` runs the commit tier. `make test-all` runs all tests, and so does `pytest --tier=all`. If you name a file on
the command line, all of its tests run.
"""

import random
import uuid
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, Phase, settings

from tests import postgres

_Test = TypeVar("_Test", bound=Callable[..., Any])
# The commit tier tries the same examples each time, and fails at none that has nothing to do with a change. The other
# tier looks for new ones, and prints a failing one with a decorator that repeats it.
settings.register_profile(
    "random",
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
    """Decorate a property whose examples take long, as a database does: it tries a quarter of the usual number."""
    limited: _Test = settings(max_examples=settings.default.max_examples // 4)(each)
    return limited


_DISKS = "the matrix of disk states"
_TOOLS = "what writes a migration"
_MEMORY = "hundreds of megabytes"
_CROWD = "many processes at once"
_GIT = "histories of git"
_REAL = "real processes, from a hook or a command to what is kept"
_LARGE = "large input"
# What the commit tier leaves out: a folder, a file or a test, and the reason. Single values of a parameter are marked
# `nightly` where they stand.
NIGHTLY = {
    "tests/client": "the real client",
    "tests/web/test_browser.py": "a browser",
    "tests/web/test_injections.py": "a browser",
    "tests/test_torture.py": "torture",
    "tests/learning/test_kills.py": "torture",
    "tests/claude_code/test_odd_input.py": "torture",
    "tests/test_benchmarks.py": "each benchmark in its quick form",
    "tests/test_quality.py": "figures of ranking",
    "tests/test_retrieval_benchmark.py": "figures of retrieval",
    "tests/test_packaging.py": "wheel and sdist in empty environments",
    "tests/mcp/test_malformed.py": "torture",
    "tests/learning/test_team.py::test_two_members_whose_workers_run_at_once_lose_and_double_nothing": "torture",
    "tests/learning/test_team.py::test_a_worker_that_is_killed_anywhere_teaches_once": "torture",
    "tests/services/test_transfer.py::test_a_kill_half_way_leaves_nothing": "torture",
    "tests/store/test_engine.py::test_processes_that_write_batches_at_once_lose_none": _CROWD,
    "tests/contract/test_programs_together.py::test_four_programs_at_once_lose_no_vote_and_no_point": _CROWD,
    "tests/claude_code/test_showings.py::test_of_many_sessions_that_start_at_once_none_is_lost": _CROWD,
    "tests/learning/test_whole_way.py": _REAL,
    "tests/learning/test_corners.py::test_a_transcript_that_cant_be_read_does_not_hold_up_the_others": _REAL,
    "tests/learning/test_team.py::test_a_read_erases_nothing_here_and_the_worker_then_does": _REAL,
    "tests/cli/test_doctor.py::test_a_log_that_is_a_pipe_is_passed_over": _REAL,
    "tests/cli/test_projects.py::test_a_folder_whose_name_is_no_utf_8_has_all_commands": _REAL,
    "tests/cli/test_stats.py::test_no_warning_of_the_drawing_library_reaches_the_user": _REAL,
    "tests/cli/test_team.py::test_on_a_terminal_password_and_consent_are_asked_for": _REAL,
    "tests/cli/test_git_merges.py": _GIT,
    "tests/store/test_alembic.py::test_autogenerate_gives_the_next_migration_and_it_can_be_applied": _TOOLS,
    "tests/store/test_alembic.py::test_a_migration_that_is_written_by_hand_is_numbered_too": _TOOLS,
    "tests/services/test_maintenance.py::test_a_kill_in_the_middle_leaves_the_old_or_the_new_whole": "torture",
    "tests/docs/test_sql.py::test_demo_tells_its_story_to_the_end_and_leaves_the_user_alone": "the whole demo",
    "tests/learning/test_blind_sessions.py::test_what_gets_through_is_listed": "figures of trust",
    "tests/learning/test_blind_sessions.py::test_honest_sessions_teach": "figures of trust",
    "tests/claude_code/test_full_disk.py": _DISKS,
    "tests/cli/test_disk_states.py::test_on_a_disk_that_takes_nothing_what_is_there_is_read": _DISKS,
    "tests/claude_code/test_chunks.py::test_a_long_transcript_takes_no_more_memory_than_a_short_one": _MEMORY,
    "tests/claude_code/test_chunks.py::"
    "test_a_single_line_of_any_length_takes_no_more_memory_than_the_longest_that_is_read": _MEMORY,
    "tests/cli/test_sql.py::test_question_that_would_take_all_memory_is_ended": _MEMORY,
    "tests/learning/test_corners.py::test_a_megabyte_of_talk_is_learnt_from_in_chunks": _LARGE,
    "tests/learning/test_corners.py::test_of_all_kinds_of_secrets_none_is_found_anywhere": _LARGE,
    "tests/claude_code/test_plugin_env.py::test_without_uv_pip_makes_it": "an installation by pip",
}
# What of it stays in the commit tier.
COMMIT = {
    "tests/claude_code/test_full_disk.py::test_a_job_that_the_database_has_no_room_for_goes_into_the_reserve"
    "[job_with_a_reserve-kept0]",
    "tests/cli/test_disk_states.py::test_on_a_disk_that_takes_nothing_what_is_there_is_read"
    "[read-only-file system is read-only-a file]",
    "tests/cli/test_git_merges.py::test_a_plain_pull_brings_a_retirement",
    "tests/cli/test_git_merges.py::test_what_two_members_did_adds_up[merge]",
    "tests/learning/test_whole_way.py::test_from_a_hook_to_a_changed_playbook",
    "tests/learning/test_whole_way.py::test_a_hook_never_waits_for_the_model",
    "tests/learning/test_whole_way.py::test_a_job_queued_while_the_worker_ends_is_learnt_from_too",
    "tests/learning/test_whole_way.py::test_an_endpoint_that_hangs_costs_one_deadline",
    "tests/learning/test_whole_way.py::test_no_error_keeps_a_secret",
    "tests/learning/test_whole_way.py::test_no_error_keeps_a_secret_that_the_project_brings",
}
# Folders whose tests run on SQLite in the commit tier; on PostgreSQL those that are marked `smoke` do.
ON_SQLITE = ("tests/contract/", "tests/learning/", "tests/services/")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the tiers."""
    group = parser.getgroup("playbook-db")
    group.addoption("--tier", choices=("commit", "all"), default="commit", help="the tests to run; see tests/tiers.py")
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
    """Stop the server that the workers shared."""
    if not hasattr(config, "workerinput") and getattr(config.option, "testrunuid", None):
        postgres.end_run(config.option.testrunuid)


def pytest_report_header(config: pytest.Config) -> str | None:
    """Say how to repeat this order."""
    return f"order: --shuffle={config.option.shuffle}" if config.option.shuffle else None


def reason_of(nodeid: str) -> str | None:
    """The reason for which the test *nodeid* is not in the commit tier, None if it is."""
    entry = next((place for place in _places(nodeid) if place in NIGHTLY or place in COMMIT), None)
    return None if entry is None or entry in COMMIT else NIGHTLY[entry]


def _places(nodeid: str) -> Iterator[str]:
    """A test, its file, and the folders around that."""
    yield nodeid
    place = nodeid.partition("[")[0]
    while place:
        yield place
        place = place.rpartition("::" if "::" in place else "/")[0]


def is_thinned(definition: pytest.Item) -> bool:
    """Whether a test runs on PostgreSQL in the nightly tier only."""
    return definition.nodeid.startswith(ON_SQLITE) and definition.get_closest_marker("smoke") is None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the nightly tests, deselect them in the commit tier, and shuffle what is left if somebody asks for it."""
    for item in items:
        if reason_of(item.nodeid):
            item.add_marker("nightly")
    if config.option.tier == "commit":
        named = tuple(each for arg in config.args if ".py" in (each := arg.replace("\\", "/").partition("[")[0]))
        left_out = {item for item in items if item.get_closest_marker("nightly") and not _is_named(item, named)}
        config.hook.pytest_deselected(items=[*left_out])
        items[:] = [item for item in items if item not in left_out]
    if config.option.shuffle:
        shuffle(items, random.Random(config.option.shuffle))


def _is_named(item: pytest.Item, named: tuple[str, ...]) -> bool:
    return bool(named) and (item.nodeid.startswith(named) or f"{item.path}".startswith(named))


def shuffle(items: list[pytest.Item], rng: random.Random) -> None:
    """Shuffle the files, and the tests within each: tests of a file may share what is expensive."""
    files = list(dict.fromkeys(item.path for item in items))
    rng.shuffle(files)
    place = {path: number for number, path in enumerate(files)}
    rng.shuffle(items)
    items.sort(key=lambda item: place[item.path])
