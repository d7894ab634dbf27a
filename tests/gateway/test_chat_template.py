"""`ChatTemplate` and `read_template`: prompts as the templates of models write them, in a sandbox."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from chat_templates import CHATML, TEMPLATES, TOKENS
from looped import looped

from penstock.events import UsageError
from penstock.gateway import chat_template
from penstock.gateway.chat_template import ChatTemplate, Habits, read_template
from penstock.gateway.neutral import RequestError

USER: dict[str, Any] = {"role": "user", "content": "Go."}
TOOL = {"type": "function", "function": {"name": "now", "parameters": {"type": "object", "properties": {}}}}
ARGUMENTS = '{"zone": "<ü>", "a": 1}'
CALL = {"id": "call_1", "type": "function", "function": {"name": "now", "arguments": ARGUMENTS}}
CONVERSATION: list[dict[str, Any]] = [
    {"role": "system", "content": "Be kind."},
    USER,
    {"role": "assistant", "content": "I look.", "reasoning_content": "Hm.", "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "call_1", "content": "noon"},
]


def template_of(name: str) -> ChatTemplate:
    return ChatTemplate(TEMPLATES[name], tokens=TOKENS)


def prompt_of(source: str, *messages: dict[str, Any], **more: Any) -> str:
    return ChatTemplate(source).prompt({"messages": messages or (USER,), **more})


@looped(
    "name, habits, ends",
    [
        ("chatml", Habits(True, True, "<|im_end|>", True, reasoning="reasoning_content"), ("<|im_end|>", "</s>")),
        ("mistral", Habits(True, True, "</s>", True, takes_text=True, takes_short_ids=True), ("</s>",)),
        (
            "harmony",
            Habits(True, True, "<|return|>", True, reasoning="thinking", takes_both=False),
            ("<|return|>", "</s>"),
        ),
        ("plain", Habits(False, True, ""), ("</s>",)),
        ("with tools", Habits(True, True, "<|im_end|>", True), ("<|im_end|>", "</s>")),
        ("strict", Habits(False, False, "<|end|>"), ("<|end|>", "</s>")),
    ],
)
def test_what_a_template_does_is_found_out_by_asking_it(name: str, habits: Habits, ends: tuple[str, ...]):
    template = template_of(name)
    assert (template.habits, template.ends) == (habits, ends)


def test_a_conversation_with_tools_is_the_text_that_the_model_was_trained_with():
    assert template_of("chatml").prompt({"messages": CONVERSATION, "tools": [TOOL]}) == (
        "<|im_start|>system\nBe kind.\n"
        '{"type": "function", "function": {"name": "now", "description": "", "parameters": {"type": "object", '
        '"properties": {}}}}\n'
        "<|im_end|>\n"
        "<|im_start|>user\nGo.<|im_end|>\n"
        "<|im_start|>assistant\n<think>Hm.</think>\nI look."
        '<tool_call>\n{"name": "now", "arguments": {"zone": "<ü>", "a": 1}}\n</tool_call><|im_end|>\n'
        "<|im_start|>user\n<tool_response>noon</tool_response><|im_end|>\n"
        "<|im_start|>assistant\n"
    )


def test_ids_and_arguments_have_the_form_that_the_template_takes():
    prompt = template_of("mistral").prompt({"messages": CONVERSATION, "tools": [TOOL]})
    called, _, result = prompt.partition("[TOOL_RESULTS]")
    text = called.partition("[CALL_ID]")[2].removesuffix("</s>")
    call_id, _, arguments = text.partition("[ARGS]")
    assert (len(call_id), arguments) == (9, ARGUMENTS)
    assert result == f"{call_id}nownoon[/TOOL_RESULTS]"


def test_text_and_thoughts_before_a_call_are_one_where_the_template_refuses_both():
    thought = {**CONVERSATION[2], "thinking": "Hm."}
    prompt = template_of("harmony").prompt({"messages": [USER, thought, CONVERSATION[3]], "tools": [TOOL]})
    assert "<|channel|>analysis<|message|>Hm.\n\nI look.<|end|>" in prompt


def test_the_beginning_that_servers_write_themselves_is_left_out():
    assert template_of("mistral").prompt({"messages": [USER]}) == "[INST]Go.[/INST]"
    kept = ChatTemplate(TEMPLATES["mistral"], tokens=TOKENS, adds_begin=False)
    assert kept.prompt({"messages": [USER]}) == "<s>[INST]Go.[/INST]"


@looped(
    "more, end",
    [
        ({}, "assistant\n"),
        ({"chat_template_kwargs": {"enable_thinking": True}}, "assistant\n<think>\n"),
        ({"chat_template_kwargs": {"enable_thinking": False}}, "assistant\n<think>\n\n</think>\n\n"),
        ({"chat_template_kwargs": {"messages": [], "tools": [1], "add_generation_prompt": False}}, "assistant\n"),
    ],
)
def test_what_a_request_sets_reaches_the_template_but_not_its_messages(more: dict[str, Any], end: str):
    prompt = template_of("chatml").prompt({"messages": [USER], **more})
    assert prompt == f"<|im_start|>user\nGo.<|im_end|>\n<|im_start|>{end}"


def test_an_effort_reaches_the_template():
    assert prompt_of("{{ reasoning_effort }}", reasoning_effort="low") == "low"


@looped("said", ["Well, ", " Well,", "Well,\n"])
def test_what_the_assistant_began_is_gone_on_with(said: str):
    prompt = template_of("chatml").prompt({"messages": [USER, {"role": "assistant", "content": said}]})
    assert prompt.removeprefix("<|im_start|>user\nGo.<|im_end|>\n<|im_start|>assistant\n").strip(" ") == "Well,"


def test_what_a_template_changes_cannot_be_gone_on_with():
    begun = {"role": "assistant", "content": "Well"}
    with pytest.raises(RequestError, match=r"changes the assistant's last one \(chat_template\.jinja\)"):
        prompt_of("{% for each in messages %}{{ each.content | upper }}{% endfor %}", USER, begun)


@looped(
    "source, text",
    [
        ("{{ {'b': '<ü>&', 'a': [1]} | tojson }}", '{"b": "<ü>&", "a": [1]}'),
        ("{{ {'b': 1, 'a': 'ü'} | tojson(sort_keys=true, ensure_ascii=true) }}", '{"a": "\\u00fc", "b": 1}'),
        ("{{ [1] | tojson(indent=2) }}", "[\n  1\n]"),
        ("{{ [1, 2] | tojson(separators=(',', ':')) }}", "[1,2]"),
        ("{% for n in [1, 2, 3] %}{% if n == 2 %}{% break %}{% endif %}{{ n }}{% endfor %}", "1"),
        ("a\n    {% if true %}\nb\n    {% endif %}\nc", "a\nb\nc"),
        ("{% generation %}{{ messages[0].content }}{% endgeneration %}", "Go."),
        ("{{ strftime_now('%Y') }}", f"{datetime.now():%Y}"),  # noqa: DTZ005 - as the template does
        ("{{ tools }}{{ missing }}", "None"),
        ("{% set n = [1] %}{% set _ = n.append(2) %}{{ n.pop(0) }}{{ n }}", "1[2]"),
        ("{% set n = namespace(x=1) %}{% set n.x = 2 %}{{ n.x }}", "2"),
    ],
)
def test_the_language_is_that_of_hugging_face(source: str, text: str):
    assert prompt_of(source) == text


@looped(
    "source, line, said",
    [
        ("\n{{ raise_exception('Not ' ~ messages[0].content) }}", 2, "Not Go."),
        ("{{ messages[0].a.b }}", 1, "UndefinedError: 'dict object' has no attribute 'a'"),
        ("{{ 'a' + messages[0] }}", 1, "TypeError: can only concatenate str"),
        ("\n\n{{ messages.__class__.__mro__ }}", 3, "SecurityError: access to attribute '__class__' of 'list'"),
        ("{{ messages.clear() }}", 1, "SecurityError: "),
        ("{{ messages[0].update(role='system') }}", 1, "SecurityError: "),
        ("{{ raise_exception.__globals__.sys }}", 1, "SecurityError: "),
        ("{{ '{0.__class__.__mro__}'.format(1) }}", 1, "SecurityError: "),
        ("{% for n in range(10 ** 9) %}{% endfor %}", 1, "OverflowError: "),
        ("{% include '/etc/passwd' %}", 1, "TypeError: no loader"),
    ],
)
def test_what_a_template_refuses_or_cannot_do_is_told_with_its_line(source: str, line: int, said: str):
    with pytest.raises(RequestError) as raised:
        prompt_of(source)
    begin = f"messages: the chat template refuses them (chat_template.jinja, line {line}): {said}"
    assert str(raised.value).startswith(begin)
    assert raised.value.status == 400


def test_a_template_that_writes_without_an_end_is_stopped(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(chat_template, "_LONGEST_PROMPT", 1000)
    with pytest.raises(RequestError, match="it writes more than 1000 characters"):
        prompt_of("{% for n in range(99999) %}{{ n }} {% endfor %}")


def config(**more: Any) -> str:
    return json.dumps({"eos_token": "</s>", "bos_token": {"content": "<s>"}, "added_tokens": {}, **more})


SHOWS = "{{ bos_token }}|{{ eos_token }}"
NAMED = [{"name": "default", "template": "plain"}, {"name": "tool_use", "template": "with {{ tools | length }} tools"}]


@looped(
    "files, plain, with_tools",
    [
        ({"chat_template.jinja": SHOWS}, "|", "|"),
        ({"tokenizer_config.json": config(chat_template=SHOWS)}, "|</s>", "|</s>"),
        ({"tokenizer_config.json": config(chat_template=NAMED)}, "plain", "with 1 tools"),
        ({"chat_template.json": json.dumps({"chat_template": SHOWS})}, "|", "|"),
        ({"chat_template.jinja": SHOWS, "tokenizer_config.json": config()}, "|</s>", "|</s>"),
        ({"chat_template.jinja": SHOWS, "tokenizer_config.json": config(add_bos_token=False)}, "<s>|</s>", "<s>|</s>"),
        ({"chat_template.jinja": "{{ '{' }}"}, "{", "{"),
    ],
)
def test_a_file_is_a_template_or_has_one(files: dict[str, str], plain: str, with_tools: str, tmp_path: Path):
    for name in ("chat_template.jinja", "tokenizer_config.json"):
        (tmp_path / name).unlink(missing_ok=True)
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    template = read_template(tmp_path / next(iter(files)))
    assert template.prompt({"messages": [USER]}) == plain
    assert template.prompt({"messages": [USER], "tools": [TOOL]}) == with_tools


@looped(
    "content, complaint",
    [
        (None, "No such file"),
        (b"\xff", "it is not UTF-8"),
        (b"\n\n{% if %}", "mine cannot be read, line 3: Expected an expression"),
        (b"{% for m in messages %}", "mine cannot be read, line 1: Unexpected end of template"),
        (b"{{ x | nothing }}", "mine cannot be read, line 1: No filter named 'nothing'"),
        (b'{"eos_token": "x"}', "mine has no chat_template; newer models have it in a chat_template.jinja"),
        (b" " * 2000, "mine is longer than 1000 bytes"),
    ],
)
def test_what_is_no_template_is_told_with_its_file(
    content: bytes | None, complaint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(chat_template, "_LONGEST_FILE", 1000)
    path = tmp_path / "mine"
    path.unlink(missing_ok=True)
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UsageError) as raised:
        read_template(path)
    assert complaint in str(raised.value)
    assert str(path) in str(raised.value)


def test_the_line_of_a_file_is_told_with_its_path(tmp_path: Path):
    path = tmp_path / "strict.jinja"
    path.write_text(CHATML, encoding="utf-8")
    late = {"role": "system", "content": "Late."}
    line = CHATML.partition("raise_exception")[0].count("\n") + 1
    with pytest.raises(RequestError) as raised:
        read_template(path).prompt({"messages": [USER, late]})
    assert str(raised.value) == (
        f"messages: the chat template refuses them ({path}, line {line}): The system speaks first."
    )
