"""`bundle_of`: what a notebook shows of a value. Each kind of value registers how it looks."""

from __future__ import annotations

from functools import singledispatch

from .card import Card, MimeBundle, mime_bundle


@singledispatch
def bundle_of(value: object) -> MimeBundle:
    """Return a value's plain text and HTML: its type's name where nothing is registered for it."""
    return mime_bundle((Card(type(value).__name__),))
