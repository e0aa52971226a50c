"""Hooks read Claude Code's settings and commands as json and shlex do, but faster."""

import json
import shlex
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playbook_db.claude_code import registration
from tests.tiers import few

_SETTINGS = (
    b'{"model": "x"}',
    b'\xef\xbb\xbf\r\n {"model": "x", "n": [1, 2.5, 1e400, NaN, null, true, "\\ud800 \\u00e4"]}\n\n',
    b'{"model": 1} x',
    b'{"model": "\xff"}',
    b"[" * 100_000 + b"model",
    b"",
)
_paths = st.text(st.sampled_from("ab /'\"$\\é-"), min_size=1, max_size=12).map(lambda text: f"/{text}")


@pytest.mark.parametrize("content", _SETTINGS)
def test_settings_are_read_as_json(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "settings.json"
    path.write_bytes(content)
    try:
        expected = json.loads(content)
    except (ValueError, RecursionError):
        expected = None

    assert repr(registration.read_settings(str(path), "model")) == repr(expected)


@few
@given(python=_paths, folder=_paths, worker=_paths)
def test_command_names_its_programs(python: str, folder: str, worker: str) -> None:
    command = registration.command("inject", scope="user", python=python, hooks_folder=folder, worker_python=worker)
    words = shlex.split(command, comments=True)
    assert registration.programs(command) == (words[2], words[7], words[-3].rstrip(";"))
