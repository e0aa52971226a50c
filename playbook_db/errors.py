"""All errors that a user can meet. Each says what happened, to what, and what to do next."""


class Remedy:
    """Advice about an error: a sentence with a `{}` for each of its `commands` (arguments of `playbook`, in tuples).

    As text, it shows the commands as a person types them. A page or a program offers the commands instead.
    """

    program = "playbook"  # the plugin's command has its full path, since it is on no terminal's PATH

    def __init__(self, sentence: str, *commands: "tuple[str, ...]") -> None:
        self.sentence, self.commands = sentence, commands

    def __str__(self) -> str:
        from shlex import join  # late: a hook without errors doesn't need it

        return self.sentence.format(*[join((self.program, *command)) for command in self.commands])


class PlaybookError(Exception):
    """Base of all errors whose text is for the user; any other exception is a bug.

    `text` says what happened. `remedy` says what to do next; None if no command helps. `str()` joins the two.
    """

    def __init__(self, text: str, remedy: "Remedy | None" = None) -> None:
        self.text, self.remedy = text, remedy
        between = "\n" if "\n" in text else " "
        super().__init__(f"{text}{between}{remedy}" if remedy else text)


class ArgumentError(PlaybookError):
    """An argument names something that doesn't exist. Its text has only our words and arguments: no redaction."""


class PointNotFoundError(ArgumentError):
    """No live key point has this name. *retired*: a retired point has it. *similar*: live points with similar names."""

    def __init__(self, name: str, *, retired: bool = False, similar: "tuple[str, ...]" = ()) -> None:
        text = f"There is no key point {name!r} in this playbook."
        if retired:
            super().__init__(text, Remedy("It was retired; bring it back with: {}", ("restore", name)))
        elif similar:
            super().__init__(f"{text} Did you mean {', '.join(similar)}?")
        else:
            super().__init__(text, Remedy("See the names with: {}", ("list",)))


class RevisionNotFoundError(ArgumentError):
    """The playbook has no revision with this number; *last* is its last one."""

    def __init__(self, number: str, last: int) -> None:
        there = f"The last one is {last}." if last else "There is none yet."
        remedy = Remedy("See them with: {}", ("log",)) if last else None
        super().__init__(f"There is no revision {number} of this playbook. {there}", remedy)


class MomentError(ArgumentError):
    """A text is neither a revision nor a time (nor a file, with *or_file*)."""

    def __init__(self, text: str, examples: str, *, or_file: bool = False) -> None:
        what = "a revision, a time or a file here" if or_file else "a revision or a time"
        super().__init__(f"{text!r} is not {what}. Give a revision's number, or a time like: {examples}.")


class UndoError(PlaybookError):
    """Revisions can't be undone; nothing was written."""


class PlaybookChangedError(PlaybookError):
    """The playbook has changed since the user looked at it; nothing was written."""

    def __init__(self, revision: int) -> None:
        self.revision = revision
        super().__init__(f"The playbook was changed meanwhile, in revision {revision}. Nothing was overwritten.")


class UndoCollisionError(UndoError):
    """A later change touched the same text as the revisions to undo; nothing was written.

    `collisions` has for each point or key its name, its present state, and its state after an undo. *argument* names
    the revisions, as on the command line.
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
    """No revision came from a session with this id, or several ids (*matches*) begin with it."""

    def __init__(self, session: str, matches: "tuple[str, ...]") -> None:
        if matches:
            some = ", ".join(matches[:3]) + (" ..." if matches[3:] else "")
            super().__init__(f"{len(matches)} sessions begin with {session!r}: {some}. Give more of the id.")
        else:
            remedy = Remedy("See the sessions with: {}", ("sessions",))
            super().__init__(f"No revision came from session {session!r}.", remedy)


class SkippedSessionError(PlaybookError):
    """The user has excluded this session from learning."""

    def __init__(self, session: str) -> None:
        remedy = Remedy("To learn from what follows in it: {}", ("sessions", "skip", session, "--off"))
        super().__init__(f"Nothing is learned from session {session}: you excluded it.", remedy)


class ProposalNotFoundError(ArgumentError):
    """No waiting proposal matches *word*, or several do. Nothing was decided."""

    def __init__(self, word: str, several: "tuple[str, ...]" = ()) -> None:
        if several:
            super().__init__(f"{word} matches {', '.join(several)}: name one of them. Nothing was decided.")
        else:
            text = f"No proposal {word!r} waits. Nothing was decided."
            super().__init__(text, Remedy("See the waiting ones with: {}", ("list", "--proposed")))


class PointRuleError(PlaybookError):
    """A change to a key point breaks a rule of the playbook; nothing was changed."""


class PointChangedError(PointRuleError):
    """The point *name* has changed since the user looked at it. *what* says how. Nothing was written."""

    def __init__(self, name: str, what: str) -> None:
        super().__init__(f"{name} was {what}")


class PlaybookFileError(PlaybookError):
    """A playbook file can't be imported. Nothing was imported. `place` is a position in it, `problem` the fault there.

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
    """Git can't be run, or its files can't be changed."""


class ProjectError(PlaybookError):
    """A project can't be moved, or it has no playbook."""


class TeamError(PlaybookError):
    """A project can't join or leave a team; nothing was changed."""


class DiagnosticsError(PlaybookError):
    """The folder for diagnostics can't be written to."""


class InstallError(PlaybookError):
    """Our hooks can't be added to Claude Code's settings, or removed; the settings file wasn't changed."""


class TemplateError(PlaybookError):
    """A prompt template can't be read, or lacks a placeholder."""


class SettingError(PlaybookError):
    """A setting or environment variable has a value that can't be used."""


class MissingExtraError(PlaybookError):
    """*what* needs *package*, which isn't installed. The extra *extra* of playbook-db includes it."""

    def __init__(self, what: str, package: str, *, extra: str) -> None:
        super().__init__(
            f"{what} needs {package}, which isn't installed. Install playbook-db again, with the extra: "
            "`uv tool install --force`, `pipx install --force` or `pip install`, followed by "
            f"'.[{extra}]' in its checkout, 'FILE.whl[{extra}]' for a wheel, or 'playbook-db[{extra}]' from PyPI."
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

    `is_lasting`: asking again fails too until the user fixes something (such as a wrong key or an unknown model).
    `retry_after_s`: the seconds to wait that the server asked for; None if it didn't say. `used`: an estimate of the
    tokens (sent, received) of unusable replies.
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
    """The account or its settings are refused (a wrong key, no credit, an unknown model). All questions wait."""

    def __init__(self, text: str, *, used: "tuple[int, int]" = (0, 0)) -> None:
        super().__init__(text, is_lasting=True, used=used)


class RefusalError(ModelError):
    """The model refused to answer this question; asking again won't help."""

    def __init__(self, text: str) -> None:
        super().__init__(text, is_lasting=True)


class NoModelError(PlaybookError):
    """No model can be asked: there is neither a key nor a Claude Code client."""


class ConsentError(NoModelError):
    """The project in *folder* sets the variables *names*, which would send its transcripts elsewhere."""

    def __init__(self, folder: str, names: "list[str]") -> None:
        super().__init__(
            f"The settings of {folder} set {', '.join(names)}: your key and the project's transcripts would go to a "
            "place that the project chose. Nothing is learned from them until you decide.",
            Remedy(
                "To use the project's values: {}. To use your own: {}",
                ("project", "trust"),
                ("project", "trust", "--off"),
            ),
        )


class WithheldError(NoModelError):
    """The project of the worker's session sets the variables *names*, so the user's own values are unknown."""

    def __init__(self, names: "list[str]") -> None:
        super().__init__(
            f"The session that started this worker belongs to a project that sets {', '.join(names)}, which hides "
            "your own values. The work continues with the next worker that a session of another project starts."
        )


class PatternError(PlaybookError):
    """A pattern for `forget` is no valid regular expression. Nothing was changed. `place`: the index of the fault."""

    def __init__(self, pattern: str, problem: str, place: "int | None") -> None:
        self.place = place
        where = "" if place is None else f" at character {place + 1}"
        super().__init__(
            f"{pattern!r} can't be used as a pattern{where}: {problem}. Nothing was changed. "
            "It is a regular expression of Python's `re`: put \\ before special characters."
        )


class DatabaseError(PlaybookError):
    """The database can't be used in its present state."""


class OtherProgramError(DatabaseError):
    """The database file belongs to another program and must not be changed."""

    def __init__(self, where: str) -> None:
        super().__init__(f"{where} is the database of another program. Name another file with --db.")


class DamagedError(DatabaseError):
    """The file is damaged or not a database. `cause` is SQLite's message."""

    def __init__(self, where: str, cause: str) -> None:
        self.cause = cause
        super().__init__(
            f"{where} is damaged or not an SQLite database ({cause}). It was left as it is.",
            Remedy("Save what can be read: {}", ("db", "repair")),
        )


class DatabaseLostError(DatabaseError):
    """The database file is gone or empty, but it has backups: *backup* is the newest."""

    def __init__(self, where: str, backup: str) -> None:
        remedy = (
            "Restore the newest: {}. Or create a new database: {}. Until then sessions are shown nothing, and new "
            "lessons wait."
        )
        super().__init__(
            f"{where} is gone or empty, and there are backups of it.",
            Remedy(remedy, ("restore-backup", backup), ("init", "--new")),
        )


class BackupError(DatabaseError):
    """A backup can't be made or restored; nothing was changed, and no half-written file remains."""


class RepairError(DatabaseError):
    """A damaged database can't be repaired; it was not changed."""


class DiskError(DatabaseError):
    """The disk is full, read-only, out of reach or failing, so the database can't be used this way."""


class DatabaseBusyError(DatabaseError):
    """Another process held the write lock for too long; nothing was changed."""

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
    """The database's server refuses the connection or the statement."""


class NoPasswordError(ServerError):
    """The server wants a password, and none was given."""


class ServerAwayError(ServerError):
    """The server can't be used now, but may be later: it is out of reach, starting, stopping, full, or disconnected."""


_RENAMED = {  # tables and columns, in schema 10
    "taken_back": "undone_ranges", "took_back_from": "undoes_from", "took_back_to": "undoes_to",
    "taken_back_in": "undone_in", "kept_apart": "distinct_points", "asked": "selected_by", "scrubbed_at": "purged_at",
    "learnt_to": "learned_offset", "used_at": "sessions_at_last_use", "stretches": "chunks",
    "shown_in": "sessions_shown", "cited_in": "sessions_cited",
}  # fmt: skip


class QueryError(PlaybookError):
    """The user's SQL can't be run. *problem* is the database's message. *views* are the views that can be queried."""

    def __init__(self, problem: str, *, views: "tuple[str, ...]" = ()) -> None:
        hints = [f"{problem.rstrip('.')}."]
        if problem.startswith("no such") or "does not exist" in problem:
            words = problem.replace(".", " ").replace('"', " ").split()
            hints += [f"`{word}` is called `{_RENAMED[word]}` now." for word in words if word in _RENAMED]
        if views and problem.startswith("no such table"):
            hints.append(f"The views are: {', '.join(views)}.")
        elif problem.startswith("no such column"):
            hints.append("A view's columns: PRAGMA table_info(VIEW).")
        elif "binding" in problem:
            hints.append("The only parameter is :project.")
        super().__init__(" ".join([*hints, "docs/sql.md explains the views and their columns."]))


class QueryRefusedError(PlaybookError):
    """The user's SQL would do more than read. It was not run."""

    def __init__(self) -> None:
        super().__init__(
            "This would do more than read, so it was not run. `playbook sql` takes one SELECT (or WITH ... SELECT, "
            "VALUES, EXPLAIN).",
            Remedy("For changes use the commands: {}", ("--help",)),
        )


class QueryTimeoutError(PlaybookError):
    """The user's SQL took longer than *timeout_s* seconds and was ended."""

    def __init__(self, timeout_s: float) -> None:
        super().__init__(
            f"The query took longer than {timeout_s:g} s and was ended; the output is incomplete. "
            "Ask for less, or allow more: --timeout SECONDS."
        )


class SchemaTooNewError(DatabaseError):
    """A newer playbook-db wrote the database; this one must not use it."""

    def __init__(self, where: str, schema: int, known: int) -> None:
        super().__init__(
            f"{where} is at schema {schema:04d}; this playbook-db knows {known:04d} at most.",
            Remedy(
                "A newer version wrote it: bring playbook-db up to date the way you installed it (a checkout: git "
                "pull, then install it again)."
            ),
        )


class SchemaTooOldError(DatabaseError):
    """The database needs a migration, which only a command may run."""

    def __init__(self, where: str, schema: int, needed: int, *, is_shared: bool = False) -> None:
        remedy = Remedy("Run: {} (it makes a backup first).", ("db", "upgrade"))
        if is_shared:  # its URL isn't the user's default
            remedy = Remedy("Its owner backs it up (pg_dump), and then runs: {}", ("--db", "URL", "db", "upgrade"))
        super().__init__(f"{where} is at schema {schema:04d}; this playbook-db needs {needed:04d}.", remedy)


def _plain(text: str) -> str:
    """Replace characters in *text* that could control a terminal, since other people wrote the text."""
    return "".join(char if char.isprintable() else " " for char in text)
