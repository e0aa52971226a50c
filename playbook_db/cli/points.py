"""Commands on key points: list, show, add, edit, retire, vote."""

from dataclasses import asdict

import click

from playbook_db.cli.opening import opened, project_options, tell
from playbook_db.cli.output import (
    one_line,
    point_record,
    print_json,
    print_points,
    print_retired,
    print_revised,
    readable,
)  # fmt: skip
from playbook_db.rules.voting import TAGS
from playbook_db.services import editing, revising

as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")


@click.command("list")
@click.option("--section", metavar="S", help="Only this section (its name or its slug).")
@click.option("--retired", is_flag=True, help="The points that have left, the last to leave first.")
@as_json
@project_options
def list_points(section: str | None, retired: bool, as_json: bool) -> None:
    """List the key points, with how often each was found helpful (+) and harmful (-)."""
    wanted = editing.section_named(section) if section is not None else None
    with opened() as project:
        if retired:
            gone = [g for g in editing.list_retired(project).values() if wanted in (None, g.point.section)]
            if as_json:
                print_json([point_record(g.point, g) for g in gone])
            else:
                print_retired(gone)
            return
        points = [p for p in revising.read(project).points if wanted in (None, p.section)]
        if as_json:
            print_json([point_record(point) for point in points])
        elif points:
            print_points(points)
        else:
            tell(["there are no key points here yet; add one with: playbook add TEXT"])


@click.command()
@click.argument("name", metavar="NAME|REV")
@as_json
@project_options
def show(name: str, as_json: bool) -> None:
    """Show one key point in full, live or retired; or a revision (12 or r12): all it did, and why."""
    from playbook_db.cli import revision_records, revisions_shown
    from playbook_db.services import looking_back, provenance

    with opened() as project:
        found = looking_back.look_up(project, name)
        if isinstance(found, looking_back.FullRevision):
            if as_json:
                print_json(revision_records.full_record(found))
            else:
                click.echo("\n".join(revisions_shown.in_full(found)))
        elif as_json:
            span = provenance.span(project, name)
            print_json(point_record(found.point, found.retired) | asdict(span))
        else:
            _print_point(found, revisions_shown.span_told(provenance.span(project, name)))


@click.command()
@click.argument("text")
@click.option("--section", metavar="S", help="Where it goes (default: OTHERS).")
@project_options
def add(text: str, section: str | None) -> None:
    """Add a key point."""
    with opened() as project:
        print_revised(editing.add(project, text, section=section))


@click.command()
@click.argument("name")
@click.option("--text", help="The new text.")
@click.option("--section", metavar="S", help="The section it moves to.")
@project_options
def edit(name: str, text: str | None, section: str | None) -> None:
    """Reword a key point, or move it to another section; its name and votes stay."""
    if text is None and section is None:
        raise click.UsageError("Give --text, --section or both.")
    with opened() as project:
        print_revised(editing.edit(project, name, text=text, section=section))


@click.command()
@click.argument("name")
@click.option("--reason", metavar="R", help="Why; kept in the history.")
@project_options
def retire(name: str, reason: str | None) -> None:
    """Take a key point out of the playbook; `playbook restore` brings it back."""
    with opened() as project:
        print_revised(editing.retire(project, name, reason=reason))


@click.command()
@click.argument("name")
@click.argument("tag", type=click.Choice(TAGS))
@project_options
def vote(name: str, tag: str) -> None:
    """Vote on a key point; a neutral vote is recorded but counts nowhere."""
    with opened() as project:
        print_revised(editing.vote(project, name, tag))


def _print_point(found: editing.Found, span: str) -> None:
    point = found.point
    click.echo(f"{point.name}  [{point.section}]  {point.helpful} helpful, {point.harmful} harmful  ({span})")
    if found.retired:
        click.echo(f"retired in revision {found.retired.revision}: {one_line(found.retired.reason or '')}")
    click.echo(readable(point.text))


COMMANDS = {
    "list": list_points, "show": show, "add": add, "edit": edit, "retire": retire, "vote": vote,
}  # fmt: skip
