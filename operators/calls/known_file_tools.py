"""The catalogue of the file tools and shells of known agents, as data: which argument of each is its text."""

from __future__ import annotations

from typing import NamedTuple

from .field_spec import FILE_TOOLS, FieldSpec


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
