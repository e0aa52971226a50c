"""Who is noted as having made a revision, and what learning may use."""

import getpass
import os
import subprocess
import sys
from pathlib import Path

import pytest

from playbook_db import settings
from playbook_db.errors import SettingError

ROOT = Path(__file__).parents[1]


@pytest.fixture(autouse=True)
def _someone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PLAYBOOK_ACTOR", raising=False)
    monkeypatch.setenv("LOGNAME", "ann")


def test_actor_is_the_user_on_this_machine() -> None:
    """User name and host name."""
    assert settings.actor() == f"ann@{os.uname().nodename}"


def test_playbook_actor_names_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """A robot, a team mate, a colleague behind a shared account."""
    monkeypatch.setenv("PLAYBOOK_ACTOR", "  the nightly build ")

    assert settings.actor() == "the nightly build"


def test_what_runs_in_a_session_writes_in_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """Claude's shell and `!playbook`: the history separates them from the user's own terminal. PLAYBOOK_ACTOR wins."""
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "5f1c2e1a")
    assert settings.actor() == "5f1c2e1a"

    monkeypatch.setenv("PLAYBOOK_ACTOR", "ben")
    assert settings.actor() == "ben"


@pytest.mark.parametrize("given", ["a\nb", "a\x1b[31mb", "a\udcffb", "a\u202eb", "b" * 10_000])
def test_actor_is_one_line_that_can_be_stored(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing that steers a terminal, forges a line or is no text; not more than MAX_ACTOR_LENGTH characters."""
    monkeypatch.setattr(os, "environ", {**os.environ, "PLAYBOOK_ACTOR": given})

    actor = settings.actor()

    assert actor.isprintable()
    assert 0 < len(actor.encode("utf-8")) <= settings.MAX_ACTOR_LENGTH


@pytest.mark.parametrize("error", [KeyError("uid not found"), OSError("no username"), ImportError("pwd")])
def test_a_user_without_a_name_is_a_number(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container that runs under a user id of its own."""

    def no_name() -> str:
        raise error

    monkeypatch.setattr(getpass, "getuser", no_name)

    assert settings.actor().startswith(f"{os.getuid()}@")


def test_a_user_whom_no_variable_names_has_the_name_of_their_role(monkeypatch: pytest.MonkeyPatch) -> None:
    """Claude Code starts the worker without these variables, perhaps as root: members would all be root."""
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)

    assert settings.member("ann_role") == f"ann_role@{os.uname().nodename}"
    assert settings.member() == f"{getpass.getuser()}@{os.uname().nodename}"


@pytest.mark.slow
def test_settings_import_nothing_that_only_the_actor_needs() -> None:
    """The hooks import them at every start."""
    code = "import sys; from playbook_db import settings; print({'getpass', 'socket', 'pwd'} & {*sys.modules})"

    done = subprocess.run([sys.executable, "-S", "-c", code], text=True, capture_output=True, check=True, cwd=ROOT)

    assert done.stdout == "set()\n"


@pytest.mark.parametrize(("given", "tokens"), [("", 1_000_000), (" ", 1_000_000), ("0", 0), (" 25 ", 25)])
def test_what_learning_may_use_in_a_day(given: str, tokens: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The default is a million."""
    monkeypatch.setenv("PLAYBOOK_DAILY_TOKENS", given)

    assert settings.daily_tokens() == tokens


@pytest.mark.parametrize("given", ["-1", "1e6", "1,000,000", "much", "\u00b2"])
def test_a_budget_that_is_no_number_is_refused(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It must not be taken for no limit."""
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
def test_a_slip_in_a_server_s_url_is_no_path(slip: str) -> None:
    """That would create a folder with the password in its name."""
    with pytest.raises(SettingError, match=r"as a URL: postgresql://USER:PASSWORD@HOST") as told:
        settings.database_url(slip)
    assert "secret" not in str(told.value)
