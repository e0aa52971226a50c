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


class NotFoundError(ArgumentError):
    """The playbook has no point, revision or session of this name."""


class PointRuleError(PlaybookError):
    """A change breaks a rule of the playbook, or can't be undone. Nothing was changed."""


class ChangedError(PointRuleError):
    """The point or the playbook has changed since the user looked at it. Nothing was written."""


class UndoCollisionError(PointRuleError):
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
    """A project has no playbook, can't be moved, or can't join or leave a team. Nothing was changed."""


class InstallError(PlaybookError):
    """The hooks can't be added to Claude Code's settings, or removed from them. The settings weren't changed."""


class SettingError(PlaybookError):
    """A setting, environment variable or prompt template can't be used, or lacks a package that it needs."""


class BudgetError(PlaybookError):
    """A budget of tokens or time is used up. The work waits until `until` (UTC, ISO 8601), or for the next worker."""

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
    """No model can be asked: there is neither an API key nor Claude Code, or the user must trust the project first."""


class OtherProjectError(NoModelError):
    """A session started the worker for its own project alone, since that project hides the user's values."""


class DatabaseError(PlaybookError):
    """The database can't be used as it is, or it can't be backed up, restored or repaired. It was not changed."""


class SchemaError(DatabaseError):
    """The database is older than this version needs, and only a command may migrate it; or a newer version wrote it."""


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


# Errors that more than one module raises.


def unknown_point(name: str, *, retired: bool = False, similar: "tuple[str, ...]" = ()) -> NotFoundError:
    """Return the error: no live point is called *name*. *retired*: a retired one is. *similar*: names of live ones."""
    text = f"There is no key point {name!r} in this playbook."
    if retired:
        return NotFoundError(text, Remedy("It was retired; bring it back with: {}", ("restore", name)))
    if similar:
        return NotFoundError(f"{text} Did you mean {', '.join(similar)}?")
    return NotFoundError(text, Remedy("See the names with: {}", ("list",)))


def unknown_revision(number: str, last: int) -> NotFoundError:
    """Return the error: there is no revision *number*. *last* is the number of the last revision, or 0."""
    there = f"The last one is {last}." if last else "There is none yet."
    remedy = Remedy("See them with: {}", ("log",)) if last else None
    return NotFoundError(f"There is no revision {number} of this playbook. {there}", remedy)


def unknown_session(session: str, matches: "tuple[str, ...]") -> NotFoundError:
    """Return the error: the id *session* is unknown, or it is ambiguous because several ids (*matches*) begin so."""
    if not matches:
        remedy = Remedy("See the sessions with: {}", ("sessions",))
        return NotFoundError(f"No revision came from session {session!r}.", remedy)
    some = ", ".join(matches[:3]) + (" ..." if matches[3:] else "")
    return NotFoundError(f"The ids of {len(matches)} sessions begin with {session!r}: {some}. Give more characters.")


def not_a_moment(text: str, examples: str, *, or_file: bool = False) -> ArgumentError:
    """Return the error: *text* names neither a revision nor a time. *or_file*: a file would have been valid, too."""
    what = "a revision, a time or a file here" if or_file else "a revision or a time"
    return ArgumentError(f"{text!r} is not {what}. Give a revision's number, or a time like: {examples}.")


def missing_extra(what: str, package: str, *, extra: str) -> SettingError:
    """Return the error: *what* needs a *package* that isn't installed. The *extra* of playbook-db installs it."""
    return SettingError(
        f"{what} needs {package}, which isn't installed. Run the command that installed playbook-db again "
        "(`uv tool install --force`, `pipx install --force` or `pip install`), but with the extra: "
        f"'.[{extra}]' in a checkout, 'FILE.whl[{extra}]' for a wheel, or 'playbook-db[{extra}]' from PyPI."
    )


def database_lost(where: str, backup: str) -> DatabaseError:
    """Return the error: the file *where* is gone or empty, but backups of it exist. *backup* is the newest one."""
    remedy = (
        "Restore the newest: {}. Or create a new database: {}. Until then sessions are shown no points, and new "
        "lessons wait."
    )
    return DatabaseError(
        f"{where} is gone or empty, but backups of it exist.",
        Remedy(remedy, ("restore-backup", backup), ("init", "--new")),
    )


def query_failed(problem: str, *, views: "tuple[str, ...]" = ()) -> ArgumentError:
    """Return the error: the user's SQL can't be run. *problem* is the database's message. *views*: names of views."""
    hints = [f"{problem.rstrip('.')}."]
    if views and problem.startswith("no such table"):
        hints.append(f"The views are: {', '.join(views)}.")
    elif problem.startswith("no such column"):
        hints.append("A view's columns: PRAGMA table_info(VIEW).")
    elif "binding" in problem:
        hints.append("The only parameter is :project.")
    return ArgumentError(" ".join([*hints, "docs/sql.md explains the views and their columns."]))


def query_refused() -> ArgumentError:
    """Return the error: the user's SQL isn't a plain query. It was not run."""
    return ArgumentError(
        "`playbook sql` only reads, so this statement was not run. Give one SELECT (or WITH ... SELECT, VALUES, "
        "EXPLAIN).",
        Remedy("To change a playbook, use the commands in: {}", ("--help",)),
    )


def query_too_slow(timeout_s: float) -> ArgumentError:
    """Return the error: the user's SQL took longer than *timeout_s* seconds and was stopped."""
    return ArgumentError(
        f"The query took longer than {timeout_s:g} s and was stopped, so the output is incomplete. "
        "Select fewer rows, or allow more time with --timeout SECONDS."
    )


def _plain(text: str) -> str:
    """Replace characters that could control a terminal, since other people wrote *text*."""
    return "".join(char if char.isprintable() else " " for char in text)
