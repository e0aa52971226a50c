"""Commands on what waits to be done: work, jobs."""

import click

from playbook_db.cli.opening import database_url, opened, project_options
from playbook_db.cli.output import print_json
from playbook_db.cli.points import as_json
from playbook_db.errors import JobError


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
    from playbook_db.services import queueing

    if ctx.invoked_subcommand is not None:
        return

    with opened(sync=False) as project:
        found = queueing.list_jobs(project.store, None if of_all else project.key)
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
    from playbook_db.services import queueing

    with opened(sync=False) as project:
        if not queueing.retry(project.store, project.key, number):
            raise JobError(f"There is no job {number} here that failed or waits. See them with: playbook jobs")
    click.echo(f"job {number} is queued; do it now with: playbook work")


@jobs.command()
@click.argument("number", metavar="ID", type=int)
@project_options
def drop(number: int) -> None:
    """Remove the job ID of this project; its transcript is not learnt from, unless it grows."""
    from playbook_db.services import queueing

    with opened(sync=False) as project:
        if not queueing.drop(project.store, project.key, number):
            raise JobError(f"There is no job {number} here that could be removed. See them with: playbook jobs")
    click.echo(f"job {number} is removed")


COMMANDS = {"work": work, "jobs": jobs}
