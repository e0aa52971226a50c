"""The two tiers of the tests, and the order in which they run; a plugin of pytest.

`make test` runs the commit tier. `make test-all` runs all tests, and so does `pytest --tier=all`. If you name a file on
the command line, all of its tests run.
"""

import random
import uuid
from collections import Counter
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
_DAMAGE = "damage to a database"
_RARE = "what is done once in the life of a playbook or a team"
_SERVER = "what a server rarely does"
_FIGURES = "figures of redaction"
_PAGES = "whole pages or all commands, each of which has tests"
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
    "tests/test_sde_bench.py": "the real client",
    "tests/learning/test_harm.py::test_a_case_does_no_harm": _REAL,
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
    "tests/cli/test_projects.py::test_a_folder_whose_name_is_no_utf_8_has_all_commands": _REAL,
    "tests/cli/test_team.py::test_on_a_terminal_password_and_consent_are_asked_for": _REAL,
    "tests/cli/test_team.py::test_what_writes_writes_the_teams_playbook": _REAL,
    "tests/cli/test_echoes.py::test_no_command_lets_a_text_or_a_path_steer_the_terminal": _PAGES,
    "tests/store/test_query_costs.py::test_question_about_one_point_or_session_touches_its_own_rows": _LARGE,
    "tests/cli/test_git_merges.py": _GIT,
    "tests/store/test_alembic.py::test_autogenerate_gives_the_next_migration_and_it_can_be_applied": _TOOLS,
    "tests/services/test_maintenance.py::test_a_kill_in_the_middle_leaves_the_old_or_the_new_whole": "torture",
    "tests/docs/test_sql.py::test_demo_tells_its_story_to_the_end_and_leaves_the_user_alone": "the whole demo",
    "tests/learning/test_blind_sessions.py::test_what_gets_through_is_listed": "figures of trust",
    "tests/learning/test_blind_sessions.py::test_honest_sessions_teach": "figures of trust",
    "tests/claude_code/test_chunks.py::test_a_long_transcript_takes_no_more_memory_than_a_short_one": _MEMORY,
    "tests/claude_code/test_chunks.py::"
    "test_a_single_line_of_any_length_takes_no_more_memory_than_the_longest_that_is_read": _MEMORY,
    "tests/cli/test_sql.py::test_question_that_would_take_all_memory_is_ended": _MEMORY,
    "tests/learning/test_corners.py::test_a_megabyte_of_talk_is_learnt_from_in_chunks": _LARGE,
    "tests/learning/test_corners.py::test_of_all_kinds_of_secrets_none_is_found_anywhere": _LARGE,
    "tests/claude_code/test_plugin_env.py::test_without_uv_pip_makes_it": "an installation by pip",
    "tests/docs/test_every_way.py::test_each_documented_question_is_answered_truly": _PAGES,
    "tests/docs/test_pages.py::test_the_commands_print_what_the_page_says": _PAGES,
    "tests/docs/test_pictures.py::test_the_recorded_terminal_shows_what_the_commands_print": _PAGES,
    "tests/store/test_full_text.py::test_retired_points_and_other_projects_cost_a_search_next_to_nothing": _LARGE,
    "tests/store/test_upgrade.py::test_four_processes_that_open_a_new_database_at_once_make_one": _CROWD,
    "tests/store/test_postgres.py::test_many_workers_claim_each_job_once_and_one_of_a_playbook_at_a_time": _CROWD,
    "tests/services/test_maintenance.py::test_nothing_that_is_written_meanwhile_is_lost_unseen": _CROWD,
    "tests/web/test_serve.py::test_a_browser_that_keeps_the_terminal_gets_its_page": _REAL,
    "tests/web/test_serve.py::test_where_no_browser_is_the_address_is_printed_all_the_same": _REAL,
    "tests/web/test_serve.py::test_it_ends_when_nobody_looks_any_more": _REAL,
    "tests/cli/test_review.py::test_who_breaks_off_decides_nothing": _REAL,
    "tests/cli/test_history.py::test_a_terminal_gets_colours_and_a_pipe_gets_none": _REAL,
    "tests/cli/test_sql.py::test_ctrl_c_ends_a_question_that_would_never_end": _REAL,
    "tests/store/test_alembic.py::test_upgrade_without_options_makes_the_user_s_database": _TOOLS,
    "tests/store/test_alembic.py::test_another_database_can_be_named": _TOOLS,
    "tests/domain/test_redaction.py::test_of_each_blind_set_almost_all_is_right": _FIGURES,
    "tests/services/test_repair.py": _DAMAGE,
    "tests/cli/test_database.py::test_no_bytes_at_all_make_a_traceback": _DAMAGE,
    "tests/cli/test_disk_states.py": _DISKS,
    "tests/store/test_grants.py": _SERVER,
    "tests/store/test_name_server.py": _SERVER,
    "tests/learning/test_team.py::test_a_server_that_is_away_is_asked_once_a_run_and_keeps_no_other_waiting": _SERVER,
    "tests/learning/test_team.py::test_a_server_with_a_newer_schema_is_waited_for": _SERVER,
    "tests/learning/test_team.py::test_a_job_that_was_dropped_while_the_server_was_away_stays_unlearned": _SERVER,
    "tests/learning/test_team.py::test_a_replica_that_can_not_be_written_is_told_and_stops_nothing": _SERVER,
    "tests/learning/test_team.py::test_a_connection_that_is_lost_in_the_commit_leaves_nothing_half_done": _SERVER,
    "tests/store/test_postgres.py::test_the_first_writers_of_a_playbook_all_get_in": _CROWD,
    "tests/learning/test_corners.py::test_votes_for_three_hundred_points_all_arrive": _LARGE,
    "tests/web/test_review.py::test_many_proposals_come_by_pages": _LARGE,
    "tests/domain/test_duplicates.py::test_a_huge_playbook_is_not_compared_to_the_last_pair": _LARGE,
    "tests/learning/test_project_env.py::test_another_project_waits_where_the_session_s_project_hides_values": _REAL,
    "tests/services/test_team.py::test_a_password_that_stands_elsewhere_is_left_there": _RARE,
    "tests/services/test_team.py::test_a_repair_keeps_the_membership": _RARE,
    "tests/learning/test_team.py::test_sessions_from_before_joining_are_not_learned_again_nor_after_leaving": _RARE,
    "tests/learning/test_team.py::test_a_text_of_which_a_part_is_forgotten_goes_here_where_it_stands_so": _RARE,
    "tests/cli/test_doctor.py::test_a_database_on_a_server_is_told_with_what_brings_it_into_sessions": _SERVER,
    "tests/cli/test_doctor.py::test_the_plugin_examines_itself_and_a_pip_install_beside_it_says_so": _RARE,
    "tests/cli/test_doctor.py::test_an_installation_of_the_version_before_lacks_events_until_it_is_made_again": _RARE,
    "tests/cli/test_team.py::test_every_other_command_knows_the_project": _RARE,
    "tests/cli/test_database.py::test_rights_are_granted_on_a_server_alone": _SERVER,
}
# What of it stays in the commit tier.
COMMIT = (
    "tests/cli/test_git_merges.py::test_a_plain_pull_brings_a_retirement",
    "tests/cli/test_git_merges.py::test_what_two_members_did_adds_up[merge]",
    "tests/docs/test_pages.py::test_the_commands_print_what_the_page_says[README.md]",
    "tests/learning/test_whole_way.py::test_from_a_hook_to_a_changed_playbook",
    "tests/learning/test_whole_way.py::test_a_hook_never_waits_for_the_model",
    "tests/learning/test_whole_way.py::test_a_job_queued_while_the_worker_ends_is_learnt_from_too",
    "tests/learning/test_whole_way.py::test_an_endpoint_that_hangs_costs_one_deadline",
    "tests/learning/test_whole_way.py::test_no_error_keeps_a_secret",
    "tests/learning/test_whole_way.py::test_no_error_keeps_a_secret_that_the_project_brings",
    "tests/services/test_repair.py::test_a_file_that_was_written_into_meanwhile_is_not_replaced",
    "tests/services/test_repair.py::test_a_sound_database_is_left_alone",
    "tests/services/test_repair.py::test_the_newest_sound_backup_replaces_a_damaged_file",
    "tests/services/test_repair.py::test_the_database_of_another_program_or_of_a_later_version_is_refused",
    "tests/services/test_repair.py::test_while_the_worker_is_at_work_nothing_is_repaired",
    "tests/cli/test_disk_states.py::test_a_place_that_can_hold_no_database_is_told",
    "tests/store/test_grants.py::test_a_member_writes_and_can_not_rewrite_the_history",
    "tests/store/test_grants.py::test_a_reader_reads_everything_and_writes_nothing",
    "tests/store/test_grants.py::test_what_can_not_be_granted_is_told",
)
# Tests whose cases are of one rule, and how many of them the commit tier tries: the first ones.
CASES = {
    "tests/domain/test_redaction.py::test_no_text_takes_long": 12,
    "tests/cli/test_doctor.py::test_the_model_is_asked_where_that_is_wanted": 1,
    "tests/web/test_serve.py::test_without_the_extra_one_line_says_how_to_have_it": 1,
    "tests/web/test_serve.py::test_who_ends_it_has_it_end_at_once": 1,
    "tests/cli/test_command_reads.py::test_both_ways_print_the_same": 5,
    "tests/cli/test_command_reads.py::test_a_database_that_cannot_be_read_is_explained_as_ever": 2,
    "tests/store/test_on_record.py::test_a_playbook_is_put_back_to_what_its_history_says": 2,
    "tests/cli/test_review.py::test_what_is_not_clear_decides_nothing": 2,
    "tests/learning/test_team.py::test_what_the_team_forgets_is_forgotten_on_each_members_machine": 1,
    "tests/learning/test_team.py::test_a_replica_that_can_not_be_used_is_written_anew": 2,
    "tests/learning/test_team.py::test_what_a_command_learns_is_the_teams": 1,
    "tests/learning/test_team.py::test_who_forgets_or_leaves_keeps_no_forgotten_text_here": 1,
    "tests/learning/test_corners.py::test_nasty_characters_do_no_harm": 2,
    "tests/learning/test_lost_sessions.py::test_what_the_user_excludes_is_sent_to_no_model": 2,
    "tests/learning/test_project_env.py::test_what_a_project_brings_is_its_own_however_its_settings_are_written": 2,
    "tests/cli/test_database.py::test_what_is_not_true_is_told": 3,
    "tests/cli/test_database.py::test_every_command_says_of_a_damaged_database_what_to_do": 5,
    "tests/cli/test_database.py::test_whatever_stands_there_is_explained_and_left_as_it_is": 5,
    "tests/claude_code/test_showings.py::test_a_file_that_says_no_showing_is_moved_out_of_the_way": 3,
    "tests/claude_code/test_remind.py::test_the_setting_says_which_types_of_subagents_are_told": 2,
    "tests/claude_code/test_remind.py::test_what_nobody_asks_brings_nothing": 4,
    "tests/claude_code/test_members.py::test_a_replica_that_can_not_be_read_is_left_to_the_worker": 2,
    "tests/docs/test_sql.py::test_worked_query_gives_the_same_answer_on_a_server": 3,
    "tests/cli/test_json.py::test_what_a_command_did_is_one_json_object": 5,
    "tests/cli/test_terminal.py::test_what_a_command_shows_fits_the_terminal": 4,
    "tests/cli/test_history.py::test_a_mistake_is_explained": 4,
    "tests/cli/test_points.py::test_a_mistake_is_explained_and_changes_nothing": 4,
    "tests/cli/test_points.py::test_a_listing_is_of_the_words_and_in_the_order_asked_for": 4,
    "tests/cli/test_undoing.py::test_a_mistake_is_explained_and_changes_nothing": 3,
    "tests/cli/test_search.py::test_no_words_are_an_error": 2,
    "tests/cli/test_backups.py::test_a_database_that_is_gone_is_not_begun_anew": 4,
    "tests/cli/test_times.py::test_a_time_on_the_screen_says_its_offset_and_can_be_given_back": 3,
    "tests/cli/test_config.py::test_a_terminal_has_what_the_user_set": 1,
    "tests/cli/test_git.py::test_uninstall_removes_what_install_added_to_git": 3,
    "tests/cli/test_away.py::test_what_looks_at_the_points_answers_with_the_replicas_age": 2,
    "tests/cli/test_away.py::test_what_needs_the_server_says_so_in_one_sentence": 3,
    "tests/cli/test_foreign_files.py::test_what_a_user_adds_to_the_own_database_locks_nobody_out": 1,
    "tests/cli/test_foreign_files.py::test_foreign_triggers_and_views_in_place_of_ours_are_refused": 2,
    "tests/cli/test_foreign_files.py::test_what_else_is_in_a_foreign_file_runs_nothing": 1,
    "tests/cli/test_doctor.py::test_settings_that_keep_the_hooks_from_running_are_broken": 1,
    "tests/store/test_full_text.py::test_a_damaged_index_is_made_anew_when_asked": 2,
    "tests/store/test_full_text.py::test_a_damaged_index_stops_no_write": 2,
    "tests/store/test_grants.py::test_what_can_not_be_granted_is_told": 2,
    "tests/store/test_alembic.py::test_commands_that_look_change_no_byte": 2,
    "tests/services/test_forget.py::test_what_a_kill_kept_from_being_done_is_done_by_the_same_command": 2,
    "tests/services/test_forget.py::test_a_forgotten_point_does_not_come_back_with_an_older_copy": 2,
    "tests/services/test_forget.py::test_a_blanked_passage_does_not_come_back_with_a_copy_of_unknown_age": 2,
    "tests/services/test_team.py::test_joining_that_was_killed_is_said_again": 1,
    "tests/services/test_listing.py::test_a_list_has_what_was_asked_for": 8,
    "tests/services/test_listing.py::test_the_pages_of_a_list_hold_each_point_once": 5,
    "tests/services/test_markdown.py::test_odd_notes_are_read_without_an_error": 2,
    "tests/cli/test_disk_states.py::test_a_place_that_can_hold_no_database_is_told": 8,
    "tests/services/test_git.py::test_no_question_starts_what_a_repository_names": 1,
    "tests/cli/test_doctor.py::test_a_hook_that_says_no_object_to_a_prompt_is_broken": 1,
    "tests/learning/test_learning.py::test_a_wrong_setting_is_no_fault_of_the_jobs": 1,
    "tests/learning/test_refusals.py::test_a_chunk_that_the_model_refuses_to_judge_is_passed_over_by_name": 1,
    "tests/claude_code/test_remind.py::test_with_no_database_of_ours_the_session_goes_on_without": 2,
    "tests/claude_code/test_remind.py::test_a_session_that_is_to_be_left_alone_is_told_nothing": 3,
    "tests/claude_code/test_inject.py::test_a_file_that_hangs_is_left_behind_in_time": 2,
    "tests/claude_code/test_session_message.py::test_a_session_that_goes_on_is_told_nothing": 3,
    "tests/claude_code/test_hook_runner.py::test_a_function_that_lets_no_thread_run_is_ended_by_a_signal": 1,
    "tests/store/test_query_costs.py::test_documented_question_costs_a_few_passes_over_what_it_reads": 8,
    "tests/learning/test_users_own.py::test_a_team_is_told_nothing_of_a_members_own_points": 1,
    "tests/learning/test_resting.py::"
    "test_three_sessions_that_a_point_harmed_let_it_rest_until_somebody_votes_for_it": 1,
    "tests/services/test_undo.py::test_going_back_gives_any_earlier_playbook_exactly": 1,
    "tests/services/test_undo.py::test_votes_are_taken_back_in_any_order": 1,
    "tests/services/test_history.py::test_pages_one_after_the_other_are_the_whole": 1,
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
    tried: Counter[str] = Counter()
    for item in items:
        if reason_of(item.nodeid):
            item.add_marker("nightly")
        if not item.get_closest_marker("nightly"):
            name = item.nodeid.partition("[")[0]
            tried[name] += 1
            if tried[name] > CASES.get(name, tried[name]):
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
