"""The plugin in the real client: valid, installed from a marketplace, used and removed."""

import json
from pathlib import Path

import pytest

from tests.client.harness import World, run_command, run_print, turns
from tests.client.ours import REPOSITORY, data_folder, fill, jobs, log, times_shown

POINT = "say why before how"


@pytest.mark.smoke
def test_plugin_and_marketplace_are_valid(world: World) -> None:
    run = run_command(world, "plugin", "validate", str(REPOSITORY))
    assert (run.code, run.err) == (0, "")
    assert run.out.splitlines()[-1].endswith("Validation passed"), run.out


def test_uninstalled_plugin_leaves_the_data(world: World, clone: Path) -> None:
    fill(world, POINT)
    added = run_command(world, "plugin", "marketplace", "add", str(clone))
    installed = run_command(world, "plugin", "install", "playbook@playbook-db")
    run = run_print(world, "--output-format", "stream-json", "--verbose", "hello")
    [begun] = [event for event in map(json.loads, run.out.splitlines()) if event.get("subtype") == "init"]
    shown = [times_shown(request, POINT) for request in world.api.messages()]
    queued = jobs(world)
    before = (data_folder(world) / "playbook.db").read_bytes()
    gone = run_command(world, "plugin", "uninstall", "playbook@playbook-db")
    after = run_print(world, "hello again")

    assert (added.code, installed.code, gone.code) == (0, 0, 0), (added, installed, gone)
    assert (run.code, run.err) == (0, "")
    assert "playbook" in [plugin["name"] for plugin in begun["plugins"]]
    assert shown == [1]
    assert [job.reason for job in queued] == ["SessionEnd:other"]
    assert log(world) == ""
    assert (after.code, after.err) == (0, "")
    assert times_shown(turns(world.api)[-1], POINT) == 0
    assert jobs(world) == queued
    assert (data_folder(world) / "playbook.db").read_bytes() == before
