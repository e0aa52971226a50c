"""What may import what, where a linter can't see it: in a fresh interpreter."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow  # starts processes

_ALLOWED_FOR_A_HOOK = {"os", "sys", "playbook_db"}


def _modules_after(statement: str) -> set[str]:
    code = f"import sys; before = set(sys.modules); {statement}; print(*(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "module",
    [
        "settings",
        "projects",
        "errors",
        "domain.sections",
        "domain.prompt_text",
        "services.templates",
        "store.hook_queries",
        "claude_code.inject",
        "claude_code.enqueue",
    ],
)
def test_what_a_hook_may_use_imports_next_to_nothing(module: str) -> None:
    """The hooks use these modules too, and each import costs the user milliseconds at every start."""
    imported = {name.partition(".")[0] for name in _modules_after(f"import playbook_db.{module}")}

    assert imported <= _ALLOWED_FOR_A_HOOK


@pytest.mark.parametrize("command", ["--help", "--version"])
def test_a_command_that_needs_no_database_loads_none(command: str) -> None:
    """Sub-commands are imported when they are called, SQLAlchemy and Alembic when they are needed."""
    statement = f"from playbook_db.cli.main import main; import io; sys.stdout = io.StringIO(); main(['{command}']); "
    imported = _modules_after(f"{statement} sys.stdout = sys.__stdout__")

    assert not {name for name in imported if name.startswith("alembic")}


def test_a_command_on_a_current_database_does_without_alembic(tmp_path: object) -> None:
    """Alembic alone costs more than a whole command; the version stands in the file's header."""
    setup = f"from playbook_db.store.engine import open_store; url = 'sqlite:///{tmp_path}/p.db'"
    _modules_after(f"{setup}; open_store(url).close()")

    assert not {name for name in _modules_after(f"{setup}; open_store(url).close()") if name.startswith("alembic")}
