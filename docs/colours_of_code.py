"""Adds pygments.css to the site: the colours of code, on light pages and on dark ones."""

from __future__ import annotations

from typing import Any

from pygments.formatters import HtmlFormatter

NAME = "pygments.css"


def stylesheet() -> str:
    """Return the stylesheet."""
    light = HtmlFormatter(style="default").get_style_defs(".codehilite")
    dark = HtmlFormatter(style="github-dark").get_style_defs(".codehilite")
    return f"{light}\n@media (prefers-color-scheme: dark) {{\n{dark}\n}}\n"


def on_files(files: Any, *, config: Any) -> Any:
    """Add the stylesheet to the files of the site."""
    from mkdocs.structure.files import File  # noqa: PLC0415 - the tests ask for the stylesheet without mkdocs

    files.append(File.generated(config, NAME, content=stylesheet()))
    return files
