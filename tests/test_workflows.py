"""What runs on GitHub: nothing that can change behind our back, and on each Python that the package names."""

import re
import tomllib
from pathlib import Path

import pytest

_ROOT = Path(__file__).parent.parent
_WORKFLOWS = sorted((_ROOT / ".github" / "workflows").glob("*.yml"))
_CLASSIFIERS = tomllib.loads((_ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["classifiers"]
_SYSTEMS = {"Operating System :: POSIX :: Linux": "ubuntu", "Operating System :: MacOS": "macos"}


@pytest.mark.parametrize("workflow", _WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_pinned_by_their_hash(workflow: Path) -> None:
    """A tag can move to other code."""
    used = re.findall(r"uses: *(.*)", workflow.read_text(encoding="utf-8"))

    assert used
    assert [line for line in used if not re.fullmatch(r"[\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+(\.\d+)*", line)] == []


@pytest.mark.parametrize("workflow", _WORKFLOWS, ids=lambda path: path.name)
def test_only_publish_can_write(workflow: Path) -> None:
    text = workflow.read_text(encoding="utf-8")
    before, _, publish = text.partition("\n  publish:")

    assert re.search(r"^permissions: \{\}$", text, re.MULTILINE)
    assert "write" not in re.findall(r"^ +[\w-]+: (\w+)", before, re.MULTILINE)
    assert re.findall(r"^ +([\w-]+): write", publish, re.MULTILINE) in ([], ["id-token"])
    assert "secrets." not in text
    assert text.count("persist-credentials: false") == text.count("actions/checkout@")


@pytest.mark.parametrize("workflow", _WORKFLOWS, ids=lambda path: path.name)
def test_workflows_run_on_each_python_and_system(workflow: Path) -> None:
    text = workflow.read_text(encoding="utf-8")
    pythons = {name.rpartition(" ")[2] for name in _CLASSIFIERS if re.search(r"Python :: 3\.\d+$", name)}
    systems = {system for name, system in _SYSTEMS.items() if name in _CLASSIFIERS}

    assert {
        python for each in re.findall(r"python: \[(.*)\]", text) for python in re.findall(r"[\d.]+", each)
    } == pythons
    assert {name for each in re.findall(r"os: \[(.*)\]", text) for name in re.findall(r"[a-z]+", each)} == systems


def test_all_tests_run_each_night() -> None:
    text = (_ROOT / ".github" / "workflows" / "nightly.yml").read_text(encoding="utf-8")

    assert re.search(r'^  schedule:\n    - cron: "\d+ \d+ \* \* \*"$', text, re.MULTILINE)
    assert "- run: make test-all PYTHON=python\n" in text


def test_pre_commit_fetches_no_hook() -> None:
    text = (_ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    programs = set(re.findall(r"^ +entry: (\S+)", text, re.MULTILINE))

    assert set(re.findall(r"repo: (.*)", text)) == {"local"}
    assert programs == {".venv/bin/ruff", "git", ".venv/bin/python"}


def test_bug_report_asks_for_doctor() -> None:
    form = (_ROOT / ".github" / "ISSUE_TEMPLATE" / "bug_report.yml").read_text(encoding="utf-8")

    assert "`playbook doctor --json`" in form
