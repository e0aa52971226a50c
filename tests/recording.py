"""A small playbook with something for each command and page to show, and how an output is recorded."""

import json
import re

from sqlalchemy import text as sql

from playbook_db.domain.operations import cast_votes
from playbook_db.domain.playbook import NOTE, KeyPoint, Skipped, Vote
from playbook_db.domain.sections import OTHERS
from playbook_db.domain.trust.evidence import Evidence
from playbook_db.domain.trust.following import Trial
from playbook_db.services.playbook import edit
from playbook_db.services.project import Project
from playbook_db.store.playbook.learning import Call, ChunkKey
from playbook_db.store.playbook.repository import PlaybookRepository, RevisionOrigin
from playbook_db.store.queries import hook_queries, list_queries

SESSION = "5f1c2e1a-0000-4000-8000-000000000000"
FOLDER, HOME = "/home/ann/shop", "/home/ann"
_CHANGING = {
    r"\d{4}-\d\d-\d\d[ T_]\d\d:?\d\d(:?\d\d)?([.-]\d+)?([+-]\d\d:?\d\d|Z)?": "TIME",
    r"\d{8}T\d{6}(\.?\d+)?Z?(-\d+)?": "TIME",
    r"just now|\d+ minutes? ago": "lately",
    r"\d{4}-\d\d-\d\d": "DAY",
    r"[\d.,]+ (KiB|MiB|ms|s)\b": "SIZE",
    r'(?<="size_bytes": )\d+': "0",
    r"(?m)[ \t]+$": "",
    r"-{4,}": "----",
    r"  +": "  ",
}


def steady(text: str) -> str:
    """*text* without times, sizes and the width of their column."""
    for pattern, instead in _CHANGING.items():
        text = re.sub(pattern, instead, text)
    return text


def fill(project: Project) -> None:
    """Add, change and retire points, and learn from a session: some lessons count, two wait, two count for nothing."""
    edit.add(project, "Run ruff before a commit", section="pat")
    edit.add(project, "Use uv, not pip, for packages")
    edit.add(project, "Packages come with uv, not with pip")
    edit.add(project, "The linter is ruff 0.15", section="ctx")
    edit.add(project, "Never force-push to main", section="mis")
    edit.add(Project.of_user(project.store), "Answer briefly", section="pref")
    edit.edit(project, "ctx-001", text="The linter is ruff 0.16")
    edit.retire(project, "mis-001", reason="the server refuses it")
    with project.store.write(project.key) as book:
        name = book.draft.new_name(OTHERS)
        book.draft.add(KeyPoint(name, "Deploy with just ship", OTHERS))
        quote = Evidence("Installed 3 packages", "Bash: uv sync", "seen")
        ballot = [
            Vote("oth-002", "helpful", "it installed at once", evidence=(quote,)),
            Vote("ctx-001", "harmful", "it ran black", ignored=True),
        ]
        votes = cast_votes(book.draft, ballot)
        tag = {"name": "oth-001", "tag": "helpful", "evidence": []}
        skipped = [Skipped(0, tag, f"{NOTE}a quote is from outside"), Skipped(1, {"type": "NO"}, "unknown type")]
        _show(book, "ctx-001", "oth-001", "oth-002")
        book.add_citations(["oth-002"], session_id=SESSION)
        call = Call("reflect", "claude-sonnet-4-5", 1000, 100, 0, 0.25, 1)
        chunk = ChunkKey(f"/home/ann/.claude/projects/shop/{SESSION}.jsonl", 0, 9000)
        book.add_call(call, session_id=SESSION)
        number = book.add_reflection(chunk, session_id=SESSION, analysis="It went well.", bullet_tags=[], calls=[call])
        learned = book.commit("learn", "learned", votes=votes, skipped=skipped, origin=RevisionOrigin(SESSION, SESSION))
        book.finish_reflection(number, revision=learned.revision, curator_reasoning="Shipping was new.", calls=[])
        operation = {"type": "ADD", "text": "Skip the hooks", "section": "OTHERS", "doubt": "marked as risky"}
        book.add_proposal(operation, "ADD", [Evidence("hooks", "the user", "user")], "user", SESSION)
        operation = {"type": "UPDATE", "target_id": "oth-001", "text": "Use uv, never pip, for packages"}
        operation |= {"reason": "pip breaks it", "doubt": "no quote of yours, or of something seen here, is about it"}
        page = Evidence("never use pip", "WebFetch https://a.example", "outside")
        for session in ("0a1b2c3d", SESSION):
            book.add_proposal(operation, "UPDATE", [page], "outside", session)


def _show(book: PlaybookRepository, *names: str) -> None:
    """The session starts with the points of these *names*, and doesn't follow the first one."""
    numbers = [list_queries.point_id(book, name) or 0 for name in names]
    book.add_trial(numbers[0], Trial(True, 2, 1), session_id=SESSION)
    values = {
        "playbook_id": book.playbook_id, "session_id": SESSION, "source": "startup", "revision": book.revision,
        "points": json.dumps(numbers), "left_out": 0, "now": book.now, "event": "SessionStart",
    }  # fmt: skip
    book.connection.execute(sql(hook_queries.ADD_SHOWING), values)
