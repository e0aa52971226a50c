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


class DatabaseError(PlaybookError):
    """The database can't be used as it is."""


class DatabaseBusyError(DatabaseError):
    """Another process held the write lock for longer than we wait; nothing was changed."""

    def __init__(self, where: str, waited_s: float) -> None:
        super().__init__(
            f"{where} stayed locked by another process for {waited_s:g} s. Nothing was changed; run the command again."
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
            "Run: playbook db upgrade (it keeps a backup beside the file)."
        )
