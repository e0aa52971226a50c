"""Which key points a text cites: `[pat-001]`, or several at once, `[pat-001, kpt_002]`."""

import re
from collections.abc import Iterable

from playbook_db.rules.naming import LEGACY_PREFIX
from playbook_db.rules.sections import SECTION_SLUGS

_NAME = rf"(?:(?:{'|'.join(SECTION_SLUGS.values())})-\d+|{LEGACY_PREFIX}_\d+)"
_BRACKETED = re.compile(rf"\[({_NAME}(?:\s*[,;]\s*{_NAME})*)\]")
_ONE = re.compile(_NAME)


def cited_names(texts: Iterable[str]) -> tuple[str, ...]:
    """The names that *texts* cite, each once, in the order of their first citation.

    Source: reflector specification, REQ-REFL-001; lists in one pair of brackets: contract, section 6.
    """
    found = (name for text in texts for group in _BRACKETED.findall(text) for name in _ONE.findall(group))
    return tuple(dict.fromkeys(found))
