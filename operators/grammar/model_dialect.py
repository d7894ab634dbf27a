"""`ModelDialect`: the options of `parse_text` for a model."""

from __future__ import annotations

from msgspec import Struct

from .dialect import Dialect


class ModelDialect(Struct, frozen=True):
    """The dialects of a model, and whether its prompt opens the reasoning.

    >>> ModelDialect(("hermes",), starts_in_reasoning=True).names
    ('hermes',)

    - `names`: the dialects for `parse_text`; several if the model, or the template that it is served with, uses
      several.
    - `starts_in_reasoning`: whether the model's own chat template ends the prompt inside the reasoning, unless thinking
      is switched off, so that the text has only the closer.
    """

    names: tuple[str | Dialect, ...]
    starts_in_reasoning: bool = False
