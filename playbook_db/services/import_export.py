"""Playbook files in and out: what `playbook import` and `playbook export` do."""

from collections import Counter

from playbook_db.domain import merge, playbook_file, prompt_text
from playbook_db.domain.draft import Draft
from playbook_db.domain.playbook import Header
from playbook_db.domain.playbook_file import Layout, Reading
from playbook_db.domain.prompt_text import render_points
from playbook_db.services import templates
from playbook_db.services.projects import Project
from playbook_db.services.revise import Plan, Proposal, Revised, read, rehearse, revise
from playbook_db.store import playbooks
from playbook_db.store.past import Past


def import_playbook(project: Project, reading: Reading, *, source: str, replace: bool = False) -> Revised:
    """Take a playbook in that was read from *source*, as one revision; with `replace`, become equal to it.

    A new playbook takes over the file's header to the letter, so that it exports the file again.
    """
    return revise(project, _import_plan(reading, source, replace=replace))


def preview_import(project: Project, reading: Reading, *, source: str) -> Revised:
    """What `import_playbook` would do; nothing is written."""
    return rehearse(project, _import_plan(reading, source, replace=False))


def export_playbook(project: Project, *, layout: Layout = "sections") -> str:
    """The text of the playbook's file as it is now."""
    return playbook_file.encode(read(project), layout=layout)


def told(revised: Revised) -> str:
    """What a revision did to how many points, in a few words."""
    last = {change.point.name: change.kind for change in revised.changes}
    words = {
        "add": "added", "edit": "edited", "vote": "with other votes", "move": "moved", "restore": "restored",
        "retire": "retired",
    }  # fmt: skip
    counts = Counter(last.values())
    return ", ".join(f"{counts[kind]} {word}" for kind, word in words.items() if counts[kind]) or "no points changed"


def _import_plan(reading: Reading, source: str, *, replace: bool) -> Plan:
    def plan(draft: Draft, past: Past) -> Proposal:
        bring_in = merge.become if replace else merge.take_in
        ours = draft.playbook()
        theirs, left_out = merge.incoming(reading, ours, past.forgotten())
        notes = bring_in(draft, theirs, {name: gone.point for name, gone in past.retired().items()})
        takes_over = replace or past.revision == 0
        header = merge.header_as_forgotten(ours.header, theirs.header)
        return Proposal(
            "import",
            f"{'replaced by' if replace else 'imported'} {source}",
            notes=(*reading.warnings, *left_out, *notes),
            header=header if takes_over else _with_new_keys(ours.header, header),
            is_dated=takes_over,
        )

    return plan


def _with_new_keys(ours: Header, theirs: Header) -> Header:
    """Our header and the top-level keys that only *theirs* has."""
    known = dict(ours.fields)
    added = tuple((key, value) for key, value in theirs.fields if key not in known)
    return Header(ours.fields + added, ours.final_newline)


# What a session is told of a playbook: the same text that the hook prints.


def tell(project: Project) -> str:
    """The text that goes into a session of *project*: the best points that fit under Claude Code's limit; `""` for
    an empty playbook. Raises TemplateError."""
    with project.store.snapshot() as connection:
        past = Past.open(connection, project.key)
        if past.playbook_id is None:
            return ""
        ranked, unjudged, live_points = playbooks.read_candidates(connection, past.playbook_id)
        if not live_points:
            return ""
        return prompt_text.compose(templates.playbook_template(), ranked, unjudged, live_points)[0]


def tell_all(project: Project) -> str:
    """The text with every live point in it, however long it gets. Raises TemplateError."""
    return templates.fill_points(render_points(read(project).points))
