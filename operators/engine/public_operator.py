"""`public_operator`: record in an operator the call that made it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from inspect import Parameter, signature
from typing import Any, ParamSpec, TypeVar, cast, overload

from .operator_call import OperatorCall, reiterable, snapshot
from .stage import Operator

P = ParamSpec("P")
In = TypeVar("In")
Out = TypeVar("Out")


@overload
def public_operator(function: Callable[P, Operator[In, Out]], /) -> Callable[P, Operator[In, Out]]: ...
@overload
def public_operator(
    *, positional: Callable[[Any], Any]
) -> Callable[[Callable[P, Operator[In, Out]]], Callable[P, Operator[In, Out]]]: ...


def public_operator(function: Any = None, /, *, positional: Callable[[Any], Any] = snapshot) -> Any:
    """Record, in the operators that `function` returns, its name and the arguments that are not the defaults.

    >>> from penstock.operators import holdback, stream_fields
    >>> holdback("<tool>"), stream_fields(start="immediate", ignore_case=False)
    (holdback("<tool>"), stream_fields(start="immediate"))

    The cost is at construction only. An iterator among the arguments is read once, for all streams. `positional` turns
    each positional argument into the form that is recorded, where several forms mean the same.
    """
    if function is None:
        return partial(_made, positional=positional)
    return _made(function, positional=positional)


def _made(
    function: Callable[P, Operator[In, Out]], *, positional: Callable[[Any], Any]
) -> Callable[P, Operator[In, Out]]:
    called = signature(function)

    @wraps(function)
    def made(*args: P.args, **kwargs: P.kwargs) -> Operator[In, Out]:
        given: list[Any] = [reiterable(each) for each in args]
        named: dict[str, Any] = {key: reiterable(each) for key, each in kwargs.items()}
        # Before the call: what takes `**options` must refuse wrong names as any other function does.
        try:
            bound = called.bind(*given, **named)
        except TypeError as error:
            message = f"{function.__name__}() {error}"
            raise TypeError(message) from None
        operator = cast("Callable[..., Operator[In, Out]]", function)(*given, **named)
        by_position: list[Any] = []
        settings: dict[str, Any] = {}
        for name, value in bound.arguments.items():
            parameter = called.parameters[name]
            if parameter.kind is Parameter.VAR_POSITIONAL:
                by_position += map(positional, value)
            elif parameter.default is Parameter.empty:
                by_position.append(positional(value))
            elif not _is_default(snapshot(value), parameter.default):
                settings[name] = snapshot(value)
        step = OperatorCall(made, function.__name__, tuple(by_position), settings, operator.factories)
        return Operator(steps=(step,))

    return made


def _is_default(value: Any, default: Any) -> bool:
    return value is default or (type(value) is type(default) and bool(value == default))
