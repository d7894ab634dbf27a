"""The ledgers, each new: what is asked of one is asked of all."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeAlias
from uuid import uuid4

import psycopg

from penstock.scale import PostgresLedger, SqliteLedger

BACKENDS = ("sqlite", "postgres")
AnyLedger: TypeAlias = SqliteLedger | PostgresLedger


def new_address(backend: str, folder: Path, server: str) -> str:
    """Return where a new ledger is: a file, or a schema of its own in the database of a server."""
    name = f"ledger_{uuid4().hex}"
    if backend == "sqlite":
        return str(folder / f"{name}.sqlite")
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"create schema {name}".encode())
    return f"{server}?options=-csearch_path%3D{name}"


def at(address: str, **options: Any) -> AnyLedger:
    return PostgresLedger(address, **options) if "://" in address else SqliteLedger(address, **options)


@asynccontextmanager
async def opened(address: str, **options: Any) -> AsyncGenerator[AnyLedger, None]:
    ledger = at(address, **options)
    try:
        yield ledger
    finally:
        await ledger.aclose()
