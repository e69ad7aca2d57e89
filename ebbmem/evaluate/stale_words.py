"""What the stale-fact benchmark says: people, attributes, values, phrasings. All of it invented.

In a phrasing `{n}` is who, `{v}` the value, `{o}` the value that it replaces.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "CHINESE",
    "CHINESE_CUELESS",
    "CUED",
    "CUELESS",
    "FAMILIES",
    "UNFAMILIAR",
    "Attribute",
    "Family",
]


@dataclass(frozen=True, slots=True)
class Attribute:
    """One thing that can be true of a person, and change.

    Attributes:
        question: asks what is true now.
        old: how it is said at first.
        new: how a change is said; empty where that is said like anything else.
    """

    name: str
    question: str
    values: tuple[str, ...]
    old: tuple[str, ...]
    new: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Family:
    """Attributes of one kind; `cued` is the share of updates that are said as a change."""

    name: str
    people: tuple[str, ...]
    attributes: tuple[Attribute, ...]
    cued: float


_PEOPLE = tuple(
    "Amara Boris Celine Dmitri Elif Farid Greta Hiro Ines Jonas Keiko Lars Mira Nadia Omar Petra "
    "Quentin Rosa Stefan Tariq Ulla Viktor Wanda Ximena Yusuf Zelda Anton Bianca Cyrus Delia Emil "
    "Freya Gustav Hana Igor Jolene Kofi Leona Marek Nell".split()
)
CUED = Family(
    "cues",
    _PEOPLE,
    (
        Attribute(
            "city",
            "Where does {n} live?",
            ("Lisbon", "Oslo", "Denver", "Kyoto", "Bristol", "Krakow", "Valencia", "Perth"),
            ("{n} lives in {v}.", "{n} has an apartment in {v}.", "{v} is where {n} calls home."),
            (
                "{n} moved to {v}.",
                "{n} left {o} and lives in {v} now.",
                "{n} has relocated from {o} to {v}.",
            ),
        ),
        Attribute(
            "job",
            "What does {n} do for a living?",
            ("nurse", "welder", "librarian", "pilot", "baker", "surveyor", "translator", "chemist"),
            (
                "{n} works as a {v}.",
                "{n} earns a living as a {v}.",
                "By profession {n} is a {v}.",
            ),
            (
                "{n} quit and started working as a {v}.",
                "{n} switched careers and is a {v} these days.",
                "{n} is no longer a {o}, the new job is {v}.",
            ),
        ),
        Attribute(
            "car",
            "What car does {n} drive?",
            ("Skoda", "Subaru", "Volvo", "Fiat", "Honda", "Renault", "Mazda", "Saab"),
            (
                "{n} drives a {v}.",
                "{n} owns a {v} and parks it outside.",
                "The car {n} takes to work is a {v}.",
            ),
            (
                "{n} sold the {o} and bought a {v}.",
                "{n} traded the {o} in for a {v}.",
                "{n} replaced the old car with a {v}.",
            ),
        ),
        Attribute(
            "database",
            "Which database does {n}'s project use?",
            ("MySQL", "Postgres", "MongoDB", "Cassandra", "Redis", "DuckDB", "Oracle", "CouchDB"),
            (
                "{n}'s project stores its data in {v}.",
                "{n}'s project runs on {v}.",
                "The database behind {n}'s project is {v}.",
            ),
            (
                "{n}'s project migrated from {o} to {v}.",
                "{n} dropped {o}, the project uses {v} instead.",
                "{n}'s project switched its database to {v}.",
            ),
        ),
        Attribute(
            "diet",
            "What diet does {n} follow?",
            ("vegan", "vegetarian", "keto", "paleo", "pescatarian", "gluten-free", "low-carb"),
            (
                "{n} follows a {v} diet.",
                "{n} eats {v}.",
                "{n}'s meals are strictly {v}.",
            ),
            (
                "{n} gave up {o} food and went {v}.",
                "{n} recently changed to a {v} diet.",
                "{n} eats {v} now.",
            ),
        ),
        Attribute(
            "pet",
            "What pet does {n} have?",
            ("beagle", "parrot", "tortoise", "hamster", "tabby cat", "gecko", "rabbit", "ferret"),
            (
                "{n} has a {v} at home.",
                "{n}'s pet is a {v}.",
                "{n} looks after a {v}.",
            ),
            (
                "{n} gave the {o} away and adopted a {v}.",
                "{n} no longer has the {o}, there is a {v} now.",
                "{n} found a new pet, a {v}, after the {o} died.",
            ),
        ),
        Attribute(
            "deadline",
            "When is {n}'s report due?",
            ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
            (
                "{n}'s report is due on {v}.",
                "{n} has to hand in the report by {v}.",
                "The deadline for {n}'s report is {v}.",
            ),
            (
                "{n}'s deadline was postponed to {v}.",
                "{n}'s report was moved from {o} to {v}.",
                "{n} now has until {v} to hand in the report.",
            ),
        ),
        Attribute(
            "hobby",
            "What is {n}'s hobby?",
            ("pottery", "archery", "chess", "climbing", "knitting", "rowing", "fencing", "baking"),
            (
                "{n}'s hobby is {v}.",
                "{n} spends weekends on {v}.",
                "In free time {n} does {v}.",
            ),
            (
                "{n} stopped {o} and took up {v}.",
                "{n} is into {v} these days.",
                "{n} dropped {o} for {v}.",
            ),
        ),
    ),
    cued=1.0,
)
CUELESS = Family(
    "no cues",
    _PEOPLE,
    (
        Attribute(
            "flat",
            "Which street is {n}'s flat in?",
            ("Elm Street", "Rose Lane", "Dock Road", "Mill Lane", "Castle Street", "Park Row"),
            (
                "{n}'s flat is in {v}.",
                "{n} rents a flat in {v}.",
                "{n}'s address is in {v}.",
                "Letters for {n} go to {v}.",
                "{n} shares a place in {v}.",
                "You will find {n} in {v}.",
            ),
        ),
        Attribute(
            "boss",
            "Who is {n}'s boss?",
            ("Mr. Abel", "Mrs. Brandt", "Dr. Costa", "Ms. Dunn", "Mr. Ekberg", "Mrs. Farrow"),
            (
                "{n}'s boss is {v}.",
                "{n} reports to {v}.",
                "{v} is in charge of {n}'s team.",
                "{n} has {v} as a manager.",
                "{v} signs {n}'s leave.",
                "{n} answers to {v}.",
            ),
        ),
        Attribute(
            "phone",
            "What phone does {n} use?",
            ("Pixel", "iPhone", "Fairphone", "Galaxy", "Xperia", "Nokia"),
            (
                "{n}'s phone is a {v}.",
                "{n} carries a {v}.",
                "{n} takes pictures with a {v}.",
                "{n} calls home on a {v}.",
                "{n} texts from a {v}.",
                "{n} has a {v} in the pocket.",
            ),
        ),
        Attribute(
            "editor",
            "Which editor does {n} write code in?",
            ("Vim", "Emacs", "Sublime", "Helix", "Kate", "Nano"),
            (
                "{n}'s editor is {v}.",
                "{n} writes code in {v}.",
                "{n} programs with {v}.",
                "{n} keeps {v} open all day.",
                "{v} is what {n} edits with.",
                "{n} swears by {v}.",
            ),
        ),
        Attribute(
            "status",
            "Is {n} in a relationship?",
            ("single", "engaged", "married", "divorced", "widowed", "separated"),
            (
                "{n} is {v}.",
                "{n} told me about being {v}.",
                "As far as I know {n} is {v}.",
                "{n}'s marital status is {v}.",
                "{n} lives as a {v} person.",
                "On the form {n} ticked {v}.",
            ),
        ),
        Attribute(
            "meeting",
            "What time is {n}'s weekly meeting?",
            ("8 am", "9 am", "10 am", "1 pm", "3 pm", "4 pm"),
            (
                "{n}'s weekly meeting is at {v}.",
                "{n} meets the team at {v}.",
                "{n}'s team call begins at {v}.",
                "At {v} {n} is in the weekly meeting.",
                "The weekly with {n} is at {v}.",
                "{n} runs the stand-up at {v}.",
            ),
        ),
        Attribute(
            "drink",
            "What does {n} like to drink?",
            ("oolong tea", "espresso", "cocoa", "lemonade", "matcha", "ginger beer"),
            (
                "{n}'s favourite drink is {v}.",
                "{n} likes to drink {v}.",
                "{n} orders {v}.",
                "{n} always asks for {v}.",
                "For {n} it is {v}.",
                "A cup of {v} makes {n} happy.",
            ),
        ),
        Attribute(
            "language",
            "Which language is {n} learning?",
            ("Finnish", "Korean", "Arabic", "Greek", "Swahili", "Welsh"),
            (
                "{n} is learning {v}.",
                "{n} takes {v} lessons.",
                "{n} studies {v} in the evening.",
                "{n} practises {v} every day.",
                "{n}'s course is in {v}.",
                "{n} reads a book in {v}.",
            ),
        ),
    ),
    cued=0.0,
)
UNFAMILIAR = Family(
    "unfamiliar",
    _PEOPLE,
    (
        Attribute(
            "parking",
            "Which parking spot is {n}'s?",
            ("B12", "C7", "D31", "A4", "F19", "E23"),
            ("{n}'s parking spot is {v}.", "{n} parks on {v}.", "Spot {v} is kept for {n}."),
            ("{n}'s parking spot is {v} now.", "{n} gave up spot {o} and got {v}."),
        ),
        Attribute(
            "locker",
            "What is the number of {n}'s locker?",
            ("118", "204", "317", "422", "569", "633"),
            ("{n} has locker {v}.", "{n} keeps shoes in locker {v}.", "Locker {v} is {n}'s."),
            ("{n} changed from locker {o} to {v}.", "{n} has locker {v} now."),
        ),
        Attribute(
            "ringtone",
            "What ringtone does {n} have?",
            ("a foghorn", "bird song", "a marimba", "church bells", "a harp", "a rooster"),
            (
                "{n}'s ringtone is {v}.",
                "When {n} is called one hears {v}.",
                "{n} set {v} as the ringtone.",
            ),
            ("{n} replaced the ringtone with {v}.", "{n}'s ringtone is {v} these days."),
        ),
        Attribute(
            "strings",
            "What strings does {n} have on the violin?",
            ("gut strings", "steel strings", "nylon strings", "silver strings", "gold strings"),
            (
                "{n}'s violin has {v}.",
                "{n} plays the violin with {v}.",
                "{n} put {v} on the violin.",
            ),
            ("{n} switched the violin to {v}.", "{n} took the {o} off and put on {v} instead."),
        ),
        Attribute(
            "voice",
            "What part does {n} sing in the choir?",
            ("alto", "tenor", "soprano", "bass", "baritone"),
            (
                "{n} sings {v} in the choir.",
                "In the choir {n} stands with the {v} voices.",
                "{n}'s part in the choir is {v}.",
            ),
            ("{n} no longer sings {o}, but {v}.", "{n} moved to the {v} voices of the choir."),
        ),
        Attribute(
            "stall",
            "What does {n} sell at the market?",
            ("candles", "honey", "cheese", "scarves", "bread", "plums"),
            (
                "{n} sells {v} at the market.",
                "{n}'s stall at the market has {v}.",
                "{n} brings {v} to the market.",
            ),
            ("{n} stopped selling {o}, the stall has {v} now.", "{n} sells {v} instead of {o}."),
        ),
        Attribute(
            "telescope",
            "What does {n} watch through the telescope?",
            ("Saturn", "Jupiter", "comets", "double stars", "the Moon", "nebulae"),
            (
                "{n} watches {v} through the telescope.",
                "{n}'s telescope points at {v}.",
                "{n} looks at {v} at night.",
            ),
            ("{n} turned the telescope to {v}.", "{n} watches {v} lately."),
        ),
        Attribute(
            "greenhouse",
            "What grows in {n}'s greenhouse?",
            ("tomatoes", "orchids", "chillies", "cacti", "ferns", "melons"),
            (
                "{n} grows {v} in the greenhouse.",
                "{n}'s greenhouse is full of {v}.",
                "There are {v} in {n}'s greenhouse.",
            ),
            ("{n} cleared out the {o} and planted {v}.", "{n}'s greenhouse has {v} now."),
        ),
    ),
    cued=1 / 3,
)
_PEOPLE_CHINESE = tuple(
    "王磊 李娜 张伟 刘洋 陈静 杨帆 赵敏 黄勇 周杰 吴倩 徐强 孙莉 马超 朱琳 胡军 郭敏 何涛 高原 "
    "林晓 罗兰".split()
)
_CHINESE = (
    Attribute(
        "city",
        "{n}现在住在哪里？",
        ("杭州", "成都", "青岛", "厦门", "西安", "苏州"),
        ("{n}住在{v}。", "{n}的家在{v}。", "{n}在{v}租了一套房子。"),
        ("{n}搬到{v}了。", "{n}后来搬去了{v}。", "{n}现在住{v}，不在{o}了。"),
    ),
    Attribute(
        "job",
        "{n}做什么工作？",
        ("护士", "律师", "程序员", "厨师", "记者", "会计"),
        ("{n}是一名{v}。", "{n}的工作是{v}。", "{n}的职业是{v}。"),
        ("{n}辞职了，现在当{v}。", "{n}改行做{v}了。", "{n}换了工作，成了{v}。"),
    ),
    Attribute(
        "car",
        "{n}开什么车？",
        ("丰田", "比亚迪", "大众", "特斯拉", "本田", "别克"),
        ("{n}开的是{v}。", "{n}的车是{v}。", "{n}有一辆{v}。"),
        ("{n}把车换成了{v}。", "{n}卖掉{o}，买了{v}。", "{n}现在开{v}。"),
    ),
    Attribute(
        "phone",
        "{n}用什么手机？",
        ("华为", "小米", "苹果", "三星", "荣耀", "一加"),
        ("{n}用的是{v}手机。", "{n}的手机是{v}。", "{n}拿着一部{v}。"),
        ("{n}改用{v}手机了。", "{n}的手机换成{v}了。", "{n}不再用{o}，改成了{v}。"),
    ),
    Attribute(
        "drink",
        "{n}喜欢喝什么？",
        ("绿茶", "咖啡", "豆浆", "可乐", "红茶", "酸梅汤"),
        ("{n}喜欢喝{v}。", "{n}最爱喝{v}。", "{n}每天都喝{v}。"),
        ("{n}现在改喝{v}了。", "{n}后来喜欢上了{v}。", "{n}不再喝{o}，只喝{v}。"),
    ),
    Attribute(
        "hobby",
        "{n}的爱好是什么？",
        ("钓鱼", "书法", "爬山", "下棋", "摄影", "游泳"),
        ("{n}的爱好是{v}。", "{n}周末都去{v}。", "{n}有空就{v}。"),
        ("{n}最近迷上了{v}。", "{n}后来改成{v}了。", "{n}放弃了{o}，开始{v}。"),
    ),
    Attribute(
        "meeting",
        "{n}的例会几点开始？",
        ("九点", "十点", "两点", "三点", "四点", "五点"),
        ("{n}的例会{v}开始。", "{n}每周{v}开会。", "{n}的会议时间是{v}。"),
        ("{n}的例会改到{v}了。", "{n}的会议从{o}改成{v}。", "{n}的例会推迟到{v}。"),
    ),
    Attribute(
        "pet",
        "{n}养了什么宠物？",
        ("金毛", "橘猫", "鹦鹉", "仓鼠", "乌龟", "兔子"),
        ("{n}养了一只{v}。", "{n}的宠物是{v}。", "{n}家里有一只{v}。"),
        ("{n}现在养{v}了。", "{n}把{o}送人，换了一只{v}。", "{n}又领养了{v}，{o}不在了。"),
    ),
)
CHINESE = Family("Chinese, cues", _PEOPLE_CHINESE, _CHINESE, cued=1.0)
CHINESE_CUELESS = Family("Chinese, no cues", _PEOPLE_CHINESE, _CHINESE, cued=0.0)
FAMILIES = (CUED, CUELESS, UNFAMILIAR, CHINESE, CHINESE_CUELESS)
"""Every family, by what its updates are like."""
