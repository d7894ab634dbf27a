"""`shown_by`: the method that a notebook calls to show a value."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module


def shown_by(module: str, function: str) -> Callable[..., dict[str, str]]:
    """Return a `_repr_mimebundle_` that imports the drawing function when a notebook first shows the value.

    The function is passed by name, because its module imports the values that it draws, and only notebooks need it.
    """

    def repr_mimebundle(
        self: object,
        include: object = None,  # noqa: ARG001 - IPython passes both, and filters by itself
        exclude: object = None,  # noqa: ARG001
    ) -> dict[str, str]:
        bundle: dict[str, str] = getattr(import_module(module), function)(self)
        return bundle

    return repr_mimebundle
