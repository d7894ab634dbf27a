"""OLMo 3: calls as code, one per line."""

from ..grammar.dialect import Call, KnownDialect, Many
from .parts import CODE, THINK

OLMO3_PYTHONIC = KnownDialect(
    "olmo3_pythonic",
    ("<function_calls>", Call(*CODE), Many(Call(*CODE)), "</function_calls>"),
    reasoning=THINK,
    layout="\n",
    models=("olmo-3", "olmo-3.*"),
    thinking=("olmo-3*think", "olmo-3.*think"),
    parsers=("olmo3",),
    proven_by=("Ollama", "vLLM"),
)
