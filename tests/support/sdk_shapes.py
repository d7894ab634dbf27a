"""What the three APIs send, checked against the types of the SDKs, in which unknown keys are refused."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from functools import cache
from typing import Annotated, Any, Literal, TypeAlias, get_args, get_origin

from pydantic import BaseModel, TypeAdapter

from penstock.gateway.neutral import Api

Part: TypeAlias = Literal["event", "whole", "error"]
_TYPES: dict[tuple[Api, Part], tuple[str, str]] = {
    ("openai-chat", "event"): ("openai.types.chat", "ChatCompletionChunk"),
    ("openai-chat", "whole"): ("openai.types.chat", "ChatCompletion"),
    ("openai-responses", "event"): ("openai.types.responses", "ResponseStreamEvent"),
    ("openai-responses", "whole"): ("openai.types.responses", "Response"),
    ("anthropic-messages", "event"): ("anthropic.types", "RawMessageStreamEvent"),
    ("anthropic-messages", "whole"): ("anthropic.types", "Message"),
    ("anthropic-messages", "error"): ("anthropic.types", "ErrorResponse"),
}
_MORE = frozenset({"reasoning_content"})
"""What clients of chat know beyond OpenAI's own types."""


def check_shape(api: Api, part: Part, value: Any) -> None:
    """Raise if the SDK's type refuses a value, or does not know one of its keys at any depth."""
    made = _adapter(api, part, value.get("type")).validate_python(value, strict=True)
    unknown = [place for place in _unknown(made, "") if place.rpartition(".")[2] not in _MORE]
    assert not unknown, f"{type(made).__name__} does not know {unknown}"


@cache
def _adapter(api: Api, part: Part, kind: str | None) -> TypeAdapter[Any]:
    """Return the SDK's type, and of many events the one that has this `type`."""
    module, name = _TYPES[api, part]
    found = getattr(importlib.import_module(module), name)
    if kind is not None and part == "event":
        union = get_args(found)[0] if get_origin(found) is Annotated else found
        [found] = [each for each in get_args(union) if kind in get_args(each.model_fields["type"].annotation)]
    return TypeAdapter(found)


def _unknown(value: Any, place: str) -> Iterator[str]:
    """Yield the places of keys that no type knows: the SDKs' models take any key."""
    if isinstance(value, BaseModel):
        yield from (f"{place}.{key}" for key in value.model_extra or ())
        for key in value.model_fields_set:
            yield from _unknown(getattr(value, key), f"{place}.{key}")
    elif isinstance(value, list):
        for each in value:
            yield from _unknown(each, f"{place}[]")
