"""Command R and R+, Aya Expanse: an action, then a list of calls in a fence."""

from ..grammar.dialect import Alt, Json, KnownDialect, Maybe, Text

COHERE_R_PLUS = KnownDialect(
    "cohere_r_plus",
    (
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
