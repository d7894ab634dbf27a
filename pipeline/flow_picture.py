"""`flow_picture`: a pipeline as a row of boxes, for notebooks."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from html import escape
from typing import Any, cast

from ..events.showing import shown
from ..operators.engine.stage import Operator
from ..sinks.notebook.card import MimeBundle
from ..sinks.running.sink import TwinSink
from .chain import Chain, chain_of
from .chain import name_of as operator_name

_BOX = (
    "display:inline-block;border:1px solid rgba(128,128,128,.6);border-radius:4px;padding:2px 8px;margin:2px 0;"
    "font-family:monospace;font-size:90%"
)
_MANY = 12
_SOURCE = "a provider's stream"


def flow_picture(
    operator: Operator[Any, Any] | Chain,
    *,
    tools: Iterable[str] | None = None,
    steps: Iterable[object] = (),
    sinks: Iterable[object] = (),
    title: str = "Pipeline",
) -> MimeBundle:
    """Return the picture of a chain for a notebook: its operators and steps in order, the tools, the sinks.

    >>> from penstock.pipeline.strategies.strategies import api_tool_call
    >>> print(flow_picture(api_tool_call(), tools=["write_file"])["text/plain"])
    Pipeline
        a provider's stream → to_segments → stream_fields → to_invocations → your loop
        tools: write_file
    """
    chain = chain_of([operator]) if isinstance(operator, Operator) else operator
    inner = [*(shown(operator_name(each)) for each in chain), *map(name_of, steps)]
    ends = ["your loop", *map(name_of, sinks)]
    known = None if tools is None else _few(list(tools)) or "none, so nothing is invoked"
    lines = [shown(title), "    " + " → ".join((_SOURCE, *inner, " + ".join(ends)))]
    parts = [f"<b>{escape(shown(title))}</b>"]
    if known is not None:
        lines.append(f"    tools: {known}")
        parts.append(f'&nbsp; <small style="opacity:.75">tools: {escape(known)}</small>')
    boxes = [_outer(_SOURCE), *map(_box, inner), " + ".join(map(_outer, ends))]
    html = f"<div>{''.join(parts)}</div><div>{' &rarr; '.join(boxes)}</div>"
    return {
        "text/plain": "\n".join(lines),
        "text/html": f'<div style="color:inherit;text-align:left;line-height:2">{html}</div>',
    }


def name_of(thing: object) -> str:
    """Return the name that a user would write; for our operators that of the file, which is also the function's.

    >>> from penstock.operators import holdback
    >>> name_of(holdback), name_of(print)
    ('holdback', 'print')
    """
    while isinstance(thing, partial):
        thing = thing.func
    if isinstance(thing, TwinSink):
        return repr(cast("object", thing)).removeprefix("TwinSink(").removesuffix(")")
    module = str(getattr(thing, "__module__", ""))
    if module.startswith("penstock."):
        return module.rpartition(".")[2]
    written = str(getattr(thing, "__qualname__", type(thing).__qualname__))
    return shown(written.rpartition(".")[2])


def _few(names: list[str]) -> str:
    more = len(names) - _MANY
    return ", ".join((*map(shown, names[:_MANY]), *([f"and {more:,} more"] if more > 0 else [])))


def _box(name: str) -> str:
    return f'<span style="{_BOX}">{escape(name)}</span>'


def _outer(name: str) -> str:
    return f'<span style="{_BOX};border-style:dashed">{escape(name)}</span>'
