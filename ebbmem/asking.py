"""What a question asks for, and which items hold such a thing. One table a language. Pure.

"When" wants a time, "who" a person or a name, "how many" a number: an answer type (E. Voorhees,
"The TREC-8 question answering track", 1999), matched by words that a user can add to. An item
is marked once, when it is indexed; a question is read when it is asked.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache

from ebbmem.text import CJK, words

__all__ = [
    "ASSISTANTS",
    "CHINESE",
    "ENGLISH",
    "LANGUAGES",
    "MANY_SPEAKERS",
    "MARKS",
    "NAMES",
    "Asks",
    "Vocabulary",
    "asks",
    "count_names",
    "marks",
    "names",
]

_NEVER = "(?!)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Vocabulary:
    """Words and patterns of one language.

    The first fields are words that mark an item, separated by spaces; a language without spaces
    is searched for them anywhere. The `ask_` fields are regular expressions that are searched
    in the lower-cased question.
    """

    time: str = ""
    unit: str = ""
    number: str = ""
    reason: str = ""
    person: str = ""
    place: str = ""
    feeling: str = ""
    self: str = ""
    ask_time: str = _NEVER
    ask_person: str = _NEVER
    ask_place: str = _NEVER
    ask_number: str = _NEVER
    ask_reason: str = _NEVER
    ask_feeling: str = _NEVER
    ask_several: str = _NEVER
    ask_assistant: str = _NEVER
    ask_user: str = _NEVER


ENGLISH = Vocabulary(
    time="yesterday today tonight tomorrow last next ago weekend weekends week weeks month months "
    "year years recently earlier morning afternoon evening night monday tuesday wednesday "
    "thursday friday saturday sunday january february march april may june july august september "
    "october november december am pm o'clock birthday anniversary summer winter spring fall "
    "autumn christmas",
    unit="second seconds minute minutes hour hours day days week weeks month months year years "
    "decade decades while",
    number="one two three four five six seven eight nine ten eleven twelve once twice couple dozen "
    "hundred thousand first second third several few half",
    reason="because since inspired motivated motivates reason reasons so",
    person="family friend friends team boss mom mum mother dad father sister brother wife husband "
    "kid kids son daughter cousin aunt uncle grandma grandpa grandmother grandfather partner "
    "boyfriend girlfriend fiance fiancee colleague colleagues coworker coworkers neighbor "
    "neighbors neighbour neighbours teacher coach mentor roommate parents",
    place="park beach city country museum store shop cafe restaurant school church home hotel lake "
    "mountain mountains street town gym library hospital office studio near visiting downtown "
    "college university center centre trail forest",
    feeling="happy sad excited nervous proud angry scared afraid grateful thankful stressed "
    "stressful anxious relaxed relaxing amazing awesome love joy peaceful calm fun lonely upset "
    "worried thrilled overwhelmed inspiring hopeful confident comforting free glad terrified",
    self="i i'm i've i'd i'll me my mine we we're we've our us",
    ask_time=r"^(when|(on )?(what|which) (date|day|month|year|time))\b|\bhow long\b",
    ask_person=r"\b(who|whose|whom)\b",
    ask_place=r"^where\b|\b(which|what) (city|country|place|state|town|restaurant|location)\b",
    ask_number=r"\bhow (many|much|often|old|long|far)\b",
    ask_reason=r"^why\b|\bwhat (made|inspired|caused|motivated|prompted|led)\b|\breasons?\b",
    ask_feeling=r"^how (did|does|do|is|was|are|were|has|have|would|will)\b",
    ask_several=r"\b(what|which) (\w+ ){0,2}\w+s\b|\bwhat (kind|type|sort)s?\b",
    ask_assistant=r"\b(you|ai|assistant)\b[^.?!]{0,40}\b(recommend|suggest|advis|told me|tell me|"
    r"said|mention|gave me|give me|answer|explain|propos|introduc|provid|shar|teach|taught|"
    r"describ|list|help)\w*|\b(recommended|suggested|told|given|explained) (to )?me\b",
    ask_user=r"\b(i|i'm|i've|i'd|my|me|mine)\b",
)
CHINESE = Vocabulary(
    time="昨天 今天 明天 前天 后天 後天 今晚 上周 下周 上个 下个 上個 下個 星期 "
    "周一 周二 周三 周四 周五 周六 周日 周末 週末 去年 今年 明年 最近 刚才 刚刚 剛才 早上 "
    "上午 中午 下午 晚上 月 号 號 日 生日",
    unit="小时 小時 分钟 分鐘 天 周 星期 个月 個月 年",
    number="一 二 三 四 五 六 七 八 九 十 两 兩 几 幾 半 百 千",
    reason="因为 因為 为了 為了 所以 由于 由於 原因",
    person="妈 媽 爸 姐 妹 哥 弟 朋友 同事 同学 同學 老师 老師 家人 老板 老闆 女友 男友 丈夫 妻子 "
    "孩子 儿子 兒子 女儿 女兒 爷爷 爺爺 奶奶",
    place="公司 学校 學校 公园 公園 餐厅 餐廳 饭店 飯店 酒店 商场 商場 超市 图书馆 圖書館 "
    "医院 醫院 博物馆 博物館 海边 海邊 山 市 店 家里 家裡 咖啡",
    feeling="开心 開心 难过 難過 紧张 緊張 高兴 高興 焦虑 焦慮 担心 擔心 放松 放鬆 压力 壓力 "
    "孤独 孤獨 自豪 感动 感動 兴奋 興奮 喜欢 喜歡 害怕 生气 生氣",
    self="我",
    ask_time=r"什[么麼][时時]候|[几幾][点點号號]|哪[天日年月]|何[时時]|多久",
    ask_person=r"[谁誰]|哪位",
    ask_place=r"哪[里裡儿兒]|什[么麼]地方|哪[个個座家](城市|国家|國家|地方|餐|酒店|公司|学校)",
    ask_number=r"[几幾][个個次本岁歲只条條张張]|多少|多大|多久",
    ask_reason=r"为什么|為什麼|为何|為何|原因",
    ask_feeling=r"感觉|感覺|感受|心情|怎么样|怎麼樣",
    ask_several=r"哪些|什么样的|什麼樣的",
    ask_assistant=r"你.{0,12}(推荐|推薦|建议|建議|说|說|告诉|告訴|提到|介绍|介紹|讲|講|回答|教|提供|"
    r"给我|給我|分享)|(推荐|推薦|介绍|介紹)给我|[给向給]我(推荐|推薦|介绍|介紹|建议|建議)",
    ask_user="我",
)
LANGUAGES: tuple[Vocabulary, ...] = (ENGLISH, CHINESE)
"""What items and questions are read with; `MemoryBank.open(languages=)` takes others."""

MARKS = ("time", "unit", "number", "reason", "person", "place", "feeling", "self", "quote")
"""What the bits of `marks` stand for, lowest first."""

NAMES = 5
"""More names than these in an item count as these."""

MANY_SPEAKERS = 50
"""With more it is no talk: a name in a question may be anybody's."""

ASSISTANTS = frozenset(
    {"assistant", "ai", "bot", "chatbot", "model", "system", "助手", "助理", "机器人"}
)
"""Speakers, lower-cased, that are no human."""

_BIT = {name: 1 << at for at, name in enumerate(MARKS)}
_QUOTED = re.compile(r'"[^"]{2,}"|“[^“”]{2,}”|《[^《》]+》|「[^「」]+」')
_NAME = re.compile(r"(?<![.!?\"'] )(?<!^)\b[A-Z][a-z]+")
_CJK = re.compile(f"[{CJK}]")
_DIGIT = re.compile(r"\d")


@dataclass(frozen=True, slots=True)
class Asks:
    """What a question asks for.

    Attributes:
        wants: marks of which an answer holds one, as bits; `names`: or a name.
        time: whether it asks when.
        lasting: or how long, which a number with a unit answers.
        feeling: whether it asks how something was.
        role: whose words it asks for, "assistant" or "user"; None says nothing.
        words: of the question, lower-cased, to find speakers in.
    """

    wants: int = 0
    names: bool = False
    time: bool = False
    feeling: bool = False
    role: str | None = None
    words: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class _Tables:
    """Languages, ready to be searched."""

    words: dict[str, int]
    anywhere: tuple[tuple[re.Pattern[str], int], ...]
    asking: dict[str, tuple[re.Pattern[str], ...]]


@lru_cache(maxsize=16)
def _tables(languages: tuple[Vocabulary, ...]) -> _Tables:
    spaced: dict[str, int] = {}
    anywhere: list[tuple[re.Pattern[str], int]] = []
    for language in languages:
        for name, bit in _BIT.items():
            listed = getattr(language, name, "").split()
            unspaced = [word for word in listed if _CJK.search(word)]
            if unspaced:
                anywhere.append((re.compile("|".join(map(re.escape, unspaced))), bit))
            for word in listed:
                spaced[word] = spaced.get(word, 0) | bit
    asking = {
        each.name: tuple(re.compile(getattr(language, each.name)) for language in languages)
        for each in fields(Vocabulary)
        if each.name.startswith("ask_")
    }
    return _Tables(spaced, tuple(anywhere), asking)


def marks(
    text: str,
    heard: Sequence[str],
    languages: tuple[Vocabulary, ...] = LANGUAGES,
) -> int:
    """What an item holds, as bits of `MARKS`.

    Args:
        heard: the words of the text, lower-cased, as `ebbmem.text.words` gives them.
    """
    tables = _tables(languages)
    found, listed = 0, tables.words
    for word in heard:
        if word in listed:
            found |= listed[word]
    if _DIGIT.search(text):
        found |= _BIT["number"]
    if not text.isascii():
        for pattern, bit in tables.anywhere:
            if not found & bit and pattern.search(text):
                found |= bit
    if _QUOTED.search(text):
        found |= _BIT["quote"]
    return found


def names(text: str) -> frozenset[str]:
    """Words in capitals within a sentence."""
    return frozenset(_NAME.findall(text))


def count_names(found: frozenset[str], known: Collection[str]) -> int:
    """How many of an item's names tell it from others: those of the speakers do not."""
    return min(len(found.difference(known)), NAMES)


def asks(question: str, languages: tuple[Vocabulary, ...] = LANGUAGES) -> Asks:
    """What a question asks for, in the first language that says so."""
    lowered = question.lower()
    asking = _tables(languages).asking

    def found(name: str) -> bool:
        return any(each.search(lowered) for each in asking[f"ask_{name}"])

    wanted = {each for each in ("person", "place", "number", "reason") if found(each)}
    when = found("time")
    open_ = not wanted and not when
    named = bool(wanted & {"person", "place"}) or open_ or found("several")
    bits = sum(_BIT[each] for each in wanted)
    if open_ or found("several"):
        bits |= _BIT["quote"]
    role = "assistant" if found("assistant") else "user" if found("user") else None
    return Asks(bits, named, when, found("feeling"), role, frozenset(words(question)))
