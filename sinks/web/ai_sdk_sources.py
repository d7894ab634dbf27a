"""What a message of the AI SDK shows of a provider's own objects: sources, files, and failures of its tools."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from mimetypes import guess_type
from typing import Any, Final, TypeGuard, cast
from urllib.parse import urlsplit

_URLS: Final = ("url", "uri", "retrievedUrl", "sourceUri", "source")
"""The keys under which providers give the URL of a source. Only http and https are links; a browser may run others."""
_NAMES: Final = ("filename", "file_name", "document_title", "file_id")
"""The keys under which they name a document."""
_OF_DOCUMENT: Final = ("uri", "source", "text", "document_index")
"""The keys beside which a title is that of a document."""
_MEDIA_TYPES: Final = {"page_location": "application/pdf"}
"""The media types of documents, by the type of what cites them, where their names do not say it."""
_BEGINNINGS: Final = {"iVBOR": "image/png", "/9j/": "image/jpeg", "R0lGOD": "image/gif", "UklGR": "image/webp"}
"""How images in base64 begin."""
_FAILED: Final = frozenset(("OUTCOME_FAILED", "OUTCOME_DEADLINE_EXCEEDED"))


def source_frames(data: Any) -> Iterator[dict[str, Any]]:
    """Yield the sources in a citation or in what an answer is grounded on, in the form of any provider.

    >>> list(source_frames({"type": "url_citation", "url": "https://example.com/", "title": "Example"}))
    [{'type': 'source-url', 'sourceId': 'https://example.com/', 'url': 'https://example.com/', 'title': 'Example'}]
    >>> list(source_frames({"type": "file_citation", "file_id": "file-1", "filename": "a.pdf"}))
    [{'type': 'source-document', 'sourceId': 'file-1', 'mediaType': 'application/pdf', 'title': 'a.pdf'}]
    """
    if _is_list(data):
        for each in data:
            if _is_link(each):
                yield {"type": "source-url", "sourceId": each, "url": each}
            else:
                yield from source_frames(each)
    elif isinstance(data, dict):
        fields = cast("dict[str, Any]", data)
        frame = _link(fields) or _document(fields)
        if frame is not None:
            yield frame
        else:
            yield from source_frames([value for value in fields.values() if not isinstance(value, str)])


def file_frames(data: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the files that come with their content or a link, but for those of the model's thoughts.

    >>> list(file_frames({"inlineData": {"mimeType": "application/pdf", "data": "JVBERg=="}}))
    [{'type': 'file', 'mediaType': 'application/pdf', 'url': 'data:application/pdf;base64,JVBERg=='}]
    """
    inline, linked = _fields(data.get("inlineData")), _fields(data.get("fileData"))
    if data.get("thought"):
        return
    if content := _text(inline.get("data")):
        media_type = _text(inline.get("mimeType")) or "application/octet-stream"
        yield _data_url(media_type, content.translate({ord("-"): "+", ord("_"): "/"}))
    if _is_link(url := linked.get("fileUri")):
        yield _file(_text(linked.get("mimeType")) or _guessed(url) or "application/octet-stream", url)
    images = data.get("images")
    for image in images if _is_list(images) else ():
        if content := _text(image):
            media_type = next((each for begin, each in _BEGINNINGS.items() if content.startswith(begin)), "image/png")
            yield _data_url(media_type, content)


def media_frame(kind: str, url: str) -> dict[str, Any]:
    """Return the file part of an image, a sound or a video.

    >>> media_frame("image", "https://example.com/a.png"), media_frame("image", "https://example.com/")["mediaType"]
    ({'type': 'file', 'mediaType': 'image/png', 'url': 'https://example.com/a.png'}, 'image/*')
    """
    if url.startswith("data:"):
        known: str | None = url[len("data:") :].partition(",")[0].partition(";")[0]
    else:
        known = _guessed(url)
    return _file(known if known and known.startswith(kind) else f"{kind or 'application'}/*", url)


def failure_in(data: Mapping[str, Any]) -> str | None:
    """Return why a tool that the provider ran has failed; None if it has not.

    >>> failure_in({"type": "web_search_tool_result", "content": {"type": "x_error", "error_code": "too_many"}})
    'too_many'
    >>> failure_in({"type": "mcp_call", "error": {"message": "no such tool"}}), failure_in({"status": "completed"})
    ('no such tool', None)
    """
    content, error, ran = data.get("content"), data.get("error"), _fields(data.get("codeExecutionResult"))
    if data.get("is_error"):
        texts = (_text(_fields(each).get("text")) for each in content) if _is_list(content) else ()
        return "\n".join(filter(None, texts)) or _text(content) or "the tool failed"
    if _text(_fields(content).get("type")).endswith("_error"):
        return _first(_fields(content), ("error_code", "error_message")) or "the tool failed"
    if error:
        return _text(error) or _first(_fields(error), ("message", "code", "type")) or "the tool failed"
    if ran.get("outcome") in _FAILED:
        return _text(ran.get("output")) or "the code failed"
    return "the tool failed" if data.get("status") == "failed" else None


def _link(fields: dict[str, Any]) -> dict[str, Any] | None:
    url = next((fields[key] for key in _URLS if _is_link(fields.get(key))), None)
    if url is None:
        return None
    title = _first(fields, ("title",))
    return {"type": "source-url", "sourceId": url, "url": url} | ({"title": title} if title else {})


def _document(fields: dict[str, Any]) -> dict[str, Any] | None:
    names = (*_NAMES, "title") if any(key in fields for key in _OF_DOCUMENT) else _NAMES
    if not (title := _first(fields, names)):
        return None
    media_type = _guessed(title) or _MEDIA_TYPES.get(_text(fields.get("type")), "text/plain")
    source_id = _first(fields, ("file_id",)) or title
    return {"type": "source-document", "sourceId": source_id, "mediaType": media_type, "title": title}


def _file(media_type: str, url: str) -> dict[str, Any]:
    return {"type": "file", "mediaType": media_type, "url": url}


def _data_url(media_type: str, content: str) -> dict[str, Any]:
    return _file(media_type, f"data:{media_type};base64,{content}")


def _guessed(name: str) -> str | None:
    try:
        return guess_type(urlsplit(name).path)[0]
    except ValueError:  # no URL
        return None


def _is_list(value: Any) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def _is_link(value: Any) -> TypeGuard[str]:
    return isinstance(value, str) and value.startswith(("https://", "http://"))


def _first(fields: Mapping[str, Any], keys: Iterable[str]) -> str:
    return next((text for key in keys if (text := _text(fields.get(key)))), "")


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _fields(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
