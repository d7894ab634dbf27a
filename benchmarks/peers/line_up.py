"""Who reads what: the readers of each workload, in groups that read the same format, and who is missing and why."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import NamedTuple

from penstock.operators.catalogue.dialect_for import DIALECTS

from .contest import Peer
from .engine_peers import engine_peers
from .json_peers import FLOORS, JSON_PEERS, pieces
from .own_readers import chain, in_both_modes, json_machine, made_before, text_reader, wire_readers
from .sdk_peers import sdk_peers
from .wires import TEXT_WIRES, WIRES

LANGUAGES = {"hermes": ("hermes", "Hermes"), "qwen3": ("qwen3_coder", "Qwen3-Coder")}
"""The languages of calls in text: the dialect that reads each, and its models."""


class Group(NamedTuple):
    """Readers that are measured in turns; the first of Penstock's is what the others are compared with."""

    title: str
    peers: list[Peer]


def own_groups(work: str) -> dict[str, list[Peer]]:
    """Return Penstock's readers of a workload, by the title of their group."""
    found: dict[str, list[Peer]] = {}
    if work in ("W3", "W4"):
        for language, (dialect, model) in LANGUAGES.items():
            found[f"from the text of a {model} model"] = [
                text_reader(f"Penstock: {dialect}", language, dialect),
                text_reader("Penstock: all dialects", language, *DIALECTS),
            ]
    if work in ("W0", "W1", "W1u", "W1e", "W2", "W5"):
        found["from the deltas of the arguments"] = [json_machine(), chain()]
    if work == "W0":
        found["from the deltas of the arguments"].append(made_before())
    if work not in ("W1u", "W1e", "W4"):
        found |= {
            f"from the bytes of {api}": wire_readers(api) for api in (TEXT_WIRES if work in ("W1", "W3") else WIRES)
        }
    return found


def groups(work: str, absent: list[str]) -> list[Group]:
    """Return the groups of a workload; who cannot be imported is added to `absent`."""
    found: list[Group] = []
    sdks = sdk_peers(work)
    for title, own in own_groups(work).items():
        takes = own[0].takes
        if takes.startswith("text of "):
            others = engine_peers(takes.removeprefix("text of "), absent)
        elif takes == "calls":
            others = json_peers(absent)
        else:
            others = [peer for peer in sdks if peer.takes == takes and installed(peer, absent)]
        floors = FLOORS if takes == "calls" else ()
        found.append(Group(title, [*floors, *(each for peer in own for each in in_both_modes(peer)), *others]))
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
