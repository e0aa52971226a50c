"""The command dedup: pairs of points that may say the same."""

import sys
from typing import TYPE_CHECKING

import click

from playbook_db.cli.change.points import print_done
from playbook_db.cli.context import as_json, notify, opened, point_names
from playbook_db.cli.main import cli
from playbook_db.cli.output import beside, busy, one_line, print_answer, print_json, print_texts
from playbook_db.services import records

if TYPE_CHECKING:
    from playbook_db.domain.playbook import KeyPoint

_LIMIT = 20


@cli.command()
@click.option(
    "--merge",
    nargs=2,
    metavar="NAME OTHER",
    shell_complete=point_names,
    help="Retire OTHER; NAME gets its votes.",
)
@click.option("--text", help="With --merge: the new text of NAME.")
@click.option(
    "--apart", nargs=2, metavar="NAME OTHER", shell_complete=point_names, help="Keep both; stop listing the pair."
)
@click.option(
    "-n", "limit", metavar="N", type=click.IntRange(min=1), default=_LIMIT, show_default=True, help="Only the first N."
)
@as_json
def dedup(
    merge: tuple[str, str] | None, text: str | None, apart: tuple[str, str] | None, limit: int, as_json: bool
) -> None:
    """List pairs of key points that may say the same.

    The most similar pairs come first. Only the words are compared, so "use X, not Y" looks the same as "use Y, not X".
    Read both points before you merge them. A merge makes one revision. A pair that you keep --apart is listed again if
    one of its texts changes. To retire points that do harm, use playbook prune.
    """
    from playbook_db.services.playbook import edit

    if merge and apart:
        raise click.UsageError("Give --merge or --apart, not both.")
    if text is not None and not merge:
        raise click.UsageError("--text goes with --merge.")
    with opened(*(merge or ()), *(apart or ())) as project:
        if merge:
            print_done(edit.merge_points(project, *merge, text=text), as_json=as_json)
        elif apart:
            edit.keep_apart(project, *apart)
            words = f"{one_line(apart[0])} and {one_line(apart[1])} are kept apart until one of their texts changes"
            print_answer(words, as_json=as_json, project=project.key, apart=list(apart))
        else:
            with busy("comparing key points"):
                candidates = edit.alike_points(project, limit=limit)
            _print_candidates(candidates, project.key, as_json=as_json)


def _print_candidates(candidates: "list[tuple[KeyPoint, KeyPoint, float]]", key: str, *, as_json: bool) -> None:
    if as_json:
        print_json(records.candidates_record(key, candidates))
    elif not candidates:
        notify(["no two key points are similar"])
    elif sys.stdout.isatty():
        print_texts([f"{_in_full(likeness, *points)}\n\n" for *points, likeness in candidates], paged=True)
    else:
        for *points, likeness in candidates:
            cells = [f"{likeness:.2f}"]
            for point in points:
                cells += [one_line(point.name), f"{point.helpful}", f"{point.harmful}", one_line(point.text)]
            click.echo("\t".join(cells))
    if candidates and not as_json:
        name, other = (one_line(point.name) for point in candidates[0][:2])
        notify(
            [
                f"to merge two into one: playbook dedup --merge {name} {other}",
                f"to keep both: playbook dedup --apart {name} {other}",
            ]
        )


def _in_full(likeness: float, *points: "KeyPoint") -> str:
    """Return both points in full, one below the other, and their similarity."""
    width = max(len(one_line(point.name)) for point in points)
    lines = [f"{likeness:.0%} similar"]
    for point in points:
        head = f"  {one_line(point.name):<{width}}  +{point.helpful} -{point.harmful}  "
        lines.append(beside(head, one_line(point.text), len(head)))
    return "\n".join(lines)
