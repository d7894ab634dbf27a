"""Who reads what: the readers of each workload, in groups that read the same format, and who is missing and why."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import NamedTuple

from penstock.operators.catalogue.dialect_for import DIALECTS

from .contest import Peer
from .engine_peers import engine_peers
from .json_peers import FLOORS, JSON_PEERS, pieces
from .own_readers import OWN_MACHINES, chains, text_reader, wire_readers
from .sdk_peers import sdk_peers
from .wires import TEXT_WIRES, WIRES

LANGUAGES = {"hermes": ("hermes", "Hermes"), "qwen3": ("qwen3_coder", "Qwen3-Coder")}
"""The languages of calls in text: the dialect that reads each, and its models."""


class Group(NamedTuple):
    """Readers that are measured in turns; the first of Penstock's is what the others are compared with."""

    title: str
    peers: list[Peer]


def groups(work: str, absent: list[str]) -> list[Group]:
    """Return the groups of a workload; who cannot be imported is added to `absent`."""
    found: list[Group] = []
    if work in ("W3", "W4"):
        for language, (dialect, model) in LANGUAGES.items():
            own = [
                text_reader(f"Penstock: {dialect}", language, dialect),
                text_reader("Penstock: all dialects", language, *DIALECTS),
            ]
            found.append(Group(f"from the text of a {model} model", [*own, *engine_peers(language, absent)]))
    if work in ("W1", "W1u", "W1e", "W2", "W5"):
        found.append(
            Group("from the deltas of the arguments", [*FLOORS, *OWN_MACHINES, *chains(), *json_peers(absent)])
        )
    if work not in ("W1u", "W1e", "W4"):
        sdks = sdk_peers(work)
        for api in TEXT_WIRES if work in ("W1", "W3") else WIRES:
            theirs = [peer for peer in sdks if peer.takes == f"bytes of {api}" and installed(peer, absent)]
            found.append(Group(f"from the bytes of {api}", [*wire_readers(api), *theirs]))
    return found


def installed(peer: Peer, absent: list[str]) -> bool:
    return is_there(peer.package, absent)


def is_there(package: str, absent: list[str]) -> bool:
    try:
        version(package)
    except PackageNotFoundError:
        note(f"{package}: not installed", absent)
        return False
    return True


def note(text: str, absent: list[str]) -> None:
    if text not in absent:
        absent.append(text)


def json_peers(absent: list[str]) -> list[Peer]:
    peers: list[Peer] = []
    for name, package, takes, make in JSON_PEERS:
        if is_there(package, absent):
            peers.append(Peer(name, takes, make(), pieces=pieces, package=package))
    return peers
