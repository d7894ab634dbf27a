"""HyperCLOVA X SEED Think 14B: a role for reasoning, and one for a list of calls; the prompt has its beginning."""

from ..grammar.dialect import Alt, KnownDialect, Many, Maybe, Text
from .parts import CALLS

_FROM = "<|im_start|>assistant"
_END = (Maybe("<|im_end|>"), Many(Alt("<|endofturn|>", "<|stop|>")))

HYPERCLOVAX_THINK = KnownDialect(
    "hyperclovax_think",
    (
        Alt(
            (Alt(f"{_FROM} -> tool/function_call\n", "-> tool/function_call\n"), CALLS, *_END),
            (f"{_FROM}\n", Text("content"), *_END),
        ),
    ),
    reasoning=((f"{_FROM}/think\n", "<|im_end|>"), ("/think\n", "<|im_end|>")),
    leading=("-> tool/function_call\n",),
    models=("hyperclovax*think-14b",),
    written_from="the template of HyperCLOVAX-SEED-Think-14B among vLLM's examples",
    not_in_auto="the prompt has the first words of its markers, and what is left of them is prose",
    answer='-> tool/function_call\n[{"name": "weather", "arguments": {"city": "Oslo", "days": 2}}]<|im_end|><|stop|>',
)
