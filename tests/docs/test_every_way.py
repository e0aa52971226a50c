"""The documented questions, each with its answer checked, on a playbook that was changed in every way there is:
commands, hooks and the worker, dict functions, a mirror, undo, restore, import, prune, merge, duplicates, forget.

What is expected is counted here, from what was done and from the playbook as `at` and `log` have it, not by the views.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from playbook_db import settings
from playbook_db.claude_code import worker
from playbook_db.contract import (
    apply_bullet_tags,
    load_playbook,
    run_deduplication,
    save_playbook,
    update_playbook_data,
)
from playbook_db.domain.playbook import KeyPoint, Playbook
from playbook_db.services.project import Project
from playbook_db.services.reading import history
from playbook_db.services.reading import sql as sql_service
from playbook_db.store import user_sql
from playbook_db.store.engine import open_store
from playbook_db.store.queries.revision_log import LoggedRevision
from tests.builders import a_sections_dict, an_entry, list_retired
from tests.claude_code import running
from tests.claude_code.running import Client
from tests.cli.conftest import Playbook as Command
from tests.cli.conftest import playbook  # noqa: F401 - a fixture
from tests.learning.conftest import MessagesApi, answers, curation, model_at, reflection
from tests.transcripts import TranscriptBuilder

pytestmark = [pytest.mark.slow, pytest.mark.allow_hosts(["127.0.0.1"])]

QUESTIONS = {question.title: question.sql for question in sql_service.parse_questions(sql_service.read_docs())}
PATTERNS, MISTAKES, CONTEXT, OTHERS = "PATTERNS & APPROACHES", "MISTAKES TO AVOID", "PROJECT CONTEXT", "OTHERS"
IMPORTED = a_sections_dict(
    {
        PATTERNS: [
            an_entry("pat-001", "one", 3, 0), an_entry("pat-002", "two", 1, 0), an_entry("pat-003", "three", 0, 0),
        ],
        MISTAKES: [an_entry("mis-001", "four", 2, 0), an_entry("mis-002", "five", 0, 0)],
        "USER PREFERENCES": [an_entry("pref-001", "six", 2, 1)],
        CONTEXT: [an_entry("ctx-001", "seven", 0, 0), an_entry("ctx-009", "nobody looks at it", 0, 0)],
        OTHERS: [an_entry("oth-001", "eight", 0, 0)],
    }
)  # fmt: skip
TEACHES, TEACHES_NOTHING = "aaaaaaaa-0000-4000-8000-000000000001", "bbbbbbbb-0000-4000-8000-000000000002"


@dataclass(frozen=True)
class Cast:
    """A vote as it was cast: in which revision, on what, by which session."""

    revision: int
    name: str
    tag: str
    session: str | None = None
    rationale: str | None = None
    is_matched: bool = True


@dataclass
class Life:
    """What was done, kept apart from the database."""

    project: Project
    votes: list[Cast] = field(default_factory=list)
    undone: set[int] = field(default_factory=set)

    @property
    def log(self) -> list[LoggedRevision]:
        """All revisions, oldest first."""
        return list(history.log(self.project, history.LogQuery()))[::-1]

    @property
    def now(self) -> Playbook:
        """The playbook as it is."""
        return self.at(len(self.log))

    def at(self, revision: int) -> Playbook:
        """The playbook as it was."""
        return history.at(self.project, str(revision)).playbook

    @property
    def counted(self) -> list[Cast]:
        """The votes that count now."""
        return [vote for vote in self.votes if vote.revision not in self.undone]


@pytest.fixture(autouse=True)
def _no_network() -> None:
    """In place of the one for all tests, which allows no socket at all."""


@pytest.fixture
def life(
    folder: Path,
    home: Path,
    playbook: Command,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Life]:
    """A playbook that was changed in every way."""
    client = running.a_client(folder, home, is_patient=True)
    client.transcript.parent.mkdir(parents=True)
    with open_store(settings.database_url()) as store:
        made = Life(Project.in_folder(store, str(folder)))
        _live(made, client, playbook, monkeypatch)
        yield made


def _live(life: Life, client: Client, run: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def by_command(*arguments: str, **options: Any) -> int:
        done = run(*arguments, **options)
        assert done.code == 0, done.err
        return len(life.log)

    def vote(name: str, tag: str) -> int:
        number = by_command("vote", name, tag)
        life.votes.append(Cast(number, name, tag))
        return number

    (client.folder / "in.json").write_text(json.dumps(IMPORTED))
    by_command("import", "in.json")
    vote("pat-001", "helpful")
    harmful = vote("pat-001", "harmful")
    batch = [{"type": "DELETE", "target_id": "pat-999"}, {"type": "UPDATE", "target_id": "mis-002", "text": "FIVE"}]
    (client.folder / "batch.json").write_text(json.dumps(batch))
    by_command("apply", "batch.json")
    _sessions(life, client, monkeypatch)
    program = update_playbook_data(
        load_playbook(),
        {
            "operations": [
                {"type": "DELETE", "target_id": "oth-001", "reason": "out of date"},
                {"type": "ADD", "text": "from a program", "section": "OTHERS"},
                {"type": "ADD", "text": "from a program"},
            ]
        },
    )
    save_playbook(apply_bullet_tags(program, [{"name": "ctx-001", "tag": "harmful", "rationale": "not so"}]))
    life.votes.append(Cast(len(life.log), "ctx-001", "harmful", rationale="not so"))
    mirror = client.folder / ".claude" / "playbook.json"
    text = mirror.read_text()
    assert '"text": "six"' in text
    mirror.write_text(text.replace('"text": "six"', '"text": "SIX"'))
    before_restore = by_command("list") - 1
    by_command("undo", str(harmful))
    undone = vote("ctx-001", "helpful")
    by_command("undo", str(undone))
    by_command("undo")
    life.undone = {harmful, undone + 1}
    by_command("retire", "ctx-001", "--reason", "for a while")
    by_command("restore", "ctx-001")
    by_command("restore", "pref-001", "--at", str(before_restore))
    for _ in range(3):
        vote("mis-001", "harmful")
    vote("ctx-009", "neutral")
    by_command("prune")
    (client.folder / "merge.json").write_text(
        json.dumps([{"type": "MERGE", "source_ids": ["pat-004", "pat-001"], "merged_text": "one, two and three"}])
    )
    by_command("apply", "merge.json")
    for text in ("the tide comes at noon", "at noon comes the tide"):
        by_command("add", text, "--section", "ctx")
    monkeypatch.setenv("PLAYBOOK_EMBEDDER", f"{__name__}:embed")
    save_playbook(run_deduplication(load_playbook()))
    deduplicated = len(life.log)
    assert [change.kind for change in life.log[-1].changes].count("retire") == 1
    life.undone |= {vote("mis-002", "helpful"), vote("pref-001", "harmful")}
    by_command("restore", "--at", str(deduplicated))
    by_command("add", "the door code is 4711", "--section", "ctx")
    by_command("forget", "ctx-012", "--yes")


def embed(texts: list[str]) -> list[list[float]]:
    """Two texts about the tide are alike, and unlike all others."""
    return [[float("tide" in text), *(float(text == each and "tide" not in text) for each in texts)] for text in texts]


def _sessions(life: Life, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three sessions by the real hooks, the first compacted once; the worker learns of two of them."""
    for session, source in ((TEACHES, "startup"), (TEACHES, "compact"), (TEACHES_NOTHING, "startup"), ("c", "startup")):
        assert client.inject(client.start(source, session_id=session)).has_context
    merge = {"type": "MERGE", "source_ids": ["pat-002", "pat-003"], "merged_text": "two and three"}
    voted = reflection(("pat-001", "helpful"), ("pat-003", "harmful"), ("pat-777", "helpful"))
    for session, cited, model in (
        (TEACHES, "pat-001", answers(voted, curation(merge, reasoning="They say the same."))),
        (TEACHES_NOTHING, "pref-001", answers(reflection(analysis="Nothing."), curation())),
    ):
        path = client.transcript.with_name(f"{session}.jsonl")
        built = TranscriptBuilder(session)
        built.user("mend the bug first, and say what it was")
        built.assistant(f"Following [{cited}], I run the tests.")
        built.write(path)
        client.enqueue(client.end(session_id=session, transcript_path=str(path)))
        with MessagesApi(*model) as api:
            model_at(api, monkeypatch)
            worker.run(settings.database_url())
            assert len(api.messages()) == 2
        if session == TEACHES:
            number = len(life.log)
            for name in ("pat-001", "pat-777"):  # the harmful vote waits for a person
                life.votes.append(Cast(number, name, "helpful", session, f"{name} was helpful", name != "pat-777"))


def _balance(point: KeyPoint) -> int:
    return point.helpful - point.harmful


def _sum(rows: list[tuple[Any, ...]], column: int) -> Any:
    return sum(row[column] for row in rows)


def expected(life: Life) -> dict[str, Any]:
    """The answers, all columns or the first ones; a callable looks at the rows itself."""
    now, log = life.now, life.log
    retired = list_retired(life.project)
    times = {revision.number: revision.time for revision in log}
    counted = [vote for vote in life.counted if vote.is_matched]
    shown = [name for name in life.at(4).by_name if name in now.by_name]
    reworded = [
        (revision.number, change.point.name, revision.source, (revision.session_id or "")[:8] or None,
         change.before.text, change.point.text)
        for revision in log for change in revision.changes
        if change.before is not None and change.before.text != change.point.text
    ]  # fmt: skip
    sessions = history.sessions(life.project)
    by_session = Counter(change.kind for revision in log if revision.session_id for change in revision.changes)
    last_merge = next(r.number for r in log for c in r.changes if c.successor == "pat-005")
    learned = next(r.number for r in log if r.source == "learn")
    kinds = Counter(change.kind for revision in log for change in revision.changes)
    return {
        "Which points help most?": [
            (p.name, p.helpful, p.harmful, _balance(p))
            for p in sorted(now.points, key=lambda p: (-_balance(p), p.name))[:5]
        ],
        "What happened in the last week?": [
            (r.number, r.time[:16], r.source, len(r.changes), r.message) for r in log[::-1]
        ],
        "What was the life of one point?": [
            (r.number, r.time[:10], r.source, c.kind, c.point.helpful, c.point.harmful, c.reason or r.message)
            for r in log for c in r.changes if c.point.name == "pat-001"
        ],
        "Which points were retired, and why?": lambda rows: {(row[0], row[2], row[3]) for row in rows}
        == {(name, each.revision, each.reason) for name, each in retired.items()},
        "What did each session teach?": [
            (TEACHES[:8], times[learned][:10], by_session["add"], 0, by_session["retire"], by_session["vote"])
        ],
        "Which curator operations were skipped, by reason?": [
            ("there is no point pat-999", 1, times[1][:10], "DELETE"),
        ],
        "How did the playbook grow, day by day?": lambda rows: (
            *(_sum(rows, column) for column in (1, 2, 3)),
            rows[-1][4],
        )
        == (kinds["add"], kinds["restore"], kinds["retire"], len(now.points)),
        "What did learning cost, week by week?": lambda rows: [_sum(rows, 1), _sum(rows, 2) + _sum(rows, 3)]
        == [5, sum(session.tokens for session in sessions)],
        "Which points are shown often and never cited?": lambda rows: {row[:2] for row in rows}
        == {(name, 3) for name in shown if name not in ("pat-001", "pref-001")},
        "What would pruning take next?": [
            (p.name, p.helpful, p.harmful, max(3 - p.harmful, p.helpful - p.harmful + 1, 0))
            for p in sorted(
                (p for p in now.points if p.harmful),
                key=lambda p: (max(3 - p.harmful, p.helpful - p.harmful + 1, 0), -p.harmful, p.name),
            )[:5]
        ],
        "Who reworded a point, and what did it say before?": sorted(reworded, key=lambda row: (-row[0], row[1])),
        "Which points did one come from, however many merges ago?": [
            ("pat-001", "pat-005", last_merge, 1, "merged into pat-005"),
            ("pat-004", "pat-005", last_merge, 1, "merged into pat-005"),
            ("pat-002", "pat-004", learned, 2, "merged into pat-004"),
            ("pat-003", "pat-004", learned, 2, "merged into pat-004"),
        ],
        "What was proposed, and what became of it?": [(1, "VOTE", "pat-003", 1, "waiting")],
        "Are points shown by prompt cited more often than those shown by rank?": [
            ("SessionStart", 3 * len(life.at(4).points), 2, round(200 / 3 / len(life.at(4).points), 1),
             *(sum(vote.session is not None and vote.tag == tag for vote in counted) for tag in ("helpful", "harmful")))
        ],
        "Which points had helped most by the end of October?": [],  # the life is later
    }  # fmt: skip


@pytest.mark.nightly
def test_each_documented_question_is_answered_truly(life: Life) -> None:
    """Votes that were undone count nowhere, those of programs and of the worker alike count, and what left says why."""
    wanted: dict[str, list[tuple[Any, ...]] | Callable[[list[tuple[Any, ...]]], bool]] = expected(life)
    assert wanted.keys() == QUESTIONS.keys()

    wrong = {}
    for title, want in wanted.items():
        statement = QUESTIONS[title].replace("pat-014", "pat-001").replace("pat-018", "pat-005")
        with user_sql.ask(settings.database_url(), statement, project_key=life.project.key) as answer:
            rows = [tuple(row) for row in answer.rows]
        if callable(want):
            if not want(rows):
                wrong[title] = rows
        elif [row[: len(want[0])] for row in rows] != want if want else rows:
            wrong[title] = (rows, want)

    assert wrong == {}
