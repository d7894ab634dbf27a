"""`OperatorCall`: one public operator of a chain as the user wrote it: its name and its arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from inspect import signature
from typing import Any, TypeGuard, cast

from msgspec import Struct

_LONGEST = 60
"""The most characters of a value that are shown."""


class OperatorCall(Struct, frozen=True):
    """A call of a public operator, and the stages that it makes.

    Two steps are equal if the same operator was called with equal arguments; arguments left at their default do not
    count.
    """

    function: Callable[..., Any]
    name: str
    """The operator's name; for a lifted stage, the name of the stage."""
    args: tuple[Any, ...]
    settings: dict[str, Any]
    """The keyword arguments that differ from the defaults."""
    factories: tuple[Callable[[], Any], ...]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OperatorCall) and (self.function, self.args, self.settings) == (
            other.function,
            other.args,
            other.settings,
        )

    def __ne__(self, other: object) -> bool:  # msgspec's own does not ask `__eq__`
        return not self == other

    def __hash__(self) -> int:
        return hash(self.name)

    def takes(self, setting: str) -> bool:
        return setting in signature(self.function).parameters

    def again(self, **settings: Any) -> Any:
        """Make the operator again, with further keyword arguments."""
        return self.function(*self.args, **{**self.settings, **settings})

    def written(self, argument: Callable[[Any], str], setting: Callable[[str, Any], str]) -> str:
        """Return the call as code; `argument` writes a positional argument, `setting` a keyword argument."""
        named = (f"{key}={setting(key, each)}" for key, each in self.settings.items())
        return f"{self.function.__name__}({', '.join((*map(argument, self.args), *named))})"

    def __str__(self) -> str:
        return self.written(short_form, lambda _, each: short_form(each))


def reiterable(value: Any) -> Any:
    """Return an iterator as a tuple, because an iterator serves only one stream; return other values unchanged."""
    return tuple(value) if hasattr(value, "__next__") else value


def snapshot(value: Any) -> Any:
    """Return a copy of a list (as a tuple), set or dict, which later changes do not reach; other values unchanged."""
    return tuple(map(_copied, cast("Iterable[Any]", value))) if type(value) is list else _copied(value)


def _copied(value: Any) -> Any:
    if type(value) in (list, tuple, set, frozenset):
        return type(value)(map(_copied, value))
    if type(value) is dict:
        return {key: _copied(each) for key, each in cast("Mapping[Any, Any]", value).items()}
    return value


def stage_name(factory: Any) -> str:
    """Return the name of the class or function that makes a stage.

    >>> stage_name(partial(dict, a=1))
    'dict'
    """
    while _is_partial(factory):
        factory = factory.func
    written = str(getattr(factory, "__qualname__", type(factory).__qualname__))
    return written.rpartition(".")[2]


def short_form(value: Any) -> str:
    """Return a value for a human reader: as code, or by its name if it has no form as code.

    >>> short_form("<tool>"), short_form(len), short_form((int, str)), short_form([])
    ('"<tool>"', 'len', '[int, str]', '[]')
    """
    if isinstance(value, str):
        return quoted(value if len(value) <= _LONGEST else value[:_LONGEST] + "…")
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(short_form, cast('Iterable[Any]', value)))}]"
    if _is_partial(value):
        return f"partial({stage_name(value)}{', …' if value.args or value.keywords else ''})"
    name = getattr(value, "name", None) or getattr(value, "__name__", None)
    if isinstance(name, str):
        return name
    if isinstance(value, Struct):
        first = getattr(value, value.__struct_fields__[0])
        return f"{type(value).__name__}({short_form(first)}, …)"
    text = repr(value)
    return text if len(text) <= _LONGEST else f"<{type(value).__name__}>"


def quoted(text: str) -> str:
    r"""Return a text as a Python literal, in double quotes unless the text contains some.

    >>> print(quoted("a"), quoted('say "a"'))
    "a" 'say "a"'
    """
    literal = repr(text)
    return f'"{literal[1:-1]}"' if literal[0] == "'" and '"' not in literal else literal


def _is_partial(value: object) -> TypeGuard[partial[Any]]:
    return isinstance(value, partial)
