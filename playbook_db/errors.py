"""Every error that a user can meet. Each text says what happened, to what, and what to do next."""


class PlaybookError(Exception):
    """Base of all errors whose text is meant for the user; anything else that is raised is a bug."""


class PointNotFoundError(PlaybookError):
    """No key point of this name is live in the playbook.

    `name` is what was asked for; `retired` tells whether a point of that name has left;
    `similar` holds live names that look alike.
    """

    def __init__(self, name: str, *, retired: bool = False, similar: "tuple[str, ...]" = ()) -> None:
        self.name, self.retired, self.similar = name, retired, similar
        if retired:
            hint = f"It was retired; bring it back with: playbook restore {name}"
        elif similar:
            hint = f"Did you mean {', '.join(similar)}?"
        else:
            hint = "See the names with: playbook list"
        super().__init__(f"There is no key point {name!r} in this playbook. {hint}")


class RevisionNotFoundError(PlaybookError):
    """No revision of this number is in the playbook's history; `last` is the number of the last one."""

    def __init__(self, asked: str, last: int) -> None:
        self.last = last
        there = f"The last one is {last}. See them with: playbook log" if last else "There is none yet."
        super().__init__(f"There is no revision {asked} of this playbook. {there}")


class MomentError(PlaybookError):
    """What was given names no revision and no time; nor, with *or_file*, a file."""

    def __init__(self, asked: str, examples: str, *, or_file: bool = False) -> None:
        what = "no revision, no time and no file here" if or_file else "no revision and no time"
        super().__init__(f"{asked!r} is {what}. Give a revision's number, or a time like: {examples}.")


class UndoError(PlaybookError):
    """Revisions can't be taken back as it was asked; nothing was written."""


class UndoCollisionError(UndoError):
    """What is to be taken back was changed again since; nothing was written.

    `collisions` holds for each such thing its name, how it stands now, and what the undo would bring back. `keep` and
    `take` are what to run for the one side or the other.
    """

    def __init__(self, what: str, collisions: "tuple[tuple[str, str, str], ...]", *, keep: str, take: str) -> None:
        self.collisions = collisions
        lines = [f"{what} can't be taken back as it stands: some of it was changed again since. Nothing was written."]
        for name, ours, theirs in collisions:
            lines += [_plain(f"  {name}"), _plain(f"    now:  {ours}"), _plain(f"    undo: {theirs}")]
        lines += [f"Keep what stands now there: {keep}", f"Take what the undo brings back: {take}"]
        super().__init__("\n".join(lines))


class SessionNotFoundError(PlaybookError):
    """No revision came from a session of this id, or from more than one whose id begins so; `found` are those."""

    def __init__(self, asked: str, found: "tuple[str, ...]") -> None:
        self.found = found
        if found:
            some = ", ".join(found[:3]) + (" ..." if found[3:] else "")
            told = f"{len(found)} sessions begin with {asked!r}: {some}. Give more of the id."
        else:
            told = f"No revision came from a session {asked!r}. See the sessions with: playbook sessions"
        super().__init__(told)


class PointRuleError(PlaybookError):
    """A change to one key point breaks a rule of the playbook; nothing was changed."""


class PlaybookFileError(PlaybookError):
    """A playbook file can't be taken in; nothing of it was.

    `source` is the file's name, `place` where in it, `problem` what is wrong there.
    `damaged` is true where the file isn't JSON at all, so that no reader can make sense of it; `in_git_merge`
    where the reason is a merge that waits to be finished.
    """

    def __init__(
        self, source: str, place: str, problem: str, *, damaged: bool = False, in_git_merge: bool = False
    ) -> None:
        self.source, self.place, self.problem = source, place, problem
        self.damaged, self.in_git_merge = damaged, in_git_merge
        where = f", {place}" if place else ""
        super().__init__(f"{source}{where}: {problem} Nothing of it was taken in.")


class MirrorError(PlaybookError):
    """The mirror .claude/playbook.json can't be read or written where it stands."""


class ProjectError(PlaybookError):
    """A project can't be moved, or isn't known."""


class JobError(PlaybookError):
    """A job can't be queued again, or removed."""


class DiagnosticsError(PlaybookError):
    """The folder for diagnostics isn't one that we may write into."""


class InstallError(PlaybookError):
    """Our hooks can't be put into Claude Code's settings, or taken out; the settings file is as it was."""


class OperationsFileError(PlaybookError):
    """A file of curator operations is no JSON list and no object with a list `operations`."""


class TemplateError(PlaybookError):
    """A prompt template of the user lacks a placeholder that is needed."""


class SettingError(PlaybookError):
    """A setting or environment variable has a value that can't be used."""


class TimeOverError(PlaybookError):
    """The worker's time is over; what is left is for the next one."""


class BudgetError(PlaybookError):
    """Today's budget of tokens is spent; the work waits until `until` (UTC, ISO 8601)."""

    def __init__(self, spent: int, budget: int, until: str) -> None:
        self.until = until
        super().__init__(
            f"{spent:,} tokens were used today; PLAYBOOK_DAILY_TOKENS allows {budget:,}. The work waits until {until}."
        )


class ModelError(PlaybookError):
    """A model was asked and gave nothing that can be used.

    `is_lasting` tells that asking again will not help as things are (a wrong key, an unknown model); `retry_after_s`
    is how long the other side asked to be left alone, None where it didn't say.
    """

    def __init__(self, text: str, *, is_lasting: bool = False, retry_after_s: "float | None" = None) -> None:
        self.is_lasting, self.retry_after_s = is_lasting, retry_after_s
        super().__init__(text)


class NoModelError(PlaybookError):
    """There is no model that could be asked: no key, and no Claude Code client."""


class PatternError(PlaybookError):
    """A pattern of what is to be forgotten can't be used; nothing was changed. `place` is where in it, from 0."""

    def __init__(self, pattern: str, problem: str, place: "int | None") -> None:
        self.place = place
        where = "" if place is None else f" at character {place + 1}"
        super().__init__(
            f"{pattern!r} can't be used as a pattern{where}: {problem}. Nothing was changed. "
            "It is a regular expression of Python's `re`; put \\ before a character that means itself."
        )


class DatabaseError(PlaybookError):
    """The database can't be used as it is."""


class DamagedError(DatabaseError):
    """The database file can't be read as one: it is damaged, or never was one. `cause` is what SQLite says."""

    def __init__(self, where: str, cause: str) -> None:
        self.cause = cause
        super().__init__(
            f"{where} is damaged or no SQLite database ({cause}). It was left as it is. "
            "Salvage what can be read: playbook db repair"
        )


class BackupError(DatabaseError):
    """A backup can't be taken or put back; nothing was changed, and nothing half-done was left."""


class RepairError(DatabaseError):
    """A damaged database can't be salvaged; it was left as it is."""


class DatabaseBusyError(DatabaseError):
    """Another process held the write lock for longer than we wait; nothing was changed."""

    def __init__(self, where: str, waited_s: float) -> None:
        super().__init__(
            f"{where} stayed locked by another process for {waited_s:g} s. Nothing was changed; run the command again."
        )


class QueryError(PlaybookError):
    """SQL that was given can't be run. `problem` is what SQLite says, `views` are those that could be asked."""

    def __init__(self, problem: str, *, views: "tuple[str, ...]" = ()) -> None:
        self.problem, self.views = problem.rstrip("."), views
        known = f" The views are: {', '.join(views)}." if views and problem.startswith("no such table") else ""
        listed = " Which there are: PRAGMA table_info(VIEW)." if problem.startswith("no such column") else ""
        bound = " The one parameter that has a value is :project." if "binding" in problem else ""
        super().__init__(f"{self.problem}.{known}{listed}{bound} What the views and their columns mean: docs/sql.md")


class QueryRefusedError(PlaybookError):
    """SQL that was given would do more than read; it was not run."""

    def __init__(self) -> None:
        super().__init__(
            "This would do more than read, so it was not run. `playbook sql` takes one SELECT (or WITH ... SELECT, "
            "VALUES, EXPLAIN); changes belong to the commands, see: playbook --help"
        )


class SchemaTooNewError(DatabaseError):
    """The database was written by a newer playbook-db; an older one must not touch it."""

    def __init__(self, where: str, found: int, known: int) -> None:
        self.found, self.known = found, known
        super().__init__(
            f"{where} is at schema {found:04d}; this playbook-db knows {known:04d} at most. "
            "Run: pip install --upgrade playbook-db"
        )


class SchemaTooOldError(DatabaseError):
    """The database waits for migrations, and this is not the place to run them."""

    def __init__(self, where: str, found: int, needed: int) -> None:
        self.found, self.needed = found, needed
        super().__init__(
            f"{where} is at schema {found:04d}; this playbook-db needs {needed:04d}. "
            "Run: playbook db upgrade (it takes a backup first)."
        )


def _plain(text: str) -> str:
    """*text*, which somebody else wrote, without what could steer a terminal."""
    return "".join(char if char.isprintable() else " " for char in text)
