"""The command that finds points by what they say."""

import re
import sys

import click

from playbook_db.cli.context import as_json, notify, of_user, opened
from playbook_db.cli.main import cli
from playbook_db.cli.output import one_line, print_json, readable, say


@cli.command()
@click.argument("words", nargs=-1, required=True)
@click.option(
    "-n", "limit", metavar="N", type=click.IntRange(min=1), default=10, help="Only the first N (default: 10)."
)
@as_json
def search(words: tuple[str, ...], limit: int, as_json: bool) -> None:
    """Find key points by what they say, the best answer first.

    WORDS can be any text: a question, the message of an error, a file's name. Other forms of a word are found, too, and
    names such as src/api/users.py or parse_header whole and by their parts. A terminal shows in bold what was found.
    """
    from playbook_db.domain import search_words
    from playbook_db.services import records
    from playbook_db.services import search as service

    question = " ".join(words)
    with opened(may_be_old=True) as project:
        found = service.search(project, question)
    if found.is_damaged:
        notify([str(service.DAMAGED)])
    points = found.points[:limit]
    if as_json:
        print_json([records.point_record(point) | {"score": round(score, 3)} for point, score in points])
        return
    if not points:
        notify([f"no key point says any of that; all are shown by: playbook{of_user()} list"])
    pattern = re.compile(search_words.marked(question), re.IGNORECASE) if sys.stdout.isatty() else None
    for point, _ in points:
        if pattern is None:
            cells = point.name, point.helpful, point.harmful, point.section, one_line(point.text)
            click.echo("\t".join(map(str, cells)))
        else:
            text = pattern.sub(lambda match: click.style(match[0], bold=True), readable(point.text))
            say(f"{point.name}  +{point.helpful} -{point.harmful}  {text}")
