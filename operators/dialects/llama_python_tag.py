"""Llama 3.1: a built-in tool, called as code: `brave_search.call(query="…")`."""

from ..grammar.dialect import Call, CallArgs, KnownDialect, Maybe, Text

LLAMA_PYTHON_TAG = KnownDialect(
    "llama_python_tag",
    ("<|python_tag|>", Call(Text("name", r"\w"), ".call", CallArgs()), Maybe("<|eom_id|>")),
    models=("llama-3.1", "llama-3.3", "llama*nemotron-70b"),
    written_from="Meta's page of the prompt formats of Llama 3.1",
)
