"""What is released: a wheel and an sdist that hold what they need, and do the main job in empty environments."""

import json
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from email import message_from_string
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.metadata import Metadata
from packaging.requirements import Requirement
from trove_classifiers import classifiers

import playbook_db
from playbook_db import files
from playbook_db.errors import PlaybookError
from playbook_db.services.reading.sql import read_docs
from tests.builders import a_flat_dict

pytestmark = [pytest.mark.nightly, pytest.mark.slow]  # starts processes

_ROOT = Path(__file__).parent.parent
_VERSION = playbook_db.__version__

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist of this checkout, and the wheel that was built from that."""
    target = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(target), str(_ROOT)]
    subprocess.run(build, check=True, capture_output=True)
    return target


@pytest.fixture(scope="module")
def wheel(released: Path) -> Path:
    return released / f"playbook_db-{_VERSION}-py3-none-any.whl"


@pytest.fixture(scope="module")
def environments(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Gives an environment with the wheel, one extra (`""` is none), and links to the packages that they require."""
    made: dict[str, Path] = {}

    def environment(extra: str) -> Path:
        if extra not in made:
            made[extra] = tmp_path_factory.mktemp("environment") / "env"
            subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(made[extra])], check=True)
            pip = [sys.executable, "-m", "pip", "--python", str(made[extra] / "bin" / "python")]
            subprocess.run([*pip, "install", "--no-deps", "--no-index", str(wheel)], check=True)
            _lend(_site(made[extra]), extra)
        return made[extra]

    return environment


@pytest.fixture
def run(environments: Callable[[str], Path], tmp_path: Path) -> Run:
    """Runs the installed command `playbook` in an empty project."""
    (tmp_path / "project").mkdir()
    settings = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONSAFEPATH": "1"}

    def playbook(*arguments: str) -> "subprocess.CompletedProcess[str]":
        command = [str(environments("") / "bin" / "playbook"), *arguments]
        return subprocess.run(
            command,
            cwd=tmp_path / "project",
            env=settings,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=300,
        )

    return playbook


def _site(environment: Path) -> Path:
    return next((environment / "lib").glob("python3*/site-packages"))


def _lend(site: Path, extra: str) -> None:
    for name in _needed("playbook-db", extra):
        tops = {file.parts[0] for file in distribution(name).files or () if not file.parts[0].startswith((".", "__"))}
        for top in tops:
            there = Path(str(distribution(name).locate_file(top)))
            if there.exists() and not (site / top).exists():
                (site / top).symlink_to(there)


def _needed(package: str, *extras: str) -> set[str]:
    """The packages that *package* with its *extras* needs, directly or not."""
    waiting, seen = [(package, tuple(extras))], {(package, tuple(extras))}
    while waiting:
        name, wanted = waiting.pop()
        for line in distribution(name).requires or ():
            requirement = Requirement(line)
            marker = requirement.marker
            if marker is None or any(marker.evaluate({"extra": each}) for each in wanted or ("",)):
                each = (requirement.name, tuple(sorted(requirement.extras)))
                waiting += [each] if each not in seen else []
                seen.add(each)
    return {name for name, _ in seen} - {package}


def test_versions_are_equal_everywhere() -> None:
    """The changelog starts with it and the day of the release."""
    plugin = json.loads((_ROOT / ".claude-plugin" / "plugin.json").read_text(encoding="utf-8"))
    head = re.search(r"^## (.*)", (_ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)

    assert plugin["version"] == _VERSION
    assert head is not None
    assert re.fullmatch(rf"{re.escape(_VERSION)} \((\d{{4}}-\d\d-\d\d|unreleased)\)", head[1])


def test_index_can_read_the_metadata(released: Path, wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        text = archive.read(f"playbook_db-{_VERSION}.dist-info/METADATA").decode("utf-8")
    with tarfile.open(released / f"playbook_db-{_VERSION}.tar.gz") as archive:
        inside = archive.extractfile(f"playbook_db-{_VERSION}/PKG-INFO")
        assert inside is not None
        assert inside.read().decode("utf-8") == text
    metadata = Metadata.from_email(text, validate=True)

    assert (str(metadata.version), metadata.license_expression) == (_VERSION, "MIT")
    assert metadata.description_content_type == "text/markdown"
    assert message_from_string(text).get_payload() == (_ROOT / "README.md").read_text(encoding="utf-8")
    assert set(metadata.classifiers or ()) <= classifiers


@pytest.mark.smoke
def test_sdist_has_all_for_the_wheel_and_no_tests(released: Path) -> None:
    with tarfile.open(released / f"playbook_db-{_VERSION}.tar.gz") as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}

    assert {"CHANGELOG.md", "LICENSE", "README.md", "hooks/start", "migrations/env.py", "pyproject.toml"} <= names
    assert not any(name.startswith(("tests/", "benchmarks/", "evals/", ".venv")) for name in names)


def test_wheel_has_all_files_for_run_time(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    package = [path for path in (_ROOT / "playbook_db").rglob("*") if path.is_file() and path.suffix != ".pyc"]

    assert {str(path.relative_to(_ROOT)) for path in package} <= names
    assert {f"playbook_db/_hooks/{path.name}" for path in (_ROOT / "hooks").iterdir() if path.is_file()} <= names
    migrations = {path.name for path in (_ROOT / "migrations" / "versions").glob("*.py")}
    assert {f"playbook_db/_migrations/versions/{name}" for name in migrations} <= names
    assert "playbook_db/_migrations/env.py" in names
    assert "playbook_db/_docs/sql.md" in names
    assert not any(name.startswith(("tests/", "benchmarks/")) or name.endswith(".pyc") for name in names)


@pytest.mark.smoke
def test_installed_wheel_works(run: Run, tmp_path: Path, environments: Callable[[str], Path]) -> None:
    """It has only its declared requirements."""

    def playbook(*arguments: str) -> str:
        done = run(*arguments)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    (tmp_path / "project" / "old.json").write_text(json.dumps(a_flat_dict("use type hints"), indent=2) + "\n")
    assert playbook("--version") == f"playbook, version {_VERSION}\n"
    described = json.loads(playbook("db", "metadata", "--db", "x.db"))["databases"]["x"]
    assert (len(described["queries"]), "live_key_points" in described["tables"]) == (15, True)
    playbook("init")
    assert "1 added" in playbook("import", "old.json")
    playbook("add", "boats float")
    assert "boats float" in playbook("list")
    assert "[kpt_001] helpful=0 harmful=0 :: use type hints" in playbook("render")
    assert json.loads(playbook("export"))["sections"]["OTHERS"][0]["name"] == "kpt_001"
    assert playbook("mcp") == ""  # the client is gone at once
    playbook("install")
    hooks = (tmp_path / ".claude" / "settings.json").read_text(encoding="utf-8")
    assert str(_site(environments("")) / "playbook_db" / "_hooks" / "inject.py") in hooks


@pytest.mark.parametrize(
    ("extra", "arguments"),
    [("web", ["web", "--no-open"]), ("postgres", ["--db", "postgresql://127.0.0.1:1/none", "list"])],
)
def test_missing_extra_is_named_in_one_line(run: Run, extra: str, arguments: Sequence[str]) -> None:
    done = run(*arguments)

    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert f"'.[{extra}]' in a checkout" in done.stderr


def test_wheel_serves_the_pages(environments: Callable[[str], Path], tmp_path: Path) -> None:
    """The extra `web` has all that they need."""
    with _serving(environments("web"), tmp_path) as address:
        pages = subprocess.run(
            [sys.executable, "-c", _ASK, address], capture_output=True, text=True, check=True, timeout=300
        ).stdout

    assert "<title>" in pages
    assert [int(length) > 500 for length in re.findall(r"^(\d+) static/", pages, re.MULTILINE)] == [True, True]


def test_packaged_documentation_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder `docs` next to an installed package belongs to another package."""
    package = tmp_path / "site-packages" / "playbook_db"
    monkeypatch.setattr(files, "_PACKAGE", str(package))
    with pytest.raises(PlaybookError, match=r"lacks docs/sql\.md"):
        read_docs()

    for folder, text in ((package.parent / "docs", "another's"), (package / "_docs", "ours")):
        folder.mkdir(parents=True)
        (folder / "sql.md").write_text(text)
    assert read_docs() == "ours"


_ASK = """
import sys, urllib.parse, urllib.request
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPCookieProcessor())
page = opener.open(sys.argv[1])
print(page.read().decode())
for path in ("static/style.css", "static/page.js"):
    print(len(opener.open(urllib.parse.urljoin(page.geturl(), path)).read()), path)
"""


@contextmanager
def _serving(environment: Path, home: Path) -> Iterator[str]:
    """The address that `playbook web` prints."""
    command = [str(environment / "bin" / "playbook"), "--project", str(home), "web", "--no-open"]
    settings = {"PATH": os.environ["PATH"], "HOME": str(home), "PYTHONSAFEPATH": "1", "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, cwd=home, env=settings, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.terminate()
