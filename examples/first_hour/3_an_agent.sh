#!/usr/bin/env bash
# An agent behind `useChat`, as its page talks to it: a question, Stop, a reload, another question, a restart.
# With OPENAI_API_KEY the model of OPENAI_MODEL answers, without it a recorded one. For the page itself: make page
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
export PATH=$PWD/.venv/bin:$PATH
chat=http://127.0.0.1:${PORT:-8000}/api/chat id=$(python -c "import uuid; print(uuid.uuid4())")
say() { # a question, as useChat sends it
  local message="{\"role\": \"user\", \"parts\": [{\"type\": \"text\", \"text\": \"$1\"}]}"
  curl -sN "$chat" -H 'content-type: application/json' -d "{\"id\": \"$id\", \"messages\": [$message]}"
}
serve() {
  uvicorn --app-dir examples ai_sdk_agent:app --port "${PORT:-8000}" --log-level warning &
  trap 'kill $!' EXIT
  curl -s -o /dev/null --retry 50 --retry-delay 1 --retry-connrefused "$chat/$id/stream"
}

python -m pip install --quiet fastapi
serve
{ say "What is the weather in Oslo?" || true; } | head -n 8 # the reader leaves, the agent goes on
curl -s -X DELETE "$chat/$id/stream"          # Stop
curl -sN "$chat/$id/stream"                   # a reload: everything up to the stop
say "Go on, please."
kill $! && wait $! || true # a crash
serve
curl -sN "$chat/$id/stream" # a reload after the restart: the last answer, from the disk
