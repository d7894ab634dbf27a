"""Find out whether a request switches thinking on or off."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

_SWITCHES: Final = ("enable_thinking", "thinking", "think", "reasoning_effort", "reasoning")
_INSIDE: Final = ("extra_body", "chat_template_kwargs", "options")
_OFF: Final = frozenset(("none", "off", "disabled", "false"))


def thinking_switch(request: Mapping[str, Any]) -> bool | None:
    """Return whether the options of a request switch thinking on (True) or off (False); None if they do not say.

    >>> thinking_switch({"extra_body": {"chat_template_kwargs": {"enable_thinking": False}}})
    False
    >>> thinking_switch({"reasoning_effort": "high"}), thinking_switch({"temperature": 0})
    (True, None)

    It knows vLLM's and SGLang's `chat_template_kwargs`, Ollama's `think`, the `thinking` of Anthropic, DeepSeek and
    others, OpenAI's `reasoning_effort` and OpenRouter's `reasoning`.
    """
    for name in _SWITCHES:
        if name in request and (found := _said(request[name])) is not None:
            return found
    for name in _INSIDE:
        if isinstance(request.get(name), Mapping) and (found := thinking_switch(request[name])) is not None:
            return found
    return None


def _said(value: Any) -> bool | None:
    if isinstance(value, Mapping):
        inner = cast("Mapping[str, Any]", value)
        found = (_said(inner[key]) for key in ("enabled", "type", "effort") if key in inner)
        return next((each for each in found if each is not None), None)
    if isinstance(value, str):
        return value.casefold() not in _OFF
    return value if isinstance(value, bool) else None
