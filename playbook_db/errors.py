"""All errors that a user can meet. Each says what happened, to what, and what to do next."""


class Remedy:
    """What to do about an error: the `commands` of playbook that do it, each as its arguments, and a sentence.

    In the sentence `{}` stands for a command, as a person types it. A page or a program offers the commands instead.
    """

    program = "playbook"  # the plugin's command has its full path, since it is on no terminal's PATH

    def __init__(self, sentence: str, *commands: "tuple[str, ...]") -> None:
        self.sentence, self.commands = sentence, commands

    def __str__(self) -> str:
        from shlex import join  # late: no hook that goes well comes here

        return self.sentence.format(*[join((self.program, *command)) for command in self.commands])


class PlaybookError(Exception):
    """Base of all errors whose text is for the user; any other exception is a bug.

    `text` says what happened, `remedy` what to do next, None where nothing of ours helps. As a string it is both.
    """

    def __init__(self, text: str, remedy: "Remedy | None" = None) -> None:
        self.text, self.remedy = text, remedy
        between = "\n" if "\n" in text else " "
        super().__init__(f"{text}{between}{remedy}" if remedy else text)


class PointNotFoundError(PlaybookError):
    """No live key point has this name; *retired* says whether a retired one has it, *similar* are live ones like it."""

    def __init__(self, name: str, *, retired: bool = False, similar: "tuple[str, ...]" = ()) -> None:
        text = f"There is no key point {name!r} in this playbook."
        if retired:
            super().__init__(text, Remedy("It was retired; bring it back with: {}", ("restore", name)))
        elif similar:
            super().__init__(f"{text} Did you mean {', '.join(similar)}?")
        else:
            super().__init__(text, Remedy("See the names with: {}", ("list",)))


class RevisionNotFoundError(PlaybookError):
    """The playbook has no revision of this number; *last* is the number of its last one."""

    def __init__(self, number: str, last: int) -> None:
        there = f"The last one is {last}." if last else "There is none yet."
        remedy = Remedy("See them with: {}", ("log",)) if last else None
        super().__init__(f"There is no revision {number} of this playbook. {there}", remedy)


class MomentError(PlaybookError):
    """The given text names no revision and no time; nor, with *or_file*, a file."""

    def __init__(self, text: str, examples: str, *, or_file: bool = False) -> None:
        what = "no revision, no time and no file here" if or_file else "no revision and no time"
        super().__init__(f"{text!r} is {what}. Give a revision's number, or a time like: {examples}.")


class UndoError(PlaybookError):
    """Revisions can't be undone; nothing was written."""


class PlaybookChangedError(PlaybookError):
    """What somebody decided rests on a playbook that has changed since they saw it; nothing was changed."""

    def __init__(self, revision: int) -> None:
        self.revision = revision
        super().__init__(f"The playbook was changed meanwhile, in revision {revision}. Nothing was overwritten.")


class UndoCollisionError(UndoError):
    """What is to be undone was changed again since; nothing was written.

    `collisions` holds for each such thing its name, its state now, and the state that the undo would restore; the
    remedy's commands decide for the one or the other. *argument* names the revisions, as the command takes them.
    """

    def __init__(self, what: str, collisions: "tuple[tuple[str, str, str], ...]", *, argument: str) -> None:
        self.collisions = collisions
        lines = [f"{what} can't be undone: some of it was changed again since. Nothing was written."]
        for name, ours, theirs in collisions:
            lines += [_plain(f"  {name}"), _plain(f"    now:  {ours}"), _plain(f"    undo: {theirs}")]
        remedy = "Keep what stands now there: {}\nTake what the undo brings back: {}"
        commands = ("undo", argument, "--ours"), ("undo", argument, "--theirs")
        super().__init__("\n".join(lines), Remedy(remedy, *commands))


class SessionNotFoundError(PlaybookError):
    """No revision came from a session with this id, or several sessions (*matches*) have an id that begins so."""

    def __init__(self, session: str, matches: "tuple[str, ...]") -> None:
        if matches:
            some = ", ".join(matches[:3]) + (" ..." if matches[3:] else "")
            super().__init__(f"{len(matches)} sessions begin with {session!r}: {some}. Give more of the id.")
        else:
            remedy = Remedy("See the sessions with: {}", ("sessions",))
            super().__init__(f"No revision came from a session {session!r}.", remedy)


class SkippedSessionError(PlaybookError):
    """The user keeps a session from being learned from."""

    def __init__(self, session: str) -> None:
        remedy = Remedy(
            "What is said in it from now on is learned again after: {}", ("sessions", "skip", session, "--off")
        )
        super().__init__(f"Session {session} is kept from being learned from.", remedy)


class ProposalNotFoundError(PlaybookError):
    """No proposal that waits is meant by *word*, or several are; nothing was decided."""

    def __init__(self, word: str, several: "tuple[str, ...]" = ()) -> None:
        if several:
            text = f"{word} is what {', '.join(several)} are about; name the one that you mean. Nothing was decided."
            super().__init__(text)
        else:
            text = f"No proposal {word!r} waits. Nothing was decided."
            super().__init__(text, Remedy("See which do with: {}", ("list", "--proposed")))


class PointRuleError(PlaybookError):
    """A change to a key point breaks a rule of the playbook; nothing was changed."""


class PointChangedError(PointRuleError):
    """The point *name* isn't any more what it was to the one who wants to change it. Nothing was changed; *what* says
    what has become of it."""

    def __init__(self, name: str, what: str) -> None:
        super().__init__(f"{name} was {what}")


class PlaybookFileError(PlaybookError):
    """A playbook file can't be imported; nothing of it was. `place` is the place in it, `problem` what is wrong there.

    `damaged` says that the file isn't JSON at all; `in_git_merge` that a git merge in it is not finished.
    """

    def __init__(
        self,
        source: str,
        place: str,
        problem: str,
        *,
        damaged: bool = False,
        in_git_merge: bool = False,
        remedy: "Remedy | None" = None,
    ) -> None:
        self.source, self.place, self.problem = source, place, problem
        self.damaged, self.in_git_merge = damaged, in_git_merge
        where = f", {place}" if place else ""
        super().__init__(f"{source}{where}: {problem} Nothing of it was taken in.", remedy)


class MirrorError(PlaybookError):
    """The mirror .claude/playbook.json can't be read or written."""


class GitError(PlaybookError):
    """Git can't be asked, or its files can't be changed."""


class ProjectError(PlaybookError):
    """A project can't be moved, or has no playbook and isn't given one."""


class TeamError(PlaybookError):
    """A project can't join a team, or leave it, as asked; nothing was changed."""


class JobError(PlaybookError):
    """A job can't be queued again, or removed."""


class DiagnosticsError(PlaybookError):
    """The folder for diagnostics can't be written to."""


class InstallError(PlaybookError):
    """Our hooks can't be added to Claude Code's settings, or removed; the settings file wasn't changed."""


class OperationsFileError(PlaybookError):
    """A file of curator operations is neither a JSON list nor an object with a list `operations`."""


class TemplateError(PlaybookError):
    """A prompt template of the user lacks a placeholder that is needed."""


class SettingError(PlaybookError):
    """A setting or environment variable has a value that can't be used."""


class MissingExtraError(PlaybookError):
    """*what* needs the package *package*, which comes with an *extra* that isn't installed."""

    def __init__(self, what: str, package: str, *, extra: str) -> None:
        super().__init__(
            f"{what} needs {package}, which isn't installed. Install playbook-db once more, with "
            f"'.[{extra}]' in place of '.' in its checkout, 'FILE.whl[{extra}]' of a wheel, "
            f"'playbook-db[{extra}]' where it came from PyPI: uv tool install --force, pipx install --force, "
            "or pip install."
        )


class TimeOverError(PlaybookError):
    """The worker's time is over; the next worker does the rest."""


class BudgetError(PlaybookError):
    """A budget of tokens is spent; the work waits until `until` (UTC, ISO 8601), None where that is for the user."""

    def __init__(self, text: str, *, until: "str | None" = None, remedy: "Remedy | None" = None) -> None:
        self.until = until
        super().__init__(text, remedy)


class ModelError(PlaybookError):
    """A model was asked and gave no usable answer.

    `is_lasting` says that asking again won't help until something is changed (a wrong key, an unknown model);
    `retry_after_s` is how long the server asked to wait, None where it didn't say; `used` are the tokens, sent and
    received, about, that replies took which were not of use.
    """

    def __init__(
        self,
        text: str,
        *,
        is_lasting: bool = False,
        retry_after_s: "float | None" = None,
        used: "tuple[int, int]" = (0, 0),
    ) -> None:
        self.is_lasting, self.retry_after_s, self.used = is_lasting, retry_after_s, used
        super().__init__(text)


class AccountError(ModelError):
    """The account or its settings are refused: a wrong key, no credit, an unknown model. No other question would fare
    better until that is mended, so work waits."""

    def __init__(self, text: str, *, used: "tuple[int, int]" = (0, 0)) -> None:
        super().__init__(text, is_lasting=True, used=used)


class RefusalError(ModelError):
    """The model refused to answer this very question; asking again won't help."""

    def __init__(self, text: str) -> None:
        super().__init__(text, is_lasting=True)


class NoModelError(PlaybookError):
    """There is no model to ask: no key, and no Claude Code client."""


class ConsentError(NoModelError):
    """What the project in *folder* brings, the variables *names*, would take its transcripts elsewhere."""

    def __init__(self, folder: str, names: "list[str]") -> None:
        super().__init__(
            f"The settings of {folder} bring {', '.join(names)}: its transcripts and your key would go where the "
            "project says. Nothing is learned from them until you have decided.",
            Remedy(
                "To use what it brings: {}. To use your own: {}", ("project", "trust"), ("project", "trust", "--off")
            ),
        )


class WithheldError(NoModelError):
    """The session that started the worker belongs to a project that covers up the user's own values of *names*."""

    def __init__(self, names: "list[str]") -> None:
        super().__init__(
            f"The session that started this worker belongs to a project with its own {', '.join(names)}; what you use "
            "yourself can't be seen from there. The next worker that another session starts goes on."
        )


class PatternError(PlaybookError):
    """A regular expression for `forget` can't be used; nothing was changed. `place` is the index of the fault in it."""

    def __init__(self, pattern: str, problem: str, place: "int | None") -> None:
        self.place = place
        where = "" if place is None else f" at character {place + 1}"
        super().__init__(
            f"{pattern!r} can't be used as a pattern{where}: {problem}. Nothing was changed. "
            "It is a regular expression of Python's `re`; put \\ before a character that means itself."
        )


class DatabaseError(PlaybookError):
    """The database can't be used as it is."""


class OtherProgramError(DatabaseError):
    """The database file is one of another program; it must not be touched."""

    def __init__(self, where: str) -> None:
        super().__init__(f"{where} is the database of another program. Name another with --db.")


class DamagedError(DatabaseError):
    """The file is damaged, or no database. `cause` is the message of SQLite."""

    def __init__(self, where: str, cause: str) -> None:
        self.cause = cause
        super().__init__(
            f"{where} is damaged or no SQLite database ({cause}). It was left as it is.",
            Remedy("Salvage what can be read: {}", ("db", "repair")),
        )


class DatabaseLostError(DatabaseError):
    """The database file is gone or empty, and there are backups of it, the newest in the file *backup*."""

    def __init__(self, where: str, backup: str) -> None:
        remedy = (
            "Bring back the newest: {}. Or begin anew: {}. Until then nothing is shown, and what is to learn waits."
        )
        super().__init__(
            f"{where} is gone or empty, and there are backups of it.",
            Remedy(remedy, ("restore-backup", backup), ("init", "--new")),
        )


class BackupError(DatabaseError):
    """A backup can't be made or restored; nothing was changed, and no half-written file stays."""


class RepairError(DatabaseError):
    """A damaged database can't be repaired; it was not changed."""


class DiskError(DatabaseError):
    """The disk doesn't let the database be used so: it is full, read-only, out of reach, or failing."""


class DatabaseBusyError(DatabaseError):
    """Another process held the write lock for too long; nothing was changed."""

    def __init__(self, where: str, waited_s: float) -> None:
        super().__init__(
            f"{where} stayed locked by another process for {waited_s:g} s. Nothing was changed; run the command again."
        )


class ConflictError(DatabaseBusyError):
    """What others wrote at the same time stood in the way; nothing was changed, and trying again as a whole helps."""

    def __init__(self, where: str) -> None:
        DatabaseError.__init__(
            self, f"{where} was written to by others at the same time. Nothing was changed; run the command again."
        )


class ServerError(DatabaseError):
    """The server of the database lets nobody in, or can't do what was asked."""


class NoPasswordError(ServerError):
    """The server wants a password, and none was given."""


class ServerAwayError(ServerError):
    """The server can't be used at present: it can't be reached, is starting or stopping, has no connection or no room
    left, or the connection was lost. Later, the same may go well."""


_RENAMED = {  # tables and columns, in schema 10
    "taken_back": "undone_ranges", "took_back_from": "undoes_from", "took_back_to": "undoes_to",
    "taken_back_in": "undone_in", "kept_apart": "distinct_points", "asked": "selected_by", "scrubbed_at": "purged_at",
    "learnt_to": "learned_offset", "used_at": "sessions_at_last_use", "stretches": "chunks",
    "shown_in": "sessions_shown", "cited_in": "sessions_cited",
}  # fmt: skip


class QueryError(PlaybookError):
    """The given SQL can't be run. *problem* is the database's message, *views* are the views that can be queried."""

    def __init__(self, problem: str, *, views: "tuple[str, ...]" = ()) -> None:
        known = f" The views are: {', '.join(views)}." if views and problem.startswith("no such table") else ""
        listed = " A view's columns: PRAGMA table_info(VIEW)." if problem.startswith("no such column") else ""
        bound = " The one parameter that has a value is :project." if "binding" in problem else ""
        is_missing = problem.startswith("no such") or "does not exist" in problem
        words = problem.replace(".", " ").replace('"', " ").split()
        old = next((word for word in words if is_missing and word in _RENAMED), "")
        renamed = f" `{old}` is called `{_RENAMED[old]}` now." if old else ""
        what = problem.rstrip(".")
        super().__init__(f"{what}.{renamed}{known}{listed}{bound} What the views and their columns mean: docs/sql.md")


class QueryRefusedError(PlaybookError):
    """The given SQL would do more than read; it was not run."""

    def __init__(self) -> None:
        super().__init__(
            "This would do more than read, so it was not run. `playbook sql` takes one SELECT (or WITH ... SELECT, "
            "VALUES, EXPLAIN);",
            Remedy("changes belong to the commands, see: {}", ("--help",)),
        )


class QueryTimeoutError(PlaybookError):
    """The given SQL took longer than *timeout_s* seconds and was ended."""

    def __init__(self, timeout_s: float) -> None:
        super().__init__(
            f"The question took longer than {timeout_s:g} s and was ended; what was printed is not all of the answer. "
            "Ask for less, or allow more: --timeout SECONDS."
        )


class SchemaTooNewError(DatabaseError):
    """The database was written by a newer playbook-db; this one must not use it."""

    def __init__(self, where: str, schema: int, known: int) -> None:
        super().__init__(
            f"{where} is at schema {schema:04d}; this playbook-db knows {known:04d} at most.",
            Remedy(
                "A newer version wrote it: bring playbook-db up to date the way you installed it (a checkout: git "
                "pull, and install it once more)."
            ),
        )


class SchemaTooOldError(DatabaseError):
    """The database needs a migration, which only a command may run."""

    def __init__(self, where: str, schema: int, needed: int, *, is_shared: bool = False) -> None:
        remedy = Remedy("Run: {} (it takes a backup first).", ("db", "upgrade"))
        if is_shared:  # whose URL isn't the user's own database
            remedy = Remedy("Its owner backs it up (pg_dump), and then runs: {}", ("--db", "URL", "db", "upgrade"))
        super().__init__(f"{where} is at schema {schema:04d}; this playbook-db needs {needed:04d}.", remedy)


class UnreleasedSchemaError(DatabaseError):
    """The database was made by a checkout that was never released, whose schemas had the same numbers as ours."""

    def __init__(self, where: str) -> None:
        super().__init__(
            f"{where} was made by a checkout from before version 0.1.0, and can't be migrated; it was left as it is.",
            Remedy(
                "With that checkout run `playbook export -o playbook.json` in each project; then move the database "
                "away. With this one run `playbook init --new` once, then `playbook import playbook.json` in each."
            ),
        )


def _plain(text: str) -> str:
    """*text*, which somebody else wrote, without characters that could control a terminal."""
    return "".join(char if char.isprintable() else " " for char in text)
