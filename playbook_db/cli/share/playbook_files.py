"""Commands on playbook files: import, export, and two that git runs (merge-driver, textconv)."""

import os
from typing import TYPE_CHECKING, cast

import click

from playbook_db import projects, settings
from playbook_db.cli.context import (
    Command,
    as_json,
    database_url,
    is_users_own,
    notify,
    opened,
    project_folder,
    read_input,
)
from playbook_db.cli.output import (
    busy,
    count_of,
    one_line,
    playbook_of,
    print_answer,
    print_json,
    wants_json,
    write_text,
)
from playbook_db.errors import PlaybookFileError, Remedy
from playbook_db.services import records

if TYPE_CHECKING:
    from playbook_db.domain.playbook_file import Layout


@click.command("import", cls=Command)
@click.argument("file")
@click.option("--replace", is_flag=True, help="Make the playbook equal to FILE; retire points that aren't in it.")
@click.option("--restore", is_flag=True, help="Bring back points of FILE that were retired here.")
@click.option("--rename-duplicates", is_flag=True, help="If FILE uses a name twice, rename the second point.")
@click.option("--markdown", "is_markdown", is_flag=True, help="Read FILE as Markdown, whatever its name.")
@as_json
def import_file(file: str, replace: bool, restore: bool, rename_duplicates: bool, is_markdown: bool) -> None:
    """Merge a playbook file, or propose points from notes.

    FILE is a playbook.json of any shape, a text playbook of ACE, Markdown notes such as CLAUDE.md, or - for stdin.

    If a point of a playbook.json is in the playbook already, each vote counter becomes the higher of the two. A new
    point gets another name if its own is in use here. An earlier wording of a point here is no new point. If any entry
    can't be read, nothing is imported.

    From Markdown (CLAUDE.md, AGENTS.md, MEMORY.md, or a folder of such files), each new bullet or short paragraph
    becomes a proposal. To accept proposals, use playbook review. The Markdown files stay as they are.
    """
    is_folder = os.path.isdir(file)
    is_markdown = is_markdown or is_folder or file.endswith((".md", ".markdown", ".mdc"))
    source = "standard input" if file == "-" else file
    data = b"" if is_folder or (is_markdown and file == "-") else read_input(file)
    from playbook_db.services.playbook import point_lines

    reading = point_lines.read(data, source=source, rename_duplicates=rename_duplicates)
    if is_markdown and reading is None:
        if replace or restore or rename_duplicates:
            raise click.UsageError("--replace, --restore and --rename-duplicates need a playbook.json, not Markdown.")
        _propose_notes(file)
        return
    from playbook_db.domain import draft, playbook_file

    reading = reading or playbook_file.decode(data, source=source, rename_duplicates=rename_duplicates)
    with opened(may_be_new=True) as project:
        from playbook_db.services.learning import diagnostics
        from playbook_db.services.playbook import edit, import_export
        from playbook_db.services.project import read_playbook

        with busy("importing key points"):
            revised = import_export.import_playbook(project, reading, source=source, replace=replace, restore=restore)
        diagnostics.migration(project.folder, reading.migrated)
        notify(one_line(note) for note in (*revised.notes, *edit.notes_on_length(revised.changes)))
        points = count_of(len(read_playbook(project).points), "point")
        of_playbook = (
            f"{'' if projects.is_users(project.key) else 'the playbook of '}{playbook_of(project.key)} has {points}"
        )
        text = f"nothing new in {source}; {of_playbook}"
        if revised.revision is not None:
            text = f"imported {source}: {draft.summary(revised.changes)}; {of_playbook} (revision {revised.revision})"
        print_answer(text, **records.batch_record(revised, dry_run=False))


def _propose_notes(file: str) -> None:
    """Propose points from the Markdown *file*, or from all Markdown files of a folder."""
    from playbook_db.services.playbook import import_export, markdown

    names = [file]
    if os.path.isdir(file):
        inside = (os.path.join(file, name) for name in sorted(os.listdir(file)) if name.endswith((".md", ".markdown")))
        names = [path for path in inside if os.path.isfile(path)]
        if not names:
            raise click.UsageError(f"{file} is a folder without .md files.")
    sources = {("standard input" if name == "-" else name): name for name in names}
    notes = {source: markdown.read(read_input(name), source=source) for source, name in sources.items()}
    numbers: list[int] = []
    left_out: list[tuple[str, int, str]] = []
    with opened(may_be_new=True) as project:
        for source, each in notes.items():
            numbers += import_export.propose_notes(project, each.points, source=os.path.basename(source))
            left_out += [(source, line, reason) for line, reason in each.left_out]
    known = sum(len(each.points) for each in notes.values()) - len(numbers)
    shown = one_line("standard input" if file == "-" else file)
    notify(one_line(f"{source}, line {line}: left out: {reason}") for source, line, reason in left_out)
    text = f"nothing new in {shown}" + (f"; {count_of(known, 'key point')} known already" if known else "")
    if numbers:
        also = f"; {known} known already" if known else ""
        text = f"proposed {count_of(len(numbers), 'key point')} from {shown}{also}"
        text += f"; to accept them: {settings.review_command()}"
    lines = [{"file": source, "line": line, "reason": reason} for source, line, reason in left_out]
    print_answer(text, project=project.key, proposed=numbers, known=known, left_out=lines)


@click.command(cls=Command)
@click.option("-o", "output", metavar="FILE", help="Write FILE instead of standard output.")
@click.option("--layout", type=click.Choice(["sections", "flat"]), default="sections", show_default=True)
@click.option("--extra", is_flag=True, help="Include the keys of imported entries that playbook doesn't use.")
@click.option("--markdown", "as_markdown", is_flag=True, help="Print Markdown, with the sections as headings.")
@click.option("--rules", "as_rules", is_flag=True, help="Write proven points into .claude/rules and AGENTS.md.")
@click.option("--undo", is_flag=True, help="With --rules: remove what --rules wrote.")
@click.option("--yes", is_flag=True, help="With --rules: write without asking, except over edits by hand.")
def export(
    output: str | None, layout: str, extra: bool, as_markdown: bool, as_rules: bool, undo: bool, yes: bool
) -> None:
    """Print the playbook as a playbook.json, or write rules.

    The same playbook always gives the same bytes.

    With --rules, points with 5 or more helpful votes, no harmful vote, and the name of a file of the project become
    rules: .claude/rules/playbook-NAME.md. Claude Code loads a rule together with its files, and the hooks no longer
    show its points. A marked block in AGENTS.md has the same points for other agents. You see the changes and are asked
    first; without a terminal this needs --yes. Run it again after points have changed.
    """
    if as_rules:
        if output or extra or as_markdown or layout != "sections" or is_users_own():
            raise click.UsageError("--rules can only be combined with --undo and --yes.")
        from playbook_db.cli.share.rules import write_rules

        write_rules(undo=undo, yes=yes)
        return
    if undo or yes:
        raise click.UsageError("--undo and --yes need --rules.")
    if as_markdown and (extra or layout != "sections"):
        raise click.UsageError("--markdown can't be combined with --layout or --extra.")
    with opened() as project:
        from playbook_db.services.playbook import import_export, markdown
        from playbook_db.services.project import read_playbook

        if as_markdown:
            text = markdown.written(read_playbook(project).points)
        else:
            text = import_export.export_playbook(project, layout=cast("Layout", layout), with_extras=extra)
    write_text(text, output)


@click.command("merge-driver", cls=Command)
@click.argument("base", metavar="BASE")
@click.argument("ours", metavar="OURS")
@click.argument("theirs", metavar="THEIRS")
@click.argument("path", metavar="[PATH]", required=False)
@as_json
@click.pass_context
def merge_driver(ctx: click.Context, base: str, ours: str, theirs: str, path: str | None) -> None:
    """Merge three playbook files; git runs this.

    The result replaces OURS. BASE is their common ancestor, or an empty file if there is none; PATH is the file's place
    in the repository. Votes of both sides add up. Decisions go to stderr. If a file can't be read, OURS stays as it is
    and the exit code is 1; git then writes conflict markers into it. To set it up: playbook install --git
    """
    from playbook_db.services.sharing import merge_driver as driver

    if path is not None:
        ctx.obj = {**(ctx.obj or {}), "project": projects.folder_of_mirror(os.path.abspath(path))}
    shown = path or ours
    try:
        notes = driver.merge(base, ours, theirs, url=database_url(), folder=project_folder())
    except PlaybookFileError as error:
        raise PlaybookFileError(
            f"{shown}, {error.source}",
            error.place,
            error.problem,
            remedy=Remedy(f"Git reports a conflict. Fix the file, then run: git add {shown}"),
        ) from None
    if wants_json():
        print_json({"file": shown, "notes": [*notes]})
    notify(f"{shown}: {note}" for note in notes)


@click.command("textconv", cls=Command)
@click.argument("file", metavar="FILE")
def textconv(file: str) -> None:
    """Print a playbook file as lines to compare; git runs this.

    Each key point is one line, as a session gets it. To set it up: playbook install --git
    """
    from playbook_db.services.sharing import merge_driver as driver

    write_text(driver.readable_text(file), None)
