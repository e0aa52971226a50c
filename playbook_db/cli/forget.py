"""The command that erases: forget."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import click

from playbook_db import settings
from playbook_db.cli.context import as_json, dry_run_option, is_interactive, notify, opened, point_names
from playbook_db.cli.main import cli
from playbook_db.cli.output import beside, one_line, playbook_of, print_json, say
from playbook_db.errors import SettingError
from playbook_db.services import records

if TYPE_CHECKING:
    from playbook_db.services.forget import Erasure, Forgotten
    from playbook_db.store.erasure import Field

_SHOWN_CHARS = 160  # of a text that goes
_SHOWN_TEXTS = 10  # earlier wordings, or what a pattern matched
_SHOWN_REVISIONS = 20
# What to call a field, one and several of it. The fields of a point are shown with it.
_WORDS = {
    "changes.text": ("wording", "wordings"),
    "changes.reason": ("reason", "reasons"),
    "votes.rationale": ("vote's reason", "votes' reasons"),
    "votes.name": ("vote for no point", "votes for no point"),
    "revisions.message": ("message", "messages"),
    "revisions.header": ("file header", "file headers"),
    "skipped_operations": ("skipped operation", "skipped operations"),
    "heads.header": ("header of the playbook's file", "headers"),
    "proposals": ("proposal", "proposals"),
    "reflections": ("reflection", "reflections"),
    "jobs.error": ("failed job's message", "failed jobs' messages"),
}
_NOT_OURS = (
    "git's history of a committed .claude/playbook.json, Claude Code's own transcripts, and copies that you made "
    "elsewhere are not ours: they may still hold it"
)
_OLDER_STATES = "the older states of the database in these backups go with them; the database still has every revision"
_TRACES = (
    "it is erased, but somebody still reads an older state of {}: until they end, traces stay in its -wal file; the "
    "worker, or the next playbook forget, removes them then"
)


@cli.command()
@click.argument("name", required=False, shell_complete=point_names)
@click.option("--match", "pattern", metavar="REGEX", help="Whatever this regular expression (Python's) matches.")
@click.option("--all-projects", is_flag=True, help="With --match: in the playbooks of all projects.")
@click.option("--yes", is_flag=True, help="Don't ask.")
@dry_run_option
@as_json
def forget(name: str | None, pattern: str | None, all_projects: bool, yes: bool, dry_run: bool, as_json: bool) -> None:
    """Erase a key point's texts for good.

    They go from the playbook, its history, our files and our backups. What will go is shown first, and asked about on a
    terminal. A point keeps its name and its votes, and nothing else. With --match a point whose present text matches
    goes whole; elsewhere only the words that match go. To keep the advice, reword it first: playbook edit NAME --text
    TEXT. One new backup replaces those that hold the text. Within a session of Claude Code only --dry-run is done.
    """
    from playbook_db.domain.erasure import read_pattern
    from playbook_db.services import forget as forget_service

    if (name is None) == (pattern is None) or (all_projects and pattern is None):
        raise click.UsageError("Give the NAME of a key point, or --match REGEX (with --all-projects if need be).")
    if settings.session() and not dry_run:
        raise SettingError(
            "This can't be taken back, so it isn't done within a session of Claude Code. Nothing was done; run it in a "
            "terminal of your own."
        )
    if not (yes or dry_run or is_interactive()):
        raise click.UsageError(
            "This can't be taken back, and there is no terminal to ask on: give --yes. Nothing was done."
        )
    request = forget_service.Request(name, None if pattern is None else read_pattern(pattern), all_projects)
    with opened(*filter(None, [name])) as project:
        if dry_run or not yes:
            planned = forget_service.preview(project, request)
            if dry_run:
                _print(planned, as_json=as_json, dry_run=True)
                return
            if not planned.is_nothing:
                notify(one_line(line) for line in (*_lines(planned, shows_texts=True), *_notes(planned)))
                if not click.confirm("Erase this for good?", err=True):
                    notify(["nothing was done"])
                    return
        done = forget_service.forget(project, request)
        _print(done, as_json=as_json, dry_run=False)
        if not done.is_rewritten:
            notify([_TRACES.format(project.store.where)])


def _print(forgotten: "Forgotten", *, as_json: bool, dry_run: bool) -> None:
    if as_json:
        print_json(records.forget_record(forgotten, dry_run=dry_run))
    elif forgotten.is_nothing:
        say("nothing that we keep says this")
    else:
        for line in map(one_line, _lines(forgotten, shows_texts=dry_run)):
            click.echo(beside(line[:10], line[10:], 10))
        if dry_run:
            say("dry run: nothing was erased")
    notify(one_line(note) for note in _notes(forgotten))
    if not forgotten.is_nothing:
        notify([_NOT_OURS])


def _notes(forgotten: "Forgotten") -> list[str]:
    return [*forgotten.notes, *([_OLDER_STATES] if forgotten.backups else [])]


def _lines(forgotten: "Forgotten", *, shows_texts: bool) -> Iterator[str]:
    for key, erasure in forgotten.erasures.items():
        if len(forgotten.erasures) > 1:
            yield playbook_of(key)
        for point in erasure.forgotten:
            yield f"forget    {point.name}" + (f": {_shown(point.text)}" if shows_texts else "")
        for point in erasure.shortened:
            yield f"blank     {point.name}, which stays" + (f": {_shown(point.text)}" if shows_texts else "")
        if shows_texts:
            yield from _earlier(erasure)
        yield from _places(erasure)
        if erasure.revision is not None:
            yield f"revision {erasure.revision} of {playbook_of(key)}"
    for path in forgotten.files:
        yield f"file      {path}"
    for path in forgotten.backups:
        yield f"backup    {path}, replaced by {forgotten.new_backup or 'a new one'}"


def _earlier(erasure: "Erasure") -> Iterator[str]:
    """What goes and is no present text of a point: earlier wordings, and what a pattern matched."""
    shown = {point.text for point in (*erasure.forgotten, *erasure.shortened)}
    others = sorted((erasure.texts | erasure.matches) - shown)
    yield from (f"erase     {_shown(text)}" for text in others[:_SHOWN_TEXTS])
    if len(others) > _SHOWN_TEXTS:
        yield f"erase     and {len(others) - _SHOWN_TEXTS} more"


def _places(erasure: "Erasure") -> Iterator[str]:
    """Where else it stands, how often, and in which revisions."""
    history = [field for field in erasure.fields if field.is_history]
    if history:
        named = ", ".join(map(str, erasure.revisions[:_SHOWN_REVISIONS]))
        more = len(erasure.revisions) - _SHOWN_REVISIONS
        named += f" and {more} more" if more > 0 else ""
        yield f"in the history: {_counted(history)} (revision{'s' * (len(erasure.revisions) > 1)} {named})"
    elsewhere = _counted(field for field in erasure.fields if not field.is_history)
    if elsewhere:
        yield f"elsewhere: {elsewhere}"


def _counted(fields: "Iterable[Field]") -> str:
    """How many *fields* there are of each kind, in words; two fields of one reflection are one reflection."""
    rows = {(kind, field.key) for field in fields for kind in (field.name, field.table) if kind in _WORDS}
    counts = Counter(kind for kind, _ in rows)
    return ", ".join(f"{counts[kind]} {words[counts[kind] > 1]}" for kind, words in _WORDS.items() if counts[kind])


def _shown(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}…"
