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
BATCH = [
    {"type": "DELETE", "target_id": "oth-002"},
    {"type": "ADD", "text": "use UV, not pip, for packages!"},
    {"type": "UPDATE", "target_id": "oth-001", "text": "Use uv everywhere"},
    {"type": "DELETE", "target_id": "oth-404"},
    "nonsense",
]
# Each line's commands run one after the other. A last `log -n 1` shows that what was refused changed nothing.
TYPED = (
    # Places and settings.
    "init; init --json", "install; uninstall; uninstall --share", "uninstall --json; install; uninstall --json",
    "config; config playbook_review all; config a b c d",
    "project ignore; project list; project trust; status; status --json; status --short; list; project ignore --off",
    "project move /old; project move . .; project move . /nowhere; project list --json",
    "project remove . --yes; list; list --json; log; log --json; stats; status; status --short; undo; dedup",
    "help add; help add more", "status; status --short; status --user",
    "backup b.db; restore-backup b.db; restore-backup b.db --yes",
    "backup; backup --list; backup b.db --json; backup b.db --list", "db path; db check; db upgrade; db repair",
    "db check --json; db check --quick; db check --quick --json", "--db plybook.db list; --db plybook.db list --user",
    "--db plybook.db log; list --project /nowhere/at/all",
    # Reading.
    "list; list --retired; list --proposed",
    "list --json --section Others; list --retired --json; list --retired --sort votes",
    "list uv ruff; list uv --section oth; list --sort votes; list --sort age; list --sort used; list zebra",
    "list -n 1; list -n 5; list -n 1 --json; list --proposed -n 1; list --sort votes -n 1 uv; list -n 0",
    "search uv; search nothing; search nothing --json; search nothing --all; search",
    "search -n 1 'why do pip and uv fail?'",
    "search --all ruff; search --all 'hooks server installed force' -n 9; search --all ruff -n 1 --json",
    "search --as-prompt 'why does uv fail?' --file batch.json; search --as-prompt uv --json; search --as-prompt zebra",
    "search --as-prompt uv --file none.py; search --as-prompt uv --user; search --as-prompt uv -n 3; search a --file b",
    "show ctx-001; show 3; show 6; show 8; show mis-001", "show 6 --json; show ctx-001 --json", "render; render --json",
    "why oth-002; why ctx-001; why mis-001; why oth-003", "why ctx-001 --json", "session 5f1c", "session 5f1c --json",
    "sessions; sessions skip 5f1c; sessions skip 5f1c --off; sessions skip 5f1c --off; sessions skip 'a b'", "stats",
    "sql 'SELECT name, text FROM live_key_points'", "sql 'SELECT * FROM points'; sql 'SELECT nam FROM history'",
    "sql 'DELETE FROM votes'; sql --csv --json 'SELECT 1'; sql 'SELECT 1' --db nowhere.db",
    "sql --line 'SELECT name, text FROM live_key_points'; db metadata --db postgresql://me:pw@host/db",
    "db grant ann reader; db distribute; db check --repair-points",
    """sql --json "SELECT 'ü' AS t, 9007199254740993 AS n, 0.1 AS r, NULL AS z, x'00ff' AS b, '' AS e, 9e999 AS i\"""",
    "log", "log -n 2 --json", "log --since 7; log --by ann -n 1; log mis-001; log --source prune; log --by ben",
    "log oth-009; log --source magic; log --since soon; log --session x; log -n 0", "at 3; at 3 --json; at 0",
    "show 99; at whenever; at 1 --json --render; diff 1 nowhere.json; diff - -", "diff 3 5; diff 7 8; diff 8",
    "edit oth-001 --text 'Use uv, never pip' --section ctx; diff 5; diff 8 9 --json",
    "team status; team join ''", "work", "jobs; jobs retry 1; jobs drop 1", "export; export -o /nowhere/a.json",
    "export --markdown -o a.md; import a.md --replace; import .; export --markdown; import .claude",
    "list --user; log --user; stats --user",
    "list --user --project .; lst; project lits; log --sinse 1; delete pat-001; help serch",
    "config PLAYBOOK_DAILY_TOKEN; config PLAYBOOK_DAILY_TOKENS many; config AGENTIC_CONTEXT_BACKEND gpt;"
    " config playbook_update_on_exit yes; config playbook_review some; config playbook_mcp_writes some;"
    " config playbook_subagents a,,b; config playbook_subagents [1;"
    " config ANTHROPIC_API_KEY sk-x; config PLAYBOOK_CLAUDE x --unset;"
    " config PLAYBOOK_CLAUDE; config playbook_review --json",
    # Changing.
    "add 'Use uv' --section tool; add 'Use uv'; add ' use UV. '; add '  '; log -n 1",
    "add 'Use types' --section 'patterns & approaches'; vote pat-002 helpful; edit pat-002 --text 'Use type hints';"
    " retire pat-002 --reason settled; restore pat-002; show pat-002 --json",
    "edit oth-001 --section pat; edit oth-001; edit oth-009 --text x; edit mis-001 --text x; log -n 1",
    "retire oth-001; vote oth-001 helpful; retire pat-001 oth-009; retire pat-001 ctx-001 pat-001; log -n 1",
    "vote oth-001 oth-002 harmful; vote oth-001 oth-009 helpful; vote oth-001 pat-001 oth-001 helpful --json",
    "review; review --json", "review --accept p1; review; log -n 1; why oth-004; review --accept p1",
    "review --accept p1 2 --json", "review --reject 1 oth-001; review; list --proposed",
    "retire oth-001; add 'skip the HOOKS'; review --accept 1 2; review",
    "review --accept oth-009; review --accept 1 --reject p1; review 1; review",
    "pin oth-003 oth-001 oth-003 --json; list; show oth-003; render; unpin oth-001; unpin oth-001; log -n 1",
    "vote pat-001 harmful; vote pat-001 harmful; vote pat-001 harmful; pin pat-001; prune --dry-run; prune; prune",
    "guard oth-001 --on 'Bash(pip *)'; guard --list; unguard oth-001",
    "apply batch.json --dry-run; list; apply batch.json",
    "apply batch.json --json; show 9", "apply vain.json; apply other.json; apply nosuch.json; log -n 1",
    "promote pat-001; show pat-001; why pat-001; show upat-001; why upat-001; demote upat-001 --json; demote upat-001",
    "dedup; dedup --apart oth-001 oth-002; dedup; dedup --json; dedup --merge oth-001 oth-002; log -n 1",
    "dedup --json; dedup --merge oth-001 oth-002 --apart oth-001 oth-002", "demote upref-001",
    "undo; undo; undo 7..8; list", "undo; undo; undo; undo 7; list", "undo 1",
    "vote oth-001 helpful; undo; show 10; import other.json; log -n 1",
    "undo 7 --session 5f; undo 7; log --since 7 --until 7; log --since 7 --until 7 --json; show 7; log -n 1",
    "undo r7..r8 --json; list",
    "undo 99; undo 2..1; undo --ours --theirs; restore oth-001 --dry-run; restore --at 'some day'; log -n 1",
    "undo 4; undo 4 --ours --dry-run; undo 4 --theirs; undo 4", "undo --session 5f; undo --session 5f; undo 9; list",
    "restore --at 3 --dry-run; restore --at 3; list; undo; list; restore --at now; restore --at 2020-01-01 --dry-run",
    "restore mis-001; restore oth-001; restore oth-009", "restore ctx-001 --at 5; restore ctx-001 oth-001 --at 5",
    "forget oth-001; forget oth-001 --yes; list --retired; show oth-001",
    "backup; edit ctx-001 --text 'Use ruff'; vote ctx-001 helpful; forget ctx-001 --dry-run; forget ctx-001 --yes",
    "forget; forget oth-001 --all-projects --yes; forget oth-009 --yes; forget --match 'a(b' --yes; log -n 1",
    "forget --match zebra --yes; forget --match zebra --dry-run",
    "forget --match '0.1[5]' --yes --json; show ctx-001; log ctx-001", "import other.json; import nosuch.json",
    "mirror on; textconv .claude/playbook.json; status; mirror off",
    "vote uoth-001 helpful; vote oth-001 upref-001 helpful; log -n 1; vote upref-001 helpful; log upref-001",
    "edit upref-001 --text Briefly; retire upref-001; restore upref-001; show upref-001; list",
    "--user add 'Speak English'; add 'Be kind' --user; list --user; export --user; list",
)  # fmt: skip
ELSEWHERE = {
    *SERVING,
    *("doctor", "learn", "bootstrap", "merge-driver"),  # they need other programs: docs/first-session.md, test_git.py
    *("team leave", "db transfer"),  # services, store
}


@pytest.mark.parametrize("typed", TYPED, ids=lambda typed: typed[:60])
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
    (folder / "batch.json").write_text(json.dumps(BATCH))
    (folder / "vain.json").write_text(json.dumps(BATCH[3:]))
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
