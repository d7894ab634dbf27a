"""`Recorder`: each request and the stream of its answer as a recording, in a folder of a bounded size."""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

import msgspec

from ...events.errors import UsageError, without_credentials
from ...operators.redaction.plain_data import redacted_data
from ...operators.redaction.rules import Rules
from ...sources.from_stream import stream_within
from ...sources.recordings.recording_file import RecordingFile, new_file
from ...sources.streams.bounded_read import LONGEST, LONGEST_BODY
from ...sources.streams.taps import tapped
from ..neutral import ANSWER_ID
from .redacted_events import RedactedEvents

_LOGGER: Final = logging.getLogger("penstock.gateway")
_OURS: Final = re.compile(rf"\d{{4}}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{{6}}-{ANSWER_ID}\.jsonl")
_HIDDEN: Final = "***"
_API: Final = "openai-chat"
_KEYS: Final = frozenset(
    ("authorization", "authorization_token", "access_token", "api_key", "apikey", "api-key", "x-api-key", "password")
)
"""Fields of a request that hold what opens something, such as the token of an MCP server."""


class ClientRequest(NamedTuple):
    """A request as it came, without its headers."""

    path: str
    body: bytes


class Recorder:
    """Writes recordings into a folder; the oldest of its own go when all are longer than `most` bytes.

    Each file is named by the time and by the id of the answer, holds the stream of the upstream, and in its first line
    the request of the client. `UsageError` for a folder that cannot be made or read.
    """

    def __init__(self, folder: str | PathLike[str], *, most: int = 1024**3) -> None:
        self.folder = Path(folder)
        self._most = most
        self._growing: list[RecordingFile] = []
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)  # it holds what people say
            kept = sorted(each for each in self.folder.iterdir() if _OURS.fullmatch(each.name))
            self._sizes = {each: each.stat().st_size for each in kept}
        except OSError as error:
            message = f"cannot record into {self.folder}: {error.strerror or error}; name another folder"
            raise UsageError(message) from error

    async def recorded(
        self,
        ask: Callable[[], Awaitable[Any]],
        answer_id: str,
        request: ClientRequest,
        log: dict[str, Any],
        *,
        api: str = _API,
        rules: Rules | None = None,
    ) -> Any:
        """Return the stream that `ask` opens, which is written while it is read; a refusal is written, too.

        - `api`: the form of the stream. `rules`: what is redacted in the file.

        Where no file can be made, the stream comes without one, and the log says so.
        """
        try:
            file = self.begin(answer_id, request, api, rules)
        except (UsageError, OSError) as error:  # OSError: an old recording cannot be removed
            _LOGGER.warning("a request is not recorded: %s", error)
            return await ask()
        log["recorded"] = Path(file.path).name
        try:
            source = await ask()
        except Exception as error:
            file.end(error)
            raise
        except BaseException:
            file.end(is_closed=True)
            raise
        return tapped(stream_within(source) or source, lambda: file)

    def begin(
        self, answer_id: str, request: ClientRequest, api: str = _API, rules: Rules | None = None
    ) -> RecordingFile:
        """Return the new file of a recording; `UsageError` if it cannot be made."""
        self._make_room()
        stamp = datetime.now(UTC).strftime("%Y-%m-%dT%H-%M-%S.%f")
        path = self.folder / f"{stamp}-{answer_id}.jsonl"
        made = new_file(path, overwrite=False)
        path.chmod(0o600)  # it holds what people say, in whatever folder
        kept: dict[str, Any] = {"path": request.path}
        if len(request.body) <= LONGEST_BODY:
            body = without_keys(msgspec.json.decode(request.body))
            kept["body"] = body if rules is None else redacted_data(rules, body)
        redact = None if rules is None else RedactedEvents(rules)
        file = RecordingFile(made, api=api, redact=redact, request=kept, most=LONGEST)
        self._growing.append(file)
        return file

    def _make_room(self) -> None:
        """Remove the oldest recordings, until all are as long as they may be; those that are written stay."""
        self._sizes.update(_sizes_of(self._growing))
        self._growing = [each for each in self._growing if not each.is_closed]
        growing = {Path(each.path) for each in self._growing}
        total = sum(self._sizes.values())
        for path in [each for each in self._sizes if each not in growing]:
            if total <= self._most:
                return
            total -= self._sizes.pop(path)
            path.unlink(missing_ok=True)


def _sizes_of(files: list[RecordingFile]) -> Iterator[tuple[Path, int]]:
    for each in files:
        path = Path(each.path)
        if path.exists():  # nobody has removed it
            yield path, path.stat().st_size


def without_keys(body: Any) -> Any:
    """Return the JSON of a request, in which what opens something is hidden.

    >>> without_keys({"tools": [{"type": "mcp", "server_url": "https://a.example", "authorization": "secret"}]})
    {'tools': [{'type': 'mcp', 'server_url': 'https://a.example', 'authorization': '***'}]}

    The JSON itself is changed. The text of messages and the arguments of calls stay as they are.
    """
    left: list[Any] = [body]
    while left:
        each = left.pop()
        if isinstance(each, list):
            left += each
        elif isinstance(each, dict):
            fields = cast("dict[str, Any]", each)
            _hide_in(fields)
            left += fields.values()
    return body


def _hide_in(fields: dict[str, Any]) -> None:
    for key, value in fields.items():
        if isinstance(value, str) and key.casefold() in _KEYS:
            fields[key] = _HIDDEN
        elif isinstance(value, str) and value.startswith(("http://", "https://")):
            fields[key] = without_credentials(value)
        elif isinstance(value, dict) and key == "headers" and fields.get("type") == "mcp":
            fields[key] = dict.fromkeys(cast("dict[str, Any]", value), _HIDDEN)
