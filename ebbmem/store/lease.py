"""Who runs the daily pass of a namespace: a row with the holder, and when it ends.

A lease is about processes, not about memories, so it does not go by a bank's clock, which may be
simulated, stand still or differ between two banks of one file: a dead holder would then block
for years of somebody's time, or a living one for none. It goes by the clock of the machine,
which all processes that can share the file share too. Not by the monotonic one: that begins
again with each boot, and a row outlives it. What the machine's clock may do harms little. Set
forward, it ends a lease early; set back, it leaves an end further ahead than a lease lasts,
which no living holder has written and which does not count.

A lease that is lost early costs work, never exactness: each batch of a pass asks what is due in
the transaction that changes it.
"""

from __future__ import annotations

import time

from ebbmem.store.driver import Database

__all__ = ["LEASE_SECONDS", "end_lease", "take_lease"]

LEASE_SECONDS = 5.0  # from the last batch; one takes far less, and a killed holder blocks so long


def take_lease(db: Database, key: str, holder: str) -> bool:
    """Take or renew it, in the transaction of the work; False: another one has it."""
    now = time.time_ns() // 1000
    end = now + round(1e6 * LEASE_SECONDS)
    taken = db.execute(
        "INSERT INTO lease (ns, holder, ends_at) VALUES (?, ?, ?) ON CONFLICT (ns) DO UPDATE "
        "SET holder = excluded.holder, ends_at = excluded.ends_at "
        "WHERE holder = excluded.holder OR ends_at NOT BETWEEN ? AND excluded.ends_at",
        (key, holder, end, now),
    )
    return taken.rowcount == 1


def end_lease(db: Database, key: str, holder: str) -> None:
    """Give it back; one that somebody else has meanwhile stays theirs."""
    db.execute("DELETE FROM lease WHERE ns = ? AND holder = ?", (key, holder))
