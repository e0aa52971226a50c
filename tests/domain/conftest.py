"""The domain sees no home, no environment and no database: what others get before each test, it does without."""

import pytest


@pytest.fixture(autouse=True)
def home() -> None:
    """In place of the one for all tests."""


@pytest.fixture(autouse=True)
def _new_databases_are_copies() -> None:
    """In place of the one for all tests."""
