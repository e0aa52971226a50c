"""The linter of prose notices each fault, in each kind of text, and leaves right sentences alone."""

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
def test_each_rule_notices_what_breaks_it(rule: str) -> None:
    """And nothing else is wrong with that text."""
    faults = list(prose.in_markdown(f"# A page\n\nA sentence. {BROKEN[rule]}\n"))

    assert [fault for fault in faults if rule not in fault and "characters in a line" not in fault] == []
    assert any(rule in fault for fault in faults)


def test_every_rule_has_a_broken_example() -> None:
    assert prose.RULES.keys() <= BROKEN.keys()


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
def test_other_forms_are_noticed_too(sentence: str) -> None:
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
def test_places_code_and_tables_are_left_alone(page: str) -> None:
    """What is no condition, no prose, or no single sentence."""
    assert [fault for fault in prose.in_markdown(page) if "characters" not in fault] == []


def test_the_list_of_what_is_not_clean_names_texts_that_are_there() -> None:
    """An entry that is short by mistake would match everything."""
    kinds = [f"{kind} of " for kind in ("help", "docstrings", "errors")]

    for entry in prose.NOT_YET:
        assert any(entry.startswith(kind) for kind in kinds) or (prose.ROOT / entry).exists()


def test_the_texts_of_a_module_are_read_by_kind() -> None:
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


def test_what_is_listed_as_not_clean_is_passed_over_unless_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """So that `make lint` is green, and whoever cleans a page sees what is left."""
    (tmp_path / "page.md").write_text("His page.\n", encoding="utf-8")
    monkeypatch.setattr(prose, "ROOT", tmp_path)
    monkeypatch.setattr(prose, "tracked_files", lambda: ["page.md"])

    assert prose.main([]) == 1
    monkeypatch.setattr(prose, "NOT_YET", ("page.md", "other.md"))
    assert prose.main([]) == 0
    assert prose.main(["page.md"]) == 1
    assert "other.md is clean: remove it" in capsys.readouterr().out
