"""Random histories of a playbook, for properties that hold after any of them."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from playbook_db.domain import operations, playbook_file
from playbook_db.domain.merging.undo_rules import RevisionRange
from playbook_db.domain.playbook import Vote
from playbook_db.domain.sections import SECTION_SLUGS
from playbook_db.errors import NotFoundError, PointRuleError
from playbook_db.services.playbook import edit, import_export
from playbook_db.services.playbook.undo import undo
from playbook_db.services.project import Project
from tests.builders import few_texts, headers, last_revision, playbooks_of_few_texts

Step = tuple[str, Any]
_names = st.sampled_from([f"{slug}-{number:03d}" for slug in ("oth", "pat") for number in (1, 2, 3)])
VOTES = st.lists(st.builds(Vote, _names, st.sampled_from(operations.TAGS)), min_size=1, max_size=4)
_adds = st.builds(
    lambda text, section: {"type": "ADD", "text": text, "section": section},
    few_texts,
    st.sampled_from([*SECTION_SLUGS]),
)
_operations = st.one_of(
    _adds,
    st.builds(lambda name, text: {"type": "UPDATE", "target_id": name, "text": text}, _names, few_texts),
    st.builds(lambda name: {"type": "DELETE", "target_id": name}, _names),
    st.builds(
        lambda names, text: {"type": "MERGE", "source_ids": names, "merged_text": text},
        st.lists(_names, min_size=2, max_size=3),
        few_texts,
    ),
)
_files = st.builds(lambda playbook, header: replace(playbook, header=header), playbooks_of_few_texts(), headers())
_any_steps = st.one_of(
    st.tuples(st.just("apply"), st.lists(_operations, min_size=1, max_size=5)),
    st.tuples(st.just("vote"), VOTES),
    st.tuples(st.just("move"), st.tuples(_names, st.sampled_from(["pat", "oth"]))),
    st.tuples(st.just("restore"), _names),
    st.tuples(st.just("import"), _files),
    st.tuples(st.just("replace"), _files),
    st.tuples(st.just("prune"), st.none()),
    st.tuples(st.just("undo"), st.integers(1, 9)),
)
_first = st.tuples(st.just("apply"), st.lists(_adds, min_size=1, max_size=5))
histories = st.builds(lambda first, rest: [first, *rest], _first, st.lists(_any_steps, max_size=7))


def vote(project: Project, votes: Sequence[Vote]) -> None:
    with project.store.write(project.key) as book:
        book.commit("learn", "learned from a session", votes=operations.cast_votes(book.draft, votes))


def do(project: Project, step: str, what: Any) -> None:
    reading = (
        playbook_file.decode(playbook_file.encode(what), source="a test") if step in ("import", "replace") else None
    )
    deeds: dict[str, Callable[[], object]] = {
        "apply": lambda: edit.apply_batch(project, what, origin="a test"),
        "vote": lambda: vote(project, what),
        "move": lambda: edit.edit(project, what[0], section=what[1]),
        "restore": lambda: edit.restore(project, what),
        "import": lambda: reading and import_export.import_playbook(project, reading, source="a test"),
        "replace": lambda: reading and import_export.import_playbook(project, reading, source="a test", replace=True),
        "prune": lambda: edit.prune(project),
        "undo": lambda: undo(project, RevisionRange(what, what)),
    }
    with suppress(PointRuleError, NotFoundError):
        deeds[step]()


def live_through(project: Project, history: Sequence[Step]) -> int:
    for step, what in history:
        do(project, step, what)
    return last_revision(project)
