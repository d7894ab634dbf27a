"""`MarblePicture`: a marble diagram as SVG, for files and notebooks."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from ...events.showing.card import MimeBundle
from .drawing.diagram import Diagram
from .drawing.draw import describe, draw


class MarblePicture:
    """A drawn stream: `str(picture)` and `.svg` are the SVG, a notebook shows it, `.save(path)` writes it.

    The SVG is static and needs nothing else. It follows the reader's choice of a dark or a light ground; a notebook's
    picture has the colour of the notebook's text.
    """

    def __init__(self, diagram: Diagram, *, by_time: bool) -> None:
        self._diagram = diagram
        self._by_time = by_time

    @property
    def svg(self) -> str:
        return draw(self._diagram, by_time=self._by_time)

    @property
    def html(self) -> str:
        """The picture for a page: its texts have the colour of the page's, and it scrolls where it is too wide."""
        svg = draw(self._diagram, by_time=self._by_time, inherit=True)
        return f'<div style="color:inherit;overflow-x:auto">{svg}</div>'

    @property
    def description(self) -> str:
        """The picture in words, as readers of screens hear it."""
        return describe(self._diagram)

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the SVG to a file, and return its path."""
        file = Path(path)
        file.write_text(self.svg, encoding="utf-8")
        return file

    def __str__(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"<marbles: {self.description}>"

    def _repr_svg_(self) -> str:
        return self.svg

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> MimeBundle:  # noqa: ARG002 - IPython passes both, and filters by itself
        return {"text/plain": repr(self), "text/html": self.html, "image/svg+xml": self.svg}
