"""Commands that learn and that tell what was learnt: learn, bootstrap, sessions, why."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

from playbook_db.cli.context import database_url, opened, project_options, tell
from playbook_db.cli.output import one_line, print_json, readable
from playbook_db.cli.points import as_json
from playbook_db.errors import JobError, SettingError

_CHARACTERS_A_TOKEN = 4  # about, for an estimate
_OUTPUT_SHARE = 0.05  # of the tokens sent, about


@click.command()
@click.argument("transcript", type=click.Path(dir_okay=False))
@project_options
def learn(transcript: str) -> None:
    """Learn from TRANSCRIPT now: what is new in it, once, whoever else has seen it."""
    from playbook_db.claude_code import learner
    from playbook_db.llm import choose

    path = os.path.abspath(transcript)
    if not os.path.isfile(path):
        raise SettingError(f"There is no transcript {path}.")
    model = choose.find_model()
    with opened() as project, _progress(os.path.basename(path), os.path.getsize(path)) as progress:
        summary = learner.learn_transcript(project, path, model, progress=progress)
    if not summary.learnt:
        click.echo(f"nothing new in {path}")
    else:
        revisions = ", ".join(map(str, summary.revisions)) or "none"
        click.echo(f"{len(summary.learnt)} stretches learnt from, {summary.tokens:,} tokens; revisions: {revisions}")


@click.command()
@click.option("--yes", is_flag=True, help="Begin without asking.")
@project_options
def bootstrap(yes: bool) -> None:
    """Learn from all transcripts that Claude Code kept of this project's sessions, the oldest first.

    It can be interrupted and called again: what was learnt from is not looked at twice.
    """
    from playbook_db.claude_code import learner, worker
    from playbook_db.llm import choose
    from playbook_db.services import queue

    with opened() as project:
        paths = worker.transcripts_of(project.key)
        left = {path: os.path.getsize(path) - queue.learnt_to(project, path) for path in paths}
        new = [path for path in paths if left[path] > 0]
        if not new:
            click.echo(f"nothing new in {len(paths)} transcripts")
            return
        tell([_estimate(len(new), sum(left[path] for path in new))])
        if not yes and sys.stdin.isatty() and not click.confirm("Begin?", err=True):
            return
        model = choose.find_model()
        tokens = stretches = 0
        with _progress("transcripts", sum(left.values())) as progress:
            done = 0
            for path in new:
                summary = learner.learn_transcript(project, path, model)
                tokens += summary.tokens
                stretches += len(summary.learnt)
                done += left[path]
                progress(done)
        click.echo(f"{len(new)} transcripts, {stretches} stretches learnt from, {tokens:,} tokens")


@click.command()
@as_json
@project_options
def sessions(as_json: bool) -> None:
    """List what each session taught and what learning from it took, the newest first."""
    from playbook_db.services import history

    with opened(sync=False) as project:
        found = history.sessions(project)
    if as_json:
        print_json(
            [
                {
                    "session": told.session_id,
                    "first": told.first_at,
                    "revisions": told.revisions,
                    "calls": told.calls,
                    "tokens": told.tokens,
                    "cost_usd": told.cost_usd,
                }
                for told in found
            ]
        )
        return
    for told in found:
        cost = "-" if told.cost_usd is None else f"${told.cost_usd:.4f}"
        click.echo(
            f"{told.session_id}\t{told.first_at[:16]}\t{told.revisions} revisions\t{told.calls} calls\t"
            f"{told.tokens:,} tokens\t{cost}"
        )


@click.command()
@click.argument("name")
@as_json
@project_options
def why(name: str, as_json: bool) -> None:
    """Tell where the point NAME came from: its sessions, votes with their reasons, edits and merges."""
    from playbook_db.services import history

    with opened(sync=False) as project:
        life = history.life(project, name)
    if as_json:
        print_json(
            {
                "name": name,
                "merged": list(life.merged),
                "events": [
                    {
                        "revision": event.revision,
                        "time": event.time,
                        "source": event.source,
                        "session": event.session_id,
                        "message": event.message,
                        "kind": event.kind,
                        "told": event.told,
                        "successor": event.successor,
                    }
                    for event in life.events
                ],
            }
        )
        return
    if life.merged:
        click.echo(f"merged from {', '.join(life.merged)}")
    for event in life.events:
        session = f" (session {event.session_id})" if event.session_id else ""
        into = f" into {event.successor}" if event.successor else ""
        click.echo(f"r{event.revision}\t{event.time[:16]}\t{event.kind}{into}\t{one_line(event.told or '')}{session}")


def _estimate(count: int, size_bytes: int) -> str:
    from playbook_db.llm import prices
    from playbook_db.llm.anthropic_api import model_name

    tokens = size_bytes // _CHARACTERS_A_TOKEN
    model = model_name()
    cost = prices.cost_usd(model, input_tokens=tokens, output_tokens=int(tokens * _OUTPUT_SHARE))
    price = "" if cost is None else f", about ${cost:.2f}"
    return f"{count} transcripts with something new, at most about {tokens:,} tokens of {model}{price}"


@contextmanager
def _progress(title: str, total: int) -> Iterator[Callable[[int], None]]:
    """A bar on a terminal, nothing elsewhere; what it yields is told how far it has come."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True)) as bar:
        task = bar.add_task(readable(title), total=total)
        yield lambda reached: bar.update(task, completed=reached)


# Commands on what waits to be done: work, jobs.


@click.command()
@project_options
def work() -> None:
    """Do now what the worker does in the background: take in what waits, learn from it, bring mirrors in step."""
    from playbook_db.claude_code import worker

    done = worker.run(database_url())
    if done is None:
        click.echo("another worker is at it")
    else:
        click.echo(
            f"{done.taken_in} jobs taken in from the spool, {done.found} sessions found; {done.learnt} learnt from, "
            f"{done.put_off} put off, {done.failed} failed; {done.synced} mirrors taken in"
        )


@click.group(invoke_without_command=True)
@click.option("--all", "of_all", is_flag=True, help="Of all projects, not of this one alone.")
@as_json
@project_options
@click.pass_context
def jobs(ctx: click.Context, of_all: bool, as_json: bool) -> None:
    """List what there is to learn from, the oldest first: id, state, attempts, session, why it was queued."""
    from playbook_db.services import queue

    if ctx.invoked_subcommand is not None:
        return

    with opened(sync=False) as project:
        found = queue.list_jobs(project.store, None if of_all else project.key)
    if as_json:
        print_json(
            [
                {
                    "id": job.id,
                    "project": job.key,
                    "kind": job.kind,
                    "session": job.session_id,
                    "transcript": job.transcript_path,
                    "agent": job.agent_id,
                    "reason": job.reason,
                    "state": job.state,
                    "attempts": job.attempts,
                    "error": job.error,
                    "created": job.created_at,
                    "finished": job.finished_at,
                }
                for job in found
            ]
        )
        return
    for job in found:
        line = [str(job.id), job.state, str(job.attempts), job.session_id or "-", job.reason or "-", job.error or ""]
        click.echo("\t".join([*([job.key] if of_all else []), *line]).rstrip())


@jobs.command()
@click.argument("number", metavar="ID", type=int)
@project_options
def retry(number: int) -> None:
    """Queue the job ID of this project afresh, whether it failed or waits for its next try."""
    from playbook_db.services import queue

    with opened(sync=False) as project:
        if not queue.retry(project.store, project.key, number):
            raise JobError(f"There is no job {number} here that failed or waits. See them with: playbook jobs")
    click.echo(f"job {number} is queued; do it now with: playbook work")


@jobs.command()
@click.argument("number", metavar="ID", type=int)
@project_options
def drop(number: int) -> None:
    """Remove the job ID of this project; its transcript is not learnt from, unless it grows."""
    from playbook_db.services import queue

    with opened(sync=False) as project:
        if not queue.drop(project.store, project.key, number):
            raise JobError(f"There is no job {number} here that could be removed. See them with: playbook jobs")
    click.echo(f"job {number} is removed")


COMMANDS = {
    "learn": learn,
    "bootstrap": bootstrap,
    "sessions": sessions,
    "why": why,
    "work": work,
    "jobs": jobs,
}
