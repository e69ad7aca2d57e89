"""What is kept in memory of a namespace, in an order of its own: see `crash.py`."""

from __future__ import annotations

from typing import Any

from ebbmem.arena import Arena

NAMED = {"category": "categories", "source": "sources", "speaker": "speakers"}
COLUMNS = (
    "created", "started", "reinforced", "count", "importance", "status", "pinned", "expires",
    "superseded", "searchable", "trust", "held", "question", "marks", "holds", "names", "length",
)  # fmt: skip


def derived(arena: Arena) -> dict[str, dict[str, Any]]:
    """Everything about each living row, by id, however it came there; and "" for all of them."""
    arena.catch_up()
    snapshot, passages = arena.snapshot(), arena._passages
    terms: dict[int, list[tuple[str, int]]] = {}
    for term in passages.keywords._terms:
        held = passages.keywords.select([term])
        for passage, count in zip(held.documents[0], held.frequencies[0], strict=True):
            terms.setdefault(int(passage), []).append((term, int(count)))
    columns = {name: getattr(snapshot, name).tolist() for name in COLUMNS}
    named = {
        name: (tuple(getattr(snapshot, known)), getattr(snapshot, name).tolist())
        for name, known in NAMED.items()
    }
    starts, spans = snapshot.passage_start.tolist(), snapshot.spans.tolist()
    found: dict[str, dict[str, Any]] = {}
    for id_, row in snapshot.row_of.items():
        first, last = starts[row], starts[row + 1]
        made: dict[str, Any] = {name: values[row] for name, values in columns.items()}
        for name, (known, numbers) in named.items():
            made[name] = known[numbers[row]] if numbers[row] >= 0 else None
        for side, neighbours in (("before", snapshot.before), ("after", snapshot.after)):
            made[side] = snapshot.ids[neighbours[row]] if neighbours[row] >= 0 else None
        made["spans"] = spans[first:last]
        made["terms"] = [sorted(terms.get(each, ())) for each in range(first, last)]
        if snapshot.vectors is not None:
            made["vectors"] = snapshot.vectors[first:last].tobytes()
        made["links"] = sorted(arena._links.get(id_, ()))
        found[id_] = made
    found[""] = {
        "active": arena.active,
        "active days": arena.active_days,
        "embedder": arena.embedder,
        "policy": arena.policy,
        "pieces": {piece: count for piece, count in passages._frequency.items() if count},
        "links": sorted(id_ for id_, links in arena._links.items() if links),
        "speakers": sorted(snapshot.speakers[n] for n, lines in arena._lines.items() if lines),
        "conversational": snapshot.conversational,
        "names": arena._speaker_words,
    }
    return found
