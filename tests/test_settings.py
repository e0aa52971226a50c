"""Who is noted as having made a revision, and what learning may use."""

import getpass
import os
from pathlib import Path

import pytest

from playbook_db import settings
from playbook_db.errors import SettingError

ROOT = Path(__file__).parents[1]


@pytest.fixture(autouse=True)
def _someone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PLAYBOOK_ACTOR", raising=False)
    monkeypatch.setenv("LOGNAME", "ann")


def test_actor_is_user_and_host() -> None:
    assert settings.actor() == f"ann@{os.uname().nodename}"


def test_playbook_actor_names_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLAYBOOK_ACTOR", "  the nightly build ")

    assert settings.actor() == "the nightly build"


def test_session_is_the_actor_of_its_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    """The history separates them from the user's own terminal. PLAYBOOK_ACTOR wins."""
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "5f1c2e1a")
    assert settings.actor() == "5f1c2e1a"

    monkeypatch.setenv("PLAYBOOK_ACTOR", "ben")
    assert settings.actor() == "ben"


@pytest.mark.parametrize("given", ["a\nb", "a\x1b[31mb", "a\udcffb", "a\u202eb", "b" * 10_000])
def test_actor_is_one_printable_line(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "environ", {**os.environ, "PLAYBOOK_ACTOR": given})

    actor = settings.actor()

    assert actor.isprintable()
    assert 0 < len(actor.encode("utf-8")) <= settings.MAX_ACTOR_LENGTH


@pytest.mark.parametrize("error", [KeyError("uid not found"), OSError("no username"), ImportError("pwd")])
def test_user_without_a_name_is_a_number(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    """A container may use a user id without a name."""

    def no_name() -> str:
        raise error

    monkeypatch.setattr(getpass, "getuser", no_name)

    assert settings.actor().startswith(f"{os.getuid()}@")


def test_role_names_a_user_without_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Claude Code may start the worker as root; then all members would be root."""
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)

    assert settings.member("ann_role") == f"ann_role@{os.uname().nodename}"
    assert settings.member() == f"{getpass.getuser()}@{os.uname().nodename}"


@pytest.mark.parametrize(("given", "tokens"), [("", 1_000_000), (" ", 1_000_000), ("0", 0), (" 25 ", 25)])
def test_daily_budget_is_read(given: str, tokens: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The default is a million."""
    monkeypatch.setenv("PLAYBOOK_DAILY_TOKENS", given)

    assert settings.daily_tokens() == tokens


@pytest.mark.parametrize("given", ["-1", "1e6", "1,000,000", "much", "\u00b2"])
def test_invalid_budget_is_refused(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLAYBOOK_DAILY_TOKENS", given)

    with pytest.raises(SettingError, match="PLAYBOOK_DAILY_TOKENS"):
        settings.daily_tokens()


@pytest.mark.parametrize(
    "slip",
    [
        "postgresql:/ann:secret@host/db", "postgresql//ann@host/db", "postgres:ann@host/db",
        "host=db.example.org password=secret", "sslmode=require dbname = books password = 'secret'",
    ],
)  # fmt: skip
def test_mistyped_server_url_is_no_path(slip: str) -> None:
    """It would create a folder with the password in its name."""
    with pytest.raises(SettingError, match=r"as a URL: postgresql://USER:PASSWORD@HOST") as output:
        settings.database_url(slip)
    assert "secret" not in str(output.value)
