"""Writing rules for `playbook export --rules`: the user sees the changes, and is asked about them."""

from difflib import unified_diff
from itertools import groupby
from typing import TYPE_CHECKING

import click

from playbook_db.cli.context import is_interactive, notify, opened, project_folder
from playbook_db.cli.output import one_line, say

if TYPE_CHECKING:
    from playbook_db.services.sharing.rules import RuleChange


def write_rules(*, undo: bool, yes: bool) -> None:
    """Show the changes of the rules, ask about them, and make them. With *undo*, remove the rules."""
    from playbook_db.services.sharing import rules

    folder = project_folder()
    with opened() as project, project.store.read(project.key) as book:
        planned = rules.plan(book, folder, undo=undo)
    notify(planned.problems)
    if not planned.changes and not planned.problems:
        say("the rules are up to date" if planned.points else "there are no rules; nothing was changed")
    ordered = sorted(planned.changes, key=lambda change: (change.is_signed is False, change.question))
    for question, group in groupby(ordered, key=lambda change: change.question):
        changes = [*group]
        for change in changes:
            old, new = ((text or "").splitlines() for text in (change.old, change.new))
            for line in unified_diff(old, new, change.path, change.path, lineterm="", n=1):
                say(one_line(line), err=True)
        if _agrees(question, changes[0], yes=yes):
            for change in changes:
                rules.write(change, folder)
                say(one_line(f"{change.path}: {'removed' if change.new is None else 'written'}"))
    if planned.problems:
        click.get_current_context().exit(1)


def _agrees(question: str, change: "RuleChange", *, yes: bool) -> bool:
    """Return whether the user agrees to *change*. `--yes` doesn't count for a file that somebody has edited."""
    if change.is_signed is False and not is_interactive():
        notify([f"{change.path} was edited by hand, so it was left alone. To decide, run this on a terminal."])
        return False
    if not is_interactive() and not yes:
        raise click.UsageError("There is no terminal to ask on. To write the files, add --yes. Nothing was written.")
    return (yes and change.is_signed is not False) or click.confirm(question, err=True)
