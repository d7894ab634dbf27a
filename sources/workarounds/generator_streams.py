"""Workaround for google-genai (3.6.1) and ollama (0.6.3): their sync streams are plain generators.

Other SDKs' streams have their `response`. Here it is a variable of a generator, or of one inside it, and can only be
found by looking into these: `values_in`.
"""

from __future__ import annotations

import gc
import inspect
import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

_SDKS = ("google", "ollama")
# A generator that runs is looked into in one way, one that waits in another, and it may change between the two.
_LOOKS = 3


def is_generator_stream(stream: object) -> bool:
    """Return whether this is such a sync stream, which is not over."""
    return inspect.isgenerator(stream) and sdk_of(stream) in _SDKS


def sdk_of(generator: Any) -> str:
    """Return the package whose code a generator runs; "" for one that is over, and for anything else."""
    frame = frame_of(generator)
    return "" if frame is None else str(frame.f_globals.get("__name__", "")).partition(".")[0]


def frame_of(generator: Any) -> FrameType | None:
    """Return the frame of a generator, sync or async, that is not over."""
    return getattr(generator, "gi_frame", None) or getattr(generator, "ag_frame", None)


def values_in(stream: object) -> Iterator[object]:
    """Yield what such a stream, and the generators within it, have in their variables; nothing for any other."""
    if not is_generator_stream(stream) or (frame := frame_of(stream)) is None:
        return
    for _ in range(_LOOKS):
        for each in _frames_above(frame):
            yield from list(each.f_locals.values())
        yield from _held_by(stream)


def _frames_above(frame: FrameType) -> list[FrameType]:
    """Return the frames from a running frame to its innermost call, innermost first; none if it is not running."""
    # Documented, in spite of its name.
    for last in sys._current_frames().values():  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
        frames: list[FrameType] = []
        each: FrameType | None = last
        while each is not None:
            frames.append(each)
            if each is frame:
                return frames
            each = each.f_back
    return []


def _held_by(generator: object) -> Iterator[object]:
    """Yield the objects that a suspended generator holds, also on its stack, such as one that it loops over."""
    for value in gc.get_referents(generator):
        yield value
        if inspect.isgenerator(value):
            yield from _held_by(value)
