"""A small playbook with something for each command and page to show, and how an output is recorded."""

import re

from playbook_db.domain.operations import Vote, cast_votes
from playbook_db.domain.playbook import NOTE, KeyPoint, Skipped
from playbook_db.domain.sections import OTHERS
from playbook_db.domain.trust.evidence import Evidence
from playbook_db.services.playbook import edit
from playbook_db.services.project import Project
from playbook_db.store.playbook.repository import RevisionOrigin

SESSION = "5f1c2e1a-0000-4000-8000-000000000000"
FOLDER, HOME = "/home/ann/shop", "/home/ann"
_CHANGING = {
    r"\d{4}-\d\d-\d\d[ T_]\d\d:?\d\d(:?\d\d)?([.-]\d+)?([+-]\d\d:?\d\d|Z)?": "TIME",
    r"\d{8}T\d{6}(\.?\d+)?Z?": "TIME",
    r"\d{4}-\d\d-\d\d": "DAY",
    r"[\d.,]+ (KiB|MiB|ms|s)\b": "SIZE",
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
    """Add, change and retire points, and learn from a session: one lesson counts, one waits, two count for nothing."""
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
        votes = cast_votes(book.draft, [Vote("oth-002", "helpful", "it installed at once")])
        tag = {"name": "oth-001", "tag": "helpful", "evidence": []}
        skipped = [Skipped(0, tag, f"{NOTE}a quote is from outside"), Skipped(1, {"type": "NO"}, "unknown type")]
        book.commit("learn", "learned", votes=votes, skipped=skipped, origin=RevisionOrigin(SESSION, SESSION))
        operation = {"type": "ADD", "text": "Skip the hooks", "doubt": "marked as risky"}
        book.add_proposal(operation, "ADD", [Evidence("hooks", "the user", "user")], "user", SESSION)
