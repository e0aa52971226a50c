"""A tour of playbook-db: commands with what they print. Run it with: make demo

It works in a temporary folder with its own home, and never touches yours. If a step fails or a promise is broken, it
ends with exit code 1.
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
OURS = ("CLAUDE_", "PLAYBOOK_", "ANTHROPIC_", "AGENTIC_CONTEXT_")  # the user's variables, which the demo must ignore
SOURCES = ["import"] * 2 + ["edit"] * 4 + ["prune", "sync"] + ["undo"] * 2
KEYS = ("AGENTIC_CONTEXT_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_API_KEY")
MODEL_VARIABLES = ("AGENTIC_CONTEXT_", "ANTHROPIC_")
WHO_DID_WHAT = """\
SELECT revision, source, count(kind) AS changes, group_concat(DISTINCT kind) AS kinds, message
FROM history WHERE playbook LIKE '%/hafen'
GROUP BY revision, source, message ORDER BY revision"""


class DemoError(Exception):
    """A step of the demo failed, or a promise was broken."""


class Person:
    """A person with a project and an empty home, both below *root*, who types commands in the project."""

    def __init__(self, root: Path) -> None:
        self.folder, other, home = root / "hafen", root / "copy", root / "home"
        for made in (self.folder, other, home):
            (made / ".claude").mkdir(parents=True)
        for example in (*EXAMPLES.glob("*.json"), *EXAMPLES.glob("*.jsonl")):
            shutil.copy(example, self.folder)
        self.env = {key: value for key, value in os.environ.items() if not key.startswith(OURS)}
        self.env |= {"HOME": str(home), "CLAUDE_CONFIG_DIR": str(home / ".claude")}

    def types(self, command: str, *, head: int = 100, tail: int = 0) -> list[str]:
        """Return the lines that *command* prints; show the first *head* and last *tail* of them. Raises DemoError."""
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
        """A script that runs the user's `claude` in the user's own home, where it is logged in."""
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
        """Open the database read-only, and return the rows of *sql*."""
        with closing(sqlite3.connect(f"{Path(database).as_uri()}?mode=ro", uri=True)) as connection:
            cursor = connection.execute(sql)
            titles, rows = [column[0] for column in cursor.description], cursor.fetchall()
        indented = textwrap.indent(sql, "    ")
        table = ["\t".join(map(str, row)) for row in (titles, *rows)]
        show(f'sqlite3 -readonly -header -column {Path(database).name} "\n{indented}"', table)
        return rows

    def sees_same(self, one: str, other: str) -> None:
        """Promise that two files are equal, byte for byte."""
        equal = (self.folder / one).read_bytes() == (self.folder / other).read_bytes()
        promise(f"{other} equals {one} byte for byte", equal)


def step(text: str) -> None:
    """Print what comes next, and why."""
    print("\n" + textwrap.fill(text, WIDTH, initial_indent="# ", subsequent_indent="# "))


def show(command: str, output: list[str], *, head: int = 100, tail: int = 0) -> None:
    """Print a command and its output, with aligned columns, cut to *head* and *tail* lines and the terminal's width."""
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
    """Print that a promise holds. Raises DemoError if it doesn't."""
    if not holds:
        raise DemoError(f"broken promise: {text}")
    print(f"  ok: {text}")


def tour(person: Person) -> None:
    """Run all steps in order."""
    step("Add the project. The database is stored beside Claude Code's own files; the work tree isn't changed.")
    person.types("playbook init")
    database = person.types("playbook db path")[0]

    step("Import a colleague's playbook. A new playbook exports the same bytes that it imported.")
    person.types("playbook import realistic.json")
    person.types("playbook export -o same.json")
    person.sees_same("realistic.json", "same.json")

    step("Import an older file with four forms of entries. A known point keeps the higher counters; others are added.")
    person.types("playbook import mixed_legacy.json")
    person.types("playbook list", head=5)
    person.types("playbook list --section OTHERS", head=0, tail=5)

    step("Vote. One point helped again. Another was wrong twice, and now has more harmful than helpful votes.")
    person.types("playbook vote pat-001 helpful")
    person.types("playbook vote pat-014 harmful")
    person.types("playbook vote pat-014 harmful")

    step("Try a curator's batch without writing. Half of it is broken: each bad operation is skipped with a reason.")
    planned = person.types("playbook apply --dry-run operations.json")
    step("Now apply it. All valid operations become one revision, as the dry run said.")
    applied = person.types("playbook apply operations.json", head=2, tail=1)
    promise("the batch did what its dry run said", planned[:-1] == applied[:-1])
    promise("five operations were skipped, none in silence", sum(li.startswith("skipped") for li in applied) == 5)

    step("Prune: retire points with 3 or more harmful votes, and more harmful than helpful ones.")
    planned = person.types("playbook prune --dry-run")
    pruned = person.types("playbook prune", head=0, tail=1)
    promise("pruning did what its dry run said", planned[:-1] == pruned[:-1])
    step("Nothing is erased. Retired points are listed with time and reason; `playbook restore NAME` restores one.")
    person.types("playbook list --retired", head=4)

    step("This is the text that the next session sees.")
    person.types("playbook render", head=12, tail=3)

    step("Write the playbook to .claude/playbook.json too, so that you can commit it. Edits of that file are merged.")
    person.types("playbook mirror on")
    person.edits(".claude/playbook.json", "the icon font is gone since March", "there is no icon font any more")
    shown = person.types("playbook show ctx-013")
    promise("the edit of the file is in the database", "no icon font any more" in shown[-1])

    learn(person)
    look_back(person, pruned)

    step("Export, import into an empty project, and export there: the same bytes. A second import changes nothing.")
    person.types("playbook export -o exported.json")
    person.types("playbook --project ../copy import exported.json")
    person.types("playbook --project ../copy export -o again.json")
    person.sees_same("exported.json", "again.json")
    promise("the second import made no revision", "nothing new" in person.types("playbook import exported.json")[0])

    step("Back up the database, even while others write. Check the file, and each playbook against its history.")
    person.types("playbook backup")
    person.types("playbook db check")

    step("Query the database in SQL, read-only: who did what? docs/sql.md describes the views.")
    sources = [row[1] for row in person.asks(database, WHO_DID_WHAT)]
    promise("every step is in the history", [source for source in sources if source != "learn"] == SOURCES)


def learn(person: Person) -> None:
    """Learn from a session, with the user's own model if there is one, else from recorded answers."""
    own = {name: value for name, value in os.environ.items() if name.startswith(MODEL_VARIABLES)}
    if any(name in own for name in KEYS):
        model = "your key, for real"
        person.env |= own
    elif shutil.which("claude") and os.environ.get("HOME"):
        model = "your own `claude -p`, for real"
        person.env |= own | {"PLAYBOOK_CLAUDE": str(person.own_claude())}
    else:
        model = "recorded answers, as there is no key and no `claude`"
        person.env |= {"PLAYBOOK_CLAUDE": str(EXAMPLES / "recorded_claude.py"), "AGENTIC_CONTEXT_BACKEND": "cli"}
    step(
        "Learn from a session of Claude Code, as the worker does after each one. A reflector says which points helped "
        f"or harmed, and a curator what to change. The model: {model}."
    )
    person.types("playbook learn session.jsonl")
    person.types("playbook sessions")
    person.types("playbook why pat-001")
    step("The same lines are never learned from twice.")
    again = person.types("playbook learn session.jsonl")
    promise("the second time there was nothing new to learn", "nothing new" in again[0])


def look_back(person: Person, pruned: list[str]) -> None:
    """Read the history, and undo the revision that printed *pruned*."""
    revision = pruned[-1].split()[1]
    step("What did the last revisions do? And what has changed since the pruning?")
    person.types("playbook log -n 3", head=24)
    person.types(f"playbook diff {revision}", head=8)
    step("Export the playbook as it was at any revision. The first one equals the imported file.")
    person.types("playbook at 1 -o then.json")
    person.sees_same("realistic.json", "then.json")
    step("Undo the pruning: the points return with their votes, and later changes stay. Then undo the undo.")
    before = person.types("playbook list", head=0)
    undone = person.types(f"playbook undo {revision}")
    promise("the pruned points are back", sum(line.startswith("restore") for line in undone) == len(pruned) - 1)
    person.types("playbook undo", head=1, tail=1)
    promise("after the second undo the list is as before", person.types("playbook list", head=0) == before)
    step("Show the playbook in numbers.")
    person.types("playbook stats", head=12)


def main() -> int:
    """Run the demo; return the exit code."""
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
    print("\nAll promises held, and the temporary folder was removed. Next:")
    print("  playbook init     in your own project; then: playbook --help")
    print("  playbook web      the same in a browser (needs the extra `web`)")
    print("  docs/README.md    a page for each task")
    print("  docs/sql.md       views, tables, and fifteen questions with answers")
    print("  ARCHITECTURE.md   how it is built, and why")
    return 0


if __name__ == "__main__":
    sys.exit(main())
