"""Revisions as JSON: as a log lists them, and one in full."""

from dataclasses import asdict
from typing import Any

from playbook_db.domain.diff import marked
from playbook_db.services.history import FullRevision
from playbook_db.store.log_queries import KeptReflection, LoggedChange, LoggedRevision


def log_record(revision: LoggedRevision) -> dict[str, Any]:
    """A revision as `log --json` shows it."""
    return {
        "revision": revision.number,
        "time": revision.time,
        "source": revision.source,
        "session": revision.session_id,
        "message": revision.message,
        "took_back": asdict(revision.took_back) if revision.took_back else None,
        "taken_back_in": revision.taken_back_in,
        "changes": [_change_record(change) for change in revision.changes],
        "skipped": revision.skipped,
        "neutral_votes": revision.neutral_votes,
        "unmatched_votes": revision.unmatched_votes,
        "keys": list(revision.keys),
        "cost_usd": revision.cost_usd,
    }


def full_record(full: FullRevision) -> dict[str, Any]:
    """A revision as `show REV --json` shows it."""
    changes = []
    for change in full.revision.changes:
        record = _change_record(change) | {"text": change.point.text}
        if change.before is not None and change.is_reworded:
            record |= {"text_before": change.before.text, "words": marked(change.before.text, change.point.text)}
        changes.append(record)
    return log_record(full.revision) | {
        "changes": changes,
        "votes": [asdict(vote) for vote in full.votes],
        "skipped_operations": [asdict(kept) for kept in full.skipped],
        "reflections": [_reflection_record(told) for told in full.reflections],
    }


def _change_record(change: LoggedChange) -> dict[str, Any]:
    point, before = change.point, change.before
    record: dict[str, Any] = {
        "kind": change.kind,
        "name": point.name,
        "section": point.section,
        "helpful": point.helpful,
        "harmful": point.harmful,
        "helpful_before": before.helpful if before else 0,
        "harmful_before": before.harmful if before else 0,
    }
    if before is not None and before.section != point.section:
        record["section_before"] = before.section
    if change.is_reworded:
        record["text"] = point.text
    return record | {"reason": change.reason, "successor": change.successor}


def _reflection_record(told: KeptReflection) -> dict[str, Any]:
    record = asdict(told)
    return {"session": record.pop("session_id"), **record}
