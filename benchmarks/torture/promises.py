"""How torture says that a promise was broken."""


def promise(kept: object, broken: str) -> None:
    """Raise AssertionError with *broken*, what happened instead, unless *kept* is true."""
    if not kept:
        raise AssertionError(broken)
