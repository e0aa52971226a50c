"""The JSON records that commands print with `--json`. Each function turns a value into a record, which is a dict.

Keys and their order are a promise: keys may be added, but none is renamed or removed. This module imports no other
service, so that a command that only reads starts at once.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from playbook_db.projects import as_text, has_folder

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from playbook_db.domain import playbook, prompt_text, proposals
    from playbook_db.domain.merging import diff
    from playbook_db.services import maintenance, repair
    from playbook_db.services.playbook import forget, promotion, review, undo
    from playbook_db.services.reading import history, statistics, status
    from playbook_db.services.sharing import team
    from playbook_db.store.playbook import repository, searching
    from playbook_db.store.queries import list_queries, log_queries, revision_log
    from playbook_db.store.upkeep import database_file

    Retired = list_queries.Retirement | playbook.RetiredPoint


Record = dict[str, Any]
_USES = ("cited", "voted", "helpful", "harmful")  # of a point that a session was shown


# Key points and changes to them.


def point_record(point: "prompt_text.PromptPoint", retirement: "Retired | None" = None) -> Record:
    """A point, live or retired (`list --retired`)."""
    record = _fields(point, "name", "section", "text", "helpful", "harmful")
    if retirement is not None:
        record |= {"retired_in": retirement.revision, "retired_reason": retirement.reason}
    return record


def listed_point_record(point: "prompt_text.PromptPoint", marks: "list_queries.StoredMarks") -> Record:
    """A live point with its marks, such as `pinned` (`list`)."""
    return point_record(point) | _marks_record(marks) | _fields(marks, "created_in", "created_at", "sessions_ignored")


def answer_record(point: "prompt_text.PromptPoint", score: float, marks: "list_queries.StoredMarks") -> Record:
    """A live point that matches a search, with its score (`search`)."""
    return point_record(point) | {"kind": "live", "score": round(score, 3), "resting": bool(marks.resting)}


def candidate_record(candidate: Any) -> Record:
    """A point, and why a session is or isn't shown it with a prompt or file (`search --as-prompt`)."""
    return point_record(candidate.point) | _fields(candidate, "moment", "is_shown", "reason", "shares")


def history_hit_record(hit: "searching.HistoryHit", score: float) -> Record:
    """A match in the history, with its score (`search --all`)."""
    return _fields(hit, "kind", "name", "revision", "text") | {"score": round(score, 3)}


def full_point_record(
    point: "prompt_text.PromptPoint",
    retirement: "Retired | None",
    lifespan: "list_queries.PointLifespan",
    extra: str,
    evidence: "Iterable[list_queries.PointEvidence]",
) -> Record:
    """A point with all known facts about it (`show NAME`)."""
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


def _marks_record(marks: "list_queries.StoredMarks | list_queries.PointLifespan") -> Record:
    return {"pinned": bool(marks.pinned), "resting": bool(marks.resting), "confirmed_at": marks.confirmed_at}


def change_record(change: "playbook.Change") -> Record:
    """A change to a point, with the point's state after the change."""
    record = {"kind": change.kind, **point_record(change.point), "reason": change.reason}
    return record | ({"successor": change.successor} if change.successor else {})


def batch_record(revised: "repository.RevisionResult", *, dry_run: bool) -> Record:
    """The result of a batch of operations (`apply`, `prune`, `dedup --merge`)."""
    return {
        "project": revised.key,
        "revision": revised.revision,
        "dry_run": dry_run,
        "changes": [change_record(change) for change in revised.changes],
        "skipped": [
            {"number": item.index + 1, "reason": item.reason, "operation": item.item} for item in revised.skipped
        ],
    }


def move_record(move: "promotion.Move", *, dry_run: bool) -> Record:
    """A point moved to another playbook (`promote`, `demote`). `copied` and `retired` are null if nothing was done."""
    batches = {"copied": move.copied, "retired": move.retired}
    return {
        **_fields(move, "name", "copy"),
        "dry_run": dry_run,
        **{name: batch and batch_record(batch, dry_run=dry_run) for name, batch in batches.items()},
        "notes": list(move.notes),
    }


def candidates_record(key: str, candidates: "Iterable[tuple[playbook.KeyPoint, playbook.KeyPoint, float]]") -> Record:
    """Pairs of points that may say the same (`dedup`)."""
    return {
        "project": key,
        "candidates": [
            {"likeness": round(likeness, 3), "points": [point_record(one), point_record(other)]}
            for one, other, likeness in candidates
        ],
    }


def proposal_record(item: "proposals.ReviewItem") -> Record:
    """A waiting proposal with its evidence (`review`, `list --proposed`). `points` are its targets in their present
    state."""
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


def review_record(result: "review.ReviewResult") -> Record:
    """Decided proposals by number (`review --accept`, `--reject`). Those in `waiting` couldn't be applied. Those in
    `needless` would have changed nothing."""
    reasons = {"needless": result.needless, "waiting": result.refused}
    return (
        batch_record(result.revision, dry_run=False)
        | _fields(result, "accepted", "rejected")
        | {name: [{"id": number, "reason": why} for number, why in some.items()] for name, some in reasons.items()}
    )


def reviews_record(results: "Iterable[review.ReviewResult]") -> Record:
    """Decided proposals of a project's playbook, with those of the personal playbook in `user`."""
    first, *users = map(review_record, results)
    return first | ({"user": users[0]} if users else {})


def undo_record(undone: "undo.UndoResult", *, dry_run: bool) -> Record:
    """The result of an undo (`undo`)."""
    revised = undone.result
    return {
        "project": revised.key,
        "revision": revised.revision,
        "dry_run": dry_run,
        "undoes": undone.revisions._asdict() if undone.message and undone.revisions else None,
        "message": undone.message,
        "changes": [change_record(change) for change in revised.changes],
        "notes": list(revised.notes),
    }


def forget_record(forgotten: "forget.Forgotten", *, dry_run: bool) -> Record:
    """The erased texts and files (`forget`)."""
    return {
        "dry_run": dry_run,
        "playbooks": [
            {
                "project": key,
                "revision": erasure.revision,
                "forgotten": list(erasure.names),
                "shortened": [point.name for point in erasure.shortened],
                "fields": dict(sorted(Counter(field.name for field in erasure.fields).items())),
                "revisions": list(erasure.revisions),
            }
            for key, erasure in forgotten.erasures.items()
        ],
        **_fields(forgotten, "files", "backups", "new_backup", "notes", purged="is_rewritten"),
    }


# The history.


def log_record(revision: "revision_log.LoggedRevision") -> Record:
    """A revision in a list (`log`)."""
    return {
        "revision": revision.number,
        **_fields(revision, "time", "source", "actor", "role", session="session_id", message="message"),
        "undoes": revision.undoes._asdict() if revision.undoes else None,
        "undone_in": revision.undone_in,
        "changes": [_logged_change_record(change) for change in revision.changes],
        **_fields(revision, "skipped", "uncounted_votes", "neutral_votes", "unmatched_votes", "keys", "cost_usd"),
    }


def full_revision_record(full: "log_queries.RevisionDetails") -> Record:
    """A revision with all its details (`show REV`)."""
    return log_record(full.revision) | {
        "changes": [_full_change_record(change) for change in full.revision.changes],
        "votes": [asdict(vote) for vote in full.votes],
        "skipped_operations": [asdict(operation) for operation in full.skipped],
        "reflections": [_record(reflection, session_id="session") for reflection in full.reflections],
    }


def difference_record(
    comparison: "diff.Comparison", before: "history.SourcedPlaybook", after: "history.SourcedPlaybook"
) -> Record:
    """The differences between two playbooks (`diff`)."""
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


def event_use_record(use: "log_queries.EventUse") -> Record:
    """The use of points shown at one event (`stats`, `why`). Shares are null if there are too few sessions."""
    return asdict(use) | {f"{name}_share": use.share(getattr(use, name)) for name in _USES}


def life_record(
    name: str, life: "log_queries.Life", lifespan: "list_queries.PointLifespan", uses: "Iterable[log_queries.EventUse]"
) -> Record:
    """The life of the point *name*: its origin, its use in sessions, and its events (`why`)."""
    return {
        "name": name,
        **_fields(lifespan, "created_at", "origin"),
        **_marks_record(lifespan),
        "merged": list(life.merged),
        "by_event": [event_use_record(use) for use in uses],
        **asdict(life.totals),
        **_fields(life, "taught_in", "reworded_in", "helpful_since", "harmful_since"),
        "events": [_record(event, session_id="session") for event in life.events],
    }


def _logged_change_record(change: "revision_log.LoggedChange") -> Record:
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


def _full_change_record(change: "revision_log.LoggedChange") -> Record:
    record = _logged_change_record(change) | {"text": change.point.text}
    if change.before is not None and change.is_reworded:
        record |= _rewording(change.before, change.point)
    return record


def _rewording(before: "playbook.KeyPoint", after: "playbook.KeyPoint") -> Record:
    from playbook_db.domain.merging.diff import marked

    return {"text_before": before.text, "text": after.text, "words": marked(before.text, after.text)}


def _side_record(side: "history.SourcedPlaybook") -> Record:
    return _fields(side, "revision", "time") if side.file is None else {"file": side.file}


def _key_record(change: "diff.KeyChange") -> Record:
    import json

    values = (("before", change.before), ("after", change.after))
    return {"key": change.key} | {name: json.loads(value) for name, value in values if value is not None}


# Learning.


def session_record(session: "list_queries.SessionSummary") -> Record:
    """The lessons from a session and their cost (`sessions`)."""
    return _record(session, session_id="session")


def lessons_record(lessons: "history.SessionLessons") -> Record:
    """What a session taught (`session`): its revisions, newest first, and its proposals that wait."""
    details = lessons.details
    return session_record(details.session) | {
        "revisions": [full_revision_record(each) for each in details.revisions],
        "waiting": [proposal_record(each) for each in lessons.waiting],
    }


def team_status_record(status: "team.TeamStatus") -> Record:
    """The state of a project in a team (`team status`)."""
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


def job_record(job: "list_queries.Job") -> Record:
    """A transcript in the queue (`jobs`)."""
    return {
        **_fields(job, id="id", project="key", kind="kind", session="session_id"),
        "transcript": job.transcript_path and as_text(job.transcript_path),
        "agent": job.agent_id,
        **_fields(job, "reason", "state", "attempts", "error"),
        **_fields(job, "created_at", "finished_at", next_try="not_before"),
    }


# Projects, the database, the installation.


def project_record(project: "list_queries.ListedProject") -> Record:
    """A project that has a playbook (`project list`)."""
    keys = {"key": "project", "live_points": "points", "is_ignored": "ignored"}
    return _record(project, **keys) | {"folder_exists": has_folder(project.key)}


def taken_backup_record(taken: "maintenance.Taken") -> Record:
    """A new backup (`backup`)."""
    return _fields(taken, "path", "size_bytes") | {"playbooks": [_record(held, key="project") for held in taken.holds]}


def backup_record(backup: "database_file.Backup", schema: int | None) -> Record:
    """A backup in a list (`backup --list`)."""
    return asdict(backup) | {"time": backup.time.isoformat(), "schema": schema}


def check_record(report: "maintenance.Report", *, not_checked: Iterable[str]) -> Record:
    """Whether the database is sound (`db check`)."""
    return {
        "database": report.where,
        "ok": not report.problems,
        "problems": list(report.problems),
        "not_checked": list(not_checked),
    }


def repair_record(repaired: "repair.Repaired", *, dry_run: bool) -> Record:
    """The result of a repair (`db repair`)."""
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
        "backup": None if repaired.backup is None else repaired.backup.path,
        "missing_since": None if repaired.backup is None else repaired.backup.time.isoformat(),
        "corrected": [_fields(each, project="key", revision="revision") for each in repaired.corrected],
        **_fields(repaired, mirrors="mirrors", damaged_file="aside"),
    }


def doctor_record(findings: Iterable["DataclassInstance"]) -> Record:
    """The findings of doctor (`doctor`)."""
    records = [asdict(finding) for finding in findings]
    return {"ok": all(record["state"] != "broken" for record in records), "findings": records}


def status_record(status: "status.Status") -> Record:
    """The state of a playbook (`status`). `learned` is null before the first lesson."""
    return {
        **_fields(status, project="key", database="database", mirror="mirror", ignored="is_ignored"),
        **_fields(status, "team", "team_as_of", "points", "shown", "user_points", "user_shown", "revision"),
        "learned": status.learned and _record(status.learned, session_id="session", counts="changes"),
        "proposals": status.proposals,
        "jobs": _fields(status, "queued", "running", "failed"),
        "waits": list(status.waits),
        "often_ignored": [each._asdict() for each in status.often_ignored],
        "today": _fields(status, tokens="tokens_today", daily_tokens="daily_tokens", agreed_tokens="agreed_today")
        | _fields(status, cost_usd="cost_usd_today", cost_usd_all_projects="cost_usd_all_today"),
    }


# Numbers, and answers to SQL.


def statistics_record(numbers: "statistics.Statistics") -> Record:
    """A playbook in numbers (`stats`).

    - `points.age`: live points added in the last 7, 30 and 90 days (each includes those before it), and earlier.
    - `..._share`: a part of `shown`, null if nothing was shown, or in `use.by_event` too few sessions.
    - `votes.unmatched`: votes for no live point. `chunks`: of transcripts.
    - `members`: who wrote; `actor` is null for sessions in a file of your own.
    - Sizes are null if unknown.
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
            **{f"{name}_share": use.share_of_shown(getattr(use, name)) for name in _USES},
            "by_event": [event_use_record(each) for each in use.by_event],
        },
        "votes": {**numbers.votes, "unmatched": numbers.unmatched_votes},
        "learning": asdict(learning) | _fields(learning, "tokens", "cost_usd_per_helpful_point"),
        "weeks": [{**asdict(week), "monday": week.monday.isoformat()} for week in numbers.weeks],
        "revisions": {"all": sum(numbers.revisions.values()), "by_source": numbers.revisions},
        "members": [asdict(member) for member in numbers.members],
        "file": {
            "size_bytes": file.size_bytes,
            "tables": [asdict(table) for table in file.tables],
            "backups": [{"time": time, "size_bytes": size} for time, size in file.backups],
        },
    }


def query_records(columns: Iterable[str], rows: Iterable[Iterable[Any]]) -> Iterable[Record]:
    """Yield the rows of a query (`sql`). If two titles are equal, the second gets a number."""
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
    """Return *value* for JSON: a BLOB in hexadecimal, an infinite number as text."""
    if isinstance(value, bytes):
        return value.hex()
    return str(value) if isinstance(value, float) and abs(value) == float("inf") else value


def _fields(value: object, *names: str, **keys: str) -> Record:
    """Return a record with the fields *names* of *value*, and then with the fields in *keys* under other names. *keys*
    maps the other names to the fields' own names."""
    return {key: getattr(value, name) for key, name in ({name: name for name in names} | keys).items()}


def _record(
    value: "DataclassInstance | list_queries.ListedProject | list_queries.SessionSummary", **keys: str
) -> Record:
    """Return a record with all fields of *value*. *keys* maps a field to its name in the record, if that differs."""
    fields = value._asdict() if isinstance(value, tuple) else asdict(value)
    return {keys.get(name, name): content for name, content in fields.items()}
