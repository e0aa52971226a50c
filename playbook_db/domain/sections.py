"""The canonical sections: their names, their slugs, their order. Imports nothing, so that a hook may use it."""

SECTION_SLUGS = {
    "PATTERNS & APPROACHES": "pat",
    "MISTAKES TO AVOID": "mis",
    "USER PREFERENCES": "pref",
    "PROJECT CONTEXT": "ctx",
    "OTHERS": "oth",
}
OTHERS = tuple(SECTION_SLUGS)[-1]  # takes whatever belongs nowhere else
SECTION_ORDER = {name: place for place, name in enumerate(SECTION_SLUGS)}
SLUG_SECTIONS = {slug: name for name, slug in SECTION_SLUGS.items()}


def find_section(value: object) -> "str | None":
    """The canonical section that *value* names, surrounding space and case ignored; None where it names none."""
    if not isinstance(value, str):
        return None
    wanted = value.strip().upper()
    return wanted if wanted in SECTION_SLUGS else None


def resolve_section(value: object) -> str:
    """The canonical section that *value* names, else OTHERS. Source: curator contract, ADD."""
    return find_section(value) or OTHERS


def is_unknown_section(value: object) -> bool:
    """Whether *value* was meant to name a section but names none of ours: worth a word to the user."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return False
    return find_section(value) is None
