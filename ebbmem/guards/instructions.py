"""What gives orders to a model is labelled, so that a prompt can say what it is.

It is neither refused nor changed: an article about such texts quotes them, and a person may tell
of one. From a person and a model only what nobody says to somebody else is labelled; from a
tool or a file also what a person may ask for.

It knows wordings, not meanings: it finds the usual ones and lets through most of what is put in
words that nobody here thought of. What has no label is no safer for that.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ebbmem.guards.chinese import CHINESE, SIMPLIFIED
from ebbmem.guards.english import ENGLISH
from ebbmem.guards.folding import fold
from ebbmem.guards.orders import HIDDEN, MARKS, Order
from ebbmem.records import Draft, Memory, Trust

__all__ = ["LABEL", "InstructionGuard", "gives_orders", "unlabelled"]

LABEL = "instructions"

_ORDERS = (*MARKS, *ENGLISH, *CHINESE)
_ANYBODY: tuple[Trust, ...] = ("user", "assistant")

# Small letters of other scripts that look like Latin ones, and quotes like the plain one
_SEEN = SIMPLIFIED | str.maketrans("аеорсухіјѕԁһӏοαρνιτκ’‘ʼ", "aeopcyxijsdhloapvitk'''")


@dataclass(frozen=True, slots=True)
class InstructionGuard:
    """Labels what gives orders, where nobody has put another label.

    `Policy(instructions="label")` asks for it; as `guard=` it acts for one opening.

    Attributes:
        orders: what is looked for.
    """

    orders: tuple[Order, ...] = _ORDERS

    def __call__(self, draft: Draft) -> Draft:
        if draft.label is not None or not gives_orders(draft.text, draft.trust, self.orders):
            return draft
        return replace(draft, label=LABEL)


def unlabelled(memory: Memory) -> Memory:
    """Without this guard's label, which was that of other words; another's is kept."""
    return replace(memory, label=None) if memory.label == LABEL else memory


def gives_orders(text: str, trust: Trust, orders: tuple[Order, ...] = _ORDERS) -> bool:
    """Whether a text of this origin gives orders to a model; time is linear in its length."""
    if HIDDEN.search(text):
        return True
    seen = fold(text).text.lower()
    if not seen.isascii():
        seen = seen.translate(_SEEN)
    trusted = trust in _ANYBODY
    return any(
        each.pattern.search(seen) is not None
        for each in orders
        if (each.anybody or not trusted) and any(anchor in seen for anchor in each.anchors)
    )
