"""The hook of tool calls shows the points that fit a file at the first call on it."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from playbook_db import settings
from playbook_db.claude_code import registration, worker
from playbook_db.claude_code.hooks import remind, touched
from tests.claude_code import running
from tests.claude_code.running import SESSION, Client

pytestmark = pytest.mark.slow  # starts processes

HEADER = "src/api/users.py: parse_header wants bytes, never text"
FILLERS = tuple(f"service {number} keeps a ledger" for number in range(37))
_SHOWN = "SELECT event, source, points FROM showings ORDER BY time"

client = running.client_fixture(HEADER, *FILLERS)


def _read(client: Client, path: str = "src/api/users.py", tool: str = "Read", **fields: Any) -> dict[str, Any]:
    return {**client.call(tool, file_path=str(client.folder / path)), **fields}


def _shown(client: Client, event: object, **options: Any) -> list[str]:
    done = client.run("tool", event, **options)
    assert (done.code, done.err) == (0, b"")
    return done.names


def _in_shell(client: Client, event: object, tmp_path: Path, *, by: str = "settings") -> tuple[bytes, int]:
    """The output of the registered command, and how often it has started Python so far."""
    python, starts = tmp_path / "python3", tmp_path / "starts"
    if not python.exists():
        (tmp_path / "patient.py").write_text(running.patient("tool"))
        python.write_text(
            f"#!/bin/sh\necho >> '{starts}'\nshift 3\nexec '{running.PYTHON}' -I -S '{tmp_path}/patient.py' \"$@\"\n"
        )
        python.chmod(0o755)
    command = registration.command(
        "tool", scope="user", python=str(python), hooks_folder=str(running.HOOKS), worker_python="/bin/true"
    )
    if by == "plugin":
        (client.data / "runtime").mkdir(exist_ok=True)
        (client.data / "runtime" / "interpreter").unlink(missing_ok=True)
        (client.data / "runtime" / "interpreter").symlink_to(python)
        command = f"'{running.HOOKS}/start' tool"
    done = subprocess.run(
        ["/bin/sh", "-c", command], capture_output=True,
        input=json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode() + b"\n",
        env={**os.environ, "PLAYBOOK_NO_SETUP": "1"}, cwd=client.folder, timeout=running.PATIENCE_S, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout, len(starts.read_text().splitlines()) if starts.exists() else 0


def test_first_call_shows_fitting_points(client: Client) -> None:
    done = client.run("tool", _read(client))

    assert json.loads(done.out)["hookSpecificOutput"]["hookEventName"] == "PreToolUse"
    assert done.context.splitlines()[1:] == [f"[oth-001] helpful=0 harmful=0 :: {HEADER}"]
    assert client.rows(_SHOWN) == [("UserPromptSubmit", "file", "[1]")]
    assert _shown(client, _read(client, tool="Edit")) == []
    assert not client.remind(client.prompt("why does parse_header in src/api/users.py fail?")).has_context
    assert client.log() == []


def test_file_is_new_again_after_a_compaction(client: Client) -> None:
    assert [touched.is_first("s-1", "/shop/a.py") for _ in range(2)] == [True, False]

    for _ in range(2):  # the second time nothing was touched
        touched.forget("s-1")

    assert touched.is_first("s-1", "/shop/a.py")


@pytest.mark.parametrize("by", ["settings", "plugin"])
@pytest.mark.parametrize("name", ["src/api/users.py", "an odd ähm*name [x]/users.py"])
def test_later_calls_start_no_python(client: Client, tmp_path: Path, by: str, name: str) -> None:
    client.add(f"{name} is written by src/api/make.py alone")
    assert b"written by" in _in_shell(client, _read(client, name), tmp_path, by=by)[0]

    again = client.call("Write", file_path=str(client.folder / name), content='"file_path":"/x" ' * 50_000)
    assert _in_shell(client, again, tmp_path, by=by) == (b"", 1)
    assert _in_shell(client, _read(client, name + "2"), tmp_path, by=by)[1] == 2
    assert b"written by" in _in_shell(client, _read(client, name, session_id="other"), tmp_path, by=by)[0]
    client.inject(client.start("compact"))
    assert _in_shell(client, _read(client, name, tool="Edit"), tmp_path, by=by)[1] == 4


@pytest.mark.parametrize(
    "path",
    [
        "../src/api/users.py", "", None, ["src/api/users.py"], "\0", "\ud800", "src", "a\\b\"c\n",
        "$(touch x) `touch x` 'x", "x/" * 5000, "*",
    ],
    ids=lambda path: repr(path)[:12],
)  # fmt: skip
def test_odd_paths_show_nothing(client: Client, tmp_path: Path, path: object) -> None:
    before = sorted(client.folder.iterdir())
    name = str(client.folder / path) if isinstance(path, str) else path
    event = client.call("Read", file_path=name)
    if path != "\ud800":
        assert [_in_shell(client, event, tmp_path)[0] in (b"{}\n", b"") for _ in range(2)] == [True, True]
    assert _shown(client, event) == []
    assert client.log() == []
    assert sorted(client.folder.iterdir()) == before
    assert {each.name for each in Path(settings.touched_dir()).glob("*")} <= {SESSION}


def _write(client: Client, path: str, content: str | bytes) -> None:
    file = client.folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content.encode() if isinstance(content, str) else content)


def test_file_shows_points_about_its_definitions(client: Client) -> None:
    client.add(
        "the queue rests at night: `drain_queue` gives up", "RetryPolicy needs jitter", "always call `check()` twice",
        "check the drain queue", "src/api/other.py: drain it", "`check` what you write", "lib/work.py keeps its lock",
    )  # fmt: skip
    _write(client, "lib/work.py", "class RetryPolicy:\n    def drain_queue(self):\n        def check(): ...\n")
    assert _shown(client, _read(client, "lib/work.py")) == ["oth-045", "oth-040", "oth-039", "oth-041"]


def test_ambiguous_file_names_show_nothing(client: Client) -> None:
    client.add("clutch.py wants oil", "gearbox.py wants oil", "gearbox.py wants air", "lib/gearbox.py wants water")
    assert _shown(client, _read(client, "lib/clutch.py")) == ["oth-039"]
    assert _shown(client, _read(client, "lib/gearbox.py")) == ["oth-042"]
    assert _shown(client, _read(client, "lib/pinion.py")) == []


def test_file_shows_six_points_at_most(client: Client) -> None:
    """They have 2,500 characters at most."""
    client.add(*[f"lib/small.py, rule {number}" for number in range(8)])
    client.add(*[f"lib/large.py, rule {number}: " + "x" * 900 for number in range(4)], "lib/large.py, the short rule")
    client.change("UPDATE key_points SET resting = 1 WHERE name = 'oth-039'")
    assert _shown(client, _read(client, "lib/small.py")) == [f"oth-{number:03}" for number in range(40, 46)]
    assert len(_shown(client, _read(client, "lib/large.py"))) == 3


@pytest.mark.parametrize("kind", ["binary", "1 GB", "pipe", "a link to /dev/zero"])
def test_odd_files_define_nothing(client: Client, kind: str) -> None:
    client.add("`drain_queue` gives up at night")
    _write(client, "lib/work.py", "def drain_queue(): ...\n" + "\0" * (kind == "binary"))
    path = client.folder / "lib" / "work.py"
    if kind == "1 GB":
        os.truncate(path, 1 << 30)
    elif kind != "binary":
        path.unlink()
        if kind == "pipe":
            os.mkfifo(path)
        else:
            path.symlink_to("/dev/zero")

    done = Client(client.folder, client.database, client.home).run("tool", _read(client, "lib/work.py"))

    assert done.answer == running.SILENT
    assert running.is_in_time(done, remind.DEADLINE_S)
    assert client.log() == []


def test_notebooks_are_files(client: Client) -> None:
    path = str(client.folder / "src/api/users.py")
    assert _shown(client, client.call("NotebookEdit", notebook_path=path)) == ["oth-001"]


def test_setting_turns_files_off(client: Client) -> None:
    path = client.home / ".claude" / "settings.json"
    path.write_text(json.dumps({"playbook_on_file": False}))
    assert _shown(client, _read(client)) == []
    assert client.remind(client.prompt("why does parse_header in src/api/users.py fail?")).has_context


def test_points_of_the_start_return_later(client: Client) -> None:
    """A file shows them more than 50 tool calls after the start."""
    client.inject(client.start())
    client.transcript.parent.mkdir(parents=True, exist_ok=True)
    call = '{"type":"user","sourceToolAssistantUUID":"x"}\n'
    start = '{"type":"attachment","attachment":{"hookEvent":"SessionStart"}}\n'
    client.transcript.write_text(call * 60 + start + call * 50)
    assert _shown(client, _read(client)) == []

    touched.forget(SESSION)
    client.transcript.write_text(start + call * 51)
    assert _shown(client, _read(client)) == ["oth-001"]


def test_prompts_files_and_errors_share_a_limit(client: Client) -> None:
    """The limit is 18,000 characters between two compactions."""
    texts = [f"src/gearbox_{number}.py with clutch_{number}: " + "x" * 800 for number in range(24)]
    client.add(*texts)
    client.inject(client.start(session_id="another"))
    length = 0
    for number in range(24):
        events = (
            _read(client, f"src/gearbox_{number}.py"), client.prompt(f"what is clutch_{number} for?"),
            client.failure("jammed", command=f"src/gearbox_{number}.py clutch_{number}"),
        )  # fmt: skip
        done = client.run("tool" if number % 3 == 0 else "remind", events[number % 3])
        length += len(done.context) if done.has_context else 0
    assert 15_000 < length <= 18_000

    client.inject(client.start("compact"))
    client.change("UPDATE showings SET points = '[]' WHERE source = 'compact'")
    assert _shown(client, _read(client, "src/gearbox_23.py")) == ["oth-062"]


def test_large_playbook_has_a_higher_limit(client: Client) -> None:
    """It is 24,000 characters from 1,000 points on."""
    client.add(*[f"src/gearbox_{number}.py: " + "x" * 2000 for number in range(12)])
    for session, points, expected in ("a", 1000, 8), ("b", 1001, 10):
        client.change(f"UPDATE heads SET live_points = {points}")
        events = [_read(client, f"src/gearbox_{number}.py", session_id=session) for number in range(12)]
        assert sum(len(_shown(client, event)) for event in events) == expected


def _task(client: Client, prompt: object = "fix parse_header in src/api/users.py", **fields: Any) -> dict[str, Any]:
    return client.call("Agent", description="d", prompt=prompt, **fields)


def test_task_gets_fitting_points(client: Client) -> None:
    task = _task(client, subagent_type="reviewer", run_in_background=False, more={"a": ["ä", 1.5, None]})
    client.inject(client.start())
    for _ in range(2):
        (changed,) = [json.loads(client.run("tool", task).out)["hookSpecificOutput"]["updatedInput"]]
        prompt, points = changed["prompt"].split("\n\n")
        assert {**changed, "prompt": prompt} == task["tool_input"]
        assert points.splitlines()[1:] == [f"[oth-001] helpful=0 harmful=0 :: {HEADER}"]
    assert client.rows(_SHOWN)[1:] == [("SubagentStart", "task", "[1]")] * 2
    assert client.log() == []


@pytest.mark.parametrize("prompt", ["", None, ["src/api/users.py"], "\0", "a poem"])
def test_other_tasks_are_unchanged(client: Client, prompt: object) -> None:
    assert client.run("tool", _task(client, prompt)).out == b"{}\n"
    assert client.log() == []


@pytest.mark.parametrize(("kind", "has_points"), [(None, True), ("general-purpose", True), ("Explore", False)])
def test_setting_names_types_of_tasks(client: Client, kind: str | None, has_points: bool) -> None:
    task = _task(client, **({"subagent_type": kind} if kind else {}))
    assert (b"updatedInput" in client.run("tool", task).out) is has_points
    (client.home / ".claude" / "settings.json").write_text('{"playbook_subagents": []}')
    assert client.run("tool", task).out == b"{}\n"


def test_points_of_a_task_keep_their_limit(client: Client) -> None:
    """The limit is 4,000 characters."""
    client.add(*[f"gearbox_{number} and clutch_{number}: " + "x" * 700 for number in range(9)])
    words = " ".join(f"gearbox_{number} clutch_{number}" for number in range(9))
    changed = json.loads(client.run("tool", _task(client, words)).out)["hookSpecificOutput"]["updatedInput"]
    assert 2000 < len(changed["prompt"]) - len(words) <= 4002


def test_worker_removes_old_session_files(client: Client) -> None:
    for session in (SESSION, "old", "another"):
        assert touched.is_first(session, "/a")
    touched.forget("another")
    os.utime(Path(settings.touched_dir(), "old"), (0, 0))
    assert worker.run(f"sqlite:///{client.database}") is not None
    assert os.listdir(settings.touched_dir()) == [SESSION]
