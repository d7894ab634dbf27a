"""`FieldSpec`: the arguments of a tool that stream as segments of their own, and how their metadata are read.

`FILE_TOOLS` are the built-in ones. `CATALOGUE` has the file tools and shells of known agents, as data: which argument
of each is its text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, NamedTuple, cast

from msgspec import Meta, Struct
from msgspec.structs import force_setattr, replace

from ...events.errors import UsageError
from ...events.segment_event import SegmentEnd, SegmentStart
from ..machines.json_values import read_path, write_path

NOT_CALLS = frozenset(("text", "reasoning", "refusal", "media", "tool_call"))
"""The segment types that no call of a tool can have."""


class FieldSpec(Struct, frozen=True):
    """A tool whose calls become segments of their own type, with one decoded argument as content.

    >>> FieldSpec("save_note", "body", metadata=("title",)).segment_type
    'save_note'

    With several `paths`, or one to a nested argument, a call stays a `tool_call` segment, and each argument becomes a
    segment beside it. `required`, `aliases` and `markers` are for a single argument.

    >>> FieldSpec("edit", paths=("summary", "edits[*].new_text")).paths
    ('summary', 'edits[*].new_text')

    Raises `UsageError` for a segment type that means something else: text, reasoning, refusal, media, tool_call; and
    for anything but a `field` or valid `paths`.
    """

    tool: Annotated[str, Meta(description="The tool's name, exactly as the model calls it.")]
    field: Annotated[str, Meta(description="The top-level string argument that streams.")] = ""
    metadata: Annotated[
        tuple[str, ...], Meta(description="Arguments shown beside the content, at START if known.")
    ] = ()
    required: Annotated[
        tuple[str, ...],
        Meta(description="Those of `metadata` that a deferred START waits for."),
    ] = ()
    segment_type: Annotated[str, Meta(description="The segment's type; the tool's name unless given.")] = ""
    aliases: Annotated[
        tuple[tuple[str, str], ...],
        Meta(
            description="(other name, argument) pairs understood in the metadata of segments read back from JSON; "
            "with an empty argument, what is under the name is left out."
        ),
    ] = ()
    markers: Annotated[
        tuple[str, str] | None,
        Meta(description="Sentinels (start, end) to be stripped from the content, and from the invocation."),
    ] = None
    strict: Annotated[
        bool,
        Meta(
            description="Whether a call without those of `required` is refused. Otherwise it runs: as a plain "
            "tool_call segment, or, where START was out, with an END that lacks them. The built-in specs are not "
            "strict."
        ),
    ] = True
    paths: Annotated[
        tuple[str, ...],
        Meta(description="Paths of several or nested string arguments that stream, such as edits[*].new_text."),
    ] = ()

    def __post_init__(self) -> None:
        if not self.segment_type:
            force_setattr(self, "segment_type", self.tool)
        if self.segment_type in NOT_CALLS:
            message = (
                f"segment_type={self.segment_type!r} is reserved for segments that are not tool calls; choose another"
            )
            raise UsageError(message)
        self._check_paths()

    def _check_paths(self) -> None:
        given: object = self.paths
        if isinstance(given, str):
            message = f"paths= must be a tuple of paths, got {given!r}; write paths=({given!r},)"
            raise UsageError(message)
        if bool(self.field) == bool(self.paths):
            message = f"the spec for the tool {self.tool!r} needs either field= or paths="
            raise UsageError(message)
        paths = tuple(dict.fromkeys(write_path(read_path(each)) for each in self.paths))
        steps = [read_path(each) for each in paths]
        if wrong := next((each for each in steps if isinstance(each[0], int)), None):
            message = f"the path {write_path(wrong)!r} must begin with an argument's name"
            raise UsageError(message)
        only = steps[0][0] if len(steps) == 1 and len(steps[0]) == 1 else None
        if isinstance(only, str):  # the same as a field
            force_setattr(self, "field", only)
            paths = ()
        force_setattr(self, "paths", paths)
        if paths and (self.required or self.aliases or self.markers):
            message = f"the spec for the tool {self.tool!r} has paths=, so leave required=, aliases= and markers= out"
            raise UsageError(message)


FILE_TOOLS: tuple[FieldSpec, ...] = (
    FieldSpec("write_file", "content", metadata=("path",), required=("path",), strict=False),
    FieldSpec("edit_file", "patch", metadata=("path",), required=("path",), strict=False),
    FieldSpec("patch_file", "patch", metadata=("path",), required=("path",), strict=False),
    FieldSpec(
        "run_bash",
        "command",
        metadata=("timeout_seconds", "cwd"),
        aliases=(("timeoutSeconds", "timeout_seconds"), ("cmd", "command"), ("background", "")),
        strict=False,
    ),
)
"""The file tools and the shell, each with the argument that streams. They refuse no call, because a tool with the same
name may have other arguments."""

MARKED_FILE_TOOLS: tuple[FieldSpec, ...] = tuple(
    replace(spec, markers=(f"__START_{spec.field.upper()}__", f"__END_{spec.field.upper()}__"))
    if spec.field in ("content", "patch")
    else spec
    for spec in FILE_TOOLS
)
"""`FILE_TOOLS` for prompts that ask for `__START_CONTENT__` and `__END_CONTENT__` around a file, `…_PATCH__` around a
patch; these markers are removed."""


RESERVED = frozenset(("tool_name", "kind", "native", "executed_by", "error", "arguments", "mistyped")) | {
    "choice",
    "duplicate_of",
    "repeats",
    "call_id",
    "streamed",
    "guard",
}
"""Reserved metadata keys, which an argument never has."""

Specs = Mapping[str, FieldSpec]
"""Field specs by segment type."""


def spec_by_type(specs: Iterable[FieldSpec]) -> dict[str, FieldSpec]:
    """Return the first spec of each segment type, which says what a segment means that was read back from JSON."""
    by_type: dict[str, FieldSpec] = {}
    for spec in specs:
        if not spec.paths:  # the segments of several arguments are not calls
            by_type.setdefault(spec.segment_type, spec)
    return by_type


def called_name(start: SegmentStart, specs: Specs) -> str | None:
    """Return the name of the tool that a START calls.

    None for other segments, those of a call's arguments among them, and for calls that the provider runs.
    """
    metadata = start.metadata
    if is_argument(start):
        return None
    name: str | None = metadata.get("tool_name")
    if name is None and (spec := specs.get(start.segment_type or "")) is not None:
        name = spec.tool
    if metadata.get("executed_by") == "provider" or (name is None and start.segment_type != "tool_call"):
        return None
    return name or ""


def is_argument(event: SegmentStart | SegmentEnd) -> bool:
    """Return whether a segment is one argument of a call that has a segment of its own."""
    call_id = event.metadata.get("call_id")
    return isinstance(call_id, str) and event.segment_id.startswith(f"{call_id}/")


def told_arguments(metadata: Mapping[str, Any], spec: FieldSpec | None) -> dict[str, Any]:
    """Return the arguments in a segment's metadata; with `spec`, one under an alias gets its own name, if any."""
    aliases = {} if spec is None else dict(spec.aliases)
    named = ((aliases.get(key, key), value) for key, value in metadata.items() if key not in RESERVED)
    arguments = {name: value for name, value in named if name}
    more = metadata.get("arguments")
    return arguments | more if isinstance(more, dict) else arguments


class KnownTool(NamedTuple):
    """A tool of a known agent: its name, its streamed text, the arguments that it always has, and where it is from.

    `text` is an argument, or a path such as edits[*].new_string. Only a call with that text and with `others` is taken
    for this tool.
    """

    tool: str
    text: str
    others: tuple[str, ...]
    segment_type: str
    source: str

    @property
    def spec(self) -> FieldSpec:
        if "[" in self.text:
            return FieldSpec(self.tool, "", self.others, (), self.segment_type, strict=False, paths=(self.text,))
        required = (*self.others, self.text)
        return FieldSpec(self.tool, self.text, self.others, required, self.segment_type, strict=False)


_WRITE, _EDIT, _PATCH, _RUN = "write_file", "edit_file", "patch_file", "run_bash"
_PATH, _FILE, _FILE_PATH, _FILENAME, _TARGET = ("path",), ("file_path",), ("filePath",), ("filename",), ("target_file",)
_TEXT_EDITOR = "Anthropic, text editor tool (anthropic.types.ToolTextEditor20250728Param)"
_OLD_TEXT_EDITOR = "Anthropic, text editor tool (anthropic.types.ToolTextEditor20250124Param); OpenHands"
_BASH = "Anthropic, bash tool (anthropic.types.ToolBash20250124Param)"
_OPENAI = "OpenAI, Responses API (openai.types.responses.ApplyPatchToolParam)"
_CLAUDE_CODE = "Claude Code, tools reference (code.claude.com/docs/en/tools-reference)"
_GEMINI = "Gemini CLI (google-gemini/gemini-cli, packages/core/src/tools)"
_ROO = "Roo Code (RooCodeInc/Roo-Code, src/core/prompts/tools/native-tools)"
_CLINE = "Cline (cline/cline, src/core/prompts/system-prompt/tools)"
_COPILOT = "Copilot Chat of VS Code (microsoft/vscode-copilot-chat, package.json)"
_OPENCODE = "opencode (sst/opencode, packages/opencode/src/tool)"
_CURSOR = "Cursor (x1xhlol/system-prompts-and-models-of-ai-tools)"
_MCP = "MCP filesystem server (modelcontextprotocol/servers, src/filesystem)"
_AUTOGPT = "AutoGPT (Significant-Gravitas/AutoGPT, file operations)"
_LANGCHAIN = "LangChain (langchain-ai/langchain-community, tools/file_management)"
_WINDSURF = "Windsurf (x1xhlol/system-prompts-and-models-of-ai-tools)"
_PI = "pi (earendil-works/pi, packages/coding-agent)"

CATALOGUE: tuple[KnownTool, ...] = (
    KnownTool("write_file", "content", _FILE, _WRITE, _GEMINI),
    KnownTool("write_file", "text", _FILE, _WRITE, _LANGCHAIN),
    KnownTool("write_file", "contents", _FILENAME, _WRITE, _AUTOGPT),
    KnownTool("write_to_file", "content", _PATH, _WRITE, f"{_CLINE}; {_ROO}"),
    KnownTool("write_to_file", "text", _FILENAME, _WRITE, _AUTOGPT),
    KnownTool("write_to_file", "CodeContent", ("TargetFile",), _WRITE, _WINDSURF),
    KnownTool("create_file", "content", _FILE_PATH, _WRITE, _COPILOT),
    KnownTool("create_file", "content", _PATH, _WRITE, "Amp (x1xhlol/system-prompts-and-models-of-ai-tools)"),
    KnownTool("create_file", "file_text", _PATH, _WRITE, "Claude (x1xhlol/system-prompts-and-models-of-ai-tools)"),
    KnownTool("Write", "content", _FILE, _WRITE, _CLAUDE_CODE),
    KnownTool("write", "content", _FILE_PATH, _WRITE, _OPENCODE),
    KnownTool("write", "content", _PATH, _WRITE, _PI),
    KnownTool("str_replace_based_edit_tool", "file_text", _PATH, _WRITE, _TEXT_EDITOR),
    KnownTool("str_replace_based_edit_tool", "new_str", _PATH, _EDIT, _TEXT_EDITOR),
    KnownTool("str_replace_based_edit_tool", "insert_text", _PATH, _EDIT, _TEXT_EDITOR),
    KnownTool("str_replace_editor", "file_text", _PATH, _WRITE, _OLD_TEXT_EDITOR),
    KnownTool("str_replace_editor", "new_str", _PATH, _EDIT, _OLD_TEXT_EDITOR),
    KnownTool("str_replace_editor", "insert_text", _PATH, _EDIT, _OLD_TEXT_EDITOR),
    KnownTool("Edit", "new_string", _FILE, _EDIT, _CLAUDE_CODE),
    KnownTool("MultiEdit", "edits[*].new_string", _FILE, _EDIT, _CLAUDE_CODE),
    KnownTool("NotebookEdit", "new_source", ("notebook_path",), _EDIT, _CLAUDE_CODE),
    KnownTool("replace", "new_string", _FILE, _EDIT, _GEMINI),
    KnownTool("edit", "new_string", _FILE, _EDIT, _ROO),
    KnownTool("edit", "newString", _FILE_PATH, _EDIT, _OPENCODE),
    KnownTool("edit", "newText", _PATH, _EDIT, _PI),
    KnownTool("edit_file", "new_string", _FILE, _EDIT, _ROO),
    KnownTool("edit_file", "code_edit", _TARGET, _EDIT, _CURSOR),
    KnownTool("edit_file", "edits[*].newText", _PATH, _EDIT, _MCP),
    KnownTool("search_replace", "new_string", _FILE, _EDIT, f"{_ROO}; {_CURSOR}"),
    KnownTool("replace_string_in_file", "newString", _FILE_PATH, _EDIT, _COPILOT),
    KnownTool("multi_replace_string_in_file", "replacements[*].newString", (), _EDIT, _COPILOT),
    KnownTool("insert_edit_into_file", "code", _FILE_PATH, _EDIT, _COPILOT),
    KnownTool("replace_in_file", "diff", _PATH, _PATCH, _CLINE),
    KnownTool("apply_diff", "diff", _PATH, _PATCH, _ROO),
    KnownTool("apply_patch", "input", (), _PATCH, f"Codex (openai/codex, codex-rs/core/src/tools); {_COPILOT}"),
    KnownTool("apply_patch", "patch", (), _PATCH, _ROO),
    KnownTool("apply_patch", "patchText", (), _PATCH, _OPENCODE),
    KnownTool("apply_patch", "diff", _PATH, _PATCH, _OPENAI),
    KnownTool("Bash", "command", (), _RUN, _CLAUDE_CODE),
    KnownTool("bash", "command", (), _RUN, f"{_BASH}; {_OPENCODE}"),
    KnownTool("run_shell_command", "command", (), _RUN, _GEMINI),
    KnownTool("execute_command", "command", (), _RUN, f"{_CLINE}; {_ROO}"),
    KnownTool("run_in_terminal", "command", (), _RUN, _COPILOT),
    KnownTool("run_terminal_cmd", "command", (), _RUN, _CURSOR),
)
"""A row for each way in which an agent names its text; with one tool in several rows, the first that fits counts."""

KNOWN_FILE_TOOLS: tuple[FieldSpec, ...] = (*FILE_TOOLS, *(known.spec for known in CATALOGUE))
"""`FILE_TOOLS`, and the file tools and shells of known agents."""


def specs_by_tool(
    specs: Iterable[FieldSpec], tools: Any = None, *, ignore_case: bool = False
) -> dict[str, tuple[FieldSpec, ...]]:
    """Return the specs by tool, in their order; a call takes the first that fits.

    >>> short, long = FieldSpec("save", "text", strict=False), FieldSpec("save", "body", strict=False)
    >>> [spec.field for spec in specs_by_tool([short, long])["save"]]
    ['text', 'body']

    A strict spec is the only one of its tool; otherwise the arguments count that the tool itself says to stream
    (`Tool.streamed`). Specs that are not strict are left out if the tool does not have their arguments. `tools` is what
    `to_invocations` takes. `UsageError` for two strict specs of one tool.
    """
    by_tool: dict[str, list[FieldSpec]] = {}
    for spec in specs:
        several = by_tool.setdefault(_key(spec.tool, ignore_case=ignore_case), [])
        if spec.strict and any(each.strict and each.tool == spec.tool for each in several):
            message = f"two specs are for the tool {spec.tool!r}; keep one"
            raise UsageError(message)
        several.append(spec)
    by_tool = {tool: [spec for spec in several if spec.strict] or several for tool, several in by_tool.items()}
    for name, tool in _named(tools):
        key = _key(name, ignore_case=ignore_case)
        several = by_tool.get(key, [])
        if any(spec.strict for spec in several):
            continue
        streamed: tuple[str, ...] = getattr(tool, "streamed", ())
        names = _names(tool)
        if streamed:
            by_tool[key] = [FieldSpec(name, paths=streamed, metadata=_scalars(tool, streamed))]
        elif names:
            by_tool[key] = [spec for spec in several if names >= _needed(spec)]
    return {tool: tuple(several) for tool, several in by_tool.items() if several}


def checked_specs(given: object, owner: str) -> tuple[FieldSpec, ...]:
    """Return specs as a tuple; `UsageError`, naming the function `owner`, for anything but an iterable of them."""
    if isinstance(given, str | FieldSpec) or not isinstance(given, Iterable):
        message = f"{owner} takes an iterable of FieldSpecs, such as FILE_TOOLS; got {given!r}"
        raise UsageError(message)
    specs = tuple(cast("Iterable[object]", given))
    for spec in specs:
        if not isinstance(spec, FieldSpec):
            message = f"{owner} takes FieldSpec(tool, field, ...), got {spec!r}"
            raise UsageError(message)
    return cast("tuple[FieldSpec, ...]", specs)


def _needed(spec: FieldSpec) -> set[str]:
    """Return the arguments without which a tool does not fit a spec."""
    if spec.paths:
        return {step for each in spec.paths if isinstance(step := read_path(each)[0], str)}
    return {spec.field, *spec.required}


def _named(tools: Any) -> Iterable[tuple[str, Any]]:
    if isinstance(tools, Mapping):
        return cast("Mapping[str, Any]", tools).items()
    return ((str(getattr(each, "name", None) or getattr(each, "__name__", "")), each) for each in tools or ())


def _names(tool: Any) -> set[str]:
    """Return the names of a tool's parameters; empty if they are unknown."""
    fields: dict[str, Any] = getattr(tool, "model_fields", {})
    schema: dict[str, Any] = getattr(tool, "parameters", {})
    return {*fields, *(field.alias for field in fields.values() if field.alias), *schema.get("properties", ())}


def _scalars(tool: Any, streamed: tuple[str, ...]) -> tuple[str, ...]:
    """Return the parameters that are shown beside the streamed ones: all but objects and arrays."""
    properties: dict[str, Any] = getattr(tool, "parameters", {}).get("properties", {})
    first = {read_path(each)[0] for each in streamed}
    others = [name for name in properties if name not in first]
    return tuple(name for name in others if not _is_container(properties[name]))


def _is_container(schema: object) -> bool:
    # A schema may be a boolean.
    return isinstance(schema, dict) and cast("dict[str, Any]", schema).get("type") in ("object", "array")


def _key(name: str, *, ignore_case: bool) -> str:
    return name.casefold() if ignore_case else name
