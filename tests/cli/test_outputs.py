"""What each command prints; `__snapshots__/test_outputs.ambr` has it.

If a change is meant, `pytest tests/cli/test_outputs.py --snapshot-update` records the new output.
"""

import json
import shlex
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from playbook_db import settings
from playbook_db.cli.main import cli
from playbook_db.services.project import Project
from playbook_db.store.engine import open_store
from tests import recording
from tests.cli.conftest import Playbook, grow_once
from tests.cli.test_json import SERVING, leaves

EXAMPLES = Path(__file__).parents[2] / "examples"
# Each line's commands run one after the other.
TYPED = (
    "init", "install; uninstall", "config; config playbook_review all", "project ignore; project list; project trust",
    "project move /old", "project remove . --yes", "help add", "status",
    "list; list --retired; list --proposed", "search uv; search nothing", "show ctx-001; show 3", "render",
    "why oth-002", "session 5f1c", "sessions; sessions skip 5f1c", "stats",
    "sql 'SELECT name, text FROM live_key_points'",
    "add 'Use uv' --section tool; add 'Use uv'", "edit oth-001 --section pat", "retire oth-001; vote oth-001 helpful",
    "vote oth-001 oth-002 harmful", "review; review --accept p1", "pin oth-001; unpin oth-001; unpin oth-001",
    "guard oth-001 --on 'Bash(pip *)'; guard --list; unguard oth-001", "apply batch.json", "prune", "promote pat-001",
    "dedup; dedup --apart oth-001 oth-002; dedup; dedup --merge oth-001 oth-002", "demote upref-001",
    "log", "at 3", "diff 3 5", "undo; undo 1", "restore mis-001", "forget oth-001 --yes",
    "import other.json; import nosuch.json", "export", "mirror on; textconv .claude/playbook.json; mirror off",
    "team status", "work", "jobs; jobs retry 1; jobs drop 1", "backup b.db; restore-backup b.db --yes",
    "db path; db check; db upgrade; db repair",
)  # fmt: skip
ELSEWHERE = {
    *SERVING,
    *("doctor", "learn", "bootstrap", "merge-driver"),  # they need other programs: docs/first-session.md, test_git.py
    *("team join", "team leave", "db distribute", "db grant", "db metadata", "db transfer"),  # services, store
}


@pytest.mark.parametrize("typed", TYPED, ids=lambda typed: typed.split(";")[0])
def test_output_is_as_recorded(
    typed: str,
    playbook: Playbook,
    folder: Path,
    home: Path,
    snapshot: SnapshotAssertion,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each output ends with the exit code."""
    monkeypatch.setenv("PATH", "/usr/bin:/bin")  # without `claude`
    monkeypatch.setenv("SHELL", "/bin/bash")
    grow_once("outputs", folder, lambda: _fill(folder))
    (folder / "batch.json").write_text(json.dumps([{"type": "DELETE", "target_id": "oth-002"}, "nonsense"]))
    (folder / "other.json").write_bytes((EXAMPLES / "mixed_legacy.json").read_bytes())

    consoles = []
    for command in typed.split("; "):
        done = playbook(*shlex.split(command))
        printed = (done.out + done.err).replace(str(folder), recording.FOLDER).replace(str(home), recording.HOME)
        consoles.append(f"$ playbook {command}\n{recording.steady(printed)}[{done.code}]\n")

    assert "".join(consoles) == snapshot


def _fill(folder: Path) -> None:
    with open_store(settings.database_url()) as store:
        recording.fill(Project.in_folder(store, str(folder)))


def test_each_command_has_its_output() -> None:
    recorded = [f"{command} " for typed in TYPED for command in typed.split("; ")]

    unrecorded = {name for name, _ in leaves(cli) if not any(each.startswith(f"{name} ") for each in recorded)}

    assert unrecorded == ELSEWHERE
