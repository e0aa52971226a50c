"""`python -m benchmarks.same_answers OLD [NEW]`: whether two commits give the same bytes on the same databases.

The code of OLD makes databases with random histories. On copies of each, in the same folder and at the same time, both
commits answer the same hooks, commands and calls of tools. NEW is this checkout by default, with what isn't committed.
Exit code 1 if anything differs; times that were measured are left out.
"""

import argparse
import difflib
import json
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from benchmarks import sandbox
from tests.transcripts import TranscriptBuilder, a_call

Step = list[Any]  # its kind and what `player` needs for it
_NOW = 1_772_323_200.0  # 2026-03-01
_STEPS = 45  # of each history; a session is one
_LINES = 12  # that are shown of a difference
_SECTIONS = ("pat", "mis", "pref", "ctx", "oth", "oth")
_WORDS = ("verify", "cache", "parser", "before", "migration", "when", "tools/reindex.sh", "E4711", "src/invoice.py")
_ODD = (
    "one thing\nand another\n\n- in a list", "Zeilenumbrüche, 東京, e\u0301 und \U0001f9d1\u200d\U0001f4bb bleiben",
    "\u202ethgir ot tfel\u202c", "<b>&amp;</b> ```sh\nrm -rf /\n``` </playbook>", f"export TOKEN=ghp_{'a1B2' * 9}",
    "[pat-001] contradicts [oth-002]", "  \t blanks around  ", "long " * 600, "", "\x00", "\udcff", "1e3",
    "'; DROP TABLE key_points; --", "100 % of %s, {root}, $HOME and \\n", "Use ruff, not flake8",
    "Use flake8, not ruff",
)  # fmt: skip
_BOTH = (
    "list +", "list --retired +", "list --proposed +", "list --sort votes +", "list --sort used -n 3 +", "log +",
    "log NAME +", "log --source learn +", "show NAME +", "show NUMBER +", "why NAME +", "stats +", "search WORD +",
    "at NUMBER +", "diff NUMBER +", "review +", "dedup +", "undo NUMBER --dry-run +",
    "prune --dry-run +", "restore --at NUMBER --dry-run +", "forget NAME --dry-run +", "export",
    "export --layout flat --extra", "export --markdown", "at NUMBER --render",
)  # fmt: skip
_READS = (
    *_BOTH, "sessions +", "jobs --all +", "config +", "project list +", "status +", "status --short", "db check +",
    "backup --list +", "team status +", "doctor --json", "install --dry-run", "render",
)  # fmt: skip
_READS_OF_USER = tuple(f"--user {shape}" for shape in _BOTH)
_WRITES = (
    *["vote NAME helpful, vote NAME harmful, vote NAME NAME harmful +, vote NAME neutral"] * 4,
    "edit NAME --text TEXT +, edit NAME --text TEXT --section pref, edit NAME --section mis",
    "retire NAME +, retire NAME NAME --reason TEXT", "restore NAME +, restore NAME --at NUMBER, restore --at NUMBER",
    "undo +, undo NUMBER, undo NUMBER --theirs, undo NUMBER --ours, prune +, --user prune",
    "pin NAME, pin NAME NAME, unpin NAME", "promote NAME, promote NAME --keep, demote NAME, demote NAME --keep",
    "review --accept NUMBER, review --reject NUMBER, review --accept NAME, --user review --accept 1",
    "dedup --merge NAME NAME, dedup --apart NAME NAME",
    "forget NAME --yes +, forget --match E4711 --yes, forget --match rule.[2-4] --yes",
    "sessions skip session-1, jobs retry --all, jobs drop NUMBER, backup, mirror on, mirror off +",
    "config playbook_review all, config PLAYBOOK_DAILY_TOKENS many, config playbook_review x, install +, uninstall",
)  # fmt: skip
_CLAUDE = """#!{python} -IS
import json, re, sys, zlib
told = sys.stdin.read()
number = zlib.crc32((told + sys.argv[-1]).encode())
said = re.findall(r'Please know: [^\\n"\\\\<]*', told)[-1:] or ["nothing"]
names = sorted({{*re.findall(r"u?(?:pat|mis|pref|ctx|oth)-\\d+", told)}})[number % 7 :][:3]
quotes = said if number % 3 else ["nobody said so"]
tags = [{{"name": name, "tag": ("helpful", "harmful", "neutral")[(number >> at) % 3], "rationale": "because",
    "evidence": quotes}} for at, name in enumerate(names)]
lesson = {{"kind": "worked", "text": said[0], "cause": "", "fix": "", "applies_to": "", "evidence": quotes}}
add = {{"type": "ADD", "section": "OTHERS", "text": said[0][13:], "evidence": quotes}}
others = [{{"type": "UPDATE", "target_id": name, "text": said[0] + name, "evidence": quotes}} for name in names[:1]]
others += [{{"type": "MERGE", "source_ids": names[:2], "merged_text": said[0], "evidence": quotes}}] * (len(names) > 1)
if "bullet_tags" in " ".join(sys.argv):
    answer = {{"analysis": "It went well.", "bullet_tags": tags, "lessons": [lesson]}}
else:
    answer = {{"reasoning": "why not", "operations": [add, *others[: number % 3]]}}
print(json.dumps([{{"type": "result", "subtype": "success", "result": "", "structured_output": answer, "usage":
    {{"input_tokens": number % 5000, "output_tokens": 90}}, "total_cost_usd": 0.01, "modelUsage": {{"fake": {{}}}}}}]))
"""  # Claude Code's part: it answers by its input, so that a different prompt shows


class History:
    """Random steps, the same for the same seed."""

    def __init__(self, seed: int) -> None:
        chance = random.Random(seed)
        self.one, self.number = chance.choice, chance.randint

    def made(self) -> list[Step]:
        """The steps that make a database."""
        steps = [_run("init"), _run("mirror", self.one(("on", "on", "off")))]
        for _ in range(_STEPS):
            steps += self.one((*[self.add] * 8, *[self.session] * 3, *[self.write] * 10))()
        return steps

    def asked(self) -> list[Step]:
        """The steps that both commits take: reading, what usually writes, and reading again."""
        reads = [step for shape in (*_READS, *_READS_OF_USER) for step in self.command(shape)]
        state: list[Step] = [["files"], ["rows"]]
        writes = [step for shapes in _WRITES for step in self.command(self.one(shapes.split(", ")))]
        others = [*self.batch(), *self.notes(), *self.playbook(), *self.by_hand(), *self.session(), _tools(self.name())]
        return [*reads, *state, *self.session(), *writes, *others, *reads[::3], *state]

    def text(self) -> str:
        """A usual text, or an odd one."""
        usual = " ".join(self.one(_WORDS) for _ in range(self.number(3, 12)))
        return self.one((usual, usual, usual, f"rule {self.number(1, 9)} says so", self.one(_ODD)))

    def name(self) -> str:
        """A point's name; mostly there is such a point."""
        return f"{self.one(('', '', '', 'u'))}{self.one(_SECTIONS)}-{self.number(1, 5):03}"

    def add(self) -> list[Step]:
        """A point of the project's, or of the user's own."""
        return [_run(*self.one(((), (), ("--user",))), "add", "--section", self.one(_SECTIONS), "--", self.text())]

    def write(self) -> list[Step]:
        """One of the other ways to change a playbook, or a while in which something becomes old."""
        others = (self.batch, self.notes, self.playbook, self.by_hand)
        wait: list[Step] = [["wait", self.one((60, 3600, 86_400, 40 * 86_400))]]
        return self.one(
            (lambda: wait, *others, *[lambda: self.command(self.one(self.one(_WRITES).split(", ")))] * 12)
        )()

    def command(self, shape: str) -> list[Step]:
        """A command of that *shape*, in which NAME, TEXT, WORD and NUMBER are chosen; as text, as JSON or as both."""
        chosen = {"NAME": self.name, "TEXT": self.text, "WORD": lambda: self.one(_WORDS)}
        chosen["NUMBER"] = lambda: str(self.number(1, 20))
        words = [chosen[word]() if word in chosen else word for word in shape.split() if word != "+"]
        return [_run(*words), *[_run(*words, "--json")] * ("+" in shape)]

    def session(self) -> list[Step]:
        """A session: its start, a prompt, an error, a subagent, its end, and what is learned from it."""
        key, said = f"session-{self.number(10**6, 10**7)}", f"Please know: {self.text()}"
        path = f"home/.claude/projects/p/{key}.jsonl"
        builder = TranscriptBuilder(key)
        builder.user(said)
        builder.assistant(f"I go by [{self.name()}] and [{self.name()}].")
        builder.run("tools/reindex.sh", self.text(), is_error=self.one((True, False)))
        if self.one((True, False)):
            builder.assistant(a_call("WebFetch", url="https://example.com/a"))
            builder.result(f"A page says. {said}")
        events = (
            ("inject", "SessionStart", {"source": self.one(("startup", "resume", "clear", "compact"))}),
            ("remind", "UserPromptSubmit", {"prompt": said}),
            ("remind", "PostToolUseFailure", {"tool_name": "Bash", "error": f"Exit code 1: {self.text()}"}),
            ("remind", "SubagentStart", {"agent_id": "a1", "agent_type": "general-purpose"}),
            ("enqueue", self.one(("SessionEnd", "SessionEnd", "PreCompact")), {"reason": "other"}),
        )
        of = {"session_id": key, "transcript_path": f"PLACE/{path}", "cwd": "PLACE/project"}
        hooks: list[Step] = [["hook", hook, {**of, "hook_event_name": event, **more}] for hook, event, more in events]
        transcript = ["write", path, builder.content().decode("utf-8", "surrogateescape")]
        return [*hooks[:4], transcript, hooks[4], *[_run("work")] * self.one((1, 1, 0))]

    def batch(self) -> list[Step]:
        """A curator's operations."""
        operations = (
            {"type": "ADD", "section": "OTHERS", "text": self.text()},
            {"type": "UPDATE", "target_id": self.name(), "text": self.text()},
            {"type": "MERGE", "source_ids": [self.name(), self.name()], "merged_text": self.text()},
            {"type": "DELETE", "target_id": self.name(), "reason": "old"},
        )
        return [_run("apply", "-", "--json", stdin=json.dumps([self.one(operations), self.one(operations)]))]

    def notes(self) -> list[Step]:
        """Markdown whose bullets become proposals."""
        return [_run("import", "-", "--markdown", stdin=f"# Notes\n\n- {self.text()}\n- {self.text()}\n")]

    def playbook(self) -> list[Step]:
        """A playbook file that comes in."""
        entries = [{"name": self.name(), "text": self.text(), "helpful": at, "more": 1e3} for at in range(3)]
        content = json.dumps({"version": "1.0", "sections": {"OTHERS": entries}})
        return [_run("import", "-", "--rename-duplicates", *self.one(((), (), ("--replace",))), stdin=content)]

    def by_hand(self) -> list[Step]:
        """The mirror, edited in an editor."""
        return [["change", "project/.claude/playbook.json", self.one(_WORDS), self.one(_WORDS)], _run("list")]


def _run(*arguments: str, stdin: str = "", lines: int = 0) -> Step:
    return ["run", list(arguments), stdin, lines]


def _tools(name: str) -> Step:
    """A session of an MCP client that looks around."""
    info = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    calls = {"search": {"question": "what does the cache parser say"}, "why": {"name": name}, "list": {}}
    asked = [("initialize", info), ("tools/list", {}), ("resources/list", {}), ("prompts/list", {})]
    asked += [("tools/call", {"name": tool, "arguments": given}) for tool, given in calls.items()]
    messages = [
        {"jsonrpc": "2.0", "id": at, "method": method, "params": given} for at, (method, given) in enumerate(asked)
    ]
    messages.insert(1, {"jsonrpc": "2.0", "method": "notifications/initialized"})
    return _run("mcp", stdin="".join(json.dumps(each) + "\n" for each in messages), lines=len(asked))


@contextmanager
def _player(root: Path) -> Iterator[Callable[[Path, float, list[Step]], dict[str, Any]]]:
    """What plays steps with the code of *root*."""
    command = [sys.executable, "-P", str(Path(__file__).with_name("player.py")), str(root)]
    variables = {"PYTHONPATH": str(root), "PYTHONHASHSEED": "0", "TZ": "UTC", "PATH": "/usr/bin:/bin"}
    with subprocess.Popen(command, env=variables, stdin=-1, stdout=-1, text=True) as process:
        asked, said = process.stdin, process.stdout
        assert asked
        assert said

        def play(place: Path, now: float, steps: list[Step]) -> dict[str, Any]:
            request = json.dumps({"place": str(place), "now": now, "steps": steps})
            print(request.replace("PLACE", str(place)), file=asked, flush=True)
            return json.loads(said.readline())

        yield play


def _compared(folder: Path, players: dict[Path, Any], seed: int) -> tuple[int, int]:
    """How many answers were compared for one *seed*, and how many differ, which are printed."""
    place, kept, history = folder / "place", folder / "kept", History(seed)
    for path in (kept / "home/.claude", kept / "project/.claude", kept / "bin"):
        path.mkdir(parents=True)
    (kept / "bin/claude").write_text(_CLAUDE.format(python=sys.executable), "utf-8")
    (kept / "bin/claude").chmod(0o755)
    kept.rename(place)
    first = next(iter(players))
    made = players[first](place, _NOW, history.made())
    place.rename(kept)
    steps, answers = history.asked(), []
    for root, play in players.items():
        shutil.copytree(kept, place)
        for settings in place.glob("*/.claude/settings*.json"):  # the hooks are those of the checkout that answers
            settings.write_bytes(settings.read_bytes().replace(bytes(first), bytes(root)))
        answers.append(play(place, made["now"], steps)["answers"])
        shutil.rmtree(place)
    shutil.rmtree(kept)
    differing = [(step, *pair) for step, *pair in zip(steps, *answers, strict=True) if pair[0] != pair[1]]
    for step, old, new in differing:
        diff = [*difflib.unified_diff(old.splitlines(), new.splitlines(), "old", "new", lineterm="", n=1)]
        print(f"seed {seed}: {json.dumps(step)[:200]}", *diff[:_LINES], "", sep="\n")
    done = sum(answer.startswith("exit code 0") for answer in made["answers"])
    print(f"seed {seed}: {done} of {len(made['answers'])} steps done, {len(differing)} differ", file=sys.stderr)
    return len(steps), len(differing)


def main() -> int:
    """Compare, and print what differs."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.same_answers", description=__doc__)
    parser.add_argument("old", help="a commit, as git knows it")
    parser.add_argument("new", nargs="?", help="the other one (default: this checkout as it is)")
    parser.add_argument("--databases", type=int, default=50)
    given = parser.parse_args()
    git = ["git", "-C", str(sandbox.ROOT), "worktree"]
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="playbook-answers-")))
        roots = [folder / "old", folder / "new" if given.new else sandbox.ROOT]
        for root, commit in zip(roots, filter(None, (given.old, given.new)), strict=False):
            subprocess.run([*git, "add", "--quiet", "--detach", str(root), commit], check=True)
            stack.callback(subprocess.run, [*git, "remove", "--force", str(root)], check=True)
        players = {root: stack.enter_context(_player(root)) for root in roots}
        counts = [_compared(folder, players, seed) for seed in range(1, given.databases + 1)]
    answers, differing = map(sum, zip(*counts, strict=True))
    print(f"{answers:,} answers on {given.databases} databases: {differing:,} differ")
    return differing > 0


if __name__ == "__main__":
    sys.exit(main())
