"""Llama 3.1 to 4: calls behind a marker, as JSON, a list of code, or of a built-in tool: `brave_search.call(…)`."""

from ..grammar.dialect import Alt, Call, CallArgs, KnownDialect, Maybe, Text
from .llama3_json import JSON_CALLS
from .pythonic import CALL_LIST

LLAMA_PYTHON_TAG = KnownDialect(
    "llama_python_tag",
    (
        Alt("<|python_tag|>", "<|python_start|>"),
        Alt(Call(Text("name", r"\w"), ".call", CallArgs()), JSON_CALLS, CALL_LIST),
        Maybe(Alt("<|eom_id|>", "<|python_end|>")),
    ),
    models=("llama-3.1", "llama-3.3", "llama*nemotron-70b"),
    written_from="Meta's pages of the prompt formats of Llama 3.1 and 4",
)
