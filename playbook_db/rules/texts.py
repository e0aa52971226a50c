"""What a text of a key point may be, and when two texts say the same."""

_TRAILING_PUNCTUATION = ".,;:!?…。！？ "


def why_unusable(text: object) -> str | None:
    """What is wrong with *text* as the text of a key point, or None."""
    if not isinstance(text, str):
        return "a text must be a string"
    if not text.strip():
        return "a text must not be blank"
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        return f"a text must be Unicode, and this one holds half a surrogate pair at character {error.start}"
    return None


def storable(text: str) -> str:
    """*text* with what is no Unicode (half surrogate pairs, as JSON can hold them) replaced."""
    return text.encode("utf-8", "replace").decode("utf-8")


def normalised(text: str) -> str:
    """*text* without what makes no difference: case, runs of white space, trailing punctuation.

    Source: contract, section 10. A text of nothing but punctuation is kept as it is.
    """
    folded = " ".join(text.casefold().split())
    return folded.rstrip(_TRAILING_PUNCTUATION) or folded
