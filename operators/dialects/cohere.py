"""Cohere's: Command R and R+, Aya Expanse; Command R7B and Command A."""

from __future__ import annotations

from ..grammar.dialect import Alt, Call, Json, KnownDialect, Many, Maybe, Text

COHERE_R_PLUS = KnownDialect(
    "cohere_r_plus",
    about="Command R and R+, Aya Expanse: an action, then a list of calls in a fence.",
    grammar=(
        Alt(
            (
                *("Action:", "```json"),
                Alt(
                    Json(name=("tool_name", "name"), args=("parameters", "arguments"), root="array"),
                    Json(name=("tool_name", "name"), args=("parameters", "arguments"), root="object"),
                ),
                Maybe("```"),
            ),
            ("<|CHATBOT_TOKEN|>", Text("content"), Maybe("<|END_OF_TURN_TOKEN|>")),
        ),
    ),
    layout="\n",
    models=("command-r", "aya-expanse"),
    proven_by=("llama.cpp",),
    not_in_auto="an action with a JSON example in a fence would be a call",
)


_R7B_CALL = Call(
    Json(name=("tool_name", "name"), args=("parameters", "arguments"), id=("tool_call_id",), root="object")
)

COHERE_R7B = KnownDialect(
    "cohere_r7b",
    about="Command R7B, Command A: everything is between markers; the commas between calls may be missing.",
    grammar=(
        Alt(
            (
                "<|START_ACTION|>",
                Alt(("[", _R7B_CALL, Many(Maybe(","), _R7B_CALL), "]"), (_R7B_CALL, Many(_R7B_CALL))),
                Maybe("<|END_ACTION|>"),
            ),
            ("<|START_RESPONSE|>", Text("content"), Maybe("<|END_RESPONSE|>")),
            ("<|START_TEXT|>", Text("content"), Maybe("<|END_TEXT|>")),
        ),
        Many("<|END_OF_TURN_TOKEN|>"),
    ),
    reasoning=(("<|START_THINKING|>", "<|END_THINKING|>"),),
    calls_in_reasoning=True,
    models=("command-r7b", "command-a"),
    reasoning_from="SGLang's parser of Command A, which ends it at `<|START_ACTION|>`",
    thinking=("command-a-plus",),
    parsers=("cohere_command3", "cohere_command4"),
    proven_by=("llama.cpp", "smg"),
)
