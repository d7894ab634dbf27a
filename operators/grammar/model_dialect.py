"""`ModelDialect`: the dialects and options of `parse_text` for a model."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

from .dialect import Dialect


class ModelDialect(Struct, frozen=True, repr_omit_defaults=True):
    """The dialects of a model, and how it writes them.

    >>> row = ModelDialect(("hermes",), starts_in_reasoning=True)
    >>> row.names, row.options
    (('hermes',), {'starts_in_reasoning': True})

    - `names`: the dialects for `parse_text`; several if the model, or the template that it is served with, uses
      several.
    - `starts_in_reasoning`: whether the model's own chat template ends the prompt inside the reasoning, so that the
      text has only the closer: unless thinking is switched off (True), never (False), or only if thinking is switched
      on (`asked`).
    - `opener_in_reasoning`: as in `parse_text`; None: as the dialect says.
    - `switches`: the variables of the chat template that switch thinking; others that a request sets change nothing.
      None: any that is known; with `()` the template has none, and what the request says does not count.
    - `low_efforts`: the efforts of reasoning with which thinking is off, beside `none`.
    """

    names: tuple[str | Dialect, ...]
    starts_in_reasoning: bool | Literal["asked"] = False
    opener_in_reasoning: Literal["text", "ends"] | None = None
    switches: tuple[str, ...] | None = None
    low_efforts: tuple[str, ...] = ()

    @property
    def options(self) -> dict[str, Any]:
        """The options of `parse_text` for this model: `parse_text(*row.names, **row.options)`."""
        given = {
            "starts_in_reasoning": self.starts_in_reasoning is True,
            "opener_in_reasoning": self.opener_in_reasoning,
        }
        return {name: each for name, each in given.items() if each}
