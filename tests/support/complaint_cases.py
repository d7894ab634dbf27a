"""What people complained of in other parsers, as texts with what has to come out: classes of bugs with their reports."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple


class Complaint(NamedTuple):
    """A text in which somebody's parser went wrong, and what is in it."""

    issues: str
    """repo#number of each report that it stands for."""
    dialects: str
    pieces: tuple[str, ...]
    """The text; in several pieces where the report is about those."""
    calls: tuple[tuple[str, Any], ...] = ()
    """Of each call its name, and its arguments or why it failed."""
    text: str = ""
    reasoning: str = ""
    tools: dict[str, Any] | None = None
    options: Mapping[str, Any] = MappingProxyType({})
    """Of `parse_text`."""


def kimi(number: int, at: str) -> str:
    arguments = f'{{"at": "{at}"}}'
    return f"<|tool_call_begin|>functions.look:{number}<|tool_call_argument_begin|>{arguments}<|tool_call_end|>"


def step(key: str, value: str) -> str:
    return (
        "<｜tool_call_begin｜>function<｜tool_sep｜>"
        f'<steptml:invoke name="look"><steptml:parameter name="{key}">{value}</steptml:parameter></steptml:invoke>'
        "<｜tool_call_end｜>"
    )


def minimax(*parameters: tuple[str, str], name: str = "look") -> str:
    inner = "".join(f'<parameter name="{key}">{value}</parameter>\n' for key, value in parameters)
    return f'<invoke name="{name}">\n{inner}</invoke>\n'


def properties(**schemas: Any) -> dict[str, Any]:
    return {"f": {"type": "object", "properties": schemas}}


KIMI_TWO = f"<|tool_calls_section_begin|>{kimi(0, 'Ulm')}{kimi(1, 'Bonn')}<|tool_calls_section_end|>"
HERMES_F = '<tool_call>\n{"name": "f", "arguments": {"a": {"b": 1}}}\n</tool_call>'
HERMES_G = '<tool_call>{"name": "g", "arguments": {"c": "}"}}</tool_call>'
F = ("f", {"a": {"b": 1}})
G = ("g", {"c": "}"})
TWO_LOOKS = (("look", {"at": "Ulm"}), ("look", {"at": "Bonn"}))
QWEN = "<tool_call>\n<function=f>\n<parameter=a>\n{}\n</parameter>\n</function>\n</tool_call>"

CHUNKS = (
    Complaint("vllm#38274, vllm#38271, vllm#38269", "kimi_k2", (KIMI_TWO,), TWO_LOOKS),
    Complaint("vllm#31501", "hermes", ("<tool_call>", HERMES_F[11:30], HERMES_F[30:]), (F,)),
    Complaint("vllm#32152", "hermes", (HERMES_F[:-14], HERMES_F[-14:]), (F,)),
    Complaint("vllm#43221", "hermes", ("<think>Let me", f" look.</think>{HERMES_F}"), (F,), reasoning="Let me look."),
    Complaint(
        "vllm#42781",
        "gemma4",
        ("<|channel>thought\nA long w", "ay round.<channel|>Here", ' it is.<|tool_call>call:f{a:<|"|>x<|"|>}<tool_call|>'),
        (("f", {"a": "x"}),),
        "Here it is.",
        "A long way round.",
        options={"blanks": "drop"},
    ),
    Complaint(
        "vllm#55082, sglang#37634",
        "step3",
        (f"<｜tool_calls_begin｜>{step('at', 'Ulm')}{step('at', 'Bonn')}<｜tool_calls_end｜>",),
        TWO_LOOKS,
    ),
    Complaint("sglang#37634", "hermes", (f"Both: {HERMES_F}\n{HERMES_G}",), (F, G), "Both: "),
    Complaint(
        "sglang#37634",
        "glm45",
        tuple(
            f"<tool_call>look\n<arg_key>at</arg_key>\n<arg_value>{at}</arg_value>\n</tool_call>\n" for at in ("Ulm", "Bonn")
        ),
        TWO_LOOKS,
    ),
    Complaint(
        "sglang#37634",
        "llama3_json",
        ('<|python_tag|>{"name": "f", "parameters": {"a": 1}}; {"name": "g", "parameters": {"b": ";"}}',),
        (("f", {"a": 1}), ("g", {"b": ";"})),
    ),
    Complaint(
        "sglang#37634",
        "gigachat3",
        ('Now.<|message_sep|>\n\nfunction call<|role_sep|>\n{"name": "f", "arguments": {"a": 1}}',),
        (("f", {"a": 1}),),
        "Now.",
    ),
    Complaint("vllm#45678", "qwen3_coder", ("<think>So</think>\n\n" + QWEN.format("x") + "\n" + QWEN.format("y"),),
              (("f", {"a": "x"}), ("f", {"a": "y"})), reasoning="So"),
)  # fmt: skip
"""1: what comes out depends on where the chunks fall."""

WHOLE = (
    Complaint("vllm#47137", "hermes", ("It ends in <tool_ca",), text="It ends in <tool_ca"),
    Complaint("vllm#47137", "hermes", ('It ends in <tool_call>{"na',), text='It ends in <tool_call>{"na'),
    Complaint("vllm#56263", "hermes", (f"{HERMES_F} That was it.",), (F,), " That was it."),
    Complaint("vllm#51697, vllm#51698", "xlam", ('Look: [{"name": "f", "arguments": {"a": 1}}]',), (("f", {"a": 1}),), "Look: "),
    Complaint(
        "sglang#36691",
        "minimax_m2",
        ("So: <minimax:tool_call>\n" + minimax(("at", "Ulm")) + minimax(("at", "Bonn")) + "</minimax:tool_call> Done.",),
        TWO_LOOKS,
        "So:  Done.",
    ),
    Complaint("vllm#23324, vllm#32394", "qwen3_coder", (QWEN.format("12"),), (("f", {"a": 12}),), tools=properties(a={"type": "integer"})),
)  # fmt: skip
"""2: the whole text and the stream say different things."""

LEAKS = (
    Complaint(
        "sglang#36691",
        "minimax_m2",
        ("<", "mini", "max:tool", "_call", ">\n" + minimax(("at", "Ulm")), minimax(("at", "Bonn")) + "</minimax:tool_call>"),
        TWO_LOOKS,
    ),
    Complaint("vllm#31207", "kimi_k2", (f"I look.{KIMI_TWO}",), TWO_LOOKS, "I look."),
    Complaint(
        "vllm#31207",
        "kimi_k2",
        (f"<|tool_calls_section_begin|>{kimi(0, 'Ulm')} and {kimi(1, 'Bonn')} so<|tool_calls_section_end|>.",),
        TWO_LOOKS,
        " and  so.",
    ),
    Complaint(
        "vllm#44522",
        "gemma4",
        ('<|channel>thought\nWhy<channel|><|tool_call>call:f{a:<|"|>x, {y}<|"|>,n:[1,true]}<tool_call|>',),
        (("f", {"a": "x, {y}", "n": [1, True]}),),
        reasoning="Why",
        options={"blanks": "drop"},
    ),
    *(
        Complaint("vllm#51698", "xlam", (f'{begin}[{{"name": "f", "arguments": {{}}}}, {{"name": "g", "arguments": {{"b": 2}}}}]{end}',),
                  (("f", {}), ("g", {"b": 2})))
        for begin, end in (("```json\n", "\n```"), ("[TOOL_CALLS]", ""), ("<tool_call>", "</tool_call>"), ("", ""))
    ),
    Complaint(
        "mlx-lm#1335, Rapid-MLX#448, Rapid-MLX#1592, FreeToken#203, FreeToken#346",
        "hermes",
        ("<tool_call", f">{HERMES_F[11:-12]}</tool", "_call", "> x"),
        (F,),
        " x",
    ),
)  # fmt: skip
"""3: markers leak into text or reasoning."""

LOST = (
    Complaint("ollama#17274", "hermes", ('<tool_call>{"name": "f", "arguments": {"a": oops}}</tool_call>!',), (("f", "malformed"),), "!"),
    *(
        Complaint("vllm#47901", dialect, (f'{begin}[{{"name": "f", "arguments": {{}}}}, {{"name": "g", "arguments": {{"b": 2}}}}]{end}',),
                  (("f", {}), ("g", {"b": 2})))
        for dialect, begin, end in (("xlam", "", ""), ("hunyuan_a13b", "<tool_calls>", "</tool_calls>"))
    ),
    Complaint("sglang#36691", "minimax_m2", ("<minimax:tool_call>" + minimax(name="now") + "</minimax:tool_call>",), (("now", {}),)),
    Complaint("sglang#36691", "qwen3_coder", ("<tool_call>\n<function=now>\n</function>\n</tool_call>",), (("now", {}),)),
    Complaint("sglang#36691", "glm47", ("<tool_call>now</tool_call>",), (("now", {}),)),
    Complaint("claude-code#59787", "qwen3_coder", (QWEN.format("\n  if a < b && c <d>:\n    <par\n"),), (("f", {"a": "\n  if a < b && c <d>:\n    <par\n"}),)),
    Complaint(
        "claude-code#59787",
        "anthropic_legacy",
        ('<function_calls><invoke name="f"><parameter name="a">1 < 2 </p> </para</parameter></invoke></function_calls>',),
        (("f", {"a": "1 < 2 </p> </para"}),),
    ),
    Complaint("omlx#3794", "hermes", ("Write `<tool_call>` and then `</tool_call>`, as in\n```\n<tool_call>\n```\nand so on.",),
              text="Write `<tool_call>` and then `</tool_call>`, as in\n```\n<tool_call>\n```\nand so on."),
    Complaint("xinfer#129", "hermes", ("The tag <tool_call> begins a call, they say.",), text="The tag <tool_call> begins a call, they say."),
    Complaint("xinfer#129", "qwen3_coder", ("The tag <tool_call> begins a call, they say.",), text="The tag <tool_call> begins a call, they say."),
)  # fmt: skip
"""4: what the model said is lost."""

TWICE = (
    Complaint("vllm#51697", "xlam", ('[{"name": "f", "arguments": {"a": {"b": [1]}}}]',), (("f", {"a": {"b": [1]}}),)),
    Complaint("vllm#10395", "hermes", ('<tool_call>{"name": "f", "arguments": {"a": "x", ', '"b": "y"}}</tool_call>'), (("f", {"a": "x", "b": "y"}),)),
    Complaint("vllm#13826", "hermes", (r'<tool_call>{"name": "f", "arguments": {"a": "\u00e1á\ud83d\ude00"}}</tool_call>',), (("f", {"a": "áá😀"}),)),
    Complaint(
        "sglang#23071",
        "minimax_m2",
        ("<minimax:tool_call>" + minimax(("at", "Ulm"), ("when", "now")) + "</minimax:tool_call>",),
        (("look", {"at": "Ulm", "when": "now"}),),
    ),
    Complaint("Rapid-MLX#181", "hermes", (HERMES_F, HERMES_G, HERMES_F), (F, G, F)),
    Complaint("llama.cpp#12379, ik_llama.cpp#750", "hermes", ('<tool_call>{"name": "f", "arguments": {"a": "x\\', 'n", "b": [1, {"c": tr'), (("f", "truncated"),)),
)  # fmt: skip
"""5: arguments come twice, or as what was never written."""

LETTERS = (
    *(
        Complaint("vllm#46308, sglang#13518", dialect, (f'{begin}[{{"name": "f", "arguments": {{"a": "Zürich 東京 🔧"}}}}]{end}',), (("f", {"a": "Zürich 東京 🔧"}),))
        for dialect, begin, end in (("xlam", "", ""), ("hunyuan_a13b", "<tool_calls>", "</tool_calls>"))
    ),
    Complaint(
        "vllm#46308",
        "seed_oss",
        ("<seed:tool_call><function=f><parameter=a>Zürich 東京 🔧</parameter></function></seed:tool_call>",),
        (("f", {"a": "Zürich 東京 🔧"}),),
    ),
    Complaint("vllm#13826", "hermes", (r'<tool_call>{"name": "f", "arguments": {"a": "\ud83d"}}</tool_call>',), (("f", {"a": "\ufffd"}),)),
)  # fmt: skip
"""6: letters beyond ASCII, and escapes."""

TYPES = (
    Complaint("llama.cpp#26833", "qwen3_coder", (QWEN.format('{"x": [1]}'),), (("f", {"a": {"x": [1]}}),),
              tools=properties(a={"anyOf": [{"type": "object"}, {"type": "null"}]})),
    Complaint("mlx-lm#1330", "qwen3_coder", (QWEN.format("a dozen"),), (("f", {"a": "a dozen"}),), tools=properties(a={"type": "integer"})),
    Complaint("mlx-lm#1910", "qwen3_coder", (QWEN.format("12"),), (("f", {"a": "12"}),), tools=properties(a={"description": "of no type"})),
    Complaint("vllm#13622", "mistral_v11", ('[TOOL_CALLS]f[ARGS]{"a": 12, "b": "12"}',), (("f", {"a": 12, "b": "12"}),),
              tools=properties(a={"type": "integer"}, b={"type": "string"})),
    Complaint("opencode#1328", "glm45", ("<tool_call>f\n<arg_key>a</arg_key>\n<arg_value>2.5</arg_value>\n</tool_call>",), (("f", {"a": 2.5}),),
              tools=properties(a={"type": "number"})),
    Complaint("sglang#15135", "qwen3_coder", (QWEN.format("12"),), (("f", {"a": "12"}),), tools=properties(a={"type": "string"})),
    Complaint("vllm#32394", "qwen3_coder", (QWEN.format("null"),), (("f", {"a": None}),), tools=properties(a={"type": ["string", "null"]})),
)  # fmt: skip
"""8: types are guessed wrong."""

REASONING = (
    *(
        Complaint("vllm-mlx#148, vllm-mlx#168, vllm-mlx#433, vllm-mlx#609, Rapid-MLX#896", "hermes", (f"<think>I will.{HERMES_F}</think>Done",), calls, text, thought,
                  options={"opener_in_reasoning": policy})
        for policy, calls, text, thought in (("ends", (F,), "Done", "I will."), ("text", (), "Done", f"I will.{HERMES_F}"))
    ),
    Complaint("mlx-openai-server#284", "qwen3_coder", ("I think.</think>\n" + QWEN.format("x"),), (("f", {"a": "x"}),), reasoning="I think.",
              options={"starts_in_reasoning": True}),
    Complaint("lucebox#627", "anthropic_legacy think_tags", ('Hm.<function_calls><invoke name="f"></invoke></function_calls>',), (("f", {}),), reasoning="Hm.",
              options={"starts_in_reasoning": True, "opener_in_reasoning": "ends"}),
)  # fmt: skip
"""10: calls beside and inside reasoning."""

FATAL = (
    Complaint("llama.cpp#16888", "harmony", ("<|channel|>analysis<|message|>I wonder",), reasoning="I wonder"),
    Complaint("llama.cpp#16888", "harmony", ('<|channel|>commentary to=functions.f <|constrain|>json<|message|>{"a": [1',), (("f", "truncated"),)),
    Complaint("llama.cpp#16888", "qwen3_coder", (QWEN.partition("{}")[0] + "rm -r /tmp",), (("f", "truncated"),)),
    Complaint("llama.cpp#22072", "hermes", ('<tool_call>{"name": "f", "arguments": {"a": 1,, }}</tool_call>Hi',), (("f", "malformed"),), "Hi"),
    Complaint("llama.cpp#19612", "glm47", ("<tool_call>f<arg_key>a</arg_key><arg_value>plain [words</arg_value></tool_call>",), (("f", {"a": "plain [words"}),),
              tools=properties(a={"type": "array"})),
    Complaint("MTPLX#25", "hermes", ("<tool_call>this is no call</tool_call>",), text="<tool_call>this is no call</tool_call>"),
)  # fmt: skip
"""11: an error where something less was said."""

CLINE_TOOLS = {"write_to_file": {"properties": {"path": {"type": "string"}, "content": {"type": "string"}}}}
HTML = "<p>\n  <path>x</path>\n  <content>y</content>\n  <write_to_file>\n</p>"
CLIENTS = (
    Complaint(
        "Roo-Code#4438, Roo-Code#1317, Roo-Code#3039, Roo-Code#4426, Roo-Code#3404, Roo-Code#45, cline#832, cline#5764",
        "cline",
        (f"Now:\n<write_to_file>\n<path>a.html</path>\n<content>\n{HTML}\n</content>\n</write_to_file>",),
        (("write_to_file", {"path": "a.html", "content": HTML}),),
        "Now:\n",
        tools=CLINE_TOOLS,
        options={"unknown_tool": "text"},
    ),
    Complaint("pi-free#235", "cline", ("Use <dance><a>1</a></dance>.",), text="Use <dance><a>1</a></dance>.", tools=CLINE_TOOLS,
              options={"unknown_tool": "text"}),
    Complaint("pi-free#239", "cline", ("All right.</thinking> Go",), text="All right.Go", tools=CLINE_TOOLS),
    Complaint("pi-free#249", "qwen3_coder", (QWEN.format("a &lt; b"),), (("f", {"a": "a &lt; b"}),)),
)  # fmt: skip
"""12: tags that the client reads."""

UNKNOWN = (
    *(
        Complaint("ollama#17274, hermes-agent#87900", "hermes", (HERMES_F,), calls, text, tools={"g": {"properties": {}}}, options={"unknown_tool": policy})
        for policy, calls, text in (("pass", (F,), ""), ("text", (), HERMES_F), ("fail", (("f", "unknown_tool"),), ""))
    ),
    Complaint("claude-code-router#1340", "hermes qwen3_coder mistral_v11 deepseek_v31", (f"{QWEN.format('x')}\n{HERMES_F}",), (("f", {"a": "x"}), F)),
    Complaint("claude-code-router#1340", "hermes qwen3_coder mistral_v11 deepseek_v31", ('[TOOL_CALLS]f[ARGS]{"a": 1}',), (("f", {"a": 1}),)),
)  # fmt: skip
"""13: tools and formats that nobody expected."""


class Value(NamedTuple):
    """What stands before and after a text that is the argument `a` of the tool `f`."""

    issues: str
    dialect: str
    before: str
    after: str


VALUES = (
    Value(
        "sglang#27005, sglang#25246, sglang#21829, vllm#32536, vllm#43267, vllm#46351, Rapid-MLX#479, Rapid-MLX#648",
        *("qwen3_coder", *QWEN.split("{}")),
    ),
    Value(
        "vllm#47998",
        "minimax_m3",
        ']<]minimax[>[<tool_call>]<]minimax[>[<invoke name="f">]<]minimax[>[<a>',
        "]<]minimax[>[</a>]<]minimax[>[</invoke>]<]minimax[>[</tool_call>",
    ),
    Value(
        "vllm#52846",
        "deepseek_v4_dsml",
        '<｜DSML｜tool_calls><｜DSML｜invoke name="f"><｜DSML｜parameter name="a" string="true">',
        "</｜DSML｜parameter></｜DSML｜invoke></｜DSML｜tool_calls>",
    ),
    Value(
        "lmdeploy#4731, lmdeploy#4802, lmdeploy#4664",
        *("glm47", "<tool_call>f<arg_key>a</arg_key><arg_value>", "</arg_value></tool_call>"),
    ),
    Value(
        "ai-sdk-tool-call-middleware#396, pi#7698, pi#9062, pi#9063",
        *("hermes", '<tool_call>{"name": "f", "arguments": {"a": "', '"}}</tool_call>'),
    ),
    Value(
        "openclaw#113124, openclaw#121486, openclaw#121770, oh-my-pi#3946",
        *("gemma4", '<|tool_call>call:f{a:<|"|>', '<|"|>}<tool_call|>'),
    ),
)
"""7 and 9: nothing of a text comes before all of it has; work grows faster than the text."""

COMPLAINTS = (*CHUNKS, *WHOLE, *LEAKS, *LOST, *TWICE, *LETTERS, *TYPES, *REASONING, *FATAL, *CLIENTS, *UNKNOWN)
