"""A playbook full of the texts of tests/data/markup, which would do harm if a page showed them as markup."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from playbook_db.domain.operations import cast_votes
from playbook_db.domain.playbook import KeyPoint, Skipped, Vote, storable, why_name_unusable
from playbook_db.domain.trust.evidence import Evidence
from playbook_db.projects import as_text
from playbook_db.services.project import Project
from playbook_db.store import jobs
from playbook_db.store.playbook.learning import Call, ChunkKey
from playbook_db.store.playbook.repository import PlaybookRepository, RevisionOrigin

SECTION = "OTHERS"
_AT_ONCE = 4  # texts in a revision

_LINES = (Path(__file__).parents[1] / "data" / "markup" / "texts.jsonl").read_text(encoding="utf-8").splitlines()
TEXTS: tuple[str, ...] = tuple(json.loads(line)["text"] for line in _LINES)


def fill(project: Project) -> None:
    """Put each of TEXTS wherever a playbook keeps words, and use it as a point's name if it can be one."""
    names = []
    with project.store.write(project.key) as book:
        for text in TEXTS:
            usable = why_name_unusable(text) is None
            names.append(text if usable and text not in names else book.draft.new_name(SECTION))
            book.draft.add(KeyPoint(names[-1], text, SECTION))
        book.commit("import", "imported everything")
    for first in range(0, len(TEXTS), _AT_ONCE):
        with project.store.write(project.key) as book:
            _session(book, names[first : first + _AT_ONCE], TEXTS[first : first + _AT_ONCE], TEXTS[first - 1])
    with project.store.write(project.key) as book:
        for name, text in zip(names[::20], TEXTS, strict=False):
            book.draft.retire(name, reason=text)
        book.commit("edit", TEXTS[0])


def _session(book: PlaybookRepository, names: Sequence[str], texts: Sequence[str], other: str) -> None:
    """Add one revision and its session, with *texts* in all their parts."""
    votes, skipped, reflections = list[Vote](), list[Skipped](), list[int]()
    for name, text in zip(names, texts, strict=True):
        said, path = storable(text), as_text(f"/home/ada/{text}.jsonl".replace("\0", ""))
        evidence = (Evidence(said, said, "outside"),)
        book.draft.change(replace(book.draft[name], text=storable(f"{other} or {text}")), kind="edit", reason=said)
        votes += [Vote(name, "helpful", said, evidence=evidence), Vote(said, "harmful", said)]
        skipped.append(Skipped(len(skipped), {"type": said}, said))
        call = Call("reflect", said, 1000, 100, 10, 0.5, 1)
        given = {"bullet_tags": [{"name": said, "tag": "helpful", "rationale": said}], "lessons": [said]}
        key = ChunkKey(path, 0, 9)
        reflections.append(book.add_reflection(key, session_id=said, analysis=said, calls=[call], **given))
        book.add_call(call, session_id=said)
        added = {"type": "ADD", "text": f"Proposed: {said}", "section": said}
        book.add_proposal(added, "ADD", evidence, "outside", said)
        retired = {"type": "DELETE", "target_id": name, "reason": said}
        book.add_proposal(retired, "DELETE", evidence, "outside", said)
        job = {"session_id": said, "transcript_path": path, "reason": said}
        jobs.add(book.connection, book.playbook_id, job, now=book.now)
        other = text
    cast, first = cast_votes(book.draft, votes), storable(texts[0])
    done = book.commit("learn", first, votes=cast, skipped=skipped, origin=RevisionOrigin(first, first))
    for number, text in zip(reflections, texts, strict=True):
        book.finish_reflection(number, revision=done.revision, curator_reasoning=storable(text), calls=[])
