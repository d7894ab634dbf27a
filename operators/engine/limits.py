"""`Limits`: all limits as one value; exceeding one fails the call, never the stream."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from ...events.errors import UsageError


class Limits(Struct, frozen=True, kw_only=True):
    """Limits of one call; lengths are characters of source text. Raises `UsageError` for a limit below 1.

    >>> Limits(depth=8).depth
    8
    """

    depth: Annotated[int, Meta(description="Containers inside containers.")] = 256
    key_length: Annotated[int, Meta(description="One key.")] = 64 * 1024
    number_length: Annotated[int, Meta(description="One number; Python refuses longer integers itself.")] = 4300
    arguments_length: Annotated[int, Meta(description="All arguments of a call.")] = 16 * 1024 * 1024
    open_calls: Annotated[int, Meta(description="Calls open at the same time in one choice.")] = 256
    deferred_length: Annotated[int, Meta(description="Content kept back while a START waits, or a tool.")] = 64 * 1024
    held_length: Annotated[int, Meta(description="Text kept back behind the closers of a raw value.")] = 1024 * 1024

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value: object = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                message = f"a limit must be a whole number of at least 1, got {name}={value!r}"
                raise UsageError(message)


DEFAULT_LIMITS = Limits()
