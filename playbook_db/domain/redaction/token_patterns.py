"""Secrets known by their look: tokens with a prefix, headers, passwords in URLs and files, private keys.

A pattern is tried only at its anchor, a literal, and in a text that has a word of it (`Unescaped`). Each pattern
has a bound, or begins where a run of its characters begins, so that no text takes more than linear time.
"""

import base64
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from playbook_db.domain.redaction.entropy import is_placeholder, is_random, is_strong
from playbook_db.domain.redaction.escapes import Secret, Unescaped, word_of

# What stands before a token is no part of a word, but it may be the end of an escape: \n, %3D, \u0022, ESC[0m.
_LEFT = (
    r"(?:(?<![A-Za-z0-9])|(?<=\\[nrtbf])|(?<=%[0-9A-Fa-f]{2})|(?<=\\u[0-9a-fA-F]{4})|(?<=\[[0-9]m)|(?<=\[[0-9]{2}m))"
)
_RUN_LEFT = _LEFT.replace("[A-Za-z0-9])", "[A-Za-z0-9_-])", 1)
_RIGHT = r"(?![A-Za-z0-9])"


@dataclass(frozen=True, slots=True)
class Pattern:
    """A kind of secret: `regex` is tried at each `anchor`, everywhere where that is "".

    Its group 1 is a secret where `accepts` says so.
    """

    kind: str
    anchor: str
    regex: re.Pattern[str]
    accepts: Callable[[str], bool]

    def matches(self, text: str, places: Iterable[int]) -> Iterator[re.Match[str]]:
        """Where the pattern matches *text* at one of *places*, its anchors; anywhere where it has none."""
        if not self.anchor:
            yield from self.regex.finditer(text)
        done = 0
        for at in places:
            match = self.regex.match(text, at) if at >= done else None
            if match:
                yield match
                done = match.end()


WORD = r"(?<![\w-])"  # what begins a pattern whose anchor begins a word
Table = tuple[tuple[str, str, tuple[Pattern, ...]], ...]  # anchor, its word, and the patterns that are tried there


def by_anchor(patterns: Iterable[Pattern]) -> Table:
    """*patterns* by their anchors: each is looked for once."""
    groups: dict[str, list[Pattern]] = {}
    for pattern in patterns:
        groups.setdefault(pattern.anchor, []).append(pattern)
    return tuple(
        (anchor, (" " if group[0].regex.pattern.startswith(WORD) else "") + word_of(anchor), tuple(group))
        for anchor, group in groups.items()
    )


def find_secrets(table: Table, unescaped: Unescaped) -> Iterator[Secret]:
    """What the patterns of *table* find in the text of *unescaped*."""
    for anchor, word, patterns in table:
        places = unescaped.places(anchor, word) if anchor else []
        for pattern in patterns if places or not anchor else ():
            for match in pattern.matches(unescaped.text, places):
                if pattern.accepts(match[1]):
                    yield match.start(1), match.end(1), pattern.kind


def unknown_tokens(unescaped: Unescaped) -> Iterator[Secret]:
    """Words of more random characters than an id has, behind a prefix as providers of keys give them."""
    if not any(map(_is_unknown, _UNKNOWN.finditer(unescaped.words))):
        return
    for token in _UNKNOWN.finditer(unescaped.text):
        if _is_unknown(token):
            yield *token.span(), "token"


def key_blocks(text: str) -> Iterator[Secret]:
    """The private keys in *text*, each from BEGIN to END, or to the end of its characters where END is missing."""
    at = 0
    while (begin := text.find("BEGIN ", at)) >= 0:
        at = begin + 6
        head = _BEGIN.match(text, max(begin - 6, 0)) or _BEGIN.match(text, max(begin - 5, 0))
        if head is None:
            continue
        end = _end_of_key(text, head.end())
        if end is not None:
            yield head.start(), end, "private key"
            at = end


def _real(value: str) -> bool:
    return not is_placeholder(value) and len(set(value)) > 5


def _real_id(value: str) -> bool:
    return (_real(value) if "/" in value else is_random(value)) and bool(re.search("[0-9]", value))


def _real_word(value: str) -> bool:
    return not is_placeholder(value)


def _is_basic(value: str) -> bool:
    try:
        plain = base64.b64decode(value, validate=True)
    except ValueError:
        return False
    return b":" in plain and not is_placeholder(plain.decode("utf-8", "replace"))


def _is_encoded(value: str) -> bool:
    try:
        plain = base64.b64decode(value, validate=True).decode("ascii")
    except ValueError:
        return False
    return re.search("[0-9]", plain) is not None and " " not in plain


def _is_mnemonic(value: str) -> bool:
    words = re.findall("[a-z]+", value)
    return (
        len(words) % 3 == 0
        and len(set(words)) > (5 if "." in value or ")" in value else 9)
        and sum(map(len, words)) > 4 * len(words)
        and _GRAMMAR.isdisjoint(words)
    )


_COUNTERS = ("_g", "__utm", "_fbp", "_hj")  # cookies of those who count visitors
_GRAMMAR = {"the", "and", "for", "with", "that", "this", "not", "are", "was", "you", "from", "should", "must", "into"}


def _is_cookie(value: str) -> bool:
    return "[masked: " in value or any(
        is_random(part.partition("=")[2].strip()) for part in value.split(";") if not part.strip().startswith(_COUNTERS)
    )


def _is_url_password(value: str) -> bool:
    return value.lower() not in _NO_URL_PASSWORDS and not is_placeholder(value) and "$" != value[0] != "%"


_NO_URL_PASSWORDS = {"password", "passwd", "pass", "pwd", "pw", "secret", "token", "key", "x", "p", "apikey", "api_key"}

_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"

_UNKNOWN = re.compile(
    r"(?<![A-Za-z0-9_-])(?=[A-Za-z0-9_-]{31})(?P<prefix>[A-Za-z][A-Za-z0-9]{1,11})[_-](?:[a-z0-9]{1,8}[_-]){0,2}"
    r"(?P<body>[A-Za-z0-9]{28,100})(?![A-Za-z0-9_/+=-])"
)
_IDS = "sha1 sha256 sha384 sha512 md5 chatcmpl resp msg cs pi seti rs file run req toolu call pk".split()  # noqa: SIM905


def _is_unknown(token: re.Match[str]) -> bool:
    return token["prefix"].lower() not in _IDS and is_strong(token["body"])


_LONG = r"[A-Za-z0-9_-]{20,}(?:[.+/=][A-Za-z0-9_-]+)*={0,2}"
# Kind, prefixes, what follows a prefix, and a check; a short prefix alone doesn't prove a token.
_PREFIXED = (
    ("Anthropic key", "sk-ant-", r"[A-Za-z0-9_-]{20,}", _real),
    ("OpenAI key", "sk-proj- sk-svcacct- sk-admin-", r"[A-Za-z0-9_-]{20,}", _real),
    ("API key", "sk-", r"(?!ssh-|ecdsa-)(?:[a-z0-9]{2,10}-){0,2}[A-Za-z0-9_-]{20,}", is_random),
    ("GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_", r"[A-Za-z0-9_]{30,}", _real),
    ("GitHub token", "github_pat_", r"[A-Za-z0-9_]{22,}", _real),
    ("GitLab token", "glpat- gldt- glrt- glcbt- glptt- glsoat- gloas- glagent- glft- glimt- glffct- GR1348941",
     r"[A-Za-z0-9_.-]{18,}", _real),
    ("Slack token", "xoxb- xoxa- xoxp- xoxr- xoxs- xoxe- xoxe. xoxc- xoxd- xoxo- xapp-", r"[A-Za-z0-9.%-]{10,}", _real),
    ("Stripe key", "sk_live_ sk_test_ rk_live_ rk_test_ sk_prod_", r"[A-Za-z0-9]{10,}", _real),
    ("Stripe key", "whsec_", r"[A-Za-z0-9+/=]{20,}", _real),
    ("Google key", "AIza", r"[A-Za-z0-9_-]{35}(?![A-Za-z0-9_+/-])", _real),
    ("Google token", "GOCSPX- ya29. 1//0", r"[A-Za-z0-9_-]{20,}", is_random),
    ("SendGrid key", "SG.", r"[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{16,64}", _real),
    ("Twilio key", "SK", r"[0-9a-f]{32}" + _RIGHT, _real),
    ("token",
     "npm_ pypi- hf_ api_org_ dop_v1_ doo_v1_ dor_v1_ shpat_ shpca_ shppa_ shpss_ dckr_pat_ dckr_oat_ gsk_ xai- r8_ "
     "pplx- hvs. hvb. hvr. ATATT3 ATCTT3 glsa_ glc_ sntrys_ sntryu_ NRAK- PMAK- lin_api_ lin_oauth_ ntn_ figd_ "
     "pscale_tkn_ pscale_pw_ pscale_oauth_ sbp_ sb_secret_ dp.pt. dp.st. dp.sa. dp.ct. tskey- sq0csp- sq0atp- "
     "rubygems_ AGE-SECRET-KEY-1 rnd_ pul- nvapi- tfp_ pnu_ pnb_ pcsk_ lsv2_pt_ lsv2_sk_ ls__ tvly- jina_ tgp_v1_ "
     "fw_ xkeysib- xsmtpsib- re_ mlsn. phx_ dt0c01. dt0s01. CFPAT- HRKU- fm1r_ fm2_ fo1_ nfp_ nfc_ napi_ ATBB BBDC- "
     "CCIPAT_ CCIPRJ_ bkua_ bkct_ sqp_ squ_ sqa_ CLOJARS_ ops_eyJ A3- KGAT_ wandb_v1_ APP_USR- duffel_live_ "
     "duffel_test_ shippo_live_ shippo_test_ FLWSECK- FLWSECK_TEST- snyk_uat. snyk_sat. rdme_ zpka_ "
     "fc- csk- sl. sl.u. sgp_ v1.0- NRII- sk.eyJ mfa. eyJrIjoi eyJhdXRocyI6 syt_ npg_ sha256~",
     _LONG, is_random),
    ("token", "EZAK EZTK AKCp EAA sess- secret_", r"[A-Za-z0-9]{30,}", is_random),
    ("token", "pk_", r"[0-9]{5,12}_[A-Z0-9]{20,}", _real),
    ("token", "dapi key- cio oy2 sk_", r"[A-Za-z0-9]{32,}(?:-[0-9])?" + _RIGHT, is_random),
    ("token", "sdk- api- pat-na1- pat-eu1- pat-na2- access-production- access-sandbox- access-development-",
     _UUID, _real),
    ("token", "pat", r"[A-Za-z0-9]{14}\.[a-f0-9]{60,}", _real),
    ("Alibaba key", "LTAI", r"[A-Za-z0-9]{16,24}" + _RIGHT, is_random),
)  # fmt: skip


def _prefixed() -> Iterator[Pattern]:
    for kind, prefixes, tail, accepts in _PREFIXED:
        for prefix in prefixes.split():
            yield Pattern(kind, prefix, re.compile(f"{_LEFT}({re.escape(prefix)}{tail})"), accepts)


def _compiled(rows: Iterable[tuple[str, str, str, Callable[[str], bool]]]) -> Iterator[Pattern]:
    """One pattern for each of a row's anchors, which `|` separates."""
    for kind, anchors, regex, accepts in rows:
        for anchor in anchors.split("|"):
            yield Pattern(kind, anchor, re.compile(regex), accepts)


_AWS_ID = r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}"
_URL_SAFE = "[A-Za-z0-9_-]"

_LOOKS = (
    ("AWS key", "AKIA|ASIA|ABIA|ACCA",
     rf"{_LEFT}({_AWS_ID}(?:[\s:,;|/\"']{{1,5}}[A-Za-z0-9/+]{{40}}(?![A-Za-z0-9/+=]))?){_RIGHT}",
     lambda value: not value[:20].endswith("EXAMPLE")),
    ("JWT", "eyJ", rf"{_RUN_LEFT}(eyJ{_URL_SAFE}{{8,}}\.(?:eyJ)?{_URL_SAFE}*(?:\.{_URL_SAFE}+){{1,3}})", _real),
    ("password hash", "$1$|$2a$|$2b$|$2y$|$5$|$6$|$y$|$apr1$|$7$|$argon2",
     r"(?:(?<=:)|(?<=[0-9] )|(?<=[d:] [\"']))"
     r"(\$[a-z0-9]{1,8}\$(?:[\w./=,+-]{1,40}\$){0,3}[A-Za-z0-9./+]{22,100})", _real),
    ("webhook", "/hooks/catch/|/with/key/|/hooks/|/hook/|hook.eu1.make.com/|hook.us1.make.com/",
     r"[\w./]{1,40}?/((?:[0-9]{4,12}/)?(?:[A-Za-z0-9_-]{16,64}|(?<=[0-9]/)[a-z0-9]{6,12}))(?![A-Za-z0-9])", _real_id),
    ("private key", "priv:|privateExponent:|prime1:|prime2:",
     r"[a-zA-Z0-9]+:((?:(?:\s|\\n){0,20}[0-9a-f]{2}:(?:[0-9a-f]{2}:?){0,31}){1,40})", _real),
    ("private key", "<D>|<DP>|<DQ>|<InverseQ>", r"<[A-Za-z]{1,8}>([A-Za-z0-9+/=]{20,800})<", _real),
    ("private key", "kty", r"kty[^{}]{0,200}?\\{0,8}\"[dk]\\{0,8}\"\s?:\s?\\{0,8}\"([A-Za-z0-9_-]{20,800})", _real),
    ("vault", "$ANSIBLE_VAULT;", r"[^\n\\]{10,60}((?:(?:\s|\\n){1,40}[0-9a-f]{20,90})+)", _real),
    ("token", "live_|test_", rf"(?<!pk_){_LEFT}((?:live|test)_[A-Za-z0-9]{{30,}})", is_random),
    ("token", ":APA91b", r"(:APA91b[A-Za-z0-9_-]{60,})", _real),
    ("token", "1000.", rf"{_LEFT}(1000\.[0-9a-f]{{32}}\.[0-9a-f]{{32}})", _real),
    ("token", "amzn.mws.", rf"(amzn\.mws\.{_UUID})", _real),
    ("token", "AAAAAAAAAAAAAAAAAAAAA", r"(A{21}[A-Za-z0-9%]{40,})", _real),
    ("API key", "infura.io/v3/|alchemy.com/v2/", r"[a-z]+\.[a-z]+/v[23]/([A-Za-z0-9_-]{20,64})", _real),
    ("Slack webhook", "hooks.slack.com/", r"hooks\.slack\.com/[a-z]{5,12}/([A-Za-z0-9/_+-]{20,})", _real),
    ("Teams webhook", "/IncomingWebhook/", r"/IncomingWebhook/([0-9a-f]{20,40}/[\w/-]{20,80})", _real),
    ("Terraform token", ".atlasv1.", r"(?<=[A-Za-z0-9]{14})\.atlasv1\.([A-Za-z0-9_=-]{60,})", _real),
    ("Discord webhook", "/api/webhooks/", rf"/api/webhooks/([0-9]{{10,25}}/{_URL_SAFE}{{40,}})", _real),
    ("Telegram token", ":A", r"(?<=[0-9]{8}):(A[A-Za-z0-9_-]{34})(?![A-Za-z0-9_-])", is_random),
    ("Azure key", "AccountKey=|SharedAccessKey=", r"[A-Za-z]+=([A-Za-z0-9+/]{40,}={0,2})", _real),
    ("Azure signature", "&sig=|?sig=", r".sig=([A-Za-z0-9%+/=_-]{30,})", _real),
    ("Azure secret", "Q~", r"(?<=[A-Za-z0-9_~.]{3}[0-9])(Q~[A-Za-z0-9_~.-]{31,34})(?![A-Za-z0-9_~.-])", _real),
    ("Discord token", "",
     rf"([MNO](?:(?<![A-Za-z0-9_.-].)|(?<=\\[nrt].)|(?<=\[[0-9]m.)|(?<=\[[0-9]{{2}}m.)){_URL_SAFE}{{22,27}}\.{_URL_SAFE}{{6}}\.{_URL_SAFE}{{27,45}})(?!{_URL_SAFE})",
     _real),
)  # fmt: skip
TOKENS = by_anchor((*_compiled(_LOOKS), *_prefixed()))

_MASKED = r"\[masked:\s[A-Za-z ]{1,30}\]"
_GAP = r"(?:\s|\\n){1,20}"  # in `.netrc`, which may stand in a JSON string

_IPV6_END = re.compile(r"[0-9a-f]{1,4}(?:[/%].*)?")
_BETWEEN_WORDS = r"(?:[ ,]{1,2}|\s{1,20}[0-9]{1,2}[.)] )"
_HEADED = (
    ("password", "://",
     r"://[^\s/:@\"'<>\\?#]{0,128}:(?![0-9]{1,5}[,?#])([^\s/\"'<>\\`]{1,256})@(?=[\w\[$%{.*-])", _is_url_password),
    ("token", "://", r"://([A-Za-z0-9_-]{20,128})(?::[^\s/@]{0,128})?@(?=[\w\[])", is_random),
    ("token", "earer |EARER ", r"[Ee](?i:arer)\s+([A-Za-z0-9._~+/-]{12,}={0,2})", is_random),
    ("credential", "asic |ASIC ", r"(?i:asic)\s+([A-Za-z0-9+/]{8,}={0,2})(?![A-Za-z0-9+/=])", _is_basic),
    ("credential", "echo",
     r"echo (?:-[ne]{1,2} )?[\"']?([A-Za-z0-9+/]{12,400}={0,2})(?=[\"']? ?\| ?base64 (?:-d|-D|--decode))", _is_encoded),
    ("token", "uthorization|UTHORIZATION|-key|-Key|-Api|-Token",
     r"(?<!ocket)[A-Za-z-]{4,14}\\{0,8}[\"']?\]?[ ]?[:=,][ ]?\\{0,8}[\"']?(?:[A-Za-z-]{1,16}[ ])?(?:token=)?"
     r"([A-Za-z0-9._~+/=-]{20,})", is_random),
    ("cookie", "ookie|OOKIE",
     rf"(?i:ookie)(?:\\{{0,8}}[\"'])?\]?\s?[:=]\s?(?:\\{{0,8}}[\"'])?([\w.%$!-]{{1,64}}=(?:{_MASKED}|[^\s;\"'\\]){{1,4096}}"
     rf"(?:;\s?(?:{_MASKED}|[^;\"'\\\n]){{1,4096}}){{0,50}})",
     _is_cookie),
    ("password", "login |machine ",
     rf"(?:login|machine)[ \t]+[\w@.+-]{{1,200}}{_GAP}(?:account\s+\S{{1,200}}{_GAP})?"
     r"password[ \t]+([^\s\"'\\]{4,200})", _real_word),
    ("wallet", "nemonic|NEMONIC|hrase|HRASE|words",
     r"[A-Za-z]{5,7}[\"']?(?: is| are)?(?:\\{1,4}n|[\s:=\"'\\]){1,10}(?:1[.)] )?"
     rf"([a-z]{{3,8}}(?:{_BETWEEN_WORDS}[a-z]{{3,8}}){{5,23}})(?!{_BETWEEN_WORDS}[a-z])", _is_mnemonic),
    ("private key", "Private-Lines: ",
     r"Private-Lines: [0-9]+((?:(?:\s|\\r|\\n){1,4}[A-Za-z0-9+/=]{4,64}(?![\w-])){1,200})", _real),
    ("password", "assword",
     r"assword:?[ ]?\\{0,8}[\"']?\)?;?(?:\s|\\n){1,10}[\w.]{0,20}(?:send|sendline|write|send_line|sendall)[ (]"
     r"(?:-- )?b?\\{0,8}[\"']([^\"'\\\s]{4,200})", _real_word),
    ("password", "WIFI:|wifi:", r"(?i:wifi):[^\s\"']{0,80}?P:([^;\s\"']{4,80});", _real_word),
    ("password", "iFi.begin(|ifi.begin(", r"i[Ff]i\.begin\([^,\n]{1,60},\s?\"([^\"\s]{4,80})\"", _real_word),
    ("password", "jdbc:oracle", r"jdbc:oracle:[a-z0-9]{1,8}:[\w.]{1,60}/([^@\s\"']{4,200})@", _real_word),
    ("password", "",
     r":(?:[0-9]{4,5}|\*):(?![0-9]+:)[^\s:\"'\\]{1,63}:[^\s:\"'\\]{1,63}:([^\s:\"'\\]{4,200})(?=\s|$|\\n|[\"'])",
     lambda value: _real_word(value) and not _IPV6_END.fullmatch(value)),
)  # fmt: skip
HEADERS = tuple(_compiled(_HEADED))


# Private keys: PEM, OpenSSH and PGP, indented, escaped, or cut off.
_BEGIN = re.compile(r"-{4,5} ?BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}")
_END = re.compile(r"-{4,5} ?END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}")
_KEY_TEXT = re.compile(r"[A-Za-z0-9+/]{24}")
# A break between lines of a key: white space, escapes, quotes, line numbers, marks of a diff, a header (`DEK-Info: x`).
_BREAK = (
    r"(?:\\{1,8}[nrt]|[\s\"'+>|#,*\\]|[0-9]{1,6}[→\t|:])"
    r"{1,80}(?:(?:Proc-Type|DEK-Info|Version|Comment|Charset|Hash):[^\n\\]{0,100}|=)?"
)
_CUT_OFF = re.compile(rf"(?:{_BREAK}){{1,6}}[A-Za-z0-9+/=]{{16,}}(?:{_BREAK}[A-Za-z0-9+/=]{{20,}})*")
_LAST_LINE = re.compile(rf"{_BREAK}([A-Za-z0-9+/=]+)(?=[\"'\s\\]|$)")
_PLAIN_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]{1,4}")
_LONGEST_KEY = 40_000  # characters, with its line breaks


def _end_of_key(text: str, start: int) -> int | None:
    following = text.find("BEGIN ", start, start + _LONGEST_KEY)
    limit = following if following >= 0 else start + _LONGEST_KEY
    dashes = text.find("END ", start, limit)
    tail = _END.search(text, max(dashes - 6, start), dashes + 60) if dashes >= 0 else None
    if tail and _KEY_TEXT.search(text, start, tail.start()):
        return tail.end()
    body = _CUT_OFF.match(text, start)
    if body is None:
        return None
    last = _LAST_LINE.match(text, body.end())
    return last.end() if last and not _PLAIN_WORD.fullmatch(last[1]) else body.end()
