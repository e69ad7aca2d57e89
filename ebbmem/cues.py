"""What wording gives away: questions, times, persons, names, dates. English and Chinese. Pure.

One `Cues` a language; a text is read with all of them. The words are ours, common knowledge.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

from ebbmem.text import keywords, words

__all__ = [
    "LANGUAGES",
    "Cues",
    "DateCue",
    "Traits",
    "date_cue",
    "is_date_word",
    "is_question",
    "stated",
    "traits",
]


_NEVER = r"(?!)"  # what a language that leaves a cue out is searched for


@dataclass(frozen=True, slots=True)
class Cues:
    """Patterns of one language; each is searched in the lower-cased text."""

    question: str
    time: str
    first_person: str
    backchannel: str
    feeling: str
    second_person: str = _NEVER
    kin: str = _NEVER  # who belongs to somebody: relatives, friends, animals, colleagues


ENGLISH = Cues(
    question=r"\?\s*$|^(who|what|when|where|why|which|how|whose|do|does|did|is|are|was|were|can|"
    r"could|would|will|should|have|has)\b[^.!]*\?",
    time=r"\b(yesterday|today|tonight|tomorrow|last|next|ago|weekend|week|month|year|recently|"
    r"earlier|morning|afternoon|evening|night|(mon|tues|wednes|thurs|fri|satur|sun)day|january|"
    r"february|march|april|june|july|august|september|october|november|december|may \d|\d may|"
    r"(19|20)\d\d|\d{1,2}(:\d\d)? ?[ap]\.?m|o'clock|birthday|deadline|anniversary)\b",
    first_person=r"\b(i|i'm|i've|i'd|i'll|my|mine|me|we|we're|we've|our|us)\b",
    backchannel=r"^\W*(ok|okay|yes|yeah|yep|no|nope|sure|thanks|thank you|wow|nice|cool|great|"
    r"haha|ha|lol|hmm|right|exactly|true|fair|same|bye|hi|hey|hello|good (morning|night|luck)|"
    r"sounds good|no worries|you too|take care)\b",
    feeling=r"\b(love|hate|afraid|proud|happy|sad|angry|scared|excited|allergic|prefer|favou?rite|"
    r"enjoy|miss|worried)\w*",
    second_person=r"\b(you|you're|you've|you'll|you'd|your|yours)\b",
    kin=r"\b(mom|mum|mother|dad|father|parents?|sisters?|brothers?|sons?|daughters?|kids?|child|"
    r"children|wife|husband|partner|girlfriend|boyfriend|friends?|family|aunt|uncle|cousins?|"
    r"grand(ma|pa|mother|father|parents)|niece|nephew|dogs?|cats?|pets?|boss|colleagues?)\b",
)
CHINESE = Cues(
    question=r"[？?]\s*$|[吗嗎呢](?:\s*[？?。])?\s*$|(什么|什麼|谁|誰|哪里|哪裡|怎么|怎麼|为什么|"
    r"為什麼|几点|幾點|多少|是不是|有没有|有沒有)",
    time=r"今天|昨天|明天|前天|后天|後天|今晚|上周|下周|上個?星期|下個?星期|上个月|下个月|去年|"
    r"今年|明年|最近|刚才|早上|上午|下午|晚上|周末|週末|星期[一二三四五六日天]|周[一二三四五六日]|"
    r"\d月|[一二三四五六七八九十]月|\d[日号號]|生日|截止",
    first_person=r"我",
    backchannel=r"^\W*(好的?|嗯+|是的?|对|對|哈+|谢谢|謝謝|再见|再見|你好|没事|沒事|真的吗?|不错)"
    r"\W*$",
    feeling=r"喜欢|喜歡|爱|愛|讨厌|討厭|害怕|开心|開心|难过|難過|最爱|偏好|过敏|過敏|习惯|習慣",
    second_person=r"你|您",
    kin=r"妈|媽|爸|父|母|姐|妹|哥|弟|儿子|兒子|女儿|女兒|孩子|妻|丈夫|老公|老婆|朋友|家人|爷爷|爺爺|"
    r"奶奶|外公|外婆|同事|同学|同學|狗|猫|貓",
)
LANGUAGES: tuple[Cues, ...] = (ENGLISH, CHINESE)
"""The languages that texts are read with; a user may add one through `traits(languages=)`."""

_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
_YEAR = r"((?:19|20)\d\d)"
# Most months are names of people or other words too, so one alone is no date.
_MONTH = re.compile(
    r"(\b(?:in|of|since|until|by|last|this|next|early|late|mid|during|before|after)[\s-]+)?"
    rf"(?:\b{_YEAR}\s+)?(?:\b(\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?)?"
    r"\b(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|"
    r"sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?"
    rf"(?:\s+(\d{{1,2}})(?:st|nd|rd|th)?\b)?(?:,?\s+{_YEAR}\b)?",
    re.IGNORECASE,
)
_YEAR_ALONE = re.compile(
    r"\b(?:in|of|since|during|until|before|after|from|by|year)\s+(?:(?:early|late|mid)[\s-]+)?"
    rf"{_YEAR}\b|(?<!\d){_YEAR}年",
    re.IGNORECASE,
)
_ISO = re.compile(r"\b((?:19|20)\d\d)-(\d\d?)(?:-(\d\d?))?\b")
_DIGITS = "[一二三四五六七八九十]{1,3}"
_CHINESE_DATE = re.compile(
    rf"(?:((?:19|20)\d\d)年)?(\d{{1,2}}|{_DIGITS})月(?:(\d{{1,2}}|{_DIGITS})[日号號])?"
)
_SENTENCE = re.compile(r"[^.!?。！？]+(?:[.!?。！？]+|$)")
# No pattern here may look far ahead from every character: a text is as long as somebody likes.
_QUOTE = re.compile('["“][^"“”]{2,}["”]|《[^《》]+》|「[^「」]+」')
_NAME = re.compile(r"(?<![.!?。！？]\s)(?<!^)\b[A-Z][a-z]+")


_DATE_WORDS = frozenset(
    keywords(
        "january february march april may june july august september october november december "
        "jan feb mar apr jun jul aug sep sept oct nov dec 年 月 日 号"
    )
)


@dataclass(frozen=True, slots=True)
class Traits:
    """What the wording of one text gives away."""

    question: bool
    time: bool
    first_person: bool
    backchannel: bool
    feeling: bool
    number: bool
    names: int
    second_person: bool = False
    kin: bool = False
    quote: bool = False


@dataclass(frozen=True, slots=True)
class DateCue:
    """A date that a question names; None where it leaves a part open."""

    year: int | None
    month: int | None
    day: int | None


@lru_cache(maxsize=16)
def _compiled(languages: tuple[Cues, ...]) -> tuple[dict[str, re.Pattern[str]], ...]:
    return tuple(
        {name: re.compile(getattr(each, name)) for name in Cues.__dataclass_fields__}
        for each in languages
    )


def traits(text: str, languages: tuple[Cues, ...] = LANGUAGES) -> Traits:
    """Read `text` with every language."""
    lowered = text.lower()
    found = {
        name: any(patterns[name].search(lowered) for patterns in _compiled(languages))
        for name in Cues.__dataclass_fields__
    }
    short = len(words(text)) <= 6
    return Traits(
        question=found["question"],
        time=found["time"],
        first_person=found["first_person"],
        backchannel=found["backchannel"] and short,
        feeling=found["feeling"],
        number=any(character.isdigit() for character in text),
        names=len(set(_NAME.findall(text))),
        second_person=found["second_person"],
        kin=found["kin"],
        quote=_QUOTE.search(text) is not None,
    )


def stated(text: str) -> str:
    """The sentences of `text` that do not end with a question mark."""
    if "?" not in text and "？" not in text:
        return text
    return " ".join(each for each in _SENTENCE.findall(text) if each[-1] not in "?？")


def is_question(text: str, languages: tuple[Cues, ...] = LANGUAGES) -> bool:
    """Whether `text` asks something."""
    lowered = text.lower()
    return any(each["question"].search(lowered) for each in _compiled(languages))


def is_date_word(term: str) -> bool:
    """Whether a keyword is a number or a month, of which dates are made."""
    return term.isdigit() or term in _DATE_WORDS


def date_cue(question: str) -> DateCue | None:
    """The date a question names, if any.

    A month needs a number or a word such as "in" beside it, a year such a word before it:
    June may be a person, and 2024 a room.
    """
    question = unicodedata.normalize("NFKC", question)
    if found := _ISO.search(question):
        year, month, day = found.groups()
        return _valid(int(year), int(month), int(day) if day else None)
    if found := _CHINESE_DATE.search(question):
        year, month, day = found.groups()
        return _valid(int(year) if year else None, _number(month), _number(day) if day else None)
    alone = _YEAR_ALONE.search(question)
    year = alone and (alone[1] or alone[2])
    for match in _MONTH.finditer(question):
        led, year_before, day_before, name, day_behind, year_behind = match.groups()
        day, near = day_before or day_behind, year_before or year_behind
        if led or day or near:
            month = _MONTHS.index(name.lower()[:3]) + 1
            return _valid(_whole(near or year), month, _whole(day))
    return None if year is None else DateCue(int(year), None, None)


def _whole(digits: str | None) -> int | None:
    return None if digits is None else int(digits)


def _number(digits: str) -> int:
    """Up to 99, in figures or in Chinese: 十二, 二十三."""
    if digits.isascii():
        return int(digits)
    tens, ten, ones = digits.rpartition("十")
    units = "一二三四五六七八九".find(ones or tens) + 1
    if not ten:
        return units
    return 10 * ("一二三四五六七八九".find(tens) + 1 if tens else 1) + (units if ones else 0)


def _valid(year: int | None, month: int, day: int | None) -> DateCue | None:
    if not 1 <= month <= 12 or (day is not None and not 1 <= day <= 31):
        return None
    return DateCue(year, month, day)
