"""`bundle_of`: how a notebook shows a value. Each kind of value registers its own function."""

from __future__ import annotations

from functools import singledispatch

from .card import Card, MimeBundle, mime_bundle


@singledispatch
def bundle_of(value: object) -> MimeBundle:
    """Return a value's plain text and HTML; just the type's name if nothing is registered for it."""
    return mime_bundle((Card(type(value).__name__),))
