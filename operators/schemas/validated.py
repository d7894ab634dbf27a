"""`validated`: run a user's validator, and return its exceptions as values."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from typing import Any, Final, ParamSpec, TypeVar

from pydantic import ValidationError

from ..engine.where_raised import where_raised

_LOGGER: Final = logging.getLogger("penstock")
_LONGEST: Final = 1000
"""The most characters of an error message; a validator may quote a whole file."""
_replace_surrogates: Final = re.compile("[\ud800-\udfff]").sub

P = ParamSpec("P")
R = TypeVar("R")
Errors = list[dict[str, Any]]


def validated(validate: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> tuple[R, None] | tuple[None, Errors]:
    """Call a validator with a value; return what it returns and None, or None and the errors of the value.

    >>> def fails(arguments): raise KeyError("secret")
    >>> _, errors = validated(fails, {})
    >>> errors[0]["type"], errors[0]["loc"]
    ('KeyError', [])

    Every `Exception` becomes an entry, with its class as `type`. The message of a `ValueError` or an `AssertionError`
    is included. Of any other exception only the class and the line are, because its message may be confidential; the
    traceback is logged at DEBUG.
    """
    try:
        return validate(*args, **kwargs), None
    except Exception as error:  # noqa: BLE001 - a validator may raise anything, and the stream goes on
        return None, _errors(error)


def _errors(error: Exception) -> Errors:
    try:
        if isinstance(error, ValidationError):
            details = error.errors(include_url=False, include_context=False, include_input=False)
            return [{**detail, "msg": _bounded(detail["msg"])} for detail in details]
        if isinstance(error, ValueError | AssertionError) and (said := str(error)):
            return [_entry(error, _bounded(said))]
    except Exception as unsayable:  # noqa: BLE001 - the error's own text may be code of the user's, too
        error = unsayable
    _LOGGER.debug("a validation raised %s", type(error).__name__, exc_info=error)
    return [_entry(error, f"the validation raised {where_raised(error)}")]


def _entry(error: Exception, message: str) -> dict[str, Any]:
    return {"type": type(error).__name__, "loc": [], "msg": message}


def _bounded(message: str) -> str:
    short = message if len(message) <= _LONGEST else f"{message[:_LONGEST]}…"
    return _replace_surrogates("\ufffd", short)
