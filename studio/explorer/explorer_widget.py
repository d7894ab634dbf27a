"""`Explorer`: the widget of `explore`. Needs `pip install ".[notebook]"`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anywidget
import traitlets

from ...events.errors import PenstockError
from ..tracing.trace import Trace
from .explored_runs import ExploredRuns, RunChoice

STATIC = Path(__file__).with_name("static")


class Explorer(anywidget.AnyWidget):
    """A stream to look through in a notebook; `explore` makes it.

    Its state is in traitlets, which the page and Python may both set:

    - `item`: the item that is shown, from 0; `playing`, and `speed`, a factor from 0.01 to 1,000.
    - `strategy`: the name of another strategy, `chunk_size`: another cutting; each runs the stream again, in this
      kernel. Empty and 0: as it was given.
    - `problem`: why a run was refused; empty if it was not.
    - `data`: what the page shows.
    """

    # As text: a path is watched by anywidget, which then keeps every widget.
    _esm = (STATIC / "explorer.js").read_text(encoding="utf-8")
    _css = (STATIC / "explorer.css").read_text(encoding="utf-8")

    data = traitlets.Bytes().tag(sync=True)
    item = traitlets.Int(0).tag(sync=True)
    playing = traitlets.Bool(default_value=False).tag(sync=True)
    speed = traitlets.Float(1.0, min=0.01, max=1000).tag(sync=True)
    strategy = traitlets.Unicode("").tag(sync=True)
    chunk_size = traitlets.Int(0).tag(sync=True)
    problem = traitlets.Unicode("").tag(sync=True)

    def __init__(self, runs: ExploredRuns, **traits: Any) -> None:
        self._runs = runs
        self._shown = RunChoice()
        self.trace: Trace = runs.first
        super().__init__(data=runs.data(self._shown, runs.first), **traits)
        self.observe(self._run, ("strategy", "chunk_size"))

    def _run(self, _change: object) -> None:
        choice = RunChoice(self.strategy, self.chunk_size)
        if choice == self._shown:  # the other one of the two has seen to it
            return
        try:
            traced = self._runs.traced(choice)
        except PenstockError as error:
            with self.hold_trait_notifications():  # one after the other would be run in between
                self.strategy, self.chunk_size = self._shown
            self.problem = str(error)
            return
        self._shown = choice
        self.trace = traced
        self.problem = ""
        self.data = self._runs.data(choice, traced)
