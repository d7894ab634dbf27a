"""MiroThinker: the tool of an MCP server, and its arguments as JSON."""

from ..grammar.dialect import NAME, Call, KnownDialect, Many, Maybe, Text
from .parts import ARGUMENTS, THINK

_CALL = Call(
    *(Maybe("<server_name>", Text("skip"), "</server_name>"), "<tool_name>", NAME, "</tool_name>"),
    *("<arguments>", ARGUMENTS, Maybe("</arguments>")),
)

MIROTHINKER = KnownDialect(
    "mirothinker",
    ("<use_mcp_tool>", _CALL, Many(_CALL), Maybe("</use_mcp_tool>")),
    reasoning=THINK,
    layout="\n",
    models=("mirothinker", "mirothinker-v1", "mirothinker-v1.*"),
    written_from="the chat template of miromind-ai/MiroThinker-v1.0",
    answer=(
        "<use_mcp_tool>\n<server_name>generic-extras</server_name>\n<tool_name>weather</tool_name>\n<arguments>\n"
        '{"city": "Oslo", "days": 2}\n</arguments>\n</use_mcp_tool>'
    ),
)
