"""What asking a model takes: each call is kept as soon as its answer is there, and none is begun over the budget."""

import os
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from playbook_db.errors import BudgetError, SettingError
from playbook_db.services.project import Project
from playbook_db.services.revising import timestamp
from playbook_db.store import learnt
from playbook_db.store.learnt import Call
from playbook_db.store.past import Past

if TYPE_CHECKING:
    from playbook_db.llm.asking import Model, Prompt, Reply


class Metered:
    """A model whose calls are kept, `kind` being what they are for. `calls` are those that were made through it."""

    def __init__(self, model: "Model", project: Project, *, kind: str, session_id: str | None) -> None:
        self._model, self._project, self._kind, self._session_id = model, project, kind, session_id
        self.calls: list[Call] = []

    def ask(self, prompt: "Prompt", *, deadline: float) -> "Reply":
        """Ask the model. Raises BudgetError where today's budget is spent, else what the model raises."""
        check_budget(self._project)
        reply = self._model.ask(prompt, deadline=deadline)
        usage = reply.usage
        call = Call(
            self._kind,
            reply.model,
            usage.input_tokens,
            usage.output_tokens,
            usage.cached_tokens,
            usage.cost_usd,
            reply.duration_ms,
        )
        self.calls.append(call)
        now = timestamp(datetime.now(UTC))
        with self._project.store.transaction() as connection:
            past = Past.open_to_write(connection, self._project.key, now=now)
            learnt.add_call(connection, past.playbook_id or 0, call, session_id=self._session_id, now=now)
        return reply


def check_budget(project: Project) -> None:
    """Raise BudgetError where the tokens of today (UTC) have reached `PLAYBOOK_DAILY_TOKENS`; unset is no limit."""
    budget = daily_tokens()
    if budget is None:
        return
    midnight = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    with project.store.snapshot() as connection:
        spent = learnt.tokens_since(connection, timestamp(midnight))
    if spent >= budget:
        raise BudgetError(spent, budget, timestamp(midnight + timedelta(days=1)))


def daily_tokens() -> int | None:
    """`PLAYBOOK_DAILY_TOKENS`, None where there is no budget. Raises SettingError."""
    given = os.environ.get("PLAYBOOK_DAILY_TOKENS", "").strip()
    if not given:
        return None
    if not given.isdecimal():
        raise SettingError(f"PLAYBOOK_DAILY_TOKENS is {given!r}; it must be a whole number of tokens.")
    return int(given)
