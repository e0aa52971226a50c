"""Telling secrets and other random values from placeholders, paths, code and plain words."""

import re
from unicodedata import normalize

from playbook_db.domain.redaction import rules
from playbook_db.domain.redaction.regexes import regex

_SHORTEST_PASSWORD = 6  # characters
_SHORTEST = 8
_LONGEST = 4096
_NO_LATIN = "\u0250"  # the first character after the Latin letters

_PLACEHOLDER = regex(
    r"""
    \[masked:                                     # redacted already
    | ^(?:(?:None|null|nil|true|false|undefined|NaN)$ | (.)\1*$ | [xX*•.]{3,}
      | \$[A-Za-z_]\w*$ | \$env: | \{ | %\(?\w*\)?[sdrv]?%?$ | @\w+@$
      | @(?:/[\w/.-]+$|[\w/.-]+\.[a-z]{2,5}$|[A-Z]\w+\.\w+\()
      | [\^~<>=v]{0,3}[0-9]+(?:\.[0-9]+)+(?:[-+~_.][a-z0-9.]+)?$ | [0-9]{1,6}(?:(?:_[0-9]{3})+|\.[a-z]{3,8})$
      | (?:[a-z]{2,8}[-_])?(?:sha|md|aes|des|rsa|ed|hs|rs|es|ps|tls|utf|pbkdf|bcrypt|argon)  # an algorithm
        [-_]?[0-9]{1,4}(?:[-_/:][a-z0-9]{1,8}){0,3}:?$
      | 0x[0-9a-f]{40}$ | (?:19|20)[0-9]{2}-[01][0-9]-[0-3][0-9](?:[T_][0-9:.Z+-]*)?$  # an address, a time
      | (?:error|vault|env|ssm|op): | projects/[\w-]+/secrets/ | Ag[A-D][A-Za-z0-9+/=]{24,}$  # references
      | (?:changeme|redacted|dummy|placeholder)[0-9]{0,4}$ | your | replace_?me | abcdef | (?:sk-|ghp_)?1234567890?$
      | (?:required|nullable|sometimes|string)\| | \#[0-9a-f]{3,8}$ | (?:rgb|hsl)a?\( | \w+![rsa]\})
    | [xX]{4,}|\*{3,}|•{3,}|\.\.\.|… | \$\{ | \$\( | \{\{[ \w.$|\"'-]*\}\} | \}\}$ | example$
    | (?<![A-Za-z0-9])<[A-Za-z_][\w .:-]{0,60}>(?![A-Za-z0-9]) | -(?:encoded|hashed|based|encrypted|protected|only)$
    | \(\? | \[\^?[a-z0-9]-[a-z0-9] | \{[0-9]+,[0-9]*\} | 0123456789 | abcdefghij
    | [/:.\#](?:password|passwd|secret|token|key|value)$ | (?:\\u[0-9a-f]{4}.*){2}
    """,
    re.VERBOSE | re.IGNORECASE,
)
_PLACEHOLDER_WORD = regex(
    r"(?<![a-z0-9])(?:your|my|change_?me|changeit|example|placeholder|redacted|removed|hidden|dummy|fake|sample|replace"
    r"|insert|enter|todo|tbd|goes[_-]here)(?![a-z0-9])",
    re.IGNORECASE,
)
_CODE = regex(r"[$`&]|[A-Za-z_]\w*(?:(?:\.|::|->)[A-Za-z_]\w*)+\(|[A-Za-z_.]*[._][A-Za-z_.]*:?$")
_CAPITALIZED = regex(r"[A-Z][a-z]+(?:[._-][A-Za-z][a-z]*)*[._-]?[0-9]{1,4}[.!?]?")  # `Kite_on_a_roof7`
_JOINED = regex(  # `hq-Lemur-2b`, `Klompen!dans`
    r"(?=.{9})(?!.*(?:[A-Z]{2}|[0-9][._][0-9]|\.[a-z]{1,4}$))(?=.*[A-Z])(?=.*[0-9])(?=.*[a-z]{3})[^\W_]+(?:[._-][^\W_]+)+"
    r"|(?=.*[A-Z])[^\W\d_]{3,}[!&+][^\W\d_]{3,}"
)
_NAMED = regex(r"(?=.{8})(?![a-z]*_[a-z_]*$)(?!.*(?:[A-Z]{2}|[a-z][A-Z]))[^\W\d_]+(?:[._-][^\W\d_]+)+")
_SIGN = regex(r"[^\w./:-]")
PORTS = regex(r"[0-9.:-]+(?:/[a-z]{3})?")
_CALL = regex(r"([A-Za-z_$][\w$.]*)[(\[{]")
_MEMBER = regex(r"[A-Za-z_$][\w$]*(?:(?:\??\.|->|::)[A-Za-z_$][\w$]*){0,10}(?:\??\.|->|::)([A-Za-z_$][\w$]*):?$")
_NO_TOKEN = regex(r"[()\[\]{}<>|\\\"'`;]")
_DATE = regex(r"\b(?:19|20)[0-9]{2}-?[01][0-9]-?[0-3][0-9]\b")
_URL = regex(r"[A-Za-z][A-Za-z0-9+.-]{0,20}://|data:|arn:|urn:|file:|mailto:")
_PATH = regex(r"(?:~|\.{1,2}|[A-Za-z]:)?[/\\][\w .@+,-]*(?:[/\\][\w .@+,-]*)*$")
_RANDOM_SEGMENT = regex(r"(?=[^/\\]*[0-9])(?=[^/\\]*[a-z])(?=[^/\\]*[A-Z])[^/\\]{16,}")
_CHUNK = regex(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_SNAKE = regex(r"_?(?:[a-z]{1,12}(?:[_.-][a-z]{1,12})+|[A-Z]{1,12}(?:[_.-][A-Z]{1,12})+)")
_SLUG = regex(r"[A-Za-z]+(?:[-_][A-Za-z]+){2,}")
_MIXED = regex("(?=(?:[^A-Z]*[A-Z]){2})(?=(?:[^a-z]*[a-z]){2})(?=[^0-9]*[0-9])", re.DOTALL)
_HAS_DIGIT = regex(r"[0-9]")
_NAMES_A_SECRET = regex(
    r"pass|pwd|pw(?![a-z])|secret|token|cred|auth|param|encod|^(?:hash|user|input)|(?:arg|str|hash|user|input|key)$",
    re.IGNORECASE,
)
_PLAIN_WORDS = regex(r"[^\W_][\w.!?'’&#-]*(?: [\w.!?'’&#-]+){1,7}")


def in_ascii(value: str) -> str:
    """Remove accents from Latin letters, since the rules know only ASCII: `Ölkanne_7` becomes `Olkanne_7`."""
    if value.isascii():
        return value
    return "".join(normalize("NFKD", sign)[0] if sign < _NO_LATIN else sign for sign in value)


def is_a_word(value: str) -> bool:
    """Return whether *value* may be a one-word password: `sunflower`."""
    is_lower = 6 <= len(value) <= 24 and value[1:].islower() and value.isalpha()
    return is_lower and not (is_placeholder(value) or _NAMES_A_SECRET.search(value))


def is_passphrase(value: str) -> bool:
    """Return whether *value* may be a passphrase. A sentence about passwords isn't one."""
    words = set(re.findall(r"[^\W_]+", value.lower()))
    is_plain = _PLAIN_WORDS.fullmatch(value) is not None and len(value) < 60
    return is_plain and words.isdisjoint(rules.TALK)


def is_placeholder(value: str) -> bool:
    """Return whether *value* is a placeholder for a secret: `YOUR_API_KEY`, `<token>`, `${TOKEN}`, `xxxx`."""
    if value.lower().rstrip("!?") in rules.TALK or _PLACEHOLDER.search(value):
        return True
    if not _PLACEHOLDER_WORD.search(value):
        return False
    return reads_like_words(value) or (value.islower() and len(_HAS_DIGIT.findall(value)) < 4)


def is_address(value: str) -> bool:
    """Return whether *value* is a path or a URL. Other patterns find secrets inside a URL."""
    path = value[value.find(":/") + 1 :]  # after a name: `db-password:/etc/creds`
    return bool(_URL.match(value) or (_PATH.match(path) and not _RANDOM_SEGMENT.search(value)))


def reads_like_words(value: str) -> bool:
    """Return whether *value* consists of words, like a name in code, and not of random characters.

    Words have few digits, few changes of case, and pairs of letters that are common in English. A value without letters
    (a number, a date, a version) isn't random either, so the result is true.
    """
    chunks = _CHUNK.findall(_DATE.sub("", value))
    words = [chunk.lower() for chunk in chunks if not chunk[0].isdigit()]
    digits = [chunk for chunk in chunks if chunk[0].isdigit()]
    if _SLUG.fullmatch(value):
        return True
    letters = sum(map(len, words))
    if not letters:
        return True
    if len(digits) > 2 or 3 * sum(map(len, digits)) > letters + 6 or 4 * len(chunks) > len(value) + 8:
        return False
    pairs = [word[place : place + 2] for word in words for place in range(len(word) - 1)]
    common = sum(pair in rules.COMMON_PAIRS for pair in pairs)
    return common >= (0.5 if len(pairs) < 10 else 0.62) * len(pairs)


def is_random(value: str) -> bool:
    """Return whether *value* may be a token: it is long enough, and it is neither words nor a placeholder."""
    if value.islower() and value.isalpha() and len(value) < 16:
        return False
    return _SHORTEST <= len(value) <= _LONGEST and not is_placeholder(value) and not reads_like_words(value)


def is_strong(value: str) -> bool:
    """Return whether *value* is clearly random: it has at least 3 lower-case letters, 3 capitals and 3 digits."""
    return is_random(value) and all(len(re.findall(signs, value)) > 2 for signs in ("[A-Z]", "[a-z]", "[0-9]"))


def is_secret(value: str, *, password: bool, literal: bool) -> bool:
    """Return whether *value* is a secret, given that the name beside it means a secret.

    A *password* may be words with a digit or a sign, since people invent it. A *literal* was in quotes or at a place
    without code. Any other value may be an expression in a program.
    """
    shortest = _SHORTEST_PASSWORD if password else _SHORTEST
    if not shortest <= len(value) <= _LONGEST or any(sign.isspace() for sign in value):
        return False
    if is_placeholder(value) or is_address(value):
        return False
    if not literal and is_code(value):
        return False
    if not password and (_SNAKE.fullmatch(value) or _NO_TOKEN.search(value)) and not (literal and is_mixed(value)):
        return False
    if value.isdigit():
        return password
    if not literal and value.isalpha() and _NAMES_A_SECRET.search(value):
        return False
    if password and literal and _NAMED.fullmatch(value):
        return is_joined(value)
    if not reads_like_words(value):
        return len(value) >= _SHORTEST or not value.isalpha()
    if not (password and literal):
        return password and _HAS_DIGIT.search(value) is not None and not _NAMES_A_SECRET.search(value)
    return any(sign.isdigit() or sign in "!@#$%^&*+=?~" for sign in value)


def is_mixed(value: str) -> bool:
    """Return whether *value* mixes lower-case letters, capitals and digits, unlike code."""
    return _MIXED.match(value) is not None and not is_code(value)


def is_invented(value: str) -> bool:
    """Return whether *value* is clearly a password: it has two digits, a digit and a sign, or joined words."""
    digits = len(_HAS_DIGIT.findall(value))
    is_likely = (
        digits > 1 or (digits and _SIGN.search(value)) or _JOINED.fullmatch(value) or _CAPITALIZED.fullmatch(value)
    )
    return (
        bool(is_likely)
        and is_secret(value, password=True, literal=True)
        and (PORTS.fullmatch(value) is None or value.isdigit())
        and ("/" not in value or is_random(value))
    )


def is_joined(value: str) -> bool:
    """Return whether *value* is words with signs between them, none of them about passwords: `maple-street`."""
    says_nothing = rules.TALK.isdisjoint(re.split("[._-]", value.lower()))
    return _NAMED.fullmatch(value) is not None and says_nothing and not _NAMES_A_SECRET.search(value)


def is_code(value: str) -> bool:
    """Return whether *value* begins like an expression in code: a call, an attribute or a variable."""
    if _CODE.match(value):
        return True
    if _CAPITALIZED.fullmatch(value):
        return False
    return any(match and reads_like_words(match[1]) for match in (_CALL.match(value), _MEMBER.match(value)))
