"""The canonical sections: their names, slugs and order. The hooks load this module, so loading it imports no other."""

SECTION_SLUGS = {
    "PATTERNS & APPROACHES": "pat",
    "MISTAKES TO AVOID": "mis",
    "USER PREFERENCES": "pref",
    "PROJECT CONTEXT": "ctx",
    "OTHERS": "oth",
}
OTHERS = tuple(SECTION_SLUGS)[-1]  # for points that fit no other section
SECTION_ORDER = {name: place for place, name in enumerate(SECTION_SLUGS)}
SLUG_SECTIONS = {slug: name for name, slug in SECTION_SLUGS.items()}
USERS_MARK = "u"  # the first letter of names in the personal playbook: upat-001


def find_section(value: object) -> "str | None":
    """Return the canonical section that *value* names, or None. Case and surrounding spaces are ignored."""
    if not isinstance(value, str):
        return None
    name = value.strip().upper()
    return name if name in SECTION_SLUGS else None


def section_named(value: str) -> str:
    """Return the canonical section with the name or slug *value*. Raises PointRuleError if there is none."""
    from playbook_db.errors import PointRuleError  # late: hooks need no errors

    section = find_section(value) or SLUG_SECTIONS.get(value.strip().lower())
    if section is None:
        names = ", ".join(f"{name} ({slug})" for name, slug in SECTION_SLUGS.items())
        raise PointRuleError(f"There is no section {value!r}. The sections are: {names}.")
    return section


def is_unknown_section(value: object) -> bool:
    """Return whether *value* names a section that isn't one of the canonical sections."""
    is_given = value is not None and not (isinstance(value, str) and not value.strip())
    return is_given and find_section(value) is None


def is_users_name(name: str) -> bool:
    """Return whether *name* names a point of a personal playbook: `upat-001`. No project's point has such a name."""
    slug, hyphen, digits = name.partition("-")
    is_slug = slug.startswith(USERS_MARK) and slug[len(USERS_MARK) :] in SLUG_SECTIONS
    return is_slug and bool(hyphen) and digits.isascii() and digits.isdigit()
