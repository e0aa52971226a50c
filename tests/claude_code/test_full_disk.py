"""On a disk that is really full no session's end is lost."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from playbook_db.claude_code.hooks import spool
from tests import small_disks
from tests.claude_code import full_disk
from tests.claude_code.running import Client

pytestmark = pytest.mark.slow  # starts processes
NOTHING = {"spooled": 0, "lost": 0, "sessions": []}


@pytest.fixture
def came_of(folder: Path, home: Path) -> Callable[[Callable[[Client], Any]], Any]:
    """Plays one of the scenarios of `full_disk`; what came of it."""

    def play(scenario: Callable[[Client], Any]) -> Any:
        printed = small_disks.run_module(full_disk.__name__, scenario.__name__, str(folder), str(home))
        if printed is None:
            pytest.skip("NOT HERE: nothing can be mounted here, so no disk can be filled")
        return json.loads(printed)

    return play


CameOf = Callable[[Callable[[Client], Any]], Any]


def test_three_ends_in_a_row_after_a_fresh_install_are_learned_from_once(came_of: CameOf) -> None:
    """They take the reserve that the install made; sessions that begin on the full disk do, too."""
    done = came_of(full_disk.three_ends)

    assert done["told"] == ["{}\n", "{}\n"]
    assert done["kept"] == ["s-0", "s-1", "s-2"]
    assert done["then"] == [{"spooled": 3, "lost": 0, "sessions": ["s-0", "s-1", "s-2"]}, NOTHING]


def test_a_session_that_began_on_a_full_disk_is_found_though_its_end_is_not_noted(came_of: CameOf) -> None:
    """Its start took a file of the reserve."""
    done = came_of(full_disk.no_end)

    assert done["message"] == "playbook is on: this session will be learned from when it ends"
    assert done["then"] == [{"spooled": 0, "lost": 1, "sessions": ["s-1"]}, NOTHING]


def test_where_the_reserve_is_used_up_sessions_are_found_by_their_starts(came_of: CameOf) -> None:
    """Each is learned from once."""
    done = came_of(full_disk.more_ends_than_the_reserve_has)

    (first, then), count = done["then"], spool.RESERVE_FILES
    assert (first["spooled"], first["lost"], then) == (count, 2, NOTHING)
    assert first["sessions"] == sorted(f"s-{number}" for number in range(count + 2))


def test_a_disk_that_is_full_from_the_first_is_told_at_the_session_s_start(came_of: CameOf) -> None:
    """The session can't be put on record, so the user hears of it in one line."""
    done = came_of(full_disk.full_from_the_first)

    assert "is full. Free some space" in done["message"]
    assert done["then"] == [NOTHING]


@pytest.mark.parametrize(
    ("scenario", "kept"),
    [(full_disk.job_with_a_reserve, ["SubagentStop:general-purpose"]), (full_disk.job_without_a_reserve, [])],
)
def test_a_job_that_the_database_has_no_room_for_goes_into_the_reserve(
    came_of: CameOf, scenario: Callable[[Client], Any], kept: list[str]
) -> None:
    """Without one, nothing but the log could say why it is lost, and that is full as well."""
    assert came_of(scenario) == kept
