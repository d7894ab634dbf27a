"""`Quota`: how many bytes one stream may still write."""

from __future__ import annotations

from .edits.refused import RefusedError


class Quota:
    """Counts what was written; the caller sees to it that one thread at a time asks and spends."""

    def __init__(self, limit: int | None) -> None:
        self._limit = limit
        self._spent = 0

    def check(self, size: int) -> None:
        """Raise `RefusedError` if so many bytes are more than are left."""
        if size > self.room():
            message = f"the quota of {self._limit} bytes does not allow {size} more; nothing was written"
            raise RefusedError(message)

    def spend(self, size: int) -> None:
        self._spent += size

    def room(self) -> float:
        """Return how many bytes are left."""
        return float("inf") if self._limit is None else self._limit - self._spent
