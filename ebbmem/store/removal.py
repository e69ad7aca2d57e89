"""What was removed must leave every byte of the files, not only the tables.

`secure_delete` overwrites a row where it stands. Two places keep older copies: the write-ahead
log, until it is truncated, and room of a page that was left unused when rows moved between pages
(found for up to 3 of 300 erased texts after edits in a mixed order, with SQLite 3.40 and 3.53).
Only VACUUM writes every page anew. So removals are numbered, and a sweep notes up to which of
them nothing is left.
"""

from __future__ import annotations

from ebbmem.store.driver import Database
from ebbmem.store.sound import number_of

__all__ = ["Sweeper", "is_swept", "mark_removed", "truncate_log"]


def mark_removed(db: Database) -> None:
    """Note, in the transaction that removes it, that something private goes."""
    db.execute("UPDATE removal SET removed = removed + 1")


def is_swept(db: Database) -> bool:
    """Whether nothing of what was removed is left."""
    removed, swept = _numbers(db)
    return removed == swept


class Sweeper:
    """Clears what was removed, over several tries if it must."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._anew = 0  # removals up to here are in no page; of the log nobody knows

    def sweep(self) -> bool:
        """Clear it; False: a reader of an older state keeps it in the log.

        Outside of a transaction. What it takes grows with the file: its whole content is held
        in memory and written once.
        """
        removed, swept = _numbers(self._db)
        if removed == swept:
            return True
        if removed > self._anew:
            if not truncate_log(self._db):  # then the rest would be work for nothing
                return False
            self._db.execute("VACUUM")
            self._anew = removed
        if not truncate_log(self._db):
            return False
        self._db.execute("UPDATE removal SET swept = ? WHERE swept < ?", (removed, removed))
        return True


def truncate_log(db: Database) -> bool:
    """Move the write-ahead log into the file and empty it; False: somebody holds it."""
    busy, *_ = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    return not busy


def _numbers(db: Database) -> tuple[int, int]:
    removed, swept = db.execute("SELECT max(removed), max(swept) FROM removal").fetchone()
    return number_of(removed or 0), number_of(swept or 0)
