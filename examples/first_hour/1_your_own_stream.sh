#!/usr/bin/env bash
# From a clone to a stream of your own: what came, when, and what your code sees of it. Needs OPENAI_API_KEY.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
export PATH=$PWD/.venv/bin:$PATH
mkdir -p build

python3 -m venv .venv
.venv/bin/python -m pip install --quiet ".[cli]"
penstock demo --pace 3
penstock record -o build/answer.jsonl --overwrite --provider openai --model "${OPENAI_MODEL:-gpt-5}" \
  --tool write_file "Write a small garden in SVG."
penstock inspect build/answer.jsonl
penstock marbles build/answer.jsonl -o build/answer.svg --overwrite
python - <<'END'
from pathlib import Path

from penstock import Pipeline, SegmentContent, ToolInvocation

for event in Pipeline().stream(Path("build/answer.jsonl")):
    match event:
        case SegmentContent(segment_type="write_file", delta=text):
            print("show", repr(text))
        case ToolInvocation(name=name, arguments=arguments):
            print("run ", name, arguments["path"])
END
exec penstock explore build/answer.jsonl "$@" # until Ctrl-C
