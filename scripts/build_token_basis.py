"""Make the basis that projects MiniLM's piece vectors from 384 to 128 dimensions.

The basis is the leading eigenvectors of the second-moment matrix of unit piece vectors. They come
from sentences made here: everyday ones from templates, for the usual contexts, and ones with words
drawn from the model's vocabulary, for its breadth. Documentation of Python was tried as a third
part and made MaxSim agree less with that of the full vectors.

    python scripts/build_token_basis.py ebbmem/embedding/minilm/basis.npy
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

import numpy as np
from numpy.typing import NDArray

from ebbmem.embedding import local

DIMENSIONS = 128
EVERYDAY = 2_000
BROAD = 6_000

WORDS = {
    "name": "Anna|Ben|Carla|David|Elena|Farid|Grace|Hugo|Ines|Jonas|Keiko|Liam|Mira|Noah|Olga",
    "kin": "mother|father|sister|brother|grandmother|uncle|cousin|daughter|son|husband|wife|aunt",
    "friend": "roommate|best friend|neighbour|coach|boss|colleague|teacher|landlord|therapist",
    "pet": "dog|cat|parrot|rabbit|turtle|hamster|puppy|kitten|horse|goldfish",
    "dish": "lasagne|pancakes|lentil soup|sushi|apple pie|fried rice|a salad|tacos|curry|pizza",
    "drink": "green tea|black coffee|orange juice|red wine|cocoa|oat milk|lemonade",
    "city": "Lisbon|Chicago|Kyoto|Nairobi|Vancouver|Berlin|Mexico City|Mumbai|Oslo|Melbourne",
    "place": "the lake|the mountains|a museum|the beach|a small village|the national park|the zoo",
    "job": "nurse|software developer|accountant|carpenter|journalist|chef|lawyer|bus driver|artist",
    "task": "the quarterly report|a job interview|the new website|a client meeting|my thesis",
    "hobby": "painting|rock climbing|pottery|chess|gardening|photography|swimming|knitting|yoga",
    "sport": "football|tennis|basketball|hockey|volleyball|running|cycling|surfing",
    "thing": "camera|bicycle|laptop|necklace|guitar|jacket|tent|bookshelf|car|ring|phone",
    "colour": "red|blue|green|yellow|black|white|purple|silver",
    "illness": "a cold|a migraine|back pain|an allergy|the flu|a broken wrist|trouble sleeping",
    "cure": "rest|a new diet|physiotherapy|antibiotics|long walks|an operation|meditation",
    "book": "a mystery novel|a biography|a cookbook|science fiction|poems|a history of Rome",
    "show": "a documentary|a comedy|an old western|a cooking show|the football final|a concert",
    "music": "jazz|rock|classical music|hip hop|folk songs|opera|country music",
    "feeling": "happy|nervous|proud|tired|excited|worried|relieved|lonely|grateful|angry|calm",
    "event": "birthday party|wedding|graduation|funeral|marathon|reunion|parade|charity fair",
    "month": "January|February|March|April|May|June|July|August|September|October|November",
    "day": "Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday",
    "when": "yesterday|last week|two days ago|this morning|last summer|a month ago|in 2019|tonight",
    "soon": "tomorrow|next week|in a few days|next month|this weekend|after the holidays|on Friday",
    "number": "two|three|four|five|seven|ten|twelve|twenty",
    "tool": "Python|Docker|a spreadsheet|Postgres|JavaScript|Git|a calendar|an editor",
    "goal": "save money|learn Spanish|lose weight|buy a house|adopt a child|write a book",
    "cause": "animal shelter|food bank|school|hospital|youth club|library|community garden",
    "weather": "raining|snowing|sunny|windy|foggy|too hot|freezing",
}

TEMPLATES = """
I went to {place} with my {kin} {when} and we felt {feeling}.
My {kin} {name} works as a {job} in {city}.
Did you hear that {name} is moving to {city} {soon}?
I have been taking {hobby} classes since {month}, every {day} evening.
We adopted a {pet} from the {cause} {when}, and {name} named it {name2}.
{name} cooked {dish} for the {event}, it was delicious!
I can't eat {dish} because of {illness}, so I only had {drink}.
How was the {event}? I heard your {friend} was there too.
Thanks, {name}! That means a lot to me, I was so {feeling}.
My doctor says {cure} should help against {illness}.
I finished {task} {when}; my {friend} was {feeling} about it.
What did your {kin} give you for your birthday on {day}?
She gave me a {colour} {thing} that belonged to my {kin}.
I prefer {drink} over {drink2}, especially when it is {weather}.
We watched {show} and listened to {music} until midnight.
I want to {goal} before {month}, but it is hard.
{name} won the {sport} match {when}, {number} to {number2}.
I am reading {book} that {name} recommended to me.
At work we switched from {tool} to {tool2} {when}.
My {friend} volunteers at the {cause} every {day}.
It was {weather} in {city}, so we stayed at home and played {sport} indoors.
Who takes care of the {pet} when you travel to {city}?
I lost my {thing} on the train and felt {feeling} all day.
Our {kin} was in hospital for {number} weeks with {illness}.
Wow, that sounds great! How long have you been into {hobby}?
They got married in {city} in {month}, with {number} guests.
I bought a {colour} {thing} for {number} hundred dollars {when}.
When I was a child, we lived near {place} and had a {pet}.
Please remember that I always use {tool} for {task}.
The meeting with the {job} is at {number} o'clock {soon}.
Sorry, I missed your call, I was busy with {task}.
{name} is {feeling} because the {event} was cancelled.
You should try {hobby}, it helped me with {illness}.
My favourite food is {dish}, and I love {music}.
We are planning a trip to {city} {soon} to see {place}.
Why did {name} leave the job as a {job}?
I painted {place} in {colour} and {colour2} for my {kin}.
He has {number} children and a {pet}, and they all love {sport}.
Good luck with {task}, I am sure you will do well!
The {cause} raised money for families in {city} {when}.
""".strip().splitlines()


BROAD_TEMPLATES = """
I talked with {a} about the {b} and the {c}.
What do you think about {a} {b}?
She said the {a} was {b} because of {c}.
They {a} the {b} near {c} last year.
My {a} {b} reminds me of {c}.
We need {a} for the {b}, not {c}!
How did the {a} {b} go?
He has been {a} since the {b} in {c}.
""".strip().splitlines()


def everyday(count: int, random: Random) -> Iterator[str]:
    """First-person sentences, questions and replies about ordinary life."""
    lists = {key: text.split("|") for key, text in WORDS.items()}
    for _ in range(count):
        template = random.choice(TEMPLATES)
        keys = re.findall(r"{(\w+)}", template)
        yield template.format(**{key: random.choice(lists[key.rstrip("2")]) for key in keys})


def broad(count: int, random: Random, words: Sequence[str]) -> Iterator[str]:
    """Grammar without sense: every word of the vocabulary has its turn in some context."""
    for _ in range(count):
        template = random.choice(BROAD_TEMPLATES)
        yield template.format(**{key: random.choice(words) for key in "abc"})


def vocabulary() -> list[str]:
    """Whole words of the tokenizer, by rank; the first 1,996 are marks and single letters."""
    path = Path(local.__file__).parent / "minilm" / "tokenizer.json"
    ranks: dict[str, int] = json.loads(path.read_bytes())["model"]["vocab"]
    ordered = sorted(ranks, key=ranks.__getitem__)[1_996:14_000]
    return [word for word in ordered if word.isascii() and word.isalpha() and len(word) > 2]


def piece_vectors(model: local.MiniLM, texts: Sequence[str]) -> NDArray[np.float64]:
    """(n, 384) unit vectors of all pieces of all texts, without [CLS] and [SEP]."""
    rows = np.concatenate([states[1:-1] for _, _, states in model.read(texts)]).astype(np.float64)
    unit: NDArray[np.float64] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit


def basis_of(moment: NDArray[np.float64]) -> NDArray[np.float16]:
    """(384, 128) leading eigenvectors; the largest entry of each is positive."""
    _, vectors = np.linalg.eigh(moment)
    leading = vectors[:, ::-1][:, :DIMENSIONS]
    peaks = np.take_along_axis(leading, np.abs(leading).argmax(axis=0)[None], axis=0)
    return np.asarray(leading * np.sign(peaks), dtype=np.float16)


def build() -> NDArray[np.float16]:
    """The basis; prints the share of the energy that it keeps."""
    random = Random(0)
    texts = [*everyday(EVERYDAY, random), *broad(BROAD, random, vocabulary())]
    rows = piece_vectors(local.MiniLM(local.weights_path()), texts)
    moment = rows.T @ rows / len(rows)
    basis = basis_of(moment)
    wide = basis.astype(np.float64)
    print(f"{len(rows)} pieces, {np.trace(wide.T @ moment @ wide):.3f} of the energy kept")
    return basis


if __name__ == "__main__":
    np.save(Path(sys.argv[1]), build(), allow_pickle=False)
