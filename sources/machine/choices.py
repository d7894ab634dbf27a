"""`Choices`: which of several answers to one request is read."""

from __future__ import annotations

from typing import Literal, TypeAlias

Choices: TypeAlias = int | Literal["all"]
