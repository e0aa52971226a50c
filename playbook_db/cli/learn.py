"""Commands on learning: learn, bootstrap, sessions, why, work, jobs."""

import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from playbook_db import project_env, settings
from playbook_db.cli.context import (
    Command,
    Group,
    as_json,
    database_url,
    is_interactive,
    notify,
    opened,
    project_folder,
    source_of,
)
from playbook_db.cli.output import (
    IGNORED,
    busy,
    count_of,
    event_cells,
    evidence_line,
    one_line,
    print_answer,
    print_json,
    print_table,
    readable,
    say,
    session_name,
    wants_json,
)
from playbook_db.domain.times import local
from playbook_db.errors import ArgumentError, PlaybookError, Remedy, unknown_session
from playbook_db.services import records
from playbook_db.services.reading import command_reads

if TYPE_CHECKING:
    from playbook_db.claude_code.learner import TranscriptResult
    from playbook_db.services.project import Project
    from playbook_db.store.queries.list_queries import Job, PointLifespan
    from playbook_db.store.queries.log_queries import Life, LifeEvent

_SEE_JOBS = Remedy("To list the jobs: {}", ("jobs",))
_FIND_TRANSCRIPTS = Remedy("To learn from all that Claude Code kept of this project: {}", ("bootstrap",))
_EVENT_WORDS = {
    "helpful": "helpful vote", "harmful": "harmful vote", "neutral": "neutral vote", "vote": "vote change",
    "again": "repeated lesson",
    "edit": "edit", "move": "move", "retire": "retirement", "restore": "restoration", "add": "addition",
}  # fmt: skip


@click.command(cls=Command)
@click.argument("transcript", type=click.Path(dir_okay=False))
@as_json
def learn(transcript: str) -> None:
    """Learn from one transcript now.

    No part of a transcript is learned from twice, even if a hook or another command reads it, too. To learn from all
    past sessions of a project, use playbook bootstrap. To learn from the queue, use playbook work.
    """
    path = os.path.abspath(transcript)
    if not os.path.isfile(path):
        raise ArgumentError(f"There is no transcript at {path}.", _FIND_TRANSCRIPTS)
    from playbook_db.claude_code import learner, worker
    from playbook_db.llm import choose

    model = choose.find_model(project_folder())
    with opened(may_be_new=True) as project, _progress(os.path.basename(path), os.path.getsize(path)) as progress:
        worker.take_in_spool(project.own.store)
        result = learner.learn_transcript(project, path, model, progress=progress)
    notify(result.refused)
    if wants_json():
        print_json(_learned_record(1, [result]))
    elif not result.learned and not result.refused:
        say(f"nothing new in {path}")
    elif result.learned:
        revisions = ", ".join(map(str, result.revisions)) or "none"
        learned = f"learned from {count_of(result.tokens, 'token')}"
        say(f"{learned}; revisions of {one_line(project.key)}: {revisions}{_to_review([result])}")


@click.command(cls=Command)
@click.option("--yes", is_flag=True, help="Start without asking.")
@as_json
def bootstrap(yes: bool) -> None:
    """Learn from all past sessions of this project.

    It reads the transcripts that Claude Code kept, oldest first. First it shows how many tokens this may take, and
    asks. These tokens don't count toward today's limit. Without a terminal it needs --yes. You can interrupt it and run
    it again: nothing is learned twice. To learn from a single transcript, use playbook learn. To learn from the queue,
    use playbook work.
    """
    from playbook_db.claude_code import learner, worker
    from playbook_db.llm import choose
    from playbook_db.services.learning import queue
    from playbook_db.services.learning.budget import Budget

    with opened(may_be_new=True) as project:
        with busy("looking for transcripts"):
            unread = _unread(project)
        new = {path: size for path, size in unread.items() if size > 0}
        if not new:
            paths = count_of(len(unread), "transcript")
            text = f"nothing new in {paths}" if unread else "this project has had no session yet"
            print_answer(text, **_learned_record(0, []))
            return
        estimate, estimate_text = _estimate(project, new)
        notify([estimate_text])
        if not yes and not is_interactive():
            raise click.UsageError("There is no terminal to ask on. To start, add --yes. Nothing was sent.")
        if not yes and not click.confirm("Start?", err=True):
            return
        budget = Budget(estimate, since=queue.later(0))
        model = choose.find_model(project.folder)
        worker.take_in_spool(project.own.store)
        done = 0
        results: list[TranscriptResult] = []
        with _progress("transcripts", sum(unread.values())) as progress:
            for path in new:
                result = learner.learn_transcript(project, path, model, budget=budget)
                notify(result.refused)
                results.append(result)
                done += unread[path]
                progress(done)
        record = _learned_record(len(new), results)
        learned = f"learned from {count_of(len(new), 'transcript')}"
        of_what = f"{count_of(record['tokens'], 'token')}, for {one_line(project.key)}"
        text = f"{learned}, {of_what}{_to_review(results)}"
        print_answer(text, **record)


def _to_review(results: "Sequence[TranscriptResult]") -> str:
    """Tell how to review the resulting proposals, if there are any."""
    count = sum(each.proposals for each in results)
    return f"; {count_of(count, 'proposal')} to review: {settings.review_command()}" if count else ""


def _learned_record(transcripts: int, results: "Sequence[TranscriptResult]") -> dict[str, Any]:
    return {
        "transcripts": transcripts,
        "chunks": sum(len(each.learned) for each in results),
        "tokens": sum(each.tokens for each in results),
        "revisions": [revision for each in results for revision in each.revisions],
        "proposals": sum(each.proposals for each in results),
        "refused": [text for each in results for text in each.refused],
    }


def estimate_of_bootstrap(project: "Project") -> str:
    """Describe the sessions that `bootstrap` would learn from, and the cost. Return `""` if some sessions were learned
    from already, nothing is new, or no model is available."""
    from playbook_db.llm import choose
    from playbook_db.services.reading import history

    with suppress(PlaybookError, OSError):
        choose.find_model(project.folder)
        new = {path: size for path, size in _unread(project).items() if size > 0}
        return _estimate(project, new)[1] if new and not history.sessions(project) else ""
    return ""


def _unread(project: "Project") -> dict[str, int]:
    """Return the transcripts of the project's sessions, oldest first, and how many bytes of each are new. Leave out the
    session that runs this command: it is learned from when it ends."""
    from playbook_db.claude_code import learner
    from playbook_db.claude_code.transcripts import finding

    return {
        path: learner.new_bytes(project, path)
        for path in finding.of_project(project.own.store, project.own.key)
        if os.path.basename(path) != f"{settings.session()}.jsonl"
    }


@click.group(invoke_without_command=True, cls=Group)
@as_json
@click.pass_context
def sessions(ctx: click.Context) -> None:
    """List sessions, what was learned from each, and what it cost."""
    if ctx.invoked_subcommand is not None:
        return
    listed = command_reads.sessions(source_of())
    rows = [
        (
            session_name(each.session_id),
            local(each.first_at),
            *(f"{count:,}" for count in (each.revisions, each.calls, each.tokens)),
            "-" if each.cost_usd is None else f"${each.cost_usd:.4f}",
        )
        for each in listed
    ]
    titles = ("session", "first", "revisions", "calls", "tokens", "cost")
    nothing = "nothing was learned from a session yet"
    print_table(titles, rows, nothing=nothing, records=map(records.session_record, listed))


@sessions.command()
@click.argument("session", metavar="[ID]", required=False)
@click.option("--off", is_flag=True, help="Learn from the session again, from now on.")
@as_json
def skip(session: str | None, off: bool) -> None:
    """Stop learning from a session.

    ID is the session's id or the beginning of it. Inside a session of Claude Code, the default is that session. Earlier
    lessons from the session stay; to undo them: playbook undo --session ID
    """
    from playbook_db.claude_code import learner
    from playbook_db.claude_code.transcripts import finding, transcript
    from playbook_db.services.learning import queue

    beginning = session or settings.session()
    if not queue.is_session_id(beginning):
        raise click.UsageError("Give the ID of a session: the name of its transcript, without .jsonl.")
    with opened(sync=False, may_be_new=True, is_own=True) as project:  # even if a team's server is away
        known: dict[str, list[str]] = {}
        for path in finding.of_project(project.own.store, project.own.key):
            known.setdefault(transcript.session_of(path), []).append(path)
        matches = [beginning] if beginning in known else [each for each in known if each.startswith(beginning)]
        if len(matches) > 1:
            raise unknown_session(beginning, tuple(matches))
        (session_id,) = matches or [beginning]
        was_skipped = queue.is_skipped(session_id)
        if not off:
            queue.skip_session(session_id, is_skipped=True)
        for path in known.get(session_id, ()):
            learner.pass_over(project, path)  # what was said until now isn't learned later, either
        if off:
            queue.skip_session(session_id, is_skipped=False)
    text = f"session {session_id} is not skipped"
    if not off:
        text = f"playbook no longer learns from session {session_id}"
        notify([f"to learn from it again: playbook sessions skip {session_id} --off"])
    elif was_skipped:
        text = f"playbook will learn from session {session_id} again"
    print_answer(text, session=session_id, skipped=not off, transcripts=len(known.get(session_id, ())))
    if session and not matches:  # a session that has just started has none
        notify(["Claude Code has no transcript of it in this project yet, so give the whole id"])


@click.command(cls=Command)
@click.argument("name")
@as_json
def why(name: str) -> None:
    """Show a key point's history: sessions, votes, edits.

    You see each session, vote (with its reason and evidence), edit, merge and undo, and how often sessions cite the
    point. For the point as it is now, use playbook show.
    """
    record, life, uses = command_reads.life(source_of(name), name)
    if wants_json():
        print_json(records.life_record(name, life, record.lifespan, uses))
        return
    say(_life_in_words(life, record.lifespan))
    rows = [
        (
            f"r{event.revision}",
            local(event.time),
            f"{event.kind} into {event.successor}" if event.successor else event.kind,
            _details(event),
            _by(event),
        )
        for event in life.events
    ]
    print_table(("in", "time", "what", "text or reason", "by"), rows, nothing=f"{name} has no history")
    for line in life.recurrence:
        say(line)
    if life.totals.in_words:
        say(f"{life.totals.in_words.capitalize()}.")
    for use in uses:
        event, _, *did = event_cells(use)
        say(f"{count_of(use.shown, 'session')} got it {event}. These sessions: {', '.join(filter(None, did))}")


def _life_in_words(life: "Life", lifespan: "PointLifespan") -> str:
    """Describe in two sentences the origin of the point, and its later changes."""
    first, *later = life.events
    if life.merged:
        came = f"Merged from {', '.join(map(one_line, life.merged))}"
    elif lifespan.origin:
        came = one_line(lifespan.origin).capitalize()
    else:
        came = {"learn": "Learned", "import": "Imported"}.get(first.source, "Added")
    text = f"{came} on {local(first.time)[:10]} by {_by(first)}."
    if not later:
        return f"{text} Nothing has happened to it since."
    counts = Counter(each.kind for each in later)
    text += f" Since then: {', '.join(count_of(number, _EVENT_WORDS[kind]) for kind, number in counts.items())}."
    return f"{text} Last confirmed {local(lifespan.confirmed_at)[:10]}." if lifespan.confirmed_at else text


def _details(event: "LifeEvent") -> str:
    """Return the text or reason, then each piece of evidence on its own line."""
    texts = (event.text, event.message if event.source == "undo" else None, IGNORED if event.ignored else None)
    return "\n".join(["; ".join(filter(None, texts)), *map(evidence_line, event.evidence)]).strip()


def _by(event: "LifeEvent") -> str:
    """Return who made the change: the session (with its member, if known), or else the actor."""
    if event.session_id is None:
        return event.actor
    session = f"session {session_name(event.session_id)}"
    return session if event.actor == event.session_id else f"{event.actor}, {session}"


def _estimate(project: "Project", unread: "dict[str, int]") -> tuple[int, str]:
    """Return how many tokens learning from the *unread* bytes of transcripts may take, and a sentence about it."""
    from playbook_db.claude_code import learner
    from playbook_db.domain.prompt_text import render_points
    from playbook_db.llm import choose
    from playbook_db.llm.model import CHARACTERS_A_TOKEN
    from playbook_db.services.project import read_playbook

    size, parts, prompts, calls = learner.measure(unread)
    shown = 4 * len(render_points(read_playbook(project).points))  # to reflector and curator, each with their marks
    tokens = (size + parts * shown) // CHARACTERS_A_TOKEN + parts * choose.TOKENS_A_PART
    of_what = f"{count_of(prompts, 'prompt')} and {count_of(calls, 'tool call')}"
    cost = choose.cost_in_words(tokens, project.folder or project.key)
    text = f"{count_of(len(unread), 'transcript')} to learn from, at most about {tokens:,} tokens for {of_what}"
    return tokens, f"{text}, {cost.removeprefix('at most ')}" if cost else text


@contextmanager
def _progress(title: str, total: int) -> Iterator[Callable[[int], None]]:
    """Show a progress bar if stderr is a terminal. Yield a function to call with the progress so far."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(readable(title), total=total)
        yield lambda reached: bar.update(task, completed=reached)


@click.command(cls=Command)
@as_json
def work() -> None:
    """Run the background worker once, in the foreground.

    It learns from the transcripts in the queue, and brings mirrors up to date. To learn from one transcript, use
    playbook learn. To learn from all past sessions, use playbook bootstrap.
    """
    from playbook_db.claude_code import worker
    from playbook_db.llm import choose

    with choose.living_in(
        project_env.worker_environment(project_folder()) if "CLAUDECODE" in os.environ else os.environ
    ):
        result = worker.run(database_url())
    if wants_json():
        print_json(None if result is None else asdict(result))
    elif result is None:
        say("another worker is running")
    else:
        say(
            f"{count_of(result.spooled, 'job')} read from the spool, {count_of(result.lost, 'session')} found; "
            f"{result.learned} learned from, {result.put_off} put off, {result.failed} failed; "
            f"{count_of(result.mirrors, 'mirror')} updated"
        )
        for key in dict.fromkeys(result.changed):
            say(f"changed the playbook of {one_line(key)}")


@click.group(invoke_without_command=True, cls=Group)
@click.option("--all", "of_all", is_flag=True, help="List the jobs of all projects.")
@as_json
@click.pass_context
def jobs(ctx: click.Context, of_all: bool) -> None:
    """List the worker's jobs, oldest first."""
    if ctx.invoked_subcommand is not None:
        return
    listed = command_reads.jobs(source_of(), of_all=of_all)
    rows = [
        (
            *([job.key] if of_all else []),
            *(str(job.id), job.state, str(job.attempts), session_name(job.session_id or "-"), job.reason or "-"),
            f"{job.error or ''}{_next_try(job)}",
        )
        for job in listed
    ]
    titles = (*(["project"] if of_all else []), "id", "state", "tries", "session", "queued at", "error")
    nothing = "no jobs yet; a session is queued when it ends"
    print_table(titles, rows, nothing=nothing, records=map(records.job_record, listed))


def _next_try(job: "Job") -> str:
    if not job.not_before:
        return ""
    now = "" if project_env.BUDGET in (job.error or "") else ", or now with: playbook work"
    return f" (next try: {local(job.not_before)}{now})"


@jobs.command()
@click.argument("numbers", metavar="[ID]...", type=int, nargs=-1)
@click.option("--all", "of_all", is_flag=True, help="Retry every failed or waiting job, of all projects.")
@as_json
def retry(numbers: tuple[int, ...], of_all: bool) -> None:
    """Queue failed or waiting jobs again."""
    from playbook_db.services.learning import queue

    if bool(numbers) == of_all:
        raise click.UsageError("Give the IDs of jobs, or --all.")
    with opened(sync=False, is_own=True) as project:
        count = queue.retry_all(project.store) if of_all else len(numbers)
        for number in numbers:
            if not queue.retry(project.store, project.key, number):
                raise PlaybookError(f"There is no failed or waiting job {number} in this project.", _SEE_JOBS)
        key = one_line(project.key)
    lines = [f"job {number} of {key} is queued; to run it now: playbook work" for number in numbers]
    if of_all:
        queued = f"{count_of(count, 'job')} {'is' if count == 1 else 'are'} queued; to run them now: playbook work"
        lines = [queued if count else "no job failed or waits"]
    print_answer("\n".join(lines), queued=count)


@jobs.command()
@click.argument("number", metavar="ID", type=int)
@as_json
def drop(number: int) -> None:
    """Remove a job from this project's queue.

    Nothing is learned from the job's transcript, unless the session continues later.
    """
    from playbook_db.services.learning import queue

    with opened(sync=False, is_own=True) as project:
        if not queue.drop(project.store, project.key, number):
            raise PlaybookError(f"This project has no job {number} that can be removed.", _SEE_JOBS)
    print_answer(f"job {number} of {one_line(project.key)} is removed", removed=number)
