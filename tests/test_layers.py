"""Which modules are imported when, where import-linter can't see it: most cases in a fresh interpreter."""

import ast
import os
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


def test_no_modules_import_each_other_in_a_circle() -> None:
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
    """The names of modules that the file *path* gives to `import_module` or `__import__`, or has in a table for that.
    Fails if a name comes from elsewhere."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    tables = {
        target.id: each.value
        for each in tree.body
        if isinstance(each, ast.Assign)
        for target in each.targets
        if isinstance(target, ast.Name)
    }
    package = ".".join(path.relative_to(PACKAGE.parent).parent.parts)
    names = set()
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and ast.unparse(call.func).endswith(("import_module", "__import__")):
            given = _texts_in(call.args[0], tables)
            assert given, f"{path}:{call.lineno}: give a literal, or a row of a table in this module"
            names |= {f"{package}{name}" if name.startswith(".") else name for name in given}
    return names


def _texts_in(value: ast.expr, tables: dict[str, ast.expr]) -> set[str]:
    """All texts of a literal, or of the *tables* of which *value* is a row."""
    if isinstance(value, ast.Constant):
        return {str(value.value)}
    while isinstance(value, ast.Subscript):
        value = value.value
    pending, seen, texts = ([value.id] if isinstance(value, ast.Name) else []), set[str](), set[str]()
    while pending:
        name = pending.pop()
        if name in tables and name not in seen:
            seen.add(name)
            parts = [*ast.walk(tables[name])]
            pending += [part.id for part in parts if isinstance(part, ast.Name)]
            texts |= {str(part.value) for part in parts if isinstance(part, ast.Constant)}
    return texts


def test_no_folder_of_the_package_holds_more_than_fourteen_modules() -> None:
    folders = Counter(path.parent for path in PACKAGE.rglob("*.py") if path.stem != "__init__")

    assert {str(folder): count for folder, count in folders.items() if count > 14} == {}


@pytest.mark.parametrize(
    "module",
    [
        "settings",
        "platforms",
        "projects",
        "errors",
        "domain.sections",
        "domain.prompt_text",
        "services.templates",
        "store.sqlite_open",
        "store.queries.hook_queries",
        "claude_code.hooks.showing",
        "claude_code.hooks.inject",
        "claude_code.hooks.remind",
        "domain.search_words",
        "claude_code.hooks.enqueue",
    ],
)
def test_what_a_hook_may_use_imports_next_to_nothing(module: str) -> None:
    """But `json`: these modules are for the hooks, whose imports cost time at every session."""
    loaded = _modules_after(f"import gc, json; before = set(sys.modules); import playbook_db.{module}")

    assert {name.partition(".")[0] for name in loaded} == {"playbook_db"}


@pytest.mark.parametrize("hook", ["inject", "remind", "enqueue"])
def test_a_hook_loads_platforms_only_where_it_starts_a_worker(hook: str) -> None:
    """Most starts of a session start none. To find its project, no hook asks which system this is."""
    key = "from playbook_db import projects; projects.project_key(projects.project_of('/'))"
    imported = _modules_after(f"from playbook_db.claude_code.hooks import {hook}; {key}")

    assert not imported & {"playbook_db.platforms", "fcntl"}


@pytest.mark.parametrize("beside", [(), ("another-20261120T101010Z.db",)], ids=["nothing", "another's backup"])
def test_a_session_without_a_database_loads_no_errors(tmp_path: Path, beside: tuple[str, ...]) -> None:
    """Most first sessions have none, and nothing that is lost."""
    (tmp_path / "backups").mkdir()
    for name in beside:
        (tmp_path / "backups" / name).touch()
    path = str(tmp_path / "playbook.db")

    imported = _modules_after(f"from playbook_db.store import sqlite_open; assert not sqlite_open.loss_of({path!r})")

    assert not imported & {"re", "playbook_db.errors"}


def test_help_loads_nothing_heavy() -> None:
    """The help of the whole imports each command's module, and those import what they need when they run."""
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
    """The folder of a project whose playbook has a live and a retired point, in Claude Code's own folder."""
    assert os.environ["HOME"].startswith(str(folder.parent))
    for command in (["add", "use ruff"], ["add", "use mypy"], ["retire", "oth-002"]):
        assert main(command) == 0
    return folder


def test_a_merge_for_git_loads_no_sqlalchemy(filled: Path) -> None:
    """Git starts it for each merge; what it asks the database, it asks as the hooks do."""
    assert main(["export", "-o", "ours"]) == 0
    for name in ("base", "theirs"):
        (filled / name).write_text((filled / "ours").read_text().replace('"last_updated": "', '"last_updated": "1'))

    assert not _loaded_by(_HEAVY, "merge-driver base ours theirs", "textconv ours")


def test_reading_loads_no_sqlalchemy(filled: Path) -> None:
    """Commands that only read do so as the hooks do."""
    assert not _loaded_by(
        _HEAVY,
        *("list", "list --json", "list --retired", "list use", "list --proposed", "search use"),
        *("show oth-001", "show oth-002 --json", "render", "status", ""),
        *("log", "log oth-001 --json", "jobs", "jobs --all", "sessions --json", "review", "config"),
        *("db path", "backup --list", "project list", "sql 'SELECT 1'", "help", "help --all"),
    )


def test_a_mistake_is_explained_without_sqlalchemy_and_without_redaction(filled: Path) -> None:
    """Its message only has our words and the user's arguments."""
    mistakes = (
        *("lst", "list --nothing", "show nothing", "show 99", "why nothing", "config nothing"),
        *("config AGENTIC_CONTEXT_BACKEND x", "--project nothing list"),
        *("sql 'SELECT nothing'", "sql 'DELETE FROM votes'", "sql 'SELECT * FROM nothing'"),
        *(
            "vote nothing helpful",
            "vote oth-001 uoth-001 helpful",
            "vote helpful",
            "edit nothing --text x",
            "edit oth-001",
        ),
        *(
            "retire oth-001 nothing",
            "pin nothing",
            "unpin nothing",
            "restore",
            "restore nothing",
            "forget nothing --yes",
        ),
        *("dedup --apart oth-001 nothing", "dedup --text x", "vote uoth-009 helpful", "--user retire nothing"),
        *("at nothing", "diff nothing", "diff 1 nothing", "log --since nothing", "undo nothing", "undo 2..1"),
        *("apply nothing", "apply .", "learn nothing", "export --markdown --extra"),
    )

    assert not _loaded_by((*_HEAVY, "playbook_db.domain.redaction"), *mistakes, codes="12")


def test_a_mistake_that_may_quote_a_file_loads_no_sqlalchemy(filled: Path) -> None:
    """A file is read before the services are loaded, and a section is looked up."""
    (filled / "broken.json").write_text("{")
    mistakes = (
        *("textconv nothing", "merge-driver base ours theirs", "import nothing.json", "import broken.json"),
        *("apply broken.json", "add text --section nothing", "edit oth-001 --section nothing"),
    )

    assert not _loaded_by(_HEAVY, *mistakes, codes="12")


def test_redacting_a_short_text_loads_little() -> None:
    """Each error that may quote another program waits for it."""
    redact = "redact_message('The database is locked.', {'PATH': '/bin', 'CLAUDE_PROJECT_DIR': '/work'})"
    loaded = _modules_after(f"from playbook_db.domain.redaction.redact import redact_message; {redact}")

    assert "playbook_db.domain.redaction.commands" in loaded
    assert not loaded & {"tomllib", "html", "json", "urllib.parse", "base64", "dataclasses"}


def test_what_learns_nothing_loads_no_patterns_of_secrets(filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """To compile them takes longer than most commands."""
    commands = ("vote oth-001 helpful", "add 'write tests'", "log", "undo", "why oth-001", "export", "stats")
    assert not _loaded_by(("playbook_db.domain.redaction.redact",), *commands)
    monkeypatch.setenv("PLAYBOOK_DB_URL", f"sqlite:///{filled}/playbook.db")
    assert not _loaded_by(("playbook_db.domain.redaction.redact",), "config")


def test_no_command_loads_what_it_does_not_use(filled: Path) -> None:
    """On a current database: no migrations, no other database's dialect, no model, nothing for a terminal."""
    assert not _loaded_by(
        _NEVER,
        "add 'write tests'",
        "edit oth-001 --text 'use ruff always'",
        "vote oth-001 helpful",
        "restore oth-002",
        "prune",
        "export",
        "log",
        "log oth-001 --json",
        "show 1",
        "at 1",
        "diff 1",
        "undo",
        "why oth-001",
        "sessions",
        "jobs",
        "work",
        "stats",
        "sql 'SELECT 1'",
        "backup",
        "db path",
        "project list",
        "mirror on",
        "forget oth-001 --yes",
    )
