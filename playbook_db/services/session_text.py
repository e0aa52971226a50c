"""The text that a session starts with. Needs no SQLAlchemy."""

from typing import TYPE_CHECKING

from playbook_db.domain import prompt_text
from playbook_db.services import templates
from playbook_db.store.queries import hook_queries

if TYPE_CHECKING:
    from collections.abc import Sequence

    from playbook_db.store.queries.hook_queries import Reader


def compose(books: "Sequence[Reader]", folder: str | None = None) -> str:
    """Return the text for a session. It has as many of the best points of *books*, the project's and the user's own
    playbook, as fit into Claude Code's limit. Points in the rules of *folder* are left out. Return `""`
    if there are no points. Raises SettingError."""
    if not any(book.project.live_points for book in books):
        return ""
    rules = hook_queries.rules_in(folder)
    ranked = [hook_queries.ranked_points(book, rules) for book in books]
    return prompt_text.compose(templates.playbook_template(), ranked)[0]
