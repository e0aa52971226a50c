"""The canonical sections: their names, their slugs, their order, and whose points have names of them. Imports nothing,
so that a hook may use it.
"""

SECTION_SLUGS = {
    "PATTERNS & APPROACHES": "pat",
    "MISTAKES TO AVOID": "mis",
    "USER PREFERENCES": "pref",
    "PROJECT CONTEXT": "ctx",
    "OTHERS": "oth",
}
OTHERS = tuple(SECTION_SLUGS)[-1]  # holds everything that fits no other section
SECTION_ORDER = {name: place for place, name in enumerate(SECTION_SLUGS)}
SLUG_SECTIONS = {slug: name for name, slug in SECTION_SLUGS.items()}
USERS_MARK = "u"  # begins the names in the user's own playbook: upat-001


def find_section(value: object) -> "str | None":
    """The canonical section that *value* names, surrounding space and case ignored; None where it names none."""
    if not isinstance(value, str):
        return None
    name = value.strip().upper()
    return name if name in SECTION_SLUGS else None


def resolve_section(value: object) -> str:
    """The canonical section that *value* names, else OTHERS. Source: curator contract, ADD."""
    return find_section(value) or OTHERS


def is_unknown_section(value: object) -> bool:
    """Whether *value* names a section, but none of the five: the user should hear of it."""
    is_given = value is not None and not (isinstance(value, str) and not value.strip())
    return is_given and find_section(value) is None


def is_users_name(name: str) -> bool:
    """Whether *name* is one of the user's own playbook, as `upat-001`; no project's point has such a name."""
    slug, hyphen, digits = name.partition("-")
    is_slug = slug.startswith(USERS_MARK) and slug[len(USERS_MARK) :] in SLUG_SECTIONS
    return is_slug and bool(hyphen) and digits.isascii() and digits.isdigit()
