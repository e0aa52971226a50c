"""Run the machine for any length: `python -m tests.machine --seed N --steps M`."""

import argparse
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from playbook_db.store import migrate
from tests import databases, postgres
from tests.machine.machine import PlaybookMachine

_AT_ONCE = 100  # steps of one history


class Twins(PlaybookMachine):
    """The same history in a file and on a server."""

    twins = True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--twins", action="store_true", help="in a file and on a server at once")
    parser.add_argument("--shrink", action="store_true", help="make a history that fails as short as it can be")
    given = parser.parse_args()
    with pytest.MonkeyPatch.context() as patch:
        databases.wait_for_no_disk(patch)
        databases.share_compiled_statements(patch)
        patch.setattr(migrate, "migrate", databases.copy_or_migrate)
        run_machine(given.seed, given.steps, twins=given.twins, shrinks=given.shrink)
    sys.stdout.write(f"{PlaybookMachine.total} steps agreed; digest {PlaybookMachine.digest.hexdigest()[:16]}\n")


def run_machine(number: int, steps: int, *, twins: bool = False, shrinks: bool = True) -> None:
    """Run histories of *steps* in all, by the seeds from *number* on."""
    PlaybookMachine.server = staticmethod(_new_server_database) if _is_server_there() else None
    enough = PlaybookMachine.total + steps
    while PlaybookMachine.total < enough:
        options = settings(
            max_examples=5,  # the first is the smallest
            stateful_step_count=max(5, min(steps // 4, _AT_ONCE)),
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
            phases=(Phase.generate, *([Phase.shrink] if shrinks else [])),
        )
        run_state_machine_as_test(seed(number)(Twins if twins else PlaybookMachine), settings=options)
        number += 1


def _is_server_there() -> bool:
    try:
        postgres.server_url()
    except postgres.NoServerError:
        return False
    return True


def _new_server_database() -> str:
    return databases.KINDS["postgres"].new(Path())


if __name__ == "__main__":
    main()
