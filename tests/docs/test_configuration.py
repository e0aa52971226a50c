"""docs/configuration.md names each environment variable that the code reads."""

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

from playbook_db.claude_code.setup import configuration
from playbook_db.llm import anthropic_api, claude_cli
from playbook_db.services.playbook import dict_api
from playbook_db.store.team import time_limits

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
NAMED = set(re.findall(r"`([^`=]+)(?:=\w+)?`", PAGE))
VARIABLE = r"(?:PLAYBOOK|AGENTIC|CLAUDE|ANTHROPIC)_[A-Z_]*[A-Z]"


def test_each_variable_is_documented() -> None:
    assert "PLAYBOOK_DB_URL" in _variables()
    assert not _variables() - NAMED


def test_each_documented_variable_exists() -> None:
    assert not {name for name in NAMED if re.fullmatch(VARIABLE, name)} - _variables()


def test_settings_and_defaults_are_documented() -> None:
    defaults = (
        *(anthropic_api.DEFAULT_MODEL, anthropic_api.DEFAULT_URL, f"{anthropic_api.TIMEOUT_S:g}"),
        *(claude_cli.DEFAULT_MODEL, str(dict_api.DEFAULT_THRESHOLD)),
    )

    shown = " ".join(configuration.VARIABLES.values())
    assert {*configuration.NAMES_IN_SETTINGS} <= NAMED
    assert not [default for default in defaults if default not in re.split("[ ;]+", shown)]
    assert not [default for default in defaults if not re.search(rf"(`|\| ){re.escape(default)}(`| \|)", PAGE)]


def test_time_limits_are_documented() -> None:
    page = " ".join((ROOT / "docs" / "team.md").read_text(encoding="utf-8").split())

    assert f"wait for the server for {time_limits.REPLICA_S:g} seconds" in page
    assert f"ends with an error after at most {time_limits.ANSWER_S:g} seconds" in page


@functools.cache
def _variables() -> set[str]:
    return {*_variables_in_python(), *_variables_in_hooks()}


def _variables_in_python() -> Iterator[str]:
    for path in sorted((ROOT / "playbook_db").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and re.fullmatch(VARIABLE, node.value):
                yield node.value


def _variables_in_hooks() -> Iterator[str]:
    for path in sorted([*(ROOT / "hooks").iterdir(), *(ROOT / "bin").iterdir()]):
        if path.is_file():
            yield from re.findall(rf"\$\{{?({VARIABLE})", path.read_text(encoding="utf-8"))
            yield from re.findall(rf"^\s*({VARIABLE})=", path.read_text(encoding="utf-8"), re.MULTILINE)
