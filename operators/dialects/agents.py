"""Formats of agents, which a prompt asks for whatever the model: files, commands and tools in blocks or tags."""

from __future__ import annotations

from typing import Final

from ..grammar.dialect import NAME, Alt, Attrs, Back, Call, KnownDialect, Many, Maybe, Role, Text
from .parts import ARGUMENTS, CALL, FILE_GUARDS, FUNCTION, THINK, XML_FENCES, XML_TAGS

AIDER = KnownDialect(
    "aider",
    about=(
        "Aider's edit blocks: the lines to search for, and the lines that replace them.\n\n"
        "The path of the file is text, before the fence. A line of seven `=` ends the lines to search for. "
        "Unified diffs and whole files in fences stay text, because they cannot be told from other code."
    ),
    grammar=(
        Call(
            *("<" * 7 + " SEARCH", "\n", Text("value", key="search", at_line=True)),
            *("=======\n", Text("value", key="replace", at_line=True), ">" * 7 + " REPLACE"),
            name="search_replace",
        ),
    ),
    aliases=(("=======\r\n", "=======\n"),),
    layout="\n",
    written_from="“Edit formats” in Aider's documentation",
    fence_languages=("*",),
    not_in_auto="blocks of this kind are shown as text, too",
)


BOLT_ARTIFACT = KnownDialect(
    "bolt_artifact",
    about="bolt.new and bolt.diy: files and commands; other text in an artifact is nobody's.",
    grammar=(
        *("<boltArtifact", Attrs((("id", "skip"), ("title", "skip"), ("type", "skip"))), ">"),
        Many(
            Alt(
                Call(
                    *("<boltAction", Attrs((("type", "name"),)), ">"),
                    *(Text("value", key="content", trim="newline"), "</boltAction>"),
                ),
                Text("skip"),
            ),
        ),
        "</boltArtifact>",
    ),
    proven_by=("bolt.new",),
    example=("file", {"filePath": "app.js", "content": "let x = 1"}),
)


_CLINE_VALUE = Text("value", trim="newline", typing="schema")

CLINE = KnownDialect(
    "cline",
    about="Cline and Roo: the tools and their parameters are tags; give `tools`, or each tag is one.",
    grammar=(
        *("<", Text("name", r"\w"), ">"),
        Many("<", Text("key", r"\w"), ">", _CLINE_VALUE, Back()),
        Back(role="name"),
    ),
    reasoning=(("<thinking>", "</thinking>"), *THINK),
    layout="\n",
    written_from="the system prompts of Cline and Roo Code",
    fence_languages=XML_FENCES,
    not_in_auto=XML_TAGS,
    example=("read_file", {"path": "app.py"}),
)


_MCP_CALL = Call(
    *(Maybe("<server_name>", Text("skip"), "</server_name>"), "<tool_name>", NAME, "</tool_name>"),
    *("<arguments>", ARGUMENTS, Maybe("</arguments>")),
)

MIROTHINKER = KnownDialect(
    "mirothinker",
    about="MiroThinker: the tool of an MCP server, and its arguments as JSON.",
    grammar=("<use_mcp_tool>", _MCP_CALL, Many(_MCP_CALL), Maybe("</use_mcp_tool>")),
    reasoning=THINK,
    layout="\n",
    models=("mirothinker", "mirothinker-v1", "mirothinker-v1.*"),
    written_from="the chat template of miromind-ai/MiroThinker-v1.0",
    answer=(
        "<use_mcp_tool>\n<server_name>generic-extras</server_name>\n<tool_name>weather</tool_name>\n<arguments>\n"
        '{"city": "Oslo", "days": 2}\n</arguments>\n</use_mcp_tool>'
    ),
)


OPENHANDS = KnownDialect(
    "openhands",
    about="OpenHands, for models without native calls: one call, whose end tag is often cut off by a stop sequence.",
    grammar=(Many("<tool_call>"), Call(*FUNCTION, Maybe("</function>")), Many("</tool_call>")),
    reasoning=THINK,
    layout="\n",
    written_from="the prompt of OpenHands' converter of function calls",
    not_in_auto="qwen3_coder",  # but for calls that a stop word has cut
)


_SEG_END = "[[SEG_END]]"
_TOOL = ("tool", "tool_call")

SENTINEL = KnownDialect(
    "sentinel",
    about="Blocks between `[[SEG_START {…}]]` and `[[SEG_END]]`, whose header is JSON.",
    grammar=(
        Alt(
            *(
                Call(
                    "[[SEG_START",
                    Attrs((("type", "skip"),), required=required, fixed=(("type", types),), form="json"),
                    *("]]", Text("value", key=key, guards=FILE_GUARDS), _SEG_END),
                    name=types[0],
                )
                for types, key, required in (
                    (("write_file",), "content", ("path",)),
                    (("edit_file",), "patch", ("path",)),
                    (("patch_file",), "patch", ("path",)),
                    (("run_bash", "run_terminal_cmd"), "command", ()),
                )
            ),
            Call(
                "[[SEG_START",
                Attrs(
                    (("type", "skip"), ("tool_name", "name"), ("arguments", "arguments")),
                    fixed=(("type", _TOOL),),
                    form="json",
                ),
                *("]]", _SEG_END),
            ),
            Call(
                *(
                    "[[SEG_START",
                    Attrs((("type", "skip"), ("tool_name", "name")), fixed=(("type", _TOOL),), form="json"),
                ),
                *("]]", ARGUMENTS, _SEG_END),
            ),
            Call(
                "[[SEG_START", Attrs((("type", "skip"),), fixed=(("type", _TOOL),), form="json"), "]]", CALL, _SEG_END
            ),
            (
                *("[[SEG_START", Attrs((("type", "skip"),), fixed=(("type", ("text",)),), form="json"), "]]"),
                *(Text("content"), _SEG_END),
            ),
        ),
    ),
    proven_by=("AutoByteus",),
    example=("run_bash", {"command": "ls"}),
)


_XML_CDATA = ("<![CDATA[", "]]>")
_XML_ALSO = (("timeoutSeconds", "timeout_seconds"),)
_XML_GUARDS: Final = (*FILE_GUARDS, _XML_CDATA)
_XML_AS_IT_STANDS = Text("value", guards=_XML_GUARDS)
_XML_COMMAND = Text("value", entities=True, section=_XML_CDATA)
_XML_VALUE = Text(
    "value",
    trim="blanks",
    typing="xml",
    entities=True,
    section=_XML_CDATA,
    also=_XML_ALSO,
    instead=(
        ("write_file.content", _XML_AS_IT_STANDS),
        ("edit_file.patch", _XML_AS_IT_STANDS),
        ("patch_file.patch", _XML_AS_IT_STANDS),
        ("run_bash.command", _XML_COMMAND),
        ("run_bash.background", Text("skip")),
    ),
)
_XML_ARG = ("<arg", Attrs((("name", "key"),)), ">", _XML_VALUE, "</arg>")
_XML_NO_ARGUMENTS: Final[tuple[tuple[str, Role], ...]] = (("background", "skip"), ("description", "skip"))

XML = KnownDialect(
    "xml",
    about=(
        'XML as prompts ask for it: `<tool name="…">` with its arguments as elements, and two tools with tags of '
        "their own."
    ),
    grammar=(
        Alt(
            Call(
                *("<tool", Attrs((("name", "name"), *_XML_NO_ARGUMENTS), also=_XML_ALSO), ">", Maybe("<arguments>")),
                Many(Alt(_XML_ARG, ("<", Text("key", r"\w.:-"), ">", _XML_VALUE, Back("</", ">")))),
                *(Maybe("</arguments>"), "</tool>"),
            ),
            Call(
                *("<write_file", Attrs(required=("path",)), ">"),
                *(Text("value", key="content", guards=_XML_GUARDS), "</write_file>"),
                name="write_file",
            ),
            Call(
                *("<run_bash", Attrs(_XML_NO_ARGUMENTS, also=_XML_ALSO), ">"),
                *(Text("value", key="command"), "</run_bash>"),
                name="run_bash",
            ),
        ),
    ),
    ignore_case=True,
    layout="\n",
    proven_by=("AutoByteus",),
    fence_languages=XML_FENCES,
    not_in_auto=XML_TAGS,
)
