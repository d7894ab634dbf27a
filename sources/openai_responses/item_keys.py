"""The items of a Response that a request takes back, and the keys that it takes of each."""

from __future__ import annotations

from collections.abc import Mapping

_CALLED = ("id", "call_id", "status")
_OF_IMAGES = ("action", "background", "error", "output_format", "quality", "revised_prompt", "size", "svg_usage")
ITEM_KEYS: Mapping[str, frozenset[str]] = {
    kind: frozenset(("type", *keys))
    for kind, keys in {
        "message": ("id", "role", "content", "status", "phase"),
        "reasoning": ("id", "summary", "content", "encrypted_content", "status"),
        "function_call": (*_CALLED, "name", "arguments", "namespace", "caller", "async"),
        "custom_tool_call": ("id", "call_id", "name", "input", "namespace", "caller", "async"),
        "web_search_call": ("id", "action", "status"),
        "file_search_call": ("id", "queries", "results", "status"),
        "computer_call": (*_CALLED, "action", "actions", "pending_safety_checks"),
        "code_interpreter_call": ("id", "code", "container_id", "outputs", "status"),
        "image_generation_call": ("id", "result", "status", *_OF_IMAGES),
        "local_shell_call": (*_CALLED, "action"),
        "shell_call": (*_CALLED, "action", "caller", "environment"),
        "shell_call_output": (*_CALLED, "output", "caller", "max_output_length"),
        "apply_patch_call": (*_CALLED, "operation", "caller"),
        "apply_patch_call_output": (*_CALLED, "output", "caller"),
        "mcp_list_tools": ("id", "server_label", "tools", "error"),
        "mcp_call": ("id", "server_label", "name", "arguments", "output", "error", "approval_request_id", "status"),
        "mcp_approval_request": ("id", "server_label", "name", "arguments"),
        "tool_search_call": (*_CALLED, "arguments", "execution"),
        "tool_search_output": (*_CALLED, "tools", "execution"),
        "compaction": ("id", "encrypted_content"),
        "program": ("id", "call_id", "code", "fingerprint"),
        "program_output": (*_CALLED, "result"),
    }.items()
}
"""The input items of the Responses API, as its reference and the types of OpenAI's SDK have them."""
BOOKKEEPING = frozenset(("created_by", "logprobs", "parsed", "parsed_arguments", "status"))
"""Keys that no request needs, so that no Notice tells of them."""
PART_KEYS: Mapping[str, frozenset[str]] = {
    "output_text": frozenset(("type", "text", "annotations", "logprobs")),
    "refusal": frozenset(("type", "refusal")),
    "reasoning_text": frozenset(("type", "text")),
    "summary_text": frozenset(("type", "text")),
}
ANNOTATION_KEYS: Mapping[str, frozenset[str]] = {
    "file_citation": frozenset(("type", "file_id", "filename", "index")),
    "url_citation": frozenset(("type", "url", "title", "start_index", "end_index")),
    "container_file_citation": frozenset(
        ("type", "container_id", "file_id", "filename", "start_index", "end_index"),
    ),
    "file_path": frozenset(("type", "file_id", "index")),
}
"""The keys of each kind of annotation; the request needs them all."""
ACTION_KEYS: Mapping[str, frozenset[str]] = {
    "search": frozenset(("type", "query", "queries", "sources")),
    "open_page": frozenset(("type", "url")),
    "find_in_page": frozenset(("type", "pattern", "url")),
}
"""The keys of each kind of action of a web search."""
