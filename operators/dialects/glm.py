"""GLM's, and those like it: a name, then pairs of a key and a value, each in a tag."""

from __future__ import annotations

from ..grammar.dialect import NAME, Alt, Call, KnownDialect, Many, Maybe, Text
from .parts import ARGUMENTS, CALL, NAME_AT_ONCE, THINK, pairs

GLM4 = KnownDialect(
    "glm4",
    about="GLM-4-0414: the tool's name on a line, then the arguments; its marker is in the prompt, so give `tools`.",
    grammar=("<|assistant|>", Call(NAME, ARGUMENTS)),
    behind_name="\n",
    reasoning=THINK,
    layout="\n",
    models=("glm-4",),
    thinking=("glm-z1",),
    written_from="the answers of GLM-4-9B-0414 in ml-explore/mlx-swift-lm#491, and its card's code that reads them",
    not_in_auto="a line with a tool's name before JSON would be a call",
)


GLM45 = KnownDialect(
    "glm45",
    about="GLM-4.5 and 4.6: pairs of a key and a value, one per line.",
    grammar=("<tool_call>", NAME_AT_ONCE, pairs(), "</tool_call>"),
    reasoning=THINK,
    calls_in_reasoning=True,
    # A line break between tags, written as an escape.
    aliases=tuple((rf"\n{tag}", tag) for tag in ("<arg_key>", "<arg_value>", "</tool_call>")),
    layout="\n",
    models=("glm-4.5", "glm-4.6"),
    reasoning_from="vLLM's and SGLang's parsers, which end it at `<tool_call>`",
    parsers=("glm",),
    proven_by=("Ollama", "SGLang", "smg"),
)


GLM47 = KnownDialect(
    "glm47",
    about="GLM-4.7 and 5: the format of GLM-4.5, but blanks are part of the values.",
    grammar=("<tool_call>", Alt((NAME_AT_ONCE, pairs()), (NAME_AT_ONCE, ">", ARGUMENTS), CALL), "</tool_call>"),
    reasoning=THINK,
    calls_in_reasoning=True,
    models=("spark25", "hyperclovax*think"),
    thinking=("glm-4.7", "glm-5", "glm-5.*"),
    thinking_always=("glm-5.3",),
    switches=("enable_thinking",),
    reasoning_from=(
        "the chat templates of GLM-4.7, 5.2 and 5.3, of which the last has no switch; vLLM's and SGLang's parsers end "
        "it at `<tool_call>`"
    ),
    proven_by=("llama.cpp", "mlx-lm", "SGLang", "smg", "vLLM"),
)


POOLSIDE_V1 = KnownDialect(
    "poolside_v1",
    about="Poolside, Laguna, Ling 3: the format of GLM-4.7.",
    grammar=GLM47.grammar,
    reasoning=GLM47.reasoning,
    calls_in_reasoning=True,
    models=("laguna", "poolside"),
    thinking=("ling-3",),
    switches=("enable_thinking",),
    reasoning_from="the chat template of Ling 3.0; vLLM's and llama.cpp's parsers end it at `<tool_call>`",
    parsers=("ling3",),
    proven_by=("vLLM",),
    not_in_auto="glm47",
)


IQUEST_CODER_V2 = KnownDialect(
    "iquest_coder_v2",
    about="IQuest Coder V2: pairs as in GLM-4.5 in a tag of its own.",
    grammar=("<iquestcoder_tool_call>", NAME_AT_ONCE, pairs(), "</iquestcoder_tool_call>"),
    reasoning=THINK,
    layout="\n",
    thinking=("iquest-coder-v2",),
    written_from="vLLM's parsers of the calls and the reasoning of IQuest Coder V2",
)


_HORIZON_PAIRS = pairs("ifm|", Maybe("<ifm|arg_type>", Text("flag"), "</ifm|arg_type>"), typing="schema")

K2_HORIZON = KnownDialect(
    "k2_horizon",
    about="K2 Horizon: JSON, or pairs of tags, which may say their type.",
    grammar=(
        "<ifm|tool_calls>",
        Many(Call("<ifm|tool_call>", Alt(CALL, (NAME, _HORIZON_PAIRS)), "</ifm|tool_call>")),
        Maybe("</ifm|tool_calls>"),
    ),
    reasoning=(*THINK, *((f"<ifm|{name}>", f"</ifm|{name}>") for name in ("think", "think_fast", "think_faster"))),
    thinking=("k2-horizon",),
    proven_by=("vLLM",),
)


LONGCAT = KnownDialect(
    "longcat",
    about="LongCat-Flash: JSON, or pairs of tags.",
    grammar=("<longcat_tool_call>", Alt(CALL, (NAME_AT_ONCE, pairs("longcat_"))), "</longcat_tool_call>"),
    reasoning=(("<longcat_think>", "</longcat_think>"),),
    models=("longcat",),
    thinking=("longcat*thinking",),
    proven_by=("mlx-lm", "vLLM"),
    written_from="the chat template of meituan-longcat/LongCat-Flash-Chat, for the pairs of tags",
)


TELECHAT = KnownDialect(
    "telechat",
    about="TeleChat 3 and 4, Xing 4: pairs as in GLM-4.5 with tags of their own, or JSON as in Hermes.",
    grammar=("<tool_call>", Alt((NAME_AT_ONCE, pairs(of="param", trim="blanks")), CALL), "</tool_call>"),
    reasoning=THINK,
    models=("telechat3",),
    thinking=("telechat3*thinking", "telechat4", "xing4", "xingchen4"),
    parsers=("telechat3", "telechat4"),
    written_from="the tool call parsers of TeleChat 3 and 4 for vLLM and SGLang",
)
