"""vectorize-io/sde-bench (MIT), read from a folder that the user names: bug reports whose right fix needs a decision.

An earlier conversation made it. Nobody can guess it; a hidden test checks it.

It is not part of this repository. Whoever has no copy gets a made-up one with the same form and three tasks.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.end_to_end import sde_sample

COMMIT = "afcce15c1f608242e28e48832c301f39c5aed708"
DIGEST = "085f9276a9e0c5bf3fb2fe90df872ce8d2b0e2ab395183d901b6d2c9858502da"
HOW = f"git clone https://github.com/vectorize-io/sde-bench DIR && git -C DIR checkout {COMMIT}"
_SENTENCE_ENDS = re.compile(r"(?<=[.!?])\s+|\n+")
_WORD = re.compile(r"\w{3,}")


class CorpusError(Exception):
    """The corpus is missing, cut or of another version; the text says what to do."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """What a user and an assistant said: (role, text) in order."""

    turns: Sequence[tuple[str, str]]

    def sentences(self, role: str = "") -> list[str]:
        """All sentences, or those of one *role*."""
        return [each for said_by, text in self.turns if role in ("", said_by) for each in sentences_of(text)]

    def closest(self, text: str, count: int, role: str = "") -> list[str]:
        """The *count* sentences that share most words with *text*, the best first."""
        wanted = words_of(text)
        return sorted(self.sentences(role), key=lambda each: -len(wanted & words_of(each)))[:count]


@dataclass(frozen=True, slots=True)
class Task:
    """A bug report, the `place` that it is about (module and function), and the `policy` that its right fix needs.

    `conversations` made the policy. If there are two, the second one changed what the first one had decided.
    """

    id: str
    folder: Path
    module: str
    place: str
    policy: str
    bug_report: str
    conversations: Sequence[Conversation]
    works: Sequence[str]  # tests that pass before the fix, too
    checks: Sequence[str]  # tests that pass only after the right fix

    @property
    def main(self) -> Path:
        """The folder of its tests."""
        return self.folder / "tasks" / "main"

    @property
    def point(self) -> str:
        """The key point that a perfect curator makes of it."""
        return f"{self.place}: {self.policy}"

    @property
    def old_point(self) -> str:
        """The point of the first conversation, if a second one changed it; else `""`."""
        if len(self.conversations) < 2:
            return ""
        return f"{self.place}: {self.conversations[0].closest(self.policy, 1)[0]}"


def read(corpus: Path) -> list[Task]:
    """The tasks with a decision in a conversation. Raises CorpusError."""
    folder = corpus / "sde-bench" if (corpus / "sde-bench").is_dir() else corpus
    if not (folder / "MANIFEST.json").is_file():
        raise CorpusError(f"There is no sde-bench in {corpus}; run: {HOW}")
    digest = hashlib.sha256()
    tasks = []
    names = [each["task_id"].removesuffix("-001") for each in _json(folder / "MANIFEST.json")["tasks"]]
    for name in sorted(names):
        path = folder / name / "tasks" / "main" / "task.json"
        row = _json(path)
        digest.update(json.dumps(row, sort_keys=True).encode())
        if row.get("conversations"):
            tasks.append(_task(path, row))
    if digest.hexdigest() not in (DIGEST, sde_sample.DIGEST):
        raise CorpusError(f"The sde-bench in {folder} isn't the version of commit {COMMIT[:7]}; run: {HOW}")
    return tasks


def decoys(corpus: Path) -> list[Conversation]:
    """The conversations that decide nothing. Raises CorpusError."""
    folder = corpus / "sde-bench" if (corpus / "sde-bench").is_dir() else corpus
    return [_conversation(each["turns"]) for each in _json(folder / "gen" / "decoy_conversations.json")]


def sentences_of(text: str) -> Iterator[str]:
    """The sentences of *text* that have three words or more."""
    for sentence in _SENTENCE_ENDS.split(text):
        if len(sentence.split()) >= 3:
            yield " ".join(sentence.split())


def words_of(text: str) -> set[str]:
    """The words of *text* with three letters or more, in lower case."""
    return set(_WORD.findall(text.lower()))


def _task(path: Path, row: dict[str, Any]) -> Task:
    talks = row["conversations"]
    talks = talks if isinstance(talks[0], list) else [talks]
    place = " ".join(filter(None, (row["module"], row.get("function"))))
    return Task(
        row["task_id"],
        path.parents[2],
        row["module"],
        place,
        row["policy"],
        row["bug_report"],
        [_conversation(talk) for talk in talks],
        row["pass_to_pass"],
        [*row["fail_to_pass"], *row["hidden_to_pass"]],
    )


def _conversation(turns: Sequence[dict[str, str]]) -> Conversation:
    return Conversation([(turn["role"], turn["text"]) for turn in turns])


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise CorpusError(f"The sde-bench is cut: {path} can't be read ({error}); run: {HOW}") from error
