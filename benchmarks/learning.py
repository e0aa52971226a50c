"""Learning with a model that answers at once: one huge transcript, and thousands of small ones as `bootstrap` does."""

import json
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks import isolated, sandbox
from benchmarks.figures import Figures
from playbook_db.claude_code import learner
from playbook_db.llm.model import Prompt, Reply, Usage

_HUGE_BYTES = 500_000_000
_TRANSCRIPTS = 5_000
_TITLES = {"huge": "one of {:,} MB", "many": "{:,} of 7 KB", "again": "the same {:,} again"}
_QUICK_BYTES, _QUICK_TRANSCRIPTS = 500_000, 5


@dataclass
class AtOnce:
    """A model that answers at once: one helpful vote, and nothing to change."""

    asked: int = 0

    def ask(self, prompt: Prompt, *, deadline: float) -> Reply:
        """The same answer each time."""
        self.asked += 1
        answer = {"analysis": "fine", "bullet_tags": [], "lessons": [], "reasoning": "", "apart": [], "operations": []}
        return Reply(json.dumps(answer), answer, False, Usage(1, 1, 0, None), "at once", 0)


def run(folder: Path, *, quick: bool) -> Figures:
    """One transcript of 500 MB and 5,000 transcripts, each in a process of its own."""
    size, count = (_QUICK_BYTES, _QUICK_TRANSCRIPTS) if quick else (_HUGE_BYTES, _TRANSCRIPTS)
    rows = []
    for what, amount in (("huge", size), ("many", count), ("again", count)):
        told = json.loads(
            subprocess.run(
                [sys.executable, "-m", "benchmarks.learning", what, str(amount), str(folder)],
                env={**sandbox.environment(folder), "PYTHONPATH": str(sandbox.ROOT)},
                capture_output=True,
                text=True,
                check=True,
            ).stdout
        )
        rows.append(
            (
                {"huge": f"one of {amount // 10**6} MB", "many": f"{amount:,} of 7 KB", "again": "the same again"}[
                    what
                ],
                f"{told['seconds']:.1f} s",
                f"{told['chunks']:,}",
                f"{told['calls']:,}",
                f"{told['peak_mib']:.0f} MiB",
            )
        )
    return Figures(
        "Learning from transcripts, with a model that answers at once",
        ("", "time", "chunks", "calls", "peak memory"),
        rows,
        ("reading, cutting, masking, and one transaction for each answer and each chunk",),
    )


def work(what: str, amount: int, folder: Path) -> dict[str, float]:
    """Do one of the measurements; what it took."""
    from tests.transcripts import a_session, write_long

    model = AtOnce()
    transcripts = []
    if what == "huge":
        transcripts = [write_long(folder / "huge.jsonl", amount)]
    elif what == "many":
        for number in range(amount):
            session = a_session(6)
            session.user(f"session {number}")
            content = session.content().replace(b'"uuid": "', f'"uuid": "{number}-'.encode())
            path = folder / f"{number}.jsonl"
            path.write_bytes(content)
            transcripts.append(str(path))
    else:
        transcripts = sorted(str(path) for path in folder.glob("[0-9]*.jsonl"))
    with sandbox.opened(folder) as (_, project):
        started = time.monotonic()
        chunks = sum(len(learner.learn_transcript(project, path, model).learned) for path in transcripts)
        seconds = time.monotonic() - started
    peak = isolated.peak_bytes() / 2**20
    return {"seconds": seconds, "chunks": chunks, "calls": model.asked, "peak_mib": peak}


if __name__ == "__main__":
    print(json.dumps(work(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]))))
