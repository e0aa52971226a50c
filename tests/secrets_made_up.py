"""Secrets that never were: made at run time from seeded randomness, each in the kinds of text where secrets turn up.

No secret stands here as a literal, and prefixes are put together from parts, so that scanners keep quiet.
"""

import base64
import json
import random
import re
import string
import textwrap
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass

_ALNUM = string.ascii_letters + string.digits
_HEX = "0123456789abcdef"
_URL_SAFE = f"{_ALNUM}-_"
_BASE64 = f"{_ALNUM}+/"
_SIGNS = f"{_ALNUM}!#%+^_-"
_WORDS = ("winter", "harbour", "copper", "lantern", "meadow", "orchid", "saddle", "thunder", "velvet", "walnut")

Chance = random.Random


@dataclass(frozen=True, slots=True)
class MadeUp:
    """A secret of a *kind*, and a *text* that holds it."""

    kind: str
    secret: str
    text: str

    def leaks_into(self, redacted: str) -> bool:
        """Whether *redacted* still holds the secret, or twelve characters of it in a row."""
        runs = re.findall(r"[A-Za-z0-9+/_=-]{12,}", self.secret)
        parts = {run[place : place + 12] for run in runs for place in range(len(run) - 11)}
        return self.secret in redacted or any(part in redacted for part in parts)


def made_up_secrets(seed: int) -> list[MadeUp]:
    """Secrets of all kinds, each in prose, code, JSON, a dump of the environment and over several lines."""
    chance = random.Random(seed)
    made: list[MadeUp] = []
    for kind, make in TOKENS.items():
        for context in _CONTEXTS:
            secret = make(chance)
            made.append(MadeUp(kind, secret, context(secret)))
    for kind, (make, texts) in NAMED.items():
        for text in texts:
            secret = make(chance)
            made.append(MadeUp(kind, secret, text.replace("@SECRET@", secret)))
    return [*made, *_keys(chance)]


def _some(chance: Chance, signs: str, length: int) -> str:
    """*length* of *signs*, with at least one digit and one letter, as every random secret of some length has."""
    while True:
        made = "".join(chance.choices(signs, k=length))
        if re.search("[0-9]", made) and re.search("[A-Za-z]", made) and made[0].isalnum() and made[-1].isalnum():
            return made


def _token(prefix: str, signs: str, length: int, after: str = "") -> Callable[[Chance], str]:
    return lambda chance: prefix.replace("~", "") + _some(chance, signs, length) + after


def _jwt(chance: Chance) -> str:
    def part(content: dict[str, object]) -> str:
        return base64.urlsafe_b64encode(json.dumps(content).encode()).decode().rstrip("=")

    payload = part({"sub": _some(chance, string.digits + "ab", 10), "iat": chance.randrange(10**9, 2 * 10**9)})
    return f"{part({'alg': 'HS256', 'typ': 'JWT'})}.{payload}.{_some(chance, _URL_SAFE, 43)}"


def _dotted(prefix: str, *parts: tuple[str, int], by: str = ".") -> Callable[[Chance], str]:
    return lambda chance: prefix.replace("~", "") + by.join(_some(chance, signs, length) for signs, length in parts)


def _slack(chance: Chance) -> str:
    return "-".join(
        ["xox" + "b", *(str(chance.randrange(10**11, 10**12)) for _ in range(2)), _some(chance, _ALNUM, 24)]
    )


TOKENS: dict[str, Callable[[Chance], str]] = {
    "AWS id": _token("AK~IA", string.ascii_uppercase + "234567", 16),
    "AWS temporary id": _token("AS~IA", string.ascii_uppercase + "234567", 16),
    "Anthropic": _token("sk-a~nt-api03-", _URL_SAFE, 93, "AA"),
    "OpenAI": _token("s~k-", _ALNUM, 48),
    "OpenAI project": _token("sk-p~roj-", _URL_SAFE, 124),
    "OpenAI service account": _token("sk-sv~cacct-", _URL_SAFE, 124),
    "OpenRouter": _token("sk-o~r-v1-", _HEX, 64),
    "GitHub classic": _token("gh~p_", _ALNUM, 36),
    "GitHub fine-grained": _token("github~_pat_", _ALNUM, 82),
    "GitHub app": _token("gh~s_", _ALNUM, 36),
    "GitHub user to server": _token("gh~u_", _ALNUM, 36),
    "GitHub OAuth": _token("gh~o_", _ALNUM, 36),
    "GitHub refresh": _token("gh~r_", _ALNUM, 76),
    "GitLab": _token("glp~at-", _URL_SAFE, 20),
    "GitLab runner": _token("glr~t-", _URL_SAFE, 20),
    "GitLab deploy": _token("gld~t-", _URL_SAFE, 20),
    "Slack bot": _slack,
    "Slack app": lambda chance: "xap" + "p-1-A" + _some(chance, _ALNUM.upper(), 10) + "-" + _some(chance, _HEX, 64),
    "JWT": _jwt,
    "Stripe": _token("sk_l~ive_", _ALNUM, 24),
    "Stripe restricted": _token("rk_l~ive_", _ALNUM, 99),
    "Stripe webhook": _token("whs~ec_", _ALNUM, 32),
    "Google key": _token("AI~za", _URL_SAFE, 35),
    "Google client secret": _token("GOC~SPX-", _URL_SAFE, 28),
    "Google access": _token("ya2~9.", _URL_SAFE, 60),
    "npm": _token("np~m_", _ALNUM, 36),
    "PyPI": _token("py~pi-AgEIcHlwaS5vcmc", _URL_SAFE, 150),
    "Hugging Face": _token("h~f_", _ALNUM, 34),
    "Twilio": _token("S~K", _HEX, 32),
    "SendGrid": _dotted("S~G.", (_URL_SAFE, 22), (_URL_SAFE, 43)),
    "Mailgun": _token("ke~y-", _HEX, 32),
    "DigitalOcean": _token("dop~_v1_", _HEX, 64),
    "Discord bot": lambda chance: "M" + _dotted("", (_ALNUM, 23), (_URL_SAFE, 6), (_URL_SAFE, 38))(chance),
    "Telegram": lambda chance: f"{chance.randrange(10**9, 10**10)}:AA" + _some(chance, _URL_SAFE, 33),
    "Databricks": _token("da~pi", _HEX, 32),
    "Shopify": _token("shp~at_", _HEX, 32),
    "Docker Hub": _token("dckr~_pat_", _URL_SAFE, 27),
    "Vault": _token("hv~s.", _URL_SAFE, 90),
    "Azure client": lambda chance: _some(chance, _ALNUM, 3) + "8Q" + "~" + _some(chance, _ALNUM + "_.-", 34),
    "Groq": _token("gs~k_", _ALNUM, 52),
    "age": _token("AGE-SEC~RET-KEY-1", "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58),
}


def _prose(secret: str) -> str:
    return f"I tried it with {secret} and the server answered. Shall I go on?"


def _code(secret: str) -> str:
    return f'from service import Client\n\nclient = Client("{secret}", timeout_s=30)\nprint(client.whoami())\n'


def _json(secret: str) -> str:
    said = {"role": "user", "content": [{"type": "text", "text": f"Here it is:\n{secret}\nUse it."}]}
    return json.dumps({"type": "user", "message": json.dumps(said)})


def _env(secret: str) -> str:
    return f"SHELL=/bin/bash\nLANG=C.UTF-8\nSERVICE={secret}\nHOME=/home/ann\nSHLVL=1\n"


def _lines(secret: str) -> str:
    return f"$ cat notes.txt\n  - host: example.org\n  - {secret}\n  - port: 8080\n\x1b[32m{secret}\x1b[0m\n"


_CONTEXTS = (_prose, _code, _json, _env, _lines)


def _password(chance: Chance) -> str:
    return _some(chance, _SIGNS, chance.randrange(10, 25))


def _memorable(chance: Chance) -> str:
    return f"{chance.choice(_WORDS).title()}{chance.choice(_WORDS).title()}{chance.randrange(10, 9999)}!"


def _aws_secret(chance: Chance) -> str:
    return _some(chance, _BASE64, 40)


def _hex32(chance: Chance) -> str:
    return _some(chance, _HEX, 32)


def _opaque(chance: Chance) -> str:
    return _some(chance, _ALNUM, chance.randrange(20, 48))


def _uuid(chance: Chance) -> str:
    return str(uuid.UUID(int=chance.getrandbits(128), version=4))


def _basic(chance: Chance) -> str:
    return base64.b64encode(f"{chance.choice(_WORDS)}:{_some(chance, _ALNUM, 14)}".encode()).decode()


# What only the name beside it gives away: how it is made, and the texts it stands in, at @SECRET@.
NAMED: dict[str, tuple[Callable[[Chance], str], tuple[str, ...]]] = {
    "password": (
        _password,
        (
            'password = "@SECRET@"\n',
            "DB_PASSWORD=@SECRET@\nDB_HOST=db\n",
            "export PGPASSWORD='@SECRET@'",
            '{"user": "ann", "password": "@SECRET@", "port": 5432}',
            '{"text": "{\\"password\\": \\"@SECRET@\\"}"}',
            "database:\n  user: ann\n  password: @SECRET@\n  port: 5432\n",
            '[database]\npassword = "@SECRET@"\nport = 5432\n',
            "mytool login --user ann --password @SECRET@ --verbose",
            "mytool login --password='@SECRET@'",
            "The password is @SECRET@, please keep it.",
            "PASSWORD: @SECRET@",
            "**Password:** `@SECRET@`",
            "Server=db;Database=app;User Id=sa;Password=@SECRET@;Encrypt=true",
            'self.connect(user="ann", password="@SECRET@", host="db")',
            "conn = connect(f'host=db user=ann', passwd='@SECRET@')",
            "<user>ann</user><password>@SECRET@</password>",
            "env:\n  - name: DB_PASSWORD\n    value: @SECRET@\n",
            '"Env": ["DB_PASSWORD=@SECRET@", "PATH=/bin"]',
            "docker run -e MYSQL_ROOT_PASSWORD=@SECRET@ mysql:8",
            'DB_PASS: str = "@SECRET@"',
            "const dbPassword = '@SECRET@';",
            '     7\t    "adminPassword": "@SECRET@",',
            "+spring.datasource.password=@SECRET@",
            "sshpass -p '@SECRET@' ssh ann@host",
        ),
    ),
    "memorable password": (
        _memorable,
        (
            'password: "@SECRET@"',
            "ADMIN_PASSWORD=@SECRET@",
            "the password is @SECRET@",
            '"passwd": "@SECRET@"',
            "passphrase = '@SECRET@'",
        ),
    ),
    "password in a URL": (
        lambda chance: _some(chance, f"{_ALNUM}!._-", 16),
        (
            "git clone https://ann:@SECRET@@git.example.org/repo.git",
            "DATABASE_URL=postgresql://app:@SECRET@@db.internal:5432/app?sslmode=require",
            '{"url": "redis://:@SECRET@@cache:6379/0"}',
            "mongodb+srv://app:@SECRET@@cluster0.example.mongodb.net/test",
            "curl -u ann:@SECRET@ https://api.example.org/v1",
        ),
    ),
    "AWS secret": (
        _aws_secret,
        (
            "AWS_SECRET_ACCESS_KEY=@SECRET@\nAWS_REGION=eu-west-1\n",
            "[default]\naws_secret_access_key = @SECRET@\n",
            '{"SecretAccessKey": "@SECRET@", "Expiration": "2026-01-01T00:00:00Z"}',
            "aws configure set aws_secret_access_key @SECRET@",
            "Here is the AWS secret access key: @SECRET@",
            'boto3.client("s3", aws_secret_access_key="@SECRET@")',
        ),
    ),
    "API key": (
        _opaque,
        (
            'api_key = "@SECRET@"',
            '"apiKey": "@SECRET@",',
            "X-Api-Key: @SECRET@",
            "curl -H 'X-API-Key: @SECRET@' https://api.example.org",
            "https://api.example.org/v1?api_key=@SECRET@&page=2",
            "My API key is @SECRET@.",
            "MAPS_API_KEY=@SECRET@",
            "tool --api-key @SECRET@",
            "SENDGRID_KEY=@SECRET@",
        ),
    ),
    "token": (
        _opaque,
        (
            "export TOKEN=@SECRET@",
            'token: "@SECRET@"',
            "Authorization: Bearer @SECRET@",
            '{"headers": {"Authorization": "Bearer @SECRET@"}}',
            'headers = {"Authorization": "token @SECRET@"}',
            "access_token=@SECRET@&token_type=bearer",
            "PRIVATE-TOKEN: @SECRET@",
            "tool --token=@SECRET@ run",
            '{"accessToken":"@SECRET@","refreshToken":null}',
            'os.environ["DEPLOY_TOKEN"] = "@SECRET@"',
        ),
    ),
    "client secret": (
        _opaque,
        (
            'client_secret = "@SECRET@"',
            "CLIENT_SECRET: @SECRET@",
            '"clientSecret": "@SECRET@"',
            "secret_key: '@SECRET@'",
        ),
    ),
    "Heroku": (_uuid, ("HEROKU_API_KEY=@SECRET@", 'heroku_api_key: "@SECRET@"')),
    "Twilio auth": (_hex32, ("TWILIO_AUTH_TOKEN=@SECRET@", 'auth_token="@SECRET@"')),
    "basic header": (_basic, ("Authorization: Basic @SECRET@", '-H "Authorization: Basic @SECRET@"')),
    "Docker": (_basic, ('{"auths": {"https://index.docker.io/v1/": {"auth": "@SECRET@"}}}',)),
    "npm registry": (_uuid, ("//registry.npmjs.org/:_authToken=@SECRET@\n", "_auth=@SECRET@")),
    "cookie": (
        _opaque,
        ("Cookie: theme=dark; session=@SECRET@; lang=en", "Set-Cookie: sid=@SECRET@; Path=/; HttpOnly"),
    ),
    "netrc": (
        _password,
        ("machine api.example.org login ann password @SECRET@", "machine h\n  login ann\n  password @SECRET@\n"),
    ),
    "pgpass": (
        lambda chance: _some(chance, _ALNUM, 14),
        ("db.example.org:5432:app:ann:@SECRET@\n", "*:*:*:ann:@SECRET@"),
    ),
    "Slack webhook": (
        lambda chance: "/".join(_some(chance, _ALNUM, length) for length in (9, 11, 24)),
        (
            "curl -d @m.json https://hooks.slack.com/services/@SECRET@",
            '"url": "https://hooks.slack.com/services/@SECRET@"',
        ),
    ),
    "Discord webhook": (
        lambda chance: _some(chance, _URL_SAFE, 68),
        ("https://discord.com/api/webhooks/123456789012345678/@SECRET@ is the webhook",),
    ),
    "Azure storage": (
        lambda chance: _some(chance, _BASE64, 86) + "==",
        (
            "DefaultEndpointsProtocol=https;AccountName=store;AccountKey=@SECRET@;EndpointSuffix=core.windows.net",
            '{"conn": "Endpoint=sb://bus.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey=@SECRET@"}',
        ),
    ),
    "Azure signature": (
        lambda chance: _some(chance, _ALNUM, 43) + "%3D",
        ("https://store.blob.core.windows.net/c/b?sv=2022-11-02&sig=@SECRET@",),
    ),
}


def _keys(chance: Chance) -> Iterator[MadeUp]:
    for name in ("RSA ", "EC ", "OPENSSH ", "ENCRYPTED ", "", "PGP "):
        key = _key_lines(chance, name)
        block = "\n".join(key)
        secret = "\n".join(key[1:-1])
        indented = textwrap.indent(block, "    ")
        for text in (
            f"The key:\n{block}\nThat was it.",
            f'KEY = """{block}"""\nconnect(KEY)\n',
            json.dumps({"private": block, "type": "service_account"}),
            json.dumps({"content": json.dumps({"file": block})}),
            f"spec:\n  data: |\n{indented}\n  more: yes\n",
            "\n".join(f"{number:6}\t{line}" for number, line in enumerate(key, 1)),
            "\n".join(f"+{line}" for line in key),
            f"$ head -9 key\n{block[: len(block) * 2 // 3]}",
            json.dumps({"out": block[: len(block) // 2]}),
        ):
            yield MadeUp(f"private key ({name.strip() or 'PKCS 8'})", secret, text)


def _key_lines(chance: Chance, name: str) -> list[str]:
    ending = " BLOCK" if name == "PGP " else ""
    title = f"{name}PRIVATE" + f" KEY{ending}"
    body = [_some(chance, _BASE64, 64) for _ in range(chance.randrange(6, 26))]
    if name == "RSA ":
        body = ["Proc-Type: 4,ENCRYPTED", "DEK-Info: AES-128-CBC,0123456789ABCDEF", "", *body]
    return [f"-----BEGIN {title}-----", *body, _some(chance, _BASE64, 23) + "=", f"-----END {title}-----"]
