"""Writing proven points as rules: files in `.claude/rules` that Claude Code loads itself, and a block in AGENTS.md.

They belong to a worktree, like the mirror. Their signatures tell what we wrote, and nothing else records it.
"""

import glob
import os
import stat
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from playbook_db import files, projects, settings
from playbook_db.domain import code_names, rule_text
from playbook_db.errors import GitError, MirrorError
from playbook_db.services.sharing import git
from playbook_db.store.queries import hook_queries, list_queries

if TYPE_CHECKING:
    from playbook_db.store.queries.hook_queries import Reader, StoredPoint

LEAST_HELPFUL = 5  # votes of a point that becomes a rule
_AGENTS = "AGENTS.md"


@dataclass(frozen=True, slots=True)
class RuleChange:
    """A file at `path` whose content `old` becomes `new`; None means no file. `is_signed`: whether our text in it is as
    we wrote it, or None if it has none."""

    path: str
    old: str | None
    new: str | None
    is_signed: bool | None

    @property
    def question(self) -> str:
        """The question that the user answers with yes to let the change be made."""
        if self.is_signed is False:
            return f"{self.path} was edited by hand. Overwrite it?"
        if not self.path.endswith(_AGENTS):
            return "Change these rules?"
        return f"Change {self.path}?" if self.old is not None else f"There is no {self.path}. Create it?"


@dataclass(slots=True)
class RulePlan:
    """The `changes` that make the files fit the playbook, sentences about `problems`, and the `points` with rules."""

    points: "list[StoredPoint]"
    changes: list[RuleChange] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def plan(book: "Reader", folder: str, *, undo: bool = False) -> RulePlan:
    """Plan the rules of the project in *folder*. With *undo*, plan to remove all that was written."""
    paths = {} if undo else _paths(book, folder)
    by_paths: dict[tuple[str, ...], list[StoredPoint]] = {}
    for point, named in paths.items():
        by_paths.setdefault(tuple(sorted(named)), []).append(point)
    planned, place = RulePlan([*paths]), os.path.join(folder, ".claude", "rules")
    planned_rules = dict(rule_text.rule(*each) for each in by_paths.items())
    for name in sorted({*planned_rules, *hook_queries.rule_names(place)}):
        path, new = os.path.join(place, name), planned_rules.get(name)
        old = _read(path, folder)
        is_signed = None if old is None else rule_text.signed(old)
        if old != new and (new or is_signed is not None):
            planned.changes.append(RuleChange(path, old, new, is_signed if old is None else bool(is_signed)))
    _plan_block(planned, os.path.join(folder, _AGENTS), folder)
    return planned


def stale(book: "Reader", folder: str) -> list[str]:
    """Return the names of the written files in *folder* that differ from the playbook *book*."""
    return [os.path.relpath(each.path, folder) for each in plan(book, folder).changes if each.is_signed is not None]


def propose(book: "Reader", folder: str) -> int:
    """Count the points that may become rules in *folder* and are in none. Return 0 if all were counted before."""
    rules = hook_queries.rules_in(folder)
    names = {each.name for each in _paths(book, folder) if not hook_queries.has_rule(each, rules)}
    path = os.path.join(settings.data_dir(), "told", f"rules{projects.as_text(folder).replace('/', '-')[-200:]}")
    known = {*projects.read_plain(path).decode().split()} if os.path.exists(path) else set[str]()
    if not names <= known:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        files.replace_file(path, " ".join(known | names).encode(), mode=0o600)
    return 0 if names <= known else len(names)


def write(change: RuleChange, folder: str) -> None:
    """Write or remove the file of *change*. Raises MirrorError."""
    if _read(change.path, folder) != change.old:
        raise MirrorError(f"{change.path} was changed meanwhile, so it was left alone. Run the command again.")
    try:
        if change.new is None:
            os.unlink(change.path)
            with suppress(OSError):  # other rules are in it
                os.rmdir(os.path.dirname(change.path))
        else:
            os.makedirs(os.path.dirname(change.path), exist_ok=True)
            files.replace_file(change.path, change.new.encode("utf-8", "surrogateescape"))
    except OSError as error:
        raise MirrorError(f"{change.path} can't be written: {error.strerror}. It was left alone.") from error


def _plan_block(planned: RulePlan, path: str, folder: str) -> None:
    """Add to *planned* the change of the block in the file at *path*, or the reason why the file is left alone."""
    try:
        old = _read(path, folder)
        new, block = rule_text.with_block(old, planned.points), rule_text.block_of(old or "")
    except MirrorError as error:
        planned.problems.append(str(error))
    except ValueError:
        planned.problems.append(f"{path} has our marks twice, or only one of a pair. Remove them; it was left alone.")
    else:
        is_writable = old is None or (os.access(path, os.W_OK) and os.stat(path).st_mode & stat.S_IWUSR)
        if new != old and is_writable:
            planned.changes.append(RuleChange(path, old, new, block and rule_text.is_signed(block)))
        elif new != old:
            planned.problems.append(f"{path} is read-only, so it was left alone. To change it: chmod u+w {path}")


def _paths(book: "Reader", folder: str) -> "dict[StoredPoint, list[str]]":
    """Return the points that may become rules, with the files in *folder* that they name, as the hooks find them. A
    file that git ignores doesn't count."""
    live = list_queries.live_points(book)
    resting = {number for (number,) in hook_queries.rows(book, hook_queries.RESTING)}
    proven = [each for each in live if each.helpful >= LEAST_HELPFUL and not each.harmful and each.id not in resting]
    paths: dict[StoredPoint, list[str]] = {point: [] for point in proven}
    for path in _files(folder) if proven else ():
        *above, base = path.split("/")[-2:]
        is_only = sum(base in each.text for each in live) == 1
        ends = ["/".join([*above, base]), *([base] * is_only)]
        for point in proven:
            is_named = any(code_names.has_path(point.text, end, path) for end in ends)
            if is_named and os.path.isfile(os.path.join(folder, path)):
                paths[point].append(path)
    return {point: named for point, named in paths.items() if named}


def _files(folder: str) -> list[str]:
    if projects.git_dir(folder):
        with suppress(GitError):
            return git.list_files(folder)
    return glob.glob("**", root_dir=folder, recursive=True)


def _read(path: str, folder: str) -> str | None:
    from playbook_db.services.sharing import mirror  # late: it brings SQLAlchemy

    data = mirror.read(path, folder)
    text = None if data is None else data.decode("utf-8", "surrogateescape")
    return text if text is None or path.endswith(_AGENTS) else text.replace("\r\n", "\n")
