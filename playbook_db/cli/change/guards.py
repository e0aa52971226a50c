"""The commands guard and unguard, for key points that are shown before tool calls that match a pattern."""

from dataclasses import asdict, astuple

import click

from playbook_db.cli.context import Command, as_json, opened, project_folder
from playbook_db.cli.output import one_line, print_answer, print_table


@click.command(cls=Command)
@click.argument("name", required=False)
@click.option("--on", "pattern", metavar="PATTERN", help="The calls to guard, such as 'Bash(git push *)'.")
@click.option("--ask/--deny", "asks", default=True, help="Ask you first, or refuse the call (default: --ask).")
@click.option("--list", "lists", is_flag=True, help="List this project's guards, and how often each was used.")
@as_json
def guard(name: str | None, pattern: str | None, asks: bool, lists: bool) -> None:
    """Show a key point before some tool calls are made.

    With --ask, Claude Code shows you the point before each call that matches PATTERN, and asks whether to go on. With
    --deny, it refuses the call, and the assistant reads the point. Without a terminal, as in `claude -p`, --ask refuses
    the call, too. This project's .claude/settings.local.json keeps the guards, at most 10. To remove a guard, use
    playbook unguard. If you retire a point, its guard is removed, too.
    """
    from playbook_db.claude_code.setup import guards

    folder = project_folder(must_exist=True)
    if lists or not name:
        if name or pattern:
            raise click.UsageError("Give --list alone, or the NAME of a point and --on PATTERN.")
        listed = guards.counted(folder)
        rows = [tuple(map(str, astuple(each))) for each in listed]
        titles = ("point", "calls", "mode", "fired", "allowed")
        print_table(titles, rows, nothing="this project has no guards", records=map(asdict, listed))
        return
    if not pattern:
        raise click.UsageError("Name the calls to guard, as in: --on 'Bash(git push *)'.")
    guards.require_person()
    with opened(name) as project:
        from playbook_db.services.playbook import edit

        edit.find_live(project, name)
    chosen = guards.PointGuard(name, pattern, "ask" if asks else "deny")
    path = guards.add(folder, chosen)
    print_answer(one_line(f"{chosen}, from now on ({path})"), settings=path, **asdict(chosen))


@click.command(cls=Command)
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
@as_json
def unguard(names: tuple[str, ...]) -> None:
    """Remove the guards of key points."""
    from playbook_db.claude_code.setup import guards

    guards.require_person()
    removed = [each.name for each in guards.remove(project_folder(must_exist=True), names)]
    text = f"{', '.join(map(one_line, removed))}: guard removed" if removed else "none of these points has a guard"
    print_answer(text, removed=removed)
