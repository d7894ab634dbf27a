"""All dialects, in tables by name, by model and by server; and `dialect_for`, the dialect of a model by its name."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, Literal, TypeAlias, cast

from msgspec.structs import replace

from ...events.errors import UsageError
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
from ..dialects.parts import ARGUMENTS
from ..dialects.pythonic import LFM2, OLMO3_PYTHONIC, PYTHONIC
from ..dialects.qwen3_coder import MIMO, QWEN3_CODER, SEED_OSS
from ..dialects.solar import SOLAR_OPEN, SOLAR_OPEN2
from ..dialects.step import STEP3, STEP3P5
from ..engine.known_names import known_names
from ..grammar.dialect import Alt, Call, Dialect, KnownDialect, ModelDialect

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

# fmt: off
DialectName: TypeAlias = Literal[
    "aider", "anthropic_legacy", "apertus", "apriel", "bolt_artifact", "cline", "cohere_r7b", "cohere_r_plus",
    "deepseek_v31", "deepseek_v32_dsml", "deepseek_v3_cogito", "deepseek_v3_r1", "deepseek_v4_dsml", "dots", "ernie45",
    "fenced_json", "firefunction_v2", "functionary_v31", "functionary_v32", "functiongemma", "gemma4", "generic_json",
    "gigachat3", "gigachat35", "glm4", "glm45", "glm47", "granite3", "granite_20b_fc", "harmony", "hermes",
    "hermes_granite4", "hunyuan_a13b", "hunyuan_v3", "hyperclovax_think", "inkling", "internlm2", "iquest_coder_v2",
    "jamba", "json", "json_answer", "json_array_bare", "json_bare", "k2_horizon", "kimi_k2", "kimi_k3", "lfm2",
    "llama3_json", "llama4_pythonic", "llama_python_tag", "longcat", "mimo", "minicpm4", "minicpm5_xml", "minimax_m1",
    "minimax_m2", "minimax_m3", "mirothinker", "mistral_old", "mistral_v11", "muse_glimmer", "nemotron_toolcall",
    "olmo3_pythonic", "openhands", "phi4_mini", "plamo3", "poolside_v1", "pythonic", "qwen3_coder", "reka_edge",
    "seed_oss", "sentinel", "solar_open", "solar_open2", "step3", "step3p5", "telechat", "think_tags", "tool_call",
    "tool_code", "xlam", "xml",
]
# fmt: on
"""The names of `DIALECTS`, for type checkers."""

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


def dialects_named(*given: object, has_tools: bool = False) -> tuple[Dialect, ...]:
    """Return the dialects with these names, each once; a grammar is returned as it is.

    `auto` stands for all of `AUTO`. Where tools were declared, those of `AUTO_WITH_TOOLS`, or the `unmarked` ones of a
    single dialect, are read as well, for calls of these tools only.

    >>> [each.name for each in dialects_named("hermes", "hermes", "glm45")]
    ['hermes', 'glm45']

    `UsageError` for an unknown name.
    """
    found = [_dialect(name) for each in given for name in (AUTO if each == "auto" else (each,))]
    if has_tools:
        names = [each.name for each in found]
        more = AUTO_WITH_TOOLS if "auto" in given else found[0].unmarked if len(found) == 1 else ()
        found += (_only_declared(name, is_alone=len(more) == 1) for name in more if name not in names)
    return tuple(dict.fromkeys(found))


def dialects_beside(*, has_tools: bool = True) -> tuple[Dialect, ...]:
    """Return the dialects that a model may fall into; of these only the calls are read.

    Where tools were declared, only their names tell such calls from other text.
    """
    given = ("auto", "cline", "pythonic") if has_tools else ("auto",)
    found = dialects_named(*given, has_tools=has_tools)
    return tuple(replace(each, reasoning=(), only_declared=has_tools) for each in found)


def with_names(dialect: Dialect, names: Iterable[str]) -> Dialect:
    r"""Return a dialect in which the names of declared tools open calls, if they do so without a marker.

    >>> with_names(DIALECTS["glm4"], ["weather"]).leading
    ('weather\n',)
    """
    if not dialect.behind_name:
        return dialect
    openers = {f"{name}{dialect.behind_name}": name for name in names}
    calls = (Call(Alt(f"\n{opener}", opener), ARGUMENTS, name=name) for opener, name in openers.items())
    return replace(dialect, grammar=(Alt(dialect.grammar, *calls),), leading=(*dialect.leading, *openers))


def _only_declared(name: str, *, is_alone: bool) -> Dialect:
    """Return a dialect for calls of declared tools; beside others code is one only where nothing comes before it."""
    dialect = _dialect(name)
    leading = dialect.leading if is_alone or name != "pythonic" else ("[",)
    return replace(dialect, only_declared=True, leading=leading)


def dialect_name(given: Any) -> Any:
    """Return the name of a dialect that is in the table; return anything else unchanged."""
    is_known = isinstance(given, Dialect) and DIALECTS.get(given.name) == given
    return given.name if is_known else given


def _dialect(given: object) -> Dialect:
    if isinstance(given, Dialect):
        return given
    if isinstance(given, str) and given in DIALECTS:
        return DIALECTS[given]
    message = f"unknown dialect {given!r}; {known_names(str(given), ('auto', *DIALECTS))}"
    raise UsageError(message)


_SWITCHES: Final = ("enable_thinking", "thinking", "thinking_mode", "think", "reasoning_effort", "reasoning")
_INSIDE: Final = ("extra_body", "options")
_TEMPLATE: Final = ("chat_template_kwargs", "chat_template_args")
_OFF: Final = frozenset(("none", "off", "disabled", "false", "no", "no_think", "nothink", "chat"))
_UNSAID: Final = frozenset(("adaptive", "auto", "default", ""))
"""Words that leave it to the model, or to the template."""


def thinking_switch(
    request: Mapping[str, Any], switches: Sequence[str] | None = None, low_efforts: Sequence[str] = ()
) -> bool | None:
    """Return whether the options of a request switch thinking on (True) or off (False); None if they do not say.

    >>> thinking_switch({"extra_body": {"chat_template_kwargs": {"enable_thinking": False}}})
    False
    >>> thinking_switch({"reasoning_effort": "high"}), thinking_switch({"temperature": 0})
    (True, None)
    >>> thinking_switch({"chat_template_kwargs": {"thinking": False}}, ["enable_thinking"]) is None
    True

    It knows vLLM's and SGLang's `chat_template_kwargs`, Ollama's `think`, the `thinking` of Anthropic, DeepSeek and
    others, OpenAI's `reasoning_effort` and OpenRouter's `reasoning`. If one says off, thinking is off, whatever the
    effort.

    - `switches`: the variables of the chat template that do it; others among `chat_template_kwargs` have no effect.
      What a server's own option says counts too, as the server sets the variable, but not if the template has none.
    - `low_efforts`: the efforts with which thinking is off, beside `none`.
    """
    said = list(_all_said(request, _SWITCHES if switches is None else switches, low_efforts))
    return None if not said or switches == () else all(said)


def _all_said(request: Mapping[str, Any], switches: Container[str], low_efforts: Container[str]) -> Iterator[bool]:
    for name in _SWITCHES:
        if (found := _thinks(request.get(name), low_efforts)) is not None:
            yield found
    for name in _TEMPLATE:
        if isinstance(inner := request.get(name), Mapping):
            given = cast("Mapping[str, Any]", inner)
            known = {key: given[key] for key in given if key in switches}
            yield from _all_said(known, switches, low_efforts)
    for name in _INSIDE:
        if isinstance(inner := request.get(name), Mapping):
            yield from _all_said(cast("Mapping[str, Any]", inner), switches, low_efforts)


def _thinks(value: Any, low_efforts: Container[str]) -> bool | None:
    if isinstance(value, Mapping):
        inner = cast("Mapping[str, Any]", value)
        found = (
            _thinks(inner[key], low_efforts) for key in ("enabled", "type", "effort", "max_tokens") if key in inner
        )
        return next((each for each in found if each is not None), None)
    if isinstance(value, str):
        word = value.casefold()
        return None if word in _UNSAID else word not in _OFF and word not in low_efforts
    return bool(value) if isinstance(value, int) else None


_POINT: Final = re.compile(r"(?<=\d)p(?=\d)")
"""Fireworks' point: `qwen3p6`."""
_SPLIT: Final = re.compile(r"(?<![\d.])(\d{1,2})[-_](?=\d{1,2}(?![\d.]|[a-z]))")
"""A separator that stands for the point of a version, as in `llama3-1-8b`: what follows is no size, and no date."""
_ZERO: Final = re.compile(r"(?<=\d)\.0(?![\d.])")
_SEPARATORS: Final = re.compile(r"(?:[\s\-_/:]|(?<!\d)\.|\.(?![\d*]))+")
_VERSIONED: Final = re.compile(r"(?<=[a-z])-(?=\d)")
_VERSION: Final = re.compile(r"(?<=[a-z])(\\-v)?(?=\d)")
_NO_MORE: Final = {True: r"(?!\d)", False: "(?![a-z])"}
_SIZE: Final = r"\d+(?:\.\d+)?(?:[bmt](?![a-z])|x\d)"
_NO_OTHER: Final = {True: r"(?!\.?\d)", False: rf"(?![a-z]|(?!{_SIZE})(?:-v)?[1-9]\d?(?:\.\d+)?(?!\d|-\d{{4}}))"}
"""What may not stand behind a pattern that names one version: its number going on, or a number if it has none."""
_UNKNOWN: Final = ModelDialect(("auto",))
_PATTERN: Final = "a pattern of a model's name"


def dialect_for(
    model: str, *, request: Mapping[str, Any] | None = None, more: Mapping[str, ModelDialect] | None = None
) -> ModelDialect:
    """Return the dialect in which a model writes calls into its text, and the options for it; `auto` if unknown.

    `parse_text(*row.names, **row.options)` reads the model's text.

    >>> dialect_for("Qwen/Qwen3-Coder-480B-A35B-Instruct").names
    ('qwen3_coder',)
    >>> dialect_for("qwq:32b")
    ModelDialect(names=('hermes',), starts_in_reasoning=True, switches=())
    >>> dialect_for("Qwen3.5-9B", request={"extra_body": {"chat_template_kwargs": {"enable_thinking": False}}}).options
    {}
    >>> dialect_for("acme/plumber-7b", more={"plumber": ModelDialect(("kimi_k2",))}).names
    ('kimi_k2',)

    - `model`: a name as hubs and servers write it, in any case, with or without its owner, size and quantisation; or
      a dialect's name; or the name of a parser of vLLM or SGLang, such as `openai` or `deepseek_v3`.
    - `request`: the options of the request, which may switch thinking on or off, and so say whether the prompt ends
      inside the reasoning. Without them the template's default counts, as it does for a switch that the template does
      not have.
    - `more`: patterns of your own, which are tried first. A pattern matches whole words and numbers of the name; `*`
      stands for anything, and separators do not matter. The longest pattern that matches counts.

    The bare name of a family, such as `qwen`, does not say which of its dialects is meant; the result is the one that
    servers take for it, and says that it `is_guess`.

    >>> dialect_for("qwen").is_guess, dialect_for("Qwen/Qwen3-8B").is_guess
    (True, False)

    A model of a version that nobody has entered is unknown: it is not read as the version before it was.

    Raises `UsageError` for an empty name or pattern.
    """
    name = _plain(model, "a model's name")
    if request is not None and not isinstance(cast("object", request), Mapping):
        message = f"request= must be the options of the request as a dict, got {request!r:.80}"
        raise UsageError(message)
    found = _longest(name, more, _NO_MORE) if more else None
    if found is None:
        found, named = _longest(name, MODELS, _NO_OTHER), _BY_NAME.get(name)
        if named is not None and (model in DIALECTS or found is None or found.names != named.names):
            found = named
        if found is not None and model not in DIALECTS and _is_family(name, found.names):
            found = replace(found, is_guess=True)
    return _asked(found or _UNKNOWN, request or {})


def _is_family(name: str, names: tuple[str | Dialect, ...]) -> bool:
    """Return whether a name is that of a family, without a version, of which some models write other dialects."""
    return name.isalpha() and any(
        _plain(each, _PATTERN).startswith(name) and MODELS[each].names != names for each in MODELS
    )


def _asked(row: ModelDialect, request: Mapping[str, Any]) -> ModelDialect:
    """Return a row for a request that switches thinking on, or off, or does not say."""
    thinking = thinking_switch(request, row.switches, row.low_efforts)
    starts = (
        thinking is True if row.starts_in_reasoning == "asked" else row.starts_in_reasoning and thinking is not False
    )
    return row if starts == row.starts_in_reasoning else replace(row, starts_in_reasoning=starts)


def _longest(name: str, patterns: Mapping[str, ModelDialect], ends: Mapping[bool, str]) -> ModelDialect | None:
    agreeing = [pattern for pattern in patterns if _compiled(pattern, ends is _NO_OTHER).search(name)]
    return patterns[max(agreeing, key=_weight)] if agreeing else None


def _weight(pattern: str) -> int:
    """Return how many characters of a name a pattern fixes."""
    return len(_plain(pattern, _PATTERN).replace("*", ""))


@lru_cache(maxsize=1024)
def _compiled(pattern: str, is_exact: bool) -> re.Pattern[str]:  # noqa: FBT001
    """Return a pattern as a regular expression; `is_exact`: whether other versions than the one it names differ."""
    pieces = _plain(pattern, _PATTERN).split("*")
    ends = _NO_OTHER if is_exact else _NO_MORE
    begin = "(?<![a-z0-9])" if pieces[0][:1].isalnum() else ""
    *inner, last = [_VERSION.sub(_may_have_v, re.escape(each)) for each in pieces]
    inner = [each + (ends[True] if each[-1:].isdigit() else "") for each in inner]
    return re.compile(begin + ".*".join((*inner, last + (ends[last[-1].isdigit()] if last[-1:].isalnum() else ""))))


def _may_have_v(found: re.Match[str]) -> str:
    """Return the `v` before a number as one that may be missing, as in `hy3`, or be there, as in `llama-v3.1`."""
    return rf"(?:\-v|(?!{_SIZE}))" if found[1] else r"(?:\-v)?"


def _plain(text: str, what: str) -> str:
    """Return a name in lower case with `-` as the only separator, none before a number: `llama3.1-8b`."""
    folded = text.casefold() if isinstance(cast("object", text), str) else ""
    pointed = _ZERO.sub("", _SPLIT.sub(r"\1.", _POINT.sub(".", folded)))
    plain = _VERSIONED.sub("", _SEPARATORS.sub("-", pointed).strip("-"))
    if not plain.strip("*"):
        message = f"{what} must be a str such as 'Qwen/Qwen3-8B', got {text!r}"
        raise UsageError(message)
    return plain


_BY_NAME: Final = {
    _plain(name, "a name"): ModelDialect(names)
    for name, names in ({name: (name,) for name in DIALECTS} | {"auto": ("auto",)} | PARSERS).items()
}
