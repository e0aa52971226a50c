"""Secrets known by the name beside them: `password=`, `"api_key": "..."`, `--token xyz`.

At each stem of such a name three questions decide: does a value follow (mostly none does), does the name mean a
secret, does the value look like one.
"""

import re
from collections.abc import Iterable, Iterator

from playbook_db.domain.redaction.entropy import (
    is_a_word,
    is_code,
    is_invented,
    is_random,
    is_secret,
    is_strong,
    is_words_and_number,
)
from playbook_db.domain.redaction.escapes import Secret
from playbook_db.domain.redaction.names import NAME_SIGNS, has_word_of_secrets, kind_of_name, may_name_a_key

_TAIL = re.compile(r"[A-Za-z0-9_-]{0,40}(?:[ ](?:key|token|secret|value|code|phrase|string)(?![A-Za-z0-9_]))?")
_QUOTE = r"""\\{0,8}(?:\"{3}|'{3}|["'`])"""
_BREAK = r"(?:\r?\n|(?:\\{1,4}r)?\\{1,4}n)"
_DIGIT = r"""(?=\\{0,8}["'`]|[$<]\(|\S{0,400}[0-9])"""  # without quotes prose has no passwords that are words
# Of, for and is in other languages.
_OF = (
    "de|del|della|di|do|da|du|des|pour|para|per|f\u00fcr|fuer|zum|zur|von|vom|voor|van|till|til|f\u00f6r|dla|k|pro|"
    "\u043e\u0442|\u0434\u043b\u044f|\u0434\u043e"
)
_IS = "ist|lautet|es|est|jest|to|je|\u00e8|\u00e9|\u00e4r|er|\u044d\u0442\u043e"
_TO_VALUE = re.compile(
    rf"""
    (?:\\{{0,8}}["'`]|[\]*]){{0,4}}
    (?:[ ]?:[ ]?&?(?:'static[ ])?[A-Za-z][\w.]{{0,30}}(?:\[[\w, .|]{{0,40}}\])?(?:[ ]?\|[ ]?None)?[ ]?(?==[^=>])
      |[ ]As[ ]String(?=[ ]=)|\[[0-9]{{0,4}}\](?=[ ]=))?
    (?:
      (?P<below>
        (?:(?:[ ][\w']{{1,20}}){{0,6}}?[ ]?[:=][ ]?(?:[|>][-+]?)?
          |(?P<bare_head>{_BREAK}[-=~]{{3,40}}|(?={_BREAK}{_BREAK})))
        (?:{_BREAK}```\w{{0,10}})?(?:{_BREAK}[ \t]{{0,40}}){{1,2}}(?:-[ ])?(?=[^\s"'\\]{{6,400}}(?:{_BREAK}|$))
      )
      | (?P<assign>
        ,?(?:\s|\\n){{0,30}}(?:{_QUOTE})?(?:[\w.]{{0,40}}[.\]]\.?)?[vV]alue(?:{_QUOTE})?[ ]?[=:][ ]?
        | [ ]?[=:]?[ ]?\{{[^{{}}]{{0,160}}?(?:[vV]alue|default|current|result|plaintext)(?:{_QUOTE})?[ ]?[=:][ ]?
        | (?<=["'])[^<>\n]{{0,120}}?\s(?:value|content)=(?={_QUOTE})
        | [ ]{{0,40}}\|[ ]{{0,40}}(?=\S{{6,400}}[ ]{{0,40}}(?:\||{_BREAK}|$))
        | \)?[ ]?(?:\|\||\?\?|\?:|:-|or[ ]|(?<=\)[ ])\{{)[ ]?(?=\\{{0,8}}["']|[A-Z0-9])
        | [ \t]{{0,40}}(?:=>|<-|->|:=|\?=|\+=|\|\|=|\?\?=|[=!]==?|=|:|\uff1a|\uff1d|\u2192|[ ]REG_SZ[ ])
          (?:(?:\s|\\{{1,4}}[nrt]){{0,30}}(?=\\{{0,8}}["'`])
            |[ \t]{{0,20}}(?:[\u203a\u276f>][ ]|\\\n|\*{{0,2}}[ \t]{{0,20}}))
      )
      | (?P<xml>(?:[ ][\w:.-]{{1,40}}=(?:"[^"<>]{{0,80}}"|'[^'<>]{{0,80}}')){{0,4}}>\s{{0,20}}(?:<[vV]alue>)?
          |</\w{{1,20}}>\s{{0,20}}<\w{{1,20}}>)
      | (?P<comma>,[ ]{{0,20}}(?:default(?:_value)?[ ]?=[ ]?)?(?=\\{{0,8}}["'`]))
      | (?P<call>(?:\)?\.(?:equals|toBe|toEqual|eql?|type|fill|send_keys|sendKeys|sendline|setValue|val))?
          \((?=\\{{0,8}}["'`]))
      | (?P<prose>(?:(?:[ ]is[ ]generated)?[ ](?:for|of|{_OF})(?:[ ][\w@./:\[\]()'-]{{1,40}}){{1,5}}?:
          |(?:[ ](?:for|of|to|on|in|{_OF})(?:[ ](?!is[ ])[\w@./\[\]-]{{1,40}}){{1,4}}?)?
          (?:[ ](?:(?:(?:is|was|has[ ]been|be)[ ])?(?:set|changed|reset|rotated)[ ]to
          |is|was|are|be|equals|to|when|used[ ]is|{_IS})(?:[ ]now)?:?|[ ]?(?:\u662f|\u306f)))
          (?:[ ]{{1,3}}|{_BREAK}{{2}}[ ]{{1,8}}){_DIGIT})
      | (?P<space>[ \t]{{1,20}}(?=\S{{6}}){_DIGIT})
    )
    (?:[\w.]{{0,30}}(?:[dD]ecode\w{{0,10}}|atob|[bB]ase64\w{{0,6}})\(|[$<]\(echo[ ])?
    (?:[bBrRuUfF@$]{{1,2}}(?=\\{{0,8}}["'])
      |(?:(?:new[ ])?[\w.:]{{0,30}}(?:Secret(?:Str)?|Some|from|GetBytes|Key(?:Spec)?|new|String)|\[\]byte)
        \((?=\\{{0,8}}["'])){{0,2}}
    (?P<open>{_QUOTE})?(?:\{{(?:noop|plain|PLAIN|SSHA|CRYPT|CLEARTEXT)\}})?
    """,
    re.VERBOSE,
)
_BARE = re.compile(r"""(?:\[masked:\s[A-Za-z ]{1,30}\]|(?!\\+[nrt"'])[^\s"'`,;&<>)\]}|])+""")
_BARE_LITERAL = re.compile(r"""(?:\[masked:\s[A-Za-z ]{1,30}\]|(?!\\+[nrt"'])[^\s"'`])+""")
_MAX_SEARCHED = 128  # characters; a longer value that is no secret is not searched for names
_LONG_WORD = re.compile(r"[A-Za-z0-9_+/=-]{24,200}")
_HAS_DIGIT = re.compile("[0-9]")
_BEGINS_LINE = re.compile(r"(?:\A|\n|\\n)[ \t]*(?:- )?[\"'*#-]{0,3}[ ]?$")
_IS_NAME = re.compile(r"\\{0,8}[\"'][ ]?:")  # what follows the name of the next value
_PUBLIC = re.compile(r"[Pp]ublic[ _-](?:key[ _-])?$")
_HEADING = re.compile(r"(?:^|\n|\\n)#{1,6} [\w ]{0,30}$")
_ENDS_LINE = re.compile(r"[ \t]*(?:$|[\r\n]|\\{1,4}[rn])")
_IN_PARAMETERS = re.compile(r"\w=[^\s=,]{1,80}[ ;&]$")
_PAIR = re.compile(
    r"""[vV]alue["']?[ ]?[:=][ ]?(?P<open>["']?)(?P<value>[^\s"',{}<>]{6,400})(?P=open)"""
    r"""[,\s]{1,20}["']?(?:\w{1,20}:)?(?:[nN]ame|[kK]ey)["']?[ ]?[:=][ ]?["']?$"""
)
_IN_CALL = re.compile(
    r"\([ ]{0,2}(?:\\{0,8}[\"'][\w. -]{1,40}\\{0,8}[\"'],[ ]?)?\\{0,8}[\"'`]{0,3}(?:\w{0,20}\[\w{1,20}=|[#.])?[\"']?$"
)
_NO_VALUE = re.compile(r".*\.[A-Za-z]{1,5}|[(\[{].*")  # a file, a remark
_PARTS = re.compile(r"[a-z][A-Z]|[A-Za-z][_-]")  # a name of several words
_HEX = re.compile(r"0x\w+|[0-9a-f-]+")
_CHANGED = re.compile(r"\\{0,8}[\"']?[ ]->[ ]\\{0,8}[\"']([^\"'\n]{4,400}?)\\{0,8}[\"']")  # from one value to another
_SETS = re.compile(r"(?:^|[\s\"'(])(?:ENV|ARG|setenv|set(?: -\w+)*|setx|SET)[ ]$")


def assignments(text: str, stems: Iterable[tuple[int, int]]) -> Iterator[Secret]:
    """The values in *text* that have the name of a secret, with a stem at *stems*, and look like one."""
    done = 0
    for begin, stem_end in stems:
        found = _value(text, begin, stem_end) if begin >= done else None
        if found is None:
            continue
        start, end, kind = found
        if kind:
            yield start, end, kind
            changed = _CHANGED.match(text, end)
            if changed:
                yield changed.start(1), changed.end(1), kind
        if kind or end - start > _MAX_SEARCHED:
            done = end


def _value(text: str, start: int, end: int) -> Secret | None:
    """The value that has the name whose stem is at *start*, and its kind, "" where it doesn't look like a secret.

    None where there is no value, or the name means no secret.
    """
    tail = _TAIL.match(text, end)
    name_end = tail.end() if tail else end
    to_value = _TO_VALUE.match(text, name_end)
    if to_value is None and text.find("alue", max(start - 300, 0), start) < 0:
        return None
    begin = _name_start(text, start)
    name = text[begin:name_end]
    kind = kind_of_name(name)
    if kind is None and (to_value is None or to_value["assign"] is None or not has_word_of_secrets(name)):
        return None
    is_weak = kind is None
    kind = kind or "secret"
    if to_value is None:
        return _value_before(text, begin, kind)
    before = text[max(begin - 100, 0) : begin]
    is_file = before.endswith("/") and to_value["assign"] == ":" and not before.endswith(" /")
    if is_file or (name == "PASS" and to_value["assign"] == ": "):  # a test that passed
        return None
    if "ublic" in before and _PUBLIC.search(before):
        return None
    if before.endswith("."):  # of a path of names
        before = before.rstrip(NAME_SIGNS + ".")
    is_loose = not _may_follow(text, begin, before, to_value)
    if is_loose and to_value["space"] is None:
        return None
    quoted = to_value["open"] is not None or to_value["xml"] is not None
    in_prose = to_value["prose"] is not None
    below = to_value["below"] is not None
    is_line = to_value["assign"] is not None and _BEGINS_LINE.search(before[-45:]) is not None
    # A shell's values need no quotes: after an option, and after a variable, which is in capitals.
    in_shell = (
        name.startswith("-")
        or before.endswith(" /")
        or (to_value["assign"] == "=" and (name.isupper() or bool(_IN_PARAMETERS.search(before))))
    )
    at = to_value.end()
    quote = "<" if to_value["xml"] is not None else to_value["open"]
    value = text[at : _value_end(text, at, quote, in_shell=in_shell or below)]
    if is_line and not quoted and kind == "password":
        value = _whole_line(text, at, value)
        in_shell = in_shell or (len(_HAS_DIGIT.findall(value)) > 1 and not is_code(value))
    if is_line and to_value["assign"] == "=" and before[-1:] in ("", "\n"):  # neither an argument nor a program
        in_shell = in_shell or (is_random(value) and not set("(.[{").intersection(value))
    if quoted and "\n" in to_value[0] and _IS_NAME.match(text, at + len(value)):
        return at, at + len(value), ""
    if (in_prose or to_value["space"]) and not quoted:
        value = value.rstrip(".:!?")
    end = at + len(value)
    if is_weak:
        is_word = to_value["assign"] is not None and _LONG_WORD.fullmatch(value) is not None
        return at, end, kind if is_word and is_strong(value) else ""
    value = value.rstrip(";,")  # redacted with the value, as it may be its end; but no part of a path
    if is_loose:
        is_long = quoted or (len(value) > 15 and (_PARTS.search(name) or not _HEX.fullmatch(value)))
        is_token = is_long and _HAS_DIGIT.search(value) and is_random(value)
        is_known = (kind == "password" and is_invented(value)) or (
            is_token and is_secret(value, password=False, literal=True)
        )
        return at, end, kind if is_known and not (is_code(value) or _NO_VALUE.fullmatch(value)) else ""
    is_sure = to_value["assign"] is not None or to_value["xml"] is not None or (to_value["space"] and quoted)
    is_clear = (is_sure or _HAS_DIGIT.search(value)) and (kind != "key" or is_random(value))
    if in_prose and name.lower() == "pass":  # the verb
        is_clear = is_clear and is_random(value)
    if to_value["call"] or to_value["comma"] or below or (to_value["space"] and not name.startswith("-")):
        is_clear = is_clear and (is_random(value) or (kind == "password" and (quoted or is_invented(value))))
    literal = quoted or in_shell or in_prose or (below and not is_code(value)) or is_words_and_number(value)
    # People invent these as well, with a number to it.
    may_be_words = kind == "password" or (
        to_value["assign"] is not None
        and (quoted or in_shell)
        and len(_HAS_DIGIT.findall(value)) > 2
        and len(value) > 7
        and not value.isdigit()
    )
    is_clear = is_clear or (kind == "key" and name.isupper() and may_be_words)
    if kind == "password" and to_value["assign"] is not None:
        is_word = (name.isupper() or (quoted and "=" in to_value["assign"])) and is_a_word(value)
        is_pin = quoted and value.isdigit() and 3 < len(value) < 6
        if (is_word and kind_of_name(value) is None) or is_pin:
            return at, end, kind
    if kind == "password" and value.isalpha() and kind_of_name(value) == "password":
        return at, end, ""  # "password" in another language
    return at, end, kind if is_clear and is_secret(value, password=may_be_words, literal=literal) else ""


def _value_before(text: str, begin: int, kind: str) -> Secret | None:
    """The value of a pair that says its name last."""
    pair = _PAIR.search(text, max(begin - 300, 0), begin)
    if pair is None or not is_secret(pair["value"], password=kind == "password", literal=True):
        return None
    return pair.start("value"), pair.end("value"), kind


def _whole_line(text: str, at: int, value: str) -> str:
    """The value at *at* to the end of its line, signs and all, where nothing but the line ends it."""
    whole = _BARE_LITERAL.match(text, at, at + 400)
    if whole is None or len(whole[0]) == len(value) or not _ENDS_LINE.match(text, whole.end()):
        return value
    return whole[0] if _HAS_DIGIT.search(whole[0]) and not is_code(whole[0]) and is_random(whole[0]) else value


def _may_follow(text: str, begin: int, before: str, to_value: re.Match[str]) -> bool:
    """Whether the text *before* the name, which begins at *begin*, fits the text between name and value."""
    if to_value["space"] is not None:
        if text.startswith("-", begin) or _SETS.search(before) or "authorization" in before[-40:].lower():
            return True
        name = text[begin : to_value.start()].lower()
        if name == "pass" and to_value["open"] == "`":
            return False  # the verb
        if _BEGINS_LINE.search(before):
            return name.endswith(("pass", "password", "passwd", "passphrase", "pw"))
        return name in ("pass", "password", "passwd", "passphrase", "pw") and not before.endswith(("{", "$", ".", "/"))
    if to_value["bare_head"] is not None:
        return (
            to_value["bare_head"] != ""
            or _HEADING.search(before) is not None
            or before.endswith(('name="', 'name=\\"'))
        )
    if to_value["xml"] is not None:
        return before.endswith(("<", ":", ">", '"')) and text.find("</", to_value.end(), to_value.end() + 300) > 0
    if to_value["comma"] is not None:
        return text.startswith("-", begin) or _IN_CALL.search(before) is not None
    return True


def _name_start(text: str, start: int) -> int:
    """Where the name begins whose stem is at *start*; to a bare `key` belongs the word before it: `API key`."""
    before = text[max(start - 60, 0) : start]
    bare = before.rstrip(NAME_SIGNS)
    if len(bare) == len(before) and before.endswith((" ", ".")):
        previous = before[:-1]
        word = previous[len(previous.rstrip(NAME_SIGNS)) :]
        if may_name_a_key(word):
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
