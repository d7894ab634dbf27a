"""Small chat templates, written for the tests as those of three families of models are."""

from __future__ import annotations

CHATML = """\
{%- macro call(each) -%}
<tool_call>
{"name": {{ each.function.name | tojson }}, "arguments": {{ each.function.arguments | tojson }}}
</tool_call>
{%- endmacro -%}
{%- if tools %}
<|im_start|>system
{%- if messages[0].role == 'system' %}

{{ messages[0].content }}
{%- endif %}

{% for tool in tools %}
{{ tool | tojson }}
{% endfor %}
<|im_end|>
{% elif messages[0].role == 'system' %}
<|im_start|>system
{{ messages[0].content }}<|im_end|>
{% endif %}
{% for message in messages %}
    {% if message.role == 'system' %}
        {% if loop.first %}{% continue %}{% endif %}
        {{- raise_exception('The system speaks first.') }}
    {% endif %}
<|im_start|>{{ 'user' if message.role == 'tool' else message.role }}
{% if message.role == 'tool' %}
<tool_response>{{ message.content }}</tool_response>
{%- elif message.role == 'assistant' %}
{% generation %}
{% if message.reasoning_content %}
<think>{{ message.reasoning_content }}</think>
{% endif %}
{{ message.content }}
{%- for each in message.tool_calls %}{{ call(each) }}{% endfor %}
{% endgeneration %}
{%- else %}
{{ message.content }}
{%- endif %}
<|im_end|>
{% endfor %}
{% if add_generation_prompt %}
<|im_start|>assistant
{% if enable_thinking %}
<think>
{% elif enable_thinking is defined %}
<think>

</think>

{% endif %}
{% endif %}
"""
"""Calls of hermes. `enable_thinking` opens the reasoning, or opens and closes it."""

MISTRAL = """\
{{- bos_token }}
{%- for message in messages %}
    {%- if message.role == 'system' %}
        {{- '[SYSTEM_PROMPT]' + message.content + '[/SYSTEM_PROMPT]' }}
    {%- elif message.role == 'user' %}
        {%- if loop.last and tools %}
            {{- '[AVAILABLE_TOOLS]' + (tools | tojson) + '[/AVAILABLE_TOOLS]' }}
        {%- endif %}
        {{- '[INST]' + message.content + '[/INST]' }}
    {%- elif message.role == 'assistant' %}
        {{- message.content }}
        {%- for call in message.tool_calls %}
            {%- if call.id | length != 9 %}
                {{- raise_exception('An id has 9 characters.') }}
            {%- endif %}
            {{- '[TOOL_CALLS]' + call.function.name + '[CALL_ID]' + call.id + '[ARGS]' + call.function.arguments }}
        {%- endfor %}
        {{- eos_token }}
    {%- elif message.role == 'tool' %}
        {{- '[TOOL_RESULTS]' + message.tool_call_id + message.name + message.content + '[/TOOL_RESULTS]' }}
    {%- endif %}
{%- endfor %}
"""
"""Calls of mistral_v11, with ids of nine characters and arguments as text."""

HARMONY = """\
{%- if tools %}
    {{- '<|start|>developer<|message|>' }}
    {%- for tool in tools %}
        {{- '// ' + tool.function.description + ' type ' + tool.function.name }}
    {%- endfor %}
    {{- '<|end|>' }}
{%- endif %}
{%- for message in messages %}
    {%- if message.role == 'assistant' %}
        {%- if message.thinking and message.content and message.tool_calls %}
            {{- raise_exception('Either think or speak before a call.') }}
        {%- endif %}
        {%- if message.thinking %}
            {{- '<|start|>assistant<|channel|>analysis<|message|>' + message.thinking + '<|end|>' }}
        {%- endif %}
        {%- for call in message.tool_calls %}
            {{- '<|start|>assistant to=functions.' + call.function.name + '<|channel|>commentary json<|message|>' }}
            {{- (call.function.arguments | tojson) + '<|call|>' }}
        {%- else %}
            {{- '<|start|>assistant<|channel|>final<|message|>' + message.content }}
            {{- '<|return|>' if loop.last else '<|end|>' }}
        {%- endfor %}
    {%- else %}
        {{- '<|start|>' + (message.name or message.role) + '<|message|>' + message.content + '<|end|>' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|start|>assistant' }}{%- endif %}
"""

PLAIN = "{% for message in messages %}{{ message.role }}: {{ message.content }}\n{% endfor %}assistant:"
"""It knows neither tools nor calls."""
STRICT = """\
{%- for message in messages %}
    {%- if message.role not in ('user', 'assistant') %}{{ raise_exception('Unknown role.') }}{% endif %}
    {{- '<|' + message.role + '|>' + message.content + '<|end|>\\n' }}
{%- endfor %}
{{- '<|assistant|>' if add_generation_prompt else eos_token }}
"""
WITH_TOOLS = """\
{{ (tools | list) | tojson }}
{% for message in messages %}<|im_start|>{{ message.role }}
{{ message.content }}{% if message.tool_calls %}{{ message.tool_calls | tojson }}{% endif %}<|im_end|>
{% endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""
"""Of those that models have beside their own, for requests with tools."""
TEMPLATES = {
    "chatml": CHATML,
    "mistral": MISTRAL,
    "harmony": HARMONY,
    "plain": PLAIN,
    "strict": STRICT,
    "with tools": WITH_TOOLS,
}
TOKENS = {"bos_token": "<s>", "eos_token": "</s>"}
