"""The buffer of this example: it owns the request to the provider, and writes the answer into a file.

    python examples/scale/buffer.py
    python examples/scale/replica.py 8001
    python examples/scale/replica.py 8002

Open http://127.0.0.1:8001, ask, and end that replica by Ctrl-C in mid-answer: the page goes on with the other one. With
OPENAI_API_KEY the model of OPENAI_MODEL answers; without, a recorded answer is played slowly. On several machines the
log is one of Redis or JetStream, and this file is `penstock buffer`. Needs: pip install ".[cli,scale]"
"""

import asyncio
import os
from contextlib import suppress
from pathlib import Path

from penstock.scale import BufferOptions, open_log
from penstock.scale.buffer.run_buffer import run_buffer
from penstock.studio.testing import ReplayServer

RECORDED = Path(__file__).parents[1] / "streams" / "chat_two_files.sse"
LOG = "sqlite:streams.sqlite"
PORT, PACE = int(os.environ.get("PORT", "8000")), float(os.environ.get("PACE", "0.3"))


async def main(upstream: str) -> None:
    log = open_log(LOG)
    try:
        await run_buffer(upstream, log, BufferOptions(), say=print, port=PORT)
    finally:
        await log.aclose()


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        if os.environ.get("OPENAI_API_KEY"):
            asyncio.run(main("https://api.openai.com"))
        else:
            with ReplayServer({"recorded": RECORDED.read_bytes()}, pace=PACE) as provider:
                asyncio.run(main(provider.url))
