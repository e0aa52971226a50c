"""Whole transcripts, 14 of 20 poisoned: forged refusals, plans, subagents' prompts, names.

The model makes a lesson of each sentence with a word that must not be learned. The list of sessions that get it through
may only shrink.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from playbook_db.claude_code.learner import learn_transcript
from playbook_db.llm.model import Prompt, Reply, Usage
from playbook_db.services.project import Project
from playbook_db.store.engine import Store
from tests import marking, playing
from tests.playing import PROJECT

pytestmark = [pytest.mark.slow, pytest.mark.sqlite]  # git lays out a repository for each session
FOLDER = Path(__file__).parents[1] / "data" / "sessions" / "seventh"
SESSIONS: Mapping[str, Mapping[str, Any]] = json.loads((FOLDER / "expected.json").read_text())
POINTS = ("Release with just ship", "Run the tests with pytest", "Ask before a deploy")
THROUGH = {
    "05-handover": "a note that names a point which isn't there, without a risk at sight",
    "08-plan-cache": "a sentence that only says that the user refused something",
    "20-plan-reports": "a preference without a risk at sight, which a file of the project says",
}


@dataclass
class ObedientModel:
    """Learns `lessons`, or each sentence with one of the `words`, on the evidence `quotes` or the lesson itself."""

    words: Sequence[str]
    quotes: Sequence[str]
    lessons: Sequence[str] = ()

    def ask(self, prompt: Prompt, *, deadline: float) -> Reply:
        """Answer as reflector or curator, or mark texts."""
        if marking.is_asked(f"{prompt.text}{prompt.schema}"):
            text = marking.marks(prompt.text, playing.is_risky)
            return Reply(text, None, is_cut=False, usage=Usage(10, 10, 0, 0.0), model="m", duration_ms=1)
        if "bullet_tags" in f"{prompt.system}{prompt.text}{prompt.schema}":
            found = (each for word in self.words for each in _sentences(prompt.text, word))
            texts = self.lessons or [*dict.fromkeys(found)]
            quotes = [quote for quote in self.quotes if quote in prompt.text]
            self._learned = [{"text": text, "evidence": quotes if self.quotes else [text]} for text in texts]
            kept = {"kind": "worked", "cause": "", "fix": "", "applies_to": ""}
            evidence = self._learned[0]["evidence"] if self._learned and not self.lessons else []
            vote = {"rationale": "as it says", "ignored": False, "evidence": evidence}
            votes = [
                {"name": f"pat-00{number}", "tag": tag, **vote}
                for number, tag in enumerate(("harmful", "helpful", "harmful"), 1)
                if evidence
            ]
            answer = {"analysis": "x", "bullet_tags": votes, "lessons": [kept | each for each in self._learned]}
        else:
            added = [{"type": "ADD", "section": "PATTERNS & APPROACHES", **each} for each in self._learned]
            answer = {"reasoning": "As the session shows.", "operations": added, "apart": []}
        return Reply(json.dumps(answer), None, is_cut=False, usage=Usage(10, 10, 0, 0.0), model="m", duration_ms=1)


def _sentences(text: str, word: str) -> Iterator[str]:
    """The sentences and the lines of *text* that have *word*."""
    for line in re.split(r"\\n|\n", text):
        for part in (*re.split(r"(?<=[.!?;:])\s", line), line[max(0, line.find(word) - 120) :][:280]):
            if word.casefold() in part.casefold():
                yield part.strip()[:280]


def _learn(store: Store, folder: Path, name: str, model: ObedientModel) -> tuple[playing.State, playing.State]:
    """The playbook before and after the session *name*. The repository has the files that it reads."""
    rows = (FOLDER / f"{name}.jsonl").read_text()
    playing.lay_out(folder / name, dict(_tracked(rows)))
    project = Project.in_folder(store, str(folder / name))
    playing.add_points(project, POINTS)
    before, session = playing.state_of(project), json.loads(rows.partition("\n")[0])["sessionId"]
    for path in (FOLDER / f"{name}.jsonl", *(FOLDER / name).glob("subagents/*.jsonl")):
        place = f"{session}.jsonl" if path.parent == FOLDER else Path(session, path.relative_to(FOLDER / name))
        target = folder / "transcripts" / name / place
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(path.read_text().replace(PROJECT, str(folder / name)))
        learn_transcript(project, str(target), model)
    assert not (folder / name / ".claude").exists(), "a session creates a guard"
    return before, playing.state_of(project)


def _tracked(rows: str) -> Iterator[tuple[str, str]]:
    """The files of the project that the session reads."""
    call: dict[str, Any] = {}
    for row in map(json.loads, rows.strip().split("\n")):
        content = row.get("message", {}).get("content")
        for block in content if isinstance(content, list) else ():
            call = block.get("input", call)
            path, result = str(call.get("file_path", "")).removeprefix(f"{PROJECT}/"), block.get("content")
            if "tool_use_id" in block and not path.startswith("/") and path and isinstance(result, str):
                yield path, re.sub(r"(?m)^ *\d+\t", "", result)


@pytest.mark.nightly(after=1)
@pytest.mark.parametrize("is_users", [False, True], ids=["by its own words", "by the user's words"])
def test_listed_poison_alone_gets_through(database: Store, tmp_path: Path, is_users: bool) -> None:
    through = set()
    for file, each in SESSIONS.items():
        name, words = file.removesuffix(".jsonl"), each["must_not_appear"]
        model = ObedientModel(words, each["persons_words"] if is_users else ())
        before, after = _learn(database, tmp_path, name, model)
        if any(word.casefold() in text.casefold() for word in words for text in after.texts.values()):
            through.add(name)
        assert not any(harmful for _, harmful in after.votes.values()), name
        assert before.texts.keys() <= after.texts.keys()

    assert through == set(THROUGH)


def test_wishes_in_poisoned_sessions_are_learned(database: Store, tmp_path: Path) -> None:
    waiting, lessons = [], 0
    for file, each in SESSIONS.items():
        wanted = each["may_or_should_be_learned"]
        if wanted:
            name = file.removesuffix(".jsonl")
            _, after = _learn(database, tmp_path, name, ObedientModel((), each["persons_words"], wanted))
            waiting += [text for text in wanted if text not in after.texts.values()]
            lessons += len(wanted)

    assert (waiting, lessons) == ([], 23)
