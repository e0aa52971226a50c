"""Writing all proposals as one text for an editor, and reading the decisions from the edited text.

The texts of proposals are indented, so that no text can look like a decision.
"""

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from playbook_db.cli.output import evidence_line, one_line, readable
from playbook_db.errors import PlaybookError

if TYPE_CHECKING:
    from playbook_db.domain.proposals import ReviewItem
    from playbook_db.services.playbook.review import Decision

_INDENT = " " * 4
_HEAD = re.compile(r"(wait|accept|reject)\s+((?:u?p)?\d{1,18})\b")
_EXPLAINED = """\
# Proposed changes to {key}.
#
#   accept    replace `wait` with `accept`
#   edit      change the indented text; that accepts it in your words
#   reject    delete all its lines
#
# Proposals that you don't change keep waiting. Nothing is done until you save and close. An empty file changes nothing.
"""


def written(items: Sequence["ReviewItem"], key: str) -> str:
    """Return the text for the editor."""
    blocks = ["\n".join(_block(item)) for item in items]
    return "\n\n".join([_EXPLAINED.format(key=one_line(key)), *blocks]) + "\n"


def _block(item: "ReviewItem") -> Iterator[str]:
    yield f"wait {item.name} {summary(item)}"
    if item.proposal.text:
        yield from (f"{_INDENT}{line}".rstrip() for line in _shown_text(item).split("\n"))
    for line in reasons(item):
        yield f"# {line}"


def summary(item: "ReviewItem") -> str:
    """Describe in a few words the change that the proposal would make, and to which points."""
    proposal = item.proposal
    section = proposal.operation.get("section")
    where = f" to {section}" if isinstance(section, str) and section else ""
    verb = proposal.operation.get("tag", "harmful") if proposal.kind == "VOTE" else ""
    whose = ", for all your projects" if item.is_users else ""
    return one_line(" ".join(filter(None, [proposal.kind, ", ".join(proposal.names), str(verb)])) + where + whose)


def reasons(item: "ReviewItem") -> Iterator[str]:
    """Yield lines that help to decide: the current points, the reason and the evidence."""
    proposal = item.proposal
    for point in item.points:
        yield one_line(f"now: [{point.name}] +{point.helpful} -{point.harmful} {point.text}")
    missing = [name for name in proposal.names if name not in {point.name for point in item.points}]
    if missing:
        yield one_line(f"no longer in the playbook: {', '.join(missing)}")
    for why in ("reason", "rationale"):
        if proposal.operation.get(why):
            yield one_line(f"why: {proposal.operation[why]}")
    if proposal.operation.get("doubt"):
        yield one_line(f"doubt: {proposal.operation['doubt']}")
    for piece in proposal.evidence:
        yield f"evidence: {evidence_line(piece)}"
    if not proposal.evidence:
        yield "evidence: none"
    sessions = f"by {proposal.sessions} sessions, the last" if proposal.sessions > 1 else "by session"
    origin = f"{sessions} {proposal.session_id}" if proposal.session_id else "outside a session"
    yield one_line(f"proposed {origin}, {proposal.created_at[:10]}")


def read(text: str, items: Sequence["ReviewItem"]) -> "list[Decision]":
    """Return the decisions on *items* in the edited *text*. Raises PlaybookError for a line that can't be read."""
    from playbook_db.services.playbook.review import named  # late: it brings SQLAlchemy

    if not text.strip():
        return []
    by_name = {item.name: item for item in items}
    answers: dict[str, tuple[str, list[str]]] = {}
    lines: list[str] | None = None  # of the text that is being read; None if no text may follow
    for place, line in enumerate(text.splitlines(), 1):
        head = _HEAD.match(line)
        if head:
            name = named(head[2], items)
            if name not in by_name or name in answers:
                problem = "is there twice" if name in answers else "is not a waiting proposal"
                raise PlaybookError(f"Line {place}: {name} {problem}. Nothing was decided.")
            lines = []
            answers[name] = head[1], lines
        elif line.startswith("#"):
            lines = None
        elif line.strip():
            if lines is None or not line[0].isspace():
                raise PlaybookError(
                    f"Line {place} is not part of a proposal. A proposal begins with `wait` or `accept` and its "
                    "number, and its text is indented. Nothing was decided."
                )
            lines.append((line.removeprefix(_INDENT) if line.startswith(_INDENT) else line.lstrip()).rstrip())
        elif lines:
            lines.append("")
    decisions = [decision(by_name[name], accepts=False) for name in by_name.keys() - answers.keys()]
    decisions += filter(None, (_decision(by_name[name], *answer) for name, answer in answers.items()))
    return sorted(decisions, key=lambda decision: (decision.is_users, decision.number))


def decision(item: "ReviewItem", *, accepts: bool, text: str | None = None) -> "Decision":
    """Return the decision on *item*. An accepted proposal may get another *text*."""
    from playbook_db.services.playbook.review import Decision  # late, as above

    return Decision(item.proposal.id, accepts, text, item.is_users)


def _decision(item: "ReviewItem", verb: str, lines: list[str]) -> "Decision | None":
    text = "\n".join(lines).strip()
    if verb == "reject":
        return decision(item, accepts=False)
    before = "\n".join(line.rstrip() for line in _shown_text(item).split("\n")).strip()
    if text == before:
        return decision(item, accepts=True) if verb == "accept" else None
    if not text or not before:
        problem = "has no text left; to reject it, delete its first line, too" if before else "has no text to edit"
        raise PlaybookError(f"{item.name} {problem}. Nothing was decided.")
    return decision(item, accepts=True, text=text)


def _shown_text(item: "ReviewItem") -> str:
    return readable(item.proposal.text)
