"""Why a memory came where it did in a recall, or why it did not come at all. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from ebbmem.budget import most_places
from ebbmem.finding import Ranking
from ebbmem.policy import Policy
from ebbmem.reading import Asked, recollection
from ebbmem.records import Memory
from ebbmem.results import Explanation
from ebbmem.snapshot import FADED, Snapshot

__all__ = ["explained"]


def explained(
    ranking: Ranking, row: int, asked: Asked, records: Mapping[str, Memory], policy: Policy
) -> Explanation:
    """Why a row has its place, or none."""
    id_, k = ranking.snapshot.ids[row], asked.k
    rank = next((i for i, (each, _) in enumerate(ranking.order, 1) if each == row), None)
    if rank is not None and (score := ranking.order[rank - 1][1]) < asked.min_score:
        return Explanation(
            id=id_,
            outcome="filtered",
            reason=f"its score {score:.3f} is under {asked.min_score:.3f}",
            rank=rank,
            recollection=recollection(ranking, row, score, records[id_]),
        )
    if rank is not None:
        return _placed(ranking, row, rank, k, records)
    if (over := _over_share(ranking, row, k, records, policy)) is not None:
        return over
    if not ranking.snapshot.searchable[row]:
        return Explanation(id=id_, outcome="filtered", reason="it is kept, but not searchable")
    if (outdated := _outdated(ranking.snapshot, row, asked, records[id_])) is not None:
        return outdated
    if not ranking.allowed[row]:
        return Explanation(
            id=id_, outcome="filtered", reason="the filters of this recall leave it out"
        )
    if ranking.hidden[row]:
        now = float(ranking.strength[row])
        reason = f"it has faded: strength {now:.3f}, hidden under {policy.fade_below}"
        if ranking.snapshot.status[row] == FADED:
            reason = f"it has faded or was forgotten: strength {now:.3f}; restore() brings it back"
        return Explanation(id=id_, outcome="faded", reason=reason)
    return Explanation(
        id=id_,
        outcome="not a candidate",
        reason=_missed(ranking, row),
        recollection=recollection(ranking, row, 0.0, records[id_]),
    )


def _outdated(snapshot: Snapshot, row: int, asked: Asked, record: Memory) -> Explanation | None:
    """Why it does not tell of the time that is asked of; None if it does."""
    as_of = asked.filters.as_of
    if asked.filters.told(snapshot)[row]:
        return None
    if as_of is not None and snapshot.created[row] > as_of:
        reason = f"it was said later, on {record.created_at:%Y-%m-%d}"
        return Explanation(id=record.id, outcome="filtered", reason=reason)
    heir = record.superseded_by
    reason = f"{heir or 'what is forgotten by now'} took its place"
    if record.superseded_at is not None:
        reason += f" on {record.superseded_at:%Y-%m-%d}"
    return Explanation(id=record.id, outcome="superseded", reason=reason, superseded_by=heir)


def _placed(
    ranking: Ranking, row: int, rank: int, k: int, records: Mapping[str, Memory]
) -> Explanation:
    ids, score = ranking.snapshot.ids, ranking.order[rank - 1][1]
    mine = recollection(ranking, row, score, records[ids[row]])
    reason = f"place {rank} with score {score:.3f}"
    if rank <= k:
        way = "through the graph" if mine.via else "directly"
        reason = f"{reason}, found {way}"
        return Explanation(
            id=ids[row], outcome="recalled", reason=reason, rank=rank, recollection=mine
        )
    return Explanation(
        id=ids[row],
        outcome="outscored",
        reason=f"{reason}; place {k} has {ranking.order[k - 1][1]:.3f}",
        rank=rank,
        recollection=mine,
        better=tuple(
            recollection(ranking, each, worth, records[ids[each]])
            for each, worth in ranking.order[:k]
            if ids[each] in records
        ),
    )


def _over_share(
    ranking: Ranking, row: int, k: int, records: Mapping[str, Memory], policy: Policy
) -> Explanation | None:
    """That its source brings no more than others before it; None if that is not why."""
    ids, budget, most = ranking.snapshot.ids, ranking.budget, most_places(k, policy.source_share)
    if budget is None or not (ranking.candidate[row] and budget.limits(row)):
        return None
    same = [each for each in ranking.order if budget.source[each[0]] == budget.source[row]]
    if len(same) < most:
        return None
    return Explanation(
        id=ids[row],
        outcome="over its share",
        reason=f"{most} of its source come before it, as many as may be among {k} "
        f"(source_share {policy.source_share})",
        recollection=recollection(ranking, row, ranking.left_out.get(row, 0.0), records[ids[row]]),
        better=tuple(
            recollection(ranking, each, worth, records[ids[each]])
            for each, worth in same
            if ids[each] in records
        ),
    )


def _missed(ranking: Ranking, row: int) -> str:
    similarity = ranking.signals.similarity
    if ranking.candidate[row]:
        return f"over {len(ranking.order)} others match the words or the meaning better"
    words = "too few words" if ranking.signals.keyword[row] > 0.0 else "no word"
    if similarity is None:
        return f"it shares {words} with the query, and there are no vectors to compare"
    return (
        f"it shares {words} with the query, and its similarity {similarity[row]:.3f} "
        f"is under {ranking.threshold:.3f}"
    )
