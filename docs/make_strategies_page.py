"""Makes strategies.md, with `python docs/make_strategies_page.py`, of the strategies themselves.

Their own chains are on it, so it runs where Penstock is installed.
"""

from __future__ import annotations

from inspect import getdoc, signature
from pathlib import Path

from penstock.operators.catalogue.catalogue import about_dialect
from penstock.operators.catalogue.dialect_for import DIALECTS
from penstock.pipeline.pipeline_views import strategy_code
from penstock.pipeline.strategies import STRATEGIES

PAGE = Path(__file__).with_name("strategies.md")
HEAD = """\
# Strategies

<!-- Made by make_strategies_page.py of the strategies: change those, then run it. -->
<!-- fmt: off -->

A strategy is a chain of operators with a name: `Pipeline("hermes")`. Here is every one, as the chain that it is without
options. `penstock strategies NAME` shows the same on a terminal. How to show, change and write chains of your own is in
[chains](chains.md); the operators are in [operators](operators.md).

[`STRATEGIES`](api-pipeline.md#constant-strategies) has all of them by name. `penstock.pipeline` has some to import:
[`api_tool_call`](api-pipeline.md#api_tool_call), [`pass_through`](api-pipeline.md#pass_through),
[`auto`](api-pipeline.md#constant-auto), [`harmony`](api-pipeline.md#constant-harmony),
[`hermes`](api-pipeline.md#constant-hermes), [`json_answer`](api-pipeline.md#constant-json_answer),
[`pythonic`](api-pipeline.md#constant-pythonic),
[`qwen3_coder`](api-pipeline.md#constant-qwen3_coder), [`sentinel`](api-pipeline.md#constant-sentinel) and
[`tool_call`](api-pipeline.md#constant-tool_call).

Without a name the environment decides, PENSTOCK_STREAM_PARSER; where that says nothing, it is `api_tool_call` for a
provider's stream and `auto` for plain text.\
"""
_OF_A_DIALECT = """\
For each dialect there is a strategy of its name. These are equal but for the name:\
"""


def page() -> str:
    """Return the whole page."""
    shared: dict[str, list[str]] = {}
    blocks = [HEAD]
    for name, strategy in STRATEGIES.items():
        code = strategy_code(strategy)
        if name in DIALECTS:
            shared.setdefault(code.replace(f'"{name}"', "NAME"), []).append(name)
        else:
            blocks += [f"## {name}", _about(name), _code(code), f"Options: {_options(name)}."]
    blocks.append("## One for each dialect")
    for code, names in sorted(shared.items(), key=lambda each: -len(each[1])):
        rows = (f"| [`{each}`](dialect-catalogue.md#{each}) | {_cell(about_dialect(each))} |" for each in sorted(names))
        blocks += [_OF_A_DIALECT, _code(code), "\n".join(("| NAME | models and form |", "| --- | --- |", *rows))]
    blocks.append(f"Options: {_options('hermes')}.")
    return "\n\n".join(blocks) + "\n"


def _about(name: str) -> str:
    return (getdoc(STRATEGIES[name]) or "").partition("\n")[0]


def _options(name: str) -> str:
    return ", ".join(f"`{each}`" for each in signature(STRATEGIES[name]).parameters)


def _cell(text: str) -> str:
    return text.partition("\n")[0].replace("|", r"\|")


def _code(text: str) -> str:
    return f"```text\n{text}\n```"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
