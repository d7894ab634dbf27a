"""`recut`: the bytes of a recording in chunks of another size, with their times."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from .read_recording import TimedItem


def recut(items: Sequence[TimedItem], chunk_size: int) -> list[TimedItem]:
    """Cut bytes anew; a chunk comes with its last byte.

    >>> recut([TimedItem(0.1, b"abc"), TimedItem(0.2, b"de")], 2)
    [TimedItem(at=0.1, item=b'ab'), TimedItem(at=0.2, item=b'cd'), TimedItem(at=0.2, item=b'e')]
    """
    body = b"".join(each.item for each in items)
    ends = list(accumulate(len(each.item) for each in items))
    cut: list[TimedItem] = []
    number = 0
    for start in range(0, len(body), chunk_size):
        chunk = body[start : start + chunk_size]
        while ends[number] < start + len(chunk):
            number += 1
        cut.append(TimedItem(items[number].at, chunk))
    return cut
