"""`Ledger`: what remembers which calls were started and what they answered, so that no call runs twice.

    intended -> started -> done | unknown

A ledger does one thing: it changes the entry of a key, with no other worker in between. What the changes are is here,
as functions from an entry and the time to the next entry; the ledgers themselves are in `penstock.scale`. Each may be
asked for again after a lost reply, and changes nothing then.

| change    | of an entry that is                                  | makes it                                  |
| --------- | ---------------------------------------------------- | ----------------------------------------- |
| `intend`  | not there                                            | intended                                  |
| `start`   | intended; unknown, if the tool may run again         | started, with an owner and a lease        |
| `renew`   | started by this owner                                | started, with a new lease                 |
| `finish`  | started by this owner, or unknown after that         | done, with the outcome                    |
| `deny`    | intended                                             | done, with the denial                     |
| `lose`    | started by this owner                                | unknown, with the reason                  |
| `release` | started by this owner, whose tool has not begun      | what it was before                        |
| each      | started, with a lease that has ended                 | unknown, before all else                  |
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any, Final, Literal, NamedTuple, Protocol, TypeAlias, cast

from pydantic_core import to_jsonable_python

from ...events.errors import PenstockError, UsageError
from ...events.tool_invocation import ToolInvocation, ToolResult
from ..log.stream_log import stream_name

LARGEST_OUTCOME: Final = 1024 * 1024
"""Characters of a result as JSON that a ledger keeps; the worker that ran the call has a larger one all the same."""
LEASE: Final = 30.0
"""Seconds for which a worker that starts a call is taken to live; it says so again after a third of them."""
KEPT: Final = 30 * 24 * 3600.0
"""Seconds for which an entry is kept after its last change."""

CallState: TypeAlias = Literal["intended", "started", "done", "unknown"]


class CallKey(str):
    """The key of a call: the same whenever the same call of the same answer comes again, on whatever machine.

    A parameter of a tool that is a `CallKey` is filled with it, and the model is not told of that parameter. Pass it on
    as the idempotency key of whatever the tool asks.

    >>> from penstock import ToolInvocation, tool
    >>> def charge(cents: int, key: CallKey) -> str:
    ...     return f"{cents} cents under {key[:8]}"
    >>> tool(charge).parameters["required"]
    ['cents']
    >>> tool(charge).run(ToolInvocation("call_1", "turn_1", "charge", {"cents": 5}))
    '5 cents under 1499884a'
    """

    __slots__ = ()


def call_key(turn_id: str | None, call_id: str) -> CallKey:
    """Return the key of a call: 40 hexadecimal digits.

    >>> call_key("turn_1", "call_1")
    '1499884a42055eca6cf0e041495131fb4090115a'
    """
    return CallKey(stream_name(turn_id, call_id))


def check_times(**seconds: object) -> None:
    """Raise a `UsageError` for times that are not a number above 0; one may be without an end."""
    for name, value in seconds.items():
        if type(value) not in (int, float) or not cast("float", value) > 0:  # a NaN is not above it either
            message = f"{name}= must be a number of seconds above 0, got {value!r:.80}"
            raise UsageError(message)


def call_digest(tool: str, arguments: Mapping[str, Any]) -> str:
    """Return a digest of a tool's name and the arguments of a call, whatever their order.

    >>> call_digest("pay", {"to": "Ann", "cents": 5}) == call_digest("pay", {"cents": 5, "to": "Ann"})
    True
    """
    said = json.dumps([tool, arguments], sort_keys=True, separators=(",", ":"), default=to_jsonable_python)
    return sha256(said.encode()).hexdigest()


class LedgerUnavailableError(PenstockError):
    """The ledger cannot be reached, or cannot be written; a call is not run then."""


class LedgerEntry(NamedTuple):
    """What a ledger knows of one call.

    - `key`: its `CallKey`. `digest`: of its tool and its arguments.
    - `owner`: the token of the worker that started it. `until`: when the lease of that worker ends.
    - `outcome`: JSON: of a `done` call its "value", "error" or "denied", of an `unknown` one "unknown", the reason.
    - `changed`: when it was changed last. Times are seconds since 1970, by the clock of the ledger.
    """

    key: str
    tool: str
    digest: str
    state: CallState
    owner: str
    until: float
    outcome: str
    changed: float

    @property
    def reason(self) -> str | None:
        """Why the call is unknown; None for any other."""
        said: str | None = json.loads(self.outcome)["unknown"] if self.state == "unknown" else None
        return said


Change: TypeAlias = Callable[["LedgerEntry | None", float], "LedgerEntry | None"]
"""From the entry of a key, None without one, and the time, to the entry that is to be there."""


class Ledger(Protocol):
    """The entries of calls by their keys, for any number of workers.

    All of it raises `LedgerUnavailableError` where a file or a server does not answer, and `UsageError` for one of
    another version.
    """

    @property
    def lease(self) -> float:
        """Seconds for which a worker that starts a call is taken to live."""
        ...

    async def change(self, key: str, change: Change) -> LedgerEntry | None:
        """Put what `change` makes of the entry of a key in its place, and return it, once it is safe on the disk.

        No other worker changes the entry meanwhile. `change` may be called more than once.
        """
        ...

    async def entry(self, key: str) -> LedgerEntry | None:
        """Return the entry of a key; None if there is none."""
        ...

    async def unknown_calls(self, *, most: int = 1000) -> list[LedgerEntry]:
        """Return the calls of which it is unknown whether they did their work, the oldest first."""
        ...

    async def aclose(self) -> None:
        """Release what this process holds of the ledger; the entries stay."""
        ...


_DIED: Final = json.dumps({"unknown": "the worker that ran it has died, or was cut off from the ledger"})


def as_of(entry: LedgerEntry, now: float) -> LedgerEntry:
    """Return an entry as it is at a time: a started one whose lease has ended is unknown."""
    if entry.state != "started" or now <= entry.until:
        return entry
    return entry._replace(state="unknown", outcome=_DIED, changed=now)


def intend(key: str, tool: str, digest: str) -> Change:
    """Note a call that has come."""

    def change(entry: LedgerEntry | None, now: float) -> LedgerEntry:
        if entry is None:
            return LedgerEntry(key, tool, digest, "intended", "", 0.0, "", now)
        return as_of(entry, now)

    return change


def start(intended: Change, digest: str, owner: str, lease: float, *, again: bool) -> Change:
    """Let one worker run the call; `again`: also one that is unknown."""

    def change(entry: LedgerEntry | None, now: float) -> LedgerEntry | None:
        entry = intended(entry, now)
        if entry is None or entry.digest != digest or entry.state not in ("intended", "unknown" if again else ""):
            return entry
        # The reason of an unknown one stays, so that `release` knows what it was.
        return entry._replace(state="started", owner=owner, until=now + lease, changed=now)

    return change


def renew(owner: str, lease: float) -> Change:
    return _by_owner(owner, lambda entry, now: entry._replace(until=now + lease, changed=now))


def finish(owner: str, outcome: str) -> Change:
    """Keep the outcome of a call; also of one that others took for unknown meanwhile."""

    def change(entry: LedgerEntry | None, now: float) -> LedgerEntry | None:
        if entry is None or entry.owner != owner or entry.state not in ("started", "unknown"):
            return entry
        return entry._replace(state="done", outcome=outcome, changed=now)

    return change


def deny(outcome: str) -> Change:
    """Keep the denial of a call that no worker has started."""

    def change(entry: LedgerEntry | None, now: float) -> LedgerEntry | None:
        if entry is None or entry.state != "intended":
            return entry
        return entry._replace(state="done", outcome=outcome, changed=now)

    return change


def lose(owner: str, reason: str) -> Change:
    outcome = json.dumps({"unknown": reason})
    return _by_owner(owner, lambda entry, now: entry._replace(state="unknown", outcome=outcome, changed=now))


def release(owner: str) -> Change:
    return _by_owner(
        owner,
        lambda entry, now: entry._replace(
            state="unknown" if entry.outcome else "intended", owner="", until=0.0, changed=now
        ),
    )


def _by_owner(owner: str, change: Callable[[LedgerEntry, float], LedgerEntry]) -> Change:
    """Change an entry that this owner has started, and no other."""

    def changed(entry: LedgerEntry | None, now: float) -> LedgerEntry | None:
        if entry is None or entry.owner != owner or (entry := as_of(entry, now)).state != "started":
            return entry
        return change(entry, now)

    return changed


def outcome_of(result: ToolResult, digest: str | None) -> str:
    """Return a result as the outcome of an entry; `digest`: of the whole call, None for one that is still written."""
    kind = "denied" if result.denied is not None else "error" if result.error is not None else "value"
    outcome = json.dumps({kind: getattr(result, kind), "sha256": digest})
    if len(outcome) <= LARGEST_OUTCOME:
        return outcome
    words = f"the tool answered, but the ledger keeps no result of {len(outcome):,} characters"
    return json.dumps({"error": words, "sha256": digest})


def kept_result(entry: LedgerEntry, call: ToolInvocation, digest: str | None) -> ToolResult | None:
    """Return the result of a call that is done; None if it was another call, by the digest of the whole."""
    said = json.loads(entry.outcome)
    if said.pop("sha256") not in (None, digest):
        return None
    return ToolResult(call.id, turn_id=call.turn_id, **said)
