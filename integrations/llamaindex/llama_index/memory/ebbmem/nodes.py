"""Memories as nodes, and nodes as what a bank keeps lives of."""

from __future__ import annotations

import math
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from llama_index.core.schema import NodeWithScore, TextNode

from ebbmem import Recollection
from ebbmem.harmless import as_lines
from ebbmem.turns import message_id

__all__ = ["MemoryNode", "key_of", "node_of", "relevances"]


class MemoryNode(TextNode):
    """A memory as it came to mind; two recalls of it are one node, two memories are two.

    Fusion compares hashes, and so do the retrievers of older llama-index-core.
    """

    @property
    def hash(self) -> str:
        """Of id, text and own metadata: the strength of a memory differs from recall to recall."""
        hidden = self.excluded_embed_metadata_keys
        own = {key: each for key, each in self.metadata.items() if key not in hidden}
        inside = f"{self.node_id}{self.text}{own}"
        return sha256(inside.encode("utf-8", "surrogatepass")).hexdigest()


def node_of(hit: Recollection, *, around: bool = False, harmless: bool = False) -> NodeWithScore:
    """What came to mind, with the id of the memory.

    What the bank says of it is in the metadata beside the memory's own, but neither in prompts
    nor in texts to embed. A key that the memory itself has stays the memory's. `around` adds the
    texts said `before` and `after`, which prompts show: that is what they are asked for. So they
    do with the `trust` of what is not the user's, and the `label` of a guard, whatever the memory
    says of itself. `harmless` is for prompts, and has texts as `ebbmem.harmless.as_lines` has
    them.
    """
    told_as = as_lines if harmless else str
    memory, used = hit.memory, hit.memory.last_reinforced_at
    told: dict[str, Any] = {
        "strength": hit.strength,
        "similarity": hit.similarity,
        "created_at": memory.created_at.isoformat(),
        "last_reinforced_at": None if used is None else used.isoformat(),
        "recall_count": memory.recall_count,
        "source": memory.source,
        "speaker": memory.speaker,
    }
    if around:
        sides = {"before": hit.before, "after": hit.after}
        told["around"] = {
            name: [told_as(each.text) for each in side] for name, side in sides.items()
        }
    sure = {"trust": memory.trust, "label": memory.label}
    warning = ["trust"] * (memory.trust != "user") + ["label"] * (memory.label is not None)
    own = {key: each for key, each in memory.metadata.items() if key not in warning}
    ours = {key: each for key, each in (told | sure).items() if key not in own}
    node = MemoryNode(
        id_=memory.id,
        text=told_as(memory.text),
        metadata=own | ours,  # type: ignore[call-arg]  # mypy knows the alias alone
        excluded_llm_metadata_keys=[key for key in ours if key not in ("around", *warning)],
        excluded_embed_metadata_keys=[*ours],
    )
    return NodeWithScore(node=node, score=hit.score)


def key_of(found: NodeWithScore) -> str:
    """The id of a node as a bank can have it, else one that follows from what is in it."""
    return message_id(found.node.node_id) or found.node.hash


def relevances(found: Sequence[NodeWithScore]) -> list[float]:
    """Scores as relevance in [0, 1]: as they are, where all of them lie there.

    Others are scaled within the list, (score - low) / (high - low), with low the least of them
    and 0, high the greatest of them and 1: the worst score below 0 becomes 0, the best above 1
    becomes 1. Where one has no score, 1, 1/2, 1/3, ... by rank.
    """
    scores = [each.score for each in found if each.score is not None and math.isfinite(each.score)]
    if len(scores) < len(found):
        return [1.0 / rank for rank in range(1, len(found) + 1)]
    low, high = min(0.0, *scores), max(1.0, *scores)
    return [(each - low) / (high - low) for each in scores]
