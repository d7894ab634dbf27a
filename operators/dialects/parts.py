"""What several formats have in common: grammars, and the parts of which families of them are made."""

from typing import Final

from ..dialect import NAME, Attrs, CallArgs, Item, Json, Many, Maybe, Role, Text

THINK: Final = (("<think>", "</think>"),)

ARGUMENTS: Final = Json(name=(), root="object")
"""An object of arguments, after the name."""

CALL: Final = Json(root="object")
"""A call."""

CALLS: Final = Json(root="array")
"""A list of calls."""

CODE: Final = (Text("name", r"\w."), CallArgs(lenient_quotes=True))
"""A call as code has it."""

FUNCTION: Final = (
    *("<function=", NAME, ">"),
    Many(
        "<parameter=",
        Text("key", trim="blanks"),
        ">",
        Text("value", trim="newline", typing="schema"),
        Maybe("</parameter>"),
    ),
)
"""A function and its parameters, each in a tag."""


def pairs(prefix: str = "", *between: Item) -> Many:
    """Give the grammar of arguments that are pairs of a key and a value, with a tag round each."""
    return Many(
        *(f"<{prefix}arg_key>", Text("key", trim="blanks"), f"</{prefix}arg_key>", *between),
        *(f"<{prefix}arg_value>", Text("value", typing="schema"), f"</{prefix}arg_value>"),
    )


def invoke(prefix: str = "", *, flagged: bool = False) -> tuple[Item, ...]:
    """Give the grammar of a call that is a tag with its name and, inside, parameters with theirs.

    `flagged`: of parameters that say themselves whether they are text.
    """
    typed = Text("value", typing="flagged") if flagged else Text("value", trim="newline", typing="schema")
    says: tuple[tuple[str, Role], ...] = (("name", "key"), *((("string", "flag"),) if flagged else ()))
    return (
        *(f"<{prefix}invoke", Attrs((("name", "name"),)), ">"),
        Many(f"<{prefix}parameter", Attrs(says), ">", typed, Maybe(f"</{prefix}parameter>")),
        f"</{prefix}invoke>",
    )
