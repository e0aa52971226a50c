"""`python -m benchmarks.quality.arriving [DIR]`: which points reach a session by its start, its prompt and its file.

Real hooks run. Without DIR, the prompts and points are those of `retrieval.json`, and a point that names a file should
come with that file. DIR is a corpus that isn't part of this repository. It has `tasks.jsonl` (`file`, `prompt`,
`prompt_unnamed`, `own_points`), `points.jsonl` and `filler.jsonl` (`id`, `text`), `functions/` (the files of the
tasks), `unrelated_files/`, `unrelated_prompts.jsonl` (`prompt`), and perhaps `points_meta.jsonl` (`id`, `names`: the
kind of a point). With `--hooks FOLDER` the hooks of another checkout run, which must know the schema.
"""

import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import sandbox
from benchmarks.figures import Figures, show
from benchmarks.quality import retrieval_corpus as corpus
from playbook_db.domain.playbook import Header, KeyPoint, playbook_of
from playbook_db.domain.playbook_file import Reading
from playbook_db.domain.sections import OTHERS
from playbook_db.services.playbook import import_export

_PATIENTLY = """import sys
sys.path.append({root!r})
from playbook_db.claude_code.hooks import inject, remind
inject.DEADLINE_S = remind.DEADLINE_S = 600.0
__file__ = {file!r}
exec(open(__file__).read())
"""
_SEED = 52
_PATH = re.compile(r"(?<![\w./-])[\w-]+(?:/[\w.-]+)*/[\w-]+\.\w+")


class Sessions:
    """A project with a playbook, and new sessions in it that only run the hooks of a checkout, *root*."""

    def __init__(self, folder: Path, root: Path, points: Sequence[Mapping[str, str]]) -> None:
        self.folder, self.root = sandbox.project_folder(folder), root
        self._environment = {**sandbox.environment(folder), "PLAYBOOK_NO_SETUP": "1"}
        self._count = 0
        with sandbox.opened(folder) as (_, project):
            made = [KeyPoint(f"oth-{place:03}", each["text"], OTHERS) for place, each in enumerate(points, 1)]
            reading = Reading(playbook_of(made, header=Header()))
            import_export.import_playbook(project, reading, source="the corpus", replace=True)
        self.ids = {f"oth-{place:03}": each["id"] for place, each in enumerate(points, 1)}

    def begin(self) -> None:
        """Begin a new session."""
        self._count += 1

    def start(self) -> set[str]:
        """Which points the session's start brings."""
        return self._run("inject", hook_event_name="SessionStart", source="startup")

    def prompt(self, text: str) -> set[str]:
        """Which points a prompt brings."""
        return self._run("remind", hook_event_name="UserPromptSubmit", prompt=text)

    def read(self, path: Path) -> set[str]:
        """Which points the first call on a file brings."""
        call = {"file_path": str(path)}
        return self._run("tool", hook_event_name="PreToolUse", tool_name="Read", tool_input=call)

    def _run(self, hook: str, **fields: object) -> set[str]:
        session = f"session-{self._count}"
        event = {"session_id": session, "transcript_path": f"/gone/projects/p/{session}.jsonl", **fields}
        code = _PATIENTLY.format(root=str(self.root), file=str(self.root / "hooks" / f"{hook}.py"))
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", code, "user", "/bin/true"], input=json.dumps(event), text=True,
            env=self._environment, capture_output=True, check=True,
        )  # fmt: skip
        context = json.loads(done.stdout).get("hookSpecificOutput", {}).get("additionalContext", "")
        return {self.ids[line[1:].partition("]")[0]] for line in context.splitlines() if line.startswith("[oth-")}


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The objects of a file of JSON lines."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def arriving(
    sessions: Sessions, tasks: Sequence[Mapping[str, Any]], wording: str, kinds: Mapping[str, str]
) -> tuple[str, ...]:
    """The shares of own points that come by the start, the prompt, the file and by any of them; how many tasks have all
    of them; how many other points came by prompts and by files; how many own points of each of *kinds* came."""
    counts, whole, others, came = [0, 0, 0, 0], 0, [0, 0], Counter[str]()
    for task in tasks:
        sessions.begin()
        own = set(task["own_points"])
        start, prompt = sessions.start(), sessions.prompt(task[wording])
        file = sessions.read(sessions.folder / task["file"])
        parts = start, prompt, file, start | prompt | file
        counts = [count + len(own & part) for count, part in zip(counts, parts, strict=True)]
        whole += own <= parts[-1]
        came.update(kinds.get(each, "") for each in own & parts[-1])
        others = [others[0] + len(prompt - own), others[1] + len(file - own)]
    total = sum(len(task["own_points"]) for task in tasks)
    return (
        *(f"{count / total:.2f}" for count in counts),
        f"{whole} of {len(tasks)}",
        f"{others[0]}, {others[1]}",
        _of(came, kinds),
    )


def _of(came: Mapping[str, int], kinds: Mapping[str, str]) -> str:
    return ", ".join(f"{kind} {came[kind]} of {count}" for kind, count in sorted(Counter(kinds.values()).items()))


def noise(sessions: Sessions, prompts: Sequence[str], files: Sequence[Path]) -> Iterator[str]:
    """How many of the *prompts*, and how many of the *files*, bring a point, with the number of these points."""
    for ask, items in ((sessions.prompt, prompts), (sessions.read, files)):
        counts = []
        for item in items:
            sessions.begin()
            counts.append(len(ask(item)))  # type: ignore[operator]
        yield f"{sum(map(bool, counts))} of {len(counts)} ({sum(counts)})"


def _of_retrieval(folder: Path, root: Path) -> Iterator[tuple[str, ...]]:
    """What prompts and files bring among the points of `retrieval.json`, with right and other points."""
    points = [{"id": each.name, "text": each.text} for each in corpus.read_points("named") if each.live]
    sessions = Sessions(folder, root, points)
    asked = {
        "prompts that points are for": [each for split in corpus.SPLITS for each in corpus.read_prompts(split)],
        "prompts in Japanese": [
            each for split in corpus.SPLITS for each in corpus.read_prompts(split) if each.language == "ja"
        ],
        "continue, thanks and the like": [each for split in corpus.SPLITS for each in corpus.read_nothing(split)],
        "unrelated prompts": [each for split in corpus.UNRELATED for each in corpus.read_unrelated(split)],
    }
    for what, prompts in asked.items():
        yield what, *_told(sessions, [(partial(sessions.prompt, each.text), each.gold) for each in prompts])
    named = [(path, each["id"]) for each in points for path in dict.fromkeys(_PATH.findall(each["text"]))]
    reads = [(partial(sessions.read, sessions.folder / path), frozenset([point])) for path, point in named]
    yield "files that a point names", *_told(sessions, reads)


def _told(sessions: Sessions, moments: Sequence[tuple[Callable[[], set[str]], frozenset[str]]]) -> tuple[str, ...]:
    """How many *moments*, each in a new session, bring a point, one of the right ones, and how many others."""
    answered = right = others = 0
    for moment, gold in moments:
        sessions.begin()
        told = moment()
        answered, right, others = answered + bool(told), right + bool(told & gold), others + len(told - gold)
    return f"{len(moments)}", f"{answered}", f"{right}", f"{others}"


def _rows(place: Path, folder: Path, root: Path, sizes: Sequence[int]) -> Iterator[tuple[str, ...]]:
    tasks, own, filler = (read_lines(place / f"{name}.jsonl") for name in ("tasks", "points", "filler"))
    meta = place / "points_meta.jsonl"
    kinds = {each["id"]: each["names"] for each in read_lines(meta)} if meta.exists() else {}
    prompts = [each["prompt"] for each in read_lines(place / "unrelated_prompts.jsonl")]
    for size in sizes:
        points = [*own, *filler[: size - len(own)]]
        random.Random(_SEED).shuffle(points)
        home = folder / f"{size}"
        home.mkdir()
        sessions = Sessions(home, root, points)
        shutil.copytree(place / "functions", sessions.folder, dirs_exist_ok=True)
        shutil.copytree(place / "unrelated_files", sessions.folder, dirs_exist_ok=True)
        found = sorted((place / "unrelated_files").rglob("*"))
        files = [sessions.folder / each.relative_to(place / "unrelated_files") for each in found if each.is_file()]
        beside = list(noise(sessions, prompts, files))
        for wording in ("prompt", "prompt_unnamed"):
            yield f"{len(points):,} points, {wording}", *arriving(sessions, tasks, wording, kinds), *beside


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.arriving", description=__doc__)
    parser.add_argument("corpus", type=Path, metavar="DIR", nargs="?")
    parser.add_argument(
        "--hooks", type=Path, metavar="FOLDER", default=sandbox.ROOT, help="the checkout whose hooks run"
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=[120, 1000], metavar="N", help="points of the playbook")
    given = parser.parse_args()
    columns = (
        "",
        "start",
        "prompt",
        "file",
        "all",
        "tasks",
        "others",
        "by kind",
        "unrelated prompts",
        "unrelated files",
    )
    with tempfile.TemporaryDirectory(prefix="playbook-arriving-") as folder:
        made, root = Path(os.path.realpath(folder)), given.hooks.resolve()
        if given.corpus is None:
            columns = ("", "moments", "answered", "with the right point", "other points")
            print(
                show(
                    Figures("Which points come among those of retrieval.json", columns, list(_of_retrieval(made, root)))
                )
            )
            return
        rows = list(_rows(given.corpus, made, root, given.sizes))
    note = "others: points of other tasks, or filler, at prompts and files; in brackets: how many points"
    print(show(Figures("Which points reach a session", columns, rows, (note,))))


if __name__ == "__main__":
    main()
