"""Messages that name their channel, role or recipient: gpt-oss, Muse, Inkling, HyperCLOVA X Think."""

from __future__ import annotations

from ..grammar.dialect import NAME, Alt, Call, Json, KnownDialect, Many, Maybe, Text
from .parts import ARGUMENTS, CALLS, invoke

_HARMONY_CHANNEL = Alt("<|channel|>commentary", "<|channel|>analysis")
_HARMONY_TYPE = Alt(Maybe("<|constrain|>json"), ("<|constrain|>", Text("skip", r"\w-")), " json", " code")
_HARMONY_CLOSER = Alt("<|call|>", "<|end|>", "<|return|>")
_HARMONY_NAMED = (NAME, Many(_HARMONY_CHANNEL), _HARMONY_TYPE, "<|message|>")
_HARMONY_JSON = Alt((ARGUMENTS, Maybe(_HARMONY_CLOSER)), (Text("wrong"), _HARMONY_CLOSER), "<|call|>")
_HARMONY_FREE = Alt((ARGUMENTS, Maybe(_HARMONY_CLOSER)), (Text("value"), _HARMONY_CLOSER), "<|call|>")
"""Tools of the platform, such as `python`, may take a text."""
_HARMONY_CALLS = (
    Call(_HARMONY_CHANNEL, Alt(" to=functions.", "to=functions."), *_HARMONY_NAMED, _HARMONY_JSON),
    Call(_HARMONY_CHANNEL, Alt(" to=", "to="), *_HARMONY_NAMED, _HARMONY_FREE),
    Call("to=functions.", *_HARMONY_NAMED, _HARMONY_JSON),
    Call("to=", *_HARMONY_NAMED, _HARMONY_FREE),
)
_HARMONY_END = Maybe(Alt("<|end|>", "<|return|>"))
_HARMONY_SAID = Alt(
    ("<|channel|>analysis", "<|message|>", Text("reasoning"), _HARMONY_END),
    (
        *(Alt("<|channel|>final", "<|channel|>commentary"), _HARMONY_TYPE),
        *(
            Maybe(Alt(" to=user", " to=assistant")),
            Maybe("<|channel|>final"),
            "<|message|>",
            Text("content"),
            _HARMONY_END,
        ),
    ),
)

HARMONY = KnownDialect(
    "harmony",
    about="gpt-oss: each message names its channel, and a call names its recipient.",
    grammar=(Many(Alt("<|start|>", "commentary")), Maybe("<|start|>assistant"), Alt(*_HARMONY_CALLS, _HARMONY_SAID)),
    leading=("to=functions.", "to=", "commentary"),
    models=("gpt-oss",),
    parsers=("gpt-oss", "openai"),
    proven_by=("llama.cpp",),
)


_MUSE_FROM = "<|start|>assistant"
_MUSE_END = Maybe(Alt("<|eom|>", "<|eot|>"))

MUSE_GLIMMER = KnownDialect(
    "muse_glimmer",
    about="Muse: each message names its recipient.",
    grammar=(
        Alt(
            (
                *(Alt(f"{_MUSE_FROM} to=", "to="), Text("recipient", r"\w.-"), "<|message|>", "<atem:function_calls>"),
                *(Many(Call(*invoke("atem:", typing="literal"))), Maybe("</atem:function_calls>"), _MUSE_END),
            ),
            (Alt(f"{_MUSE_FROM} to=self<|message|>", "to=self<|message|>"), Text("reasoning"), _MUSE_END),
            (
                Alt(
                    f"{_MUSE_FROM} to=user<|message|>", "to=user<|message|>", f"{_MUSE_FROM}<|message|>", "<|message|>"
                ),
                *(Text("content"), _MUSE_END),
            ),
        ),
    ),
    leading=("to=", "to=self<|message|>", "to=user<|message|>"),
    models=("muse",),
    proven_by=("vLLM",),
    not_in_auto="has harmony's markers and means something else with them",
)


_INKLING_END = (Maybe("<|end_message|>"), Many("<|content_model_end_sampling|>"))
_INKLING_CALL = ("<|content_invoke_tool_json|>", Json(args=("args",), root="object"), *_INKLING_END)
_INKLING_SAID = Alt(
    ("<|content_text|>", Text("content"), *_INKLING_END),
    ("<|content_thinking|>", Text("reasoning"), *_INKLING_END),
)

INKLING = KnownDialect(
    "inkling",
    about=(
        "Inkling: the header names the tool, and so does the JSON; the beginning of the first message is in the prompt."
    ),
    grammar=(
        Alt(
            ("<|message_model|>", Alt((Text("recipient", r"\w.:/-"), *_INKLING_CALL), _INKLING_SAID)),
            _INKLING_CALL,
            _INKLING_SAID,
        ),
    ),
    models=("inkling",),
    proven_by=("SGLang",),
)


_HYPERCLOVAX_FROM = "<|im_start|>assistant"
_HYPERCLOVAX_END = (Maybe("<|im_end|>"), Many(Alt("<|endofturn|>", "<|stop|>")))

HYPERCLOVAX_THINK = KnownDialect(
    "hyperclovax_think",
    about=(
        "HyperCLOVA X SEED Think 14B: a role for reasoning, and one for a list of calls; the prompt has its beginning."
    ),
    grammar=(
        Alt(
            (Alt(f"{_HYPERCLOVAX_FROM} -> tool/function_call\n", "-> tool/function_call\n"), CALLS, *_HYPERCLOVAX_END),
            (f"{_HYPERCLOVAX_FROM}\n", Text("content"), *_HYPERCLOVAX_END),
        ),
    ),
    reasoning=((f"{_HYPERCLOVAX_FROM}/think\n", "<|im_end|>"), ("/think\n", "<|im_end|>")),
    leading=("-> tool/function_call\n",),
    models=("hyperclovax*think-14b",),
    written_from="the template of HyperCLOVAX-SEED-Think-14B among vLLM's examples",
    not_in_auto="the prompt has the first words of its markers, and what is left of them is prose",
    answer='-> tool/function_call\n[{"name": "weather", "arguments": {"city": "Oslo", "days": 2}}]<|im_end|><|stop|>',
)
