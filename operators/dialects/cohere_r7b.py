"""Command R7B, Command A: everything is between markers; the commas between calls may be missing."""

from ..grammar.dialect import Alt, Call, Json, KnownDialect, Many, Maybe, Text

_CALL = Call(Json(name=("tool_name", "name"), args=("parameters", "arguments"), id=("tool_call_id",), root="object"))

COHERE_R7B = KnownDialect(
    "cohere_r7b",
    (
        Alt(
            (
                "<|START_ACTION|>",
                Alt(("[", _CALL, Many(Maybe(","), _CALL), "]"), (_CALL, Many(_CALL))),
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
