"""Calls as Claude 3 wrote them, a tag with the tool's name around one for each parameter: Claude and dots.llm."""

from __future__ import annotations

from ..grammar.dialect import Alt, Back, Call, KnownDialect, Many, Maybe, Text
from .parts import CALL, THINK, invoke

_PREFIX = "antml:"
_ELEMENTS = (
    *("<invoke>", "<tool_name>", Text("name", r"\w.-"), "</tool_name>", Maybe("<parameters>")),
    Many("<", Text("key", r"\w.-"), ">", Text("value", trim="newline", typing="schema"), Back()),
    *(Maybe("</parameters>"), "</invoke>"),
)
_PREFIXED = Call(*invoke(_PREFIX))

ANTHROPIC_LEGACY = KnownDialect(
    "anthropic_legacy",
    about=(
        "Claude 2 and 3 without native calls: names and parameters in attributes, or in elements as in the first "
        "version."
    ),
    grammar=(
        Alt(
            ("<function_calls>", Many(Alt(Call(*invoke()), Call(*_ELEMENTS))), Maybe("</function_calls>")),
            # Newer ones have a prefix in each tag; it is no ordinary XML then, even without the tag around.
            (
                *(Maybe(f"<{_PREFIX}function_calls>"), _PREFIXED, Many(_PREFIXED)),
                Maybe(f"</{_PREFIX}function_calls>"),
            ),
        ),
    ),
    layout="\n",
    models=("claude-2", "claude-2.1"),
    written_from="“Legacy tool use” in Anthropic's documentation",
)


DOTS = KnownDialect(
    "dots",
    about="dots.llm: calls as Claude 3 wrote them, in a tag of their own.",
    grammar=("<dots_function_call>", Many(Alt(Call(*invoke()), Call(CALL), Text("content"))), "</dots_function_call>"),
    reasoning=THINK,
    only_declared=True,  # both servers of the model leave a block with another tool's name in the text
    models=("dots.llm1",),
    proven_by=("vLLM",),
)
