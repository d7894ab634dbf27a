"""A pipeline as it is shown: a row of boxes for notebooks, and Python code to be read or to be run."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from functools import partial
from html import escape
from keyword import iskeyword
from math import isfinite
from types import GenericAlias, NoneType, UnionType
from typing import Any, Final, TypeGuard, cast, get_args

from msgspec import Struct
from msgspec.structs import asdict, fields

from ..events.errors import UsageError
from ..events.showing import shown
from ..operators.calls.field_spec import FILE_TOOLS, KNOWN_FILE_TOOLS, MARKED_FILE_TOOLS, FieldSpec
from ..operators.catalogue.dialect_for import dialect_name
from ..operators.engine.limits import DEFAULT_LIMITS, Limits
from ..operators.engine.operator_call import OperatorCall, quoted, short_form
from ..operators.engine.stage import Operator, compose
from ..operators.schemas.value_typing import TypingRules
from ..sinks.card import MimeBundle
from ..sinks.running.sink import TwinSink
from .chain import Chain, ChainPart, chain_of, is_ours, name_of, takes, without_tools
from .strategies import Strategy

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

    >>> from penstock.pipeline.strategies import api_tool_call
    >>> print(flow_picture(api_tool_call(), tools=["write_file"])["text/plain"])
    Pipeline
        a provider's stream → to_segments → stream_fields → to_invocations → your loop
        tools: write_file
    """
    chain = chain_of([operator]) if isinstance(operator, Operator) else operator
    inner = [*(shown(name_of(each)) for each in chain), *map(thing_name, steps)]
    ends = ["your loop", *map(thing_name, sinks)]
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


def thing_name(thing: object) -> str:
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


_CONSTANTS: Final[Mapping[str, Any]] = {
    "FILE_TOOLS": FILE_TOOLS,
    "KNOWN_FILE_TOOLS": KNOWN_FILE_TOOLS,
    "MARKED_FILE_TOOLS": MARKED_FILE_TOOLS,
}
_VALUES: Final = (FieldSpec, Limits, TypingRules)
"""The types of values that are written as a call of their class."""
_TAKEN: Final = ("Pipeline", "Settings", "set", "frozenset")
"""Names that the code uses already, so that nothing else may be called so."""
_ADVICE: Final = "write a function that makes the chain, and pass it as the strategy"


class ChainCode:
    """Writes operators as code that uses the public names of Penstock, and the tools by their names.

    >>> from penstock.operators import holdback, within
    >>> ChainCode().operator(within("text", holdback("<a>")))
    'within("text", holdback("<a>"))'

    A value without such a name raises a `UsageError`; with `is_shown=True`, for reading only, a short form is written.
    """

    def __init__(self, *, is_shown: bool = False) -> None:
        self._is_shown = is_shown
        self._named: dict[str, object] = {}
        """The objects that the code uses, by name."""

    def operator(self, operator: Operator[Any, Any]) -> str:
        written = [self.step(step) for step in operator.steps]
        return written[0] if len(written) == 1 else self._written(compose, f"compose({', '.join(written)})")

    def step(self, step: OperatorCall) -> str:
        name = step.function.__name__
        argument = partial(self._item, name=f"{name}(...)")
        return self._written(
            step.function, step.written(argument, lambda key, each: self.setting(f"{name}({key}=...)", each))
        )

    def setting(self, name: str, value: Any) -> str:
        """Return the code of a value; `name` is used in error messages."""
        if type(value) is not tuple:
            return self._item(value, name)
        several = cast("Any", value)
        for constant, known in _CONSTANTS.items():
            if several == known:
                return self._written(known, constant)
        return f"[{', '.join(self._item(each, name) for each in several)}]"

    def named(self, thing: object, name: str, *, called: str = "", short: str = "") -> str:
        """Return the name of a tool, a function or a class.

        `called`: the tool's own name, if it is a tool; `short`: the short form for a thing without a name.
        """
        written = called or _importable(thing)
        if not written.isidentifier() or iskeyword(written) or written in _TAKEN:
            return self._nameless(thing, name, short=short)
        if (other := self._named.setdefault(written, thing)) is not thing and other != thing:
            return self._nameless(thing, name, f"two things in this chain are named {written!r}")
        return written

    def _item(self, value: Any, name: str) -> str:
        value = dialect_name(value)
        if type(value) is str:
            return quoted(value)
        if value is None or value is ... or type(value) in (bool, int, bytes):
            return "..." if value is ... else repr(value)
        if type(value) is float and isfinite(value):
            return repr(value)
        if _is_operator(value):
            return self.operator(value)
        if isinstance(value, _VALUES):
            return self._struct(value, name)
        if type(value) in (tuple, list, set, frozenset, dict):
            return self._container(value, name)
        if isinstance(value, GenericAlias | UnionType):
            return self._alias(value, name)
        is_tool = callable(getattr(value, "validate", None)) and not isinstance(value, type)
        own = getattr(value, "name", "") if is_tool else ""
        return self.named(value, name, called=own if isinstance(own, str) else "")

    def _alias(self, value: GenericAlias | UnionType, name: str) -> str:
        inner = [self._item(None if each is NoneType else each, name) for each in get_args(value)]
        return " | ".join(inner) if isinstance(value, UnionType) else f"{value.__origin__.__name__}[{', '.join(inner)}]"

    def _container(self, value: Any, name: str) -> str:
        if isinstance(value, dict):
            pairs = cast("Mapping[Any, Any]", value).items()
            return f"{{{', '.join(f'{self._item(key, name)}: {self._item(each, name)}' for key, each in pairs)}}}"
        kind = type(value).__name__
        items = [self._item(each, name) for each in value]
        if kind in ("set", "frozenset"):
            return f"{kind}({{{', '.join(sorted(items))}}})" if items else f"{kind}()"
        inside = ", ".join(items)
        return f"[{inside}]" if kind == "list" else f"({inside}{',' if len(items) == 1 else ''})"

    def _struct(self, value: Struct, name: str) -> str:
        kind = self.named(type(value), name)
        positional = type(value).__match_args__
        given: list[str] = []
        for field in fields(value):
            each = getattr(value, field.name)
            if field.name in positional and (field.required or (field.name == "field" and each)):
                given.append(self._item(each, name))
            elif each != field.default and not (field.name == "segment_type" and each == getattr(value, "tool", "")):
                given.append(f"{field.name}={self._item(each, name)}")
        return f"{kind}({', '.join(given)})"

    def _written(self, thing: object, code: str) -> str:
        name = code.partition("(")[0]
        if self._named.setdefault(name, thing) is not thing:
            return self._nameless(thing, name, f"{name!r} is the name of an operator and of something else")
        return code

    def _nameless(self, thing: object, name: str, why: str = "", *, short: str = "") -> str:
        short = short or short_form(thing)
        if not self._is_shown:
            message = f"{name}: {why or f'{short} has no name that code could use'}; {_ADVICE}"
            raise UsageError(message)
        return short


def _is_operator(value: object) -> TypeGuard[Operator[Any, Any]]:
    return isinstance(value, Operator)


def _importable(thing: object) -> str:
    """Return a thing's name if it can be imported from its module by that name, else an empty string."""
    name = str(getattr(thing, "__qualname__", ""))
    module = sys.modules.get(str(getattr(thing, "__module__", "")))
    return name if module is not None and getattr(module, name, None) is thing else ""


INDENT = "    "


def pipeline_code(
    chain: Chain, arguments: Mapping[str, Any], limits: Limits, *, is_shown: bool = False, indent: str = ""
) -> str:
    r"""Return the call that makes a pipeline with a chain; `UsageError` for values without a name, unless `is_shown`.

    `arguments`: the pipeline's arguments that differ from the defaults. `indent`: the indentation of the operators,
    which are on a line each.

    >>> from penstock.pipeline import Pipeline
    >>> Pipeline("pass_through", turn_id="t").code()
    'Pipeline([\n    to_segments(),\n], turn_id="t")'
    """
    code = ChainCode(is_shown=is_shown)
    if "output_type" in arguments:
        chain = chain[:-1]  # partial_output follows from it
    given = dict(arguments)
    if given.get("tools") is not None:
        plain = without_tools(chain, given["tools"])
        if plain is None:
            del given["tools"]
        chain = plain or chain
    if not takes(chain, "turn_id"):
        given.pop("turn_id", None)
    operators = [_operator(each, code) for each in chain]
    named = [f"{key}={code.setting(f'Pipeline({key}=...)', each)}" for key, each in given.items()]
    if changed := {key: each for key, each in asdict(limits).items() if each != getattr(DEFAULT_LIMITS, key)}:
        named.append(f"settings=Settings(limits={code.setting('Limits', changed)})")
    inside = "".join(f"\n{indent}{each}," for each in operators) + "\n" if indent else ", ".join(operators)
    return f"Pipeline({', '.join((f'[{inside}]', *named))})"


def strategy_code(strategy: Strategy) -> str:
    """Return the chain of a strategy as it is without options.

    >>> from penstock.pipeline.strategies import pass_through
    >>> print(strategy_code(pass_through))
    Pipeline([
        to_segments(),
    ])
    """
    return pipeline_code(chain_of([strategy()]), {}, DEFAULT_LIMITS, indent=INDENT)


def _operator(part: ChainPart, code: ChainCode) -> str:
    return code.operator(part) if is_ours(part) else code.named(part, "an Rx operator", short=name_of(part))
