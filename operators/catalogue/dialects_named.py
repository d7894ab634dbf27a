"""`dialects_named`: the grammars for some names or dialects."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from ...events.errors import UsageError
from ..dialects.parts import ARGUMENTS
from ..engine.known_names import known_names
from ..grammar.dialect import Alt, Call, Dialect
from .table import AUTO, AUTO_WITH_TOOLS, DIALECTS


def dialects_named(*given: object, has_tools: bool = False) -> tuple[Dialect, ...]:
    """Return the dialects with these names, each once; a grammar is returned as it is.

    `auto` stands for all of `AUTO`. Where tools were declared, those of `AUTO_WITH_TOOLS`, or the `unmarked` ones of a
    single dialect, are read as well, for calls of these tools only.

    >>> [each.name for each in dialects_named("hermes", "hermes", "glm45")]
    ['hermes', 'glm45']

    `UsageError` for an unknown name.
    """
    found = [_dialect(name) for each in given for name in (AUTO if each == "auto" else (each,))]
    if has_tools:
        names = [each.name for each in found]
        more = AUTO_WITH_TOOLS if "auto" in given else found[0].unmarked if len(found) == 1 else ()
        found += (_only_declared(name, is_alone=len(more) == 1) for name in more if name not in names)
    return tuple(dict.fromkeys(found))


def with_names(dialect: Dialect, names: Iterable[str]) -> Dialect:
    r"""Return a dialect in which the names of declared tools open calls, if they do so without a marker.

    >>> with_names(DIALECTS["glm4"], ["weather"]).leading
    ('weather\n',)
    """
    if not dialect.behind_name:
        return dialect
    openers = {f"{name}{dialect.behind_name}": name for name in names}
    calls = (Call(Alt(f"\n{opener}", opener), ARGUMENTS, name=name) for opener, name in openers.items())
    return replace(dialect, grammar=(Alt(dialect.grammar, *calls),), leading=(*dialect.leading, *openers))


def _only_declared(name: str, *, is_alone: bool) -> Dialect:
    """Return a dialect for calls of declared tools; beside others code is one only where nothing comes before it."""
    dialect = _dialect(name)
    leading = dialect.leading if is_alone or name != "pythonic" else ("[",)
    return replace(dialect, only_declared=True, leading=leading)


def dialect_name(given: Any) -> Any:
    """Return the name of a dialect that is in the table; return anything else unchanged."""
    is_known = isinstance(given, Dialect) and DIALECTS.get(given.name) == given
    return given.name if is_known else given


def _dialect(given: object) -> Dialect:
    if isinstance(given, Dialect):
        return given
    if isinstance(given, str) and given in DIALECTS:
        return DIALECTS[given]
    message = f"unknown dialect {given!r}; {known_names(str(given), ('auto', *DIALECTS))}"
    raise UsageError(message)
