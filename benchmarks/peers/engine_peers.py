"""The streaming parsers of the inference engines vLLM and SGLang, which read calls out of a model's text.

`make peers` installs both without their dependencies into build/peers/site. Only their parsers run here.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

from .contest import Case, Peer, Read, Show
from .stand_ins import absent_modules, bare_package

SITE = Path(__file__).parents[2] / "build/peers/site"
MISSING = (
    "torch", "transformers", "psutil", "triton", "zmq", "openai_harmony",
    "cachetools", "xgrammar", "PIL", "tokenizers", "huggingface_hub", "cloudpickle", "prometheus_client", "torchvision",
    "sgl_kernel", "aiohttp", "uvloop", "tqdm", "setproctitle", "pybase64", "compressed_tensors", "gguf", "einops",
    "outlines", "llguidance", "blake3", "cbor2", "sentencepiece", "numba", "ray", "cv2", "mistral_common", "pynvml",
    "interegular", "cpuinfo", "diskcache", "scipy", "soundfile", "modelscope", "filelock", "safetensors", "dill",
)  # fmt: skip
REPLACED = tuple(
    f"vllm.{name}"
    for name in (
        "model_executor", "distributed", "config", "platforms", "v1", "multimodal", "engine", "lora", "compilation",
        "sampling_params", "pooling_params", "outputs", "utils.torch_utils", "inputs",
    )
)  # fmt: skip
BARE = ("sglang", "sglang.srt.utils", "vllm")
PARSERS = {
    "vLLM": (
        ("hermes", "Hermes2ProToolParser", "hermes_tool_parser"),
        ("qwen3", "Qwen3EngineToolParser", "qwen3_engine_tool_parser"),
    ),
    "SGLang": (
        ("hermes", "HermesDetector", "hermes_detector"),
        ("hermes", "Qwen25Detector", "qwen25_detector"),
        ("qwen3", "Qwen3CoderDetector", "qwen3_coder_detector"),
    ),
}
"""The language that each reads, its class and module."""
TOOL = {
    "name": "write_file",
    "parameters": {"type": "object", "properties": {"path": {"type": "string"}, "content": {"type": "string"}}},
}


class Tokenizer:
    """The tokenizer of a model whose markers are no tokens of their own."""

    def get_vocab(self) -> dict[str, int]:
        return {}


def version_of(package: str) -> str | None:
    found = [each.version for each in distributions(path=[str(SITE)]) if each.name.lower() == package.lower()]
    return found[0] if found else None


@cache
def parser(module: str, name: str) -> Any:
    """Return a class of the engines, imported without the engine."""
    if str(SITE) not in sys.path:
        sys.path.append(str(SITE))
    logging.getLogger("vllm").setLevel(logging.CRITICAL)
    logging.getLogger("sglang").setLevel(logging.CRITICAL)
    with absent_modules(MISSING, REPLACED):
        for package in BARE:
            if package.partition(".")[0] == module.partition(".")[0] and package not in sys.modules:
                bare_package(package)
        return getattr(import_module(module), name)


def of_vllm(module: str, name: str) -> Callable[[list[str], Case], Read]:
    new = parser(f"vllm.tool_parsers.{module}", name)
    with absent_modules(MISSING, REPLACED):
        protocol = import_module("vllm.entrypoints.openai.chat_completion.protocol")
    tools = [protocol.ChatCompletionToolsParam(type="function", function=TOOL)]
    request = protocol.ChatCompletionRequest(messages=[], model="m", tools=tools, tool_choice="auto")

    def prepare(deltas: list[str], _: Case) -> Read:
        def read(show: Show) -> list[Any]:
            run = new(Tokenizer(), tools)
            arguments: dict[int, list[str]] = {}
            before = ""
            for delta in deltas:
                text = before + delta
                message = run.extract_tool_calls_streaming(before, text, delta, (), (), (), request)
                before = text
                if message is not None:
                    show(message)
                    for call in message.tool_calls:
                        if call.function is not None and call.function.arguments:
                            arguments.setdefault(call.index, []).append(call.function.arguments)
            return [json.loads("".join(parts)) for parts in arguments.values()]

        return read

    return prepare


def of_sglang(module: str, name: str) -> Callable[[list[str], Case], Read]:
    new = parser(f"sglang.srt.function_call.{module}", name)
    with absent_modules(MISSING, REPLACED):
        protocol = import_module("sglang.srt.entrypoints.openai.protocol")
    tools = [protocol.Tool(type="function", function=protocol.Function(**TOOL))]

    def prepare(deltas: list[str], _: Case) -> Read:
        def read(show: Show) -> list[Any]:
            run = new()
            arguments: dict[int, list[str]] = {}
            for delta in deltas:
                result = run.parse_streaming_increment(delta, tools)
                show(result)
                for call in result.calls:
                    arguments.setdefault(call.tool_index, []).append(call.parameters)
            return [json.loads("".join(parts)) for parts in arguments.values()]

        return read

    return prepare


def shown_by_vllm(message: Any) -> Iterator[tuple[Any, str]]:
    yield 0, message.content or ""
    for call in message.tool_calls:
        yield call.index, (call.function.arguments or "") if call.function else ""


def shown_by_sglang(result: Any) -> Iterator[tuple[Any, str]]:
    yield 0, result.normal_text
    for call in result.calls:
        yield call.tool_index, call.parameters


ENGINES: dict[str, tuple[Any, Any]] = {"vLLM": (of_vllm, shown_by_vllm), "SGLang": (of_sglang, shown_by_sglang)}


def engine_peers(language: str, absent: list[str]) -> list[Peer]:
    """Return the engines' parsers of a language of calls, `hermes` or `qwen3`."""
    peers: list[Peer] = []
    for engine, (make, shown) in ENGINES.items():
        if version_of(engine) is None:
            absent.append(f"{engine}: not installed; `make peers` installs its parsers")
            continue
        for reads, name, module in PARSERS[engine]:
            if reads != language:
                continue
            try:
                prepare = make(module, name)
            except Exception as error:  # noqa: BLE001 - an engine that has moved its parsers is reported, not fatal
                absent.append(f"{engine} {name}: cannot be imported here ({type(error).__name__}: {error})")
                continue
            peers.append(
                Peer(f"{engine}: {name}", f"text of {language}", prepare, shown, is_raw=True, package=engine.lower())
            )
    return peers
