"""Finding secrets by the name beside them: `password=`, `"api_key": "..."`, `--token xyz`.

A secret's name contains a stem, such as `pass`. At each stem, three checks decide: a value follows the name, the name
means a secret, and the value looks like a secret.
"""

import re
from collections.abc import Callable, Iterable, Iterator

from playbook_db.domain.redaction import entropy, names
from playbook_db.domain.redaction.escapes import Secret
from playbook_db.domain.redaction.regexes import regex
from playbook_db.domain.redaction.words import ABOUT_PASSWORDS, KEYED

# The rest of a name. `no_more` matches if no value can follow: only words to the end of the line, or the end of a call.
_NO_MORE = r"(?P<no_more>[ ,.;)][^\n:=0-9\"'`?(\[{$<>|\\!&+*]{0,300}+(?:\n|\\+n)(?![\n\[<0-9 \t\\])"
_TAIL = regex(
    r"(?P<name>[A-Za-z0-9_\u00df-\u024f\u0400-\u04ff-]{0,40}"
    r"(?>(?:[ ](?:key|token|secret|value|code|phrase|string)\b)?))"
    rf"{_NO_MORE}|\)(?![ ]?(?:[|?:{{]|or[ ])|\.))?"
)
_UNSPACED_TAIL = regex(rf"(?P<name>){_NO_MORE})?")  # a range of so many characters takes long to compile
_QUOTE = r"""\\{0,8}(?:\"{3}|'{3}|["'`])"""
_BREAK = r"(?:\r?\n|(?:\\{1,4}r)?\\{1,4}n)"
# In prose, a word without quotes isn't a password.
_DIGIT = r"""(?=\\{0,8}["'`]|[$<]\(|\S{0,400}[0-9]|[A-Za-z]{3,30}[!&+][A-Za-z]|(?:[a-z]{4}-){3}[a-z])"""
# The words "of", "for", "is" and similar ones in other languages.
_OF = (
    "de|del|della|di|do|da|du|des|pour|para|per|für|fuer|zum|zur|von|vom|voor|van|till|til|för|dla|k|pro|от|для|до|к|на|"
    "sur|auf|im|in|na|v|w|на|від|à|al|alla|el|la|le"
)
_IS = (
    "(?:ist|c'est)(?:[ ](?:jetzt|nun|neu))?|geändert[ ]auf|lautet|heißt|heisst|war|es|est|jest|to|je|è|é|är|er|это|"
    "luidt|wordt|sera|será|à|auf|na|на|brzmi|zní"
)
_GLUED = "[是为為はがをに는은이가를을]|[改换換][成为為]了?|[设設][为成]了?|更新为|重置为|として|값은"
_CJK = r"\u3000-\u30ff\u3400-\u9fff\uac00-\ud7af\uff00-\uffef"
_AFTER_CJK = f"(?:[ :=]?(?:{_GLUED})|(?<=[{_CJK}]))"
_TO_VALUE = regex(
    rf"""
    (?:\\{{0,8}}["'`]|[\]*]){{0,4}}
    (?:(?:(?<!["'`])[ ])?:[ ]?&?(?:'static[ ])?(?:[A-Za-z][\w.]{{0,30}}|\[[\w; ]{{1,20}}\])
        (?:\[[\w, .|]{{0,40}}\])?(?:[ ]?\|[ ]?None)?[ ]?(?==[^=>])
      |[ ]As[ ]String(?=[ ]=)|[ ]\{{[ ]get;[^{{}}]{{0,20}}\}}(?=[ ]=)|[ ]?\[[^\[\]\n]{{0,20}}\](?=[ ]=|:[ ]))?
    (?:
      (?P<below>
        (?:(?>(?:[ ][\w']{{1,20}}+){{0,6}}(?:[ ]\([^()\n]{{1,80}}\))?)[ ]?[:=][ ]?(?:[|>][-+]?)?
          |(?P<bare_head>{_BREAK}[-=~]{{3,40}}|(?={_BREAK}{_BREAK})))
        (?:{_BREAK}```\w{{0,10}})?(?:{_BREAK}[ \t]{{0,40}}){{1,2}}(?:-[ ])?(?=[^\s"'\\]{{6,400}}(?:{_BREAK}|$))
      )
      | (?P<assign>
        ,?(?:\s|\\n){{0,30}}(?:{_QUOTE})?(?:[\w.]{{0,40}}[.\]]\.?)?[vV]alue(?:{_QUOTE})?[ ]?[=:][ ]?
        | [ ]?[=:]?[ ]?\{{[^{{}}]{{0,160}}?(?:[vV]alue|default|current|result|plaintext)(?:{_QUOTE})?[ ]?[=:][ ]?
        | (?<=["'])[^<>\n]{{0,120}}?\s(?:value|content)=(?={_QUOTE})
        | [ ]{{0,40}}\|[ ]{{0,40}}(?=\S{{6,400}}[ ]{{0,40}}(?:\||{_BREAK}|$))
        | \)?[ ]?(?:\|\||\?\?|\?:|:-|or[ ]|(?<=\)[ ])\{{)[ ]?(?=\\{{0,8}}["']|[A-Z0-9])
        | [ \t]{{0,40}}(?:=>|<-|->|:=|\?=|\+=|\|\|=|\?\?=|[=!]==?|=|:(?!:)|;s:[0-9]{{1,4}}:|→|[ ]REG_SZ[ ])
          (?:(?:\s|\\{{1,4}}[nrt]){{0,30}}(?=\\{{0,8}}["'`])
            |[ \t]{{0,20}}(?:[\u203a\u276f>][ ]|&\w{{1,20}}[ ]|\\\n|\*{{0,2}}[ \t]{{0,20}}))
      )
      | (?P<xml>(?:[ ][\w:.-]{{1,40}}=(?:"[^"<>]{{0,160}}"|'[^'<>]{{0,80}}')){{0,4}}>\s{{0,20}}
            (?:<[vV]alue>|<!\[CDATA\[)?
          |</\w{{1,20}}>\s{{0,20}}<\w{{1,20}}>)
      | (?P<comma>,[ ]{{0,20}}(?:default(?:_value)?[ ]?=[ ]?)?(?=\\{{0,8}}["'`]))
      | (?P<call>(?:\)?\.(?:equals|toBe|toEqual|eql?|type|fill|send_keys|sendKeys|sendline|setValue|val))?
          \((?=\\{{0,8}}["'`]))
      | (?P<prose>(?:(?:[ ]is[ ]generated)?[ ](?:for|of|{_OF})(?:[ ][\w@./:\[\]()'-]{{1,40}}){{1,5}}?:
          |(?:[ ](?:for|of|to|on|in|{_OF})(?:[ ](?!is[ ])[\w@./\[\]-]{{1,40}}){{1,4}}?)?
          (?:[ ](?:(?:(?:is|was|has[ ]been|be)[ ])?(?:set|changed|reset|rotated)[ ]to
          |from(?=[ ]\S{{1,80}}[ ]to[ ])|wurde[ ]von|is|was|are|be|equals|to|when|used[ ]is|{_IS})(?:[ ]now)?:?))
          (?:[ ]{{1,3}}|{_BREAK}{{2}}[ ]{{0,8}}){_DIGIT}
          |{_AFTER_CJK}[ ]{{0,3}}[:=]?(?=[!-~]{{4,80}}){_DIGIT})
      | (?P<talk>(?=[ ?(](?:[^0-9\n]{{0,150}}+[0-9]|[^\n?]{{0,80}}+(?:\?|\n[\[<0-9])))
          (?:(?<!ey)(?<!oken)(?<!kens)(?<!sion)(?<!okie)|(?=[^\n]{{0,160}}[A-Za-z0-9]{{16}}))
          (?:(?:[ ][\w@./'’()-]{{1,30}}){{0,6}}?(?:[ ]?\([^()\n]{{1,40}}\))?
          (?:[ ]?[:=]|[ ](?:is|was|it's|its|{_IS}))[ ]{{1,3}}(?=["'`]{{0,2}}[!-~]{{6,100}}){_DIGIT}
          |[ ]\((?=[^\s()]{{6,80}}\))
          |(?<!oken)(?<!word)(?<!cret)(?<!key)(?:[ ][^\W\d_]{{1,20}}){{1,6}}[ ](?=[^\s0-9"'`]{{1,40}}[0-9])
          |[^\n?]{{0,60}}+(?:\?|(?=\n(?:\[?[0-9]{{1,2}}[.:]|<\w)))
            (?:(?:\s|\\n){{1,4}}(?:[^\n]{{0,40}}?[\w)\]]:[ ]|<[\w.-]{{1,30}}>[ ]|->[ ])?(?=["'`]?\S{{6}})
            |[^?]{{0,80}}?\b(?:[Ii]t'?s|that's|use|try|ist|c'est)[ ](?=["'`]?\S{{6}}))))
      | (?P<space>[ \t]{{1,20}}(?=\S{{6}}){_DIGIT}|(?<=_PASSWORD)[ ](?=[a-z]{{6,24}}(?:{_BREAK}|$)))
    )
    (?:[\w.]{{0,30}}(?:[dD]ecode\w{{0,10}}|atob|[bB]ase64\w{{0,6}})\(|[$<]\(echo[ ]|<%=[ ])?
    (?:[bBrRuUfFN@$]{{1,2}}(?=\\{{0,8}}["'])
      |(?:(?:new[ ])?[\w.:]{{0,30}}(?:Secret(?:Str)?|Some|from|GetBytes|Key(?:Spec)?|new|String)|\[\]byte)
        \((?=\\{{0,8}}["'])){{0,2}}
    (?P<open>{_QUOTE})?(?:\{{(?:noop|plain|PLAIN|SSHA|CRYPT|CLEARTEXT)\}})?
    """,
    re.VERBOSE,
)
_TO_VALUE_IN_ASCII = regex(_TO_VALUE.pattern.replace(_AFTER_CJK, "(?!)"), re.VERBOSE)  # is compiled faster
_WAYS = ("below", "assign", "xml", "comma", "call", "prose", "talk", "space")  # the groups of _TO_VALUE
_BARE = regex(rf"""(?:\[masked:\s[A-Za-z ]{{1,30}}\]|(?!\\+[nrt"'])[^\s"'`,;&<>)\]}}|{_CJK}])+""")
_BARE_LITERAL = regex(r"""(?:\[masked:\s[A-Za-z ]{1,30}\]|(?!\\+[nrt"'])[^\s"'`])+""")
_MAX_SEARCHED = 128  # characters; a longer value isn't searched for names, even if it isn't a secret
_LONG_WORD = regex(r"[A-Za-z0-9_+/=-]{24,200}")
_HAS_DIGIT = regex("[0-9]")
_BEGINS_LINE = regex(r"(?:\A|\n|\\n)[ \t]*(?:- )?[\"'*#-]{0,3}[ ]?$")
_IS_NAME = regex(r"\\{0,8}[\"'][ ]?:")  # follows a name in JSON
_PUBLIC = regex(r"[Pp]ublic[ _-](?:key[ _-])?$")
_HEADING = regex(r"(?:^|\n|\\n)#{1,6} [\w ]{0,30}$")
_ENDS_LINE = regex(r"[ \t]*(?:$|[\r\n]|\\{1,4}[rn])")
_WORDS_AND_NUMBER = regex(r"[^\W\d_][^\W_]*(?: [^\W_]+){0,5} [^\W_]*[0-9]+(?=[ \t]*(?:$|[\r\n]|\\{1,4}[rn]))")
_IN_PARAMETERS = regex(r"\w=[^\s=,]{1,80}[ ;&]\Z")
_PAIR = regex(
    r"""[vV]alue["']?[ ]?[:=][ ]?(?P<open>["']?)(?P<value>[^\s"',{}<>]{6,400})(?P=open)"""
    r"""[,\s]{1,20}["']?(?:\w{1,20}:)?(?:[nN]ame|[kK]ey|(?:WHERE|where) \w{1,20})["']?[ ]?[:=][ ]?["']?"""
    r"(?:[\w-]{1,30}/){0,4}$"
)
_IN_CALL = regex(
    r"\([ ]{0,2}(?:[0-9]{1,9},[ ]?)?(?:\\{0,8}[\"'][\w. -]{1,40}\\{0,8}[\"'],[ ]?)?"
    r"\\{0,8}[\"'`]{0,3}(?:\w{0,20}\[\w{1,20}=|[#.])?[\"']?$"
)
# A user or a host. Beside a password, it shows that the text sets the password.
_COMPANY = regex(
    r"(?<![A-Za-z])(?i:port|[a-z]{0,12}[_.-]?(?:host|hostname|server|user|username|user[_ ]?id|uid|database|db|dbname)"
    r"|benutzer(?:name)?|usuario|utilisateur)[\"']?(?:[ ]?(?:=>|[:=])[ ]?[\"']?|[ ][\"'])"
    r"(?:(?:root|admin|postgres|mysql|redis|localhost|[0-9]{2,5})"
    r"|(?P<value>[a-z][a-z0-9_-]{1,30}|[0-9.]{7,15}|\S+@\S+\.\w+|\S+\.(?:com|org|net|de|io|internal|local|lan)))(?=[\"',;\s/]|$)"
)
_SIGNS = regex("(?:JWT|SESSION|COOKIE|APP|AUTH)_SECRET$")  # people invent those, too
_APP_PASSWORD = regex(r"(?![a-z ]*\b(?:your|this|with|must|from))[a-z]{4}(?: [a-z]{4}){3}")
# The fields of a form that isn't a login.
_FIELDS = regex(
    r"(?i)\b(?:error|icon|label|route|tab|step|message|hint|title|field)s?\b|\be?mail[\"']?[ ]?[:=](?!.{0,40}@)"
)
_SERVICE = regex(  # a service that a setting's name, or the text before the name, mentions
    r"(?i)(?:admin|root|db|sql|database|postgres|redis|mongo|mq|smtp|imap|mail|ftp|ssh|sudo|become|ldap|wi-?fi|wpa|vpn|store|source)[\w.-]*$"
)
_OPTION = regex(r"--[\w-]{1,30}[= ][\"']?(?:[\w-]{1,30}\.){0,5}$")
_STATE = regex("(?:ed|able|ible|ing|ly)$")  # the end of a word that describes a password
_NO_VALUE = regex(r".*\.[a-z]{1,5}|[(\[{].*")  # a file, a remark
_PARTS = regex(r"[a-z][A-Z]|[A-Za-z][_-]")  # a name of several words
_CLASS = regex(r"[a-z]\w*__[A-Za-z0-9_-]{5,6}$")
_NO_CODE = regex(
    r"^[^\W_][^\s\"'()\[\]{}<>,;|\\]*(?:[!#%^~?]|[^\W_][&*+@-][^\W_]|[a-z][_.][A-Z])[^\s\"'()\[\]{}<>,;|\\]*$"
)
_HAS_SIGN = regex(r"[:=(?\n]|\b(?:is|it's|its|use|try|that's)\b")
_TYPE = regex(r"[A-Za-z]{1,5}(?=[\s,]|[;)\]}][\s,;:)\]}])")  # too short for a password: `str`, `None`
_VARIABLE = regex(r"[a-z]{1,12}(?:[._][a-z]{1,12}){0,4}(?=[\s,;)\]}])|None\b|[0-9]{1,9}(?=,?\s|\}[\s,}])")
_REMARK = regex(r"[\[({.]|[a-z_]{2,20}=[0-9]{1,6}$")
_FINGERPRINT = regex(r"[0-9A-F]{16}|[0-9A-F]{40}")
_BYTES = regex(r"(?:\\{1,4}x[0-9a-fA-F]{2}){8,}")
_NUMBERED = regex(r"[a-z]+-[0-9]+")  # `blue-500`
_HEX = regex(r"0x\w+|[0-9a-f-]+")
_CHANGED = regex(  # from one value to another
    r"\\{0,8}[\"']?[ ]->[ ]\\{0,8}[\"']([^\"'\n]{4,400}?)\\{0,8}[\"']"
    r"|[ ](?:to|auf)[ ](?=\S{0,40}[0-9])([^\s\"',;]{6,80})"
)
_SETS = regex(r"(?:^|[\s\"'(])(?:ENV|ARG|setenv|set(?: -\w+)*|setx|SET|\#define)[ ]$")


def assignments(text: str, stems: Iterable[tuple[int, int]]) -> Iterator[Secret]:
    """Yield the secrets in *text* that have a name beside them. *stems* are the places of stems of such names."""
    done = 0
    for begin, stem_end in stems:
        value = _value(text, begin, stem_end) if begin >= done else None
        if value is None:
            continue
        start, end, kind = value
        if kind:
            yield start, end, kind
            changed = _CHANGED.match(text, end)
            if changed:
                yield *changed.span(changed.lastindex or 0), kind
        if kind or end - start > _MAX_SEARCHED:
            done = end


def _value(text: str, start: int, end: int) -> Secret | None:
    """Return the value beside the name whose stem is at *start*. Its kind is "" if it doesn't look like a secret.

    Return None if there is no value, or the name doesn't mean a secret.
    """
    tail = (_UNSPACED_TAIL if names.UNSPACED <= text[end - 1] <= "\uffff" else _TAIL).match(text, end)
    if tail is None or (tail["no_more"] and text[start - 1] != "-"):
        return None
    name_end = tail.end("name")
    to_value = (_TO_VALUE_IN_ASCII if text.isascii() else _TO_VALUE).match(text, name_end)
    if to_value is None and text.find("alue", max(start - 300, 0), start) < 0:
        return None
    begin = _name_start(text, start)
    name = text[begin:name_end]
    kind = names.kind_of_name(name)
    if to_value is None:
        return _value_before(text, begin, kind) if kind else None
    if kind is None and (to_value["assign"] is None or not names.has_word_of_secrets(name)):
        return None
    if to_value["open"] is to_value["xml"] is None and (_TYPE if kind == "password" else _VARIABLE).match(
        text, to_value.end()
    ):
        return None
    if not _is_name(text, begin, name, to_value):
        return None
    value = _Value(text, begin, name, kind, to_value)
    if value.is_loose and value.how != "space":
        return None
    for rule in _RULES:
        verdict = rule(value)
        if verdict is not None:
            break
    return value.start, value.end, value.kind if verdict else ""


def _is_name(text: str, begin: int, name: str, to_value: re.Match[str]) -> bool:
    """Return whether *name* at *begin* can name a secret. Files, test results, CSS classes and public keys can't."""
    before = text[max(begin - 100, 0) : begin]
    is_of_aws = "arn:" in before and " " not in before[before.rindex("arn:") :]
    is_file = before.endswith("/") and to_value["assign"] == ":" and not before.endswith(" /")
    is_test = name == "PASS" and to_value["assign"] == ": "
    is_piped = "|" in (to_value["assign"] or "") and text.rfind("{{", max(begin - 100, 0), begin) >= 0
    is_class = _CLASS.search(name) is not None  # in a style sheet
    is_public = before.endswith("checksum/") or ("ublic" in before and _PUBLIC.search(before) is not None)
    return not (is_file or is_test or is_piped or is_class or is_of_aws or is_public)


class _Value:
    """The value after the *name* at *begin*. *to_value* is the match of the text between name and value."""

    def __init__(self, text: str, begin: int, name: str, kind: str | None, to_value: re.Match[str]) -> None:
        before = text[max(begin - 100, 0) : begin]
        if before.endswith("."):  # the name is the last part of a dotted path
            before = before.rstrip(names.NAME_SIGNS + ".")
        self.name = name
        self.before = text[max(begin - 200, 0) : begin]
        self.lead = to_value[0]
        self.is_key = before.endswith(('"', "'"))  # the name itself is in quotes
        self.kind = kind or "secret"
        self.is_weak = kind is None  # the name only contains a word for secrets
        self.is_password = kind == "password"  # people invent passwords, so they look less random than tokens
        self.how = next(way for way in _WAYS if to_value[way] is not None)
        self.sign = to_value["assign"] or ""
        self.is_quoted = to_value["open"] is not None or self.how == "xml"
        self.is_loose = not _may_follow(text, begin, before, to_value)  # the name may be a word of a sentence
        # A value in a shell, after an option or a variable, or alone on its line needs no quotes and isn't code.
        is_parameter = self.sign in ("=", ": ") and (name.isupper() or _IN_PARAMETERS.search(before) is not None)
        is_set = self.how == "space" and _SETS.search(before) is not None
        self.is_bare = name.startswith("-") or before.endswith(" /") or is_parameter or is_set
        self.start = to_value.end()
        quote = "<" if self.how == "xml" else to_value["open"]
        end = _value_end(text, self.start, quote, in_shell=self.is_bare or self.how in ("below", "prose"))
        value = text[self.start : end]
        self.is_line = bool(self.sign) and _BEGINS_LINE.search(before[-45:]) is not None
        if self.is_line and not self.is_quoted:
            value = _whole_line(text, self.start, value, self.sign) if self.is_password else value
            is_first = self.sign == "=" and before[-1:] in ("", "\n")
            self.is_bare = self.is_bare or _fills_line(value, is_password=self.is_password, is_first=is_first)
        if self.how in ("prose", "talk", "space") and not self.is_quoted:
            value = value.rstrip(".:?,;)]}>")
        self.end = self.start + len(value)
        # A final sign may belong to the value, so it is redacted too, but the rules don't see it.
        self.text = entropy.in_ascii(value.rstrip(";,"))
        self.after = text[self.end : self.end + 200]
        self.digits = len(_HAS_DIGIT.findall(value))
        self.is_last = _ENDS_LINE.match(text, self.end) is not None
        self.is_next_name = self.is_quoted and "\n" in to_value[0] and _IS_NAME.match(text, self.end) is not None


def _fills_line(value: str, *, is_password: bool, is_first: bool) -> bool:
    """Return whether *value* at the end of a line is a literal, not code. *is_first*: its name begins the line."""
    is_mixed = len(_HAS_DIGIT.findall(value)) > 1 or _NO_CODE.search(value)
    if is_password and is_mixed and not entropy.is_code(value.rstrip(";,")):
        return True
    return is_first and entropy.is_random(value) and not set("(.[{").intersection(value)


# The rules in order. The first result that isn't None says whether a value is a secret.
def _under_a_weak_name(value: _Value) -> bool | None:
    """Decide about a value whose name only hints at a secret: the value must be clearly random."""
    is_remark = value.how == "space" and not value.is_quoted and _REMARK.match(value.text) is not None
    is_public = not value.sign or "GPG" in value.name
    is_fingerprint = value.kind == "key" and is_public and _FINGERPRINT.fullmatch(value.text) is not None
    if value.is_next_name or is_remark or is_fingerprint:
        return False
    return (_LONG_WORD.fullmatch(value.text) is not None and entropy.is_strong(value.text)) if value.is_weak else None


def _after_a_word(value: _Value) -> bool | None:
    """Decide about a value whose name may be just a word of a sentence."""
    if not value.is_loose:
        return None
    if entropy.is_code(value.text) or _NO_VALUE.fullmatch(value.text):
        return False
    is_long = value.is_quoted or (
        len(value.text) > 15 and (_PARTS.search(value.name) is not None or not _HEX.fullmatch(value.text))
    )
    is_token = is_long and value.digits and entropy.is_random(value.text)
    return bool(
        (value.is_password and entropy.is_invented(value.text))
        or (is_token and entropy.is_secret(value.text, password=False, literal=True))
    )


def _passphrase(value: _Value) -> bool | None:
    """Decide about words in quotes: a few words are a passphrase, unless they talk about passwords."""
    if not value.is_quoted:
        return True if value.is_line and " " in value.text and entropy.is_passphrase(value.text) else None
    if value.kind in ("password", "secret") and (value.sign or value.how in ("xml", "space")):
        is_set = value.name.isupper() or ("=" in value.sign and not value.is_key) or value.text[-2:].isdigit()
        is_set = (
            is_set
            and value.is_password
            and not value.lead.endswith("`")  # a backquote begins a command
            and names.may_lead_to_secret(value.name)
            and names.kind_of_name(value.text) is None
        )
        if entropy.is_phrase(value.text) or (is_set and entropy.is_passphrase(value.text)):
            return True
    words = re.findall(r"[^\W\d_]+", value.text.lower())
    is_name = "phrase" in value.name.lower() or names.is_foreign(value.name.lower())
    if not (is_name and value.how in ("prose", "talk", "assign", "space") and 2 < len(words) < 9):
        return None
    return len(value.text) < 60 and ABOUT_PASSWORDS.isdisjoint(words)


def _in_a_sentence(value: _Value) -> bool | None:
    """Decide about a value within a sentence: in brackets, or some words after its name."""
    if value.how != "talk":
        return None
    if value.is_password and (_HAS_SIGN.search(value.lead) or names.is_foreign(value.name.lower())):
        return entropy.is_invented(value.text) and not (entropy.is_code(value.text) or _NO_VALUE.fullmatch(value.text))
    is_sure = value.lead.endswith(": ") or not _HEX.fullmatch(value.text)  # otherwise it may be a checksum
    is_token = len(value.text) > 15 and value.digits > 1 and entropy.is_random(value.text) and value.text.isalnum()
    return is_sure and is_token and names.may_lead_to_secret(value.lead)


def _word_or_pin(value: _Value) -> bool | None:
    if _BYTES.fullmatch(value.text):
        return True
    if value.is_password and value.is_quoted and _APP_PASSWORD.fullmatch(value.text):
        return True
    if not (value.is_password or _SIGNS.search(value.name)):
        return None
    is_word = entropy.is_a_word(value.text.replace("_", "")) and names.kind_of_name(value.text) is None
    is_pin = value.sign and value.is_quoted and value.text.isdigit() and 3 < len(value.text) < 6
    return True if is_pin or (is_word and _is_set(value)) else None


def _is_set(value: _Value) -> bool:
    """Return whether the text clearly sets a password, so that even a plain word may be one."""
    sign = value.sign.strip()
    is_element = value.lead.strip() == ">" and value.before.endswith(("<", ":"))
    if is_element or (value.sign and value.name.isupper()) or (value.is_quoted and ("=" in sign or sign == "<-")):
        return True
    if value.name.isupper() and value.how in ("comma", "space"):
        return value.is_quoted or value.is_bare
    if _STATE.search(value.text) or not names.may_lead_to_secret(value.name):
        return False
    is_line = value.is_line and value.is_last
    is_option = value.name.startswith("-") or _OPTION.search(value.before[-100:])
    if value.sign == "=" and (value.is_bare or is_option or (is_line and value.text.islower())):
        return True
    if is_line and value.sign in ("=", ": ") and _SERVICE.search(value.before[-60:] + value.name):
        return True
    if not sign and not (value.is_quoted and value.how == "space"):
        return False
    around = f"{value.before}\n{value.after}"
    is_code = value.sign.startswith(" ") and not value.is_quoted and not set("(){};").isdisjoint(around)
    if is_code or not (value.is_quoted or value.is_last) or _FIELDS.search(around):
        return False
    return any(not match["value"] or not entropy.is_placeholder(match["value"]) for match in _COMPANY.finditer(around))


def _word_in_another_language(value: _Value) -> bool | None:
    if not (value.is_password and value.text.isalpha()):
        return None
    is_alone = value.is_quoted or (value.is_line and value.is_last)
    is_word = names.is_foreign(value.name.lower()) and value.text[1:].islower() and not is_alone
    is_name = names.kind_of_name(value.text) == "password" and not entropy.is_random(value.text)
    return False if is_word or is_name else None


def _is_like_a_secret(value: _Value) -> bool:
    may_be_words = value.is_password or (
        (value.sign != "" or (value.how == "comma" and value.name.isupper()))
        and (value.is_quoted or value.is_bare)
        and value.digits > (0 if value.name.isupper() and value.kind == "secret" else 2)
        and len(value.text) > 7
        and not value.text.isdigit()
        and not _NUMBERED.fullmatch(value.text)
    )
    is_literal = (
        value.is_quoted
        or value.is_bare
        or value.how == "prose"
        or not value.name.isascii()  # no program has such a name
        or (value.how == "below" and not entropy.is_code(value.text))
        or entropy.is_words_and_number(value.text)
        or (value.how == "space" and entropy.is_invented(value.text) and not entropy.is_code(value.text))
    )
    is_clear = _is_clear(value) or (value.kind == "key" and value.name.isupper() and may_be_words)
    return is_clear and entropy.is_secret(value.text, password=may_be_words, literal=is_literal)


_Rule = Callable[[_Value], bool | None]
_IN_WORDS: tuple[_Rule, ...] = (_under_a_weak_name, _after_a_word, _passphrase, _in_a_sentence)
_RULES = (*_IN_WORDS, _word_or_pin, _word_in_another_language, _is_like_a_secret)


def _is_clear(value: _Value) -> bool:
    """Return whether the text before *value* clearly introduces a secret, or *value* itself looks like a secret."""
    is_option = value.how == "space" and (value.is_quoted or value.is_bare)
    is_setter = value.how in ("call", "comma") and (value.name.isupper() or value.name.startswith("setP"))
    is_sure = is_option or is_setter or value.how in ("assign", "xml")
    if not (is_sure or value.digits or entropy.is_invented(value.text)):
        return False
    is_verb = value.how == "prose" and value.name.lower() == "pass"
    if is_verb or (value.kind == "key" and not entropy.is_random(value.text)):
        return is_verb and entropy.is_random(value.text)
    if value.how in ("call", "comma", "below") or (value.how == "space" and not value.name.startswith("-")):
        is_password = value.is_password and (value.is_quoted or entropy.is_invented(value.text))
        return is_password or entropy.is_random(value.text)
    return True


def _value_before(text: str, begin: int, kind: str) -> Secret | None:
    """Return the value that a text gives before its name, as in `value: x, name: PASSWORD`."""
    pair = _PAIR.search(text, max(begin - 300, 0), begin)
    if pair is None or not entropy.is_secret(pair["value"], password=kind == "password", literal=True):
        return None
    return pair.start("value"), pair.end("value"), kind


def _whole_line(text: str, at: int, value: str, sign: str) -> str:
    """Return *value*, which starts at *at*, extended to the end of its line if the longer text looks like a secret."""
    words = _WORDS_AND_NUMBER.match(text, at, at + 100) if sign == "=" else None
    if words and entropy.is_passphrase(words[0]):
        return words[0]
    whole = _BARE_LITERAL.match(text, at, at + 400)
    if whole is None or len(whole[0]) == len(value) or not _ENDS_LINE.match(text, whole.end()):
        return value
    is_random = _HAS_DIGIT.search(whole[0]) and entropy.is_random(whole[0])
    return whole[0] if (is_random or entropy.is_invented(whole[0])) and not entropy.is_code(whole[0]) else value


def _may_follow(text: str, begin: int, before: str, to_value: re.Match[str]) -> bool:
    """Return whether a value can follow the name at *begin*, given the text *before* the name."""
    if to_value["space"] is not None:
        if text.startswith("-", begin) or _SETS.search(before) or "authorization" in before[-40:].lower():
            return True
        name = text[begin : to_value.start()].lower()
        if name == "pass" and to_value["open"] == "`":
            return False  # the verb "to pass"
        if _BEGINS_LINE.search(before):
            return name.endswith(("pass", "password", "passwd", "passphrase", "pw"))
        is_name = name in ("pass", "password", "passwd", "passphrase", "pw") or names.is_foreign(name)
        return is_name and not before.endswith(("{", "$", ".", "/"))
    if to_value["bare_head"] is not None:
        is_headed = to_value["bare_head"] != "" or _HEADING.search(before) is not None
        return is_headed or before.endswith(('name="', 'name=\\"'))
    if to_value["xml"] is not None:
        return before.endswith(("<", ":", ">", '"')) and text.find("</", to_value.end(), to_value.end() + 300) > 0
    if to_value["comma"] is not None:
        return text.startswith("-", begin) or _IN_CALL.search(before) is not None
    return True


def _name_start(text: str, start: int) -> int:
    """Return the start of the name that has a stem at *start*. The name `API key` includes the word before `key`."""
    before = text[max(start - 60, 0) : start]
    bare = before.rstrip(names.NAME_SIGNS)
    if len(bare) == len(before) and before.endswith((" ", ".")):
        previous = before[:-1]
        word = previous[len(previous.rstrip(names.NAME_SIGNS)) :]
        if word.lower() in KEYED:
            return start - len(word) - 1
    begin = start - len(before) + len(bare)
    is_after_escape = bare.endswith("\\") and begin < start and text[begin] in "nrt"  # a line break inside of JSON
    return begin + 1 if is_after_escape else begin


def _value_end(text: str, start: int, quote: str | None, *, in_shell: bool) -> int:
    if quote is None:
        bare = (_BARE_LITERAL if in_shell else _BARE).match(text, start, start + 4097)
        return bare.end() if bare else start
    limit = start + 4097
    end = text.find(quote, start, limit)
    while end > start and not quote.startswith("\\") and _is_escaped(text, start, end):
        end = text.find(quote, end + 1, limit)
    line = text.find("\n", start, limit)
    if 0 <= line < end and quote == "<":
        end = start + len(text[start:end].rstrip())
        line = text.find("\n", start, end)
    return start if end < 0 or 0 <= line < end else end


def _is_escaped(text: str, start: int, at: int) -> bool:
    before = text[max(start, at - 16) : at]
    return (len(before) - len(before.rstrip("\\"))) % 2 == 1
