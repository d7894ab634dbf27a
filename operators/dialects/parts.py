"""Common parts of several grammars."""

from typing import Final

from ..grammar.dialect import NAME, Alt, Attrs, CallArgs, Item, Json, Many, Maybe, Role, Text, Trim, Typing

NAME_AT_ONCE: Final = Text("name", r"\w.:/-", at_once=True)
"""A tool's name right behind its marker: a blank between them on one line shows that it is prose."""

FILE_GUARDS: Final = (("__START_CONTENT__", "__END_CONTENT__"), ("__START_PATCH__", "__END_PATCH__"))
THINK: Final = (("<think>", "</think>"),)

ARGUMENTS: Final = Json(name=(), root="object")
"""The JSON object of the arguments, after the name."""

CALL: Final = Json(root="object")
"""A JSON object that is a call."""

CALLS: Final = Json(root="array")
"""A JSON array of calls."""

CALLS_OR_ONE: Final = Alt(CALLS, CALL)
"""A JSON array of calls, or a single call."""

CODE: Final = (Text("name", r"\w.-"), CallArgs(lenient_quotes=True))
"""A call written as code, between markers."""

_KEY: Final = Text("key", r"^<>=\n", trim="blanks")

FUNCTION: Final = (
    *("<function=", Alt((NAME, ">"), ('"', NAME, '">'), ("'", NAME, "'>"))),
    Many(
        *("<parameter=", Alt(_KEY, ('"', _KEY, '"'), ("'", _KEY, "'")), Alt(">", "=")),
        *(Text("value", trim="newline", typing="schema"), Maybe("</parameter>")),
    ),
)
"""A function and its parameters, each in a tag; names in quotes, and `=` for `>`, are slips of models."""


def pairs(prefix: str = "", *between: Item, of: str = "arg", trim: Trim = "", typing: Typing = "literal") -> Many:
    """Return the grammar of arguments that are pairs of a key and a value, each in a tag.

    The tags around a key may be doubled. The tags around a value may be missing; without the one before it, blanks are
    not part of the value. Templates write strings as they are and other values as JSON, so that a value without a
    schema, such as 12 or true, keeps its type.
    """
    opener, closer = f"<{prefix}{of}_key>", f"</{prefix}{of}_key>"
    value, bare = (Text("value", trim=each, typing=typing) for each in (trim, "blanks"))
    return Many(
        *(opener, Many(opener), Text("key", trim="blanks"), closer, Many(closer), *between),
        *(Alt((f"<{prefix}{of}_value>", value), bare), Maybe(f"</{prefix}{of}_value>")),
    )


def invoke(prefix: str = "", *, flagged: bool = False, typing: Typing = "schema") -> tuple[Item, ...]:
    """Return the grammar of a call that is a tag with the tool's name, around one tag for each named parameter.

    `flagged`: whether parameters have an attribute that says whether they are text; a call without any may be one tag
    that closes itself.
    """
    typed = Text("value", typing="flagged") if flagged else Text("value", trim="newline", typing=typing)
    says: tuple[tuple[str, Role], ...] = (("type", "flag"), ("string", "flag")) if flagged else (("type", "skip"),)
    parameters = Many(
        f"<{prefix}parameter", Attrs((("name", "key"), *says)), ">", typed, Maybe(f"</{prefix}parameter>")
    )
    body = (">", parameters, f"</{prefix}invoke>")
    return f"<{prefix}invoke", Attrs((("name", "name"),)), *((Alt(body, "/>"),) if flagged else body)


# the languages of fences that models put around calls without markers of their own
JSON_FENCES: Final = ("", "json", "jsonc", "tool_call", "tool_calls", "tool_code")
CODE_FENCES: Final = ("", "python", "py", "tool_code")
XML_FENCES: Final = ("", "xml")

# why `auto` does not read a dialect
BARE_JSON: Final = "JSON without a marker: data in an answer would be a call"
BARE_CODE: Final = "code without a marker: a list of calls in an answer would be one"
XML_TAGS: Final = "ordinary XML has these tags too"
ANSWER_TAGS: Final = "takes ordinary tags for markup around the answer"
PROSE: Final = "its reasoning begins with a sentence that anyone may write"
