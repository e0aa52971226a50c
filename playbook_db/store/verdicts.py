"""Verdicts on duplicates: which points somebody decided to keep apart, though they nearly say the same."""

from collections.abc import Collection

from sqlalchemy import bindparam
from sqlalchemy import text as sql

from playbook_db.store.playbook_rows import PlaybookRows

_KEEP_APART = sql("""
INSERT INTO kept_apart (playbook_id, first_id, second_id, revision, time, actor)
SELECT one.playbook_id, one.id, other.id, :revision, :now, :actor
FROM key_points AS one JOIN key_points AS other ON other.playbook_id = one.playbook_id AND other.id > one.id
WHERE one.playbook_id = :playbook_id AND one.name IN :names AND other.name IN :names
ON CONFLICT (playbook_id, first_id, second_id)
DO UPDATE SET revision = excluded.revision, time = excluded.time, actor = excluded.actor
""").bindparams(bindparam("names", expanding=True))
# One whose text changed since is another point, as far as the verdict goes.
_KEPT_APART = sql("""
SELECT one.name, other.name
FROM kept_apart AS a
JOIN key_points AS one ON one.playbook_id = a.playbook_id AND one.id = a.first_id
JOIN key_points AS other ON other.playbook_id = a.playbook_id AND other.id = a.second_id
WHERE a.playbook_id = :playbook_id AND one.retired_in IS NULL AND other.retired_in IS NULL AND NOT EXISTS (
    SELECT 1 FROM changes AS c WHERE c.playbook_id = :playbook_id AND c.point_id IN (a.first_id, a.second_id)
        AND c.revision > a.revision AND c.text IS NOT NULL)
ORDER BY a.first_id, a.second_id
""")


class VerdictRows(PlaybookRows):
    """What was decided about pairs of points of one playbook."""

    now: str  # the transaction's time
    revision: int  # the last one when the transaction began

    def keep_apart(
        self, pairs: Collection[tuple[str, str]], *, actor: str | None = None, judged_in: int | None = None
    ) -> None:
        """Keep that the points in each of *pairs*, by their names, stay two with the texts that they had in the
        revision *judged_in*, by default when the transaction began; *actor* decided it, by default the user. What is
        no point is passed over."""
        revision = self.revision if judged_in is None else judged_in
        decided = {"revision": revision, "now": self.now, "actor": self.actor(actor)}
        for pair in pairs:
            self._execute(_KEEP_APART, names=list(pair), **decided)

    def kept_apart(self) -> list[tuple[str, str]]:
        """The pairs of live points, by their names, that stay two: neither text has changed since it was decided."""
        return [(one, other) for one, other in self._execute(_KEPT_APART)]
