"""The strategies for calls in text, by name: those that most people want, then every other dialect."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from ...operators.catalogue.table import DIALECTS
from .text_strategy import TextStrategy

auto: Final = TextStrategy("auto")
xml: Final = TextStrategy("xml")
json: Final = TextStrategy("json")
sentinel: Final = TextStrategy("sentinel")
tool_call: Final = TextStrategy("tool_call")
json_answer: Final = TextStrategy("json_answer")
hermes: Final = TextStrategy("hermes")
qwen3_coder: Final = TextStrategy("qwen3_coder")
harmony: Final = TextStrategy("harmony")
pythonic: Final = TextStrategy("pythonic")

_NAMED = (auto, xml, json, sentinel, tool_call, json_answer, hermes, qwen3_coder, harmony, pythonic)

TEXT_STRATEGIES: Final[Mapping[str, TextStrategy]] = MappingProxyType(
    {each.__name__: each for each in _NAMED}
    | {name: TextStrategy(name) for name in DIALECTS if name not in {each.__name__ for each in _NAMED}}
)
"""By name: `auto`, and one for each dialect."""
