"""Functionary's: a name in a tag, or one that is a message's recipient."""

from __future__ import annotations

from ..grammar.dialect import NAME, Alt, Call, KnownDialect, Many, Text
from .parts import ARGUMENTS

FUNCTIONARY_V31 = KnownDialect(
    "functionary_v31",
    about="Functionary 3.1 on Llama 3.1: the name in a tag, the arguments as JSON.",
    grammar=("<function=", NAME, ">", ARGUMENTS, "</function>"),
    models=("functionary*v3.1",),
    proven_by=("llama.cpp",),
    answer='<function=weather>{"city": "Oslo", "days": 2}</function>',
)


_TO_ALL = ("all\n", Text("content"))
_MESSAGE = (">>>", Alt(Call(NAME, ARGUMENTS), _TO_ALL))

FUNCTIONARY_V32 = KnownDialect(
    "functionary_v32",
    about="Functionary 3.2: each message names its recipient; the marker of the first one is in the prompt.",
    grammar=(Alt(_MESSAGE, _TO_ALL), Many(*_MESSAGE)),
    leading=("all\n",),
    behind_name="\n",
    models=("functionary",),
    proven_by=("llama.cpp",),
    not_in_auto="its marker is the prompt of Python's console",
)
