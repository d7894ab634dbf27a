"""All dialects, and tables made from what they say: by name, by model, by server."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, Literal

from ..dialects.agents import AIDER, BOLT_ARTIFACT, CLINE, MIROTHINKER, OPENHANDS, SENTINEL, XML
from ..dialects.claude import ANTHROPIC_LEGACY, DOTS
from ..dialects.cohere import COHERE_R7B, COHERE_R_PLUS
from ..dialects.deepseek import DEEPSEEK_V3_COGITO, DEEPSEEK_V3_R1, DEEPSEEK_V4_DSML, DEEPSEEK_V31, DEEPSEEK_V32_DSML
from ..dialects.functionary import FUNCTIONARY_V31, FUNCTIONARY_V32
from ..dialects.gemma import FUNCTIONGEMMA, GEMMA4, TOOL_CODE
from ..dialects.gigachat import GIGACHAT3, GIGACHAT35
from ..dialects.glm import GLM4, GLM45, GLM47, IQUEST_CODER_V2, K2_HORIZON, LONGCAT, POOLSIDE_V1, TELECHAT
from ..dialects.granite import GRANITE3, GRANITE_20B_FC, HERMES_GRANITE4
from ..dialects.harmony import HARMONY, HYPERCLOVAX_THINK, INKLING, MUSE_GLIMMER
from ..dialects.hermes import ERNIE45, HERMES, REKA_EDGE, TOOL_CALL
from ..dialects.hunyuan import HUNYUAN_A13B, HUNYUAN_V3
from ..dialects.json_shapes import FENCED_JSON, GENERIC_JSON, JSON, JSON_ANSWER, JSON_ARRAY_BARE, JSON_BARE, XLAM
from ..dialects.kimi import KIMI_K2, KIMI_K3, THINK_TAGS
from ..dialects.llama import LLAMA3_JSON, LLAMA4_PYTHONIC, LLAMA_PYTHON_TAG
from ..dialects.marked_json import (
    APERTUS,
    APRIEL,
    FIREFUNCTION_V2,
    INTERNLM2,
    JAMBA,
    NEMOTRON_TOOLCALL,
    PHI4_MINI,
    PLAMO3,
)
from ..dialects.minicpm import MINICPM4, MINICPM5_XML
from ..dialects.minimax import MINIMAX_M1, MINIMAX_M2, MINIMAX_M3
from ..dialects.mistral import MISTRAL_OLD, MISTRAL_V11
from ..dialects.pythonic import LFM2, OLMO3_PYTHONIC, PYTHONIC
from ..dialects.qwen3_coder import MIMO, QWEN3_CODER, SEED_OSS
from ..dialects.solar import SOLAR_OPEN, SOLAR_OPEN2
from ..dialects.step import STEP3, STEP3P5
from ..grammar.dialect import KnownDialect, ModelDialect

IN_ORDER: Final[tuple[KnownDialect, ...]] = (
    # `<tool_call>` or `<function=…>`, and what comes behind tells them apart
    *(HERMES, QWEN3_CODER, FUNCTIONARY_V31, GLM47, GLM45, TELECHAT),
    # `<tool_calls>`
    *(JAMBA, MINIMAX_M1, HUNYUAN_V3),
    # `<function_calls>`
    *(ANTHROPIC_LEGACY, OLMO3_PYTHONIC),
    # DeepSeek's
    *(DEEPSEEK_V31, DEEPSEEK_V3_R1, DEEPSEEK_V3_COGITO, DEEPSEEK_V32_DSML, DEEPSEEK_V4_DSML),
    # Mistral's
    *(MISTRAL_V11, MISTRAL_OLD),
    # an opener of their own, and Llama's JSON before its built-in tools
    *(APERTUS, BOLT_ARTIFACT, COHERE_R7B, DOTS, FUNCTIONGEMMA, GEMMA4, GIGACHAT3, GIGACHAT35, GRANITE_20B_FC, HARMONY),
    *(
        INKLING,
        INTERNLM2,
        IQUEST_CODER_V2,
        K2_HORIZON,
        KIMI_K2,
        KIMI_K3,
        LFM2,
        LLAMA4_PYTHONIC,
        LLAMA3_JSON,
        LLAMA_PYTHON_TAG,
        LONGCAT,
    ),
    *(MINICPM4, MINIMAX_M2, MINIMAX_M3, MIROTHINKER, NEMOTRON_TOOLCALL, PHI4_MINI, PLAMO3, SEED_OSS, SENTINEL),
    *(SOLAR_OPEN, SOLAR_OPEN2, STEP3, TOOL_CODE),
    # without a marker that nothing else has
    *(JSON, JSON_BARE, JSON_ARRAY_BARE, GENERIC_JSON, JSON_ANSWER, XLAM, FENCED_JSON, COHERE_R_PLUS, PYTHONIC),
    *(CLINE, XML, MINICPM5_XML, ERNIE45, HUNYUAN_A13B, APRIEL, GRANITE3, AIDER, FUNCTIONARY_V32),
    *(HYPERCLOVAX_THINK, MUSE_GLIMMER, GLM4),
    # read by one of those above
    *(HERMES_GRANITE4, REKA_EDGE, TOOL_CALL, MIMO, STEP3P5, OPENHANDS, POOLSIDE_V1, FIREFUNCTION_V2, THINK_TAGS),
)
"""All dialects. If a text fits two of them, the first one counts: of GLM's two, the one that keeps a value's blanks."""

DIALECTS: Final[Mapping[str, KnownDialect]] = {each.name: each for each in sorted(IN_ORDER, key=lambda each: each.name)}
"""All dialects by name."""

AUTO: Final[tuple[str, ...]] = tuple(each.name for each in IN_ORDER if not each.not_in_auto)
"""The names of the dialects that `auto` reads: their markers are unmistakable in prose, code and data."""

AUTO_WITH_TOOLS: Final[tuple[str, ...]] = (*AUTO, "json", "minicpm5_xml", "pythonic", "xml")
"""What `auto` reads where tools were declared: their names tell these calls from other data and tags."""


def _by_name(said: Iterable[tuple[str, KnownDialect]]) -> dict[str, tuple[str, ...]]:
    """Return, for each name, the dialects that list it."""
    found: dict[str, tuple[str, ...]] = {}
    for name, dialect in said:
        found[name] = (*found.get(name, ()), dialect.name)
    return found


def _row(pattern: str, names: tuple[str, ...]) -> ModelDialect:
    """Return the row of a pattern, from what its dialects say."""
    for each in IN_ORDER:
        if pattern in each.thinking_always:
            return ModelDialect(names, starts_in_reasoning=True, switches=())
        if pattern in each.thinking or pattern in each.thinking_if_asked:
            starts: bool | Literal["asked"] = pattern in each.thinking or "asked"
            return ModelDialect(names, starts, switches=each.switches, low_efforts=each.low_efforts)
    return ModelDialect(names)


MODELS: Final[Mapping[str, ModelDialect]] = {
    pattern: _row(pattern, names)
    for pattern, names in _by_name((name, each) for each in IN_ORDER for name in each.all_models).items()
}
"""The dialects of models, by patterns of their names; if several patterns match a name, the longest one counts."""

PARSERS: Final = _by_name((name, each) for each in IN_ORDER for name in each.parsers)
"""Dialects by the names of the tool call parsers of vLLM and SGLang, where those differ from ours."""
