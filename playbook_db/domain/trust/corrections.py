"""Recognizing a user's turn that corrects the assistant."""

import re
from functools import cache

# Beginnings of a user's turn that corrects the assistant. Beginnings that other turns often have are left out.
_ALONE = (  # on their own, or before a comma, a full stop, a dash: "no, the other file", never "no problem"
    "no", "nope", "stop", "wrong", "incorrect", "nein", "stopp", "halt", "falsch", "non", "arrête", "faux", "mal",
    "incorrecto", "sbagliato", "não", "errado", "nee", "fout", "nie", "źle", "нет", "стоп", "неправильно", "неверно",
)  # fmt: skip
_PHRASES = (  # before the end of a word
    r"(?:that|this)(?:'s| is) (?:wrong|incorrect|not (?:right|correct|what|how|it))", "that isn't (?:right|what|how)",
    "not what i", "not like that", "i said", "i (?:already )?told you", "i asked you", "i meant", "why did you",
    r"you should(?:n't| not) have", "don't do that", "(?:undo|revert) (?:that|this|it)", "you (?:forgot|missed|broke)",
    "das ist falsch", "das stimmt nicht", "das ist nicht", "so nicht", "ich (?:habe gesagt|sagte|meinte)",
    "warum hast du", "c'est (?:faux|pas)", "ce n'est pas", "pas comme ça", "j'ai dit", "je t'ai dit", "eso no",
    "no es eso", "está mal", "así no", "te dije", "non è", "non così", "ho detto", "está errado", "não é isso",
    "eu disse", "dat klopt niet", "dat is fout", "ik zei", "to nie tak", "to źle", "не так", "это не",
    "я (?:сказал|говорил)",
)  # fmt: skip
_CHARACTERS = (  # in scripts without spaces between words
    "不对", "错了", "不是这样", "停下", "我说的是", "違う", "違います", "ちがう", "そうじゃない", "いや、", "틀렸",
    "그게 아니",
)  # fmt: skip
_MOST_CHARS = 200  # of a turn; its beginning is within them


def is_correction(text: str) -> bool:
    """Return whether *text*, a user's turn, begins like a correction of the assistant."""
    return _beginnings().match(text[:_MOST_CHARS].strip().casefold().replace("’", "'")) is not None


@cache
def _beginnings() -> re.Pattern[str]:
    alone, phrases, characters = (r"|".join(each) for each in (_ALONE, _PHRASES, _CHARACTERS))
    return re.compile(rf"(?:(?:{alone})(?:\s*(?:[,.;:!…]|$)|\s+[-–—])|(?:{phrases})(?!\w)|{characters})")
