"""Foreign text for somebody's prompt: it reads as it did, and is taken for nothing else.

Where a reader or a program would take a text for the end of its block, a token of a chat format,
a code fence or, made inert, a field of a template, one character of it is another one. Doing it
twice changes nothing more.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable
from functools import lru_cache

__all__ = ["CLOSING", "OPENING", "as_line", "as_lines"]

OPENING = "<recollections>"
CLOSING = "</recollections>"


def as_line(text: str, *, inert: bool = False) -> str:
    """A text as one line without what nobody sees; a line end becomes `⏎`.

    Args:
        inert: it opens no brace (`{name}` becomes `{ name}`), tag (`<b>` becomes `[b>`), other
            field of a template or picture either.
    """
    lines = (" ".join(line.split()) for line in _visible(text).splitlines())
    line = _FENCE.sub("'''", _disarmed(" ⏎ ".join(filter(None, lines)), tags=inert))
    return _OPENING_FIELD.sub(r"\g<0> ", line) if inert else line


def as_lines(text: str, speakers: Collection[str] = ()) -> str:
    """A text whose lines stay, for a transcript in which a line begins with who speaks.

    A further line that begins like that, or like the heading of an instruction, is quoted
    (`| AI: ...`).

    Args:
        speakers: who speaks in that transcript, beside the usual names.
    """
    first, *further = _disarmed(_visible(text)).splitlines(keepends=True) or [""]
    speaks = _speaking(tuple(speakers))
    quoted = (
        f"| {line.lstrip()}" if speaks.match(line.translate(_FOLDED)) else line for line in further
    )
    return "".join([first, *quoted])


@lru_cache
def _speaking(speakers: tuple[str, ...]) -> re.Pattern[str]:
    """The beginning of a folded line in which somebody speaks, or is instructed."""
    named = _any_of([*_ROLES, *filter(str.strip, speakers)])
    return re.compile(rf"[\s\0]*(?:{named}[\s\0]*:|#+[\s\0]*{_any_of(_HEADINGS)}(?!\w))")


def _any_of(names: Iterable[str]) -> str:
    folded = (map(re.escape, name.translate(_FOLDED)) for name in names)
    return f"(?:{'|'.join(map(_UNSEEN.join, folded))})"


_UNSEEN = r"\0*"
_ROLES = (
    *("system", "developer", "human", "user", "ai", "assistant", "bot", "chatbot", "model"),
    *("tool", "function", "observation", "系统", "用户", "助手", "助理"),
)
_HEADINGS = (
    *("system", "instruction", "instructions", "input", "response"),
    *("human", "user", "assistant"),
)


def _visible(text: str) -> str:
    seen = _INVISIBLE.sub("", _TERMINAL.sub("", text))
    return _SELECTED.sub("", _TAGS.sub(r"\1", seen))


_TERMINAL = re.compile(  # colours, links
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\))"
)
_INVISIBLE = re.compile(
    r"[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f]"  # controls
    r"|[\u202a-\u202e\u2066-\u2069]"  # overrides of the writing direction
    r"|[\xad\u180e\u200b\u2060-\u2065\u3164\ufeff\uffa0\ufff9-\ufffb]"  # of no width
    r"|[\ud800-\udfff]"
)
_SELECTED = re.compile(  # a second choice of a character's form
    r"(?<=[\ufe00-\ufe0f\U000e0100-\U000e01ef])[\ufe00-\ufe0f\U000e0100-\U000e01ef]+"
)
# Tag characters spell hidden text; only in the flag of a region do they mean a picture.
_TAGS = re.compile(
    r"(\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{3,6}\U000e007f)"
    r"|[\U000e0000-\U000e007f]"
)


def _disarmed(text: str, *, tags: bool = False) -> str:
    """Without delimiters of ours, tokens of a chat format and, if told so, any tags."""
    text = _TOKEN.sub("[", _unended(text))
    if tags:
        text = _TAG.sub(lambda found: "[" * len(found[0]), text)
    return _BRACKETED.sub("(", text)


# What models are trained to take for the frame of a conversation: <|im_start|>, <s>, <<SYS>>,
# <start_of_turn>, <tool_call>, [INST].
_FRAMES = (
    "s|bos|eos|pad|unk|sys|system|developer|user|human|assistant|tools?|functions?|instructions?|"
    "tool_(?:calls?|responses?|results?)|function_(?:calls?|results?)|invoke|execute|"
    "start_of_turn|end_of_turn|begin_of_text|end_of_text|im_start|im_end"
)
_TOKEN = re.compile(
    rf"[<＜](?=[|｜]|\s?/?\s?(?:[a-z]{{1,20}}:)?(?:{_FRAMES})(?![\w-]))", re.IGNORECASE
)
_BRACKETED = re.compile(
    r"[\[［](?=\s?/?\s?(?:inst|sys|system_prompt|gmask|tool_calls|tool_results|available_tools)"
    r"\s?[\]］])",
    re.IGNORECASE,
)
_FENCE = re.compile("`{3,}")
_TAG = re.compile(r"(?<!<)<+(?=[^\s\d=<-])")
_OPENING_FIELD = re.compile(  # {x}, {{x}}, {% x %}, ${x}, $x, %(x)s, #{x}, [[x]], ![x](y)
    r"\{(?! )|\$(?=[a-z_{])|[%#](?=[({])|\[(?=\[)|!(?=\[)", re.IGNORECASE
)


def _unended(text: str) -> str:
    """Without what could be mistaken for a delimiter of ours."""
    folded = text.translate(_FOLDED)
    done, parts = 0, []
    for found in _DELIMITER.finditer(folded):
        parts += [text[done : found.start(1)], "["]
        done = found.end(1)
    return "".join(parts) + text[done:]


class _Folding(dict[int, str]):
    """One character for one: what it could be mistaken for, lower case; NUL if unseen."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        if unicodedata.category(char) in ("Cc", "Cf", "Cs", "Me", "Mn"):
            self[code] = "\0"
        else:
            plain = unicodedata.normalize("NFKD", char)[0].lower()[0]
            self[code] = _TWINS.get(plain, plain)
        return self[code]


# Look-alikes that the compatibility forms of Unicode do not cover, Cyrillic and Greek ones
# among the letters; 1, i and l fold into one, as do 0 and o.
_TWINS = {
    twin: plain
    for plain, twins in {
        "<": "\u2039\u3008\u27e8\u276c\u276e\u1438\u02c2\u300a\u00ab",
        "/": "\\\u2044\u2215\u2571\u29f8\u27cb",
        "c": "\u0441\u03f2",
        "e": "\u0435\u03b5",
        "l": "i1|\u0456\u03b9\u04cf\u0131\u2223\u01c0",
        "n": "\u043f\u0578",
        "o": "0\u043e\u03bf\u0585",
        "r": "\u0433\u1d26",
        "s": "\u0455",
        "t": "\u0442\u03c4",
    }.items()
    for twin in twins
}
_FOLDED = _Folding()
_BETWEEN = r"[\0\s/.\-_⏎]*"
_DELIMITER = re.compile(
    r"(<|&lt;?|&#o*6o;?|&#xo*3c;?)" + _BETWEEN + _BETWEEN.join(OPENING[1:-2].translate(_FOLDED))
)
