"""The reader in C gives what the one in Python gives: for any text, cut anywhere, each going on where the other is."""

from __future__ import annotations

import gc
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from random import Random, randrange
from typing import Any, Final

import pytest
from depth import scaled
from hypothesis import settings
from strategies.json_texts import SAMPLE, some_text
from twins import Pure, assert_text_alike, moved, observed

from penstock.events.segment_event import Fragment
from penstock.operators.machines.json_machine import IS_NATIVE, JsonMachine, pure_feed
from penstock.operators.machines.native_readers import native_readers

TEXTS: Final = 50_000
GROUPS: Final = 8

native = pytest.mark.skipif(not IS_NATIVE, reason="the reader in C was not built here, or PENSTOCK_PURE forbids it")


@native
@pytest.mark.laws
@pytest.mark.parametrize("group", range(GROUPS))
def test_any_text_is_read_alike(group: int):
    seed = group if settings.get_profile(settings.get_current_profile_name()).derandomize else randrange(2**32)
    random = Random(seed)
    for _ in range(scaled(TEXTS) // GROUPS + 1):
        assert_text_alike(random, some_text(random))


@native
def test_each_cut_of_a_rich_text_is_read_alike():
    for place in range(len(SAMPLE) + 1):
        machine, twin = JsonMachine(), Pure()
        for piece in (SAMPLE[:place], SAMPLE[place:]):
            assert list(machine.feed(piece)) == list(twin.feed(piece))
            assert observed(machine) == observed(twin)


@native
def test_the_fragments_of_one_value_share_its_path_and_plain_text_is_not_copied():
    machine = JsonMachine()
    opened = machine.feed('["')[-1]
    text = "it was the best of times"
    [piece] = machine.feed(text)
    assert isinstance(piece, Fragment)
    assert piece.path is opened.path
    assert piece.value is text


@native
def test_nothing_that_was_read_is_kept():
    def blocks_after_reading() -> int:
        random = Random(0)
        for _ in range(300):
            assert_text_alike(random, some_text(random))
        gc.collect()
        return sys.getallocatedblocks()

    blocks_after_reading()  # what is made once
    before = blocks_after_reading()
    assert min(blocks_after_reading() for _ in range(3)) - before < 100


class Text(str):
    __slots__ = ()


@native
@pytest.mark.parametrize("text", [b'"', None, 1, Text('"a')], ids=type)
def test_what_is_not_a_plain_text_has_the_answer_of_python(text: Any):
    def answer(kind: type[JsonMachine]) -> Any:
        machine = kind()
        try:
            return list(machine.feed(text)), machine.dump()
        except (TypeError, AttributeError) as error:
            return type(error), str(error)

    assert answer(JsonMachine) == answer(Pure)


def raised_by(machine: JsonMachine, piece: str) -> type[Exception] | None:
    try:
        machine.feed(piece)
    except Exception as error:  # noqa: BLE001 - any that Python raises
        return type(error)
    return None


@native
@pytest.mark.parametrize("piece", ['a"', "1", "}", "]", ", 1", "e", '{"a": [tr', "\\u00"])
def test_a_machine_that_was_tampered_with_raises_and_never_crashes(piece: str):
    values: tuple[Any, ...] = (None, -1, 10**30, 1.5, "", "x", "true", "next", b"", [], [1], [("{",)], (), ("a",), {})
    begun = JsonMachine()
    begun.feed('{"a": [{"b": [1, 2')
    names = {name for each in JsonMachine.__mro__ for name in getattr(each, "__slots__", ())}
    for name in sorted(names):
        for value in values:
            machine = moved(begun.dump(), JsonMachine())
            setattr(machine, name, value)
            assert raised_by(machine, piece) is not SystemError, (name, value)
    with pytest.raises(AttributeError):
        JsonMachine.__new__(JsonMachine).feed(piece)


def said_with(*lines: str, **environment: str) -> str:
    """Return what a fresh process prints behind some lines: whether it reads in C, and what it reads."""
    program = (
        "import checkout",
        "from penstock.operators.machines import native_readers",
        *lines,
        "from penstock.operators.machines.json_machine import IS_NATIVE, JsonMachine",
        "print(IS_NATIVE, len(JsonMachine().feed('[true, 1.5]')))",
    )
    support = str(Path(__file__).parents[1] / "support")
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(program)],
        env={**os.environ, "PENSTOCK_PURE": "", "PYTHONPATH": support, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout


@native
def test_what_was_built_for_another_version_or_does_not_load_is_left():
    assert said_with() == "True 6\n"
    assert said_with(PENSTOCK_PURE="1") == "False 6\n"
    assert said_with("native_readers.INTERFACE = -1") == "False 6\n"
    assert said_with("import sys", "sys.modules['penstock.operators.machines._native'] = None") == "False 6\n"
    other = "native_readers.native_readers().install(type('JsonMachine', (), {'__slots__': ('at',)}), None)"
    assert said_with(f"print({other})") == "None\nTrue 6\n"


@native
def test_it_takes_each_class_once_and_no_other():
    module = native_readers()
    assert module is not None
    assert module.install(JsonMachine, pure_feed) is None
    assert module.install(Pure, pure_feed) is None
    with pytest.raises(TypeError):
        module.install(JsonMachine(), pure_feed)


def test_it_is_built_where_there_is_a_compiler():
    headers = Path(sysconfig.get_path("include"), "Python.h")
    is_wanted = os.environ.get("PENSTOCK_PURE", "0") in ("", "0")
    assert IS_NATIVE or not is_wanted or not headers.exists() or not shutil.which("cc"), "pip install -e ."


MUTANTS = {
    "in C: the length of a key is not looked at": ("any_text", ("operators/machines/_native.c", "        || reader->base + run.stop - start > longest)", "        || longest < 0)")),
    "in C: the length of a number is not looked at": ("any_text", ("operators/machines/_native.c", "if (length > longest || ", "if (")),
    "in C: half of a surrogate pair is a character": ("any_text", ("operators/machines/_native.c", "high < 0xD800 || high > 0xDFFF", "high < 0xDC00 || high > 0xDFFF")),
    "in C: what is not printable is plain": ("any_text", ("operators/machines/_native.c", "!Py_UNICODE_ISPRINTABLE(c))", "c == 0xD800)")),
    "in C: an escape that is cut is forgotten": ("any_text", ("operators/machines/_native.c", "PyUnicode_Substring(reader->text, run.stop,", "PyUnicode_Substring(reader->text, run.stop + 1,")),
    "in C: an item has the index of the one before": ("any_text", ("operators/machines/_native.c", "PyLong_FromSsize_t(index + 1)", "PyLong_FromSsize_t(index)")),
    "in C: a step begins without the state": ("any_text", ("operators/machines/_native.c", "    put_state(reader);\n    PUT(machine, ROOT_CLOSED", "    PUT(machine, ROOT_CLOSED")),
}  # fmt: skip
