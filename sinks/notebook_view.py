"""`notebook_view`: the events of a stream as cards in a notebook, which grow while the stream plays."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from contextvars import copy_context
from functools import partial
from importlib import import_module
from typing import Any, Protocol, TypeAlias

from ..events.errors import UsageError
from ..events.segment_event import AnySegmentEvent, SegmentContent, SegmentEnd, SegmentStart
from .card import Card, MimeBundle, mime_bundle
from .event_cards import TOLD, OpenCard, OpenCards, Shown, brief_card, error_card
from .files.edit_tracker import checked_root
from .running.sink import TwinSink, each_event


class Waiting(Protocol):
    def cancel(self) -> None: ...


Show: TypeAlias = Callable[[MimeBundle], Shown]
"""Adds an output to the cell and returns it."""
Later: TypeAlias = Callable[[float, Callable[[], None]], Waiting]
"""Calls a function after a number of seconds, unless cancelled."""


def notebook_view(
    *, max_updates_per_second: float = 10.0, root: str | os.PathLike[str] | None = None
) -> TwinSink[None]:
    """Show a stream in a notebook: each segment is a growing card, followed by its call, and each answer's end.

        notebook_view()(pipeline.stream(...))            shows it to its end
        await notebook_view()(pipeline.astream(...))     the same at a cell's top level
        Pipeline(sinks=[notebook_view()])                beside a loop of your own

    A card is redrawn at most `max_updates_per_second` times a second, and always when its segment ends. An open
    card shows the last lines, a finished one the first lines. The card of an edit has its counts, and says what
    does not match: with `root`, the folder of the files as `write_files` has it, it is compared with the file.
    Outside of a notebook each card is printed as text when its segment ends; for a terminal there is
    `terminal_view`.
    """
    if not max_updates_per_second > 0:
        message = f"max_updates_per_second= must be above 0, got {max_updates_per_second!r}"
        raise UsageError(message)
    return each_event(partial(_notebook_view, max_updates_per_second, checked_root(root)))


def _notebook_view(rate: float, root: str | None) -> NotebookView | TextView:
    shell = _notebook_shell()
    return TextView(print, root) if shell is None else NotebookView(_display, rate, root=root)


class NotebookView:
    """The notebook's target: one output per segment with its result, so that a finished one is never sent again."""

    def __init__(
        self,
        show: Show,
        rate: float,
        now: Callable[[], float] = time.monotonic,
        later: Later | None = None,
        root: str | None = None,
    ) -> None:
        self._show = show
        self._interval = 1 / rate
        self._now = now
        self._later = later or _in_a_thread
        # Redraws come from the stream's thread, and from a timer's when the stream is silent.
        self._lock = threading.Lock()
        self._open = OpenCards(root)
        self._changed: dict[int, OpenCard] = {}
        self._drawn_at = float("-inf")
        self._timer: Waiting | None = None

    def feed(self, event: Any) -> None:
        with self._lock:
            if isinstance(event, SegmentStart | SegmentContent | SegmentEnd):
                self._segment(event)
            elif isinstance(event, TOLD):
                self._open.note(event)
                self._show(mime_bundle((brief_card(event),)))

    def close(self, error: BaseException | None) -> None:
        with self._lock:
            self._open.close()
            self._draw_changed()
            if isinstance(error, Exception):
                self._show(mime_bundle((error_card(error),)))

    def _segment(self, event: AnySegmentEvent) -> None:
        card = self._open.take(event)
        if card is None:
            return
        if isinstance(event, SegmentContent):
            self._changed[id(card)] = card
            self._draw_soon()
        else:
            self._changed.pop(id(card), None)
            self._draw(card)

    def _draw_soon(self) -> None:
        wait = self._drawn_at + self._interval - self._now()
        if wait <= 0:
            self._draw_changed()
        elif self._timer is None:
            self._timer = self._later(wait, self._when_silent)

    def _when_silent(self) -> None:
        with self._lock:
            self._draw_changed()

    def _draw_changed(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for card in self._changed.values():
            self._draw(card)
        self._changed.clear()
        self._drawn_at = self._now()

    def _draw(self, card: OpenCard) -> None:
        bundle = mime_bundle((card.card(),))
        if card.output is None:
            card.output = self._show(bundle)
        else:
            card.output.update(bundle)


class TextView:
    """Prints each card as text when its segment ends."""

    def __init__(self, say: Callable[[str], object], root: str | None = None) -> None:
        self._say = say
        self._open = OpenCards(root)

    def feed(self, event: Any) -> None:
        if isinstance(event, TOLD):
            self._open.note(event)
            self._print(brief_card(event))
        elif isinstance(event, SegmentStart | SegmentContent | SegmentEnd):
            card = self._open.take(event)
            if card is not None and isinstance(event, SegmentEnd):
                self._print(card.card())

    def close(self, error: BaseException | None) -> None:
        self._open.close()
        for card in self._open.all():
            self._print(card.card())
        if isinstance(error, Exception):
            self._print(error_card(error))

    def _print(self, card: Card) -> None:
        self._say(mime_bundle((card,))["text/plain"])


def _notebook_shell() -> object | None:
    """Return IPython's shell if this runs in a notebook's kernel, where IPython is imported already."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    in_terminal = any(kind.__name__ == "TerminalInteractiveShell" for kind in type(shell).__mro__)
    return None if in_terminal else shell


class _Output:
    def __init__(self, handle: Any) -> None:
        self._handle = handle

    def update(self, bundle: MimeBundle, /) -> None:
        self._handle.update(bundle, raw=True)


def _display(bundle: MimeBundle) -> Shown:
    display: Any = import_module("IPython.display").display  # an extra, and without types
    return _Output(display(bundle, raw=True, display_id=True))


def _in_a_thread(seconds: float, call: Callable[[], None]) -> Waiting:
    # With the context of the cell, by which the kernel knows where an output belongs.
    timer = threading.Timer(seconds, copy_context().run, (call,))
    timer.daemon = True
    timer.start()
    return timer
