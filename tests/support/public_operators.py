"""The operators that the library offers."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from inspect import isfunction, signature
from typing import Any

ROOM = importlib.import_module("penstock.operators")
OPERATORS: list[Callable[..., Any]] = [
    function
    for function in (getattr(ROOM, name) for name in ROOM.__all__)
    if isfunction(function)
    and re.match(r"(\w+\.)*(Operator\[|RxOperator$)", str(signature(function).return_annotation))
]
