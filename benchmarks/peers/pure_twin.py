"""Penstock's readers with `PENSTOCK_PURE=1`, in a process of their own that takes its turns among the others."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from importlib import import_module
from multiprocessing import get_context
from typing import Any

from penstock.operators.machines.json_machine import IS_NATIVE

from .contest import Case, Measured, Peer, Where, checked, seconds_of

NAMED = ", in Python"


def in_both_modes(peer: Peer) -> list[Peer]:
    """Return a reader, and where something was compiled its twin in Python."""
    return [peer, peer._replace(name=peer.name + NAMED, away=IN_PYTHON)] if IS_NATIVE else [peer]


def _checked_away(peer: Peer, case: Case, limit: float) -> Measured:
    return Measured(peer, case, *_away(_checked, peer, case, limit))


def _seconds_away(peer: Peer, case: Case, repeats: int) -> float:
    return _away(_seconds, peer, case, repeats)


IN_PYTHON = Where(_checked_away, _seconds_away)


def _away(function: Callable[..., Any], peer: Peer, case: Case, *arguments: Any) -> Any:
    known = peer.name.removesuffix(NAMED), peer.takes, case.work, case.size, case.delta
    return _process().submit(function, *known, *arguments).result()


@cache
def _process() -> ProcessPoolExecutor:
    before = os.environ.get("PENSTOCK_PURE")
    os.environ["PENSTOCK_PURE"] = "1"
    try:
        process = ProcessPoolExecutor(1, get_context("spawn"), gc.disable)
        process.submit(gc.collect).result()  # it has started, and has its environment
    finally:
        del os.environ["PENSTOCK_PURE"]
        if before is not None:
            os.environ["PENSTOCK_PURE"] = before
    return process


def _checked(name: str, takes: str, work: str, size: int, delta: int, limit: float) -> tuple[Any, ...]:
    _, _, *found, _ = checked(_reader(work, name, takes), _case(work, size, delta), limit)
    return tuple(found)


def _seconds(name: str, takes: str, work: str, size: int, delta: int, repeats: int) -> float:
    return seconds_of(_reader(work, name, takes), _case(work, size, delta), repeats)


@cache
def _reader(work: str, name: str, takes: str) -> Peer:
    groups = import_module("peers.line_up").own_groups(work)
    return next(each for own in groups.values() for each in own if (each.name, each.takes) == (name, takes))


_cases: dict[tuple[str, int, int], Case] = {}


def _case(work: str, size: int, delta: int) -> Case:
    key = work, size, delta
    if key not in _cases:
        _cases.clear()
        works = import_module("peers.workloads").WORKS
        _cases[key] = next(each for each in works if each.name == work).case(size, delta)
    return _cases[key]
