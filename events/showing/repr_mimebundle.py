"""`repr_mimebundle`: the method that IPython calls to show a value."""

from __future__ import annotations

from .bundle_of import bundle_of


def repr_mimebundle(
    self: object,
    include: object = None,  # noqa: ARG001 - IPython passes both, and filters by itself
    exclude: object = None,  # noqa: ARG001
) -> dict[str, str]:
    """Return the value's plain text and HTML."""
    return bundle_of(self)
