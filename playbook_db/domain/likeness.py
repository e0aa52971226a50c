"""How much alike two texts are by their words: which words count, and the share of them that both have.

It finds candidates, no more: "use X, not Y" and "use Y, not X" have all their words in common. The words that say
nothing, the length of a beginning and the bound were chosen on benchmarks/quality/pairs.json; docs/evidence.md.
"""

import re

MIN_LIKENESS = 0.26  # of two texts that may say the same, from 0 to 1
_BEGINNING = 4  # letters by which a word is known: commit, commits, committing
# Short words count ("uv", "CI", "Go"), so does a short option ("-x"); a sign of Chinese or Japanese is a word.
_WORD = re.compile(r"(?<![\w-])-[^\W_](?!\w)|[\u3040-\u30ff\u3400-\u9fff]|[^\W_\u3040-\u30ff\u3400-\u9fff]+")
# Words that say nothing of what a point is about, in the languages that playbooks were seen in.
_EMPTY_WORDS = """
    a all also always an and any are as at be been before after both but by can do does don each else every for from
    has have here how i if in into is isn it its just like make me must need needs never no not of off on one only or
    other our out over should so some such t than that the their them then there these they this those to too under up
    use used uses using via was we were what when where which while who will with without you your
    als am auch auf aus bei bevor das dass dem den der des die dies diese dort du ein eine einem einen einer eines er es
    für hat hier ich im immer ins ist kann kein keine man mit muss müssen nach nicht nie noch nur nutze oder per sich
    sie sind soll statt über um und uns vom von vor während wenn werden wie wird wir zu zum zur
    au aux avant avec ce cette dans de du elle en est et il jamais la le les leur mais même n ne nous ou où par pas pour
    qu que qui s sa sans se ses si son sont sur toujours un une utilise y à être
    al antes como con cuando del el ella es este esta hay las lo los más muy nunca o para pero por sí siempre sin sobre
    su sus una usa usar ya
"""
_EMPTY = frozenset(_EMPTY_WORDS.split())


def words_of(text: str) -> frozenset[str]:
    """What *text* is about: the beginnings of its words. Those that say nothing count where there are no others."""
    words = set(_WORD.findall(text.casefold()))
    return frozenset(word[:_BEGINNING] if word.isalpha() else word for word in words - _EMPTY or words)


def likeness(one: frozenset[str], other: frozenset[str]) -> float:
    """How much alike two texts with these words are: 1 for the same words, 0 where they share one or none.

    In between it is the share of their words that both have, without one on either side: short texts that share a
    single word would be alike otherwise.
    """
    shared = len(one & other)
    if not shared:
        return 0.0
    return 1.0 if one == other else (shared - 1) / (len(one | other) - 1)
