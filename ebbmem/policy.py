"""Every number a user may tune, with its unit and its reason."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import timedelta
from typing import Any, Literal, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ebbmem import decay, notebook
from ebbmem.checks import (
    check_cosine,
    check_count,
    check_flag,
    check_fraction,
    check_whole,
    is_number,
    shown,
)
from ebbmem.decay import DecayModel, EbbinghausDecay, PowerDecay
from ebbmem.errors import InvalidInput, UnknownCategory
from ebbmem.records import CATEGORIES, Category

__all__ = ["Policy"]

Array = NDArray[np.float64]
_CURVES: dict[str, DecayModel] = {each.name: each for each in (EbbinghausDecay(), PowerDecay())}


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """How a namespace forgets. `Policy()` is the published formula on the wall clock.

    Attributes:
        curve: retention over time; the published one is exponential.
        timeline: "wall" counts every day; "active" only those on which the namespace was
            used, so that a holiday costs nothing (and never more than "wall").
        categories: the built-in ones and the user's.
        importance_damping: share of the rate that importance 1 takes away.
        recall_gain: strength added by each counted recall, as a share.
        strength_cap: strength never exceeds it; `inf` shows the raw product.
        fade_below: strength under which a memory is hidden.
        purge_after: how long a faded memory stays restorable.
        on_fade: "hide" keeps it restorable, "erase" lets it go at once.
        max_memories: how many may be active; what goes over makes the weakest fade, by strength
            and salience, pinned ones never. None sets no limit.
        prune_every: the daily pass runs by itself at most this often.
        spacing: at most one reinforcement per memory and interval: massed repetition
            does not strengthen, and a retry is harmless.
        reinforce_ratio: a hit counts as used when its relevance is at least this share of
            the best one's.
        ranking: "bonus" adds strength to relevance as a small bounded part; "product"
            multiplies them, which loses most old facts and is here because papers use it.
        current_first: asked about the present, a newer statement of the same thing goes before an
            older one; never with "product".
        strength_weight: what full strength adds to the logarithm of a score as a bonus, in
            [0, 1]; it breaks near ties. On single facts 0.05 costs up to 2 points of any@1.
        min_similarity: cosine a memory without a shared word needs; None takes the
            embedder's own threshold.
        sample_probes: how many of the questions named to `reinforce` are kept, the last ones,
            to watch over recall; 0 keeps none, because they are private text.
        link_similarity: cosine from which two memories are neighbours in the graph.
        source_share: of the places of an answer, how many one source of what tools read may fill,
            in (0, 1], at least one place; 1 sets no limit. See `ebbmem.budget`.
        secrets: what becomes of keys, passwords, card numbers in what is to be kept: "keep" them,
            "mask" them, or "refuse" the text; see `ebbmem.guards.secrets`. What is asked for is
            masked unless they are kept.
        instructions: "label" what gives orders to a model, so that a prompt can say so, or
            "keep" it like anything else; see `ebbmem.guards.instructions`.
        salience: text -> [0, 1] in place of the built-in estimate; not stored with the
            namespace, so give it again on opening.
    """

    curve: DecayModel = field(default_factory=EbbinghausDecay)
    timeline: Literal["wall", "active"] = "wall"
    categories: Mapping[str, Category] | Iterable[Category] = field(
        default_factory=lambda: CATEGORIES
    )
    importance_damping: float = 0.8
    recall_gain: float = 0.2
    strength_cap: float = 1.0
    fade_below: float = 0.05
    purge_after: timedelta = timedelta(days=30)
    on_fade: Literal["hide", "erase"] = "hide"
    max_memories: int | None = None
    prune_every: timedelta = timedelta(hours=24)
    spacing: timedelta = timedelta(minutes=10)
    reinforce_ratio: float = 0.5
    ranking: Literal["bonus", "product"] = "bonus"
    current_first: bool = True
    strength_weight: float = 0.005
    min_similarity: float | None = None
    sample_probes: int = 0
    link_similarity: float = 0.4
    source_share: float = 0.5
    secrets: Literal["keep", "mask", "refuse"] = "keep"
    instructions: Literal["keep", "label"] = "label"
    salience: Callable[[str], float] | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "categories", _merged(self.categories))
        for name in ("fade_below", "reinforce_ratio", "importance_damping", "strength_weight"):
            check_fraction(name, getattr(self, name))
        if not self.importance_damping < 1.0:
            raise InvalidInput("importance_damping", "must be under 1, or nothing would fade")
        for name in ("recall_gain", "strength_cap"):
            if not is_number(getattr(self, name)):
                raise InvalidInput(name, f"must be a number, not {shown(getattr(self, name))}")
        if not 1e-6 <= self.fade_below < self.strength_cap:
            raise InvalidInput(
                "fade_below", f"must lie between 1e-6 and the cap, not {shown(self.fade_below)}"
            )
        if not 0.0 <= self.recall_gain <= 100.0:
            raise InvalidInput(
                "recall_gain", f"must lie in [0, 100], not {shown(self.recall_gain)}"
            )
        for name in ("purge_after", "prune_every", "spacing"):
            value = getattr(self, name)
            if not isinstance(value, timedelta) or value < timedelta(0):
                raise InvalidInput(
                    name, f"must be a timedelta of zero or more, not {_named(value)}"
                )
        for name, allowed in _CHOICES.items():
            if (value := getattr(self, name)) not in allowed:
                raise InvalidInput(name, f"must be one of {allowed}, not {_named(value)}")
        if self.salience is not None and not callable(self.salience):
            raise InvalidInput("salience", f"must be a function, not {shown(self.salience)}")
        if not isinstance(self.curve, DecayModel):
            raise InvalidInput("curve", f"must be a DecayModel, not {type(self.curve).__name__}")
        check_cosine("link_similarity", self.link_similarity)
        if check_fraction("source_share", self.source_share) == 0.0:
            raise InvalidInput(
                "source_share", "must be over 0, or nothing a tool read would be found"
            )
        check_flag("current_first", self.current_first)
        check_whole("sample_probes", self.sample_probes)
        if self.max_memories is not None:
            check_count("max_memories", check_whole("max_memories", self.max_memories), least=1)
        if self.min_similarity is not None:
            check_cosine("min_similarity", self.min_similarity)

    @classmethod
    def chat(cls, **changes: Any) -> Self:
        """What measured best on dated conversations: days of use, not days of the calendar."""
        return cls(**{"timeline": "active", **changes})

    @property
    def known(self) -> Mapping[str, Category]:
        """The categories by name, the built-in ones first."""
        return cast("Mapping[str, Category]", self.categories)

    def category(self, name: object) -> Category:
        """The category called `name`; raises `UnknownCategory` listing the known ones."""
        found = self.known.get(name) if isinstance(name, str) else None
        if found is None:
            raise UnknownCategory(name, tuple(self.known))
        return found

    def rate(self, base_rate: ArrayLike, importance: ArrayLike) -> Array:
        """Decay per day."""
        return decay.rate(base_rate, importance, damping=self.importance_damping)

    def strength(
        self, base_rate: ArrayLike, importance: ArrayLike, count: ArrayLike, elapsed: ArrayLike
    ) -> Array:
        """Strength in [0, cap] after `elapsed` days since the last counted reinforcement."""
        retention = self.curve.retention(self.rate(base_rate, importance), elapsed)
        return decay.strength(
            importance, retention, count, gain=self.recall_gain, cap=self.strength_cap
        )

    def lifetime(self, base_rate: ArrayLike, importance: ArrayLike, count: ArrayLike) -> Array:
        """Days from the last counted reinforcement to `fade_below`."""
        return decay.lifetime(
            self.rate(base_rate, importance),
            importance,
            count,
            threshold=self.fade_below,
            gain=self.recall_gain,
            model=self.curve,
        )

    def to_json(self) -> str:
        """One line of JSON that `from_json` reads; a namespace keeps its policy as this."""
        plain: dict[str, Any] = {}
        for name in (each.name for each in fields(self)):
            value = getattr(self, name)
            if name == "curve":
                value = value.name
            elif name == "categories":
                value = {
                    each.name: [each.base_rate, *each.importance]
                    for each in value.values()
                    if CATEGORIES.get(each.name) != each
                }
            elif isinstance(value, timedelta):
                value = value.total_seconds()
            elif name == "salience":
                continue
            elif value == float("inf"):
                value = "inf"
            plain[name] = value
        return json.dumps(plain, ensure_ascii=False, sort_keys=True)

    @classmethod
    def from_json(cls, line: str) -> Self:
        """The policy a namespace was last opened with; what it leaves out has its default.

        Raises:
            InvalidInput: this is no policy, or one of a curve that is not built in.
        """
        plain = _plain(line)
        known = {each.name for each in fields(cls)} - {"salience"}
        if unknown := set(plain) - known:
            raise InvalidInput("policy", f"of this namespace has {sorted(unknown)}; upgrade ebbmem")
        plain |= {name: read(name, plain[name]) for name, read in _READERS.items() if name in plain}
        return cls(**plain)

    def knowing(self, line: str) -> Self:
        """The same policy with the categories that `line`, a stored policy, has beside ours."""
        stored = _stored_categories("categories", _plain(line).get("categories", {}))
        missing = [each for each in stored if each.name not in self.known]
        return self.with_categories(missing) if missing else self

    def as_strict_as(self, other: Policy) -> Self:
        """The same policy, letting in nothing that `other` keeps out."""
        stricter = {
            name: max(getattr(self, name), getattr(other, name), key=_CHOICES[name].index)
            for name in ("secrets", "instructions")
        }
        return replace(self, **stricter)

    def _repr_html_(self) -> str:
        return notebook.policy_html(self)

    def with_categories(self, categories: Iterable[Category]) -> Self:
        """The same policy with more categories."""
        return replace(self, categories=_merged([*self.known.values(), *categories]))


_CHOICES = {
    "timeline": ("wall", "active"),
    "on_fade": ("hide", "erase"),
    "ranking": ("bonus", "product"),
    "secrets": ("keep", "mask", "refuse"),  # the stricter the later, of this and the next
    "instructions": ("keep", "label"),
}


def _plain(line: str) -> dict[str, Any]:
    """The object that a policy was stored as."""
    try:
        plain = json.loads(line)
    except (RecursionError, TypeError, ValueError):
        raise InvalidInput("policy", "is not JSON") from None
    if not isinstance(plain, dict) or not plain:
        raise InvalidInput("policy", "must be a JSON object with the fields of a policy")
    return plain


def _stored_curve(_: str, value: object) -> DecayModel:
    if not isinstance(value, str) or value not in _CURVES:
        raise InvalidInput(
            "policy",
            f"of this namespace uses the curve {_named(value)}, which is not built in; "
            "open it with the policy that has it",
        )
    return _CURVES[value]


def _stored_categories(name: str, value: object) -> list[Category]:
    if not isinstance(value, dict) or not all(
        isinstance(each, list) and len(each) == 3 for each in value.values()
    ):
        raise InvalidInput(name, "must be an object of names with [base_rate, low, high]")
    return [Category(name, base, (low, high)) for name, (base, low, high) in value.items()]


def _stored_span(name: str, value: object) -> timedelta:
    try:
        return timedelta(seconds=_stored_number(name, value))
    except (OverflowError, ValueError):
        raise InvalidInput(name, "must be a number of seconds that a timedelta holds") from None


def _stored_number(name: str, value: object) -> float:
    try:
        if value == "inf" or is_number(value):
            return float(value)  # type: ignore[arg-type]
    except OverflowError:
        pass
    raise InvalidInput(name, f"must be a number or 'inf', not {type(value).__name__}")


_READERS: dict[str, Callable[[str, object], Any]] = {
    "curve": _stored_curve,
    "categories": _stored_categories,
    "strength_cap": _stored_number,
    **dict.fromkeys(("purge_after", "prune_every", "spacing"), _stored_span),
}


def _named(value: object) -> str:
    """What was given, as far as it can be told: a name or a span as it is."""
    return repr(value)[:80] if isinstance(value, str | timedelta) else shown(value)


def _merged(given: Mapping[str, Category] | Iterable[Category]) -> Mapping[str, Category]:
    listed = given.values() if isinstance(given, Mapping) else given
    if isinstance(listed, str) or not isinstance(listed, Iterable):
        raise InvalidInput("categories", f"must be several, not {type(given).__name__}")
    merged = dict(CATEGORIES)
    for each in listed:
        if not isinstance(each, Category):
            raise InvalidInput("categories", f"must hold Category values, not {_named(each)}")
        merged[each.name] = each
    return merged
