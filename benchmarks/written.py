"""`python -m benchmarks.written COMMIT`: what a session writes to the disk, with this checkout and with COMMIT.

A session is its start, three prompts, its end, and the worker that learns from it, each in its own process. A model on
loopback answers at once. The bytes are those of the pages that the processes made dirty: `write_bytes` in Linux's
/proc/self/io, to which the kernel adds those of children that have ended. The median of some sessions, after one to
warm up. The last column is what the model's API read from its cache, by the rules of its documentation.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks import sandbox, versions
from benchmarks.figures import Figures, show
from benchmarks.hooks import prompt, session_end, session_start
from tests.messages_api import MessagesApi, PromptCache
from tests.transcripts import a_session

_SESSIONS = 9
_PROMPTS = 3
_STEPS = ("start", "prompts", "end", "worker")
_ANSWER = {
    "analysis": "fine", "bullet_tags": [{"id": "pat-001", "tag": "helpful"}], "lessons": [], "reasoning": "",
    "apart": [], "operations": [],
}  # fmt: skip


def main() -> int:
    """Compare, and print the figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.written", description=__doc__)
    parser.add_argument("commit", help="what to compare with, as git knows it")
    commit = parser.parse_args().commit
    with tempfile.TemporaryDirectory(prefix="playbook-written-") as name:
        folder = Path(name)
        with versions.checkout(commit, folder / "old") as old:
            roots = {commit: old, "now": sandbox.ROOT}
            rows = [(each, *_measured(folder / each, root)) for each, root in roots.items()]
    notes = (f"KiB; medians of {_SESSIONS} sessions with {_PROMPTS} prompts, a playbook of {versions.POINTS} points",)
    print(show(Figures("Written to the disk for a session", ("", *_STEPS, "in all", "cached"), rows, notes)))
    return 0


def _measured(folder: Path, root: Path) -> tuple[str, ...]:
    """What each step of a session writes with the code in *root*, and the share of the prompts that was cached."""
    folder, environment = versions.home(folder, root)
    cache = PromptCache()
    with MessagesApi(json.dumps(_ANSWER), cache=cache) as api:
        environment |= {"ANTHROPIC_BASE_URL": api.url, "ANTHROPIC_API_KEY": "sk-ant-test-key"}
        sessions = [[*_steps(root, folder, environment, number)] for number in range(1 + _SESSIONS)][1:]
    medians = [statistics.median(step) / 1024 for step in zip(*sessions, strict=True)]
    whole = statistics.median(map(sum, sessions)) / 1024
    read, prompts = (
        sum(getattr(usage, name) for usage in cache.usages[1:] for name in names)
        for names in (_READ, (*_READ, "input_tokens", "cache_creation_input_tokens"))
    )
    return *(f"{size:,.0f}" for size in (*medians, whole)), f"{read / prompts:.0%} of {len(cache.usages)} calls"


_READ = ("cache_read_input_tokens",)


def _steps(root: Path, folder: Path, environment: dict[str, str], number: int) -> Iterator[int]:
    """Go through one session, and yield the bytes that each step writes."""
    session = f"session-{number}"
    transcript = folder / f"{session}.jsonl"
    made = a_session(6)
    made.user(f"session {number}")
    transcript.write_bytes(made.content().replace(b'"uuid": "', f'"uuid": "{number}-'.encode()))
    worker = [sys.executable, "-P", "-m", "playbook_db.claude_code.worker"]
    for commands in (
        [(versions.patient("inject", root), session_start(session))],
        [(versions.patient("remind", root), prompt(session))] * _PROMPTS,
        [(versions.patient("enqueue", root), {**session_end(session), "transcript_path": str(transcript)})],
        [(worker, None)],
    ):
        before = _bytes_written()
        for command, event in commands:
            told = "" if event is None else json.dumps(event)
            done = subprocess.run(
                command, input=told, env=environment, cwd=folder, capture_output=True, text=True, check=False
            )
            assert not done.returncode, done.stderr
        yield _bytes_written() - before


def _bytes_written() -> int:
    """The bytes of the pages that this process and its ended children made dirty."""
    counts = dict(line.split(": ") for line in Path("/proc/self/io").read_text(encoding="ascii").splitlines())
    return int(counts["write_bytes"])


if __name__ == "__main__":
    sys.exit(main())
