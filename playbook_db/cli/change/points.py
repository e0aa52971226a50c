"""Commands that change key points, one by one or in a batch, merge them, or move them to another playbook."""

from typing import TYPE_CHECKING, Any

import click

from playbook_db.cli.context import Command, as_json, dry_run_option, is_interactive, notify, opened, read_input
from playbook_db.cli.output import (
    busy,
    one_line,
    print_answer,
    print_json,
    print_revised,
    print_table,
    say,
    wants_json,
)
from playbook_db.domain.sections import section_named
from playbook_db.errors import ArgumentError, SettingError
from playbook_db.services import records

if TYPE_CHECKING:
    from playbook_db.domain.playbook import KeyPoint
    from playbook_db.services.playbook.promotion import Move
    from playbook_db.services.project import Project
    from playbook_db.store.playbook.repository import RevisionResult


@click.command(cls=Command)
@click.argument("text")
@click.option("--section", metavar="S", help="Its section: pat, mis, pref, ctx, oth, or the full name (default: oth).")
@as_json
def add(text: str, section: str | None) -> None:
    """Add a key point."""
    section = None if section is None else section_named(section)
    with opened(may_be_new=True) as project:
        from playbook_db.services.playbook import edit

        print_done(edit.add(project, text, section=section))


@click.command("edit", cls=Command)
@click.argument("name")
@click.option("--text", help="The new text.")
@click.option("--section", metavar="S", help="Move it to this section.")
@as_json
def edit_point(name: str, text: str | None, section: str | None) -> None:
    """Change a key point's text or section.

    Without --text and --section, the text opens in your editor (EDITOR). This needs a terminal.
    """
    if text is None and section is None and not is_interactive():
        raise click.UsageError(
            "Give --text, --section or both. Without them, the text opens in your editor, which needs a terminal."
        )
    section = None if section is None else section_named(section)
    with opened(name) as project:
        from playbook_db.services.playbook import edit

        was = None
        if text is None and section is None:
            was = edit.find_live(project, name).text
            text = click.edit(was, extension=".txt")
            if text is None:
                notify(["nothing was changed"])
                return
        print_done(edit.edit(project, name, text=text, section=section, was=was))


@click.command(cls=Command)
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
@as_json
def pin(names: tuple[str, ...]) -> None:
    """Put key points first at every session's start.

    If one NAME isn't a live point, no point is pinned. If a point rests, because its last votes were harmful, pinning
    ends the rest. Pinning makes no revision. Votes, edits and undos don't unpin a point. To unpin: playbook unpin.
    """
    with opened(*names) as project:
        from playbook_db.services.playbook import edit

        notify(edit.pin(project, *names))
        _print_pinned(project, names, is_pinned=True)


@click.command(cls=Command)
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
@as_json
def unpin(names: tuple[str, ...]) -> None:
    """Rank pinned key points like all others again."""
    with opened(*names) as project:
        from playbook_db.services.playbook import edit

        edit.unpin(project, *names)
        _print_pinned(project, names, is_pinned=False)


def _print_pinned(project: "Project", names: tuple[str, ...], *, is_pinned: bool) -> None:
    names = tuple(dict.fromkeys(names))
    what = "pinned" if is_pinned else "no longer pinned"
    text = f"{', '.join(map(one_line, names))}: {what}"
    print_answer(text, project=project.key, names=names, pinned=is_pinned)


@click.command(cls=Command)
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
@click.option("--reason", metavar="R", help="Why; kept in the history.")
@as_json
def retire(names: tuple[str, ...], reason: str | None) -> None:
    """Retire key points: sessions no longer get them.

    If one NAME isn't a live point, no point is retired. Retired points stay in the history, and playbook restore brings
    them back. To retire all points that harmed, use playbook prune. To erase a text for good, use playbook forget.
    """
    with opened(*names) as project:
        from playbook_db.services.playbook import edit

        print_done(edit.retire(project, *names, reason=reason))


@click.command(cls=Command)
@click.argument("names", metavar="NAME...", nargs=-1)
@click.argument("tag", metavar="TAG", type=click.Choice(["helpful", "harmful", "neutral"]))
@as_json
def vote(names: tuple[str, ...], tag: str) -> None:
    """Vote on key points: helpful, harmful or neutral.

    TAG applies to all the points. A neutral vote is recorded, but changes no counter.
    """
    if not names:  # not by click, which would say that NAME is missing when TAG is
        raise click.UsageError("Give the NAME of a key point, or several, before the TAG.")
    with opened(*names) as project:
        from playbook_db.services.playbook import edit

        print_done(edit.vote(project, names[0], tag, *names[1:]))


@click.command(cls=Command)
@click.argument("file")
@dry_run_option
@as_json
def apply(file: str, dry_run: bool) -> None:
    """Apply a batch of operations from a JSON file.

    All valid operations become one revision. FILE (- for standard input) is a JSON list of operations, or an object
    with `operations`, `evaluations` (votes) or both. An operation that breaks a rule is skipped, with a reason. For
    example:

    \b
    {"operations": [
       {"type": "ADD", "text": "Use uv, not pip", "section": "PROJECT CONTEXT"},
       {"type": "UPDATE", "target_id": "pat-001", "text": "Test first"},
       {"type": "MERGE", "source_ids": ["pat-002", "pat-003"],
        "merged_text": "..."},
       {"type": "DELETE", "target_id": "oth-001", "reason": "the linter does"}],
     "evaluations": [{"name": "pat-004", "rating": "helpful"}]}
    """
    operations, evaluations = _read_batch(file)
    with opened(may_be_new=True) as project:
        from playbook_db.services.learning import diagnostics
        from playbook_db.services.playbook import edit

        origin = "stdin" if file == "-" else file
        revised = edit.apply_batch(project, operations, evaluations, origin=origin, dry_run=dry_run)
        if not dry_run:
            diagnostics.operations(project.folder, operations, revised.skipped, revised.changes)
        notify(revised.notes)
        print_done(revised, dry_run=dry_run)
        if revised.skipped and not revised.changes:
            notify(["no operation was applied"])
            raise click.exceptions.Exit(1)


@click.command(cls=Command)
@dry_run_option
@as_json
def prune(dry_run: bool) -> None:
    """Retire key points that did more harm than good.

    A point is retired if it has 3 or more harmful votes, and more harmful than helpful ones. To retire points by name,
    use playbook retire. To merge points that say the same, use playbook dedup.
    """
    with opened(may_be_new=True) as project:
        from playbook_db.services.learning import diagnostics
        from playbook_db.services.playbook import edit

        revised = edit.prune(project, dry_run=dry_run)
        if not dry_run:
            diagnostics.pruning(project.folder, [change.point for change in revised.changes])
        print_done(revised, dry_run=dry_run)


@click.command(cls=Command)
@click.argument("name")
@click.option(
    "--keep/--retire", "keeps", default=None, help="Keep the point here or retire it (default: keep in a team)."
)
@dry_run_option
@as_json
def promote(name: str, keeps: bool | None, dry_run: bool) -> None:
    """Move a key point into your personal playbook.

    Your sessions in every project then get the point. It is copied with its votes, then retired here. That makes one
    revision in each playbook. A team's playbook keeps the point, unless you add --retire. If your personal playbook has
    the same text already, no copy is made. If the command was interrupted, run it again.
    """
    with opened() as project:
        from playbook_db.services.playbook import promotion

        keeps = project.is_team if keeps is None else keeps
        _print_move(promotion.promote(project, name, keeps=keeps, dry_run=dry_run), dry_run=dry_run)


@click.command(cls=Command)
@click.argument("name")
@click.option("--keep/--retire", "keeps", default=False, help="Keep the personal point or retire it (default: retire).")
@click.option("--yes", is_flag=True, help="Don't ask, even if it is a team's playbook.")
@dry_run_option
@as_json
def demote(name: str, keeps: bool, yes: bool, dry_run: bool) -> None:
    """Move a personal key point into this project's playbook.

    The point is copied with its votes, then retired in your personal playbook. That makes one revision in each
    playbook. If all members of a team would get the point, you are asked first; without a terminal it needs --yes. If
    this playbook has the same text already, no copy is made. If the command was interrupted, run it again.
    """
    with opened(may_be_new=True) as project:
        from playbook_db.services.playbook import promotion

        if project.is_team and not (yes or dry_run):
            question = f"All members of the team's playbook {one_line(project.key)} would get {one_line(name)}."
            if not is_interactive():
                raise SettingError(
                    f"{question} There is no terminal to ask on. To do it, add --yes. Nothing was changed."
                )
            notify([question])
            click.confirm("Give it to the team?", err=True, abort=True)
        _print_move(promotion.demote(project, name, keeps=keeps, dry_run=dry_run), dry_run=dry_run)


def _print_move(move: "Move", *, dry_run: bool) -> None:
    notify(move.notes)
    if wants_json():
        print_json(records.move_record(move, dry_run=dry_run))
        return
    done = [each for each in (move.copied, move.retired) if each is not None and each.changes]
    for revised in done:
        print_revised(revised, dry_run=dry_run)
    if not done:
        say(f"nothing to do: {one_line(move.name)} has its copy, {one_line(move.copy)}")


def print_done(revised: "RevisionResult", *, dry_run: bool = False) -> None:
    """Print the changes of a revision, and warn about long texts."""
    from playbook_db.services.playbook import edit

    notify(edit.notes_on_length(revised.changes))
    if wants_json():
        print_json(records.batch_record(revised, dry_run=dry_run))
    else:
        print_revised(revised, dry_run=dry_run)


def _read_batch(file: str) -> tuple[list[Any], list[Any]]:
    import json

    try:
        document = json.loads(read_input(file))
    except (ValueError, RecursionError) as error:
        raise ArgumentError(f"{file} is not valid JSON ({error}). Nothing was changed.") from None
    batch = document if isinstance(document, dict) else {"operations": document}
    lists = [batch.get(key, []) for key in ("operations", "evaluations")]
    if not batch.keys() & {"operations", "evaluations"} or not all(isinstance(each, list) for each in lists):
        raise ArgumentError(
            f"{file} holds no operations. It must be a JSON list, or an object with a list `operations`, a list "
            "`evaluations` or both. Nothing was changed."
        )
    return lists[0], lists[1]


@click.command(cls=Command)
@click.option("--merge", nargs=2, metavar="NAME OTHER", help="Retire OTHER; NAME gets its votes.")
@click.option("--apart", nargs=2, metavar="NAME OTHER", help="Keep both; stop listing the pair.")
@click.option(
    "-n", "limit", metavar="N", type=click.IntRange(min=1), default=20, show_default=True, help="Only the first N."
)
@as_json
def dedup(merge: tuple[str, str] | None, apart: tuple[str, str] | None, limit: int) -> None:
    """List pairs of key points that may say the same.

    The most similar pairs come first. Only the words are compared, so "use X, not Y" looks the same as "use Y, not X".
    Read both points before you merge them. A merge makes one revision. A pair that you keep --apart is listed again if
    one of its texts changes. To retire points that do harm, use playbook prune.
    """
    if merge and apart:
        raise click.UsageError("Give --merge or --apart, not both.")
    with opened(*(merge or ()), *(apart or ())) as project:
        from playbook_db.services.playbook import edit

        if merge:
            print_done(edit.merge_points(project, *merge))
        elif apart:
            edit.keep_apart(project, *apart)
            words = f"{one_line(apart[0])} and {one_line(apart[1])} are kept apart until one of their texts changes"
            print_answer(words, project=project.key, apart=list(apart))
        else:
            with busy("comparing key points"):
                candidates = edit.alike_points(project, limit=limit)
            _print_candidates(candidates, project.key)


def _print_candidates(candidates: "list[tuple[KeyPoint, KeyPoint, float]]", key: str) -> None:
    """Print two lines for each pair. The first one begins with the pair's similarity."""
    if wants_json():
        print_json(records.candidates_record(key, candidates))
        return
    rows = [
        ("" if place else f"{likeness:.2f}", point.name, f"{point.helpful}", f"{point.harmful}", point.text)
        for *points, likeness in candidates
        for place, point in enumerate(points)
    ]
    print_table(("similar", "name", "+", "-", "text"), rows, nothing="no two key points are similar")
    if candidates:
        name, other = (one_line(point.name) for point in candidates[0][:2])
        notify([f"to merge two into one: playbook dedup --merge {name} {other}"])
        notify([f"to keep both: playbook dedup --apart {name} {other}"])
