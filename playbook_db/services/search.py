"""Finding points by what they say."""

from playbook_db.errors import Remedy
from playbook_db.services.projects import Project
from playbook_db.store import searching
from playbook_db.store.searching import Searched

DAMAGED = Remedy(
    "The index for full text is damaged or behind, so this is by parts of words. Make it anew: {}",
    ("db", "check", "--rebuild-search"),
)


def search(project: Project, question: str) -> Searched:
    """The live points of the *project* that answer *question*, the best first."""
    with project.store.read(project.key) as book:
        return searching.search(book, question)
