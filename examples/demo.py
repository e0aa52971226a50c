"""A tour of playbook-db, as its own command prints it. Run it with: make demo

It works in a temporary folder with a home of its own, and never touches yours. A step that fails, or a promise that
does not hold, ends it with exit code 1.
"""

import io
import os
import shlex
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import textwrap
from contextlib import closing
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parent
WIDTH = min(shutil.get_terminal_size((120, 24)).columns, 140)
OURS = ("CLAUDE_", "PLAYBOOK_", "ANTHROPIC_", "AGENTIC_CONTEXT_")  # variables of the user's that must not count
SOURCES = ["import"] * 2 + ["edit"] * 4 + ["prune", "sync"] + ["undo"] * 2
KEYS = ("AGENTIC_CONTEXT_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_API_KEY")
MODEL_VARIABLES = ("AGENTIC_CONTEXT_", "ANTHROPIC_")
WHO_DID_WHAT = """\
SELECT revision, source, count(kind) AS changes, group_concat(DISTINCT kind) AS kinds, message
FROM history WHERE playbook LIKE '%/hafen'
GROUP BY revision, source, message ORDER BY revision"""


class DemoError(Exception):
    """A step of the demo failed, or a promise did not hold."""


class Person:
    """Somebody with a project and an empty home, both below *root*, who types commands in the project."""

    def __init__(self, root: Path) -> None:
        self.folder, other, home = root / "hafen", root / "copy", root / "home"
        for made in (self.folder, other, home):
            (made / ".claude").mkdir(parents=True)
        for example in (*EXAMPLES.glob("*.json"), *EXAMPLES.glob("*.jsonl")):
            shutil.copy(example, self.folder)
        self.env = {key: value for key, value in os.environ.items() if not key.startswith(OURS)}
        self.env |= {"HOME": str(home), "CLAUDE_CONFIG_DIR": str(home / ".claude")}

    def types(self, command: str, *, head: int = 100, tail: int = 0) -> list[str]:
        """The lines that *command* prints; the first *head* and last *tail* of them are shown. Raises DemoError."""
        done = subprocess.run(
            command.split(), cwd=self.folder, env=self.env, encoding="utf-8", timeout=60,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        lines = done.stdout.splitlines()
        show(command, lines, head=head, tail=tail)
        if done.returncode:
            raise DemoError(f"{command!r} ended with exit code {done.returncode}")
        return lines

    def own_claude(self) -> Path:
        """A program that runs the user's `claude` in the user's own home, where its login is."""
        script = self.folder.parent / "claude"
        home, program = shlex.quote(os.environ["HOME"]), shlex.quote(shutil.which("claude") or "claude")
        script.write_text(f'#!/bin/sh\nunset CLAUDE_CONFIG_DIR\nHOME={home} exec {program} "$@"\n', encoding="utf-8")
        script.chmod(0o755)
        return script

    def edits(self, file: str, before: str, after: str) -> None:
        """Reword a text in *file* by hand."""
        show(f"$EDITOR {file}", [f'"{before}" becomes "{after}"'])
        text = (self.folder / file).read_text(encoding="utf-8")
        promise(f"{file} held the point", text.count(before) == 1)
        (self.folder / file).write_text(text.replace(before, after), encoding="utf-8")

    def asks(self, database: str, sql: str) -> list[sqlite3.Row]:
        """The rows that the database itself answers, opened read-only."""
        with closing(sqlite3.connect(f"{Path(database).as_uri()}?mode=ro", uri=True)) as connection:
            cursor = connection.execute(sql)
            titles, rows = [column[0] for column in cursor.description], cursor.fetchall()
        indented = textwrap.indent(sql, "    ")
        table = ["\t".join(map(str, row)) for row in (titles, *rows)]
        show(f'sqlite3 -readonly -header -column {Path(database).name} "\n{indented}"', table)
        return rows

    def sees_same(self, one: str, other: str) -> None:
        """Promise that two files hold the same bytes."""
        equal = (self.folder / one).read_bytes() == (self.folder / other).read_bytes()
        promise(f"{other} equals {one} byte for byte", equal)


def step(text: str) -> None:
    """Say what comes next, and why."""
    print("\n" + textwrap.fill(text, WIDTH, initial_indent="# ", subsequent_indent="# "))


def show(command: str, output: list[str], *, head: int = 100, tail: int = 0) -> None:
    """Print a command and its output, shortened in length and to the terminal's width, its columns aligned."""
    cells = [line.split("\t") for line in output]
    widths = [max(map(len, column)) for column in zip(*cells, strict=False)] if cells else []
    lines = ["  ".join(map(str.ljust, row, [*widths[:-1], 0])) if len(row) > 1 else row[0] for row in cells]
    left_out = len(lines) - head - tail
    if left_out > 0:
        lines[head : len(lines) - tail] = [f"({left_out} more lines, not shown here)"]
    print(f"$ {command}")
    for line in lines:
        print(f"  {line if len(line) <= WIDTH - 2 else line[: WIDTH - 5] + '...'}".rstrip())


def promise(text: str, holds: bool) -> None:
    """Say that a promise holds. Raises DemoError where it doesn't."""
    if not holds:
        raise DemoError(f"broken promise: {text}")
    print(f"  ok: {text}")


def tour(person: Person) -> None:
    """All steps, in order."""
    step("Take the project in. The database stands beside Claude Code's own files; the work tree stays as it is.")
    person.types("playbook init")
    database = person.types("playbook db path")[0]

    step("Bring in what a colleague's Claude learned. What a new playbook imports, it exports to the byte.")
    person.types("playbook import realistic.json")
    person.types("playbook export -o same.json")
    person.sees_same("realistic.json", "same.json")

    step("An older, flat file mixes four shapes of entries. A known point keeps the higher counts; the rest is added.")
    person.types("playbook import mixed_legacy.json")
    person.types("playbook list", head=5)
    person.types("playbook list --section OTHERS", head=0, tail=5)

    step("Vote. One point helped again; another was found wrong twice, and now harms more than it helps.")
    person.types("playbook vote pat-001 helpful")
    person.types("playbook vote pat-014 harmful")
    person.types("playbook vote pat-014 harmful")

    step("Try a curator's batch, half of it broken, without writing: each bad operation is skipped with its reason.")
    planned = person.types("playbook apply --dry-run operations.json")
    step("Now for real: all of the valid operations are one revision, and give what the dry run said.")
    applied = person.types("playbook apply operations.json", head=2, tail=1)
    promise("the batch did what its dry run said", planned[:-1] == applied[:-1])
    promise("five operations were skipped, none in silence", sum(li.startswith("skipped") for li in applied) == 5)

    step("Prune what the votes say harms: at least 3 harmful votes, and more than helpful ones.")
    planned = person.types("playbook prune --dry-run")
    pruned = person.types("playbook prune", head=0, tail=1)
    promise("pruning did what its dry run said", planned[:-1] == pruned[:-1])
    step("Nothing is erased. A retired point is listed with when and why; `playbook restore NAME` brings it back.")
    person.types("playbook list --retired", head=4)

    step("This is the text that goes into the prompt of the next session.")
    person.types("playbook render", head=12, tail=3)

    step("Keep .claude/playbook.json in step, to commit it. An edit by hand (or a git pull) is merged in, not lost.")
    person.types("playbook mirror on")
    person.edits(".claude/playbook.json", "the icon font is gone since March", "there is no icon font any more")
    shown = person.types("playbook show ctx-013")
    promise("the edit made by hand is in the database", "no icon font any more" in shown[-1])

    learn(person)
    look_back(person, pruned)

    step("Export, import into an empty project, export there: the same bytes. One's own export brings nothing new.")
    person.types("playbook export -o exported.json")
    person.types("playbook --project ../copy import exported.json")
    person.types("playbook --project ../copy export -o again.json")
    person.sees_same("exported.json", "again.json")
    promise("a second import is no revision", "nothing new" in person.types("playbook import exported.json")[0])

    step("Back the database up, while anybody may write. Check the file, and each playbook against its history.")
    person.types("playbook backup")
    person.types("playbook db check")

    step("Ask the database in SQL, read-only: who did what? docs/sql.md describes the views.")
    sources = [row[1] for row in person.asks(database, WHO_DID_WHAT)]
    promise("every step is in the history", [source for source in sources if source != "learn"] == SOURCES)


def learn(person: Person) -> None:
    """Learn from a session: with the user's own model where there is one, else from recorded answers."""
    own = {name: value for name, value in os.environ.items() if name.startswith(MODEL_VARIABLES)}
    if any(name in own for name in KEYS):
        model = "your key, for real"
        person.env |= own
    elif shutil.which("claude") and os.environ.get("HOME"):
        model = "your own `claude -p`, for real"
        person.env |= own | {"PLAYBOOK_CLAUDE": str(person.own_claude())}
    else:
        model = "recorded answers, since there is neither a key nor `claude`"
        person.env |= {"PLAYBOOK_CLAUDE": str(EXAMPLES / "recorded_claude.py"), "AGENTIC_CONTEXT_BACKEND": "cli"}
    step(
        "Learn from a session of Claude Code, as the worker does after each: a reflector says what helped and harmed, "
        f"a curator what to change. The model: {model}."
    )
    person.types("playbook learn session.jsonl")
    person.types("playbook sessions")
    person.types("playbook why pat-001")
    step("The same lines are never learned from twice, however many hooks saw them.")
    again = person.types("playbook learn session.jsonl")
    promise("a transcript that was learned from holds nothing new", "nothing new" in again[0])


def look_back(person: Person, pruned: list[str]) -> None:
    """See what was done, what that changed and how it was before, and undo what *pruned* printed."""
    revision = pruned[-1].split()[1]
    step("What did the last revisions do? And what has changed since the pruning?")
    person.types("playbook log -n 3", head=24)
    person.types(f"playbook diff {revision}", head=8)
    step("Any revision can be exported exactly as it was; here the first one, which is the imported file.")
    person.types("playbook at 1 -o then.json")
    person.sees_same("realistic.json", "then.json")
    step("Undo the pruning: the points return with their votes, and what came later stays. Then undo the undo.")
    before = person.types("playbook list", head=0)
    undone = person.types(f"playbook undo {revision}")
    promise("the pruned points are back", sum(line.startswith("restore") for line in undone) == len(pruned) - 1)
    person.types("playbook undo", head=1, tail=1)
    promise("after the undo of the undo all is as it was", person.types("playbook list", head=0) == before)
    step("How is it doing? `--svg FILE` draws it.")
    person.types("playbook stats", head=12)


def main() -> int:
    """Run the demo; its exit code."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace", line_buffering=True)
    if shutil.which("playbook") is None:
        print("The command `playbook` is not on the PATH. Run: make demo", file=sys.stderr)
        return 1
    print("A tour of playbook-db, in a temporary folder. Lines wider than the terminal are cut.")
    with tempfile.TemporaryDirectory(prefix="demo-") as root:
        try:
            tour(Person(Path(root).resolve()))
        except DemoError as error:
            print(f"demo failed: {error}", file=sys.stderr)
            return 1
    print("\nAll promises held; the temporary folder is gone. Where to go next:")
    print("  playbook init     in a project of your own; then: playbook --help")
    print("  playbook web      the same in a browser, where the extra `web` is installed")
    print("  docs/README.md    a page for each task")
    print("  docs/sql.md       the views, the tables, and twenty-nine questions with their answers")
    print("  ARCHITECTURE.md   how it is built, and why")
    return 0


if __name__ == "__main__":
    sys.exit(main())
