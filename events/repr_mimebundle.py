"""`repr_mimebundle`: what a notebook asks an event for."""

from __future__ import annotations


def repr_mimebundle(
    self: object,
    include: object = None,  # noqa: ARG001 - IPython passes both, and filters by itself
    exclude: object = None,  # noqa: ARG001
) -> dict[str, str]:
    """Give an event's plain text and HTML."""
    from .mime_bundle import event_bundle  # noqa: PLC0415 - needs the events, and only notebooks need it

    return event_bundle(self)
