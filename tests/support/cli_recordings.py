"""Recordings for the command line, and the events that it prints."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def recorded(file: Path, items: list[tuple[float, Any]], ends_at: float | None, form: str = "wire", **end: Any) -> str:
    """Write a recording of items with their seconds; without a time of the end it is broken off in the next line."""
    meta = {"penstock_recording": 1, "form": form, "api": None, "start": "2026-01-01T00:00:00.000000Z"}
    lines = [meta, *({"t_ns": int(at * 1e9), "raw": raw} for at, raw in items)]
    if ends_at is not None:
        lines.append({"t_ns": int(ends_at * 1e9), "end": "complete", **end})
    file.write_text("".join(json.dumps(line) + "\n" for line in lines) + ("" if ends_at is not None else '{"t_ns": 5'))
    return str(file)


def events_of(path: str | Path) -> list[str]:
    body = Path(path).read_bytes()
    return [body[: (cut := body.index(b"\n\n") + 2)].decode(), body[cut:].decode()]
