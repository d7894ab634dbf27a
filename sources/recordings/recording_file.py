"""`RecordingFile`: the file of one recording, written line by line, so that it survives a crash."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeAlias, cast

from msgspec import UNSET

from ...events.chunk_response import ChunkResponse
from ...events.errors import UsageError
from ..base.endings import provider_error
from ..framing.served import WireBody
from ..recognition.apis import api_of
from ..recognition.recognised_api import apis_of, apis_of_body
from .recording_format import (
    ItemForm,
    RecordedItem,
    RecordingEnd,
    RecordingMeta,
    WireEvents,
    line_of,
    model_in,
    raw_form,
    wire_text,
)

Redact: TypeAlias = Callable[[Any], Any]
"""Returns what is kept of a raw item; None keeps nothing of it."""


_NOT_CONNECTED = frozenset({"ConnectError", "ConnectTimeout", "ClientConnectorError", "ConnectionRefusedError"})
"""What httpx, aiohttp and the system raise for a server that they do not reach."""


def is_refusal(error: BaseException) -> bool:
    """Return whether an SDK got an HTTP error in place of a stream, or no connection.

    An error inside a stream comes with the response's status, which is 200, or with none.

    >>> is_refusal(ConnectionRefusedError()), is_refusal(ConnectionResetError())
    (True, False)
    """
    raised = error.__cause__ or error  # ours come from the SDK's
    if _NOT_CONNECTED & {kind.__name__ for kind in type(raised).__mro__}:
        return True
    response = getattr(raised, "response", None)
    status = getattr(raised if response is None else response, "status_code", None)
    return isinstance(status, int) and 400 <= status < 600


_LOGGER = logging.getLogger("penstock")
_DISTRIBUTIONS = {"google": "google-genai"}
"""The distribution of a package whose name is another."""


class NewFile(NamedTuple):
    """An open file, and whether its content is to be replaced."""

    file: BinaryIO
    is_replaced: bool


class RecordingFile:
    """One recording: `write` each item, then `end`. Nothing is written before the first item, but the file is there.

    Each line is handed to the system before the next item is read. A file that cannot be written any more (a full disk)
    is given up with a warning of the logger `penstock`: the stream goes on. The same holds for an item that is nested
    too deeply, or is of another form than those before, and for one that makes the file longer than `most` bytes.

    - `request`: what was asked, as JSON; with it the file of a request that was refused stays, too.
    """

    def __init__(
        self,
        file: NewFile,
        *,
        api: str | None = None,
        redact: Redact | None = None,
        request: Any = UNSET,
        most: float = math.inf,
    ) -> None:
        self._file, self._is_replaced = file
        self._api = None if api is None else api_of(api).name
        self._redact = redact
        self._request = request
        self._left = most
        self._start = datetime.now(UTC)
        self._start_ns = time.perf_counter_ns()
        self._wire: WireEvents | None = None
        self._form: ItemForm | None = None
        self._has_items = False
        self.is_kept = True
        """Whether the file stays; it does not if there was no stream."""
        self._before: bytes | None = None
        """The content that was replaced."""

    def write(self, item: object) -> None:
        if isinstance(item, WireBody):
            return  # the bytes follow, and show the API themselves
        self._has_items = True
        now = self._now()
        if isinstance(item, bytes | bytearray | memoryview):
            self._wire = self._wire or WireEvents()
            for event in self._wire.feed(bytes(cast("bytes", item))):
                self._keep(event, wire_text(event), "wire", now)
        else:
            try:
                raw = raw_form(item)
            except RecursionError as error:
                self._give_up(error)
                return
            self._keep(item, raw, _form_of(item), now)

    def end(self, error: Exception | None = None, *, is_closed: bool = False) -> None:
        """Write how the stream ended, and close the file; a second end says nothing.

        Some SDKs send the request when their stream is first read: if it is refused then, no file is left.
        """
        if self._file.closed:
            return
        if error is not None and not self._has_items and self._request is UNSET and is_refusal(error):
            self.discard()
            return
        now = self._now()
        redacting: Exception | None = None
        try:
            for event in self._wire.close() if self._wire is not None else ():
                self._keep(event, wire_text(event), "wire", now)
        except Exception as raised:  # noqa: BLE001 - what redact raises; the file is ended first
            redacting = None if error is not None else raised
            error = error or raised
        if self._form is None:
            self._line(RecordingMeta(form="items", api=self._api, start=self._started(), request=self._request))
        if error is not None:
            error = provider_error(error) or error
        end = RecordingEnd(now, "closed") if is_closed else RecordingEnd.of(now, error)
        self._line(end if self._redact is None else end.without_detail())
        self._file.close()
        if redacting is not None:
            raise redacting

    def discard(self) -> None:
        """Leave no file, or the one that was to be replaced: there was no stream."""
        self.is_kept = False
        self._file.close()
        if not self._is_replaced:
            Path(self._file.name).unlink(missing_ok=True)
        elif self._before is not None:
            Path(self._file.name).write_bytes(self._before)

    @property
    def path(self) -> str:
        return self._file.name

    @property
    def is_closed(self) -> bool:
        """Whether nothing more is written."""
        return self._file.closed

    def _now(self) -> int:
        return time.perf_counter_ns() - self._start_ns

    def _started(self) -> str:
        return self._start.isoformat(timespec="microseconds").replace("+00:00", "Z")

    def _keep(self, item: object, raw: Any, form: ItemForm, now: int) -> None:
        if self._redact is not None and (raw := self._redact(raw)) is None:
            return
        if self._redact is not None and not _is_of(form, raw):
            message = f"redact= must return a str or None for each item of this stream, got {type(raw).__name__}"
            raise UsageError(message)
        if self._form is None:
            self._form = form
            self._line(self._meta(item, raw, form))
        if form != self._form:
            self._give_up(f"it holds {self._form}, and the next item is of {form}")
            return
        self._line(RecordedItem(now, raw))

    def _meta(self, item: Any, raw: Any, form: ItemForm) -> RecordingMeta:
        root = str(type(item).__module__).partition(".")[0]
        sdk = root if form == "items" and root != "builtins" else None
        distribution, installed = (None, None) if sdk is None else _installed(_DISTRIBUTIONS.get(sdk, sdk))
        return RecordingMeta(
            form=form,
            api=self._api or _api_of(item, form),
            model=model_in(raw),
            sdk=distribution,
            sdk_version=installed,
            start=self._started(),
            request=self._request,
        )

    def _line(self, line: RecordingMeta | RecordedItem | RecordingEnd) -> None:
        if self._file.closed:
            return
        try:
            if isinstance(line, RecordingMeta) and self._is_replaced:
                self._before = self._file.read()
                self._file.seek(0)
                self._file.truncate()
            written = line_of(line)
            self._left -= len(written)
            if self._left < 0:
                self._give_up("it would be longer than it may be")
                return
            self._file.write(written)
            self._file.flush()
        except (OSError, TypeError, ValueError, RecursionError) as error:
            self._give_up(error)

    def _give_up(self, why: object) -> None:
        if self._file.closed:
            return
        _LOGGER.warning("penstock: the recording %s ends here, it cannot be written: %s", self._file.name, why)
        with suppress(OSError):  # closing writes what is left, and fails as the line did
            self._file.close()


def new_file(path: str | PathLike[str], *, overwrite: bool) -> NewFile:
    """Open the file of a new recording; in a folder, one that is named by the time."""
    target = Path(path)
    try:
        place = target.absolute()  # a request may change the working directory, and `discard` must find the file
        if overwrite and target.is_file():
            return NewFile(place.open("r+b"), is_replaced=True)
        if not target.is_dir():
            return NewFile(place.open("xb"), is_replaced=False)
        while True:
            stamp = datetime.now(UTC).strftime("%Y-%m-%dT%H-%M-%S.%f")
            try:
                return NewFile((place / f"{stamp}.jsonl").open("xb"), is_replaced=False)
            except FileExistsError:  # another stream of the same microsecond
                continue
    except FileExistsError:
        message = f"{target} exists already; choose another path, overwrite=True, or a folder for several streams"
        if overwrite:
            message = f"{target} exists already and is not a file that can be overwritten; choose another path"
    except (OSError, ValueError) as error:  # ValueError: a path that no system has
        message = f"cannot write the recording {target}: {getattr(error, 'strerror', None) or error}"
    raise UsageError(message)


def _form_of(item: object) -> ItemForm:
    if isinstance(item, str):
        return "texts"
    return "chunks" if isinstance(item, ChunkResponse) else "items"


def _is_of(form: ItemForm, raw: Any) -> bool:
    if form == "wire" and isinstance(raw, dict):
        return isinstance(cast("dict[str, object]", raw).get("base64"), str)
    return form not in ("wire", "texts") or isinstance(raw, str)


def _api_of(item: object, form: ItemForm) -> str | None:
    if form == "wire":
        return next(apis_of_body(bytes(item)), None) if isinstance(item, bytes) else None
    if isinstance(item, ChunkResponse):
        return item.api
    apis = apis_of(item) if form == "items" else []
    return apis[0] if len(apis) == 1 else None


@cache
def _installed(distribution: str) -> tuple[str | None, str | None]:
    try:
        return distribution, version(distribution)
    except PackageNotFoundError:
        return None, None
