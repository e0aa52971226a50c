"""Secrets are masked in a text, and private parts are left out."""

import base64
import json
import re
import time
from urllib.parse import quote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from playbook_db.domain.redaction.redact import redact, redact_message, secret_values, without_private
from tests import redaction_sets
from tests.redaction_sets import Sample

_SECRETS = redaction_sets.known(is_anywhere=True)
_HARMLESS = redaction_sets.harmless(is_anywhere=True)
_BEGIN = "-----BEGIN " + "PRIVATE KEY-----"
_LENGTH = 40_000
_MARK = re.compile(r"\[masked: [A-Za-z ]+\]")


def test_known_secrets_are_masked() -> None:
    """In prose, code, JSON, environment variables and on several lines."""
    assert [each.text for each in redaction_sets.known() if not each.is_redacted_by(redact)] == []
    assert [each.text for each in _SECRETS if each.leaks_into(redact(each.text))] == []


def test_harmless_texts_stay() -> None:
    assert [text for text in redaction_sets.harmless() if redact(text) != text] == []


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("part", "is_unread", "share"),
    [("usual", False, 0.98), ("usual", True, 0.93), ("harmless", False, 1.0), ("harmless", True, 0.99)],
)
def test_blind_set_is_right(part: str, is_unread: bool, share: float) -> None:
    """docs/internals/benchmarks.md has the figures."""
    assert redaction_sets.share_right(redaction_sets.blind(part, is_unread=is_unread), redact) >= share


@pytest.mark.parametrize(
    ("text", "redacted"),
    [
        ('{"line": "password\\u003dXk29fj3kQw\\u0026a"}', '{"line": "password\\u003d[masked: password]\\u0026a"}'),
        ("\x1b[1mpassword\x1b[0m: Xk29fj3kQw\x1b[0m !", "\x1b[1mpassword\x1b[0m: [masked: password]\x1b[0m !"),
        ("| a | token |\n|---|---|\n| b | Xk29fj3kQw7 |", "| a | token |\n|---|---|\n| b | [masked: token] |"),
        ("user,password\nann,Xk29fj3kQw\n", "user,password\nann,[masked: password]\n"),
        ("kind: Secret\ndata:\n  a: c3VubnlkYXk=\nx: y", "kind: Secret\ndata:\n  a: [masked: secret]\nx: y"),
        ("redis-cli -h db -a 'Xk2)9f{j' ping", "redis-cli -h db -a '[masked: password]' ping"),
        ('"password": {\n "value": "Xk29;j3kQw"}', '"password": {\n "value": "[masked: password]"}'),
        ("password: |\n  Xk29fj3kQw\nuser: a", "password: |\n  [masked: password]\nuser: a"),
        ("&lt;password&gt;Xk29fj3kQw&lt;/password&gt;", "&lt;password&gt;[masked: password]&lt;/password&gt;"),
        ("<password>Xk29fj3kQw\n</password>", "<password>[masked: password]\n</password>"),
        ("Die PIN ist die 4471.", "Die PIN ist die [masked: PIN]."),
    ],
)
def test_only_the_secret_is_replaced(text: str, redacted: str) -> None:
    """Each text has another form: escaped, in a table, in a command."""
    assert redact(text) == redacted


def test_text_around_a_secret_stays() -> None:
    for secret in _SECRETS:
        redacted = redact(secret.text)
        first, *_, last = _MARK.split(redacted)

        assert secret.text.startswith(first)
        assert secret.text.endswith(last)
        assert len(redacted.replace("masked: ", "")) <= len(secret.text) + 40


def test_harmless_texts_stay_in_json() -> None:
    """A transcript has texts escaped, often twice."""
    once = json.dumps(_HARMLESS)

    assert redact(once) == once
    assert redact(json.dumps(once)) == json.dumps(once)


@pytest.mark.slow
def test_adjacent_secrets_are_masked() -> None:
    redacted = redact("\n".join(each.text for each in _SECRETS))

    assert [each.kind for each in _SECRETS if each.leaks_into(redacted)] == []


def test_user_and_host_of_a_url_stay() -> None:
    assert redact("redis://ann:" + "x9Kq2vv7w" + "@cache:6379/0") == "redis://ann:[masked: password]@cache:6379/0"


@pytest.mark.parametrize(
    ("form", "say"),
    [
        ("plain", lambda value: f"it says {value}!"),
        ("JSON", lambda value: json.dumps({"said": value})),
        ("JSON in JSON", lambda value: json.dumps(json.dumps({"said": value}))),
        ("URL", lambda value: f"https://example.org/?q={quote(value, safe='')}&x=1"),
        ("base64 of more", lambda value: base64.b64encode(f"ann:{value}:x".encode()).decode()),
        ("URL-safe base64", lambda value: base64.urlsafe_b64encode(f"a{value}".encode()).decode()),
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    "value", ['quo"te\\and/slash', "two\nlines here", "gr\u00fc\u00dfe-\u4f60\u597d-x", "plainvalue", "??>>~~ff"]
)
def test_environment_values_are_masked_in_each_form(form: str, say: object, value: str) -> None:
    assert callable(say)
    text = say(value)
    redacted = redact(text, [value])

    assert "[masked: environment value]" in redacted, form
    assert value not in redacted
    assert redact(redacted, [value]) == redacted


def test_longer_lower_case_shifts_nothing() -> None:
    """A dotted capital I becomes two characters in lower case."""
    assert redact("\u0130" * 40 + " password=Xk29fj3k!") == "\u0130" * 40 + " password=[masked: password]"


def test_short_environment_values_are_ignored() -> None:
    assert redact("a letter of seven", ["letters", "of", ""]) == "a letter of seven"


def test_environment_value_like_a_mark_is_harmless() -> None:
    text = "password='Xk29fj3k!' and masked: password"
    values = ["masked: password", "password]", "[masked: ", "environment value"]
    once = redact(text, values)

    assert redact(once, values) == once
    assert "Xk29fj3k" not in once


def test_token_that_starts_with_a_value_is_masked() -> None:
    token = "gh" + "p_" + "a1B2c3D4e5" * 4

    assert redact(f"see {token}", [token[:12]]) == "see [masked: GitHub token]"


def test_secret_headers_in_a_variable_are_secrets() -> None:
    lines = "X-Gateway-Auth: quartz-sphinx-42\nx-tenant: the-tenant-name\nAuthorization: Bearer basalt-heron-7"
    environ = {"ANTHROPIC_CUSTOM_HEADERS": lines, "OTEL_EXPORTER_OTLP_HEADERS": "a=b12345678,api-key=ochre-linnet-9"}

    assert secret_values(environ) == {"quartz-sphinx-42", "basalt-heron-7", "ochre-linnet-9"}


def test_variables_named_like_secrets_are_secrets() -> None:
    environ = {
        name: f"value-{place:02}-xyz"
        for place, name in enumerate(
            ("API_KEY", "GITHUB_TOKEN", "client_secret", "DB_PASSWORD", "MYSQL_PWD", "PGPASSWORD", "AWS_CREDENTIALS",
             "BASIC_AUTH", "DEPLOY_PRIVATE", "OPENAI_APIKEY", "DB_PASS", "npm_config__authToken"),
        )
    }  # fmt: skip

    assert secret_values(environ) == set(environ.values())


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SSH_AUTH_SOCK", "/tmp/ssh-1234/agent.5678"),  # noqa: S108
        ("PWD", "/home/ann/project"),
        ("MAX_OUTPUT_TOKENS", "1234567890"),
        ("TOKENIZERS_PARALLELISM", "disabled"),
        ("API_KEY", "short"),
        ("API_KEY", "your-api-key-here"),
        ("AUTH_URL", "https://auth.example.org/login"),
        ("POSTGRES_PASSWORD", "postgres"),
    ],
)
def test_harmless_variables_are_no_secrets(name: str, value: str) -> None:
    assert secret_values({name: value}) == frozenset()


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("a <private>b</private> c", "a  c"),
        ("a <private>b <private>c</private> d</private> e", "a  e"),
        ("a <private>b <private>c</private> d", "a "),
        ("a <private>b\nc", "a "),
        ("a </private> b", "a </private> b"),
        ('a <private reason="x">b</private >c', "a c"),
        ("a <privateer>b</privateer>", "a <privateer>b</privateer>"),
        ("<private>a</private>b<private>c</private>", "b"),
    ],
)
def test_private_parts_are_left_out(text: str, left: str) -> None:
    """An open tag reaches to the end; a closing tag alone closes nothing."""
    assert without_private(text) == left


_PIECES = st.sampled_from(
    ["password", "=", ":", " ", '"', "'", "\\", "\n", "\\n", "token", "[masked: password]", "[masked:", "]", "://",
     "@", "user", "Bearer ", "Authorization: ", "Cookie: a=", "eyJ", ".", "sk-", "ghp_", "-", "_", "AKIA", "login ",
     ":5432:", _BEGIN, _BEGIN.replace("BEGIN", "END"), "a1B2c3D4e5F6g7H8", "Zz9" * 14, "{", "}", "(",
     "key", "api_", "<", ">", "\0", "\ud800", "\u0130", "--password ", "is ", "x", "9", "hunter2!", "export DB_PASS="],
)  # fmt: skip
_TEXTS = st.one_of(
    st.text(),
    st.text(st.characters(exclude_categories=())),  # with half surrogate pairs
    st.lists(_PIECES, max_size=14).map("".join),
    st.lists(st.sampled_from([each.text for each in _SECRETS]), max_size=3).map("".join),
)


@given(
    _TEXTS, st.lists(st.one_of(st.text(min_size=8), st.lists(_PIECES, min_size=2, max_size=4).map("".join)), max_size=3)
)
def test_redacting_twice_changes_nothing(text: str, values: list[str]) -> None:
    once = redact(text, values)

    assert redact(once, values) == once
    without_private(text)


@example(["password: models2.PasswordField2", "x"], ";")
@example(["password=None", "auth: httpx2.Auth"], " ")
@given(
    st.lists(st.sampled_from([*_HARMLESS, "Ein Satz.", "\u4f60\u597d", "\n\n", "\ud800", "\0"]), max_size=8),
    st.sampled_from("\n ;"),
)
def test_text_without_secrets_is_unchanged(parts: list[str], between: str) -> None:
    text = f"{between}\n".join(parts)

    assert redact(text) == text


@given(st.sampled_from(_SECRETS), st.sampled_from(_HARMLESS), st.sampled_from(_HARMLESS))
def test_secret_is_found_in_other_text(secret: Sample, before: str, after: str) -> None:
    assert not secret.leaks_into(redact(f"{before}\n{secret.text}\n{after}"))


@pytest.mark.nightly(after=12)
@pytest.mark.slow
@pytest.mark.parametrize(
    "piece",
    ["a", ":", "\\\\", "eyJ.", "sk-", "AKIA", "://a:b", ":5432:a:b:", "password", "password=' ",
     "passwordvalue=", "\u0130token=", "token is ", "key,", "secret for the ", "api_key = \n", "_key" * 20,
     "[masked: ", f"{_BEGIN}\nAAAA", "<private>", "Cookie: a=b;", "Bearer\t\t", "mysql ", "curl -u a:",
     "docker login ", "| a | token |\n", "token  a", "kind: Secret\ndata:\n  a: bcdef\n", "tokens:\n- a",
     "password =\n'", " is the key", "password for a ", "%3D", "\\u0022", "\x1b[0m", "abandon "],
)  # fmt: skip
def test_redaction_takes_linear_time(piece: str, harmless_s: float) -> None:
    """Something quadratic takes several hundred times as long."""
    assert _cost_s(piece * (_LENGTH // len(piece))) < 100 * harmless_s


@pytest.fixture(scope="module")
def harmless_s() -> float:
    return min(_cost_s("these are words " * (_LENGTH // 16)) for _ in range(5))


def _cost_s(text: str) -> float:
    started = time.process_time()
    redact(text)
    without_private(text)
    return time.process_time() - started


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("no answer from https://ann:hunter22@host:8443/v1?x=1.", "no answer from https://host:8443/v1?x=1."),
        ("https://a-token@host/x, https://u:p@k", "https://host/x, https://k"),
        ("'postgresql://u:p/w#x?y@host/db' is none", "'postgresql://host/db' is none"),
        ("://u:hunter22@host", "://host"),
        ("wrong port: 'c0rrect-h0rse@host'", "wrong port: '[masked: environment value]@host'"),
        ("at https://host/@scope/a, http://localhost:80/a@b", "at https://host/@scope/a, http://localhost:80/a@b"),
        ("sqlite:////home/ann@work/playbook.db is locked", "sqlite:////home/ann@work/playbook.db is locked"),
        ("invalid x-api-key: qzv81kkd0-key", "invalid x-api-key: [masked: environment value]"),
    ],
)
def test_message_has_no_secret_and_no_user(message: str, shown: str) -> None:
    environ = {"ANTHROPIC_API_KEY": "qzv81kkd0-key", "ANTHROPIC_BASE_URL": "https://u:c0rrect-h0rse@host"}

    assert redact_message(message, environ) == shown


def test_message_is_masked_before_it_is_cut() -> None:
    long = redact_message("x " * 95 + "ghp_" + "a1B2" * 9 + " y" * 10**6, {}, max_chars=200)

    assert len(long) == 200
    assert "ghp_" not in long
    began = time.process_time()
    redact_message("a" * 10**6 + "@", {})
    redact_message("://u:" * 10**5 + "@", {})
    assert time.process_time() - began < 5
