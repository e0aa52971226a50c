"""Reading the lines of a playbook in a prompt: `[str-00001] helpful=5 harmful=0 :: text`. ACE keeps such files."""

import re
from dataclasses import replace

from playbook_db.domain import playbook_file
from playbook_db.domain.playbook import Header
from playbook_db.domain.playbook_file import Reading
from playbook_db.domain.sections import OTHERS
from playbook_db.services.playbook import markdown

_LINE = re.compile(r"\s*(?:[-*]\s+)?\[([^\]\s]+)\] helpful=(\d{1,15}) harmful=(\d{1,15}) :: *(.*\S)\s*")


def read(data: bytes, *, source: str, rename_duplicates: bool) -> Reading | None:
    """Return the playbook in *data*, or None if most of its lines aren't points. Headings decide the sections. A line
    that is no point gives a warning. Raises PlaybookFileError for a name that is used twice."""
    if b"] helpful=" not in data:
        return None
    heading, others = "", []
    sections: dict[str, list[dict[str, object]]] = {}
    for number, line in enumerate(data.decode("utf-8-sig", "replace").splitlines(), 1):
        if match := _LINE.fullmatch(line):
            name, helpful, harmful, text = match.groups()
            entry = {"name": name, "text": text, "helpful": int(helpful), "harmful": int(harmful)}
            sections.setdefault(markdown.section_of([heading], text, OTHERS), []).append(entry)
        elif line.startswith("#"):
            heading = line.strip("# ")
        elif line.strip():
            others.append(f"line {number} is no point; it was left out")
    if sum(len(entries) for entries in sections.values()) <= len(others):
        return None
    reading = playbook_file.read_playbook({"sections": sections}, source=source, rename_duplicates=rename_duplicates)
    return replace(reading, playbook=replace(reading.playbook, header=Header()), warnings=(*reading.warnings, *others))
