"""Secrets known by the name beside them: `password=`, `"api_key": "..."`, `--token xyz`.

At each stem of such a name three questions decide: does a value follow (mostly none does), does the name mean a
secret, does the value look like one.
"""

import re
from collections.abc import Iterator
from functools import lru_cache

from playbook_db.domain.redaction.entropy import is_random, is_secret
from playbook_db.domain.redaction.token_patterns import Secret

_STEM = re.compile(r"\[masked: [a-z ]{1,30}\]|pass|pwd|secret|token|key|credential|auth")
_TAIL = re.compile(r"[A-Za-z0-9_-]{0,40}(?:[ ](?:key|token|secret|value|code|phrase|string)(?![A-Za-z0-9_]))?")
_QUOTE = r"""\\{0,8}(?:\"{3}|'{3}|["'`])"""
_TO_VALUE = re.compile(
    rf"""
    (?:\\{{0,8}}["'`]|[\]*]){{0,4}}
    (?:[ ]?:[ ]?(?:str|bytes|string|String|SecretStr|&(?:'static[ ])?str|Optional\[str\]|str[ ]?\|[ ]?None)[ ]?(?==))?
    (?:
      (?P<assign>
        ,?(?:\s|\\n){{0,30}}(?:{_QUOTE})?[vV]alue(?:{_QUOTE})?[ ]?[=:][ ]?
        | [ \t]{{0,40}}(?:=>|:=|\?=|\+=|[=!]==?|=|:)[ \t]{{0,20}}\*{{0,2}}[ \t]{{0,20}}
      )
      | (?P<xml>>)
      | (?P<comma>,[ ]{{0,3}}(?=\\{{0,8}}["'`]))
      | (?P<prose>(?:[ ](?:for|of|to|on|in)[ ](?:the[ ]|our[ ]|my[ ])?[\w@./-]{{1,40}}(?:[ ][\w.-]{{1,40}})?)?
          [ ](?:is|was|are|equals|to|used[ ]is)(?:[ ]now)?:?[ ]{{1,3}})
      | (?P<space>[ \t]{{1,20}}(?=\S{{6}}))
    )
    (?:[bBrRuUfF@$]{{1,2}}(?=\\{{0,8}}["'])|(?:SecretStr|Secret)\()?
    (?P<open>{_QUOTE})?
    """,
    re.VERBOSE,
)
_BARE = re.compile(r"""(?:\[masked:\s[A-Za-z ]{1,30}\]|(?!\\+[nrt"'])[^\s"'`,;&<>)\]}|])+""")
_BARE_LITERAL = re.compile(r"""(?:\[masked:\s[A-Za-z ]{1,30}\]|(?!\\+[nrt"'])[^\s"'`])+""")
_NAME_SIGNS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
_MAX_SEARCHED = 128  # characters; a longer value that is no secret is not searched for names
_HAS_DIGIT = re.compile("[0-9]")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_SETS = re.compile(r"(?:^|[\s\"'(])(?:ENV|ARG|setenv|set(?: -\w+)*|setx|SET)[ ]$")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# A name with one of these words at its end is about a secret: `token_count`.
_ABOUT = _words(
    "count type url uri name names ref refs path file field fields id ids length len limit hash expiry expires "
    "expire expired ttl var class provider service store policy arn regex pattern label placeholder input prompt "
    "column header headers hint error errors reset manager generator validator handler helper factory callback "
    "algorithm alg method mode endpoint required enabled disabled tokens keys index idx size format usage budget "
    "form view screen page button text title message msg rules rule strength min max at by from with node kind "
    "version stream ring word board press chain frame map set list func function fn dir folder host server user "
    "username email status state level scope scopes audience issuer source backend model schema table query param "
    "params parameter arg args attr option options config settings bits checksum digest fingerprint sha md5 public "
    "pub less izer ize"
)
_AFTERTHOUGHTS = _words(
    "prod production dev test testing staging live local default old new current plain plaintext value string base "
    "b encoded main primary secondary backup v raw db github gitlab aws"
)
_PASSWORDS = ("password", "passwd", "passphrase", "passcode", "passwrd", "pwd")
_KEYED = _words(
    "api access private secret encryption encrypt signing sign account master auth shared client ssh hmac jwt "
    "session storage admin service deploy license app application security webhook aes rsa gpg stripe sendgrid "
    "twilio mailgun openai anthropic azure aws google gcp maps cohere groq mistral deepseek datadog algolia cipher "
    "crypto decryption subscription functions"
)
_PUBLIC_KEYS = _words("public cache primary foreign partition sort object publishable idempotency row index")
_GLUED_KEYS = ("apikey", "accesskey", "secretkey", "privatekey", "accountkey", "authkey", "masterkey", "signingkey")


def assignments(text: str) -> Iterator[Secret]:
    """The values in *text* that have the name of a secret and look like one."""
    folded = text.replace("\u0130", "i").lower()  # the one character that grows when it is lowered
    done = 0
    for stem in _STEM.finditer(folded):
        if stem.start() < done or stem[0][0] == "[":
            continue
        found = _value(text, stem.start(), stem.end())
        if found is None:
            continue
        start, end, kind = found
        if kind:
            yield start, end, kind
        if kind or end - start > _MAX_SEARCHED:
            done = end


def _value(text: str, start: int, end: int) -> Secret | None:
    """The value that has the name whose stem is at *start*, and its kind, "" where it doesn't look like a secret.

    None where there is no value, or the name means no secret.
    """
    tail = _TAIL.match(text, end)
    name_end = tail.end() if tail else end
    to_value = _TO_VALUE.match(text, name_end)
    if to_value is None:
        return None
    begin = _name_start(text, start)
    if not _may_follow(text, begin, to_value):
        return None
    name = text[begin:name_end]
    kind = _kind(name)
    if kind is None:
        return None
    quoted = to_value["open"] is not None or to_value["xml"] is not None
    in_prose = to_value["prose"] is not None
    # A shell's values need no quotes: after an option, and after a variable, which is in capitals.
    in_shell = name.startswith("-") or (to_value["assign"] == "=" and name.isupper())
    at = to_value.end()
    value = text[at : _value_end(text, at, to_value["open"], in_shell=in_shell)]
    if in_prose and not quoted:
        value = value.rstrip(".:!?")
    end = at + len(value)
    value = value.rstrip(";,")  # redacted with the value, as it may be its end; but no part of a path
    assigns = not in_prose and to_value["comma"] is None
    is_clear = (assigns or _HAS_DIGIT.search(value)) and (kind != "key" or is_random(value))
    literal = quoted or in_shell or in_prose
    return at, end, kind if is_clear and is_secret(value, password=kind == "password", literal=literal) else ""


def _may_follow(text: str, begin: int, to_value: re.Match[str]) -> bool:
    """Whether the text before the name, which begins at *begin*, fits the text between name and value."""
    if to_value["space"] is not None:
        if text.startswith("-", begin) or _SETS.search(text, max(begin - 40, 0), begin):
            return True
        return "authorization" in text[max(begin - 40, 0) : begin].lower()
    if to_value["xml"] is not None:
        return (
            text[max(begin - 1, 0) : begin] in ("<", ":") and text.find("</", to_value.end(), to_value.end() + 300) > 0
        )
    if to_value["comma"] is not None:
        return text[max(begin - 3, 0) : begin].rstrip("\"'`\\").endswith("(")
    return True


def _name_start(text: str, start: int) -> int:
    """Where the name begins whose stem is at *start*; to a bare `key` belongs the word before it: `API key`."""
    before = text[max(start - 60, 0) : start]
    bare = before.rstrip(_NAME_SIGNS)
    if len(bare) == len(before) and before.endswith(" "):
        previous = before[:-1]
        word = previous[len(previous.rstrip(_NAME_SIGNS)) :]
        if word.lower() in _KEYED:
            return start - len(word) - 1
    begin = start - len(before) + len(bare)
    is_after_escape = bare.endswith("\\") and begin < start and text[begin] in "nrt"  # a line break inside of JSON
    return begin + 1 if is_after_escape else begin


@lru_cache(maxsize=1024)
def _kind(whole: str) -> str | None:
    """The kind of secret that the name *whole* means; None for none."""
    kind = _kind_of([word.lower() for word in _WORD.findall(whole)])
    if kind is None and whole.isupper() and whole.rstrip("0123456789").endswith("_KEY"):
        kind = None if _PUBLIC_KEYS & set(whole.lower().split("_")) else "key"
    return "AWS key" if kind in ("secret", "token", "key") and "aws" in whole.lower() else kind


def _kind_of(words: list[str]) -> str | None:
    """The same for the words of the name."""
    while len(words) > 1 and words[-1] in _AFTERTHOUGHTS:
        words = words[:-1]
    if not words or words[-1] in _ABOUT:
        return None
    for place, word in enumerate(words):
        if word.endswith(_PASSWORDS) or (word.endswith("pass") and word not in ("bypass", "compass", "overpass")):
            return "password"
        if word.endswith("secret") or word.startswith("secretkey"):
            return "secret"
        if word.endswith("token"):
            return "token"
        if word.endswith(_GLUED_KEYS) or (word == "key" and place and words[place - 1] in _KEYED):
            return "key"
        if word in ("credential", "credentials"):
            return "credential"
    return "credential" if words[-1] in ("auth", "authorization") else None


def _value_end(text: str, start: int, quote: str | None, *, in_shell: bool) -> int:
    if quote is None:
        bare = (_BARE_LITERAL if in_shell else _BARE).match(text, start, start + 4097)
        return bare.end() if bare else start
    limit = start + 4097
    end = text.find(quote, start, limit)
    while end > start and not quote.startswith("\\") and _is_escaped(text, start, end):
        end = text.find(quote, end + 1, limit)
    line = text.find("\n", start, limit)
    return start if end < 0 or 0 <= line < end else end


def _is_escaped(text: str, start: int, at: int) -> bool:
    before = text[max(start, at - 16) : at]
    return (len(before) - len(before.rstrip("\\"))) % 2 == 1
