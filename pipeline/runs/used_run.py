"""`check_unused`: a run is one stream, for one loop."""

from __future__ import annotations

from ...events.errors import UsageError


def check_unused(*, is_over: bool) -> None:
    """Raise `UsageError` if the stream of a run is over, where a second loop would see nothing."""
    if is_over:
        message = (
            "this run was used: its stream is over; call stream(...) or astream(...) for another, or keep its events "
            "with collect(...)"
        )
        raise UsageError(message)
