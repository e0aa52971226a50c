"""The JSON records of all that goes out: a function for each, from a value to a dict.

The commands print them under `--json`; a page and an MCP server are to give out the same. Keys and their order are a
promise: keys may be added, none is renamed or removed. Imports no other service, so that a command that only reads
starts at once.
"""

from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from playbook_db.projects import as_text, has_folder

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from playbook_db.domain.merging.diff import Comparison, KeyChange
    from playbook_db.domain.playbook import Change, KeyPoint, RetiredPoint
    from playbook_db.domain.prompt_text import PromptPoint
    from playbook_db.domain.proposals import ReviewItem
    from playbook_db.services.maintenance import Report, Taken
    from playbook_db.services.playbook.forget import Forgotten
    from playbook_db.services.playbook.promotion import Move
    from playbook_db.services.playbook.review import ReviewResult
    from playbook_db.services.playbook.undo import UndoResult
    from playbook_db.services.reading.history import SourcedPlaybook
    from playbook_db.services.reading.statistics import SessionComparison, Statistics
    from playbook_db.services.reading.status import Status
    from playbook_db.services.repair import Repaired
    from playbook_db.services.sharing.team import TeamStatus
    from playbook_db.store.playbook.log_queries import EventUse, Life, RevisionDetails
    from playbook_db.store.playbook.repository import RevisionResult
    from playbook_db.store.playbook.searching import HistoryHit
    from playbook_db.store.quick_sql import (
        Job,
        ListedProject,
        PointEvidence,
        PointLifespan,
        Retirement,
        SessionSummary,
        StoredMarks,
    )
    from playbook_db.store.revision_log import LoggedChange, LoggedRevision
    from playbook_db.store.upkeep.database_file import Backup

    Retired = Retirement | RetiredPoint


Record = dict[str, Any]


# Key points, and what is done to them.


def point_record(point: "PromptPoint", retirement: "Retired | None" = None) -> Record:
    """A point, live or retired (`list --retired`)."""
    record = _fields(point, "name", "section", "text", "helpful", "harmful")
    if retirement is not None:
        record |= {"retired_in": retirement.revision, "retired_reason": retirement.reason}
    return record


def listed_point_record(point: "PromptPoint", marks: "StoredMarks") -> Record:
    """A live point with what is known of it beside (`list`)."""
    return point_record(point) | _marks_record(marks) | _fields(marks, "created_in", "created_at")


def answer_record(point: "PromptPoint", score: float, marks: "StoredMarks") -> Record:
    """A live point with how well it answers (`search`)."""
    return point_record(point) | {"kind": "live", "score": round(score, 3), "resting": bool(marks.resting)}


def history_hit_record(hit: "HistoryHit", score: float) -> Record:
    """What else answers (`search --all`)."""
    return _fields(hit, "kind", "name", "revision", "text") | {"score": round(score, 3)}


def full_point_record(
    point: "PromptPoint",
    retirement: "Retired | None",
    lifespan: "PointLifespan",
    extra: str,
    evidence: "Iterable[PointEvidence]",
) -> Record:
    """A point with the revisions in which it came and last changed, what is known of it beside, what a file's entry
    said, and what sessions showed (`show NAME`)."""
    import json

    return point_record(point, retirement) | {
        **_fields(lifespan, "created_in", "created_at", "changed_in", "changed_at", "origin"),
        **_marks_record(lifespan),
        "extra": json.loads(extra),
        "evidence": [
            _fields(each, "revision", "kind")
            | {"ignored": bool(each.ignored), "evidence": json.loads(each.evidence or "[]")}
            for each in evidence
        ],
    }


def _marks_record(marks: "StoredMarks | PointLifespan") -> Record:
    return {"pinned": bool(marks.pinned), "resting": bool(marks.resting), "confirmed_at": marks.confirmed_at}


def change_record(change: "Change") -> Record:
    """A change: the point as it is afterwards."""
    record = {"kind": change.kind, **point_record(change.point), "reason": change.reason}
    return record | ({"successor": change.successor} if change.successor else {})


def batch_record(revised: "RevisionResult", *, dry_run: bool) -> Record:
    """What a batch of operations did, or would do (`apply`, `prune`, `dedup --merge`)."""
    return {
        "project": revised.key,
        "revision": revised.revision,
        "dry_run": dry_run,
        "changes": [change_record(change) for change in revised.changes],
        "skipped": [
            {"number": item.index + 1, "reason": item.reason, "operation": item.item} for item in revised.skipped
        ],
    }


def move_record(move: "Move", *, dry_run: bool) -> Record:
    """What became of a point that went into another playbook (`promote`, `demote`); `copied` and `retired` are None
    where there was nothing to do."""
    return {
        "name": move.name,
        "copy": move.copy,
        "dry_run": dry_run,
        "copied": batch_record(move.copied, dry_run=dry_run) if move.copied else None,
        "retired": batch_record(move.retired, dry_run=dry_run) if move.retired else None,
        "notes": list(move.notes),
    }


def candidates_record(key: str, candidates: "Iterable[tuple[KeyPoint, KeyPoint, float]]") -> Record:
    """Points that may say the same, two by two (`dedup`)."""
    return {
        "project": key,
        "candidates": [
            {"likeness": round(likeness, 3), "points": [point_record(one), point_record(other)]}
            for one, other, likeness in candidates
        ],
    }


def proposal_record(item: "ReviewItem") -> Record:
    """A proposal that waits for a person (`review`, `list --proposed`): what it would do and what it rests on; `points`
    are those that it is about, as they are now."""
    proposal = item.proposal
    return {
        "id": proposal.id,
        "name": item.name,
        "for_all_projects": item.is_users,
        "kind": proposal.kind,
        "targets": list(proposal.names),
        "text": proposal.text or None,
        "section": proposal.operation.get("section"),
        "operation": proposal.operation,
        "trust": proposal.trust,
        "evidence": [asdict(piece) for piece in proposal.evidence],
        **_fields(proposal, session="session_id", sessions="sessions", created_at="created_at"),
        "points": [point_record(point) for point in item.points],
    }


def review_record(result: "ReviewResult") -> Record:
    """What became of proposals (`review --accept`, `--reject`), by their numbers; those in `waiting` couldn't be
    carried out, for `needless` ones nothing was to be done any more."""
    reasons = {"needless": result.needless, "waiting": result.refused}
    return (
        batch_record(result.revision, dry_run=False)
        | _fields(result, "accepted", "rejected")
        | {name: [{"id": number, "reason": why} for number, why in some.items()] for name, some in reasons.items()}
    )


def reviews_record(results: "Iterable[ReviewResult]") -> Record:
    """What became of proposals for one playbook; of those for the user's own beside a project's it is in `user`."""
    first, *users = map(review_record, results)
    return first | ({"user": users[0]} if users else {})


def undo_record(undone: "UndoResult", *, dry_run: bool) -> Record:
    """The revisions that an undo undid, or would undo (`undo`)."""
    revised = undone.result
    return {
        "project": revised.key,
        "revision": revised.revision,
        "dry_run": dry_run,
        "undoes": asdict(undone.revisions) if undone.message and undone.revisions else None,
        "message": undone.message,
        "changes": [change_record(change) for change in revised.changes],
        "notes": list(revised.notes),
    }


def forget_record(forgotten: "Forgotten", *, dry_run: bool) -> Record:
    """What was erased, or would be (`forget`)."""
    from playbook_db.store.playbook.erasure import count_by_column

    return {
        "dry_run": dry_run,
        "playbooks": [
            {
                "project": key,
                "revision": erasure.revision,
                "forgotten": list(erasure.names),
                "shortened": [point.name for point in erasure.shortened],
                "fields": count_by_column(erasure.fields),
                "revisions": list(erasure.revisions),
            }
            for key, erasure in forgotten.erasures.items()
        ],
        "files": list(forgotten.files),
        "backups": list(forgotten.backups),
        "new_backup": forgotten.new_backup,
        "notes": list(forgotten.notes),
        "purged": forgotten.is_rewritten,
    }


# The history.


def log_record(revision: "LoggedRevision") -> Record:
    """A revision as a log lists it (`log`)."""
    return {
        "revision": revision.number,
        **_fields(revision, "time", "source", "actor", "role", session="session_id", message="message"),
        "undoes": asdict(revision.undoes) if revision.undoes else None,
        "undone_in": revision.undone_in,
        "changes": [_logged_change_record(change) for change in revision.changes],
        **_fields(revision, "skipped", "neutral_votes", "unmatched_votes"),
        "keys": list(revision.keys),
        "cost_usd": revision.cost_usd,
    }


def full_revision_record(full: "RevisionDetails") -> Record:
    """All that is kept of a revision (`show REV`)."""
    return log_record(full.revision) | {
        "changes": [_full_change_record(change) for change in full.revision.changes],
        "votes": [asdict(vote) for vote in full.votes],
        "skipped_operations": [asdict(operation) for operation in full.skipped],
        "reflections": [_record(reflection, session_id="session") for reflection in full.reflections],
    }


def difference_record(comparison: "Comparison", before: "SourcedPlaybook", after: "SourcedPlaybook") -> Record:
    """What differs between two playbooks (`diff`)."""
    return {
        "from": _side_record(before),
        "to": _side_record(after),
        "added": [point_record(placed.point) | {"previous": placed.behind} for placed in comparison.added],
        "retired": [point_record(point) for point in comparison.retired],
        "reworded": [{"name": pair.after.name} | _rewording(pair.before, pair.after) for pair in comparison.reworded],
        "moved": [
            {
                "name": moved.before.name,
                "section_before": moved.before.section,
                "section": moved.now.point.section,
                "previous": moved.now.behind,
            }
            for moved in comparison.moved
        ],
        "votes": [
            {
                "name": pair.after.name,
                **_fields(pair.before, helpful_before="helpful", harmful_before="harmful"),
                **_fields(pair.after, "helpful", "harmful"),
            }
            for pair in comparison.voted
        ],
        "keys": [_key_record(change) for change in comparison.keys],
    }


def event_use_record(use: "EventUse") -> Record:
    """What became of the points that one event told of (`stats`, `why`); shares are null where sessions are few."""
    counts = {name: getattr(use, name) for name in ("cited", "helpful", "harmful")}
    return asdict(use) | {f"{name}_share": use.share(count) for name, count in counts.items()}


def life_record(name: str, life: "Life", lifespan: "PointLifespan", uses: "Iterable[EventUse]") -> Record:
    """Where the point *name* came from, what sessions that were shown it made of it, and all that happened to it
    (`why`)."""
    return {
        "name": name,
        **_fields(lifespan, "created_at", "origin"),
        **_marks_record(lifespan),
        "merged": list(life.merged),
        "by_event": [event_use_record(use) for use in uses],
        "events": [_record(event, session_id="session") for event in life.events],
    }


def _logged_change_record(change: "LoggedChange") -> Record:
    point, before = change.point, change.before
    record: Record = {
        "kind": change.kind,
        **_fields(point, "name", "section", "helpful", "harmful"),
        "helpful_before": before.helpful if before else 0,
        "harmful_before": before.harmful if before else 0,
    }
    if before is not None and before.section != point.section:
        record["section_before"] = before.section
    if change.is_reworded:
        record["text"] = point.text
    return record | _fields(change, "reason", "successor") | {"evidence": [asdict(each) for each in change.evidence]}


def _full_change_record(change: "LoggedChange") -> Record:
    record = _logged_change_record(change) | {"text": change.point.text}
    if change.before is not None and change.is_reworded:
        record |= _rewording(change.before, change.point)
    return record


def _rewording(before: "KeyPoint", after: "KeyPoint") -> Record:
    from playbook_db.domain.merging.diff import marked

    return {"text_before": before.text, "text": after.text, "words": marked(before.text, after.text)}


def _side_record(side: "SourcedPlaybook") -> Record:
    return _fields(side, "revision", "time") if side.file is None else {"file": side.file}


def _key_record(change: "KeyChange") -> Record:
    import json

    values = (("before", change.before), ("after", change.after))
    return {"key": change.key} | {name: json.loads(value) for name, value in values if value is not None}


# Learning.


def session_record(session: "SessionSummary") -> Record:
    """What a session taught, and what learning from it took (`sessions`)."""
    return _record(session, session_id="session")


def team_status_record(status: "TeamStatus") -> Record:
    """How a project and its team stand (`team status`)."""
    at = status.replica_at
    return {
        "name": status.name,
        "database": status.where,
        **_fields(status, "joined_at", "schema", "revision", "problem"),
        "members": [asdict(each) for each in status.members],
        "replica": {
            "revision": status.replica and status.replica.revision,
            "current_at": at and at.isoformat(timespec="microseconds"),
        },
        "waits": {"jobs": status.queued, "failed": status.failed, "showings": status.unsent},
    }


def job_record(job: "Job") -> Record:
    """A transcript that waits to be learned from, or was (`jobs`)."""
    return {
        **_fields(job, id="id", project="key", kind="kind", session="session_id"),
        "transcript": job.transcript_path and as_text(job.transcript_path),
        "agent": job.agent_id,
        **_fields(job, "reason", "state", "attempts", "error"),
        **_fields(job, "created_at", "finished_at", next_try="not_before"),
    }


# Projects, the database, the installation.


def project_record(project: "ListedProject") -> Record:
    """A project that has a playbook (`project list`)."""
    keys = {"key": "project", "live_points": "points", "is_ignored": "ignored"}
    return _record(project, **keys) | {"folder_exists": has_folder(project.key)}


def taken_backup_record(taken: "Taken") -> Record:
    """A backup that was just taken (`backup`)."""
    playbooks = [_record(held, key="project") for held in taken.holds]
    return {"path": taken.path, "size_bytes": taken.size_bytes, "playbooks": playbooks}


def backup_record(backup: "Backup", schema: int | None) -> Record:
    """A backup that is there (`backup --list`)."""
    return asdict(backup) | {"time": backup.time.isoformat(), "schema": schema}


def check_record(report: "Report", *, not_checked: Iterable[str]) -> Record:
    """Whether the database is sound (`db check`)."""
    return {
        "database": report.where,
        "ok": not report.problems,
        "problems": list(report.problems),
        "not_checked": list(not_checked),
    }


def repair_record(repaired: "Repaired", *, dry_run: bool) -> Record:
    """What a repair saved, or would save (`db repair`)."""
    record = {
        "database": repaired.where,
        "damaged": repaired.is_damaged,
        "repaired": (repaired.is_damaged or repaired.has_wrong_search) and not dry_run,
        "search_rebuilt": repaired.has_wrong_search and not dry_run,
    }
    if not repaired.is_damaged:
        return record
    return record | {
        "live_points": sum(held.points for held in repaired.holds),
        "revisions": sum(held.revision for held in repaired.holds),
        "rebuilt": repaired.is_whole,
        "backup": None if repaired.backup is None else repaired.backup.path,
        "projects": [
            _fields(each, project="key", revision="revision")
            | _fields(each, history_kept_to="kept_to", last_known_revision="last_revision")
            for each in repaired.playbooks
        ],
        "renamed": [{"project": each.key, "name": name} for each in repaired.playbooks for name in each.renamed],
        "projects_without_folder": [each.key for each in repaired.playbooks if each.is_key_lost],
        "mirrors": list(repaired.mirrors),
        "damaged_file": repaired.aside,
    }


def doctor_record(findings: Iterable["DataclassInstance"]) -> Record:
    """What doctor found (`doctor`)."""
    records = [asdict(finding) for finding in findings]
    return {"ok": all(record["state"] != "broken" for record in records), "findings": records}


def status_record(status: "Status") -> Record:
    """Where a playbook stands (`status`), as `services.status` has it; `learned` is null where nothing was yet."""
    return {
        **_fields(status, project="key", database="database", mirror="mirror", ignored="is_ignored"),
        **_fields(status, "team", "team_as_of", "points", "shown", "user_points", "user_shown", "revision"),
        "learned": status.learned and _record(status.learned, session_id="session", counts="changes"),
        "proposals": status.proposals,
        "jobs": _fields(status, "queued", "running", "failed"),
        "waits": list(status.waits),
        "today": {
            "tokens": status.tokens_today,
            "daily_tokens": status.daily_tokens,
            "agreed_tokens": status.agreed_today,
            "cost_usd": status.cost_usd_today,
            "cost_usd_all_projects": status.cost_usd_all_today,
        },
    }


# Numbers, and answers to SQL.


def statistics_record(numbers: "Statistics") -> Record:
    """A playbook in numbers (`stats`), as `services.statistics` has them.

    `points.age` counts the live points that came in the last 7, 30 and 90 days, each with those before it, or earlier;
    each `..._share` is a part of `use.shown`, null where nothing was shown, and in `use.by_event` of what that event
    told sessions of first, null where these are too few; `votes.unmatched` are for no live point;
    `chunks` are those of transcripts; `members` are who wrote, their `actor` null for sessions in a file of one's
    own; `holdout` compares sessions that were shown the playbook with those that were not, `low` and `high` of each
    `difference` are null where they are too few; sizes are null where they can't be told.
    """
    use, learning, file = numbers.use, numbers.learning, numbers.file
    ages = {f"last_{days}_days": count for days, count in numbers.ages}
    return {
        "project": numbers.project,
        "time": numbers.time,
        "points": {
            "live": numbers.live,
            "retired": numbers.retired,
            "sections": [asdict(section) for section in numbers.sections],
            "age": {**ages, "older": numbers.live - numbers.ages[-1][1]},
        },
        "use": {
            **asdict(use),
            "cited_share": use.share_of_shown(use.cited),
            "helpful_share": use.share_of_shown(use.helpful),
            "harmful_share": use.share_of_shown(use.harmful),
            "by_event": [event_use_record(each) for each in use.by_event],
        },
        "votes": {**numbers.votes, "unmatched": numbers.unmatched_votes},
        "learning": {
            **asdict(learning),
            **_fields(learning, "tokens", "cost_usd_per_helpful_point"),
        },
        "weeks": [{**asdict(week), "monday": week.monday.isoformat()} for week in numbers.weeks],
        "revisions": {"all": sum(numbers.revisions.values()), "by_source": numbers.revisions},
        "members": [asdict(member) for member in numbers.members],
        "holdout": _session_comparison_record(numbers.comparison),
        "file": {
            "size_bytes": file.size_bytes,
            "tables": [asdict(table) for table in file.tables],
            "backups": [{"time": time, "size_bytes": size} for time, size in file.backups],
        },
    }


def _session_comparison_record(comparison: "SessionComparison") -> Record:
    return {
        **_fields(comparison, "since", "until", sessions_held_out="held_out", sessions_shown="shown"),
        **_fields(comparison, "is_enough", "confidence"),
        "measures": {
            name: _record(each, without="held_out_mean", shown="shown_mean", by="difference")
            | {"differs": each.is_significant}
            for name, each in comparison.measures.items()
        },
    }


def query_records(columns: Iterable[str], rows: Iterable[Iterable[Any]]) -> Iterable[Record]:
    """The rows of an answer (`sql`); of titles that are equal the second is given a number."""
    titles = _distinct(list(columns))
    for row in rows:
        yield dict(zip(titles, map(_json_value, row), strict=True))


def _distinct(titles: list[str]) -> list[str]:
    distinct: list[str] = []
    for title in titles:
        candidate, number = title, 1
        while candidate in distinct or (number > 1 and candidate in titles):
            number += 1
            candidate = f"{title}_{number}"
        distinct.append(candidate)
    return distinct


def _json_value(value: Any) -> Any:
    """*value* as JSON can hold it: a BLOB in hexadecimal, an infinite number as text."""
    if isinstance(value, bytes):
        return value.hex()
    return str(value) if isinstance(value, float) and abs(value) == float("inf") else value


def _fields(value: object, *names: str, **keys: str) -> Record:
    """The fields *names* of *value*, then one for each of *keys*, which give the name that it has inside."""
    return {key: getattr(value, name) for key, name in ({name: name for name in names} | keys).items()}


def _record(value: "DataclassInstance | ListedProject | SessionSummary", **keys: str) -> Record:
    """The fields of *value* in their order; *keys* are the names that some of them have outside."""
    fields = value._asdict() if isinstance(value, tuple) else asdict(value)
    return {keys.get(name, name): content for name, content in fields.items()}
