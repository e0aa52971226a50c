"""The pages of docs/: their commands exist, and print what the page shows."""

import re
from pathlib import Path

import pytest

from playbook_db.web import serve
from tests.cli.conftest import Playbook, playbook  # noqa: F401 - a fixture
from tests.docs.consoles import ROOT, fault, mentioned, same, type_into, typed
from tests.recording import FOLDER, HOME

PAGES = {
    str(page.relative_to(ROOT)): page.read_text(encoding="utf-8")
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
}
# what these need is a full playbook, a server, older hooks: their own tests have them
ELSEWHERE = {"docs/sql.md", "docs/team.md", "docs/team-reference.md"}
WITH_COMMANDS = [name for name, text in PAGES.items() if typed(text) and name not in ELSEWHERE]
# They need a second folder, a repository or a backup, as other tests have; doctor takes seconds: once is enough.
PASSED_OVER = {
    "docs/move-in.md": ("playbook project move",),
    "docs/install.md": ("playbook uninstall --git", "playbook doctor", "playbook restore-backup"),
    "README.md": ("playbook doctor",),
    "docs/trouble.md": ("playbook doctor",),
}
ADDRESS = "http://127.0.0.1:8123/s/0123456789abcdef0123456789abcdef/?token=once"
MAX_USER_PAGES, MAX_WORDS = 18, 33_283
GONE = (
    "PLAYBOOK_HOLDOUT", "session_comparison", "session_impact", "point_trials", "stats --svg", "review --edit",
    "PLAYBOOK_WITHHELD", "playbook-db[mcp]", "make_mcp_lists", "upgrade --sql", "raw pages", "full_disk",
)  # fmt: skip


@pytest.mark.nightly(after=1)
@pytest.mark.slow
@pytest.mark.parametrize("name", WITH_COMMANDS)
def test_commands_print_what_the_page_shows(
    name: str,
    folder: Path,
    home: Path,
    playbook: Playbook,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A session learns through the recorded model of examples/."""
    (folder / ".claude").rmdir()
    (folder / "examples").mkdir()
    for name_there in ("session.jsonl", "examples/session.jsonl"):
        (folder / name_there).write_bytes((ROOT / "examples" / "session.jsonl").read_bytes())
    monkeypatch.setenv("PLAYBOOK_CLAUDE", str(ROOT / "examples" / "recorded_claude.py"))
    monkeypatch.setenv("AGENTIC_CONTEXT_BACKEND", "cli")

    monkeypatch.setattr(serve, "serve", lambda *_, opened, **__: opened(ADDRESS))  # tests/web serves for real

    def run(arguments: list[str]) -> str:
        result = playbook(*arguments)
        assert result.code == 0 or "undo" in arguments, f"{arguments}\n{result.err}"
        return (result.out + result.err).replace(str(folder), FOLDER).replace(str(home), HOME)

    for step in typed(PAGES[name]):
        if not step.command.startswith(PASSED_OVER.get(name, ())):
            printed = type_into(folder, step.command, run)
            assert same(printed, step.printed), f"$ {step.command}\n{printed}"


@pytest.mark.parametrize("name", PAGES)
def test_commands_and_options_on_pages_exist(name: str) -> None:
    assert [wrong for command in mentioned(PAGES[name]) if (wrong := fault(command))] == []


def test_no_page_names_a_removed_feature() -> None:
    internals = (ROOT / "docs" / "internals").glob("*.md")
    others = {str(page): page.read_text(encoding="utf-8") for page in [ROOT / "ARCHITECTURE.md", *internals]}

    assert {page: name for page, text in (PAGES | others).items() for name in GONE if name in text} == {}


def test_documentation_stays_small() -> None:
    """The page of commands is generated, so it doesn't count."""
    pages = [page for page in (ROOT / "docs").rglob("*.md") if page.name != "commands.md"]
    words = sum(len(page.read_text(encoding="utf-8").split()) for page in pages)
    users = PAGES["docs/README.md"].partition("\n## For users\n")[2].partition("\n## ")[0]

    assert 0 < len(set(re.findall(r"\]\(([^)#]+)", users))) <= MAX_USER_PAGES
    assert words <= MAX_WORDS


def test_index_names_each_page() -> None:
    pages = {Path(name).name for name in PAGES if name.startswith("docs/")}

    assert {name for name in pages if f"({name})" not in PAGES["docs/README.md"]} == {"README.md"}


def test_unknown_command_is_found() -> None:
    right = ["playbook --user list", "playbook jobs retry|drop ID", "playbook --db URL db grant ben member > file"]

    assert [fault(command) for command in right] == [None] * 3
    assert fault("playbook lst") == "there is no command lst"
    assert fault("playbook --user list --nosuch") == "list has no option --nosuch"
    assert fault("playbook db mend") == "there is no command mend"


def test_page_may_leave_lines_out() -> None:
    assert same("one\n2026-11-22 10:00 two\nthree\n", "one\n...\nthree\n")
    assert same("at 2026-11-22 10:00:01+00:00\n", "at 2026-10-01 09:00:00+02:00\n")
    assert not same("one\ntwo\n", "one\n")
    assert not same("one\nthree\n", "one\n...\ntwo\n")
