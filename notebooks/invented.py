"""A small data set in the plain format, for notebooks that must run without anybody's data.

Two people talk for half a year; what each of them says about a life is asked about twice, once in
its own words and once in others. Both are invented, and so is the chatter around them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

from ebbmem.evaluate.small_talk import chatter

__all__ = ["write"]

BEGIN = datetime(2026, 1, 5, 18, tzinfo=UTC)
CHATTER = 220  # remarks in a history
SESSION = 12  # turns in one evening
APART = timedelta(days=9)  # between evenings

# (said, asked in the same words, asked in other words)
MIA = (
    (
        "I am allergic to walnuts, so please no brownies for my birthday.",
        "What is Mia allergic to?",
        "Which ingredient should a cake for Mia not have?",
    ),
    (
        "My brother Jonas moved to Lisbon in March to open a surf school.",
        "Where did Mia's brother move to?",
        "In which country does Jonas live?",
    ),
    (
        "We adopted a greyhound from the shelter and called her Comet.",
        "What is the greyhound called?",
        "What is the name of Mia's pet?",
    ),
    (
        "I start my new job at the hospital pharmacy on Monday.",
        "Where does Mia have a new job?",
        "What does Mia do for a living?",
    ),
    (
        "My passport expires in October, I must not forget to renew it.",
        "When does Mia's passport expire?",
        "By when does Mia need new travel documents?",
    ),
    (
        "I broke my left wrist when I fell off the bike near the canal.",
        "Which wrist did Mia break?",
        "What injury did Mia have?",
    ),
    (
        "Grandma taught me to play the accordion when I was nine.",
        "Who taught Mia to play the accordion?",
        "Which musical instrument does Mia know?",
    ),
    (
        "I gave up coffee, it kept me awake until three in the morning.",
        "Why did Mia give up coffee?",
        "What drink does Mia avoid to sleep better?",
    ),
    (
        "For the wedding in June I booked the old boathouse on the lake.",
        "What did Mia book for the wedding?",
        "What is the venue where Mia gets married?",
    ),
    (
        "My daughter Alma is seven and wants to become an astronaut.",
        "What does Alma want to become?",
        "How old is Mia's child?",
    ),
    (
        "I am reading a novel about lighthouse keepers in Iceland.",
        "What is the novel about that Mia is reading?",
        "What kind of book does Mia enjoy at the moment?",
    ),
    (
        "Our car failed the inspection, the brakes have to be replaced for 800 euros.",
        "How much do the brakes of the car cost?",
        "What repair does Mia's vehicle need?",
    ),
)
TOM = (
    (
        "I ran my first marathon in Rotterdam in under four hours.",
        "Where did Tom run his first marathon?",
        "What sporting achievement is Tom proud of?",
    ),
    (
        "My sister Vera is a judge at the family court.",
        "What is Tom's sister Vera?",
        "Who of Tom's relatives works in law?",
    ),
    (
        "I do not eat meat anymore since I visited that farm in May.",
        "Since when does Tom eat no meat?",
        "Is Tom a vegetarian?",
    ),
    (
        "The landlord raised the rent to 1,150 euros from January on.",
        "What did the landlord raise the rent to?",
        "How expensive is Tom's apartment a month?",
    ),
    (
        "I am building a wooden canoe in the garage with my father.",
        "What is Tom building in the garage?",
        "Which boat does Tom make by hand?",
    ),
    (
        "My flight to Osaka leaves on the 14th of April at noon.",
        "When does Tom's flight to Osaka leave?",
        "When does Tom travel to Japan?",
    ),
    (
        "I take insulin before every meal, as I have had diabetes since school.",
        "What does Tom take before every meal?",
        "Which illness does Tom live with?",
    ),
    (
        "We named our twins Leo and Nora after our grandparents.",
        "What are the twins named?",
        "What are Tom's children called?",
    ),
    (
        "I keep the spare key under the blue flowerpot by the shed.",
        "Where does Tom keep the spare key?",
        "How can one get into Tom's house when nobody is at home?",
    ),
    (
        "My thesis is about how bees find their way back to the hive.",
        "What is Tom's thesis about?",
        "What animals does Tom do research on?",
    ),
    (
        "I am afraid of lifts, so I always take the stairs to the ninth floor.",
        "Why does Tom take the stairs?",
        "What is Tom's phobia?",
    ),
    (
        "I sold my motorcycle to pay for the piano.",
        "Why did Tom sell the motorcycle?",
        "How did Tom finance his musical instrument?",
    ),
)


def write(path: Path) -> Path:
    """The set as a file that `ebbmem bench recall --data FILE` reads, too."""
    histories = [_history(at, who, told) for at, (who, told) in enumerate(_LIVES)]
    found = {"name": "invented", "histories": histories}
    path.write_text(json.dumps(found, ensure_ascii=False, indent=1), encoding="utf-8")
    return path


_LIVES = (("Mia", MIA), ("Tom", TOM))


def _history(seed: int, who: str, told: tuple[tuple[str, str, str], ...]) -> dict[str, Any]:
    places = sorted(Random(seed).sample(range(CHATTER + len(told)), len(told)))
    items = list(_items(seed, who, dict(zip(places, (said for said, *_ in told), strict=True))))
    questions = [
        {"id": f"{who}-{at}-{kind}", "question": asked, "gold": [f"{who}-{place}"], "type": kind}
        for at, (place, (_, same, other)) in enumerate(zip(places, told, strict=True))
        for kind, asked in (("same words", same), ("other words", other))
    ]
    return {"id": who, "items": items, "questions": questions}


def _items(seed: int, who: str, told: dict[int, str]) -> Iterator[dict[str, Any]]:
    talk = islice(chatter(seed=seed), CHATTER)
    for number in range(CHATTER + len(told)):
        evening, turn = divmod(number, SESSION)
        yield {
            "id": f"{who}-{number}",
            "source": f"evening {evening + 1}",
            "position": turn,
            "speaker": who if number in told or turn % 2 else "a friend",
            "text": told.get(number) or next(talk),
            "at": (BEGIN + evening * APART + turn * timedelta(minutes=1)).isoformat(),
        }
