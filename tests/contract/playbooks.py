"""Shared by the tests of the documented functions: playbooks in both layouts, the file, and how
a session's outcome reaches a playbook."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from playbook_db.contract import load_playbook, save_playbook, update_playbook_data
from playbook_db.domain import playbook_file
from playbook_db.services.playbook.edit import apply_batch
from playbook_db.services.playbook.import_export import import_playbook
from playbook_db.services.project import Project, read_playbook
from tests.builders import a_flat_dict, a_sections_dict, an_entry

Layout = Literal["flat", "sections"]
Session = Callable[[list[Any], dict[str, Any]], dict[str, dict[str, Any]]]
Outcome = list[tuple[str, str, str, int, int]]
Carried = Callable[[dict[str, Any]], dict[str, Any]]
Curate = Callable[..., Outcome]

LAYOUTS: tuple[Layout, ...] = ("flat", "sections")
PATTERNS = "PATTERNS & APPROACHES"
MISTAKES = "MISTAKES TO AVOID"
PREFERENCES = "USER PREFERENCES"
CONTEXT = "PROJECT CONTEXT"
OTHERS = "OTHERS"
DATED = {"last_updated": "2026-01-15T10:00:00"}


def a_dict(layout: Layout, *entries: Any, section: str = PATTERNS, **fields: Any) -> dict[str, Any]:
    """A playbook of copies of *entries* in that layout; with sections, all of them in *section*."""
    entries = copy.deepcopy(entries)
    if layout == "flat":
        return a_flat_dict(*entries, **fields)
    return a_sections_dict({section: list(entries)}, **fields)


def entries_of(playbook: dict[str, Any]) -> list[dict[str, Any]]:
    """All entries of a playbook dict of either layout, in its order."""
    if "sections" in playbook:
        return [entry for listed in playbook["sections"].values() for entry in listed]
    return list(playbook["key_points"])


def by_name(playbook: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The entries of a playbook dict of either layout under their names."""
    return {entry["name"]: entry for entry in entries_of(playbook)}


def outcome_of(playbook: dict[str, Any]) -> Outcome:
    """Section, name, text and counters of every point of a sections dict, in order."""
    return [
        (section, entry["name"], entry["text"], entry["helpful"], entry["harmful"])
        for section, listed in playbook["sections"].items()
        for entry in listed
    ]


def file_in(folder: Path) -> Path:
    """The project's playbook file."""
    return folder / ".claude" / "playbook.json"


def write_file(folder: Path, content: object) -> Path:
    """Let the project's playbook file hold *content*: a dict, or the text itself."""
    path = file_in(folder)
    path.write_text(content if isinstance(content, str) else json.dumps(content, indent=2), encoding="utf-8")
    return path


def read_file(folder: Path) -> dict[str, Any]:
    """What the project's playbook file holds."""
    found: dict[str, Any] = json.loads(file_in(folder).read_text(encoding="utf-8"))
    return found


def after_a_session(folder: Path, playbook: dict[str, Any], result: dict[str, Any]) -> dict[str, Any]:
    """*playbook* as it is loaded again, after a program took it from the file through a session with that result."""
    write_file(folder, playbook)
    save_playbook(update_playbook_data(load_playbook(), result))
    return load_playbook()


def after_a_batch(project: Project, playbook: dict[str, Any], operations: list[Any]) -> Outcome:
    """What *playbook* is after it was imported into the database and a curator's batch was applied there."""
    import_playbook(project, playbook_file.decode(json.dumps(playbook), source="a test"), source="a test")
    apply_batch(project, operations, origin="a test")
    return [(p.section, p.name, p.text, p.helpful, p.harmful) for p in read_playbook(project).points]


def helpful(*names: str) -> dict[str, Any]:
    """The result of a session that found these points helpful."""
    return {"evaluations": [{"name": name, "rating": "helpful"} for name in names]}


def an_addition(text: str, section: str = PATTERNS) -> dict[str, Any]:
    """The result of a session that taught that text."""
    return {"new_key_points": [{"text": text, "section": section}]}


def texts_of(playbook: dict[str, Any]) -> list[str]:
    """The texts of a playbook dict, in its order."""
    return [entry["text"] for entry in entries_of(playbook)]


def save(*results: dict[str, Any]) -> dict[str, Any]:
    """Load the playbook, take it through sessions with these results, save it; it comes back."""
    playbook = load_playbook()
    for result in results:
        playbook = update_playbook_data(playbook, result)
    save_playbook(playbook)
    return playbook


def by_json(playbook: dict[str, Any]) -> dict[str, Any]:
    """*playbook* as a program has it that kept it as JSON in between."""
    made: dict[str, Any] = json.loads(json.dumps(playbook))
    return made


def diagnostics_in(folder: Path) -> dict[str, str]:
    """The project's diagnostic files: name without the time, and content."""
    kept = folder / ".claude" / "diagnostic"
    found = sorted(kept.iterdir()) if kept.exists() else []
    return {path.name.partition("_")[2]: path.read_text(encoding="utf-8") for path in found}


def a_stocked_playbook() -> dict[str, Any]:
    """Points in three sections, with votes that no two of them share."""
    return a_sections_dict(
        {
            PATTERNS: [an_entry("pat-001", "use types", 3, 1), an_entry("pat-003", "return types too", 5, 0)],
            MISTAKES: [an_entry("mis-002", "no globals", 1, 2)],
            OTHERS: [an_entry("kpt_001", "older advice", 8, 4)],
        }
    )


STOCK = outcome_of(a_stocked_playbook())


def without(*names: str) -> Outcome:
    """The stocked playbook without the points of these names."""
    return [point for point in STOCK if point[1] not in names]
