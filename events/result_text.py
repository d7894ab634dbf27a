"""The result of a call as a text for the model, or as plain JSON data."""

from __future__ import annotations

import json
from typing import Any

from pydantic_core import to_json

from .errors import UsageError
from .tool_invocation import ToolResult


def result_text(result: ToolResult) -> str:
    """Return a result as text for the model: a text as it is, any other value as JSON.

    >>> result_text(ToolResult("c", value={"celsius": 21})), result_text(ToolResult("c", denied="not on Sundays"))
    ('{"celsius":21}', 'The call was denied: not on Sundays')

    Pydantic's models, dataclasses, dates and the like have the form that pydantic gives them; numbers that JSON lacks,
    such as infinity, are texts. `UsageError` for a value that cannot be written as JSON.
    """
    value = result.value
    if result.denied is not None:
        value = f"The call was denied: {result.denied}"
    elif result.error is not None:
        value = f"Error: {result.error}"
    try:
        if isinstance(value, str):
            value.encode()  # half a surrogate pair cannot be sent
            return value
        return to_json(value, inf_nan_mode="strings").decode()
    except ValueError as error:
        message = (
            f"the result of call {result.id!r} cannot be written as JSON ({error}); pass text, or plain data, as value="
        )
        raise UsageError(message) from error


def result_data(result: ToolResult) -> Any:
    """Return the value of a result as plain JSON data: text, numbers, lists and objects."""
    text = result_text(result)
    return text if isinstance(result.value, str) else json.loads(text)
