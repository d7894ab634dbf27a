"""All dialects by their names."""

from __future__ import annotations

from typing import Final

from ..dialect import Dialect
from .aider import AIDER
from .anthropic_legacy import ANTHROPIC_LEGACY
from .apertus import APERTUS
from .apriel import APRIEL
from .bolt_artifact import BOLT_ARTIFACT
from .cline import CLINE
from .cohere_r7b import COHERE_R7B
from .cohere_r_plus import COHERE_R_PLUS
from .deepseek_v3_cogito import DEEPSEEK_V3_COGITO
from .deepseek_v3_r1 import DEEPSEEK_V3_R1
from .deepseek_v4_dsml import DEEPSEEK_V4_DSML
from .deepseek_v31 import DEEPSEEK_V31
from .deepseek_v32_dsml import DEEPSEEK_V32_DSML
from .dots import DOTS
from .ernie45 import ERNIE45
from .fenced_json import FENCED_JSON
from .firefunction_v2 import FIREFUNCTION_V2
from .functionary_v31 import FUNCTIONARY_V31
from .functionary_v32 import FUNCTIONARY_V32
from .functiongemma import FUNCTIONGEMMA
from .gemma4 import GEMMA4
from .generic_json import GENERIC_JSON
from .gigachat3 import GIGACHAT3
from .gigachat35 import GIGACHAT35
from .glm45 import GLM45
from .glm47 import GLM47
from .granite3 import GRANITE3
from .granite_20b_fc import GRANITE_20B_FC
from .harmony import HARMONY
from .hermes import HERMES
from .hermes_granite4 import HERMES_GRANITE4
from .hunyuan_a13b import HUNYUAN_A13B
from .hunyuan_v3 import HUNYUAN_V3
from .inkling import INKLING
from .internlm2 import INTERNLM2
from .jamba import JAMBA
from .json_array_bare import JSON_ARRAY_BARE
from .json_bare import JSON_BARE
from .json_shapes import JSON
from .k2_horizon import K2_HORIZON
from .kimi_k2 import KIMI_K2
from .kimi_k3 import KIMI_K3
from .lfm2 import LFM2
from .llama3_json import LLAMA3_JSON
from .llama4_pythonic import LLAMA4_PYTHONIC
from .llama_python_tag import LLAMA_PYTHON_TAG
from .longcat import LONGCAT
from .mimo import MIMO
from .minicpm5_xml import MINICPM5_XML
from .minimax_m1 import MINIMAX_M1
from .minimax_m2 import MINIMAX_M2
from .minimax_m3 import MINIMAX_M3
from .mistral_old import MISTRAL_OLD
from .mistral_v11 import MISTRAL_V11
from .muse_glimmer import MUSE_GLIMMER
from .nemotron_toolcall import NEMOTRON_TOOLCALL
from .olmo3_pythonic import OLMO3_PYTHONIC
from .openhands import OPENHANDS
from .phi4_mini import PHI4_MINI
from .poolside_v1 import POOLSIDE_V1
from .pythonic import PYTHONIC
from .qwen3_coder import QWEN3_CODER
from .reka_edge import REKA_EDGE
from .seed_oss import SEED_OSS
from .sentinel import SENTINEL
from .step3 import STEP3
from .step3p5 import STEP3P5
from .structured_output import STRUCTURED_OUTPUT
from .think_tags import THINK_TAGS
from .tool_call import TOOL_CALL
from .tool_code import TOOL_CODE
from .xlam import XLAM
from .xml import XML

DIALECTS: Final[dict[str, Dialect]] = {
    each.name: each
    for each in (
        AIDER,
        ANTHROPIC_LEGACY,
        APERTUS,
        APRIEL,
        BOLT_ARTIFACT,
        CLINE,
        COHERE_R7B,
        COHERE_R_PLUS,
        DEEPSEEK_V31,
        DEEPSEEK_V32_DSML,
        DEEPSEEK_V3_COGITO,
        DEEPSEEK_V3_R1,
        DEEPSEEK_V4_DSML,
        DOTS,
        ERNIE45,
        FENCED_JSON,
        FIREFUNCTION_V2,
        FUNCTIONARY_V31,
        FUNCTIONARY_V32,
        FUNCTIONGEMMA,
        GEMMA4,
        GENERIC_JSON,
        GIGACHAT3,
        GIGACHAT35,
        GLM45,
        GLM47,
        GRANITE3,
        GRANITE_20B_FC,
        HARMONY,
        HERMES,
        HERMES_GRANITE4,
        HUNYUAN_A13B,
        HUNYUAN_V3,
        INKLING,
        INTERNLM2,
        JAMBA,
        JSON_ARRAY_BARE,
        JSON_BARE,
        K2_HORIZON,
        KIMI_K2,
        KIMI_K3,
        LFM2,
        LLAMA3_JSON,
        LLAMA4_PYTHONIC,
        LLAMA_PYTHON_TAG,
        LONGCAT,
        MIMO,
        MINICPM5_XML,
        MINIMAX_M1,
        MINIMAX_M2,
        MINIMAX_M3,
        MISTRAL_OLD,
        MISTRAL_V11,
        MUSE_GLIMMER,
        NEMOTRON_TOOLCALL,
        OLMO3_PYTHONIC,
        OPENHANDS,
        PHI4_MINI,
        POOLSIDE_V1,
        PYTHONIC,
        QWEN3_CODER,
        REKA_EDGE,
        JSON,
        SENTINEL,
        TOOL_CALL,
        XML,
        SEED_OSS,
        STEP3,
        STEP3P5,
        STRUCTURED_OUTPUT,
        THINK_TAGS,
        TOOL_CODE,
        XLAM,
    )
}
