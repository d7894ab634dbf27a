"""`Dialect`: the grammar in which a model writes calls, its items, and what follows from it."""

from .dialect import (
    NAME,
    Alt,
    Attrs,
    Back,
    Call,
    CallArgs,
    Dialect,
    Item,
    Json,
    Many,
    Maybe,
    Role,
    Text,
    Trim,
    Typing,
)

__all__ = [
    "NAME",
    "Alt",
    "Attrs",
    "Back",
    "Call",
    "CallArgs",
    "Dialect",
    "Item",
    "Json",
    "Many",
    "Maybe",
    "Role",
    "Text",
    "Trim",
    "Typing",
]
