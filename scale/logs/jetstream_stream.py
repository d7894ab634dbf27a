"""How streams lie in JetStream: the stream of JetStream's that holds them, and the messages that hold their items.

One stream of JetStream's holds all, each under a subject of its own. A message is an append, with all its items, or one
of what else may happen to a stream. Each has what is to be known of the whole, so that the last says where it is. Its
number in JetStream's stream is that of the last message of the subject which the next one has to name: that of a claim
is the fencing token, and whoever names another is refused by the server itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

import msgspec

from ...events.errors import PenstockError, UsageError
from ...sinks.log.stream_log import LogItem, Retention

VERSION: Final = 1
"""Of the messages and of the configuration."""
OPEN, CLOSED, FORGOTTEN = 0, 1, 2
_FRAME: Final = 16
"""Bytes that an item takes beside its own, at most."""
_HEADERS: Final = 1024
"""Bytes of a message beside its items, at most."""
_SMALLEST: Final = 64 * 1024
"""Bytes that the largest message must be allowed to have; an item that is larger takes several."""
_OLDEST_SERVER: Final = (2, 12)
"""The first with messages that are stored together or not at all; several at once are read since 2.11."""


class Refused(PenstockError):  # noqa: N818 - an answer, which whoever asked turns into an error of the log
    """What JetStream answers in place of what was asked; `code` is its own number of the error."""

    def __init__(self, status: int, code: int, description: str) -> None:
        super().__init__(status, code, description)
        self.status, self.code, self.description = status, code, description

    def __str__(self) -> str:
        return f"JetStream refuses: {self.description} (error {self.code})"


class _Error(msgspec.Struct):
    code: int = 0
    err_code: int = 0
    description: str = ""


class _Answer(msgspec.Struct):
    error: _Error | None = None
    seq: int = 0


class Answered(NamedTuple):
    """A message, and what the server says of it."""

    data: bytes
    headers: dict[str, str]


class Entry(msgspec.Struct, array_like=True, gc=False):
    """A message of a stream.

    - `born`, `fence`: the numbers of the messages of the first and of the last claim; 0 in that message itself.
    - `after`: the number of the last item before it.
    - `part`, `parts`: 0, or which part of an item it has that takes so many messages.
    """

    version: int
    born: int
    fence: int
    status: int
    after: int
    items: list[bytes] = []
    part: int = 0
    parts: int = 0

    @property
    def last(self) -> int:
        return self.after if self.part < self.parts else self.after + len(self.items)

    @property
    def first(self) -> int:
        """The number of the first item that can be read from here on."""
        return self.after + (2 if self.part > 1 else 1)


class Place(NamedTuple):
    """What the last message of a stream says: its number in JetStream's stream, and where the stream is then."""

    seq: int
    born: int
    fence: int
    status: int
    last: int

    @property
    def is_closed(self) -> bool:
        return self.status == CLOSED


def place_of(entry: Entry, seq: int) -> Place:
    """Return where a stream is behind a message."""
    return Place(seq, entry.born or seq, entry.fence or seq, entry.status, entry.last)


_ENCODER: Final = msgspec.msgpack.Encoder()
_DECODER: Final = msgspec.msgpack.Decoder(Entry)


def encoded(born: int, fence: int, status: int, after: int) -> bytes:
    """Return the bytes of a message without items."""
    return _ENCODER.encode(Entry(VERSION, born, fence, status, after))


def encoded_items(place: Place, items: Sequence[bytes], largest: int) -> Iterator[bytes]:
    """Yield the bytes of the messages that append items at a place, each of which has at most so many.

    Without items it is one message, which says that the writer is alive.
    """
    after, room = place.last, largest - _HEADERS
    entry = partial(Entry, VERSION, place.born, place.fence, OPEN)
    for group in _in_messages(items, room):
        if len(group) == 1 and len(group[0]) > room:
            parts = [group[0][at : at + room] for at in range(0, len(group[0]), room)]
            for part, data in enumerate(parts, 1):
                yield _ENCODER.encode(entry(after, [data], part, len(parts)))
        else:
            yield _ENCODER.encode(entry(after, group))
        after += len(group)


def _in_messages(items: Sequence[bytes], room: int) -> Iterator[list[bytes]]:
    """Yield the items as they go into messages; one that is too large for any goes alone."""
    group: list[bytes] = []
    size = 0
    for item in items:
        size += len(item) + _FRAME
        if group and size > room:
            yield group
            group, size = [], len(item) + _FRAME
        group.append(item)
    yield group


def decoded(data: bytes) -> Entry:
    """Return a message; `UsageError` for one that another version has written, or something else."""
    try:
        entry = _DECODER.decode(data)
    except msgspec.MsgspecError:
        entry = None
    if entry is None or entry.version != VERSION:
        message = (
            "JetStream's stream has messages that this version of Penstock did not write: "
            "let all processes have one version, or give the log another name="
        )
        raise UsageError(message)
    return entry


class Joined:
    """Puts together what is in messages that follow each other.

    - `number`: that of the last item so far. `seq`: from which message on the next ones are.
    """

    def __init__(self, number: int, seq: int = 0) -> None:
        self.number, self.seq = number, seq
        self._parts: list[bytes] = []

    def lacks(self, entry: Entry) -> bool:
        """Return whether there is a message missing in front of this one."""
        return entry.after > self.number or (entry.part > 1 and not self._parts)

    def items(self, seq: int, entry: Entry) -> list[LogItem]:
        """Return the items behind `number` that are whole with this message."""
        items = entry.items
        if entry.part:
            self._parts = [*self._parts, *items] if entry.part > 1 else items
            if entry.part < entry.parts:
                return []
            items, self._parts = [b"".join(self._parts)], []
        begin = max(0, self.number - entry.after)
        self.number = max(self.number, entry.last)
        self.seq = seq + 1
        return [LogItem(at, data) for at, data in enumerate(items[begin:], entry.after + begin + 1)]


def configuration(name: str, retention: Retention, replicas: int) -> dict[str, Any]:
    """Return the configuration of JetStream's stream: nothing in it grows without end."""
    return {
        "name": name,
        "subjects": [f"{name}.s.*"],
        "retention": "limits",
        "discard": "old",
        "storage": "file",
        "max_age": round(retention.seconds * 1e9),
        # Of messages, not of items: claims and signs of life take places too.
        "max_msgs_per_subject": 2 * retention.items,
        "num_replicas": replicas,
        "allow_direct": True,
        "allow_atomic": True,
        # What is stored is told to whoever listens: no reader is a consumer, of which a server has few.
        "republish": {"src": f"{name}.s.*", "dest": f"{name}.n.{{{{wildcard(1)}}}}"},
        "metadata": {"penstock": str(VERSION)},
    }


_AS_IT_LIKES: Final = frozenset({"num_replicas", "storage"})
"""What whoever made the stream may have chosen otherwise."""


def check_configuration(found: dict[str, Any], wanted: dict[str, Any]) -> None:
    """Do nothing if a stream of JetStream's is as it must be; else `UsageError`, which says what to do."""
    name = wanted["name"]
    version = found.get("metadata", {}).get("penstock")
    if version != str(VERSION):
        whose = "something else than Penstock" if version is None else f"another version of Penstock ({version})"
        message = (
            f"JetStream's stream {name} is of {whose}: give the log another name=, or delete it: nats stream rm {name}"
        )
        raise UsageError(message)
    others = [
        f"{key} is {found.get(key)!r} and must be {value!r}"
        for key, value in wanted.items()
        if key not in _AS_IT_LIKES and key != "metadata" and found.get(key) != value
    ]
    others += [f"{key} is set" for key in ("sealed", "deny_purge", "mirror", "sources", "no_ack") if found.get(key)]
    if 0 <= found.get("max_msg_size", -1) < _SMALLEST:
        others.append(f"max_msg_size is {found['max_msg_size']} and must be {_SMALLEST} or more")
    if others:
        message = (
            f"JetStream's stream {name} is set up otherwise: {'; '.join(others)}; give all processes one retention=, "
            f"change it with nats stream edit {name}, or give the log another name="
        )
        raise UsageError(message)


def check_server(version: tuple[int, int], largest: int) -> None:
    """Do nothing if a server can hold a log; else `UsageError`."""
    if version < _OLDEST_SERVER:
        message = f"a log needs nats-server 2.12 or later, and this is {version[0]}.{version[1]}: update it"
        raise UsageError(message)
    if largest < _SMALLEST:
        message = f"max_payload of the server is {largest} bytes: set it to {_SMALLEST} or more in its configuration"
        raise UsageError(message)


_ANSWER_DECODER: Final = msgspec.json.Decoder(_Answer)


def sequence_of(answer: Answered) -> int:
    """Return the number that a message has in JetStream's stream; `Refused` if it has none."""
    told = _ANSWER_DECODER.decode(answer.data)
    if (error := told.error) is not None:
        raise Refused(error.code, error.err_code, error.description)
    return told.seq


def fields_of(answer: Answered) -> dict[str, Any]:
    """Return what a request of JetStream's own interface is answered; `Refused` if it is refused."""
    sequence_of(answer)
    return msgspec.json.decode(answer.data, type=dict[str, Any])
