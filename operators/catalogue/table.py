"""All dialects, and tables made from their files: by name, by model, by server."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, Literal

from ..dialects.aider import AIDER
from ..dialects.anthropic_legacy import ANTHROPIC_LEGACY
from ..dialects.apertus import APERTUS
from ..dialects.apriel import APRIEL
from ..dialects.bolt_artifact import BOLT_ARTIFACT
from ..dialects.cline import CLINE
from ..dialects.cohere_r7b import COHERE_R7B
from ..dialects.cohere_r_plus import COHERE_R_PLUS
from ..dialects.deepseek_v3_cogito import DEEPSEEK_V3_COGITO
from ..dialects.deepseek_v3_r1 import DEEPSEEK_V3_R1
from ..dialects.deepseek_v4_dsml import DEEPSEEK_V4_DSML
from ..dialects.deepseek_v31 import DEEPSEEK_V31
from ..dialects.deepseek_v32_dsml import DEEPSEEK_V32_DSML
from ..dialects.dots import DOTS
from ..dialects.ernie45 import ERNIE45
from ..dialects.fenced_json import FENCED_JSON
from ..dialects.firefunction_v2 import FIREFUNCTION_V2
from ..dialects.functionary_v31 import FUNCTIONARY_V31
from ..dialects.functionary_v32 import FUNCTIONARY_V32
from ..dialects.functiongemma import FUNCTIONGEMMA
from ..dialects.gemma4 import GEMMA4
from ..dialects.generic_json import GENERIC_JSON
from ..dialects.gigachat3 import GIGACHAT3
from ..dialects.gigachat35 import GIGACHAT35
from ..dialects.glm4 import GLM4
from ..dialects.glm45 import GLM45
from ..dialects.glm47 import GLM47
from ..dialects.granite3 import GRANITE3
from ..dialects.granite_20b_fc import GRANITE_20B_FC
from ..dialects.harmony import HARMONY
from ..dialects.hermes import HERMES
from ..dialects.hermes_granite4 import HERMES_GRANITE4
from ..dialects.hunyuan_a13b import HUNYUAN_A13B
from ..dialects.hunyuan_v3 import HUNYUAN_V3
from ..dialects.hyperclovax_think import HYPERCLOVAX_THINK
from ..dialects.inkling import INKLING
from ..dialects.internlm2 import INTERNLM2
from ..dialects.iquest_coder_v2 import IQUEST_CODER_V2
from ..dialects.jamba import JAMBA
from ..dialects.json_answer import JSON_ANSWER
from ..dialects.json_array_bare import JSON_ARRAY_BARE
from ..dialects.json_bare import JSON_BARE
from ..dialects.json_shapes import JSON
from ..dialects.k2_horizon import K2_HORIZON
from ..dialects.kimi_k2 import KIMI_K2
from ..dialects.kimi_k3 import KIMI_K3
from ..dialects.lfm2 import LFM2
from ..dialects.llama3_json import LLAMA3_JSON
from ..dialects.llama4_pythonic import LLAMA4_PYTHONIC
from ..dialects.llama_python_tag import LLAMA_PYTHON_TAG
from ..dialects.longcat import LONGCAT
from ..dialects.mimo import MIMO
from ..dialects.minicpm4 import MINICPM4
from ..dialects.minicpm5_xml import MINICPM5_XML
from ..dialects.minimax_m1 import MINIMAX_M1
from ..dialects.minimax_m2 import MINIMAX_M2
from ..dialects.minimax_m3 import MINIMAX_M3
from ..dialects.mirothinker import MIROTHINKER
from ..dialects.mistral_old import MISTRAL_OLD
from ..dialects.mistral_v11 import MISTRAL_V11
from ..dialects.muse_glimmer import MUSE_GLIMMER
from ..dialects.nemotron_toolcall import NEMOTRON_TOOLCALL
from ..dialects.olmo3_pythonic import OLMO3_PYTHONIC
from ..dialects.openhands import OPENHANDS
from ..dialects.phi4_mini import PHI4_MINI
from ..dialects.plamo3 import PLAMO3
from ..dialects.poolside_v1 import POOLSIDE_V1
from ..dialects.pythonic import PYTHONIC
from ..dialects.qwen3_coder import QWEN3_CODER
from ..dialects.reka_edge import REKA_EDGE
from ..dialects.seed_oss import SEED_OSS
from ..dialects.sentinel import SENTINEL
from ..dialects.solar_open import SOLAR_OPEN
from ..dialects.solar_open2 import SOLAR_OPEN2
from ..dialects.step3 import STEP3
from ..dialects.step3p5 import STEP3P5
from ..dialects.telechat import TELECHAT
from ..dialects.think_tags import THINK_TAGS
from ..dialects.tool_call import TOOL_CALL
from ..dialects.tool_code import TOOL_CODE
from ..dialects.xlam import XLAM
from ..dialects.xml import XML
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
    """Return, for each name, the dialects whose files list it."""
    found: dict[str, tuple[str, ...]] = {}
    for name, dialect in said:
        found[name] = (*found.get(name, ()), dialect.name)
    return found


def _row(pattern: str, names: tuple[str, ...]) -> ModelDialect:
    """Return the row of a pattern, from what the files of its dialects say."""
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
