"""URLs of databases: what messages show of them."""

import pytest

from playbook_db.errors import SettingError
from playbook_db.store import urls


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("postgresql://ben:p@ssw0rd@host.example:5432/db", "postgresql://host.example:5432/db"),
        ("postgres://ben:p@ss/w0rd@host/db", "postgres://host/db"),
        ("postgresql://ben:w0rd@@host", "postgresql://host"),
    ],
)
def test_at_sign_in_a_password_is_refused(url: str, place: str) -> None:
    """SQLAlchemy would take the rest of the password for the host, and messages would show it."""
    with pytest.raises(SettingError, match="write @ as %40") as caught:
        urls.described(url)

    assert place in str(caught.value)
    assert "w0rd" not in str(caught.value)


def test_escaped_password_is_read() -> None:
    assert urls.without_password("postgresql://ben:p%40ss@host/db") == ("postgresql://ben@host/db", "p@ss")
