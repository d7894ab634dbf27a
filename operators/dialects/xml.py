"""XML as prompts ask for it: `<tool name="…">` with its arguments as elements, and two tools with tags of their own."""

from typing import Final

from ..grammar.dialect import Alt, Attrs, Back, Call, KnownDialect, Many, Maybe, Role, Text
from .parts import FILE_GUARDS, XML_FENCES, XML_TAGS

_CDATA = ("<![CDATA[", "]]>")
_ALSO = (("timeoutSeconds", "timeout_seconds"),)
_GUARDS: Final = (*FILE_GUARDS, _CDATA)
_AS_IT_STANDS = Text("value", guards=_GUARDS)
_COMMAND = Text("value", entities=True, section=_CDATA)
_VALUE = Text(
    "value",
    trim="blanks",
    typing="xml",
    entities=True,
    section=_CDATA,
    also=_ALSO,
    instead=(
        ("write_file.content", _AS_IT_STANDS),
        ("edit_file.patch", _AS_IT_STANDS),
        ("patch_file.patch", _AS_IT_STANDS),
        ("run_bash.command", _COMMAND),
        ("run_bash.background", Text("skip")),
    ),
)
_ARG = ("<arg", Attrs((("name", "key"),)), ">", _VALUE, "</arg>")
_NO_ARGUMENTS: Final[tuple[tuple[str, Role], ...]] = (("background", "skip"), ("description", "skip"))

XML = KnownDialect(
    "xml",
    (
        Alt(
            Call(
                *("<tool", Attrs((("name", "name"), *_NO_ARGUMENTS), also=_ALSO), ">", Maybe("<arguments>")),
                Many(Alt(_ARG, ("<", Text("key", r"\w.:-"), ">", _VALUE, Back("</", ">")))),
                *(Maybe("</arguments>"), "</tool>"),
            ),
            Call(
                *("<write_file", Attrs(required=("path",)), ">"),
                *(Text("value", key="content", guards=_GUARDS), "</write_file>"),
                name="write_file",
            ),
            Call(
                *("<run_bash", Attrs(_NO_ARGUMENTS, also=_ALSO), ">"),
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
