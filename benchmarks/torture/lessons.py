"""Mutated transcripts and mutated replies of the model: something is learned, or it is explained why not."""

import contextlib
import io
import json
import random
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks import sandbox
from benchmarks.torture.mutants import in_bytes, in_values
from benchmarks.torture.promises import promise
from playbook_db.cli.main import main as playbook
from playbook_db.services import maintenance
from tests.messages_api import Answer, MessagesApi, Request
from tests.quoting import quoting
from tests.transcripts import TranscriptBuilder

_ONE_PROJECT = 40  # transcripts and replies before a new one, so that none grows large
_LOOK_EVERY = 8
_SAID = "errand of r-{}"  # by the user, in the session that a reply is about
_REFLECTION = {
    "analysis": "Errand went well.",
    "bullet_tags": [
        {"name": "oth-001", "tag": "helpful", "rationale": "It was followed.", "ignored": False, "evidence": [_SAID]}
    ],
    "lessons": [
        {
            "kind": "worked",
            "text": "say done",
            "cause": "",
            "fix": "",
            "applies_to": "make",
            "evidence": ["1 failed", _SAID],
        }
    ],
}
_OPERATIONS = [
    {"type": "ADD", "text": "lesson {}", "section": "OTHERS", "evidence": [_SAID]},
    {"type": "UPDATE", "target_id": "oth-001", "text": "reworded {}", "evidence": [_SAID]},
    {"type": "MERGE", "source_ids": ["oth-001", "oth-002"], "merged_text": "merged {}", "evidence": [_SAID]},
    {"type": "DELETE", "target_id": "oth-003", "reason": "{}", "evidence": [_SAID]},
]


@dataclass(slots=True)
class Lessons:
    """How many transcripts and replies were tried, and how the commands ended, by exit code."""

    transcripts: int = 0
    replies: int = 0
    codes: Counter[int] = field(default_factory=Counter)


def run(folder: Path, *, transcripts: int, replies: int, seed: int) -> Lessons:
    """Learn from what is drawn from *seed*. Raises AssertionError where a promise is broken."""
    found = Lessons()
    reply: list[str] = []  # what the model says next, whatever it is asked

    def said(request: Request) -> Answer:
        is_reflector = "bullet_tags" in json.dumps(request.body)
        sane = json.dumps(_REFLECTION if is_reflector else {"reasoning": "none", "operations": []})
        return Answer(reply[is_reflector] if reply else sane)

    with MessagesApi(quoting(said)) as api:
        keys = {"ANTHROPIC_BASE_URL": api.url, "ANTHROPIC_API_KEY": "sk-ant-test", "PLAYBOOK_DAILY_TOKENS": "0"}
        with sandbox.living_in({**sandbox.environment(folder), **keys, "AGENTIC_CONTEXT_BACKEND": "api"}):
            for number in range(transcripts):
                rng = random.Random(f"{seed}-transcript-{number}")
                _learn(folder, number, _transcript(number, rng), found, f"transcript {number} of seed {seed}")
                found.transcripts += 1
            for number in range(replies):
                rng = random.Random(f"{seed}-reply-{number}")
                reply[:] = _reply(number, rng)
                _learn(folder, number, _session(f"r-{number}").content(), found, f"reply {number} of seed {seed}")
                found.replies += 1
            problems = maintenance.check_database(sandbox.database_url(folder)).problems
            promise(not problems, f"the database is not sound: {problems}")
    return found


def _learn(folder: Path, number: int, transcript: bytes, found: Lessons, what: str) -> None:
    """Learn from *transcript*, then look at the playbook: no command ends with a bug."""
    home = folder / f"project-{number // _ONE_PROJECT}"
    if not home.exists():
        home.mkdir()
        for text in ("use uv", "run one test first", "say why in the commit"):
            _command(found, what, "add", text, "--project", str(home))
    file = folder / "session.jsonl"
    file.write_bytes(transcript)
    _command(found, what, "learn", str(file), "--project", str(home))
    for command in ("list", "render", "log") if number % _LOOK_EVERY == 0 else ():
        promise(_command(found, what, command, "--project", str(home)) == 0, f"{what}: `playbook {command}` fails")


def _command(found: Lessons, what: str, *arguments: str) -> int:
    told = io.StringIO()
    with contextlib.redirect_stdout(io.TextIOWrapper(io.BytesIO(), "utf-8")), contextlib.redirect_stderr(told):
        code = playbook(list(arguments))
    promise(code in (0, 1), f"{what}: `playbook {' '.join(arguments)}` ended with {code}: {told.getvalue()[-3000:]}")
    found.codes[code] += 1
    return code


def _session(session_id: str) -> TranscriptBuilder:
    built = TranscriptBuilder(session_id)
    built.user(f"errand of {session_id}")
    built.run("pytest -x", "1 failed", is_error=True)
    built.assistant("Following [oth-001].")
    built.compaction()
    built.user("thanks")
    return built


def _transcript(number: int, rng: random.Random) -> bytes:
    """A session after some accidents to its lines and its bytes."""
    built = _session(f"t-{number}")
    for _ in range(rng.choice((0, 1, 1, 3))):
        place = rng.randrange(len(built.lines))
        built.lines[place] = json.dumps(in_values(json.loads(built.lines[place]), rng))
    return in_bytes(built.content(half=rng.choice(("", "", '{"type": "user", "mess'))), rng)


def _reply(number: int, rng: random.Random) -> list[str]:
    """What the curator and the reflector say, one of them after some accidents."""
    asked: list[Any] = json.loads(json.dumps(rng.choices(_OPERATIONS, k=rng.randint(0, 5))).replace("{}", str(number)))
    reflected = json.loads(json.dumps(_REFLECTION).replace("{}", str(number)))
    values: list[Any] = [{"reasoning": "as told", "apart": [["oth-001", "oth-002"]], "operations": asked}, reflected]
    hurt = rng.randrange(2)
    for _ in range(rng.choice((0, 1, 2))):
        values[hurt] = in_values(values[hurt], rng)
    texts = [json.dumps(value, ensure_ascii=rng.random() < 0.5).encode("utf-8", "surrogatepass") for value in values]
    texts[hurt] = in_bytes(texts[hurt], rng)
    return [text.decode("utf-8", "surrogateescape") for text in texts]
