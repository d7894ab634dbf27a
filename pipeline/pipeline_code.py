"""Write a pipeline as Python code, to be read or to be run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import asdict

from ..operators.engine.limits import DEFAULT_LIMITS, Limits
from .chain import Chain, Part, chain_of, is_ours, name_of, takes, without_tools
from .chain_code import ChainCode
from .strategies.strategy import Strategy

INDENT = "    "


def pipeline_code(
    chain: Chain, arguments: Mapping[str, Any], limits: Limits, *, is_shown: bool = False, indent: str = ""
) -> str:
    r"""Return the call that makes a pipeline with a chain; `UsageError` for values without a name, unless `is_shown`.

    `arguments`: the pipeline's arguments that differ from the defaults. `indent`: the indentation of the operators,
    which are on a line each.

    >>> from penstock.pipeline import Pipeline
    >>> Pipeline("pass_through", turn_id="t").code()
    'Pipeline([\n    to_segments(),\n], turn_id="t")'
    """
    code = ChainCode(is_shown=is_shown)
    if "output_type" in arguments:
        chain = chain[:-1]  # partial_output follows from it
    given = dict(arguments)
    if given.get("tools") is not None:
        plain = without_tools(chain, given["tools"])
        if plain is None:
            del given["tools"]
        chain = plain or chain
    if not takes(chain, "turn_id"):
        given.pop("turn_id", None)
    operators = [_operator(each, code) for each in chain]
    named = [f"{key}={code.setting(f'Pipeline({key}=...)', each)}" for key, each in given.items()]
    if changed := {key: each for key, each in asdict(limits).items() if each != getattr(DEFAULT_LIMITS, key)}:
        named.append(f"settings=Settings(limits={code.setting('Limits', changed)})")
    inside = "".join(f"\n{indent}{each}," for each in operators) + "\n" if indent else ", ".join(operators)
    return f"Pipeline({', '.join((f'[{inside}]', *named))})"


def strategy_code(strategy: Strategy) -> str:
    """Return the chain of a strategy as it is without options.

    >>> from penstock.pipeline import pass_through
    >>> print(strategy_code(pass_through))
    Pipeline([
        to_segments(),
    ])
    """
    return pipeline_code(chain_of([strategy()]), {}, DEFAULT_LIMITS, indent=INDENT)


def _operator(part: Part, code: ChainCode) -> str:
    return code.operator(part) if is_ours(part) else code.named(part, "an Rx operator", short=name_of(part))
