"""Llama 3.1: a built-in tool, called as code: `brave_search.call(query="…")`."""

from ..grammar.dialect import Call, CallArgs, Dialect, Maybe, Text

LLAMA_PYTHON_TAG = Dialect(
    "llama_python_tag",
    ("<|python_tag|>", Call(Text("name", r"\w"), ".call", CallArgs()), Maybe("<|eom_id|>")),
)
