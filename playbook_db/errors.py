"""The errors that a user can see. Each says what happened and what to do next."""


class Remedy:
    """Advice about an error: a sentence, and commands (tuples of arguments of `playbook`) to put in place of its `{}`.

    `str()` fills in the commands as a person types them. A web page or a program can offer `commands` in another form.
    """

    program = "playbook"  # the plugin sets a full path, since its command isn't on a terminal's PATH

    def __init__(self, sentence: str, *commands: "tuple[str, ...]") -> None:
        self.sentence, self.commands = sentence, commands

    def __str__(self) -> str:
        from shlex import join  # late: a hook without errors doesn't need it

        return self.sentence.format(*[join((self.program, *command)) for command in self.commands])


class PlaybookError(Exception):
    """The base class of errors that are shown to the user. Any other exception is a bug.

    `text` says what happened. `remedy` says what to do next; None if no command helps. `str()` joins the two.
    """

    def __init__(self, text: str, remedy: "Remedy | None" = None) -> None:
        self.text, self.remedy = text, remedy
        between = "\n" if "\n" in text else " "
        super().__init__(f"{text}{between}{remedy}" if remedy else text)


class ArgumentError(PlaybookError):
    """An argument can't be used. The text needs no redaction: it quotes only arguments."""


class PointNotFoundError(ArgumentError):
    """No live key point has this name. *retired*: a retired point has it. *similar*: similar names of live points."""

    def __init__(self, name: str, *, retired: bool = False, similar: "tuple[str, ...]" = ()) -> None:
        text = f"There is no key point {name!r} in this playbook."
        if retired:
            super().__init__(text, Remedy("It was retired; bring it back with: {}", ("restore", name)))
        elif similar:
            super().__init__(f"{text} Did you mean {', '.join(similar)}?")
        else:
            super().__init__(text, Remedy("See the names with: {}", ("list",)))


class RevisionNotFoundError(ArgumentError):
    """The playbook has no revision with this number. *last* is the number of its last revision, or 0."""

    def __init__(self, number: str, last: int) -> None:
        there = f"The last one is {last}." if last else "There is none yet."
        remedy = Remedy("See them with: {}", ("log",)) if last else None
        super().__init__(f"There is no revision {number} of this playbook. {there}", remedy)


class MomentError(ArgumentError):
    """A text names neither a revision nor a time. *or_file*: a file would have been valid, too."""

    def __init__(self, text: str, examples: str, *, or_file: bool = False) -> None:
        what = "a revision, a time or a file here" if or_file else "a revision or a time"
        super().__init__(f"{text!r} is not {what}. Give a revision's number, or a time like: {examples}.")


class UndoError(PlaybookError):
    """Some revisions can't be undone. Nothing was written."""


class PlaybookChangedError(PlaybookError):
    """The playbook has changed since the user looked at it. Nothing was written."""

    def __init__(self, revision: int) -> None:
        self.revision = revision
        super().__init__(f"The playbook was changed meanwhile, in revision {revision}. Nothing was overwritten.")


class UndoCollisionError(UndoError):
    """A later change touched the same text as the revisions to undo. Nothing was written.

    `collisions` lists points and keys: the name, the present state, and the state after an undo. *argument* is how a
    user types the revisions.
    """

    def __init__(self, what: str, collisions: "tuple[tuple[str, str, str], ...]", *, argument: str) -> None:
        self.collisions = collisions
        lines = [f"{what} can't be undone: later changes touched the same text. Nothing was written."]
        for name, ours, theirs in collisions:
            lines += [_plain(f"  {name}"), _plain(f"    now:  {ours}"), _plain(f"    undo: {theirs}")]
        commands = ("undo", argument, "--ours"), ("undo", argument, "--theirs")
        remedy = "Keep the present state of these: {}\nRestore their earlier state: {}"
        super().__init__("\n".join(lines), Remedy(remedy, *commands))


class SessionNotFoundError(ArgumentError):
    """The id of a session is unknown, or it is ambiguous because several ids (*matches*) begin with it."""

    def __init__(self, session: str, matches: "tuple[str, ...]") -> None:
        if matches:
            some = ", ".join(matches[:3]) + (" ..." if matches[3:] else "")
            super().__init__(
                f"The ids of {len(matches)} sessions begin with {session!r}: {some}. Give more characters."
            )
        else:
            remedy = Remedy("See the sessions with: {}", ("sessions",))
            super().__init__(f"No revision came from session {session!r}.", remedy)


class PointRuleError(PlaybookError):
    """A change to a key point breaks a rule of the playbook. Nothing was changed."""


class PointChangedError(PointRuleError):
    """The point *name* has changed since the user looked at it. *what* is the change. Nothing was written."""

    def __init__(self, name: str, what: str) -> None:
        super().__init__(f"{name} was {what}")


class PlaybookFileError(PlaybookError):
    """A playbook file can't be imported. `place` is the position of the fault, and `problem` describes the fault.

    `damaged`: the file isn't JSON at all. `in_git_merge`: the file has an unfinished git merge.
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
        super().__init__(f"{source}{where}: {problem} Nothing was imported from it.", remedy)


class MirrorError(PlaybookError):
    """The mirror .claude/playbook.json can't be read or written."""


class GitError(PlaybookError):
    """The program git can't be run, or a repository's files can't be changed."""


class ProjectError(PlaybookError):
    """A project has no playbook, or it can't be moved."""


class TeamError(PlaybookError):
    """A project can't join or leave a team. Nothing was changed."""


class DiagnosticsError(PlaybookError):
    """The folder for diagnostics can't be written to."""


class InstallError(PlaybookError):
    """The hooks can't be added to Claude Code's settings, or removed from them. The settings weren't changed."""


class TemplateError(PlaybookError):
    """A prompt template can't be read, or lacks a placeholder."""


class SettingError(PlaybookError):
    """A setting or environment variable has a value that can't be used."""


class MissingExtraError(PlaybookError):
    """A feature (*what*) needs a *package* that isn't installed. The *extra* of playbook-db installs it."""

    def __init__(self, what: str, package: str, *, extra: str) -> None:
        super().__init__(
            f"{what} needs {package}, which isn't installed. Run the command that installed playbook-db again "
            "(`uv tool install --force`, `pipx install --force` or `pip install`), but with the extra: "
            f"'.[{extra}]' in a checkout, 'FILE.whl[{extra}]' for a wheel, or 'playbook-db[{extra}]' from PyPI."
        )


class TimeOverError(PlaybookError):
    """The worker ran out of time. The next worker does the remaining work."""


class BudgetError(PlaybookError):
    """A token budget is used up. The work waits until `until` (UTC, ISO 8601; None: until the user acts)."""

    def __init__(self, text: str, *, until: "str | None" = None, remedy: "Remedy | None" = None) -> None:
        self.until = until
        super().__init__(text, remedy)


class ModelError(PlaybookError):
    """A model was asked, but gave no usable answer.

    `is_lasting`: every attempt fails until the user fixes the cause, such as a wrong key or an unknown model.
    `used`: an estimate of the tokens (sent, received) of unusable replies.
    """

    def __init__(self, text: str, *, is_lasting: bool = False, used: "tuple[int, int]" = (0, 0)) -> None:
        self.is_lasting, self.used = is_lasting, used
        super().__init__(text)


class AccountError(ModelError):
    """The model's server refuses the account or its settings: a wrong key, no credit, an unknown model."""

    def __init__(self, text: str, *, used: "tuple[int, int]" = (0, 0)) -> None:
        super().__init__(text, is_lasting=True, used=used)


class RefusalError(ModelError):
    """The model refused to answer a question. Asking again won't help."""

    def __init__(self, text: str) -> None:
        super().__init__(text, is_lasting=True)


class NoModelError(PlaybookError):
    """No model can be asked, since there is neither an API key nor a Claude Code client."""


class ConsentError(NoModelError):
    """The project in *folder* sets the variables *names*, which would send its transcripts elsewhere."""

    def __init__(self, folder: str, names: "list[str]") -> None:
        super().__init__(
            f"The settings of {folder} set {', '.join(names)}, so your key and the project's transcripts may go to a "
            "place that the project chose. Nothing is learned from the project until you trust it.",
            Remedy("To see the values and decide: {}", ("project", "trust")),
        )


class OtherProjectError(NoModelError):
    """A session started the worker for its own project alone, since that project hides the user's values."""


class PatternError(PlaybookError):
    """A pattern for `forget` isn't a valid regular expression. `place` is the index of the faulty character."""

    def __init__(self, pattern: str, problem: str, place: "int | None") -> None:
        self.place = place
        where = "" if place is None else f" at character {place + 1}"
        super().__init__(
            f"{pattern!r} can't be used as a pattern{where}: {problem}. Nothing was changed. "
            "A pattern is a regular expression for Python's `re`: put \\ before special characters."
        )


class DatabaseError(PlaybookError):
    """The database can't be used as it is."""


class OtherProgramError(DatabaseError):
    """The database file belongs to another program and must not be changed."""

    def __init__(self, where: str) -> None:
        super().__init__(f"{where} is the database of another program. Name another file with --db.")


class DamagedError(DatabaseError):
    """The file is damaged or not a database. `cause` is SQLite's message."""

    def __init__(self, where: str, cause: str) -> None:
        self.cause = cause
        super().__init__(
            f"{where} is damaged or not an SQLite database ({cause}).",
            Remedy("Repair it: {}", ("db", "repair")),
        )


class DatabaseLostError(DatabaseError):
    """The database file is gone or empty, but backups of it exist. *backup* is the newest one."""

    def __init__(self, where: str, backup: str) -> None:
        remedy = (
            "Restore the newest: {}. Or create a new database: {}. Until then sessions are shown no points, and new "
            "lessons wait."
        )
        super().__init__(
            f"{where} is gone or empty, but backups of it exist.",
            Remedy(remedy, ("restore-backup", backup), ("init", "--new")),
        )


class BackupError(DatabaseError):
    """A backup can't be made or restored. Nothing was changed, and no half-written file remains."""


class RepairError(DatabaseError):
    """A damaged database can't be repaired. It was not changed."""


class DiskError(DatabaseError):
    """The database can't be read or written, since the disk is full, read-only, unreachable or failing."""


class DatabaseBusyError(DatabaseError):
    """Another process held the write lock for too long. Nothing was changed."""

    def __init__(self, where: str, waited_s: float) -> None:
        super().__init__(
            f"{where} stayed locked by another process for {waited_s:g} s. Nothing was changed; run the command again."
        )


class ConflictError(DatabaseBusyError):
    """Another process changed the same rows at the same time. Nothing was changed. Run the whole operation again."""

    def __init__(self, where: str) -> None:
        text = f"Somebody else wrote to {where} at the same time. Nothing was changed; run the command again."
        DatabaseError.__init__(self, text)


class ServerError(DatabaseError):
    """The database server refuses the connection or the statement."""


class NoPasswordError(ServerError):
    """The database server requires a password, and none was given."""


class ServerAwayError(ServerError):
    """The database server can't be used for now: it is unreachable, starting, stopping, full, or disconnected."""


class QueryError(ArgumentError):
    """The user's SQL can't be run. *problem* is the database's message. *views*: the names of all views."""

    def __init__(self, problem: str, *, views: "tuple[str, ...]" = ()) -> None:
        hints = [f"{problem.rstrip('.')}."]
        if views and problem.startswith("no such table"):
            hints.append(f"The views are: {', '.join(views)}.")
        elif problem.startswith("no such column"):
            hints.append("A view's columns: PRAGMA table_info(VIEW).")
        elif "binding" in problem:
            hints.append("The only parameter is :project.")
        super().__init__(" ".join([*hints, "docs/sql.md explains the views and their columns."]))


class QueryRefusedError(ArgumentError):
    """The user's SQL isn't a plain query. It was not run."""

    def __init__(self) -> None:
        super().__init__(
            "`playbook sql` only reads, so this statement was not run. Give one SELECT (or WITH ... SELECT, VALUES, "
            "EXPLAIN).",
            Remedy("To change a playbook, use the commands in: {}", ("--help",)),
        )


class QueryTimeoutError(ArgumentError):
    """The user's SQL took longer than *timeout_s* seconds and was stopped."""

    def __init__(self, timeout_s: float) -> None:
        super().__init__(
            f"The query took longer than {timeout_s:g} s and was stopped, so the output is incomplete. "
            "Select fewer rows, or allow more time with --timeout SECONDS."
        )


class SchemaTooNewError(DatabaseError):
    """A newer playbook-db wrote the database. This version must not use it."""

    def __init__(self, where: str, schema: int, known: int) -> None:
        super().__init__(
            f"{where} is at schema {schema:04d}; this playbook-db knows {known:04d} at most.",
            Remedy(
                "A newer version wrote it: bring playbook-db up to date the way you installed it (a checkout: git "
                "pull, then install it again)."
            ),
        )


class SchemaTooOldError(DatabaseError):
    """The database needs a migration. Only a command may run it."""

    def __init__(self, where: str, schema: int, needed: int, *, is_shared: bool = False) -> None:
        remedy = Remedy("Run: {} (it makes a backup first).", ("db", "upgrade"))
        if is_shared:  # its URL isn't the user's default
            remedy = Remedy("Its owner backs it up (pg_dump), and then runs: {}", ("--db", "URL", "db", "upgrade"))
        super().__init__(f"{where} is at schema {schema:04d}; this playbook-db needs {needed:04d}.", remedy)


def _plain(text: str) -> str:
    """Replace characters that could control a terminal, since other people wrote *text*."""
    return "".join(char if char.isprintable() else " " for char in text)
