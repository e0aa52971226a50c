"""Commands that set things up: install, uninstall, init, mirror, doctor."""

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from playbook_db import settings
from playbook_db.claude_code import registration
from playbook_db.cli.context import (
    EXACTLY,
    Command,
    as_json,
    database_url,
    is_interactive,
    notify,
    opened,
    project_folder,
)
from playbook_db.cli.output import beside, count_of, one_line, print_answer, print_json, readable_size, say, wants_json
from playbook_db.errors import InstallError, MirrorError, Remedy
from playbook_db.services import records

if TYPE_CHECKING:
    from playbook_db.services.project import Project

_ALL = "all"
_SHOWN_POINTS = 10  # of a file that could be imported
_MARKS = {"broken": ("BROKEN", "red"), "ok": ("ok", "green"), "note": ("note", "yellow")}


_in_git = click.option("--git", "in_git", is_flag=True, help="Only change how git merges playbooks, not the hooks.")
_for_all_clones = click.option("--share", is_flag=True, help="With --git: use .gitattributes, which all clones share.")


@click.command("install", cls=Command)
@click.option(
    "--scope",
    type=click.Choice(registration.SCOPES),
    default="user",
    show_default=True,
    help="Which settings: user (yours, in all projects), project (shared by all clones) or local (yours, here).",
)
@click.option("--replace", is_flag=True, help="Also remove the hooks of the older system, which only keeps JSON files.")
@_in_git
@_for_all_clones
@as_json
def install_hooks(scope: str, replace: bool, in_git: bool, share: bool) -> None:
    """Register the hooks in Claude Code's settings.

    Claude Code then runs them in every session. All other settings stay as they are, and a copy of the file from before
    the first install is kept next to it. With --git no hooks are registered. Git then runs playbook to merge this
    repository's .claude/playbook.json.
    """
    if share and not in_git:
        raise click.UsageError("--share goes with --git.")
    if in_git:
        _set_up_git(share)
        return
    from datetime import UTC, datetime

    from playbook_db.claude_code.setup import guards, install
    from playbook_db.cli.look.status import in_dollars
    from playbook_db.cli.project import model_in_words

    folder = project_folder(must_exist=scope != "user")
    if replace and not _take_out_older(folder):
        notify(["no settings file has hooks of the older system"])
    done = install.install(scope, folder, now=datetime.now(UTC))
    guards.renew(folder)
    if wants_json():
        record = {"interpreter": done.python, "worker_interpreter": done.worker_python, "backup": done.backup}
        print_json({"settings": done.path, "changed": done.changed, **record})
    elif done.changed:
        hooks = ", ".join(f"{event} ({hook})" for event, (hook, _) in registration.EVENTS.items())
        say(f"{done.path}: registered the hooks for {hooks}")
        if done.backup:
            say(f"a copy of the earlier file: {done.backup}")
        tokens = settings.daily_tokens()
        budget = f"{tokens:,} tokens a day{in_dollars(tokens)}" if tokens else "any number of tokens"
        say(f"learning may use {budget}; to change that, set PLAYBOOK_DAILY_TOKENS (0: no limit)")
        say(model_in_words(folder))
        shell = "zsh" if os.environ.get("SHELL", "").endswith("zsh") else "bash"
        say(f'to complete commands with Tab, add to ~/.{shell}rc: eval "$(_PLAYBOOK_COMPLETE={shell}_source playbook)"')
        say("next: test it with `playbook doctor`, then start Claude Code in a project")
    else:
        say(f"{done.path}: the hooks are registered already; nothing was changed. To test them: `playbook doctor`")
    _warn_of_older(folder)


def _set_up_git(share: bool) -> None:
    from playbook_db.services.sharing import git

    done = git.install(project_folder(must_exist=True), share=share)
    lines = [f"{path}: git merges .claude/playbook.json with playbook" for path in done.changed]
    lines = lines or ["git merges .claude/playbook.json with playbook already; nothing was changed"]
    lines.append(f"git runs: {done.command}")
    if share:
        lines.append("commit .gitattributes, and run `playbook install --git` in each clone")
    print_answer("\n".join(lines), changed=[*done.changed], command=done.command)


def _take_out_of_git(share: bool) -> None:
    from playbook_db.services.sharing import git

    done = git.uninstall(project_folder(must_exist=True), share=share)
    notify(done.notes)
    lines = [f"{path}: removed" for path in done.changed]
    print_answer("\n".join(lines) or "playbook isn't set up in git here", changed=[*done.changed])


def _take_out_older(folder: str) -> bool:
    """Remove the older system's hooks from all settings files, and rename its templates. False if there are none."""
    from datetime import UTC, datetime

    from playbook_db.claude_code.setup import install, older_hooks

    older = older_hooks.find(folder)
    for hooks in older:
        backup = install.take_out(hooks.path, hooks.commands, now=datetime.now(UTC))
        say(f"{hooks.path}: removed {count_of(len(hooks.commands), 'hook')} of the older system")
        say(f"a copy of the earlier file: {backup}")
    for aside in older_hooks.set_templates_aside() if older else ():
        say(f"its template, which doesn't fit this version, is now {aside}")
    return bool(older)


def _warn_of_older(folder: str) -> bool:
    """Warn about hooks of the older system. Return False if there are none."""
    from playbook_db.claude_code.setup import older_hooks

    older = older_hooks.find(folder)
    if older:
        where = ", ".join(hooks.path for hooks in older)
        notify(
            [
                f"{where} has hooks of the older system, which only keeps .claude/playbook.json. Each session would "
                "get both playbooks, and be learned from twice. To replace them: playbook install --replace"
            ]
        )
    return bool(older)


@click.command("uninstall", cls=Command)
@click.option(
    "--scope",
    type=click.Choice((*registration.SCOPES, _ALL)),
    default=_ALL,
    show_default=True,
    help="Which settings: user (yours, in all projects), project (shared by all clones), local (yours, here), or all.",
)
@click.option("--purge", is_flag=True, help="Also remove the plugin's environment, the logs and temporary files.")
@click.option("--database", is_flag=True, help="With --purge: remove the database and its backups, too.")
@click.option("--yes", is_flag=True, help="With --purge: remove without asking.")
@_in_git
@_for_all_clones
@as_json
def uninstall_hooks(scope: str, purge: bool, database: bool, yes: bool, in_git: bool, share: bool) -> None:
    """Remove the hooks from Claude Code's settings.

    What was learned stays. With --git, only undo `install --git`. With --purge, also remove files and folders of
    playbook, and its settings from your settings file: they are listed, and you are asked first; without a terminal
    it needs --yes.
    """
    if (database or yes) and not purge:
        raise click.UsageError("--database and --yes need --purge.")
    if purge and (scope != _ALL or in_git or share):
        raise click.UsageError("--purge can't be combined with --scope, --git or --share.")
    if share and not in_git:
        raise click.UsageError("--share goes with --git.")
    if in_git:
        _take_out_of_git(share)
        return
    folder = project_folder(must_exist=scope != "user")
    doomed = _agreed_to_purge(database, yes=yes) if purge else []
    if doomed is None:
        return
    changed = _without_hooks(registration.SCOPES if scope == _ALL else (scope,), folder)
    data = settings.data_dir()
    if purge:
        _purge(doomed, changed)
    else:
        print_answer(f"what was learned stays in {data}", settings=changed, data=data)


def _without_hooks(scopes: Iterable[str], folder: str) -> list[str]:
    """Remove our hooks from the settings files of *scopes*, and say so. Return the files that changed."""
    from playbook_db.claude_code.setup import install

    changed: list[str] = []
    problems = []
    for each in scopes:
        try:
            done = install.uninstall(each, folder)
        except InstallError as error:  # one bad file doesn't keep the hooks in the others
            problems.append(str(error))
            continue
        if done is not None:
            changed.append(done.path)
            end = "the file was removed; it held nothing else" if done.removed else "the hooks were removed"
            if not wants_json():
                say(f"{done.path}: {end}")
            notify(f"{copy} is kept, since it differs from the settings now" for copy in done.backups)
    if problems:
        raise InstallError("\n".join(problems))
    if not changed and not wants_json():
        say("no settings file has playbook's hooks; nothing was changed")
    return changed


def _agreed_to_purge(database: bool, *, yes: bool) -> list[str] | None:
    """List the files and settings that a purge removes, and ask. Return the paths, or None if the user doesn't agree.
    The settings are removed at once, so that a settings file without others can be removed with the hooks."""
    from playbook_db.claude_code.setup import configuration, purge

    if database and settings.session():
        remedy = Remedy("Run it in your own terminal: {}", ("uninstall", "--purge", "--database"))
        raise InstallError("The database isn't removed within a session of Claude Code. Nothing was done.", remedy)
    items, names = purge.find(with_database=database), configuration.written()
    notify([f"{path} ({count_of(files, 'file')}, {readable_size(size)})" for path, files, size in items])
    notify(f"{name} in {registration.settings_file('user', '')}" for name in names)
    if not yes and not is_interactive():
        raise click.UsageError("There is no terminal to ask on. To remove them, add --yes. Nothing was removed.")
    if not yes and not click.confirm("Remove these, and the hooks from Claude Code's settings?", err=True):
        return None
    for name in names:
        configuration.write(name, None)
    return [path for path, _, _ in items]


def _purge(doomed: list[str], changed: list[str]) -> None:
    """Remove the files *doomed*, and say what stays. The settings files *changed* have lost our hooks."""
    from playbook_db.claude_code.setup import install, purge

    purge.remove(doomed)
    path = settings.sqlite_file(database_url())
    where = f"in {path}" if path else "on the server of PLAYBOOK_DB_URL"
    ending = f"; what was learned stays {where}" if path is None or os.path.exists(path) else ""
    text = f"removed {count_of(len(doomed), 'item')}{ending}"
    print_answer(text, settings=changed, data=settings.data_dir(), removed=doomed)
    notify(f"the plugin is still installed; to remove it: {command}" for command in install.plugin_removals())


@click.command(cls=Command)
@click.option("--yes", is_flag=True, help="Import an existing .claude/playbook.json without asking.")
@click.option("--new", is_flag=True, help="Create a new database even though backups of the old one exist.")
@as_json
@click.pass_context
def init(ctx: click.Context, yes: bool, new: bool) -> None:
    """Add this project (and create the database if needed).

    The folder where you are, or that --project names, becomes a project, even below the root of a repository.

    The texts of a .claude/playbook.json would go into prompts. So an existing file is shown first, and you are asked
    whether to import it; without a terminal this needs --yes. On a terminal you are also asked whether to replace hooks
    of the older system, and whether to learn from past sessions of this project.
    """
    from playbook_db.cli.learn import bootstrap, estimate_of_bootstrap
    from playbook_db.services.project import initialize, read_playbook
    from playbook_db.services.sharing import mirror

    ctx.obj = {**ctx.obj, EXACTLY: True}
    with opened(sync=False, begins_anew=new) as project:
        initialize(project)
        is_waiting = mirror.is_waiting(project)
        is_wanted = is_waiting and _is_wanted(project, yes)
        if is_waiting and not is_wanted:
            notify(["not imported; none of it goes into a prompt. To import it: playbook init --yes"])
            if is_interactive():
                return
        notify((mirror.accept(project) if is_wanted else mirror.enrol(project)).notes)
        points, where, state = len(read_playbook(project).points), project.store.where, mirror.state(project)
        text = f"{one_line(project.key)} has {count_of(points, 'key point')} in {where}"
        text += "; .claude/playbook.json is kept up to date" * (state in ("on", "found"))
        print_answer(text, project=project.key, points=points, database=where, mirror=state)
        learnable = estimate_of_bootstrap(project)
    _offer_replacement(ctx)
    if learnable and is_interactive() and not wants_json():
        notify(["this project had sessions before; playbook can learn from them now:"])
        ctx.invoke(bootstrap, yes=False)
    elif learnable:
        notify([f"{learnable}. To learn from them: playbook bootstrap"])


def _offer_replacement(ctx: click.Context) -> None:
    """Warn about the older system's hooks, and on a terminal offer to replace them."""
    from playbook_db.claude_code.setup import install

    folder = project_folder()
    if not _warn_of_older(folder) or not is_interactive() or wants_json():
        return
    if not click.confirm("Replace them now?", err=True):
        return
    _take_out_older(folder)
    ours = install.find_registrations(folder)
    if not ours.files and ours.plugin is None:
        ctx.invoke(install_hooks, scope="user", replace=False, in_git=False, share=False)


@click.command("mirror", cls=Command)
@click.argument("state", type=click.Choice(["on", "off"]), metavar="on|off")
@click.option("--yes", is_flag=True, help="Import an existing .claude/playbook.json without asking.")
@as_json
def switch_mirror(state: str, yes: bool) -> None:
    """Keep .claude/playbook.json up to date, or stop that.

    With on, the file always matches the database, and your edits of the file are merged into it. A file that was never
    imported is shown first, as by `playbook init`. If you don't import it, nothing changes.
    """
    from playbook_db.services.sharing import mirror

    with opened(sync=False, may_be_new=True) as project:
        is_wanted = state == "on" and mirror.needs_consent(project) and _is_wanted(project, yes)
        notify(mirror.switch(project, on=state == "on", accepts=is_wanted).notes)
        where = project.mirror_path
        text = f"{where} is kept up to date" if state == "on" else f"{where} is no longer read or written"
        print_answer(text, mirror=where, state=mirror.state(project))


def _is_wanted(project: "Project", yes: bool) -> bool:
    """Show on stderr what the file would add, and ask whether to import it. Return True if the user agrees."""
    from playbook_db.domain import draft, playbook_file
    from playbook_db.projects import folder_of_mirror
    from playbook_db.services.playbook import import_export
    from playbook_db.services.sharing import mirror

    path = project.mirror_path or ""
    data = mirror.read(path, folder_of_mirror(path))
    if data is None:
        raise MirrorError(f"{path} is a broken link. Remove it, and run playbook init again.")
    reading = playbook_file.decode(data, source=path)
    plan = import_export.import_playbook(project, reading, source=path, restore=True, folds_equal=False, dry_run=True)
    shown = f"{os.path.relpath(path)} holds {count_of(len(reading.playbook.points), 'key point')}"
    notify([f"{shown} ({draft.summary(plan.changes)}):"])
    for change in plan.changes[:_SHOWN_POINTS]:
        notify([f"  [{change.point.name}] {one_line(change.point.text)}"])
    if len(plan.changes) > _SHOWN_POINTS:
        notify([f"  ... and {len(plan.changes) - _SHOWN_POINTS} more"])
    notify(one_line(note) for note in plan.notes)
    return yes or (is_interactive() and click.confirm("Import it?", err=True))


@click.command(cls=Command)
@click.option("--online", is_flag=True, help="Also test the model with one short question.")
@as_json
@click.pass_context
def doctor(ctx: click.Context, online: bool) -> None:
    """Test the installation, and say what is broken.

    It runs all four hooks, and checks their registration, the database, the queue and the worker. With --online it also
    asks the model. First comes a verdict, then what is broken, then what works, then notes. Exit code 1: something is
    broken.
    """
    from playbook_db.claude_code.setup import doctor as examining

    findings = examining.examine(database_url(), project_folder(), online=online)
    record = records.doctor_record(findings)
    if wants_json():
        print_json(record)
    else:
        counts = {state: sum(finding.state == state for finding in findings) for state in _MARKS}
        notes = f"; {count_of(counts['note'], 'note')}" if counts["note"] else ""
        click.echo(f"{count_of(counts['broken'], 'problem') if counts['broken'] else 'all is well'}{notes}")
        for finding in findings:
            mark, colour = _MARKS[finding.state]
            head = f"{click.style(f'{mark:<7}', fg=colour)} "
            click.echo(beside(head, f"{finding.about}: {one_line(finding.message)}", 8))
            if finding.remedy:
                click.echo(f"        -> {one_line(finding.remedy)}")
    if not record["ok"]:
        ctx.exit(1)
