"""Llama 3.1: a tool of its own, called as code."""

from ..dialect import Dialect
from .parts import CODE

LLAMA_PYTHON_TAG = Dialect("llama_python_tag", ("<|python_tag|>", *CODE))
