"""The token budget for learning: the daily budget, or the tokens that the user has allowed for one command."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from playbook_db import project_env, settings
from playbook_db.domain.times import day_begin, local, timestamp
from playbook_db.errors import BudgetError, Remedy
from playbook_db.services.project import Project, Store
from playbook_db.store.playbook import learning


@dataclass(frozen=True, slots=True)
class Budget:
    """The number of `tokens` that one command may use, counted from the time `since`. The user has agreed to it. It
    replaces the daily budget."""

    tokens: int
    since: str


def tokens_today(store: Store, key: str | None = None) -> int:
    """Return how many tokens of the daily budget the project *key*, or all projects, used today (UTC)."""
    with store.snapshot() as connection:
        return learning.tokens_since(connection, timestamp(day_begin(datetime.now(UTC))), key)


def check_budget(project: Project, agreed: Budget | None = None) -> None:
    """Raise BudgetError if the *agreed* budget is spent. Without an agreed one, check the daily budget."""
    project = project.own
    if agreed is not None:
        with project.store.snapshot() as connection:
            spent = learning.tokens_since(connection, agreed.since, project.key, agreed=True)
        if spent >= agreed.tokens:
            text = f"{spent:,} tokens were used, and you agreed to {agreed.tokens:,}. What was learned so far is kept."
            raise BudgetError(text, remedy=Remedy("To continue: {}", ("bootstrap",)))
        return
    _check_daily(project.store, settings.daily_tokens())
    variables = project_env.project_variables(project.folder or project.key)
    if project_env.BUDGET in variables:  # the project's own budget, besides the user's
        _check_daily(project.store, settings.daily_tokens(variables), project.key)


def _check_daily(store: Store, budget: int, key: str | None = None) -> None:
    spent = tokens_today(store, key)
    if 0 < budget <= spent:
        until = timestamp(day_begin(datetime.now(UTC)) + timedelta(days=1))
        whose = f" for {key}" if key else ""
        raise BudgetError(
            f"{spent:,} tokens were used today (UTC){whose}; PLAYBOOK_DAILY_TOKENS allows {budget:,} "
            f"(0 means no limit). The work continues at {local(until)} at the latest.",
            until=until,
        )
