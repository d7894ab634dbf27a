"""Gemma 1 to 3: a call as code, in a fence."""

from ..grammar.dialect import CallArgs, KnownDialect, Text

TOOL_CODE = KnownDialect(
    "tool_code",
    ("```tool_code\n", Text("name", r"\w."), CallArgs(lenient_quotes=True), "```"),
    layout="\n",
    models=("gemma", "gemma-1.1", "gemma-2", "gemma-3"),
    written_from="Google's guide to agents with Gemma 3",
    answer='```tool_code\nweather(city="Oslo", days=2)\n```',
)
