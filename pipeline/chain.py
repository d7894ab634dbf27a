"""The chain of a pipeline: a sequence of operators that can be completed with options, changed and run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from inspect import Signature, signature
from typing import Any, Literal, NamedTuple, TypeAlias, TypeGuard, get_origin

from ..events.errors import UsageError
from ..operators.catalogue.dialect_for import dialects_named
from ..operators.engine.stage import Operator, compose
from ..operators.grammar.dialect import Dialect
from ..operators.interrupt_on import RxOperator
from ..operators.parse_text import parse_text
from ..operators.to_invocations import to_invocations
from .tool import Tool

ChainPart: TypeAlias = Operator[Any, Any] | RxOperator
Chain: TypeAlias = tuple[ChainPart, ...]


def chain_of(given: Iterable[Any], name: str = "Pipeline") -> Chain:
    """Return operators as a chain of single operators; `UsageError`, naming the function `name`, for anything else."""
    several = tuple(given)
    if not several:
        message = f"{name}(...) needs at least one operator"
        raise UsageError(message)
    for each in several:
        if not isinstance(each, Operator) and not _is_rx(each):
            message = f"{name}(...) takes Penstock operators, got {each!r}; {_advice(each)}"
            raise UsageError(message)
    return tuple(part for each in several for part in _parts(each))


def is_ours(part: object) -> TypeGuard[Operator[Any, Any]]:
    """Return whether a part of a chain is an operator of Penstock, not one of Rx."""
    return isinstance(part, Operator)


def operator_of(chain: Chain, name: str) -> Operator[Any, Any]:
    """Return a chain as one operator; `UsageError`, naming the function `name`, if an Rx operator is in it."""
    ours = tuple(filter(is_ours, chain))
    if len(ours) < len(chain):
        others = ", ".join(repr(name_of(each)) for each in chain if not is_ours(each))
        message = (
            f"{name} takes Penstock operators only, and {others} in this chain is a plain Rx operator, which works "
            "with observable(...) only; a function of your own becomes an operator with lift(...)"
        )
        raise UsageError(message)
    return compose(*ours)


def name_of(part: ChainPart) -> str:
    """Return the name of an operator of a chain.

    >>> from penstock.operators import to_segments
    >>> name_of(to_segments(eager=True))
    'to_segments'
    """
    if is_ours(part):
        return part.steps[0].name
    written = str(getattr(part, "__qualname__", type(part).__qualname__)).partition(".<locals>")[0]
    return "Rx operator" if str(getattr(part, "__module__", "")).startswith("reactivex.") else written


def place_of(chain: Chain, name: str) -> int:
    """Return the index of the operator with a name; `UsageError` unless exactly one operator has it."""
    names = [name_of(each) for each in chain]
    if names.count(name) != 1:
        how_often = f"occurs {names.count(name)} times in" if name in names else "is not in"
        message = f"{name!r} {how_often} this chain: {', '.join(names)}"
        raise UsageError(message)
    return names.index(name)


def with_tools(chain: Chain, tools: tuple[Tool, ...] | None) -> Chain:
    """Return a chain whose operators have the tools; with an empty list of them calls in text stay text.

    Nothing is invoked then. `UsageError` if an operator has other tools of its own.
    """
    if tools is None:
        return chain
    if not tools:
        kept = (each for each in chain if not _is_of(each, to_invocations))
        return tuple(_again(each, tools=()) if _is_of(each, parse_text) else each for each in kept)
    return _with(chain, "tools", tools)


def without_tools(chain: Chain, tools: tuple[Tool, ...]) -> Chain | None:
    """Return the chain that `with_tools` would complete to this one, or None."""
    if not tools:
        return chain
    taking = [each for each in chain if _takes(each, "tools")]
    if any(each.steps[0].settings.get("tools") != tools for each in filter(is_ours, taking)):
        return None
    return tuple(_again(each, tools=None) if each in taking else each for each in chain)


def with_turn_id(chain: Chain, turn_id: str | None) -> Chain:
    """Return a chain whose operators use the turn id; `UsageError` if none can, or if one has another turn id."""
    if turn_id is None:
        return chain
    if not takes(chain, "turn_id"):
        message = (
            f"turn_id= needs to_segments, parse_text or split_reasoning in the chain, which has only: {names_in(chain)}"
        )
        raise UsageError(message)
    return _with(chain, "turn_id", turn_id)


def takes(chain: Chain, setting: str) -> bool:
    return any(_takes(each, setting) for each in chain)


def dialect_in(chain: Chain) -> Dialect | None:
    """Return the dialect in which a chain reads calls, the first one if there are several; None for native calls."""
    for each in chain:
        if is_ours(each) and _is_of(each, parse_text):
            settings = each.steps[0].settings
            if settings.get("calls", True) and settings.get("tools") != ():
                return dialects_named(*each.steps[0].args)[0]
    return None


class Parted(NamedTuple):
    """A chain split at its first operators of Penstock, which also end open segments on an interruption."""

    before: Sequence[RxOperator]
    operator: Operator[Any, Any] | None
    behind: Sequence[RxOperator]


def parted(chain: Chain) -> Parted:
    """Return a chain for an Observable, with adjacent operators of Penstock composed into one."""
    groups: list[ChainPart] = []
    for each in chain:
        last = groups[-1] if groups else None
        if is_ours(each) and is_ours(last):
            groups[-1] = compose(last, each)
        else:
            groups.append(each)
    for place, each in enumerate(groups):
        if is_ours(each):
            return Parted(groups[:place], each, groups[place + 1 :])
    return Parted(groups, None, ())


def names_in(chain: Chain) -> str:
    return ", ".join(map(name_of, chain))


def _parts(given: Operator[Any, Any] | RxOperator) -> Chain:
    if isinstance(given, Operator):
        return tuple(Operator[Any, Any](steps=(step,)) for step in given.steps)
    return (given,)


def _is_rx(given: object) -> bool:
    """Return whether a value may be an Rx operator: called with an Observable alone, and no class, tool or strategy."""
    if not callable(given) or isinstance(given, type | Operator | Tool) or _makes_operators(given):
        return False
    try:
        signature(given).bind(None)
    except TypeError:
        return False
    except ValueError:  # a function in C, of which Python knows no signature
        pass
    return True


def _advice(given: Any) -> str:
    if isinstance(given, str):
        return f"a dialect in a chain is parse_text({given!r})"
    if isinstance(given, Tool):
        return "a tool goes to tools="
    if callable(given) and _makes_operators(given):
        called = getattr(given, "__name__", "") or getattr(given, "name", "") or "it"
        return f"call it: {called}()"
    return "a function of your own becomes an operator with lift(...)"


def _makes_operators(given: Callable[..., Any]) -> bool:
    try:
        returned = signature(given).return_annotation
    except (TypeError, ValueError):
        returned = Signature.empty
    return str(returned).partition("[")[0].rpartition(".")[2] == Operator.__name__


def _is_of(part: object, function: Callable[..., Any]) -> bool:
    return is_ours(part) and part.steps[0].function is function


def _takes(part: ChainPart, setting: str) -> bool:
    if not is_ours(part) or not part.steps[0].takes(setting):
        return False
    own = part.steps[0].settings.get(setting)
    return not (isinstance(own, type) or get_origin(own) is not None)  # the type that validate has in place of tools


def _again(part: ChainPart, **settings: Any) -> ChainPart:
    return part.steps[0].again(**settings) if is_ours(part) else part


def _with(chain: Chain, setting: str, value: Any) -> Chain:
    def completed(part: ChainPart) -> ChainPart:
        if not is_ours(part) or not _takes(part, setting):
            return part
        own = part.steps[0].settings.get(setting)
        if own is not None and own != value:
            message = (
                f"{setting}= has two values: {name_of(part)}({setting}=...) has another one; set it in one place only"
            )
            raise UsageError(message)
        return _again(part, **{setting: value})

    return tuple(map(completed, chain))


ChainChange: TypeAlias = Literal["replace", "before", "after"]


@dataclass(frozen=True)
class ChangedStrategy:
    """What `Pipeline.replace` and `Pipeline.insert` make of a strategy; `options` are those of the strategy."""

    strategy: Any
    options: Mapping[str, Any]
    name: str
    """The name of the operator that is replaced, or beside which the other one is put."""
    how: ChainChange
    new: Chain
    is_default: bool = False
    """Whether nobody has chosen the strategy, so that plain text is read by another one."""

    def changed(self, chain: Chain, tools: tuple[Tool, ...] | None, turn_id: str | None) -> Chain:
        """Return a chain of the strategy after the change; only the new operators are completed with tools and turn id.

        `UsageError` if a new operator has other tools or another turn id, or if no operator is left to use the turn id.
        """
        place = place_of(chain, self.name)
        new = with_tools(self.new, tools)
        if turn_id is not None and takes(new, "turn_id"):
            new = with_turn_id(new, turn_id)
        begin, end = place + (self.how == "after"), place + (self.how != "before")
        whole = (*chain[:begin], *new, *chain[end:])
        if turn_id is not None and takes(chain, "turn_id") and not takes(whole, "turn_id"):
            with_turn_id(whole, turn_id)  # raises, and says which operators would take it
        return whole
