"""Hermes: Nous Hermes, Qwen 2.5 and 3, QwQ, and models that were trained on their chats."""

from ..grammar.dialect import Alt, Call, Json, KnownDialect, Many, Maybe
from .parts import THINK

_ARGS = ("arguments", "parameters", "args")
_CALL = Json(("name", "function.name"), (*_ARGS, "function.arguments"))  # Falcon's template has OpenAI's own shape
_NEXT = Json(args=_ARGS, whole=True)

HERMES = KnownDialect(
    "hermes",
    (
        Alt(
            Call("<tool_call>", _CALL, "</tool_call>"),
            (Call("<tool_call>", _CALL), Many(Maybe(","), Call(_NEXT)), Maybe("</tool_call>")),
        ),
        Many("</tool_call>"),
    ),
    reasoning=THINK,
    calls_in_reasoning=True,
    layout="\n",
    models=(
        *("qwen2", "qwen2.*", "qwen2.5-coder", "qwen3", "hermes*", "hermes*llama*", "hermes*mistral*", "hermes*qwen*"),
        *("llama*groq*tool-use", "smollm3", "k-exaone", "cogito", "cogito-v1", "cogito-v2", "a.x-4"),
        *("trinity", "mimo-vl", "bielik*v3.0", "deephermes", "deephermes-3", "kimi-dev", "falcon3", "falcon-h1"),
        *("ling-1t", "ling-flash-2", "ling-mini-2", "ling-lite"),  # Ring is the same family, and thinks
    ),
    thinking=("jamba*reasoning", "ring-1t", "ring-flash-2", "ring-mini-2", "ring-lite"),
    thinking_if_asked=("exaone-4",),
    thinking_always=("qwen3*thinking", "qwq"),
    reasoning_from=(
        "the chat templates of Qwen3-Thinking, QwQ and EXAONE 4.0; SGLang's reasoning parsers end it at `<tool_call>`"
    ),
    parsers=("qwen", "qwen25"),
    proven_by=("llama.cpp", "mlx-lm", "Ollama", "SGLang", "smg", "vLLM"),
)
