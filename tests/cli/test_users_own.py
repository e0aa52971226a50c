"""The option --user, and points of the user's own without it."""

import pytest

from tests.cli.conftest import Playbook


@pytest.mark.parametrize("command", ["init", "mirror on", "jobs drop 1", "bootstrap", "backup"])
def test_project_commands_refuse_user(playbook: Playbook, command: str) -> None:
    for refused in (playbook("--user", *command.split()), playbook(*command.split(), "--user")):
        assert (refused.code, refused.out) == (2, "")
        assert "--user" in refused.err
