"""Hermes, and those like it: a JSON object between `<tool_call>` and `</tool_call>`."""

from __future__ import annotations

from ..grammar.dialect import Alt, Call, Json, KnownDialect, Many, Maybe, Text
from .parts import ANSWER_TAGS, THINK

_HERMES_ARGS = ("arguments", "parameters", "args")
_HERMES_CALL = Json(
    ("name", "function.name"), (*_HERMES_ARGS, "function.arguments")
)  # Falcon's template has OpenAI's own shape
_HERMES_NEXT = Json(args=_HERMES_ARGS, whole=True)

HERMES = KnownDialect(
    "hermes",
    about="Hermes: Nous Hermes, Qwen 2.5 and 3, QwQ, and models that were trained on their chats.",
    grammar=(
        Alt(
            Call("<tool_call>", _HERMES_CALL, "</tool_call>"),
            (Call("<tool_call>", _HERMES_CALL), Many(Maybe(","), Call(_HERMES_NEXT)), Maybe("</tool_call>")),
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


REKA_EDGE = KnownDialect(
    "reka_edge",
    about="Reka Edge: the format of Hermes.",
    grammar=HERMES.grammar,
    reasoning=HERMES.reasoning,
    calls_in_reasoning=True,
    layout="\n",
    models=("reka-edge",),
    reasoning_from="the format of Hermes, which ends it at `<tool_call>`",
    proven_by=("llama.cpp",),
    not_in_auto="hermes",
)


ERNIE45 = KnownDialect(
    "ernie45",
    about="ERNIE 4.5: the format of Hermes, with tags around the answer's text.",
    grammar=(Alt(HERMES.grammar, ("<response>", Text("content"), Maybe("</response>"))),),
    reasoning=HERMES.reasoning,
    models=("ernie-4.5",),
    thinking=("ernie-4.5*thinking",),
    proven_by=("vLLM",),
    not_in_auto=ANSWER_TAGS,
)


TOOL_CALL = KnownDialect(
    "tool_call",
    about="`<tool_call>` as prompts ask for it where a stop sequence may cut the end tag.",
    grammar=("<tool_call>", Json(args=("parameters", "arguments"), root="object"), Maybe("</tool_call>")),
    proven_by=("Tarko",),
    not_in_auto="hermes",
)
