#!/usr/bin/env bash
# From a local model's text to its calls: which dialect it writes, what is in the text, and the same in code.
# The text is your model's, or this one: examples/first_hour/2_a_local_model.sh answer.txt
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
export PATH=$PWD/.venv/bin:$PATH
text=${1:-examples/first_hour/answer.txt}

penstock parse --compare "$text"
penstock parse --dialect hermes --tools write_file "$text"
penstock strategies --find qwen3
penstock parse --model Qwen/Qwen3-Coder-30B-A3B-Instruct --tools write_file --emit invocations "$text"
python - "$text" <<'END'
import sys

from penstock import Pipeline, SegmentContent, ToolInvocation


def write_file(path: str, content: str) -> str:
    """Write a file."""
    return f"{len(content)} characters for {path}"


pipeline = Pipeline(model="Qwen/Qwen3-Coder-30B-A3B-Instruct", tools=[write_file])
with open(sys.argv[1], encoding="utf-8") as lines:  # in your program, what the server streams
    for event in pipeline.stream(lines):
        match event:
            case SegmentContent(segment_type="write_file", delta=text):
                print("show", repr(text))
            case ToolInvocation(arguments=arguments):
                print("run ", write_file(**arguments))
END
