"""For the examples: a provider that the environment has no key for is played from recordings, through its real SDK."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

from penstock.studio.testing import ReplayServer

STREAMS = Path(__file__).with_name("streams")
PACE = 0.03


@contextmanager
def quiet_when_closed() -> Iterator[None]:
    """End without a word once the reader of the output, such as `head`, has left."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left is flushed to nowhere at the exit


@contextmanager
def keys_or_recordings(*names: str) -> Iterator[None]:
    """Let the SDKs find a server on this machine, which answers with these recordings in turn."""
    with ReplayServer({name: (STREAMS / f"{name}.sse").read_bytes() for name in names}, pace=PACE) as server:
        addresses = {"OPENAI": f"{server.url}/v1", "ANTHROPIC": server.url}
        missing = [name for name in addresses if not os.environ.get(f"{name}_API_KEY")]
        keys = {f"{name}_API_KEY": "none" for name in missing}
        with patch.dict(os.environ, keys | {f"{name}_BASE_URL": addresses[name] for name in missing}):
            yield
