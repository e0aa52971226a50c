"""The linter of prose finds each fault in each kind of text, and nothing else."""

import subprocess
from pathlib import Path

import pytest

from tests import prose

BROKEN = {
    "words in a sentence": "This " + "very " * 30 + "long sentence has more than thirty words.",
    "characters in a line": "All of this line " + "could be wrapped " * 5 + "but was not wrapped.",
    "`where` for `if`": "Where it fails, run the command again.",
    "an image of our own": "The project takes back the change.",
    "British": "The colour of a badge.",
    "he, she": "The user opens his editor.",
}


@pytest.mark.parametrize("rule", BROKEN)
def test_each_rule_finds_its_fault(rule: str) -> None:
    faults = list(prose.in_markdown(f"# A page\n\nA sentence. {BROKEN[rule]}\n"))

    assert [fault for fault in faults if rule not in fault and "characters in a line" not in fault] == []
    assert any(rule in fault for fault in faults)


@pytest.mark.parametrize(
    "sentence",
    [
        "A file is made where there is none.",
        "It fails where no database answers, which is rare.",
        "The point was taken back yesterday.",
        "Both files are kept in step.",
        "It was taken in.",
        "The rule that rests on votes.",
        "The neighbouring point.",
        "A well organised list.",
    ],
)
def test_other_forms_are_found(sentence: str) -> None:
    assert list(prose.faults(sentence))


@pytest.mark.parametrize(
    "page",
    [
        "Say where the file is, and where it comes from.",
        "It was taken in 2026. Take one in ten.",
        "Run `playbook undo --colour where it stands his` to see it.",
        "```sh\nwhere it fails, he stands in step\n```",
        "---\ndescription: his colour\n---\nA page.",
        f"See [{'a page with a long address ' * 3}](https://example.org/{'x' * 60}/colour).".replace(") ", ")\n"),
        "| a | b |\n| --- | --- |\n"
        + "| twenty words of a table in one cell | and as many in the next one of it |\n" * 3,
        "- one item without an end\n- another\n" * 9,
    ],
)
def test_places_code_and_tables_are_ignored(page: str) -> None:
    assert [fault for fault in prose.in_markdown(page) if "characters" not in fault] == []


@pytest.mark.parametrize(
    "text",
    [
        "What a session is told.",
        "The file is made anew.",
        "A database is made.",
        "Here are " + "many " * 24 + "words.",
    ],
)
def test_docstrings_and_comments_are_read(text: str) -> None:
    assert list(prose.in_tests(f'def test_it():\n    """First.\n\n    {text}\n    """\n'))
    assert list(prose.in_tests(f"x = 1\n# {text[:-9]}\n# {text[-9:]}\n"))
    assert not list(prose.in_tests(f'x = "{text}"\n'))


def test_texts_of_a_module_have_a_kind() -> None:
    """All of a command's docstring is its help; of others the first paragraph counts."""
    source = (
        '"""His module."""\n'
        "@cli.command()\n"
        '@click.option("--new", help="His option.")\n'
        "def init():\n"
        '    """Create a project.\n\n    His project.\n\n    \\b\n    his example\n    """\n'
        '    raise InitError(f"His {name}." + " Run it again.")\n'
        "def other():\n"
        '    """First line.\n\n    His details.\n    """\n'
    )

    assert sorted(kind for kind, _ in prose.in_python(source)) == ["docstrings", "errors", "help", "help"]


@pytest.mark.slow
def test_tests_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_it.py").write_text('"""His file."""\n', encoding="utf-8")
    subprocess.run("git init -q . && git add .", shell=True, cwd=tmp_path, check=True)  # noqa: S602
    monkeypatch.setattr(prose, "ROOT", tmp_path)

    assert prose.main([]) == 1
    assert prose.main(["tests"]) == 1
