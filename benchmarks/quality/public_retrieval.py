"""Public data for the search, read from a folder that the user names: sde-bench and LoCoMo, as their repositories are.

vectorize-io/sde-bench: a bug report, and the decision that it needs. snap-research/locomo: questions about long
conversations, and the turns that answer them.
"""

import json
import re
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.quality.retrieval_corpus import Point, Prompt

_SDE_BENCH = "*/tasks/main/task.json"
_SESSION = re.compile(r"session_\d+")


@dataclass(frozen=True, slots=True)
class Part:
    """Points, and prompts about these points alone."""

    points: Sequence[Point]
    prompts: Sequence[Prompt]


def read_sde_bench(corpus: Path, wording: str) -> Part | None:
    """Each decision as a point, bare or behind the names of its module and function.

    None where *corpus* has no sde-bench. Tasks that share a decision share a point.
    """
    folder = corpus / "sde-bench" if (corpus / "sde-bench").is_dir() else corpus
    tasks = [json.loads(path.read_text("utf-8")) for path in sorted(folder.glob(_SDE_BENCH))]
    if not tasks:
        return None
    places = [" ".join(filter(None, (task["module"], task.get("function")))) for task in tasks]
    texts = [
        task["policy"] if wording == "bare" else f"{place}: {task['policy']}"
        for place, task in zip(places, tasks, strict=True)
    ]
    names = {text: f"sde-{number:03}" for number, text in enumerate(dict.fromkeys(texts))}
    prompts = [Prompt(task["bug_report"], frozenset({names[text]})) for task, text in zip(tasks, texts, strict=True)]
    return Part([Point(name, text, age=age) for age, (text, name) in enumerate(names.items())], prompts)


def read_locomo(corpus: Path) -> Iterator[Part]:
    """Each conversation: its turns as points, its questions as prompts; nothing where *corpus* has no LoCoMo."""
    for talk in _talks(corpus):
        sessions = [rows for key, rows in talk.get("conversation", talk).items() if _SESSION.fullmatch(key)]
        turns = [turn for session in sessions for turn in session]
        points = [Point(turn["dia_id"], turn["text"], age=len(turns) - place) for place, turn in enumerate(turns)]
        there = {point.name for point in points}
        asked = [Prompt(row["question"], there.intersection(row.get("evidence", ()))) for row in talk["qa"]]
        yield Part(points, [prompt for prompt in asked if prompt.gold])


def _talks(corpus: Path) -> Iterator[dict[str, Any]]:
    """The conversations: in the repository packed, a file each; elsewhere often one file."""
    for path in (corpus / "locomo" / "data", corpus / "data", corpus):
        if (path / "locomo10.json").exists():
            yield from json.loads((path / "locomo10.json").read_text("utf-8"))
            return
        if (path / "locomo10.zip").exists():
            with zipfile.ZipFile(path / "locomo10.zip") as archive:
                for name in sorted(name for name in archive.namelist() if name.endswith(".json")):
                    yield json.loads(archive.read(name))
            return
