"""A text with calls in each dialect."""

from __future__ import annotations

from typing import Any, Final

OSLO: Final = ("weather", {"city": "Oslo", "days": 2})
NOW: Final[tuple[str, dict[str, Any]]] = ("now", {})
CITY: Final = ("weather", {"city": "Oslo"})
TEXTS: Final[tuple[tuple[str, str, str, str, tuple[tuple[str, dict[str, Any]], ...]], ...]] = (
    (
        "hermes",
        (
            '<think>Both.</think>Sure.\n<tool_call>\n{"name": "weather", "arguments": {"city": "Oslo", "days": 2}}\n'
            '</tool_call>\n<tool_call>\n{"name": "now", "arguments": {}}\n</tool_call>'
        ),
        "Sure.\n",
        "Both.",
        (OSLO, NOW),
    ),
    ("hermes", "In HTML <tool_call> is no element.", "In HTML <tool_call> is no element.", "", ()),
    (
        "hermes_granite4",
        '<tool_call>{"name": "weather", "arguments": "{\\"city\\": \\"Oslo\\", \\"days\\": 2}"}</tool_call>',
        *("", "", (OSLO,)),
    ),
    (
        "reka_edge",
        'Ok <tool_call>\n{"name": "now", "arguments": {}}\n</tool_call>',
        *("Ok ", "", (NOW,)),
    ),
    (
        "ernie45",
        '<think>\nHm\n</think>\n\n<response>\nHere:\n</response>\n<tool_call>\n{"name": "now", "arguments": {}}\n</tool_call>',
        *("Here:", "Hm", (NOW,)),
    ),
    (
        "longcat",
        (
            '<longcat_think>Hm</longcat_think><longcat_tool_call>{"name": "now", "arguments": {}}</longcat_tool_call>'
            "<longcat_tool_call>weather<longcat_arg_key>city</longcat_arg_key><longcat_arg_value>Oslo</longcat_arg_value>"
            "<longcat_arg_key>days</longcat_arg_key><longcat_arg_value>2</longcat_arg_value></longcat_tool_call>"
        ),
        *("", "Hm", (NOW, OSLO)),
    ),
    (
        "json",
        '{"name": "now", "arguments": {}}\n</tool_call>\n{"name": "weather", "arguments": {"city": "Oslo", "days": 2}}</tool_call>',
        *("", "", (NOW, OSLO)),
    ),
    ("json", "In HTML </tool_call> closes nothing.", "In HTML </tool_call> closes nothing.", "", ()),
    (
        "llama3_json",
        '<|python_tag|>{"name": "weather", "parameters": {"city": "Oslo", "days": 2}}; {"name": "now", "parameters": {}}',
        *("", "", (OSLO, NOW)),
    ),
    ("llama3_json", 'The set {"a"} has one member.', 'The set {"a"} has one member.', "", ()),
    # the prompt formats of Llama 3.1 in Meta's documentation
    (
        "llama_python_tag",
        '<|python_tag|>brave_search.call(query="Oslo")<|eom_id|>',
        *("", "", (("brave_search", {"query": "Oslo"}),)),
    ),
    ("llama_python_tag", "<|python_tag|>import os\nos.call(1)", "import os\nos.call(1)", "", ()),
    (
        "mistral_old",
        (
            '[TOOL_CALLS] [{"name": "weather", "arguments": {"city": "Oslo", "days": 2}, "id": "a1b2c3d4e"}, '
            '{"name": "now", "arguments": {}}]'
        ),
        *("", "", (OSLO, NOW)),
    ),
    (
        "mistral_v11",
        (
            '[THINK]Hm[/THINK]Sure.[TOOL_CALLS]weather[CALL_ID]a1b2c3d4e[ARGS]{"city": "Oslo", "days": 2}'
            "[TOOL_CALLS]now[ARGS]{}"
        ),
        *("Sure.", "Hm", (OSLO, NOW)),
    ),
    (
        "granite3",
        '<|tool_call|>[{"arguments": {"city": "Oslo", "days": 2}, "name": "weather"}, {"name": "now", "arguments": {}}]',
        *("", "", (OSLO, NOW)),
    ),
    (
        "granite3",
        "Here is my thought process:\nHm\nHere is my response:\nHi",
        *("Hi", "Hm", ()),
    ),
    ("granite_20b_fc", '<function_call> {"name": "now", "arguments": {}}', "", "", (NOW,)),
    (
        "jamba",
        '<tool_calls>[{"name": "weather", "arguments": {"city": "Oslo", "days": 2}}]</tool_calls>',
        *("", "", (OSLO,)),
    ),
    (
        "apriel",
        (
            'Here are my reasoning steps:\nHm\n[BEGIN FINAL RESPONSE]\n<tool_calls>[{"name": "now", "arguments": {}}]'
            "</tool_calls>"
        ),
        *("", "Hm", (NOW,)),
    ),
    (
        "nemotron_toolcall",
        '<think>Hm</think><TOOLCALL>[{"name": "now", "arguments": {}}]</TOOLCALL>',
        *("", "Hm", (NOW,)),
    ),
    ("phi4_mini", 'functools[{"name": "now", "arguments": {}}]', "", "", (NOW,)),
    # the template of phi4-mini in Ollama's library
    ("phi4_mini", '<|tool_call|>[{"name": "now", "arguments": {}}]<|/tool_call|>', "", "", (NOW,)),
    # llama.cpp#12288 has the other closer
    ("phi4_mini", '<think>Hm</think><|tool_call|>{"name": "now", "arguments": {}}</|tool_call|>', "", "Hm", (NOW,)),
    # the code of OpenBMB that renders the calls of MiniCPM3 and MiniCPM4
    (
        "minicpm4",
        (
            "<|thought_start|>\nHm\n<|thought_end|>\n<|tool_call_start|>\n```python\nnow()\n"
            'weather(city="Oslo",days=2)\n```\n<|tool_call_end|>\nSure.'
        ),
        *("Sure.", "Hm", (NOW, OSLO)),
    ),
    # the history of GLM-4-0414's template; without tools its marker is needed
    ("glm4", '<|assistant|>weather\n{"city": "Oslo", "days": 2}', "", "", (OSLO,)),
    # vLLM's parser of IQuest Coder V2
    (
        "iquest_coder_v2",
        (
            "<think>Hm</think><iquestcoder_tool_call>weather\n<arg_key>city</arg_key>\n<arg_value>Oslo</arg_value>\n"
            "<arg_key>days</arg_key>\n<arg_value>2</arg_value>\n</iquestcoder_tool_call>"
        ),
        *("", "Hm", (OSLO,)),
    ),
    # the parsers of TeleChat 3 and 4 for vLLM and SGLang
    (
        "telechat",
        (
            "<think>Hm</think><tool_call>weather<param_key>city</param_key><param_value>Oslo</param_value>\n"
            "<param_key>days</param_key><param_value>2</param_value></tool_call>\n"
            '<tool_call>{"name": "now", "arguments": {}}</tool_call>'
        ),
        *("", "Hm", (OSLO, NOW)),
    ),
    ("telechat", "<tool_call>now</tool_call>", "", "", (NOW,)),
    ("firefunction_v2", ' functools[{"name": "now", "arguments": {}}]', "", "", (NOW,)),
    ("xlam", '```json\n[{"name": "now", "arguments": {}}]\n```', "", "", (NOW,)),
    ("xlam", '[{"name": "now", "arguments": {}}]', "", "", (NOW,)),
    (
        "hunyuan_a13b",
        '<think>Hm</think><answer>Sure.</answer><tool_calls>[{"name": "now", "arguments": {}}]</tool_calls>',
        *("Sure.", "Hm", (NOW,)),
    ),
    (
        "internlm2",
        'Sure.<|action_start|><|plugin|>{"name": "weather", "parameters": {"city": "Oslo", "days": 2}}<|action_end|>',
        *("Sure.", "", (OSLO,)),
    ),
    (
        "apertus",
        (
            '<|inner_prefix|>Hm<|inner_suffix|><|tools_prefix|>[{"weather": {"city": "Oslo", "days": 2}}, {"now": {}}]'
            "<|tools_suffix|>"
        ),
        *("", "Hm", (OSLO, NOW)),
    ),
    (
        "cohere_r_plus",
        'Action:```json\n[{"tool_name": "weather", "parameters": {"city": "Oslo", "days": 2}}]\n```',
        *("", "", (OSLO,)),
    ),
    (
        "cohere_r7b",
        (
            "<|START_THINKING|>Hm<|END_THINKING|><|START_ACTION|>[\n"
            '{"tool_call_id": "0", "tool_name": "weather", "parameters": {"city": "Oslo", "days": 2}},\n'
            '{"tool_call_id": "1", "tool_name": "now", "parameters": {}}\n]<|END_ACTION|>'
        ),
        *("", "Hm", (OSLO, NOW)),
    ),
    ("cohere_r7b", "<|START_RESPONSE|>Hi<|END_RESPONSE|>", "Hi", "", ()),
    (
        "gigachat3",
        'Sure.<|message_sep|>\n\nfunction call<|role_sep|>\n{"name": "now", "arguments": {}}</s>',
        *("Sure.", "", (NOW,)),
    ),
    ("gigachat3", '<|function_call|>{"name": "now", "arguments": {}}', "", "", (NOW,)),
    (
        "gigachat35",
        (
            '<think>Hm</think><｜GCML｜tool_calls>\n<｜GCML｜invoke name="weather">\n'
            '<｜GCML｜parameter name="city" string="true">Oslo</｜GCML｜parameter>\n'
            '<｜GCML｜parameter name="days" string="false">2</｜GCML｜parameter>\n</｜GCML｜invoke>\n</｜GCML｜tool_calls>'
        ),
        *("", "Hm", (OSLO,)),
    ),
    ("json_bare", '{"name": "weather", "arguments": {"city": "Oslo", "days": 2}}', "", "", (OSLO,)),
    (
        "json_array_bare",
        '[{"name": "weather", "arguments": {"city": "Oslo", "days": 2}}, {"name": "now", "arguments": {}}]',
        *("", "", (OSLO, NOW)),
    ),
    ("generic_json", '{"tool_call": {"name": "now", "arguments": {}}}', "", "", (NOW,)),
    ("fenced_json", 'So:\n```json\n{"name": "now", "arguments": {}}\n```', "So:\n", "", (NOW,)),
    (
        "deepseek_v3_r1",
        (
            "<think>Hm</think><｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>weather\n```json\n"
            '{"city": "Oslo", "days": 2}\n```<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>now\n'
            "```json\n{}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>"
        ),
        *("", "Hm", (OSLO, NOW)),
    ),
    (
        "deepseek_v3_cogito",
        (
            "<|tool▁calls▁begin|><|tool▁call▁begin|>function<|tool▁sep|>now\n```json\n{}\n```<|tool▁call▁end|>"
            "<|tool▁calls▁end|><|end▁of▁sentence|>"
        ),
        *("", "", (NOW,)),
    ),
    (
        "deepseek_v31",
        (
            '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>weather<｜tool▁sep｜>{"city": "Oslo", "days": 2}<｜tool▁call▁end｜>'
            "<｜tool▁call▁begin｜>now<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>"
        ),
        *("", "", (OSLO, NOW)),
    ),
    (
        "kimi_k2",
        (
            "<|tool_calls_section_begin|><|tool_call_begin|>functions.weather:0<|tool_call_argument_begin|>"
            '{"city": "Oslo", "days": 2}<|tool_call_end|><|tool_call_begin|>functions.now:1<|tool_call_argument_begin|>{}'
            "<|tool_call_end|><|tool_calls_section_end|>"
        ),
        *("", "", (OSLO, NOW)),
    ),
    (
        "kimi_k3",
        (
            "<|open|>response<|sep|>Sure.<|close|>response<|sep|><|open|>tools<|sep|>"
            '<|open|>call tool="weather" index="1"<|sep|><|open|>argument key="city" type="string"<|sep|>Oslo'
            '<|close|>argument<|sep|><|open|>argument key="days" type="number"<|sep|>2<|close|>argument<|sep|>'
            "<|close|>call<|sep|><|close|>tools<|sep|><|close|>message<|sep|>"
        ),
        *("Sure.", "", (OSLO,)),
    ),
    ("functionary_v32", '>>>weather\n{"city": "Oslo", "days": 2}>>>now\n{}', "", "", (OSLO, NOW)),
    ("functionary_v32", ">>>all\nHi", "Hi", "", ()),
    ("functionary_v32", 'all\nHi>>>weather\n{"city": "Oslo", "days": 2}>>>all\nHo', "HiHo", "", (OSLO,)),
    ("functionary_v32", "Not all\nof it", "Not all\nof it", "", ()),
    (
        "harmony",
        (
            "<|channel|>analysis<|message|>Hm<|end|><|start|>assistant<|channel|>commentary to=functions.weather "
            '<|constrain|>json<|message|>{"city": "Oslo", "days": 2}<|call|>'
        ),
        *("", "Hm", (OSLO,)),
    ),
    ("harmony", "<|channel|>final<|message|>Hi<|return|>", "Hi", "", ()),
    (
        "inkling",
        '<|message_model|>now<|content_invoke_tool_json|>{"name":"now","args":{}}<|end_message|>',
        "",
        "",
        (NOW,),
    ),
    (
        "muse_glimmer",
        (
            "to=self<|message|>Hm<|eom|><|start|>assistant to=weather<|message|><atem:function_calls>\n"
            '<atem:invoke name="weather">\n<atem:parameter name="city">Oslo</atem:parameter>\n'
            '<atem:parameter name="days">2</atem:parameter>\n</atem:invoke>\n</atem:function_calls><|eom|>'
        ),
        *("", "Hm", (OSLO,)),
    ),
    (
        "qwen3_coder",
        (
            "Sure.\n<tool_call>\n<function=weather>\n<parameter=city>\nOslo\n</parameter>\n<parameter=days>\n2\n</parameter>\n"
            "</function>\n</tool_call>\n<tool_call>\n<function=now>\n</function>\n</tool_call>"
        ),
        *("Sure.\n", "", (OSLO, NOW)),
    ),
    (
        "qwen3_coder",
        '<function=weather>\n<parameter=city>\na < b && "c" </p\n</parameter>\n</function>',
        *("", "", (("weather", {"city": 'a < b && "c" </p'}),)),
    ),
    (
        "step3p5",
        "<tool_call>\n<function=weather>\n<parameter=city>\nOslo\n</parameter>\n</function>\n</tool_call>",
        *("", "", (CITY,)),
    ),
    ("mimo", "<tool_call><function=weather><parameter=city>Oslo</parameter></function></tool_call>", "", "", (CITY,)),
    (
        "seed_oss",
        (
            "<seed:think>Hm</seed:think><seed:tool_call>\n<function=weather>\n<parameter=city>Oslo</parameter>\n"
            "<parameter=days>2</parameter>\n</function>\n</seed:tool_call>"
        ),
        *("", "Hm", (OSLO,)),
    ),
    (
        "glm45",
        (
            "<tool_call>weather\n<arg_key>city</arg_key>\n<arg_value>Oslo</arg_value>\n<arg_key>days</arg_key>\n"
            "<arg_value>2</arg_value>\n</tool_call>\n<tool_call>now\n</tool_call>"
        ),
        *("", "", (OSLO, NOW)),
    ),
    (
        "glm47",
        (
            "<think>Hm</think><tool_call>weather<arg_key>city</arg_key><arg_value>Oslo</arg_value><arg_key>days</arg_key>"
            "<arg_value>2</arg_value></tool_call><tool_call>now</tool_call>"
        ),
        *("", "Hm", (OSLO, NOW)),
    ),
    (
        "poolside_v1",
        "<tool_call>weather\n<arg_key>city</arg_key>\n<arg_value>Oslo</arg_value>\n</tool_call>",
        *("", "", (CITY,)),
    ),
    (
        "hunyuan_v3",
        (
            "<tool_calls>\n<tool_call>weather<tool_sep>\n<arg_key>city</arg_key>\n<arg_value>Oslo</arg_value>\n</tool_call>\n"
            "<tool_call>now<tool_sep>\n</tool_call>\n</tool_calls>"
        ),
        *("", "", (CITY, NOW)),
    ),
    (
        "k2_horizon",
        (
            "<ifm|tool_calls><ifm|tool_call>weather<ifm|arg_key>days</ifm|arg_key><ifm|arg_type>integer</ifm|arg_type>"
            '<ifm|arg_value>2</ifm|arg_value></ifm|tool_call><ifm|tool_call>{"name": "now", "arguments": {}}'
            "</ifm|tool_call></ifm|tool_calls>"
        ),
        *("", "", (("weather", {"days": 2}), NOW)),
    ),
    (
        "minimax_m1",
        (
            '<tool_calls>\n{"name": "weather", "arguments": {"city": "Oslo", "days": 2}}\n{"name": "now", "arguments": {}}\n'
            "</tool_calls>"
        ),
        *("", "", (OSLO, NOW)),
    ),
    (
        "minimax_m2",
        (
            '<minimax:tool_call>\n<invoke name="weather">\n<parameter name="city">Oslo</parameter>\n'
            '<parameter name="days">2</parameter>\n</invoke>\n<invoke name="now">\n</invoke>\n</minimax:tool_call>'
        ),
        *("", "", (OSLO, NOW)),
    ),
    (
        "minimax_m3",
        (
            ']<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name="weather">]<]minimax[>[<city>Oslo]<]minimax[>[</city>'
            "]<]minimax[>[<days>2]<]minimax[>[</days>]<]minimax[>[</invoke>\n]<]minimax[>[</tool_call>"
        ),
        *("", "", (OSLO,)),
    ),
    (
        "anthropic_legacy",
        (
            '<function_calls>\n<invoke name="weather">\n<parameter name="city">Oslo</parameter>\n'
            '<parameter name="days">2</parameter>\n</invoke>\n</function_calls>'
        ),
        *("", "", (OSLO,)),
    ),
    # Anthropic's page "Legacy tool use"
    (
        "anthropic_legacy",
        (
            "<function_calls>\n<invoke>\n<tool_name>weather</tool_name>\n<parameters>\n<city>Oslo</city>\n<days>2</days>\n"
            "</parameters>\n</invoke>\n<invoke>\n<tool_name>now</tool_name>\n<parameters>\n</parameters>\n</invoke>\n"
            "</function_calls>"
        ),
        *("", "", (OSLO, NOW)),
    ),
    (
        "dots",
        '<dots_function_call><invoke name="weather"><parameter name="city">Oslo</parameter></invoke></dots_function_call>',
        *("", "", (CITY,)),
    ),
    (
        "deepseek_v32_dsml",
        (
            '<｜DSML｜function_calls>\n<｜DSML｜invoke name="weather">\n'
            '<｜DSML｜parameter name="city" string="true">Oslo</｜DSML｜parameter>\n'
            '<｜DSML｜parameter name="days" string="false">2</｜DSML｜parameter>\n</｜DSML｜invoke>\n'
            '<｜DSML｜invoke name="now">\n</｜DSML｜invoke>\n</｜DSML｜function_calls>'
        ),
        *("", "", (OSLO, NOW)),
    ),
    (
        "deepseek_v4_dsml",
        (
            '<｜DSML｜tool_calls>\n<｜DSML｜invoke name="weather">\n'
            '<｜DSML｜parameter name="city" string="true">Oslo</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>'
        ),
        *("", "", (CITY,)),
    ),
    (
        "step3",
        (
            "<｜tool_calls_begin｜>\n<｜tool_call_begin｜>function<｜tool_sep｜>"
            '<steptml:invoke name="weather">\n<steptml:parameter name="city">Oslo</steptml:parameter>\n</steptml:invoke>'
            "<｜tool_call_end｜>\n<｜tool_calls_end｜>"
        ),
        *("", "", (CITY,)),
    ),
    (
        "minicpm5_xml",
        (
            '<function name="weather"><param name="city"><![CDATA[<b>Oslo</b>]]></param><param name="days">2</param>'
            "</function>"
        ),
        *("", "", (("weather", {"city": "<b>Oslo</b>", "days": 2}),)),
    ),
    ("pythonic", "[weather(city='Oslo', days=2), now()]", "", "", (OSLO, NOW)),
    ("pythonic", "See [the docs](https://x.y) and [f(x)].", "See [the docs](https://x.y) and [f(x)].", "", ()),
    ("llama4_pythonic", "<|python_start|>[weather(city='Oslo', days=2), now()]", "", "", (OSLO, NOW)),
    ("olmo3_pythonic", '<function_calls>weather(city="Oslo", days=2)\nnow()</function_calls>', "", "", (OSLO, NOW)),
    (
        "lfm2",
        "Sure.<|tool_call_start|>[weather(city='Oslo', days=2), now()]<|tool_call_end|>",
        "Sure.",
        "",
        (OSLO, NOW),
    ),
    ("lfm2", '<|tool_call_start|>[{"name": "now", "arguments": {}}]<|tool_call_end|>', "", "", (NOW,)),
    (
        "functiongemma",
        "<start_function_call>call:weather{city:<escape>Oslo<escape>,days:2}<end_function_call>",
        *("", "", (OSLO,)),
    ),
    (
        "gemma4",
        '<|channel>thought\nHm<channel|><|tool_call>call:weather{city:<|"|>Oslo<|"|>,days:2}<tool_call|>',
        *("", "Hm", (OSLO,)),
    ),
    ("cline", "<weather>\n<city>Oslo</city>\n</weather>", "", "", (CITY,)),
    ("cline", "A <b>bold</b> word.", "A <b>bold</b> word.", "", ()),
    # "Edit formats" in Aider's documentation
    (
        "aider",
        (
            "app.py\n```python\n<<<<<<< SEARCH\nimport os\n=======\nimport os\nimport sys\n>>>>>>> REPLACE\n\n"
            "<<<<<<< SEARCH\n=======\nprint()\n>>>>>>> REPLACE\n```"
        ),
        "app.py\n```python\n\n```",
        "",
        (
            ("search_replace", {"search": "import os\n", "replace": "import os\nimport sys\n"}),
            ("search_replace", {"search": "", "replace": "print()\n"}),
        ),
    ),
    (
        "aider",
        "<<<<<<< SEARCH\r\na\r\n=======\r\nb\r\n>>>>>>> REPLACE",
        *("", "", (("search_replace", {"search": "a\r\n", "replace": "b\r\n"}),)),
    ),
    ("aider", "<<<<<<< HEAD\na\n=======\nb\n>>>>>>> other", "<<<<<<< HEAD\na\n=======\nb\n>>>>>>> other", "", ()),
    ("openhands", "<function=weather>\n<parameter=city>Oslo</parameter>\n", "", "", (CITY,)),
    (
        "bolt_artifact",
        '<boltArtifact id="x" title="X"><boltAction type="shell">npm install</boltAction></boltArtifact>',
        *("", "", (("shell", {"content": "npm install"}),)),
    ),
    ("think_tags", "<think>\nHm\n</think>\n\nHi <tool_call>", "Hi <tool_call>", "Hm", ()),
)
