"""Invented talk for `growth`: facts about people with a question each, and chatter around them.

Everything is put together from words that are common knowledge; nothing comes from a data set.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

__all__ = ["Fact", "chatter", "facts"]


@dataclass(frozen=True, slots=True)
class Fact:
    """Something worth remembering, and what is asked about it."""

    text: str
    question: str


def _listed(words: str) -> tuple[str, ...]:
    return tuple(each.strip() for each in words.split("|"))


_PEOPLE = _listed(
    "Anna|Bruno|Carla|Dmitri|Elena|Farid|Greta|Hugo|Ines|Jonas|Keiko|Liam|Mira|Nadia|Oskar|Priya|"
    "Quentin|Rosa|Samir|Tove|Ulrich|Vera|Wanda|Yusuf|Zora"
)
_KIN = _listed("sister|cousin|boss|uncle|friend|son|aunt")  # as one speaks of somebody
_OTHERS = _listed(
    "Adam|Bea|Colin|Dora|Emil|Fiona|Gus|Hanna|Ivan|Jill|Karl|Lena|Max|Nora|Otto|Paula|Rita|Stan|"
    "Tina|Viktor"
)
_WORDS = {
    "job": _listed("nurse|carpenter|journalist|chef|lawyer|bus driver|teacher|florist|plumber"),
    "city": _listed("Lisbon|Kyoto|Nairobi|Vancouver|Oslo|Melbourne|Chicago|Mumbai|Prague|Lima"),
    "pet": _listed("parrot|turtle|rabbit|poodle|hamster|kitten|pony|ferret"),
    "called": _listed("Pepper|Biscuit|Nimbus|Clover|Ziggy|Mocha|Pickle|Rufus|Olive|Juno"),
    "food": _listed("peanuts|shellfish|strawberries|walnuts|sesame|celery|mustard|kiwi"),
    "month": _listed("January|March|April|June|July|September|October|December"),
    "dish": _listed("lentil soup|lasagne|pancakes|fried rice|apple pie|tacos|goulash|ramen"),
    "instrument": _listed("cello|trumpet|accordion|drums|flute|harp|saxophone|banjo"),
    "language": _listed("Turkish|Swedish|Korean|Portuguese|Arabic|Finnish|Swahili|Greek"),
    "car": _listed("red van|blue pickup|green estate|yellow beetle|silver jeep|black coupe"),
    "sport": _listed("rowing|fencing|badminton|judo|climbing|archery|hockey|surfing"),
    "start": _listed(
        "Well,|Honestly,|You know,|Hm,|Anyway,|To be fair,|Oh,|So,|Right,|Actually,|By the way,|"
        "I mean,|Funny,|Look,|Mind you,|Still,|Then again,|Sure,|No idea why, but|As usual,"
    ),
    "thing": _listed(
        "the coffee|the bus|the lift|the weather|my phone|the printer|the queue|the radio|the tea|"
        "the bakery|the traffic|the wifi|the sofa|the heating|the window|the parking|the market|"
        "the soup|the train|the film|the music|the news|the garden|the kitchen|the light|the door"
    ),
    "place": _listed(
        "at the station|by the river|near the office|on the corner|in the hall|behind the school|"
        "at the gym|next door|over there|on the square|at the library|in the basement|upstairs|"
        "across the road|at the harbour|under the bridge|in the park|at the counter"
    ),
    "was": _listed(
        "was slow|was fine|was loud|smelled odd|looked nice|was late|felt strange|was empty|"
        "was too warm|was crowded|seemed new|was broken|sounded good|was closed|was all right|"
        "was lovely|got stuck|was freezing|was a bit much|could be worse"
    ),
    "when": _listed(
        "again|this time|these days|for once|all day|somehow|since then|most of the time|lately|"
        "before lunch|after work|on the way|in the end|as always|at first|just now|for a while"
    ),
    "react": _listed(
        "Haha yes|Oh no|Same here|Sounds good|No worries|Fair enough|Exactly|Really|Nice|Wow|"
        "I see|True|Good point|Poor you|Lucky you|Of course|Maybe|Not sure|Okay|Great"
    ),
    "bought": _listed("a kettle|a scarf|a lamp|new shoes|a plant|a rug|an umbrella|a backpack"),
    "day": _listed("Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday"),
}
_FACTS = (
    ("My {kin} {who} works as a {job} now.", "What does {who} do for work?"),
    ("My {kin} {who} moved to {city} for good.", "Which city did {who} move to?"),
    ("My {kin} {who} has a {pet} called {called}.", "What is the {pet} of {who} called?"),
    ("My {kin} {who} is allergic to {food}.", "What is {who} allergic to?"),
    ("The birthday of my {kin} {who} is in {month}.", "When is the birthday of {who}?"),
    ("My {kin} {who} likes {dish} more than any other dish.", "What does {who} like to eat most?"),
    ("My {kin} {who} plays the {instrument} in a band.", "Which instrument does {who} play?"),
    (
        "My {kin} {who} is learning {language} in the evening.",
        "Which language is {who} learning?",
    ),
    ("My {kin} {who} drives an old {car}.", "What does {who} drive?"),
    ("My {kin} {who} trains {sport} twice a week.", "Which sport does {who} train?"),
)
_CHATTER = (  # the first ones are most of it
    *("{start} {thing} {place} {was} {when}.",) * 4,
    *("{react}, {thing} {place} {was} {when}.",) * 3,
    *("{start} did you notice {thing} {place} {when}?",) * 2,
    "{start} is it me or {was} {thing} {place} {when}?",
    "I think {thing} {place} {was} {when}, but never mind.",
    "{react}! And {thing} {place} {was} {when}?",
    "{other} bought {bought} on {day}, and {thing} {place} {was} {when}.",
    "{other} went to {city} with {thing} in mind, it {was} {when}.",
)


def facts(count: int, *, seed: int = 0) -> list[Fact]:
    """Facts about different people or different sides of them; at most 250."""
    rng = Random(seed)
    kin = {who: _KIN[number % len(_KIN)] for number, who in enumerate(_PEOPLE)}
    kinds = [(who, *each) for who in _PEOPLE for each in _FACTS]
    return [
        _fact(text, question, rng, who=who, kin=kin[who])
        for who, text, question in rng.sample(kinds, count)
    ]


def chatter(*, seed: int = 0) -> Iterator[str]:
    """Remarks, reactions, questions and what others bought, none twice, without end."""
    rng, said = Random(seed), set[str]()
    while True:
        text = _filled(rng.choice(_CHATTER), rng, other=rng.choice(_OTHERS))
        if text not in said:
            said.add(text)
            yield text


def _fact(text: str, question: str, rng: Random, *, who: str, kin: str) -> Fact:
    chosen = {name: rng.choice(each) for name, each in _WORDS.items()}
    given = {**chosen, "who": who, "kin": kin}
    return Fact(text.format(**given), question.format(**given))


def _filled(text: str, rng: Random, **given: str) -> str:
    return text.format(**given, **{name: rng.choice(each) for name, each in _WORDS.items()})
