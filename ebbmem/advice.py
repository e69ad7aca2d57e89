"""What the numbers of a store say about its policy, in words. Pure.

| code            | what it says                                                           |
|-----------------|------------------------------------------------------------------------|
| `decay-idle`    | after a month most strengths stay high: decay hardly acts              |
| `unused`        | nothing is ever reinforced, so age alone decides                       |
| `all-fading`    | nearly everything fades within a week                                  |
| `mean-falling`  | the mean strength falls from run to run of the probes                  |
| `recall-falling`| recall falls as the store grows                                        |
| `probes-fading` | what the probes expect is hidden                                       |
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from ebbmem.results import Advice, Advices, ProbeRun, Stats

__all__ = ["ALL", "FADED", "FALL", "FEW", "GROWN", "HIGH", "LOST", "MOST", "RUNS", "advise"]

FEW = 20  # memories: a share of fewer is an anecdote
HIGH = 30.0  # days: the published categories halve at importance 0.5 within 3 to 12 of them
MOST = 0.8  # of the strengths in the upper half
FADED = 0.1  # of all memories: with more hidden, decay acts, and who is left is a survivor
UNUSED = 7.0  # days without a single use that are no accident
ALL = 0.9  # of the active ones about to fade
RUNS = 3  # two points are always a trend
FALL = 0.25  # of the mean strength: less is a store settling down
LOST = 0.1  # of recall@k: one question in ten
GROWN = 1.2  # times the memories of the best run


def advise(stats: Stats, history: Sequence[ProbeRun]) -> Advices:
    """What to change, the most urgent first; nothing where nothing is to be said."""
    said = (
        _all_fading(stats),
        _probes_fading(history),
        _recall_falling(history),
        _mean_falling(stats, history),
        _unused(stats),
        _decay_idle(stats),
    )
    return [each for each in said if each is not None]


def _all_fading(stats: Stats) -> Advice | None:
    if stats.active < FEW or stats.fading_week < ALL * stats.active:
        return None
    return Advice(
        code="all-fading",
        text=f"{stats.fading_week} of {stats.active} active memories fade within a week. If they "
        "still matter, recall or pin them, lower the base rates of their categories, or "
        "count days of use alone (Policy.chat()).",
        numbers={"fading_week": stats.fading_week, "active": stats.active},
    )


def _probes_fading(history: Sequence[ProbeRun]) -> Advice | None:
    if not history or not history[-1].asked:
        return None
    last = history[-1]
    share = last.hidden / last.asked
    if share < LOST:
        return None
    return Advice(
        code="probes-fading",
        text=f"{share:.0%} of what the probes expect has faded or was superseded, so that no query "
        "finds it. Restore or pin it, give it more importance or a category with a lower rate, "
        "or take out the probes whose answers may go.",
        numbers={"hidden": share, "asked": last.asked},
    )


def _recall_falling(history: Sequence[ProbeRun]) -> Advice | None:
    """Both of the last two runs lie under the best one before them, in a larger store."""
    runs = [each for each in history if each.k == history[-1].k and _there(each) > 0.0]
    if len(runs) < RUNS:
        return None
    best = max(runs[:-2], key=_reachable)
    lost = [round(_reachable(best) - _reachable(each), 9) for each in runs[-2:]]
    grown = runs[-1].active / max(best.active, 1)
    if min(lost) < LOST or grown < GROWN:
        return None
    last = runs[-1]
    return Advice(
        code="recall-falling",
        text=f"Recall@{last.k} fell from {_reachable(best):.0%} to {_reachable(last):.0%} of what "
        f"is not hidden, while the store grew from {best.active} to {last.active} active "
        "memories. Ask for more (a larger k), or keep fewer (a lower max_memories, higher rates).",
        numbers={
            "from": _reachable(best),
            "to": _reachable(last),
            "active_from": best.active,
            "active_to": last.active,
            "k": last.k,
        },
    )


def _reachable(run: ProbeRun) -> float:
    """Recall among what could be found: that the rest is hidden is another matter."""
    return run.found / _there(run)


def _there(run: ProbeRun) -> float:
    """How much of what the probes expect could be found."""
    return round(run.asked - run.hidden, 9)


def _mean_falling(stats: Stats, history: Sequence[ProbeRun]) -> Advice | None:
    means = [each.mean_strength for each in history if each.mean_strength is not None]
    falling = means[-1:]
    for later, earlier in pairwise(reversed(means)):
        if earlier <= later:
            break
        falling.append(earlier)
    if len(falling) < RUNS or falling[0] > (1.0 - FALL) * falling[-1]:
        return None
    cause = (
        "nothing was ever reinforced: recall without reinforce=False, or call reinforce()"
        if not stats.recalls
        else "the base rates are too high for how often memories are used: lower them"
    )
    return Advice(
        code="mean-falling",
        text=f"The mean strength fell in each of the last {len(falling)} runs, from "
        f"{falling[-1]:.2f} to {falling[0]:.2f}: {cause}.",
        numbers={"from": falling[-1], "to": falling[0], "runs": len(falling)},
    )


def _unused(stats: Stats) -> Advice | None:
    total, age = stats.active + stats.faded, stats.median_age
    if total < FEW or stats.recalls or age is None or age < UNUSED:
        return None
    return Advice(
        code="unused",
        text=f"None of {total} memories was ever reinforced, and half of those left are over "
        f"{age:.0f} days old: age alone decides what stays. Recall without reinforce=False, or "
        "call reinforce() with what was used.",
        numbers={"memories": total, "median_age": age},
    )


def _decay_idle(stats: Stats) -> Advice | None:
    total, age = stats.active + stats.faded, stats.median_age
    if stats.active < FEW or age is None or age < HIGH or stats.faded > FADED * total:
        return None
    upper = sum(stats.histogram[len(stats.histogram) // 2 :]) / stats.active
    if upper < MOST:
        return None
    uses = stats.recalls / total
    return Advice(
        code="decay-idle",
        text=f"{upper:.0%} of the strengths stand in the upper half though half of the memories "
        f"are over {age:.0f} days old: decay hardly acts. Raise the base rates, or look at "
        f"what is reinforced ({uses:.1f} uses a memory).",
        numbers={"upper": upper, "median_age": age, "uses": uses},
    )
