"""Deciding how far to trust a shell command's output. It is from a test or build, from a project's file, or fetched.

A command line has the class of its least trusted command. If the line can't be parsed reliably, as with substitutions,
here-documents or loops, its class is "fetched". An extra proposal is better than a web page that passes for a test.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import dropwhile, takewhile
from posixpath import basename, join

from playbook_db.claude_code.transcripts.project_files import ProjectFiles
from playbook_db.domain.trust.evidence import FETCHED, FILES, TESTS, TRUST

# Programs that test, check, compile or build a project; with `program:word`, only if that word is the first operand.
_TEST_COMMANDS = """
pytest py.test unittest tox nox ruff flake8 pylint pyflakes pycodestyle black isort mypy pyright basedpyright ty
lint-imports bandit doctest py_compile compileall sphinx-build coverage:report hatch:test pdm:test rye:test
pre-commit:run mkdocs:build manage.py:test manage.py:check setup.py:test setup.py:build
tsc vue-tsc svelte-check eslint prettier biome oxlint stylelint jest vitest mocha ava karma playwright:test cypress:run
vite:build next:build next:lint ng:test ng:build ng:lint turbo:test turbo:build turbo:lint nx:test nx:build nx:lint
webpack rollup esbuild deno:test deno:check deno:lint bun:test npm:test npm:t pnpm:test pnpm:t pnpm:build pnpm:lint
yarn:test yarn:build yarn:lint
cargo:test cargo:build cargo:check cargo:clippy cargo:nextest cargo:fmt cargo:bench rustc go:test go:vet go:build gofmt
golangci-lint staticcheck gotestsum javac kotlinc ktlint detekt scalac
cmake ctest ninja meson:test meson:compile gcc g++ cc c++ clang clang++ clang-tidy cppcheck
bazel:test bazel:build bazelisk:test bazelisk:build buck2:test buck2:build just:test just:build just:lint just:check
dotnet:test dotnet:build dotnet:format msbuild rspec rubocop rake:test rake:spec rails:test phpunit phpstan psalm phpcs
pest composer:test composer:lint composer:stan swift:test swift:build swiftlint xcodebuild mix:test mix:compile
mix:credo mix:dialyzer mix:format rebar3:eunit stack:test stack:build cabal:test cabal:build hlint dune:test dune:build
zig:test zig:build flutter:test flutter:analyze dart:test dart:analyze shellcheck shfmt hadolint yamllint actionlint
markdownlint tflint terraform:validate terraform:fmt bats busted luacheck vale codespell proselint commitlint buf:lint
buf:breaking molecule:test ansible-lint dbt:test dbt:build dbt:compile helm:lint kubeconform latexmk
"""
_TESTS = frozenset(tuple(entry.split(":")) for entry in _TEST_COMMANDS.split())
_SHELLS = ("bash", "sh", "zsh")
_TEST_SCRIPT = re.compile(
    r"^(?:run[_-])?(?:unit[_-]?)?tests?(?:[_-].*)?(?:\.(?:sh|bash|py))?$|[_-]tests?\.(?:sh|bash|py)$"
)
_SCRIPT_RUNNERS = ("npm", "pnpm", "yarn", "bun", "turbo")  # `run` and a script, whose name must be a _SCRIPT
_MAKE = ("make", "gmake")  # and a target, whose name must be a _SCRIPT; without one it builds
_GOAL_RUNNERS = {"mvn": "mvn", "mvnw": "mvn", "gradle": "gradle", "gradlew": "gradle", "sbt": "sbt", "ant": "ant"}
_TASK = re.compile(
    r"(?:test|unit|e2e|build|compile|assemble|package|install|verify|lint|check|type-?check|tsc|clean|ci$)",
    re.IGNORECASE,
)
_SCRIPT = re.compile(
    r"(?:(?:unit|integration|e2e|smoke|ci|run|lint|check|type|static|fast|all)[-_:.]?)*"
    r"(?:tests?|unit|e2e|spec|lint|check|build|compile|all|ci|verify|docs?|html|tsc|(?:type-?)?check|types|typing|mypy|ruff|eslint"
    r"|clippy|vet)(?:[-_:.][\w-]+)?$",
    re.IGNORECASE,
)

# Programs that print files, or only pass on what they get through a pipe.
_READERS = """
cat head tail less more nl bat sed awk grep egrep fgrep rg ls tree find fd wc stat file jq diff cmp sort uniq cut tr
column tee du
"""
_READER_NAMES = frozenset(_READERS.split())
_PATTERN_FIRST = ("sed", "awk", "grep", "egrep", "fgrep", "rg", "jq", "fd", "tr")  # the first word is no path
_PATTERN_OPTIONS = ("-e", "-f", "-d", "--regexp", "--expression", "--file")  # the pattern comes after one of these
_LINKS = ("-L", "-H", "-P")
_NAMING = ("ls", "find", "fd", "tree", "wc", "stat", "file", "du")  # they print names of files, no content
_GIT_STATE = ("status", "ls-files", "branch", "rev-parse", "describe")
_GIT_HISTORY = ("log", "show", "blame")  # the branch's own, if no other revision is named
_OWN_REVISION = re.compile(r"(?:HEAD|@)(?:[~^][\d~^]*)?(?:\.{2,3}(?:HEAD|@))?$")
_DANGEROUS = {  # words with which a reader can start another program or show other files
    "find": re.compile(r"^-(?:exec|ok|delete|fprint|fls)"), "fd": re.compile(r"^-[xX]|^--exec"),
    "rg": re.compile(r"^--(?:pre|hostname)"), "awk": re.compile(r"system|getline|\|"),
    "sed": re.compile(r"(?:^|[;{0-9$/])\s*(?:e\b|[rR]\s*[/~.])|/[gI0-9]*e[gI0-9]*$"), "sort": re.compile("^--comp"),
    "git": re.compile(r"^-c$|^--(?:ext-diff|textconv|no-index|open-files|all|branches|remotes|tags|glob|reflog)|^-O"),
}  # fmt: skip
_SILENT_NAMES = """
cd pushd popd export unset set true false : sleep mkdir touch test [ clear pwd date
"""
_SILENT = frozenset(_SILENT_NAMES.split())
_ECHO = ("echo", "printf")

_WRAPPER_NAMES = """
env time timeout nice nohup command stdbuf unbuffer xvfb-run npx bunx uvx pnpx
"""
_WRAPPERS = frozenset(_WRAPPER_NAMES.split())
_STARTERS = """
uv:run poetry:run pipenv:run pdm:run hatch:run rye:run bundle:exec pnpm:exec npm:exec yarn:exec pnpm:dlx yarn:dlx bun:x
coverage:run composer:exec mise:exec
"""
_RUNNERS = frozenset(tuple(entry.split(":")) for entry in _STARTERS.split())
_OPTIONS = """
--extra --group --python -p --with --package --project --directory -C --prefix -w --workspace -F --filter -pl
--manifest-path --rootdir --cwd --dir -X -W --env-file --console --tests -f -n -k -s -u
"""
_VALUED = frozenset(_OPTIONS.split())  # options whose value is the next word
_FOLDERS = ("-C", "--prefix", "--manifest-path", "--rootdir", "--directory", "--project", "--cwd", "--dir", "-f")
_PYTHON = re.compile(r"(?:python|pypy)[0-9.]*|py")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_NUMBER = re.compile(r"\d+(?:\.\d+)?[smhd]?")
_BRACES = re.compile(r"\{[^}]*(?:/|\.\.)")
_SEPARATORS = (";", "&&", "||", "|", "|&", "&", "(", ")", "\n")
_WORD_BEGINS = r"(?<![^\s;|&()<>])(?<!\\[\s;|&()<>])"  # after a blank or an operator; if it is escaped, a word goes on
# A piece of a command line. None matches a substitution, a here-document, or a quotation that isn't closed.
_PIECE = re.compile(
    rf"""(?!`|\$[('"]|\d*<[<(]|>\()(?:
    (?P<operator>(?:{_WORD_BEGINS}\d+)?(?:>>|>&|<&|>\||>|<)|&>>?|\|\||&&|\|&|[;|&()\n])
    |(?P<ignored>[ \t\r]+|{_WORD_BEGINS}\#[^\n]*)
    |'(?P<single>[^']*)'|"(?P<double>(?:[^"\\`$]|\\.|\$(?!\())*)"|\\(?P<escaped>.?)|(?P<plain>[^'"\\])
    )""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPED = re.compile(r'\\(["\\$`])')
_SYSTEM_FOLDERS = ("/usr/", "/bin/", "/opt/", "~/")


class UnreadableCommandError(ValueError):
    """A command line can't be parsed reliably."""


@dataclass(slots=True)
class ShellCommand:
    """One command of a line: its `words` without redirections, and the files that it `reads` by `<`. If it `is_piped`,
    it reads the output of the previous command."""

    words: list[str] = field(default_factory=list)
    reads: list[str] = field(default_factory=list)
    is_piped: bool = False


@dataclass(frozen=True, slots=True)
class _Here:
    """The place where commands run: a `folder`, and the `files` of its project."""

    files: ProjectFiles
    folder: str

    def holds(self, path: str) -> bool:
        is_plain = not path.startswith("~") and "$" not in path and not _BRACES.search(path)
        return is_plain and self.files.holds(path, self.folder)

    def shows(self, path: str) -> bool:
        return self.holds(path) and self.files.shows(path, self.folder)

    def is_test(self, words: Sequence[str]) -> bool:
        """Return whether *words* begin with one of the user's test commands."""
        plain = [word.removeprefix("./") for word in words]
        tests = ([word.removeprefix("./") for word in test.split()] for test in self.files.commands)
        return any(plain[: len(test)] == test for test in tests)

    def has(self, program: str) -> bool:
        """Return whether *program* has no folder, or is in one of the system's folders or in the project."""
        usual = "/" not in program or program.startswith(_SYSTEM_FOLDERS)
        return usual or self.files.contains(program, self.folder)


def trust_of_output(line: str, files: ProjectFiles, folder: str) -> str:
    """Return the class of the output of the command *line*. It ran in *folder*, and the project has *files*. Return
    `""` if the command only printed its own words or our own playbook."""
    here = _Here(files, folder)
    if not here.holds("."):
        return FETCHED
    try:
        commands = list(read_commands(line))
    except UnreadableCommandError:
        return FETCHED
    classes: list[str] = []
    for command in commands:
        words = _program(command.words, here)
        if words[:1] in (["cd"], ["pushd"]):
            target = words[1] if len(words) > 1 else "~"
            if not here.holds(target) or target.startswith("-"):
                return FETCHED
            here = replace(here, folder=join(here.folder, target))
        elif trust := _trust(words, command, here):
            classes.append(trust)
    return max(classes, key=TRUST.index, default="")


def constants(line: str) -> set[str]:
    """Return the texts of the command *line* that its output may repeat: arguments of echo, and words with spaces."""
    try:
        commands = list(read_commands(line))
    except UnreadableCommandError:
        return set()
    texts = {word.strip() for command in commands for word in command.words if " " in word.strip()}
    return texts | {
        " ".join(word for word in command.words[1:] if not word.startswith("-"))
        for command in commands
        if command.words and command.words[0] in _ECHO
    } - {""}


def read_commands(line: str) -> Iterator[ShellCommand]:
    """Split a shell's *line* into its commands, in order. Raises UnreadableCommandError for substitutions,
    here-documents and open quotations."""
    command, target = ShellCommand(), ""
    for is_operator, text in _tokens(line):
        if not is_operator:
            if target:
                command.reads += [text] if target == "<" else []
                target = ""
            else:
                command.words.append(text)
        elif text in _SEPARATORS:
            if command.words or command.reads:
                yield command
            command = ShellCommand(is_piped=text in ("|", "|&"))
        else:
            target = text.lstrip("0123456789")
    if command.words or command.reads:
        yield command


def _tokens(line: str) -> Iterator[tuple[bool, str]]:
    """Split *line* into operators (True) and words (False), without quotes and comments."""
    at, word = 0, None
    line = line.replace("\\\n", "")
    while at < len(line):
        piece = _PIECE.match(line, at)
        if piece is None:
            raise UnreadableCommandError(line)
        at, kind = piece.end(), str(piece.lastgroup)
        if kind in ("operator", "ignored"):
            if word is not None:
                yield False, word
            word = None
            if kind == "operator":
                yield True, piece[0]
        else:
            word = (word or "") + (_ESCAPED.sub(r"\1", piece[kind]) if kind == "double" else piece[kind])
    if word is not None:
        yield False, word


def _program(words: list[str], here: _Here) -> list[str]:
    """Return *words* without leading assignments and programs that only start another program, such as `env`."""
    while words:
        if here.is_test(words):
            return words
        if _ASSIGNMENT.match(words[0]):
            words = words[1:]
        elif words[0] in _WRAPPERS:
            words = _after_options(words[1:], here, numbers=True)
        elif (words[0], *(rest := _after_options(words[1:], here))[:1]) in _RUNNERS:  # as `pnpm --filter api exec`
            words = _after_options(rest[1:], here)
        elif _PYTHON.fullmatch(basename(words[0])) and here.has(words[0]):
            inner = _after_options(words[1:], here, until="-m")
            if inner[:1] == ["-m"]:
                words = inner[1:]
            else:
                return inner if inner and basename(inner[0]) in ("manage.py", "setup.py") else words
        else:
            return words
    return words


def _after_options(words: list[str], here: _Here, *, numbers: bool = False, until: str = "") -> list[str]:
    """Return *words* without leading options. Return `?` if an option names a folder outside the project."""
    while words and words[0] != until:
        name, _, value = words[0].partition("=")
        if name == "--":
            return words[1:]
        if not (name.startswith("-") or _ASSIGNMENT.match(words[0]) or (numbers and _NUMBER.fullmatch(name))):
            break
        is_apart = name in _VALUED and not value
        value = "".join(words[1:2]) if is_apart else value
        if name in ("--from", "--chdir", "-c") or (name in _FOLDERS and not here.holds(value)):
            return ["?"]
        words = words[2 if is_apart else 1 :]
    return words


def _trust(words: list[str], command: ShellCommand, here: _Here) -> str | None:
    """Return the class of a command's output, or None if the output has no class of its own."""
    if not all(map(here.shows, command.reads)):
        return FETCHED
    if not words:  # assignments
        return None
    if here.is_test(words):
        return TESTS
    program = basename(words[0])
    script = next((word for word in words[1:] if not word.startswith("-")), "") if program in _SHELLS else words[0]
    if "/" in script and _TEST_SCRIPT.search(basename(script)) and here.holds(script):
        return TESTS
    if not here.has(words[0]):
        return FETCHED
    if _is_test(program, words[1:]):
        return TESTS if _stays_inside(words[1:], here) else FETCHED
    if "/" in words[0]:
        return FETCHED
    if program in _ECHO:
        return FETCHED if any("$" in word and word not in ("$?",) and "$?" not in word for word in words) else None
    if program in _SILENT or program == "playbook":
        return None
    if program == "git":
        return _trust_git(words[1:], here)
    return _trust_reader(program, words[1:], command, here) if program in _READER_NAMES else FETCHED


def _is_test(program: str, rest: list[str]) -> bool:
    operands, at = [], 0
    while at < len(rest):  # without options and their values
        if rest[at].startswith(("-", "+")):
            at += 2 if rest[at] in _VALUED else 1
        else:
            operands.append(rest[at])
            at += 1
    if (program,) in _TESTS or (program, *operands[:1]) in _TESTS or (program, *rest[:1]) == ("node", "--test"):
        return True
    if program in _GOAL_RUNNERS:
        return bool(operands) and all(_TASK.match(goal.rpartition(":")[2]) for goal in operands)
    if program in _SCRIPT_RUNNERS and len(operands) > 1 and operands[0] in ("run", "run-script"):
        return _SCRIPT.match(operands[1]) is not None
    return program in _MAKE and all(_ASSIGNMENT.match(word) or _SCRIPT.match(word) for word in operands)


def _stays_inside(rest: Sequence[str], here: _Here) -> bool:
    """Return whether all paths in the words of a test command are inside the project."""
    for before, word in zip(["", *rest], rest, strict=False):
        name, _, value = word.partition("=")
        path = value if name in _FOLDERS else word
        is_value = before.startswith("-") and before not in _FOLDERS
        is_target = path.startswith("//") and "://" not in path  # bazel's
        if "://" in path or (path.startswith(("/", "~", "../")) and not (is_value or is_target or here.holds(path))):
            return False
    return True


def _trust_git(rest: list[str], here: _Here) -> str | None:
    while rest[:1] in (["-C"], ["--no-pager"], ["-P"]):
        if rest[0] == "-C" and not (len(rest) > 1 and here.holds(rest[1])):
            return FETCHED
        rest = rest[2 if rest[0] == "-C" else 1 :]
    if not rest or any(_DANGEROUS["git"].search(word) for word in rest):
        return FETCHED
    name, *words = rest
    revisions = [*takewhile(lambda word: word != "--", words)]
    is_own = all(word.startswith("-") or _OWN_REVISION.match(word) or here.holds(word) for word in revisions)
    if name == "diff" and is_own:  # the assistant's changes
        return None
    is_history = name in _GIT_HISTORY and is_own and not here.files.has_new_commits
    return FILES if is_history or name in _GIT_STATE else FETCHED


def _trust_reader(program: str, rest: list[str], command: ShellCommand, here: _Here) -> str | None:
    """Return the class of the output of *program*, which prints files, or None if it only prints its piped input."""
    if program in _DANGEROUS and any(_DANGEROUS[program].search(word) for word in rest):
        return FETCHED
    values = [word.partition("=")[2] for word in rest if word.startswith("-")]
    if program == "find":  # its paths come first, then the conditions
        rest = [*takewhile(lambda word: not word.startswith(("-", "(", "!")), dropwhile(_LINKS.__contains__, rest))]
    options = _PATTERN_OPTIONS if program in (*_PATTERN_FIRST, "cut") else ()
    operands = [  # a word that isn't a path counts as a file in the folder, which does no harm
        word
        for before, word in zip(["", *rest], rest, strict=False)
        if (not word.startswith("-") or word == "-") and not _NUMBER.fullmatch(word) and before not in options
    ]
    if program in _PATTERN_FIRST and not any(word.startswith(options) for word in rest):
        operands = operands[1:]
    paths = [word for word in operands if word not in ("-", "/dev/null")]
    if program == "tee" and not command.is_piped:
        return FETCHED
    if program == "tee" or (not paths and command.is_piped and not command.reads):
        return None
    shown = here.holds if program in _NAMING else here.shows
    return FILES if all(map(shown, paths or ["."])) and all(map(here.holds, filter(None, values))) else FETCHED
