"""How key points get their names. A name is given once in the life of a playbook."""

from collections.abc import Iterable

LEGACY_PREFIX = "kpt"  # names of flat files: kpt_001
MAX_NAME_LENGTH = 200  # characters
_MAX_DIGITS = 18  # of a number that counts; a name with more was made by somebody else


def format_name(prefix: str, number: int) -> str:
    """The name with that number: `pat-007`, or `kpt_007` for the legacy prefix."""
    return f"{prefix}{_joiner(prefix)}{number:03d}"


def number_of(name: str, prefix: str) -> int:
    """The number in *name* if it is one that *prefix* makes, else 0."""
    start = prefix + _joiner(prefix)
    digits = name[len(start) :]
    counts = name.startswith(start) and digits.isascii() and digits.isdigit() and len(digits) <= _MAX_DIGITS
    return int(digits) if counts else 0


def highest_number(names: Iterable[str], prefix: str) -> int:
    """The highest number among the *names* of that prefix; 0 where there is none."""
    return max((number_of(name, prefix) for name in names), default=0)


def next_name(names: Iterable[str], prefix: str) -> str:
    """One more than the highest name of that prefix: three digits at least. Source: contract, section 2."""
    return format_name(prefix, highest_number(names, prefix) + 1)


def why_unusable(name: str) -> str | None:
    """What is wrong with *name*, or None. A name must not be able to break out of its brackets in a prompt."""
    if not name.strip():
        return "a name must not be blank"
    if not name.isprintable() or "[" in name or "]" in name:
        return "a name must not hold brackets, line breaks or control characters"
    if len(name) > MAX_NAME_LENGTH:
        return f"a name must not be longer than {MAX_NAME_LENGTH} characters"
    return None


def _joiner(prefix: str) -> str:
    return "_" if prefix == LEGACY_PREFIX else "-"
