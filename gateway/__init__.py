"""The gateway: requests of agent clients in, a local model's broken calls made right, honest streams out."""

from __future__ import annotations

__all__: list[str] = []
