"""JSON behind or between markers that are the model's own, one call or a list."""

from __future__ import annotations

from ..grammar.dialect import NAME, Alt, Call, Json, KnownDialect, Many, Maybe
from .parts import ARGUMENTS, CALLS, CALLS_OR_ONE, PROSE, THINK

APERTUS = KnownDialect(
    "apertus",
    about="Apertus: a call is an object whose only key is the tool's name.",
    grammar=(
        "<|tools_prefix|>",
        Alt(
            Json(name=(), args=(), sole_key=True, root="array"),
            Json(name=(), args=(), sole_key=True, root="object"),
        ),
        Maybe("<|tools_suffix|>"),
    ),
    reasoning=(("<|inner_prefix|>", "<|inner_suffix|>"),),
    calls_in_reasoning=True,
    models=("apertus",),
    reasoning_from="SGLang's parser, which reads the calls inside it",
    parsers=("apertus2509",),
    proven_by=("llama.cpp", "vLLM"),
)


APRIEL = KnownDialect(
    "apriel",
    about="Apriel 1.5 and 1.6: its reasoning ends where the final response begins.",
    grammar=("<tool_calls>", CALLS_OR_ONE, Maybe("</tool_calls>")),
    reasoning=(("Here are my reasoning steps:", "[BEGIN FINAL RESPONSE]"),),
    models=("apriel", "apriel-1.5"),
    thinking=("apriel-1.6",),
    proven_by=("llama.cpp",),
    not_in_auto=PROSE,
)


FIREFUNCTION_V2 = KnownDialect(
    "firefunction_v2",
    about="FireFunction v2: a list of calls after a marker word.",
    grammar=("functools", CALLS),
    models=("firefunction*",),
    proven_by=("llama.cpp",),
    not_in_auto="phi4_mini",
)


INTERNLM2 = KnownDialect(
    "internlm2",
    about="InternLM 2 and 2.5; Intern-S1, which thinks.",
    grammar=("<|action_start|>", "<|plugin|>", Json(), Maybe("<|action_end|>")),
    reasoning=THINK,
    models=("internlm2", "internlm2.*", "intern-s1"),
    parsers=("internlm", "interns1"),
    proven_by=("vLLM",),
)


JAMBA = KnownDialect(
    "jamba",
    about="AI21 Jamba: a list of calls between tags.",
    grammar=("<tool_calls>", Call(CALLS_OR_ONE), Maybe("</tool_calls>")),
    models=("jamba", "jamba-1.*"),
    proven_by=("vLLM",),
)


NEMOTRON_TOOLCALL = KnownDialect(
    "nemotron_toolcall",
    about="Nemotron Nano v2, Nemotron-Deci: a list of calls between tags, or a single one.",
    grammar=("<TOOLCALL>", CALLS_OR_ONE, "</TOOLCALL>"),
    reasoning=THINK,
    models=("llama*nemotron",),
    thinking=("nemotron-nano*v2",),
    proven_by=("llama.cpp",),
)


PHI4_MINI = KnownDialect(
    "phi4_mini",
    about="Phi-4: a list of calls after a marker word, or calls between the markers of its template.",
    grammar=(Alt(("functools", CALLS), ("<|tool_call|>", Json(), Maybe(Alt("<|/tool_call|>", "</|tool_call|>")))),),
    reasoning=THINK,
    models=("phi-4",),
    parsers=("phi4_mini_json",),
    proven_by=("vLLM",),
    written_from="the template of phi4-mini in Ollama's library, for the markers, and llama.cpp#12288",
)


def _plamo_tags(name: str) -> tuple[str, str]:
    return f"<|plamo:begin_{name}:plamo|>", f"<|plamo:end_{name}:plamo|>"


_PLAMO_CALLS, _PLAMO_CALL, _PLAMO_NAME, _PLAMO_ARGUMENTS = map(
    _plamo_tags, ("tool_requests", "tool_request", "tool_name", "tool_arguments")
)

PLAMO3 = KnownDialect(
    "plamo3",
    about="PLaMo 3: tags of its own around everything, and JSON for the arguments.",
    grammar=(
        _PLAMO_CALLS[0],
        Many(
            Call(
                *(_PLAMO_CALL[0], _PLAMO_NAME[0], NAME, _PLAMO_NAME[1]),
                *(_PLAMO_ARGUMENTS[0], Maybe("<|plamo:msg|>"), ARGUMENTS, _PLAMO_ARGUMENTS[1], _PLAMO_CALL[1]),
            )
        ),
        Maybe(_PLAMO_CALLS[1]),
    ),
    reasoning=(_plamo_tags("think"),),
    models=("plamo-3",),
    written_from="the tags of PLaMo 3's tokenizer",
    answer=(
        f"{_PLAMO_CALLS[0]}{_PLAMO_CALL[0]}{_PLAMO_NAME[0]}weather{_PLAMO_NAME[1]}{_PLAMO_ARGUMENTS[0]}<|plamo:msg|>"
        f'{{"city": "Oslo", "days": 2}}{_PLAMO_ARGUMENTS[1]}{_PLAMO_CALL[1]}{_PLAMO_CALLS[1]}'
    ),
)
