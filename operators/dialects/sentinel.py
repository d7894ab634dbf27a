"""Blocks between `[[SEG_START {…}]]` and `[[SEG_END]]`, whose header is JSON."""

from ..grammar.dialect import Alt, Attrs, Call, KnownDialect, Text
from .parts import ARGUMENTS, CALL, FILE_GUARDS

_END = "[[SEG_END]]"
_TOOL = ("tool", "tool_call")

SENTINEL = KnownDialect(
    "sentinel",
    (
        Alt(
            *(
                Call(
                    "[[SEG_START",
                    Attrs((("type", "skip"),), required=required, fixed=(("type", types),), form="json"),
                    *("]]", Text("value", key=key, guards=FILE_GUARDS), _END),
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
                *("]]", _END),
            ),
            Call(
                *(
                    "[[SEG_START",
                    Attrs((("type", "skip"), ("tool_name", "name")), fixed=(("type", _TOOL),), form="json"),
                ),
                *("]]", ARGUMENTS, _END),
            ),
            Call("[[SEG_START", Attrs((("type", "skip"),), fixed=(("type", _TOOL),), form="json"), "]]", CALL, _END),
            (
                *("[[SEG_START", Attrs((("type", "skip"),), fixed=(("type", ("text",)),), form="json"), "]]"),
                *(Text("content"), _END),
            ),
        ),
    ),
    proven_by=("AutoByteus",),
    example=("run_bash", {"command": "ls"}),
)
