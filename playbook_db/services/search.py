"""Finding points by what they say."""

from collections.abc import Mapping

from playbook_db.errors import Remedy
from playbook_db.services.projects import Project
from playbook_db.store import searching
from playbook_db.store.hook_queries import StoredMarks
from playbook_db.store.searching import Beside, Searched

DAMAGED = Remedy(
    "The index for full text is damaged or behind, so this is by parts of words. Make it anew: {}",
    ("db", "check", "--rebuild-search"),
)


def search(project: Project, *questions: str) -> tuple[list[Searched], Mapping[str, StoredMarks]]:
    """For each of *questions* the live points of the *project* that answer it, the best first; and what is known of
    each live point beside, by name."""
    with project.store.read(project.key) as book:
        return [searching.search(book, each) for each in questions], book.marks()


def search_beside(project: Project, question: str, *, proposed: bool) -> tuple[tuple[Beside, float], ...]:
    """What else was said in the *project* that answers *question*, the best first: by points that have left, in older
    texts, reasons and evidence, and with *proposed* by what waits for a person."""
    with project.store.read(project.key) as book:
        return searching.search_beside(book, question, proposed=proposed)
