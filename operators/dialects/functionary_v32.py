"""Functionary 3.2: each message names its recipient; the marker of the first one is in the prompt."""

from ..grammar.dialect import NAME, Alt, Call, KnownDialect, Many, Text
from .parts import ARGUMENTS

TO_ALL = ("all\n", Text("content"))
MESSAGE = (">>>", Alt(Call(NAME, ARGUMENTS), TO_ALL))

FUNCTIONARY_V32 = KnownDialect(
    "functionary_v32",
    (Alt(MESSAGE, TO_ALL), Many(*MESSAGE)),
    leading=("all\n",),
    behind_name="\n",
    models=("functionary",),
    proven_by=("llama.cpp",),
    not_in_auto="its marker is the prompt of Python's console",
)
