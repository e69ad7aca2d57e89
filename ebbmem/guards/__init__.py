"""What looks at a text before it is kept: a guard may change it, label it or refuse it.

    MemoryBank.open("memory.db", namespace="a", guard=mine)      # one of yours, or several
    MemoryBank.open(..., policy=Policy(secrets="mask"))          # the built-in one for secrets

Yours come first, those that the policy asks for last: what is kept has passed them. They see
what goes into a bank, by whatever adapter: texts, edits, imports, questions of probes. They do not
see what others keep, such as a transcript in a chat store of LlamaIndex.
"""

from __future__ import annotations

from ebbmem.guards.base import CHANGEABLE, Guard, check_guards, guarded
from ebbmem.guards.instructions import InstructionGuard, unlabelled
from ebbmem.guards.secrets import SecretGuard, mask
from ebbmem.policy import Policy

__all__ = [
    "CHANGEABLE",
    "Guard",
    "InstructionGuard",
    "SecretGuard",
    "built_in",
    "check_guards",
    "guarded",
    "mask",
    "unlabelled",
]


def built_in(policy: Policy) -> tuple[Guard, ...]:
    """The guards that a policy asks for."""
    guards: list[Guard] = []
    if policy.secrets != "keep":
        guards.append(SecretGuard(policy.secrets))
    if policy.instructions == "label":
        guards.append(InstructionGuard())
    return tuple(guards)
