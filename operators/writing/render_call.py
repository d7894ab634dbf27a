"""Write a call in a dialect, by walking its grammar."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ...events.errors import UsageError
from ..grammar.dialect import Dialect, Text
from ..grammar.grammar_items import leaves_of
from .call_writer import CallToRender, CallWriter
from .read_back import check_read_back
from .render_values import CannotRenderError


def render_call(
    dialect: Dialect,
    name: str,
    arguments: Mapping[str, Any],
    *,
    call_id: str | None = None,
    schema: Mapping[str, Any] | None = None,
    layout: str | None = None,
) -> str:
    """Return one call as a model would write it in a dialect, so that it is read back as the same call.

    >>> from penstock.operators.grammar.dialect import Dialect, Json, Maybe
    >>> hermes = Dialect("hermes", ("<tool_call>", Json(), Maybe("</tool_call>")))
    >>> render_call(hermes, "add", {"a": 1})
    '<tool_call>{"name": "add", "arguments": {"a": 1}}</tool_call>'

    - `schema`: the schema of the tool's parameters; raw values are read back as another type than text only if it says
      so.
    - `layout`: the blanks to write between items, such as a newline; by default the dialect's own.

    Raises `UsageError` with the reason if the dialect cannot write the call; `can_render` returns that reason.
    """
    return render_calls(dialect, [CallToRender(name, arguments, call_id, schema)], layout=layout)


def render_calls(dialect: Dialect, calls: Iterable[CallToRender], *, layout: str | None = None) -> str:
    """Return several calls as text, in one block if the dialect allows several in a block, else each in its own.

    >>> from penstock.operators.grammar.dialect import NAME, Call, CallArgs, Dialect, Many, Maybe
    >>> pythonic = Dialect("pythonic", ("[", Many(Call(NAME, CallArgs()), Maybe(",")), "]"))
    >>> render_calls(pythonic, [CallToRender("f", {"a": 1}), CallToRender("g", {})])
    '[f(a=1),g()]'
    """
    try:
        return _written(dialect, list(calls), dialect.layout if layout is None else layout)
    except CannotRenderError as error:
        message = f"{dialect.name} cannot write this call: {error}"
        raise UsageError(message) from error


def can_render(
    dialect: Dialect,
    name: str,
    arguments: Mapping[str, Any],
    *,
    call_id: str | None = None,
    schema: Mapping[str, Any] | None = None,
) -> str | None:
    """Return the reason why a dialect cannot write a call, None if it can.

    >>> from penstock.operators.grammar.dialect import Dialect, Json
    >>> can_render(Dialect("bare", (Json(),)), "add", {"a": float("nan")})
    "argument 'a' is nan, which JSON cannot represent"
    """
    try:
        _written(dialect, [CallToRender(name, arguments, call_id, schema)], dialect.layout)
    except CannotRenderError as error:
        return str(error)
    return None


def _written(dialect: Dialect, calls: list[CallToRender], layout: str) -> str:
    text = CallWriter(dialect, calls, layout).write()
    if any(
        isinstance(leaf, Text) and leaf.role == "value" and not leaf.entities for leaf in leaves_of(dialect.grammar)
    ):
        # A raw value may contain the format's own markers, as long as its end can be told.
        check_read_back(dialect, calls, text)
    return text
