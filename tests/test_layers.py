"""Which modules are imported when, where import-linter can't see it: most cases in a fresh interpreter."""

import ast
import os
import re
import shlex
import subprocess
import sys
from collections import Counter
from pathlib import Path

import grimp
import pytest

import playbook_db
from playbook_db.cli.main import cli, main

pytestmark = pytest.mark.slow  # each starts processes
PACKAGE = Path(playbook_db.__file__).parent
_HEAVY = ("sqlalchemy", "alembic", "rich", "anthropic", "filelock", "asyncio")
# What a command that goes to the database leaves alone: migrations, the other database, models.
_NEVER = ("alembic", "sqlalchemy.dialects.postgresql", "sqlalchemy.orm", "anthropic", "rich", "jinja2")
_OF_THE_USER = "playbook_db.services.playbook.dict_api"  # it imports the module of the user's embedder
_RUN = """
import sys
from playbook_db.cli.main import main
said = sys.stdout
for command in {commands}:
    sys.stdout = sys.stderr
    code = main(command)
    print(code, *sys.modules, file=said)
"""


def _modules_after(statement: str) -> set[str]:
    code = f"import sys; before = set(sys.modules); {statement}; print(*(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def _loaded_by(packages: tuple[str, ...], *commands: str, codes: str = "0") -> dict[str, set[str]]:
    """The modules of *packages* that each `playbook` command has loaded; commands that load none are left out.

    The commands run one after the other in one process, and end with one of *codes*."""
    code = _RUN.format(commands=[shlex.split(command) for command in commands])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    lines = [line.split() for line in done.stdout.splitlines()]
    assert {line[0] for line in lines} <= {*codes}, done.stderr
    loaded = {command: _of(packages, set(line[1:])) for command, line in zip(commands, lines, strict=True)}
    return {command: modules for command, modules in loaded.items() if modules}


def _of(packages: tuple[str, ...], modules: set[str]) -> set[str]:
    return {module for module in modules for package in packages if f"{module}.".startswith(f"{package}.")}


def test_no_modules_import_in_a_circle() -> None:
    """Late imports, those for types and those by a name in a string count, too."""
    graph = grimp.build_graph("playbook_db", cache_dir=None)
    for path in PACKAGE.rglob("*.py"):
        importer = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")
        if importer == _OF_THE_USER:
            continue
        for imported in _imported_by_name(path) & graph.modules:
            graph.add_import(importer=importer, imported=imported)
    circles = {
        frozenset({module} | (graph.find_upstream_modules(module) & graph.find_downstream_modules(module)))
        for module in graph.modules
    }

    assert [sorted(circle) for circle in circles if len(circle) > 1] == []


def _imported_by_name(path: Path) -> set[str]:
    """All texts of a module that imports by name."""
    source = path.read_text(encoding="utf-8")
    if not re.search(r"\b(?:import_module|__import__)\(", source):
        return set()
    package = ".".join(path.relative_to(PACKAGE.parent).parent.parts)
    texts = {each.value for each in ast.walk(ast.parse(source)) if isinstance(each, ast.Constant)}
    names = {text for text in texts if isinstance(text, str)}
    return {f"{package}{name}" if name.startswith(".") else name for name in names}


def test_folders_have_fourteen_modules_at_most() -> None:
    folders = Counter(path.parent for path in PACKAGE.rglob("*.py") if path.stem != "__init__")

    assert {str(folder): count for folder, count in folders.items() if count > 14} == {}


@pytest.mark.parametrize(
    "module",
    [
        *("settings", "platforms", "projects", "errors", "domain.sections", "domain.prompt_text"),
        *("domain.search_words", "services.templates", "store.sqlite_open", "store.queries.hook_queries"),
        *("claude_code.hooks.showing", "claude_code.hooks.inject", "claude_code.hooks.remind"),
        "claude_code.hooks.enqueue",
    ],
)
def test_hook_modules_import_almost_nothing(module: str) -> None:
    loaded = _modules_after(f"import gc, json; before = set(sys.modules); import playbook_db.{module}")

    assert {name.partition(".")[0] for name in loaded} == {"playbook_db"}


@pytest.mark.parametrize("hook", ["inject", "remind", "enqueue"])
def test_hooks_load_no_platforms_without_a_worker(hook: str) -> None:
    key = "from playbook_db import projects; projects.project_key(projects.project_of('/'))"
    imported = _modules_after(f"from playbook_db.claude_code.hooks import {hook}; {key}")

    assert not imported & {"playbook_db.platforms", "fcntl"}


def test_help_loads_nothing_heavy() -> None:
    commands = _commands(cli)

    assert len(commands) > 30
    helps = [f"{command} --help" for command in commands]
    assert not _loaded_by((*_HEAVY, "subprocess"), "--version", "--help", *helps)


def _commands(group: object, before: str = "") -> list[str]:
    import click

    assert isinstance(group, click.Group)
    context = click.Context(group)
    names: list[str] = []
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        names.append(f"{before}{name}")
        if isinstance(command, click.Group):
            names += _commands(command, f"{before}{name} ")
    return names


@pytest.fixture
def filled(folder: Path) -> Path:
    """The folder of a project with a live and a retired point."""
    assert os.environ["HOME"].startswith(str(folder.parent))
    for command in (["add", "use ruff"], ["add", "use mypy"], ["retire", "oth-002"]):
        assert main(command) == 0
    return folder


def test_merge_for_git_loads_no_sqlalchemy(filled: Path) -> None:
    assert main(["export", "-o", "ours"]) == 0
    for name in ("base", "theirs"):
        (filled / name).write_text((filled / "ours").read_text().replace('"last_updated": "', '"last_updated": "1'))

    assert not _loaded_by(_HEAVY, "merge-driver base ours theirs", "textconv ours")


def test_reading_loads_no_sqlalchemy(filled: Path) -> None:
    assert not _loaded_by(
        _HEAVY,
        *("list", "list --json", "list --retired", "list use", "list --proposed", "search use"),
        *("show oth-001", "show oth-002 --json", "render", "status", ""),
        *("log", "log oth-001 --json", "jobs", "jobs --all", "sessions --json", "review", "config"),
        *("db path", "backup --list", "project list", "sql 'SELECT 1'", "help", "help --all"),
    )


def test_mistakes_load_no_sqlalchemy_or_redaction(filled: Path) -> None:
    mistakes = (
        *("lst", "list --nothing", "show nothing", "show 99", "why nothing", "config nothing"),
        *("config AGENTIC_CONTEXT_BACKEND x", "--project nothing list"),
        *("sql 'SELECT nothing'", "sql 'DELETE FROM votes'", "sql 'SELECT * FROM nothing'"),
        *("vote nothing helpful", "vote oth-001 uoth-001 helpful", "vote helpful", "retire oth-001 nothing"),
        *("edit nothing --text x", "edit oth-001", "pin nothing", "unpin nothing", "restore", "restore nothing"),
        "forget nothing --yes",
        *("dedup --apart oth-001 nothing", "dedup --text x", "vote uoth-009 helpful", "--user retire nothing"),
        *("at nothing", "diff nothing", "diff 1 nothing", "log --since nothing", "undo nothing", "undo 2..1"),
        *("apply nothing", "apply .", "learn nothing", "export --markdown --extra"),
    )

    assert not _loaded_by((*_HEAVY, "playbook_db.domain.redaction"), *mistakes, codes="12")


def test_mistakes_in_files_load_no_sqlalchemy(filled: Path) -> None:
    (filled / "broken.json").write_text("{")
    mistakes = (
        *("textconv nothing", "merge-driver base ours theirs", "import nothing.json", "import broken.json"),
        *("apply broken.json", "add text --section nothing", "edit oth-001 --section nothing"),
    )

    assert not _loaded_by(_HEAVY, *mistakes, codes="12")


def test_commands_load_no_patterns_of_secrets(filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiling them takes longer than most commands."""
    commands = ("vote oth-001 helpful", "add 'write tests'", "log", "undo", "why oth-001", "export", "stats")
    assert not _loaded_by(("playbook_db.domain.redaction.redact",), *commands)
    monkeypatch.setenv("PLAYBOOK_DB_URL", f"sqlite:///{filled}/playbook.db")
    assert not _loaded_by(("playbook_db.domain.redaction.redact",), "config")


def test_commands_load_no_unused_modules(filled: Path) -> None:
    assert not _loaded_by(
        _NEVER,
        *("add 'write tests'", "edit oth-001 --text 'use ruff always'", "vote oth-001 helpful", "restore oth-002"),
        *("prune", "export", "log", "log oth-001 --json", "show 1", "at 1", "diff 1", "undo", "why oth-001"),
        *("sessions", "jobs", "work", "stats", "sql 'SELECT 1'", "backup", "db path", "project list", "mirror on"),
        "forget oth-001 --yes",
    )
