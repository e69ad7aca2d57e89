"""Words that say that a secret follows, a table for each language. Common knowledge, and ours.

What follows is only a secret if it looks like one: "the password is too long" names none.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from ebbmem.guards.formats import Format

__all__ = ["CHINESE", "ENGLISH", "QUOTES", "Naming", "formats", "names_password", "trimmed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Naming:
    """Patterns of one language, in lower case and without groups.

    Attributes:
        password: what a person types in.
        key: what a program hands over.
        number: names a short number that opens something.
        phrase: names the words from which a wallet is restored.
        about: what may stand between the name and the verb.
        verb: what joins a name and its value in a sentence.
        anchors: of each pattern, by its name: texts of which one stands in whatever it finds.
        plain: words that stand there and are no passwords, parted by spaces.
        closed: whether a plain word is a password even after a verb, as in a script in which
            such words are foreign.
    """

    password: str
    key: str
    number: str
    phrase: str
    about: str
    verb: str
    anchors: dict[str, tuple[str, ...]]
    plain: str = ""
    closed: bool = False


ENGLISH = Naming(
    password=r"(?:pass(?:words?|wd|phrases?|codes?)|pwd|pass[ _-]?(?:word|phrase|code))",
    key=r"(?:(?:api|secret|access|private|encryption|signing|master|recovery|account|licen[cs]e)"
    r"[ _-]?keys?|secrets?|tokens?|credentials?)",
    number=r"(?<![a-z])pin(?: number)?",
    phrase=r"(?:seed|recovery|mnemonic|wallet)[ _-]phrase",
    about=r"(?:\s+(?:for|of|to|on|at|in|from)\b(?:[^\n.,;:=]|\.(?=\w)){0,40}?)?",
    verb=r"\s(?:is|was|are|to|as)(?:\s+now|\s+still|\s+just)?\b:?",
    anchors={
        "password": ("pass", "pwd"),
        "key": ("key", "secret", "token", "credential"),
        "number": ("pin",),
        "phrase": ("phrase",),
    },
    plain="required optional none null nil true false unknown incorrect wrong invalid valid same "
    "changed expired protected reset here yes hidden secret string text password passwords "
    "missing empty blank forgotten lost correct strong weak short long safe needed enabled "
    "disabled above below later todo confidential redacted masked removed encrypted hashed "
    "pass pwd passwd passphrase bool split credentials user username "
    "please sent shared unchanged default basic your mine that this what",
)

CHINESE = Naming(
    password=r"(?:密[码碼]|口令|通行[码碼])",
    key=r"(?:令牌|密[钥鑰]|秘[钥鑰]|私[钥鑰]|[凭憑][证證]|授[权權][码碼])",
    number=r"(?:安全[码碼]|[卡取][^\s]{0,4}密[码碼]|pin码)",
    phrase=r"(?:助[记記][词詞])",
    about=r"",
    verb=r"\s?(?:[现現]在|就|已[经經]|也|[还還]|都|我|[给給]){0,2}"
    r"(?:是|[为為]|叫|改|[设設]置?|[换換]|[变變]|用)(?:成|[为為])?了?",
    anchors={
        "password": ("密码", "密碼", "口令", "通行"),
        "key": ("令牌", "密钥", "密鑰", "秘钥", "秘鑰", "私钥", "私鑰", "凭证", "憑證", "授"),
        "number": ("安全", "密码", "密碼", "pin码"),
        "phrase": ("助记词", "助記詞"),
    },
    closed=True,
)

LANGUAGES = (ENGLISH, CHINESE)

_SIGN = r"\s?(?:=>|->|→|[:=])"
_OPENS = r"(?:\\?[\"']\]?|\))?"  # ends a name in code; escaped where JSON stands in JSON
_QUOTED = r"\\?[\"'“‘「『](?P<quoted>[^\"'”’」』\\\n]{2,100})\\?[\"'”’」』]"
_TYPED = r"[!#-&(-\[\]-_a-~]"  # what a keyboard gives, without quotes and what escapes them
_WORD = re.compile(r"[a-z]+(?:[-'/.][a-z]+)*|[A-Z][a-z]*(?:[-/][A-Za-z]+)*|[A-Z]+")
_MEASURE = re.compile(
    r"\d{1,3}|\d{1,2}[-+]\d{1,2}|\d{1,3}[-+]?(?:char|digit|letter|word|bit|step|minute|min|hour|day"
    r"|month|year|factor|time|x)\w{0,6}|\d{4}-\d\d-\d\d\S*|v?\d+(?:\.\d+){2}",
    re.IGNORECASE,
)
_CODE = re.compile(  # a call, an element, an attribute, a variable, a path
    r"[A-Za-z_]+(?:\.[A-Za-z_]\w*)*[(\[].*|[A-Za-z_]+(?:\.[A-Za-z_]+)+|[A-Za-z]*_[A-Za-z_]*"
    r"|/\w[\w.-]*(?:/[\w.-]*)+"
)
_FILLED_IN = re.compile(r"[<{\[].*|\$[({A-Z].*|%[(\w].*|[*x.•_#-]+", re.IGNORECASE)
_TOKEN = re.compile(r"[0-9A-Za-z+/=_.~-]{12,}")
QUOTES = "\"'“‘「『"
_ENDS = ".,!?;:)]}"
_SHORTEST = 4  # characters of a password that anybody would ask for
_CHANGES = 4  # between letters and digits, or small and large: names of things have fewer


def formats() -> tuple[Format, ...]:
    """What the tables find, as formats with an anchor each, in lower case."""
    return tuple(each for naming in LANGUAGES for each in _formats(naming))


def names_password(name: str) -> bool:
    """Whether a key of metadata names a password, so that whatever stands under it is one."""
    return _PASSWORD_NAME.fullmatch(name) is not None


_PASSWORD_NAME = re.compile(
    rf"(?:\w{{0,40}}[ _-]|user|db|login)?(?:{'|'.join(each.password for each in LANGUAGES)})",
    re.IGNORECASE,
)


def _formats(words: Naming) -> list[Format]:
    plain = frozenset(words.plain.split())
    said = f"{_OPENS}{words.about}{_OPENS}(?:{words.verb})"
    signed = f"{_OPENS}{words.about}{_OPENS}(?:{_SIGN})"

    def made(
        kind: str, name: str, pattern: str, holds: Callable[[str], bool] = lambda _: True
    ) -> Format:
        compiled = re.compile(getattr(words, name) + pattern, re.IGNORECASE)
        return Format(kind, words.anchors[name], compiled, holds)

    def value(pattern: str) -> str:
        return rf"\s?\s?(?P<secret>{pattern})"

    typed, alone = rf"{_TYPED}{{4,200}}", rf"{_TYPED}{{4,200}}(?=\s*(?:\n|\Z|\\n))"
    quoted = rf"\s?\s?{_QUOTED.replace('quoted', 'secret')}"
    verb = rf"(?:{said}|{signed})"
    return [
        made("password", "password", verb + quoted, lambda each: _typed(each, plain)),
        made("password", "password", verb + value(typed), _strong),
        made(
            "password",
            "password",
            (verb if words.closed else signed) + value(alone),
            lambda each: _typed(each, plain),
        ),
        made("password", "password", rf"\s{value(typed)}", _mixed),
        made("key", "key", verb + quoted, _random),
        made("key", "key", verb + value(typed), _random),
        made("key", "key", rf"\s{value(typed)}", _random),
        made("pin", "number", rf"{verb}\s?(?P<secret>\d{{3,8}})(?![0-9A-Za-z_-]|\.\d)"),
        made(
            "recovery phrase",
            "phrase",
            verb + value(r"(?:[a-z]{3,8}[ ,]{1,2}){11,23}[a-z]{3,8}"),
        ),
    ]


def trimmed(secret: str) -> str:
    """Without the punctuation of the sentence it stands in."""
    return secret.rstrip(_ENDS)


def _typed(secret: str, plain: frozenset[str]) -> bool:
    """Something to type in: strong, or a word that stands there alone and says nothing."""
    bare = trimmed(secret)
    if _strong(secret):
        return True
    open_ = any(each.fullmatch(bare) for each in (_FILLED_IN, _MEASURE, _CODE))
    return not open_ and len(bare) >= _SHORTEST and bare.lower() not in plain


def _strong(secret: str) -> bool:
    """No word, no measure, no place to fill in."""
    bare = trimmed(secret)
    if len(bare) < _SHORTEST or "://" in bare:
        return False
    return not any(each.fullmatch(bare) for each in (_WORD, _MEASURE, _FILLED_IN, _CODE)) and (
        any(each.isdigit() for each in bare)
        or any(each in "!@#$%^&*_+=|~?" for each in bare)
        or any(a.islower() and b.isupper() for a, b in pairwise(bare))
    )


def _mixed(secret: str) -> bool:
    """Letters and digits, six at least: what nobody says after "password" for another reason."""
    bare = trimmed(secret)
    kinds = {each.isdigit() for each in bare if each.isalnum()}
    return len(bare) >= _SHORTEST + 2 and len(kinds) == 2 and _strong(bare)


def _random(secret: str) -> bool:
    """Long, of letters and digits, and changing between them as no name does."""
    bare = trimmed(secret)
    if not _TOKEN.fullmatch(bare) or _MEASURE.fullmatch(bare) or _FILLED_IN.fullmatch(bare):
        return False
    kinds = [_class(each) for each in bare if each.isalnum()]
    changes = sum(a != b and (a, b) != ("upper", "lower") for a, b in pairwise(kinds))
    return changes >= _CHANGES and any(each == "digit" for each in kinds)


def _class(char: str) -> str:
    return "digit" if char.isdigit() else "upper" if char.isupper() else "lower"
