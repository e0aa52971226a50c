"""How similar two points are, by an embedder of the user's; playbook-db brings none.

`PLAYBOOK_EMBEDDER` names it as `package.module:function`; the function takes a list of texts and returns a vector of
floats for each.
"""

import importlib
import math
import os
from collections.abc import Callable, Sequence

from playbook_db.domain.duplicates import DEFAULT_THRESHOLD, Similarity
from playbook_db.domain.playbook import KeyPoint
from playbook_db.errors import SettingError

_DIGITS = 9  # of a cosine; equal vectors must come out as 1, whatever the rounding
Embedder = Callable[[list[str]], Sequence[Sequence[float]]]


def load_embedder() -> Embedder | None:
    """The user's embedder, None where none is configured. Raises SettingError where it can't be loaded."""
    setting = os.environ.get("PLAYBOOK_EMBEDDER")
    if not setting:
        return None
    module, _, attribute = setting.partition(":")
    try:
        embedder: Embedder = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise SettingError(
            f"PLAYBOOK_EMBEDDER={setting!r} can't be loaded ({error}); it must be module:function."
        ) from error
    return embedder


def threshold(given: float | None) -> float:
    """The similarity from which points are duplicates: *given*, else `AGENTIC_CONTEXT_DEDUP_THRESHOLD`, else 0.85.

    Raises SettingError where the variable is no number.
    """
    value: float | str | None = given if given is not None else os.environ.get("AGENTIC_CONTEXT_DEDUP_THRESHOLD")
    if value is None or value == "":
        return DEFAULT_THRESHOLD
    try:
        return float(value)
    except ValueError as error:
        raise SettingError(f"AGENTIC_CONTEXT_DEDUP_THRESHOLD={value!r} is no number from 0 to 1.") from error


def cosine(points: Sequence[KeyPoint], embedder: Embedder) -> Similarity:
    """The cosine of the vectors of two of *points*; each text is embedded once.

    Raises SettingError where the embedder fails, or doesn't return vectors of one length, one for each text.
    """
    try:
        vectors = [tuple(map(float, vector)) for vector in embedder([point.text for point in points])]
    except Exception as error:  # the user's code may raise anything
        raise SettingError(f"The embedder of PLAYBOOK_EMBEDDER failed: {error!r}. Nothing was changed.") from error
    if len(vectors) != len(points) or len({len(vector) for vector in vectors}) > 1:
        raise SettingError("The embedder of PLAYBOOK_EMBEDDER must give a vector of one length for each text.")
    lengths = [math.hypot(*vector) or 1 for vector in vectors]
    units = {
        point.name: [value / length for value in vector]
        for point, vector, length in zip(points, vectors, lengths, strict=True)
    }

    def similarity(one: KeyPoint, other: KeyPoint) -> float:
        product = sum(a * b for a, b in zip(units[one.name], units[other.name], strict=True))
        return round(product, _DIGITS)

    return similarity
