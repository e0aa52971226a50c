"""The command review: accept or reject what learning proposes."""

import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import click

from playbook_db import settings
from playbook_db.cli.context import Command, as_json, notify, opened, project_folder, source_of
from playbook_db.cli.output import (
    count_of,
    evidence_line,
    folded,
    one_line,
    print_json,
    print_revised,
    print_table,
    readable,
    say,
    wants_json,
)
from playbook_db.errors import SettingError
from playbook_db.services import records
from playbook_db.services.reading import command_reads

if TYPE_CHECKING:
    from playbook_db.domain.proposals import ReviewItem
    from playbook_db.services.playbook.review import Decision, ReviewResult
    from playbook_db.services.project import Project

_INDENT = " " * 4
_KEYS = {"a": "accept", "r": "reject", "e": "edit", "s": "skip", "q": "quit"}
_SEVERAL = ("--accept", "--reject")  # each takes all words up to the next option


class _ReviewCommand(Command):
    """A command whose `--accept` and `--reject` take several names."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, list(_spread(args)))


def _spread(args: Iterable[str]) -> Iterable[str]:
    """Return *args* with `--accept` or `--reject` repeated before each of the names that follow it."""
    option, is_first = "", False
    for word in args:
        if word.startswith("-"):
            option, is_first = (word, True) if word in _SEVERAL else ("", False)
        elif option and not is_first:
            yield option
        else:
            is_first = False
        yield word


@click.command(cls=_ReviewCommand)
@click.option("--accept", "accepted", multiple=True, metavar="ID...", help="Accept proposals, all in one revision.")
@click.option("--reject", "rejected", multiple=True, metavar="ID...", help="Reject proposals; they don't come again.")
@as_json
def review(accepted: tuple[str, ...], rejected: tuple[str, ...]) -> None:
    """Accept or reject what learning proposes.

    A lesson from a web page, or without evidence in its session, changes nothing until you accept it.
    On a terminal you decide one proposal at a time: accept, reject, edit (accept in your own words), skip or quit.
    Without a terminal, the proposals are only listed, as by `playbook list --proposed`.

    Proposals for your personal playbook are listed in every project, after those for the project. An ID is a proposal's
    number: p3 or 3, or up3 in your personal playbook. The name of a key point works, too, if only one proposal changes
    it. The setting playbook_review decides which lessons become proposals. Sessions must not read proposals, so this
    command only runs in your own terminal.
    """
    settings.require_person()
    in_turn = not wants_json() and sys.stdin.isatty() and sys.stdout.isatty()
    if not (accepted or rejected or in_turn):
        print_proposals(command_reads.proposals(source_of()))
        return
    from playbook_db.services.playbook import review as service

    with opened() as project:
        items = service.all_waiting(project)
        if accepted or rejected:
            chosen, refused = (service.meant(items, words) for words in (accepted, rejected))
            if both := [item.name for item in chosen if item in refused]:
                raise click.UsageError(f"{both[0]} can't be both accepted and rejected.")
            decisions = [_decision(item, accepts=item in chosen) for item in (*chosen, *refused)]
        elif items and in_turn:
            decisions = _one_by_one(items)
        else:
            decisions = []
            print_proposals(items)
        if decisions:
            _decide(project, decisions)
        elif items:
            notify(["nothing was decided"])
        _propose_rules(project)


def _propose_rules(project: "Project") -> None:
    """Say once that points may become rules."""
    from playbook_db.services.sharing import rules

    if project.is_users or wants_json():
        return
    with project.store.read(project.key) as book:
        count = rules.propose(book, project_folder())
    if count:
        text = f"{count_of(count, 'point')} helped 5 times or more, and name files of this project"
        notify([f"{text}. To let Claude Code load them with these files: playbook export --rules"])


def print_proposals(items: Sequence["ReviewItem"]) -> None:
    """Print the waiting proposals."""
    rows = []
    for item in items:
        sessions = str(item.proposal.sessions) if item.proposal.session_id else "-"  # it came from a file
        rows.append((item.name, _summary(item), item.proposal.trust_in_words, sessions, _says(item)))
    titles = ("id", "proposal", "evidence", "sessions", "text or reason")
    print_table(titles, rows, nothing="no proposals", records=map(records.proposal_record, items))
    if items and not wants_json():
        notify(["to decide: playbook review, or with --accept ID and --reject ID"])


def _says(item: "ReviewItem") -> str:
    operation = item.proposal.operation
    return item.proposal.text or str(operation.get("reason") or operation.get("rationale") or "")


def _decide(project: "Project", decisions: Collection["Decision"]) -> None:
    from playbook_db.services.learning import diagnostics
    from playbook_db.services.playbook import review as service

    results = service.decide_all(project, decisions)
    for result in results:
        diagnostics.pruning(project.folder, result.pruned)
        if not wants_json():
            _print(result)
    if wants_json():
        print_json(records.reviews_record(results))
    if any(result.refused for result in results):
        click.get_current_context().exit(1)


def _print(result: "ReviewResult") -> None:
    if result.accepted:
        print_revised(result.revision)
    if result.rejected:
        say(f"rejected  {', '.join(map(result.named, result.rejected))}")
    for number, reason in result.needless.items():
        say(f"accepted  {result.named(number)}, but nothing changed: {one_line(reason)}")
    waits = [f"{result.named(number)} still waits: {one_line(reason)}" for number, reason in result.refused.items()]
    notify(waits)


def _one_by_one(items: Sequence["ReviewItem"]) -> list["Decision"]:
    """Ask the user for a decision on each proposal. The decisions are carried out at the end."""
    decisions: list[Decision] = []
    keys = ", ".join(f"[{key}]{word[1:]}" for key, word in _KEYS.items())
    for place, item in enumerate(items, 1):
        head = click.style(f"{item.name} {_summary(item)}", bold=True)
        click.echo(folded(f"\n{head}  ({place} of {len(items)})"))
        _show(item)
        while True:
            key = click.prompt(keys, type=click.Choice(list(_KEYS)), show_choices=False, default="s")
            text = _reworded(item) if key == "e" else None
            if key != "e" or text is not None:
                break
        if key == "q":
            break
        if key != "s":
            decisions.append(_decision(item, accepts=key != "r", text=text))
    if decisions:
        count = sum(decision.accepts for decision in decisions)
        notify([f"{count_of(count, 'proposal')} to accept, {len(decisions) - count} to reject"])
    return decisions


def _show(item: "ReviewItem") -> None:
    from playbook_db.cli.history.history_view import marked_words  # late: it brings difflib

    proposal = item.proposal
    same = item.points if proposal.kind == "UPDATE" else ()
    if proposal.text:
        text = marked_words(same[0].text, proposal.text) if same else readable(proposal.text)
        click.echo(folded(text, _INDENT))
    for line in _reasons(item):
        if not (same and line.startswith("now:")):
            click.echo(folded(line, f"{_INDENT}| "))


def _reworded(item: "ReviewItem") -> str | None:
    """Return the proposal's text after the user edited it, or None if it has no text or the editor failed."""
    before = readable(item.proposal.text)
    if not before:
        notify(["it has no text to edit"])
        return None
    try:
        text = _edited(before)
    except SettingError as error:
        notify([str(error)])
        return None
    return text.strip() if text and text.strip() else None


def _edited(text: str) -> str | None:
    """Return *text* as saved in the user's editor, None if it wasn't saved. Raises SettingError if the editor fails."""
    try:
        return click.edit(text, extension=".txt")
    except (click.ClickException, OSError, UnicodeDecodeError) as error:
        reason = error.format_message() if isinstance(error, click.ClickException) else str(error)
        raise SettingError(f"The editor failed ({reason}). Nothing was decided.") from None


def _summary(item: "ReviewItem") -> str:
    """Describe in a few words the change that the proposal would make, and to which points."""
    proposal = item.proposal
    section = proposal.operation.get("section")
    where = f" to {section}" if isinstance(section, str) and section else ""
    verb = proposal.operation.get("tag", "harmful") if proposal.kind == "VOTE" else ""
    whose = ", for all your projects" if item.is_users else ""
    return one_line(" ".join(filter(None, [proposal.kind, ", ".join(proposal.names), str(verb)])) + where + whose)


def _reasons(item: "ReviewItem") -> Iterator[str]:
    """Yield lines that help to decide: the current points, the reason and the evidence."""
    proposal = item.proposal
    for point in item.points:
        yield one_line(f"now: [{point.name}] +{point.helpful} -{point.harmful} {point.text}")
    missing = [name for name in proposal.names if name not in {point.name for point in item.points}]
    if missing:
        yield one_line(f"no longer in the playbook: {', '.join(missing)}")
    for why in ("reason", "rationale"):
        if proposal.operation.get(why):
            yield one_line(f"why: {proposal.operation[why]}")
    if proposal.operation.get("doubt"):
        yield one_line(f"waits because: {proposal.operation['doubt']}")
    for piece in proposal.evidence:
        yield f"evidence: {evidence_line(piece)}"
    if not proposal.evidence:
        yield "evidence: none"
    sessions = f"by {proposal.sessions} sessions, the last" if proposal.sessions > 1 else "by session"
    origin = f"{sessions} {proposal.session_id}" if proposal.session_id else "outside a session"
    yield one_line(f"proposed {origin}, {proposal.created_at[:10]}")


def _decision(item: "ReviewItem", *, accepts: bool, text: str | None = None) -> "Decision":
    """Return the decision on *item*. An accepted proposal may get another *text*."""
    from playbook_db.services.playbook.review import Decision  # late, as above

    return Decision(item.proposal.id, accepts, text, item.is_users)
