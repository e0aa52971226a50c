"""What is redacted in a text, and which parts are left out."""

import base64
import json
import re
import time
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from benchmarks.redaction import is_done
from playbook_db.domain.redaction.redact import redact, redact_message, secret_values, without_private
from tests import blind_secrets, blind_texts, later_blind_sets
from tests.harmless_texts import HARMLESS
from tests.secrets_made_up import MadeUp, made_up_secrets

_SEEDS = (1, 20, 300)
_MADE_UP = [made for seed in _SEEDS for made in made_up_secrets(seed)]
_BEGIN = "-----BEGIN " + "PRIVATE KEY-----"
_LENGTH = 40_000
_MARK = re.compile(r"\[masked: [A-Za-z ]+\]")


def test_every_secret_of_the_set_is_redacted() -> None:
    """Prefixes, key blocks, headers, URLs and names beside a value, in prose, code, JSON, dumps and over lines."""
    leaked = [(made.kind, made.text) for made in _MADE_UP if made.leaks_into(redact(made.text))]

    assert leaked == []


_FIRST = {
    "usual": [(case.kind, case.text, (case.secret,)) for case in blind_secrets.usual()],
    "harmless": [("harmless", text, ()) for text in blind_secrets.harmless()],
}


@pytest.mark.parametrize(("name", "share"), [("usual", 0.97), ("harmless", 0.99)])
@pytest.mark.parametrize("author", ["first", "second", "third", "twelfth", "thirteenth"])
def test_of_each_blind_set_almost_all_is_right(author: str, name: str, share: float) -> None:
    """Secrets of usual kinds are redacted, and harmless texts stay; docs/internals/evidence.md has the figures."""
    rows_of = blind_texts.rows if author in ("twelfth", "thirteenth") else later_blind_sets.rows
    rows = _FIRST[name] if author == "first" else rows_of(name, author)

    assert sum(is_done(text, secrets) for _, text, secrets in rows) >= share * len(rows)


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
        ("Kennwort: Xk29fj3kQw", "Kennwort: [masked: password]"),
        ("DB_PASSWORD=sunshine", "DB_PASSWORD=[masked: password]"),
        ('TOKEN_FOR_CI_USER = "Xk29fj3kQwPz81mNaB4tYr6LdE0h"', 'TOKEN_FOR_CI_USER = "[masked: secret]"'),
        ("X-Api-Key: jmXngYAHmUxBfBc8zXeFSnCSNyphF56bN9yottslz", "X-Api-Key: [masked: token]"),
        ("see qvx_live_Xk29fj3kQwPz81mNaB4tYr6LdE0h", "see [masked: token]"),
        ("&lt;password&gt;Xk29fj3kQw&lt;/password&gt;", "&lt;password&gt;[masked: password]&lt;/password&gt;"),
        (
            "\\u043a\\u043b\\u044e\\u0447 password: Xk29fj3kQw",
            "\\u043a\\u043b\\u044e\\u0447 password: [masked: password]",
        ),
        ("name;kennwort\nKoch, S.;Blaubeer3\n", "name;kennwort\nKoch, S.;[masked: password]\n"),
        ("bind_pw: Fichte.Moos.6\n", "bind_pw: [masked: password]\n"),
        ('iwctl --passphrase "fichte moor 1961" on', 'iwctl --passphrase "[masked: password]" on'),
        ("$ cat db/master.key\nXk29fj3kQwPz81mN\n", "$ cat db/master.key\n[masked: password]\n"),
        ("Die PIN ist die 4471.", "Die PIN ist die [masked: PIN]."),
    ],
)
def test_only_the_secret_itself_is_replaced(text: str, redacted: str) -> None:
    """One way of standing in a text each: escaped, coloured, in a column, a manifest, a list, a command, below."""
    assert redact(text) == redacted


@pytest.mark.parametrize(
    "text",
    [
        "chatcmpl-Xk29fj3kQwPz81mNaB4tYr6LdE0h",
        "toolu_01Xk29fj3kQwPz81mNaB4tYr",
        "HeaderOfVersion2_TestThatTheParserKeepsItsPlace",
        "'cw_light', 'cw_password',\n'cw_palette', 'nbreg_lf12x',\n",
        "color, token,\n'a', '#f8f8f2'\n",
        "name, token\nx, self._lib.EVP_PKEY_free)\n",
        'key_id = "Xk29fj3kQwPz81mNaB4tYr6LdE0h"',
        "Pass `slack_channel_id` as well",
        ".Login_password__3xK9q .Token_badge__Zt81a { margin: 0 }",
        "password: {{ .Values.auth.password | b64enc | quote }}",
        'WRONG_PASSWORD = "Falsche Eingabe"',
        "api-key   2024-03-11T09:20:01  automatic",
        "the token id is 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b",
        "secret_sizes = [16, 24, 32, 64, 128, 200, 250, 255]",
    ],
)
def test_ids_and_code_are_no_secrets(text: str) -> None:
    """Ids with a prefix as tokens have, names in lists of code, types, colours: found in the sources of packages."""
    assert redact(text) == text


def test_the_set_is_a_wide_one() -> None:
    """At least 25 kinds and 60 secrets, no two of them the same."""
    one = made_up_secrets(_SEEDS[0])

    assert len({made.kind for made in one}) >= 25
    assert len({made.secret for made in one}) >= 60
    assert one == made_up_secrets(_SEEDS[0])


@pytest.mark.parametrize("made", made_up_secrets(4), ids=lambda made: made.kind)
def test_what_stands_around_a_secret_stays(made: MadeUp) -> None:
    """Before the first marker and after the last one the text is as it was."""
    redacted = redact(made.text)
    first, *_, last = _MARK.split(redacted)

    assert made.text.startswith(first)
    assert made.text.endswith(last)
    assert len(redacted.replace("masked: ", "")) <= len(made.text) + 40


@pytest.mark.parametrize("text", HARMLESS)
def test_what_is_no_secret_stays(text: str) -> None:
    """Sums, ids, images, placeholders, code and prose are left as they are."""
    assert redact(text) == text


def test_harmless_texts_stay_when_they_stand_in_json() -> None:
    """A transcript holds texts escaped, often twice."""
    once = json.dumps(HARMLESS)

    assert redact(once) == once
    assert redact(json.dumps(once)) == json.dumps(once)


@pytest.mark.slow
def test_redacting_a_whole_transcript_leaks_nothing() -> None:
    """Secrets side by side do not hide each other."""
    some = made_up_secrets(5)
    redacted = redact("\n".join(made.text for made in some))

    assert [made.kind for made in some if made.leaks_into(redacted)] == []


def test_redacting_twice_changes_nothing() -> None:
    """Nothing in a redacted text looks like a secret again."""
    texts = [*(made.text for made in _MADE_UP), "\n".join(made.text for made in _MADE_UP)]
    once = [redact(text) for text in texts]

    assert [redact(text) for text in once] == once


_KEY_LINE = ("aB3dE6gH9jK2mN5pQ8sT1vW4" * 3)[:64]


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        # a private key without its BEGIN line, or in base64
        (f"MIICeAIBADANBgkqhkiG9w0BAQEFAASC{_KEY_LINE[:32]}\n{_KEY_LINE}\n", _KEY_LINE),
        ("key: " + base64.b64encode(f"{_BEGIN}\n{_KEY_LINE}\n".encode()).decode(), "FCM2RFNmdIOWpL"),
        (f"-----BEGIN OpenVPN Static key V1-----\n{'0f1e2d3c' * 4}\n-----END OpenVPN Static key V1-----", "0f1e2d3c"),
        # no space between word and value
        ("数据库密码是7aLlwqBDE3,用户名是root。", "7aLlwqBDE3"),
        ("パスワードはTjx7EsaSZG5です。", "Tjx7EsaSZG5"),
        # the name of a user before it
        ("Login mit admin / Hafenrundfahrt_88, dann weiter", "Hafenrundfahrt_88"),
        ("see admin|Qw8mm2Rt!|x", "Qw8mm2Rt"),
        ('{"encoded":"YWRtaW46UXc4bW0yUnQh"}', "YWRtaW46UXc4bW0yUnQh"),
        # numbers by name
        ("De pincode voor de kluis: 5527", "5527"),
        ("the gate code is 7714", "7714"),
        # property lists and other markup
        ("<key>ApiToken</key>\n\t<string>aB3dE6gH9jK2mN5p</string>", "aB3dE6gH9jK2mN5p"),
        ("<pass><![CDATA[lOLSkA_Y5MHo]]></pass>", "lOLSkA_Y5MHo"),
        ('s:8:"password";s:10:"S1AAwtc6iq";', "S1AAwtc6iq"),
        # prose
        ("Das Kennwort fürs Intranet ist jetzt Birnbaum#77, bitte merken", "Birnbaum#77"),
        ("Зайди як devops з паролем 71OMy2T1AYB і глянь логи.", "71OMy2T1AYB"),
        ("Пароль от базы — Ze-iL8u#SM=L, юзер postgres.", "Ze-iL8u#SM=L"),
        # what a command printed, and tables with empty cells
        ("$ terraform output -raw db_password\nq0RB.m0hgFf#94Wy", "q0RB.m0hgFf#94Wy"),
        ("name,url,password,note\nx.io,,pKrHFpx4i!cQ?bH,\n", "pKrHFpx4i!cQ?bH"),
    ],
)
def test_a_secret_of_a_third_authors_kinds_is_redacted(text: str, secret: str) -> None:
    """Without a name beside it, in parts, in prose of other languages, in numbers."""
    assert secret in text
    assert secret not in redact(text)


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("/session/sso_login?payload=bm9uY2U9Y2I2ODI1MWVlZmI1MjExZTU4YzAwZmYxMzk1ZjBj&sig=2828aa29", "bm9uY2U9Y2I2"),
        ("Your verification code is 482911.", "482911"),
        ("npm publish --otp=482911", "482911"),
        ("Ihr Sicherheitscode lautet 482 911", "482 911"),
        ("482911 is your login code", "482911"),
    ],
)
def test_a_login_that_is_passed_on_is_redacted(text: str, secret: str) -> None:
    """A signed payload in an address, and a code that is good for one login."""
    assert secret not in redact(text)


@pytest.mark.parametrize(
    "text",
    [
        "pin the version to 2024 or later",
        "* fix/token-expiry -> origin/fix/Token-expiry2",
        "token-refresh2 → Main7Branch_x",
        'await HKDF(privateKey, "session-Key-v1 2025", 32)',
        "the error code is 4040",
        "Encyklopedia, hasło: fotosynteza, tom 4.",
        "NAME  TYPE  AGE\ndb-credentials  Opaque  2\ndefault-token-x7k2p  x/service-account-token  3",
        "crt: " + base64.b64encode(b"-----BEGIN CERTIFICATE-----\n" + b"MIIDdzCC" * 9).decode()[:64],
        'alphabet = ["a", "b"] + ["c"]; say("hello" + "world")',
        'The passphrase is "empty for no passphrase" by default',
        "Is the token valid? Use step 2: run it again",
    ],
)
def test_a_harmless_text_of_such_kinds_stays(text: str) -> None:
    """Numbers with other names, public keys, joined words."""
    assert redact(text) == text


def test_user_and_host_of_a_url_stay() -> None:
    """Only the password within an address is secret."""
    assert redact("redis://ann:" + "x9Kq2vv7w" + "@cache:6379/0") == "redis://ann:[masked: password]@cache:6379/0"


@pytest.mark.parametrize(
    ("form", "say"),
    [
        ("plain", lambda value: f"it says {value}!"),
        ("within a word", lambda value: f"xx{value}yy"),
        ("JSON", lambda value: json.dumps({"said": value})),
        ("JSON, not ASCII only", lambda value: json.dumps({"said": value}, ensure_ascii=False)),
        ("JSON in JSON", lambda value: json.dumps(json.dumps({"said": value}))),
        ("URL", lambda value: f"https://example.org/?q={quote(value, safe='')}&x=1"),
        ("form", lambda value: f"q={quote_plus(value)}"),
        ("lower-case URL", lambda value: re.sub("%..", lambda code: code[0].lower(), quote(value, safe=""))),
        ("base64", lambda value: base64.b64encode(value.encode()).decode()),
        ("base64 of more", lambda value: base64.b64encode(f"ann:{value}:x".encode()).decode()),
        ("URL-safe base64", lambda value: base64.urlsafe_b64encode(f"a{value}".encode()).decode()),
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    "value", ['quo"te\\and/slash', "two\nlines here", "gr\u00fc\u00dfe-\u4f60\u597d-x", "plainvalue", "??>>~~ff"]
)
def test_value_of_the_environment_is_redacted_in_whatever_form(form: str, say: object, value: str) -> None:
    """Nothing about such a value needs to look secret: that it is one, the environment says."""
    assert callable(say)
    text = say(value)
    redacted = redact(text, [value])

    assert "[masked: environment value]" in redacted, form
    assert value not in redacted
    assert redact(redacted, [value]) == redacted


def test_letters_that_grow_when_they_are_lowered_shift_nothing() -> None:
    """A dotted capital I becomes two characters in lower case."""
    assert redact("\u0130" * 40 + " password=Xk29fj3k!") == "\u0130" * 40 + " password=[masked: password]"


def test_short_values_are_not_looked_for() -> None:
    """Seven characters stand in texts by chance."""
    assert redact("a letter of seven", ["letters", "of", ""]) == "a letter of seven"


def test_a_value_that_reads_like_a_marker_does_no_harm() -> None:
    """Markers are left alone, whatever the values are."""
    text = "password='Xk29fj3k!' and masked: password"
    values = ["masked: password", "password]", "[masked: ", "environment value"]
    once = redact(text, values)

    assert redact(once, values) == once
    assert "Xk29fj3k" not in once


def test_a_token_that_begins_with_a_value_is_redacted_whole() -> None:
    """The part of a token behind the value would be a leak."""
    token = "gh" + "p_" + "a1B2c3D4e5" * 4

    assert redact(f"see {token}", [token[:12]]) == "see [masked: GitHub token]"


def test_the_secret_headers_in_a_variable_are_secret_values() -> None:
    """A gateway's error may repeat them bare; what is no secret there stays."""
    lines = "X-Gateway-Auth: quartz-sphinx-42\nx-tenant: the-tenant-name\nAuthorization: Bearer basalt-heron-7"
    environ = {"ANTHROPIC_CUSTOM_HEADERS": lines, "OTEL_EXPORTER_OTLP_HEADERS": "a=b12345678,api-key=ochre-linnet-9"}

    assert secret_values(environ) == {"quartz-sphinx-42", "basalt-heron-7", "ochre-linnet-9"}


def test_secret_values_are_those_of_variables_named_like_secrets() -> None:
    """KEY, TOKEN, SECRET, PASSWORD and their like."""
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
        ("XAUTHORITY", "/run/user/1000/gdm/Xauthority"),
        ("PWD", "/home/ann/project"),
        ("GIT_AUTHOR_NAME", "Ann Example"),
        ("KEYBOARD_LAYOUT", "de-latin1"),
        ("MAX_OUTPUT_TOKENS", "1234567890"),
        ("TOKENIZERS_PARALLELISM", "disabled"),
        ("USE_TOKEN_AUTH", "required"),
        ("API_KEY", "short"),
        ("API_KEY", "your-api-key-here"),
        ("AUTH_URL", "https://auth.example.org/login"),
        ("KEY_FILE", "C:\\keys\\app.pem"),
        ("POSTGRES_PASSWORD", "postgres"),
        ("HOME", "value-that-is-long"),
    ],
)
def test_harmless_variables_are_no_secrets(name: str, value: str) -> None:
    """Paths, numbers, switches, addresses, placeholders, words, and names that only sound alike."""
    assert secret_values({name: value}) == frozenset()


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("a <private>b</private> c", "a  c"),
        ("a <PRIVATE>b</Private> c", "a  c"),
        ("a <private>b <private>c</private> d</private> e", "a  e"),
        ("a <private>b <private>c</private> d", "a "),
        ("a <private>b\nc", "a "),
        ("a </private> b", "a </private> b"),
        ('a <private reason="x">b</private >c', "a c"),
        ("a <privateer>b</privateer>", "a <privateer>b</privateer>"),
        ("<private>a</private>b<private>c</private>", "b"),
        ("", ""),
    ],
)
def test_private_parts_are_left_out_whole(text: str, left: str) -> None:
    """Nested, in any case, and to the end where nothing closes them; a closing tag alone closes nothing."""
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
    st.lists(st.sampled_from([made.text for made in made_up_secrets(6)]), max_size=3).map("".join),
)


@given(
    _TEXTS, st.lists(st.one_of(st.text(min_size=8), st.lists(_PIECES, min_size=2, max_size=4).map("".join)), max_size=3)
)
def test_redacting_is_idempotent_and_never_fails(text: str, values: list[str]) -> None:
    """Whatever a text and the values are made of."""
    once = redact(text, values)

    assert redact(once, values) == once
    without_private(text)


@example(["password: models2.PasswordField2", "x"], ";")
@example(["password=None", "auth: httpx2.Auth"], " ")
@given(
    st.lists(st.sampled_from([*HARMLESS, "Ein Satz.", "\u4f60\u597d", "\n\n", "\ud800", "\0"]), max_size=8),
    st.sampled_from("\n ;"),
)
def test_text_without_secrets_is_unchanged(parts: list[str], between: str) -> None:
    """Harmless texts side by side are harmless."""
    text = f"{between}\n".join(parts)

    assert redact(text) == text


@given(st.sampled_from(_MADE_UP), st.sampled_from(HARMLESS), st.sampled_from(HARMLESS))
def test_a_secret_is_found_among_other_text(made: MadeUp, before: str, after: str) -> None:
    """What stands around a secret does not hide it."""
    assert not made.leaks_into(redact(f"{before}\n{made.text}\n{after}"))


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ('password = "harbor-lantern"', "harbor-lantern"),
        ("openssl rsa -in a.key -passin pass:zimtstern -out b.key", "zimtstern"),
        ("db:\n  pass: 'copper.kettle'", "copper.kettle"),
        ('new NetworkCredential("svc", "granite.fjord", "CORP")', "granite.fjord"),
        ("La contraseña es Pan&Queso12, no la cambies", "Pan&Queso12"),
        ("Пароль: Ясень_в_поле", "Ясень_в_поле"),
        ("smtp_password: Brieföffner8", "Brieföffner8"),
        ("Kennwort:Waschbär7 (Groß- und Kleinschreibung beachten)", "Waschbär7"),
    ],
)
def test_words_that_people_join_are_passwords(text: str, secret: str) -> None:
    """Where the name leaves no doubt; and the parts of a literal are read as one."""
    assert secret not in redact(text)


@pytest.mark.parametrize(
    "text",
    [
        "password: \"{{ lookup('vault', 'secret=kv/db:password') }}\"",
        'print(f"password={password!r}")',
        '"password": "login.password.label"',
        "assert digits == ['2', '3', '4', '5', '6', '7', '8', '9']",
        'copy_with_auth(client, helper="session-tool-runner")',
        "PASS-2041: pin-code screen flickers",
        "'password' => ['required', Password::min(10)->letters()],",
        "LoadCredential=db-password:/etc/creds/db-password",
        '"hashed_secret": "3b8b6a3c7f0e4d5a9c1b2e3f4a5d6c7b8e9f0a1b"',
        "Passwort: Pflichtfeld, mindestens zehn Zeichen",
        "if this key has no hash, it will fail when used with them",
        'pass "detached_payload" when the header says so',
    ],
)
def test_joined_words_of_code_are_no_passwords(text: str) -> None:
    """Names of settings, of texts and of arguments."""
    assert redact(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "db:\n  host: db.internal\n  user: shop\n  password: §",
        "[client]\nuser = root\npassword = §",
        '{"username": "noreply", "port": 587, "pass": "§"}',
        "password: '§',\n  host: 'localhost',",
        'user "anna" password "§"',
        "ansible_become_password: §",
        "mail.smtp.password=§",
        "password=§",
        "wget --user=anna --password=§ https://x.io/a",
        "host=db user=crm password=§ sslmode=disable",
        'new SqlConnection("Server=.;User Id=sa;Pwd=§")',
        "<password>§</password>",
        "ENV MYSQL_PASSWORD §",
        "define('DB_PASSWORD', '§');",
        'password <- "§"',
        'public string Password { get; set; } = "§";',
        "ALTER ROLE app PASSWORD '§';",
        'new PDO("mysql:host=localhost;dbname=a", "a", "§");',
        'client.login("anna", "§")',
        "htpasswd -b .htpasswd anna §",
    ],
)
@pytest.mark.parametrize("word", ["blumenkohl", "strawberry"])
def test_a_plain_word_is_a_password_where_it_is_set(text: str, word: str) -> None:
    """By its name, its place, or who logs in beside it."""
    assert word not in redact(text.replace("§", word))


@pytest.mark.parametrize(
    "text",
    [
        "username: string\npassword: string",
        "user = account\npassword = reply\nconnect(user, password)",
        '{"errors": {"user": "taken", "password": "mismatch"}}',
        "create(username=name, password=candidate)",
        "SET PASSWORD policy",
        "PASSWORD=`openssl rand -hex 12`",
        'login("anna", callback)',
        "admin_password: generated",
    ],
)
def test_a_plain_word_is_no_password_where_it_may_be_said_of_one(text: str) -> None:
    """In forms and messages, and as a variable."""
    assert redact(text) == text


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece",
    [
        *("a", "-", ":", '"', "\\\\", "eyJ", "eyJ.", "-eyJ", "\\neyJa.", "sk-", "sk-ant-", ":AA", "12345678:A", "AKIA"),
        *("://", "://a:", "://a:b", "a@", ":5432:a:b:", "&sig=", "M" + "a" * 23 + ".aaaaaa.", "Ma."),
        *(
            "password",
            "password=",
            "password=' ",
            'password:"',
            'password=\\"',
            "passwordvalue=",
            "pass>",
            "\u0130token=",
        ),
        *(
            "token ",
            "token is ",
            "key,",
            "secret for the ",
            "api_key = \n",
            "a_key",
            "_key" * 20,
            "PASSWORD=",
            "--token=",
        ),
        *(
            "[masked: ",
            "[masked: a",
            "BEGIN ",
            _BEGIN,
            f"{_BEGIN}\nAAAA",
            _BEGIN + "A" * 30 + "\n",
            "<private>",
            "<private ",
        ),
        *("Cookie: a=b;", "cookie:a=", "Bearer ", "Bearer\t\t", "Authorization: Basic aaaa"),
        *("login a password ", "mysql -", "mysql ", "curl -u a:", "redis-cli -a ", "docker login ", "echo a:", "curl"),
        *(
            "| a | token |\n",
            "token, a\n",
            "token  a",
            "kind: Secret\n",
            "kind: Secret\ndata:\n  a: bcdef\n",
            "data:\n",
        ),
        *(
            "tokens = [",
            "tokens:\n- a",
            "a, ",
            "password {",
            "password:\n\n",
            "password =\n'",
            " is the key",
            "words: ",
        ),
        *("/hook/a", "kty", "auth(a,", "-u a -p ", "password for a ", "%3D", "token | ", "x=1 token: {"),
        *("\\u0022", "\\\\u003d", "\x1b[0m", "\x1b[", "assword: \nsend", "abandon ", "a" * 50 + " is the key "),
    ],
)
def test_no_text_takes_long(piece: str, harmless_s: float) -> None:
    """40 KB of what begins like a secret, again and again, are through in linear time: less than 100 times that of
    harmless words. What is quadratic takes several hundred times as long."""
    assert _cost_s(piece * (_LENGTH // len(piece))) < 100 * harmless_s


@pytest.fixture(scope="module")
def harmless_s() -> float:
    """The seconds that a harmless text takes."""
    return min(_cost_s("these are words " * (_LENGTH // 16)) for _ in range(5))


def _cost_s(text: str) -> float:
    """The seconds of the processor that *text* takes."""
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
def test_a_message_tells_no_secret_and_no_user(message: str, shown: str) -> None:
    """Whatever another program or library put into it; paths and names with an @ stay."""
    environ = {"ANTHROPIC_API_KEY": "qzv81kkd0-key", "ANTHROPIC_BASE_URL": "https://u:c0rrect-h0rse@host"}

    assert redact_message(message, environ) == shown


def test_a_message_has_a_length() -> None:
    """Redacted first, then cut: half a secret isn't known for one. A hostile one takes no time."""
    long = redact_message("x " * 95 + "ghp_" + "a1B2" * 9 + " y" * 10**6, {}, max_chars=200)

    assert len(long) == 200
    assert "ghp_" not in long
    began = time.process_time()
    redact_message("a" * 10**6 + "@", {})
    redact_message("://u:" * 10**5 + "@", {})
    assert time.process_time() - began < 5
