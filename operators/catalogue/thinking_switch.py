"""Find out whether a request switches thinking on or off."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any, Final, cast

_SWITCHES: Final = ("enable_thinking", "thinking", "thinking_mode", "think", "reasoning_effort", "reasoning")
_INSIDE: Final = ("extra_body", "options")
_TEMPLATE: Final = ("chat_template_kwargs", "chat_template_args")
_OFF: Final = frozenset(("none", "off", "disabled", "false", "no", "no_think", "nothink", "chat"))
_UNSAID: Final = frozenset(("adaptive", "auto", "default", ""))
"""Words that leave it to the model, or to the template."""


def thinking_switch(
    request: Mapping[str, Any], switches: Sequence[str] | None = None, low_efforts: Sequence[str] = ()
) -> bool | None:
    """Return whether the options of a request switch thinking on (True) or off (False); None if they do not say.

    >>> thinking_switch({"extra_body": {"chat_template_kwargs": {"enable_thinking": False}}})
    False
    >>> thinking_switch({"reasoning_effort": "high"}), thinking_switch({"temperature": 0})
    (True, None)
    >>> thinking_switch({"chat_template_kwargs": {"thinking": False}}, ["enable_thinking"]) is None
    True

    It knows vLLM's and SGLang's `chat_template_kwargs`, Ollama's `think`, the `thinking` of Anthropic, DeepSeek and
    others, OpenAI's `reasoning_effort` and OpenRouter's `reasoning`. If one says off, thinking is off, whatever the
    effort.

    - `switches`: the variables of the chat template that do it; others among `chat_template_kwargs` have no effect.
      What a server's own option says counts too, as the server sets the variable, but not if the template has none.
    - `low_efforts`: the efforts with which thinking is off, beside `none`.
    """
    said = list(_all_said(request, _SWITCHES if switches is None else switches, low_efforts))
    return None if not said or switches == () else all(said)


def _all_said(request: Mapping[str, Any], switches: Container[str], low_efforts: Container[str]) -> Iterator[bool]:
    for name in _SWITCHES:
        if (found := _said(request.get(name), low_efforts)) is not None:
            yield found
    for name in _TEMPLATE:
        if isinstance(inner := request.get(name), Mapping):
            given = cast("Mapping[str, Any]", inner)
            known = {key: given[key] for key in given if key in switches}
            yield from _all_said(known, switches, low_efforts)
    for name in _INSIDE:
        if isinstance(inner := request.get(name), Mapping):
            yield from _all_said(cast("Mapping[str, Any]", inner), switches, low_efforts)


def _said(value: Any, low_efforts: Container[str]) -> bool | None:
    if isinstance(value, Mapping):
        inner = cast("Mapping[str, Any]", value)
        found = (_said(inner[key], low_efforts) for key in ("enabled", "type", "effort", "max_tokens") if key in inner)
        return next((each for each in found if each is not None), None)
    if isinstance(value, str):
        word = value.casefold()
        return None if word in _UNSAID else word not in _OFF and word not in low_efforts
    return bool(value) if isinstance(value, int) else None
