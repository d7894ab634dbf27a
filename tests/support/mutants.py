"""Break the library on purpose, in copies of the checkout, and see that the tests notice: `make mutants`.

Prints a table; ends with 1 if a mutant survives, if the unbroken copy fails, or if a text to be replaced does not
stand in its file exactly once.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from setuptools import Distribution, Extension  # type: ignore[import-untyped]

from penstock import ROOMS

ROOT = Path(__file__).parents[2]
PARTS = (*ROOMS, "penstock", "tests")

# Few examples, none made smaller: it is enough to know that one fails.
PROFILE = """
from hypothesis import Phase, settings
settings.register_profile(
    "mutants", max_examples=50, deadline=None, derandomize=True, database=None, phases=[Phase.explicit, Phase.generate]
)
settings.load_profile("mutants")
"""


class Edit(NamedTuple):
    file: str
    old: str
    new: str


class Mutant(NamedTuple):
    name: str
    edits: tuple[Edit, ...]
    tests: tuple[str, ...]
    """Files, and with a blank and a word the tests whose name has that word."""


LAWS = "tests/laws/test_laws.py"
STAGE = "tests/operators/engine/test_stage.py"
READER = "tests/laws/test_native_reader.py"
NATIVE_LANES = "tests/laws/test_native_lanes.py"
HOLDBACK = "tests/operators/test_holdback.py"
STRIP = "tests/operators/test_strip_markers.py"
MACHINE = "tests/operators/machines/test_json_machine.py"
TEXT = "tests/operators/text/test_text_engine.py"
CONTENT = "tests/laws/test_any_content.py"
CODE = "tests/operators/text/test_code_spans.py"
COMPLAINTS = "tests/contract/test_complaints.py"
LAWS_OF_TEXT = "tests/laws/test_text_laws.py"
CALLS_IN_TEXT = "tests/laws/test_text_calls_laws.py"
EARLINESS = "tests/laws/test_text_earliness.py"
SEGMENTS = "tests/operators/test_to_segments.py"
CUT_MODELS = "tests/laws/test_cut_models.py"
RESPONSES = "tests/sources/openai_responses/test_openai_responses.py"
TEXT_LANES = "tests/contract/test_text_lanes.py"
SERVERS = "tests/studio/replay/test_server_bounds.py"
ENDS = "tests/studio/cli/test_cli_ends.py"
SECRETS = "tests/events/test_url_secrets.py"
OUTPUT = "tests/operators/test_partial_output.py"
OUTPUT_TYPE = "tests/pipeline/test_output_type.py"
LANES = "tests/laws/test_wire_lanes.py"
WATCHDOG = "tests/sources/test_watchdog.py"
FAILOVER = "tests/sources/test_failover.py"

FILES = "tests/sinks/files/test_write_files.py"
HOSTILE_CALLS = "tests/sinks/files/test_hostile_calls.py"
HOSTILE_PATHS = "tests/sinks/files/test_hostile_paths.py"
FILE_DRAFTS = "tests/sinks/files/test_file_drafts.py"

CRASH_POINTS = "tests/scale/ledger/test_crash_points.py"
LEDGERS = "tests/scale/ledger/test_ledgers.py"
READ_CALLS = "tests/sinks/acting/test_read_calls.py"
READ_LAWS = "tests/laws/test_read_while_written.py"

WITHHELD = "tests/laws/test_withheld_text.py"
DIVERGENCE = "tests/studio/tracing/test_first_divergence.py"

NATIVE = "operators/machines/_native.c"

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "a withheld text could become any marker",
        (
            Edit(
                "operators/machines/marker_search.py",
                " for each in self.literals if each.is_begun_by(text))",
                " for each in self.literals)",
            ),
        ),
        (f"{WITHHELD} marker_is",),
    ),
    Mutant(
        "an empty name may end",
        (Edit("operators/grammar/dialect.py", "return bool(text) and (", "return ("),),
        (f"{WITHHELD} may_still_become",),
    ),
    Mutant(
        "what waits in the reader of text is not told as withheld",
        (Edit("operators/text/withheld_text.py", "    wait = source_buffer.wait", '    wait = ""'),),
        (f"{WITHHELD} of_a_text_is_lost",),
    ),
    Mutant(
        "a trace does not say that a stage raised",
        (
            Edit(
                "studio/tracing/trace.py",
                "self._note_end(item, t_ns, Failed(error))",
                "self._note_end(item, t_ns, Completed())",
            ),
        ),
        ("tests/studio/tracing/test_trace.py of_a_stage",),
    ),
    Mutant(
        "a difference behind the first piece of a text is not seen",
        (
            Edit(
                "studio/tracing/first_divergence.py",
                "a.piece.text[at_a : at_a + length]",
                "b.piece.text[at_b : at_b + length]",
            ),
        ),
        (f"{DIVERGENCE} with_their_items",),
    ),
    Mutant(
        "a lane takes a chunk that has more than text",
        (
            Edit(
                "operators/calls/native_call.py",
                "        if chunk != self._like:\n",
                "        if not chunk.tool_calls:\n",
            ),
        ),
        (f"{TEXT_LANES} each_item",),
    ),
    Mutant(
        "a lane outlives the string",
        (
            Edit(
                "operators/calls/response_answers.py",
                "            self.lane = None\n            self._lanes.clear()\n        chunk",
                "            self.lane = None\n        chunk",
            ),
        ),
        (f"{TEXT_LANES} each_item",),
    ),
    Mutant(
        "a lane is left only by a chunk with a call",
        (
            Edit(
                "operators/calls/response_answers.py",
                "        if self.lane is not None:\n",
                "        if self.lane is not None and not isinstance(item, str) and item.tool_calls:\n",
            ),
        ),
        (f"{TEXT_LANES} comes_in_the_middle",),
    ),
    Mutant(
        "a lane opens in a call that another one followed",
        (
            Edit(
                "operators/calls/native_call.py",
                "None if call.is_followed else call.machine",
                "call.machine",
            ),
        ),
        (f"{TEXT_LANES} each_item",),
    ),
    Mutant(
        "a lane ignores what is new for the whole response",
        (
            Edit(
                "operators/calls/response_answers.py",
                '        if chunk.response_id not in (None, "", ids.response_id) or ',
                "        if ",
            ),
        ),
        (f"{TEXT_LANES} comes_in_the_middle",),
    ),
    Mutant(
        "a lane outlives a load",
        (
            Edit(
                "operators/calls/response_answers.py",
                "        self.lane = None\n        self._lanes.clear()\n\n",
                "\n",
            ),
        ),
        (f"{TEXT_LANES} goes_on",),
    ),
    Mutant(
        "a stage that declines is passed over",
        (
            Edit(
                "operators/engine/lane.py",
                "not lane.is_heard or each.take_lane(lane)",
                "not lane.is_heard or each.take_lane(lane) or True",
            ),
        ),
        (f"{TEXT_LANES} each_item",),
    ),
    Mutant(
        "text of a lane is not kept for the invocation",
        (Edit("operators/calls/native_call.py", "            self._texts.append(decoded)\n", ""),),
        (f"{TEXT_LANES} each_item",),
    ),
    Mutant(
        "what is not text of a string is not kept for the invocation where it has a lane",
        (Edit("operators/calls/native_call.py", "            value.feed_all(items)\n", ""),),
        (f"{TEXT_LANES} each_item",),
    ),
    Mutant(
        "a field's text has a lane before its START",
        (
            Edit(
                "operators/stream_fields.py",
                "        if lane.path is None or call.live_path is not lane.path:\n",
                "        if lane.path is None or call.segment_type == 'tool_call':\n",
            ),
        ),
        (f"{TEXT_LANES} each_item",),
    ),
    Mutant(
        "a lane takes all text of a call that streams",
        (Edit("operators/stream_fields.py", "if lane.path is None or call.live_path", "if call.live_path"),),
        (f"{TEXT_LANES} each_item",),
    ),
    Mutant(
        "what a lane has read before an error is read again",
        (
            Edit(
                "operators/calls/answer_segments.py",
                "machine.feed(text) if call.read_ahead is None else call.read_ahead",
                "machine.feed(text)",
            ),
        ),
        (f"{TEXT_LANES} each_item",),
    ),
    Mutant(
        "a growing text loses the pieces behind its last block",
        (
            Edit(
                "operators/machines/json_values.py",
                "        self.join()\n        if len(self.blocks) > 1",
                "        if len(self.blocks) > 1",
            ),
        ),
        (f"{TEXT_LANES} in_the_invocation",),
    ),
    Mutant(
        "the fast loop does not look at the length of keys",
        (
            Edit(
                "operators/machines/json_machine.py", "if base + after - self._start <= self._longest_key:", "if True:"
            ),
        ),
        (MACHINE,),
    ),
    Mutant(
        "the fast loop ends a number where its chunk ends",
        (
            Edit(
                "operators/machines/json_machine.py",
                "                    if after == length:\n                        break\n",
                "",
            ),
        ),
        (MACHINE,),
    ),
    Mutant(
        "the fast loop takes control characters",
        (
            Edit(
                "operators/machines/json_machine.py",
                'if "\\\\" not in piece and piece.isprintable():',
                'if "\\\\" not in piece:',
            ),
        ),
        (MACHINE,),
    ),
    Mutant(
        "the fast loop takes an escaped quote for the end",
        (
            Edit(
                "operators/machines/json_machine.py",
                'if "\\\\" not in piece and piece.isprintable():',
                "if piece.isprintable():",
            ),
        ),
        (MACHINE,),
    ),
    Mutant(
        "in C: the length of a key is not looked at",
        (Edit(NATIVE, "        || reader->base + run.stop - start > longest)", "        || longest < 0)"),),
        (f"{READER} any_text",),
    ),
    Mutant(
        "in C: the length of a number is not looked at",
        (Edit(NATIVE, "if (length > longest || ", "if ("),),
        (f"{READER} any_text",),
    ),
    Mutant(
        "in C: half of a surrogate pair is a character",
        (Edit(NATIVE, "high < 0xD800 || high > 0xDFFF", "high < 0xDC00 || high > 0xDFFF"),),
        (f"{READER} any_text",),
    ),
    Mutant(
        "in C: what is not printable is plain",
        (Edit(NATIVE, "!Py_UNICODE_ISPRINTABLE(c))", "c == 0xD800)"),),
        (f"{READER} any_text",),
    ),
    Mutant(
        "in C: an escape that is cut is forgotten",
        (
            Edit(
                NATIVE, "PyUnicode_Substring(reader->text, run.stop,", "PyUnicode_Substring(reader->text, run.stop + 1,"
            ),
        ),
        (f"{READER} any_text",),
    ),
    Mutant(
        "in C: an item has the index of the one before",
        (Edit(NATIVE, "PyLong_FromSsize_t(index + 1)", "PyLong_FromSsize_t(index)"),),
        (f"{READER} any_text",),
    ),
    Mutant(
        "in C: a step begins without the state",
        (Edit(NATIVE, "    put_state(reader);\n    PUT(machine, ROOT_CLOSED", "    PUT(machine, ROOT_CLOSED"),),
        (f"{READER} any_text",),
    ),
    Mutant(
        "in C: a lane takes a chunk that has more than text",
        (Edit(NATIVE, "if (here != there && at != offsets[whatever]", "if (here != there && at == 0"),),
        (f"{NATIVE_LANES} any_calls",),
    ),
    Mutant(
        "in C: a lane passes by what checks its text",
        (Edit(NATIVE, "SLOT(lane, CHECK) != Py_None || ", ""),),
        (f"{NATIVE_LANES} any_calls",),
    ),
    Mutant(
        "in C: a lane passes by who makes further events",
        (
            Edit(
                NATIVE,
                "SLOT(lane, CHECK) != Py_None || PyTuple_GET_SIZE(SLOT(lane, FURTHER))",
                "SLOT(lane, CHECK) != Py_None",
            ),
        ),
        (f"{NATIVE_LANES} any_calls",),
    ),
    Mutant(
        "in C: a lane for one string takes all text",
        (Edit(NATIVE, "SLOT(lane, IS_WIDE) != Py_True", "0"),),
        (f"{NATIVE_LANES} any_calls",),
    ),
    Mutant(
        "in C: an error in a lane is passed on as text",
        (Edit(NATIVE, "if (done == 0 && SLOT(machine, ERROR) != Py_None)", "if (done == 0 && machine == NULL)"),),
        (f"{NATIVE_LANES} any_calls",),
    ),
    Mutant(
        "in C: behind an error the lane is asked again",
        (
            Edit(
                NATIVE,
                "            PUT(answers, NEXT_LANE, Py_None);\n            PyDict_Clear(SLOT(answers, CALL_LANES));\n",
                "",
            ),
        ),
        (f"{NATIVE_LANES} any_calls",),
    ),
    Mutant(
        "in C: a lane keeps the text as it stands in the source",
        (Edit(NATIVE, "PyList_Append(SLOT(lane, TEXTS), decoded)", "PyList_Append(SLOT(lane, TEXTS), text)"),),
        (f"{NATIVE_LANES} any_calls",),
    ),
    Mutant(
        "in C: a lane lets its pieces grow",
        (Edit(NATIVE, "PyList_GET_SIZE(SLOT(lane, RAWS)) >= MANY", "PyList_GET_SIZE(SLOT(lane, RAWS)) >= 1000"),),
        (f"{NATIVE_LANES} joined",),
    ),
    Mutant(
        "in C: a value is never done",
        (Edit(NATIVE, "if (depth == 1) PUT", "if (depth == 0) PUT"),),
        (f"{NATIVE_LANES} any_calls",),
    ),
    Mutant(
        "in C: a value that begins outside of the root is put into it",
        (
            Edit(
                NATIVE,
                "if (length <= PyTuple_GET_SIZE(SLOT(value, ROOT_PATH))) return LEAVE;",
                "if (length == 0) return LEAVE;",
            ),
        ),
        (f"{NATIVE_LANES} whatever_the_fragments",),
    ),
    Mutant(
        "in C: a chain goes on behind an exception in a lane",
        (Edit(NATIVE, "if (done == FAILED) return close_failed(chain);", "if (done == FAILED) return NULL;"),),
        (f"{NATIVE_LANES} an_exception",),
    ),
    Mutant(
        "escaped text is read past its closing quote",
        (
            Edit(
                "operators/machines/json_machine.py", "            if stop <= len(raw):\n", "            if not stop:\n"
            ),
        ),
        (MACHINE,),
    ),
    Mutant(
        "of an escape that is held a lane reads the next text",
        (
            Edit(
                "operators/calls/native_call.py",
                "machine.pending or not text:",
                "not text:",
            ),
        ),
        (f"{TEXT_LANES} each_item",),
    ),
    Mutant(
        "the straight way takes half a surrogate pair for a whole one",
        (
            Edit(
                "operators/machines/json_machine.py",
                "[89abAB][0-9A-Fa-f]{2}\\\\u[dD][c-fC-F]))",
                "[89abAB]))",
            ),
        ),
        (MACHINE,),
    ),
    Mutant(
        "fixed holdback (the longest marker less one)",
        (
            Edit(
                "operators/holdback.py",
                "        if found is None:\n            return [item] if item else []\n",
                "        if found is None:\n"
                "            keep = max(map(len, self._markers.unfinished))\n"
                "            self._withheld, self._node = item[-keep:], {}\n"
                "            return [item[:-keep]] if item[:-keep] else []\n",
            ),
        ),
        (HOLDBACK,),
    ),
    Mutant(
        "holdback loses its tail at the close",
        (Edit("operators/holdback.py", "return self._markers.settle(self._take())", "return []"),),
        (HOLDBACK,),
    ),
    Mutant(
        "strip_markers loses its tail at the close",
        (Edit("operators/strip_markers.py", "return [text] if text and not ended else []", "return []"),),
        (STRIP,),
    ),
    Mutant(
        "strip_markers takes more than one newline",
        (Edit("operators/strip_markers.py", 'item.removeprefix("\\n")', 'item.lstrip("\\n")'),),
        (STRIP,),
    ),
    Mutant(
        "surrogate halves decoded alone",
        (Edit("operators/machines/json_machine.py", "raw[-1] != last and _match_cut_low(text, end)", "not last"),),
        (MACHINE,),
    ),
    Mutant(
        "a number ends where its chunk ends",
        (Edit("operators/machines/json_machine.py", r"(?=[ \t\n\r,\]}])", r"(?=[ \t\n\r,\]}]|\Z)"),),
        (MACHINE,),
    ),
    Mutant(
        "the dump forgets a pending escape",
        (
            Edit(
                "operators/machines/value_machine.py",
                'super().dump(), "brackets"',
                'super().dump(), "pending": "", "brackets"',
            ),
        ),
        (MACHINE,),
    ),
    Mutant(
        "flat key scan: a nested key is taken for the field",
        (
            Edit(
                "operators/stream_fields.py",
                "may_settle = path == call.field_path",
                "may_settle = path[-1:] == call.field_path",
            ),
        ),
        (f"{LAWS} inside_another",),
    ),
    Mutant(
        "a repeated key of the field is ignored",
        (Edit("operators/stream_fields.py", "            call.duplicate = True\n", ""),),
        (f"{LAWS} repeated",),
    ),
    Mutant(
        "START is not deferred",
        (Edit("operators/stream_fields.py", "        if not self._deferred:\n", "        if True:\n"),),
        (f"{LAWS} content",),
    ),
    Mutant(
        "content is held until its string closes",
        (
            Edit(
                "operators/stream_fields.py",
                'if piece.path is call.live_path and piece.kind == "TEXT":',
                "if not piece:",
            ),
            Edit(
                "operators/stream_fields.py",
                "        if call.started:\n            if text:\n                self._give_content(call, text, events)\n",
                "        if call.started:\n"
                "            call.content.append(text)\n"
                '            if call.fragments and call.fragments[-1].kind == "DONE" and any(call.content):\n'
                '                self._give_content(call, "".join(call.content), events)\n'
                "                call.content.clear()\n",
            ),
        ),
        (f"{LAWS} content",),
    ),
    Mutant(
        "fragments that were given are kept",
        (Edit("operators/calls/field_call.py", "call.raw = call.fragments = EMPTY\n", "call.raw = EMPTY\n"),),
        (f"{LAWS} content", f"{LAWS} fragments"),
    ),
    Mutant(
        "double END",
        (Edit("operators/calls/native_calls.py", "        del self.open[call.index]\n", ""),),
        (f"{LAWS} every_start",),
    ),
    Mutant(
        "the first delta of a call is dropped",
        (
            Edit(
                "operators/calls/answer_segments.py",
                "                if call is None:\n                    continue\n",
                "                continue\n",
            ),
        ),
        (f"{LAWS} source_text",),
    ),
    Mutant(
        "arguments before the name are dropped",
        (Edit("operators/calls/native_calls.py", '"".join(waited.texts)', '""'),),
        (f"{LAWS} late_name",),
    ),
    Mutant(
        "the dump forgets arguments before the name",
        (
            Edit(
                "operators/calls/native_calls.py",
                '"open", "waiting")',
                '"open")',
            ),
        ),
        ("tests/contract/test_operator_contract.py frozen",),
    ),
    Mutant(
        "a cut call is executed",
        (
            Edit("operators/calls/native_calls.py", '                status = "truncated"\n', "                pass\n"),
            Edit("operators/to_invocations.py", "            if not call.values.done:\n", "            if False:\n"),
        ),
        (f"{LAWS} cut_at_any_character", f"{LAWS} sealing"),
    ),
    Mutant(
        "a malformed call is executed as {}",
        (
            Edit(
                "operators/calls/native_calls.py",
                'status, reason = "failed", call.error.reason',
                'status, reason = "complete", None',
            ),
            Edit(
                "operators/to_invocations.py",
                'return None, JsonError("truncated", len(raw), "the closing of the arguments")',
                "return {}, None",
            ),
        ),
        (f"{LAWS} malformed",),
    ),
    Mutant(
        "a call is executed though the stream broke before it was sealed",
        (Edit("operators/calls/native_calls.py", "if completed and call.is_sealed:", "if call.is_sealed:"),),
        (f"{LAWS} closed_root", f"{LAWS} sealing"),
    ),
    Mutant(
        "finish by length unseals what had closed",
        (
            Edit(
                "operators/calls/answer_segments.py",
                'if finish != "error":',
                'if finish not in ("error", "length"):',
            ),
        ),
        (f"{LAWS} closed_root", f"{LAWS} sealing"),
    ),
    Mutant(
        "another call's beginning seals nothing",
        (Edit("operators/calls/native_calls.py", "            if other.is_sealed and", "            if False and"),),
        (f"{LAWS} sealing",),
    ),
    Mutant(
        "late text of a sealed call makes a second one",
        (
            Edit(
                "operators/calls/native_calls.py",
                "if ended is not None and (not (delta.call_id and delta.name) or delta.call_id == ended[0]):",
                "if False:",
            ),
        ),
        (f"{SEGMENTS} ended_call", f"{LAWS} again", f"{LAWS} sealing"),
    ),
    Mutant(
        "no END when the stream fails",
        (
            Edit(
                "operators/calls/answer_segments.py",
                "        self.end_text(events, *self.end_of(how, finish))\n",
                "        if not hasattr(how, 'error'):\n            self.end_text(events, *self.end_of(how, finish))\n",
            ),
        ),
        (f"{LAWS} every_start",),
    ),
    Mutant(
        "the whole-text path does not look for surrogates",
        (Edit("operators/machines/json_machine.py", " or _SURROGATE.search(text)", ""),),
        ("tests/operators/machines/test_whole_json.py", f"{LAWS} json_loads"),
    ),
    Mutant(
        "the whole-text path does not look at the depth",
        (Edit("operators/machines/json_machine.py", 'text.count("{") + text.count("[") > limits.depth or ', ""),),
        ("tests/operators/machines/test_whole_json.py",),
    ),
    Mutant(
        "state is shared between subscriptions",
        (
            Edit(
                "operators/engine/stage.py",
                "    return Operator(stage_factory)\n",
                "    one = stage_factory()\n    return Operator(lambda: one)\n",
            ),
        ),
        (STAGE,),
    ),
    Mutant(
        "a second close speaks again",
        (Edit("operators/engine/stage.py", "        if self._closed:\n            return []\n", ""),),
        (STAGE,),
    ),
    Mutant(
        "the stages after a raising one are not closed",
        (
            Edit(
                "operators/engine/stage.py",
                "self.last_words = self._close_from(number, given, Failed(error))",
                "self.last_words = []",
            ),
        ),
        (STAGE,),
    ),
    Mutant(
        "a consumer's exception goes to on_error",
        (Edit("operators/engine/stage.py", "if error is consumers_error:", "if False:"),),
        (STAGE,),
    ),
    Mutant(
        "fixed holdback of text (ten characters)",
        (
            Edit(
                "operators/text/outside_text.py",
                "            found = find(buffer, start + 1)\n        self._say_line(len(buffer))\n        return None\n",
                "            found = find(buffer, start + 1)\n"
                "        keep = 0 if final else min(10, len(buffer) - position)\n"
                "        self.emit(len(buffer) - keep)\n"
                "        if keep:\n"
                "            source_buffer.wait_from(len(buffer) - keep)\n"
                "        return None\n",
            ),
            Edit(
                "operators/text/text_engine.py",
                "elif not source_buffer.loose and outside.goes_through:",
                "elif False:",
            ),
        ),
        (f"{EARLINESS} text_waits",),
    ),
    Mutant(
        "text loses its tail at the close",
        (
            Edit(
                "operators/text/text_engine.py",
                '        block.ending = (how, finish)\n        source_buffer.open("", events)\n',
                '        block.ending = (how, finish)\n        source_buffer.wait = ""\n        source_buffer.open("", events)\n',
            ),
        ),
        (f"{COMPLAINTS} 47137",),
    ),
    Mutant(
        "text that may be a marker is lost",
        (
            Edit(
                "operators/text/text_engine.py",
                "            source_buffer.wait = text[start:]\n",
                '            source_buffer.wait = ""\n',
            ),
        ),
        (f"{COMPLAINTS} 36691",),
    ),
    Mutant(
        "a call in text ends twice",
        (
            Edit(
                "operators/text/source_buffer.py",
                "        events.append(end)\n",
                "        events += [end, end]\n",
            ),
        ),
        (f"{COMPLAINTS} 38274",),
    ),
    Mutant(
        "a call in text starts before its name",
        (
            Edit(
                "operators/text/text_block.py",
                "starts = self.call is None and is_open and not grammar.expects_body(at)",
                "starts = self.call is None and not grammar.expects_body(at)",
            ),
        ),
        (f"{COMPLAINTS} 45678",),
    ),
    Mutant(
        "a call in text that was cut is complete",
        (Edit("operators/text/text_block.py", "is_sealed = at_rest and (", "is_sealed = True or ("),),
        (f"{COMPLAINTS} 16888",),
    ),
    Mutant(
        "the closer of reasoning that a call ended is text",
        (
            Edit(
                "operators/text/outside_text.py", "            self._owed = True\n", "            self._owed = False\n"
            ),
        ),
        (f"{COMPLAINTS} 148",),
    ),
    Mutant(
        "a block is not resumed after a call",
        (
            Edit(
                "operators/text/text_block.py",
                "self.outside.after_block(self.at if self.grammar.goes_on(self.at) else ())",
                "self.outside.after_block(())",
            ),
        ),
        (f"{COMPLAINTS} 31207",),
    ),
    Mutant(
        "the raw text of what came between events is dropped",
        (
            Edit(
                "operators/text/source_buffer.py",
                '        if self.loose:\n            raw = "".join(self.loose) + raw\n',
                "        if self.loose:\n",
            ),
        ),
        (f"{COMPLAINTS} 38274",),
    ),
    Mutant(
        "one closer ends a raw value",
        (
            Edit(
                "operators/text/value_end.py",
                "        self._is_enough = self._ends.ends_call(reached, count)\n",
                "        self._is_enough = True\n",
            ),
        ),
        (CONTENT,),
    ),
    Mutant(
        "a guard is a guard wherever it stands",
        (
            Edit(
                "operators/text/value_end.py",
                '        self._state = "value"\n        return self._read_value(',
                '        self._state = "begin"\n        return self._read_value(',
            ),
        ),
        ("tests/operators/dialects/test_dialect_slips.py guard",),
    ),
    Mutant(
        "any first key of braces is that of a set",
        (
            Edit(
                "operators/machines/literal_machine.py",
                "            self._end_key()\n            self._note_dict()\n",
                "            self._end_key()\n",
            ),
        ),
        ("tests/operators/machines/test_literal_machine.py malformed",),
    ),
    Mutant(
        "a call inside a value is not counted",
        (
            Edit(
                "operators/text/value_end.py",
                "                self.depth += 1\n",
                "                self.depth += 0\n",
            ),
        ),
        (CONTENT,),
    ),
    Mutant(
        "what is held behind a call is not refuted by a later closer",
        (
            Edit(
                "operators/text/value_end.py",
                'return "again" if self._is_enough else',
                'return "hold" if self._is_enough else',
            ),
        ),
        (CONTENT,),
    ),
    Mutant(
        "a call with text behind it is run although the answer was cut",
        (
            Edit(
                "operators/text/value_end.py",
                "if not ended_regularly(how, finish) or",
                'if not ended_regularly(how, "stop") or',
            ),
        ),
        (CONTENT,),
    ),
    Mutant(
        "a repeated argument does not fail its call",
        (
            Edit(
                "operators/text/value_end.py",
                "        if (is_used or is_slip) and is_after_closer and not options.lenient:\n",
                "        if False:\n",
            ),
        ),
        (CONTENT,),
    ),
    Mutant(
        "an argument that no schema has counts beside markers in values",
        (Edit("operators/text/source_buffer.py", "if self.has_markers and self.undeclared is not None:", "if False:"),),
        (CONTENT,),
    ),
    Mutant(
        "a value is trimmed of more than one newline",
        (Edit("operators/text/block_text.py", 'text.removeprefix("\\n")', 'text.lstrip("\\n")'),),
        (f"{COMPLAINTS} 59787",),
    ),
    Mutant(
        "the dump forgets what waits behind the end of a text",
        (Edit("operators/text/block_text.py", 'super().dump(), "end"', 'super().dump(), "tail": "", "end"'),),
        (f"{COMPLAINTS} frozen",),
    ),
    Mutant(
        "the closing tag of a value is part of it",
        (
            Edit(
                "operators/text/block_text.py",
                "        stop = limit if found is None else found.start()\n",
                "        stop = limit if found is None else found.end()\n",
            ),
        ),
        (f"{COMPLAINTS} 59787",),
    ),
    Mutant(
        "a marker is looked for inside of JSON strings",
        (
            Edit(
                "operators/text/block_json.py",
                "        self._take_all(self.machine.feed(text), begin, length)\n",
                '        before, closer, _ = text.partition("</tool_call>")\n'
                "        self._take_all(self.machine.feed(before), begin, len(before))\n"
                "        if closer and self._block.reader is self:\n"
                '            self._block.fail(JsonError("malformed", 0, "more", closer))\n',
            ),
        ),
        (f"{CALLS_IN_TEXT} inside_of_json and hermes",),
    ),
    Mutant(
        "blanks before text are eaten",
        (
            Edit(
                "operators/text/outside_text.py",
                '            text = "".join(self._blanks) + text\n            self._blanks.clear()\n',
                "            self._blanks.clear()\n",
            ),
        ),
        (f"{COMPLAINTS} 56263",),
    ),
    Mutant(
        "the closer of reasoning is text of it",
        (
            Edit(
                "operators/text/outside_text.py",
                "                self.end(open_type, upto)\n",
                "                self.give(open_type, marker, upto)\n                self.end(open_type, upto)\n",
            ),
        ),
        (f"{COMPLAINTS} 43221",),
    ),
    Mutant(
        "the dump forgets text that waits",
        (
            Edit("operators/text/source_buffer.py", '"offset", "wait")', '"offset")'),
            Edit("operators/text/source_buffer.py", '"position", "since")', '"position", "since", "wait")'),
        ),
        (f"{COMPLAINTS} frozen",),
    ),
    Mutant(
        "the dump forgets what comes before the next event",
        (
            Edit("operators/text/source_buffer.py", 'PIECES = ("loose",)', "PIECES = ()"),
            Edit("operators/text/source_buffer.py", '"position", "since")', '"loose", "position", "since")'),
        ),
        (f"{COMPLAINTS} frozen",),
    ),
    Mutant(
        "a text is given at its end only",
        (
            Edit(
                "operators/text/block_text.py",
                '        self.streams = form != "xml" and self._argument.streams(self.typing)\n',
                "        self.streams = False\n",
            ),
        ),
        (f"{CALLS_IN_TEXT} brings_it and qwen3_coder",),
    ),
    Mutant(
        "a raw body is sealed however the stream ends",
        (Edit("operators/text/text_block.py", "(is_regular and is_at_end)", "is_at_end"),),
        (f"{CALLS_IN_TEXT} sealed",),
    ),
    Mutant(
        "a JSON body that closed is sealed though the stream was lost",
        (
            Edit(
                "operators/text/text_block.py",
                'call.closed and isinstance(how, Completed) and finish != "error"',
                "call.closed",
            ),
        ),
        (f"{CALLS_IN_TEXT} sealed and hermes",),
    ),
    Mutant(
        "text of a block goes on in whatever segment is open",
        (
            Edit(
                "operators/text/block_text.py",
                "block.outside.give(_SAID[slot.item.role], text, upto)",
                "block.outside.give(block.answer.open_type, text, upto)",
            ),
        ),
        (f"{TEXT} native",),
    ),
    Mutant(
        "the closer of a block's text that something native ended is lost",
        (
            Edit(
                "operators/text/outside_text.py", "            self._source_buffer.before = raw\n", "            pass\n"
            ),
        ),
        (f"{TEXT} once_did",),
    ),
    Mutant(
        "a failed call is gone on with",
        (
            Edit(
                "operators/text/text_block.py",
                "            self.at = ()  # inside of the call, where nothing goes on\n",
                "",
            ),
        ),
        (f"{TEXT} failed_call",),
    ),
    Mutant(
        "JSON in text forgets at a dump that arguments are coded",
        (Edit("operators/text/block_json.py", "    _coded: bool = False\n", "    _coded = False\n"),),
        (f"{LAWS_OF_TEXT} hold_however and (apriel or xlam or hunyuan)",),
    ),
    Mutant(
        "a chunk ends with its first call",
        (
            Edit(
                "operators/text/text_engine.py",
                "            if source_buffer.wait:\n                break\n\n    def _settle",
                "            if source_buffer.wait or (block.had_call and not block.call):\n"
                "                break\n\n    def _settle",
            ),
        ),
        (f"{CALLS_IN_TEXT} several and hermes",),
    ),
    Mutant(
        "places in text are counted in bytes",
        (
            Edit(
                "operators/text/source_buffer.py",
                "        self.offset += end\n",
                "        self.offset += len(self.buffer[:end].encode())\n",
            ),
        ),
        (f"{LAWS_OF_TEXT} however_the_text_comes and deepseek_v31", f"{LAWS_OF_TEXT} some_dialects_together"),
    ),
    Mutant(
        "raw values have no types",
        (
            Edit(
                "operators/schemas/argument_schema.py",
                "            return convert_to(text, self.kinds, self.rules)\n",
                "            return Typed(text, flagged=False)\n",
            ),
        ),
        (f"{COMPLAINTS} 26833",),
    ),
    Mutant(
        "a value is gone over again wherever it may end",
        (
            Edit("operators/text/block_text.py", "keep=not self.streams)", "keep=True)"),
            Edit(
                "operators/text/block_text.py",
                "        if text:\n            self._say(text, upto - slot.held_length)\n",
                "        if not all(each for each in slot._kept) or text:\n"
                "            self._say(text, upto - slot.held_length)\n",
            ),
        ),
        (f"{COMPLAINTS} costs",),
    ),
    Mutant(
        "an unknown tool always passes",
        (
            Edit(
                "operators/text/text_block.py",
                "unknown = options.of_unknown(self.name, ",
                "unknown = TextOptions().of_unknown(self.name, ",
            ),
        ),
        (f"{COMPLAINTS} 17274",),
    ),
    Mutant(
        "a value that is not of its type is not flagged",
        (Edit("operators/text/source_buffer.py", "if typed.flagged and key not in self.mistyped:", "if False:"),),
        ("tests/laws/test_mistyped_arguments.py notice",),
    ),
    Mutant(
        "a stray backtick hides what is on the next line",
        (
            Edit(
                "operators/grammar/outside_markers.py",
                '        self._state = "text" if said is None else "fence"\n',
                '        self._state = "span" if said is None else "fence"\n',
            ),
        ),
        (CODE,),
    ),
    Mutant(
        "the language of a fence does not matter",
        (
            Edit(
                "operators/grammar/outside_markers.py",
                'return state == "span" or not (',
                'return state == "span" and not (',
            ),
        ),
        (CODE,),
    ),
    Mutant(
        "a call of an unknown tool behind a mere bracket passes",
        (Edit("operators/text/text_options.py", 'or ("pass" if is_marked else "text")', 'or "pass"'),),
        ("tests/operators/catalogue/test_auto.py with_tools",),
    ),
    Mutant(
        "a token that ends an answer is text at its end",
        (
            Edit(
                "operators/text/outside_text.py",
                "        if marker in END_TOKENS and not ends_reasoning:\n",
                "        if marker in ():\n",
            ),
        ),
        ("tests/operators/dialects/test_dialect_slips.py token",),
    ),
    Mutant(
        "a call in text that is not whole is told",
        (
            Edit(
                "operators/calls/text_call_watch.py",
                'isinstance(event, SegmentEnd) and event.status == "complete"',
                "isinstance(event, SegmentEnd)",
            ),
        ),
        ("tests/operators/calls/test_text_call_watch.py no_whole_call",),
    ),
    Mutant(
        "a call in text of an undeclared tool is told",
        (Edit("operators/catalogue/dialect_for.py", "reasoning=(), only_declared=has_tools", "reasoning=()"),),
        ("tests/operators/calls/test_text_call_watch.py no_whole_call",),
    ),
    Mutant(
        "a tool's name that a look cuts is not found",
        (
            Edit(
                "operators/calls/text_call_watch.py",
                "            self._tail = seen[-self._names.longest :]\n",
                '            self._tail = ""\n',
            ),
        ),
        ("tests/operators/calls/test_text_call_watch.py means_the_same or two_looks",),
    ),
    Mutant(
        "text after a call in reasoning is no reasoning",
        (
            Edit(
                "operators/text/outside_text.py",
                'return self._options.segment_type if kind == "text" else kind',
                'return self._options.segment_type if kind == "text" and not self.calls else kind',
            ),
        ),
        ("tests/operators/calls/test_text_call_watch.py keeps_its_type",),
    ),
    Mutant(
        "JSON that failed is tried again at its inner brackets",
        (
            Edit(
                "operators/text/text_block.py",
                "            self.passed += ((offset, ()) for offset in self.reader.open_offsets)\n",
                "            self.passed += ()\n",
            ),
        ),
        ("tests/operators/text/test_block_json.py",),
    ),
    Mutant(
        "of several dialects it is not the first one that decides",
        (
            Edit(
                "operators/parse_text.py",
                "    positions = compiled(",
                "    found = tuple(sorted(found, key=lambda each: each.name))\n    positions = compiled(",
            ),
        ),
        ("tests/operators/catalogue/test_auto.py first_one_decides",),
    ),
    # The model was cut, and the wire is whole.
    Mutant(
        "done alone seals what cannot close",
        (
            Edit(
                "operators/calls/native_calls.py",
                '            if call.status == "completed":\n',
                '            if delta.done or call.status == "completed":\n',
            ),
        ),
        (f"{SEGMENTS} what_cannot_close", f"{CUT_MODELS} anthropic"),
    ),
    Mutant(
        "a later call seals what cannot close before the answer has ended",
        (
            Edit(
                "operators/calls/native_calls.py",
                "            other.is_followed = True\n",
                "            if other.needs_evidence:\n"
                '                self.end(other, events, "complete")\n'
                "                continue\n",
            ),
        ),
        (f"{SEGMENTS} what_cannot_close",),
    ),
    Mutant(
        "nothing that comes later seals what is done",
        (
            Edit(
                "sources/base/call_keys.py",
                'found.append(self._tell(call, status="completed"))',
                "pass",
            ),
        ),
        ("tests/sources/base/test_call_tracker.py waits",),
    ),
    Mutant(
        "incomplete outweighs nothing",
        (
            Edit(
                "operators/calls/native_calls.py",
                ' and call.status != "incomplete"\n            if call.is_sealed',
                "\n            if call.is_sealed",
            ),
        ),
        (f"{SEGMENTS} what_cannot_close", f"{CUT_MODELS} responses"),
    ),
    Mutant(
        "any finish is regular",
        (Edit("operators/calls/answer_segments.py", "finish in REGULAR and not chunk.is_cut", "True"),),
        (f"{SEGMENTS} what_cannot_close", f"{CUT_MODELS} chat"),
    ),
    Mutant(
        "a cut that sounds regular is regular",
        (Edit("operators/calls/answer_segments.py", " and not chunk.is_cut", ""),),
        (f"{SEGMENTS} what_cannot_close", f"{CUT_MODELS} gemini"),
    ),
    Mutant(
        "an unknown word is a regular finish",
        (Edit("sources/base/endings.py", "table.get(word, _OTHER)", "table.get(word, _STOP)"),),
        (f"{CUT_MODELS} chat",),
    ),
    Mutant(
        "the end of the stream seals what cannot close",
        (
            Edit(
                "operators/calls/native_calls.py",
                'elif completed and status == "truncated" and not call.needs_evidence:',
                'elif completed and status == "truncated":',
            ),
        ),
        (f"{SEGMENTS} what_cannot_close", f"{CUT_MODELS} ollama"),
    ),
    Mutant(
        "the closing of a provider's object seals it",
        (Edit("operators/calls/native_call.py", 'return self.kind == "json" and self.closed', "return self.closed"),),
        (f"{SEGMENTS} what_cannot_close", f"{CUT_MODELS} responses"),
    ),
    Mutant(
        "a built-in tool's object that never came is complete",
        (
            Edit(
                "operators/calls/native_calls.py",
                'status == "complete" and call.kind == "object"',
                'status == "" and call.kind == "object"',
            ),
        ),
        (f"{SEGMENTS} did_not_come",),
    ),
    Mutant(
        "the status of items is not read",
        (
            Edit(
                "sources/openai_responses/items.py",
                "return _STATUSES.get(status) if isinstance(status, str) else None",
                "return None",
            ),
        ),
        (f"{RESPONSES} free_form", f"{CUT_MODELS} responses"),
    ),
    Mutant(
        "in_progress means completed",
        (
            Edit(
                "sources/openai_responses/items.py",
                '    "completed": "completed",\n',
                '    "completed": "completed",\n    "in_progress": "completed",\n',
            ),
        ),
        (f"{CUT_MODELS} responses",),
    ),
    Mutant(
        "half a patch is the model's own JSON",
        (
            Edit(
                "sources/openai_responses/items.py",
                '"apply_patch", "operation", "object"',
                '"apply_patch", "operation", "json"',
            ),
        ),
        (f"{CUT_MODELS} responses",),
    ),
    Mutant(
        "the empty input of every block is its arguments",
        (
            Edit(
                "sources/anthropic/machine.py",
                'announced=block.get("input") or None',
                'announced=block.get("input")',
            ),
        ),
        (f"{CUT_MODELS} anthropic",),
    ),
    Mutant(
        "a signature shows that the model went on",
        (Edit("sources/gemini/machine.py", "if name not in BESIDE", "if name"),),
        (f"{CUT_MODELS} gemini",),
    ),
    Mutant(
        "what comes out at the end only shows that the model went on",
        (
            Edit(
                "sources/openai_responses/machine.py",
                "        if not is_regular:\n",
                "        if is_regular is None:\n",
            ),
        ),
        (f"{CUT_MODELS} responses", f"{RESPONSES} stood_before"),
    ),
    Mutant(
        "items are known by their index alone",
        (Edit("sources/openai_responses/items.py", "if item is None or item.kind:", "if item is None:"),),
        (f"{RESPONSES} share",),
    ),
    Mutant(
        "a later call seals one that was still being written",
        (Edit("operators/calls/native_calls.py", "        call.is_followed = False  #", "        #"),),
        (f"{SEGMENTS} what_cannot_close", f"{LAWS} sealing"),
    ),
    Mutant(
        "arguments that are missing are the model's JSON",
        (
            Edit("sources/gemini/machine.py", "is_json = is_whole and args is not None", "is_json = True"),
            Edit("sources/ollama/machine.py", '"object" if given is None else "json"', '"json"'),
        ),
        (f"{CUT_MODELS} gemini", f"{CUT_MODELS} ollama"),
    ),
    Mutant(
        "arguments that come again are not compared",
        (
            Edit(
                "sources/base/call_tracker.py",
                "if not text or not call.is_compared or same_arguments(kept, text, call.kind):",
                "if True:",
            ),
        ),
        (f"{RESPONSES} disagree",),
    ),
    Mutant(
        "a contradiction waits for an end that does not come",
        (Edit("sources/base/call_tracker.py", "*self._contradictions(), *ended", "*ended"),),
        (f"{RESPONSES} contradiction_is_told",),
    ),
    Mutant(
        "a contradiction after the end is told by nobody",
        (
            Edit(
                "operators/calls/native_calls.py",
                "            if delta.contradiction:\n                detail",
                "            if delta.contradiction is delta:\n                detail",
            ),
        ),
        (f"{SEGMENTS} contradiction",),
    ),
    Mutant(
        "calls that have ended count as open",
        (
            Edit(
                "operators/calls/native_calls.py",
                "if len(self.growing) > self._limits.open_calls:",
                "if len(self._ended) + len(self.open) > self._limits.open_calls:",
            ),
        ),
        ("tests/laws/test_many_calls.py many",),
    ),
    Mutant(
        "a call without a name is lost",
        (
            Edit(
                "sources/base/call_tracker.py",
                "        deltas, self._pending_deltas = self._pending_deltas, EMPTY\n        return deltas\n",
                "        return []\n",
            ),
        ),
        ("tests/sources/base/test_call_tracker.py name",),
    ),
    Mutant(
        "a call that is repeated is run again",
        (
            Edit(
                "operators/to_invocations.py",
                "(first := self._first_of(call, result)) != result.id",
                "(first := self._first_of(call, result)) == 0",
            ),
        ),
        (f"{LAWS} repeated_under",),
    ),
    Mutant(
        "another call with the same id is not run",
        (
            Edit(
                "operators/to_invocations.py",
                "value_digest([invocation.name, invocation.arguments])",
                "value_digest(invocation.name)",
            ),
        ),
        (f"{LAWS} shares_an_id",),
    ),
    Mutant(
        "a built-in spec refuses a call",
        (
            Edit(
                "operators/calls/field_call.py",
                "required = call.spec.required if call.spec.strict else ()",
                "required = call.spec.required",
            ),
            Edit("operators/to_invocations.py", "_refuses(spec, call) and any", "any"),
        ),
        ("tests/operators/test_to_invocations.py built_in_spec",),
    ),
    Mutant(
        "a call that does not fit its spec is shown as what it is not",
        (Edit("operators/stream_fields.py", "            return [*call.held, end]\n", "            pass\n"),),
        ("tests/operators/test_stream_fields.py fit",),
    ),
    Mutant(
        "what a validator raises ends the stream",
        (
            Edit(
                "operators/schemas/schema_validation.py",
                "    except Exception as error:  # noqa: BLE001 - a",
                "    except ValueError as error:  # a",
            ),
        ),
        ("tests/operators/schemas/test_validated.py whatever",),
    ),
    Mutant(
        "what any exception of a validator says is told",
        (
            Edit(
                "operators/schemas/schema_validation.py",
                "isinstance(error, ValueError | AssertionError)",
                "isinstance(error, Exception)",
            ),
        ),
        ("tests/operators/schemas/test_validated.py quoted",),
    ),
    Mutant(
        "a validator's message is told whole",
        (
            Edit(
                "operators/schemas/schema_validation.py", "if len(message) <= _LONGEST_MESSAGE else", "if message else"
            ),
        ),
        ("tests/operators/schemas/test_validated.py whole_file",),
    ),
    Mutant(
        "reference cycles are made tools of",
        (
            Edit(
                "operators/schemas/schema_references.py",
                "if cycle := reference_cycle(schema):",
                "if cycle := list[str]():",
            ),
        ),
        ("tests/operators/schemas/test_schema_cycles.py",),
    ),
    Mutant(
        "recursion through items is a reference cycle",
        (Edit("operators/schemas/schema_references.py", '"if", "then", "else")', '"if", "then", "else", "items")'),),
        ("tests/operators/schemas/test_schema_cycles.py welcome",),
    ),
    Mutant(
        "reference cycles through dependentSchemas are not seen",
        (Edit("operators/schemas/schema_references.py", '("dependentSchemas", "dependencies")', '("dependencies",)'),),
        ("tests/operators/schemas/test_schema_cycles.py whatever_form",),
    ),
    Mutant(
        "reference cycles through $dynamicRef are not seen",
        (
            Edit(
                "operators/schemas/schema_references.py",
                '("$ref", "$dynamicRef", "$recursiveRef")',
                '("$ref", "$recursiveRef")',
            ),
        ),
        ("tests/operators/schemas/test_schema_cycles.py whatever_form",),
    ),
    Mutant(
        "a reference cycle is named with the way to it",
        (Edit("operators/schemas/schema_references.py", "path[on_path[id(step[0])] + 1 :]", "path"),),
        ("tests/operators/schemas/test_schema_cycles.py names_the_cycle",),
    ),
    Mutant(
        "what a schema says of a deep value is put together anew at each step",
        (Edit("operators/schemas/argument_schema.py", "{_identity(each, 0): each", "{id(each): each"),),
        ("tests/operators/schemas/test_schema_cycles.py stays_small",),
    ),
    Mutant(
        "coerce=False coerces",
        (
            Edit(
                "operators/schemas/schema_validation.py",
                "(json.dumps(arguments), strict=True)",
                "(json.dumps(arguments), strict=False)",
            ),
        ),
        ("tests/operators/schemas/test_exact_validation.py",),
    ),
    Mutant(
        "coerce=False leaves all to pydantic's strict mode",
        (
            Edit(
                "operators/schemas/schema_validation.py",
                "    if faults:\n        raise ValidationError.from_exception_data(model.",
                "    if faults == [()]:\n        raise ValidationError.from_exception_data(model.",
            ),
        ),
        ("tests/operators/schemas/test_exact_validation.py",),
    ),
    Mutant(
        "coerce=False makes a whole number infinite",
        (Edit("operators/schemas/schema_validation.py", "value.bit_length() > _MOST_BITS", "value.bit_length() < 0"),),
        ("tests/operators/schemas/test_exact_validation.py wherever",),
    ),
    Mutant(
        "coerce=False refuses dates behind a validator",
        (Edit("operators/schemas/schema_validation.py", "        if faults or any(", "        if True or any("),),
        ("tests/operators/schemas/test_exact_validation.py around",),
    ),
    Mutant(
        "coerce=False takes sets of anything behind a validator",
        (Edit("operators/schemas/schema_validation.py", "        if faults or any(", "        if any("),),
        ("tests/operators/schemas/test_exact_validation.py around",),
    ),
    Mutant(
        "coerce=False accepts everything for a JSON Schema",
        (Edit("pipeline/tool.py", "        if not self.coerce:\n", "        if self.coerce is None:\n"),),
        ("tests/operators/schemas/test_exact_validation.py every_sort",),
    ),
    Mutant(
        "a tool that is made again coerces",
        (
            Edit(
                "pipeline/tool.py",
                '("name", "description", "strict", "coerce", ',
                '("name", "description", "strict", ',
            ),
        ),
        ("tests/operators/schemas/test_exact_validation.py elsewhere",),
    ),
    Mutant(
        "a function beside a JSON Schema runs without validation",
        (
            Edit(
                "pipeline/tool_from_function.py",
                "        tool.validate(arguments)\n        return",
                "        return",
            ),
        ),
        ("tests/operators/schemas/test_exact_validation.py read_back",),
    ),
    Mutant(
        "a guard lets a path lead out behind another step",
        (Edit("operators/policies/ready.py", "            if depth < 0:\n", "            if depth < -1:\n"),),
        ("tests/operators/test_guard.py inside_by_its_text",),
    ),
    Mutant(
        "a guard shows the piece that is wrong",
        (
            Edit(
                "operators/guard.py",
                "            return self._forbid(call, found[0], event=event)\n",
                "            return self._forbid(call, found[0], event=event, begin=(event,))\n",
            ),
        ),
        ("tests/operators/test_guard.py",),
    ),
    Mutant(
        "a guard drops a call and goes on with its rest",
        (
            Edit(
                "operators/guard.py",
                "                self._dropped.add(identity)\n            return events",
                "                pass\n            return events",
            ),
        ),
        ("tests/operators/test_guard.py",),
    ),
    Mutant(
        "a guard in a lane looks at nothing",
        (
            Edit(
                "operators/guard.py",
                "        if not (reads or watches or self._of_answers):\n",
                "        if call is not None:\n",
            ),
        ),
        ("tests/operators/test_guard.py in_a_lane",),
    ),
    Mutant(
        "a guard lets go what it holds before it is judged",
        (
            Edit(
                "operators/policies/guarded_call.py",
                "        if self.waiting:\n            return []\n",
                "",
            ),
        ),
        ("tests/operators/test_guard.py held",),
    ),
    Mutant(
        "a call runs before its question is answered",
        (
            Edit(
                "operators/guard.py",
                "            self._ending = event\n            return ()\n",
                "            self._ending = event\n            return (event,)\n",
            ),
        ),
        ("tests/operators/test_guard.py waits_for_the_answer",),
    ),
    Mutant(
        "a stopped chain is not closed in a plain loop",
        (
            Edit(
                "operators/engine/pump.py",
                "            try:\n                if item is not _END:\n                    events = work.feed(item)\n                else:\n                    how = how or Completed()\n                    events = work.close(how)\n            except StreamStopped as stop:\n                how = Interrupted(stop.reason)\n                events = [*stop.events, *work.close(how)]\n",
                "            try:\n                if item is not _END:\n                    events = work.feed(item)\n                else:\n                    how = how or Completed()\n                    events = work.close(how)\n            except StreamStopped as stop:\n                how = Interrupted(stop.reason)\n                events = stop.events\n",
            ),
        ),
        ("tests/operators/test_guard.py every_way",),
    ),
    Mutant(
        "a pattern forgets that a match may begin anew",
        (
            Edit(
                "operators/machines/streamed_pattern.py",
                "            nodes.add(self._entry)\n",
                "            nodes = nodes or {self._entry}\n",
            ),
        ),
        ("tests/operators/machines/test_streamed_pattern.py",),
    ),
    Mutant(
        "a closing stream waits for a stuck thread for ever",
        (
            Edit(
                "sinks/running/fan_out.py",
                "                return False\n        return True\n\n    def _give_up",
                "                pass\n        return True\n\n    def _give_up",
            ),
        ),
        ("tests/laws/test_stuck_sinks.py whatever_its_sinks_do",),
    ),
    Mutant(
        "a closing stream waits for a stuck task for ever",
        (
            Edit(
                "sinks/running/fan_out.py",
                "                return False\n        return True\n\n    async def _stopped",
                "                pass\n        return True\n\n    async def _stopped",
            ),
        ),
        ("tests/laws/test_stuck_sinks.py whatever_its_sinks_do",),
    ),
    Mutant(
        "a stuck sink that takes events after the end is given up",
        (Edit("sinks/running/fan_out.py", "if in_all or left == self._left:", "if left >= 0:"),),
        ("tests/laws/test_stuck_sinks.py makes_progress",),
    ),
    Mutant(
        "a stuck sink of a stream that was left is waited for while it takes events",
        (Edit("sinks/running/fan_out.py", "if in_all or left == self._left:", "if left == self._left:"),),
        ("tests/laws/test_stuck_sinks.py the_bound_in_all",),
    ),
    Mutant(
        "a stuck sink that was given up is not told to the stream that it fails",
        (Edit("sinks/running/fan_out.py", 'if self._when_full != "fail" or self._is_left:', "if self._when_full:"),),
        ("tests/laws/test_stuck_sinks.py whatever_its_sinks_do",),
    ),
    Mutant(
        "a stuck sink that was given up goes on with its queue",
        (Edit("sinks/running/sink_line.py", "        self.channel.cut(error)\n", ""),),
        ("tests/laws/test_stuck_sinks.py no_more_events",),
    ),
    Mutant(
        "a stuck sink that swallows its cancellations keeps its task",
        (
            Edit(
                "sinks/running/sink_line.py",
                "if self._line.is_abandoned or isinstance(error, GeneratorExit):",
                "if isinstance(error, GeneratorExit):",
            ),
        ),
        ("tests/laws/test_stuck_sinks.py no_task_is_left",),
    ),
    Mutant(
        "a cancellation that comes while stuck sinks are waited for is swallowed",
        (
            Edit(
                "sinks/running/fan_out.py",
                "                await self._stopped(lines, self._close_timeout)\n                raise\n",
                "                await self._stopped(lines, self._close_timeout)\n                stuck = []\n",
            ),
        ),
        ("tests/laws/test_stuck_sinks.py ends_as_cancelled",),
    ),
    Mutant(
        "a queue whose reader comes after the stream is a stuck sink",
        (
            Edit(
                "sinks/running/sink_line.py",
                "                self.sink.release()  # its",
                "                pass  # its",
            ),
        ),
        ("tests/laws/test_stuck_sinks.py keeps_everything",),
    ),
    Mutant(
        "a slow sink is one that has no room, also on a thread that had no turn",
        (
            Edit(
                "sinks/running/channel.py",
                "            for _ in range(_TURNS):\n"
                "                if self.offer(item):\n"
                "                    return True\n"
                "                self._sleep(_TURN)\n",
                "",
            ),
        ),
        ("tests/laws/test_stuck_sinks.py from_memory",),
    ),
    Mutant(
        "a slow sink is one whose loop stood still",
        (
            Edit(
                "sinks/running/channel.py",
                "        for _ in range(_TURNS):\n            with self._lock:",
                "        for _ in range(1):\n            with self._lock:",
            ),
            Edit(
                "sinks/running/channel.py",
                "        await asyncio.sleep(0)  # if the loop stood still, the time was over before the reader could "
                "run\n        return self.offer(item)\n",
                "        return False\n",
            ),
        ),
        ("tests/laws/test_stuck_sinks.py stood_still",),
    ),
    Mutant(
        "a retry after an error has the ids of the attempt before",
        (
            Edit(
                "operators/engine/turn_ids.py", "            self._attempts.note(*ids.attempt)\n", "            pass\n"
            ),
        ),
        ("tests/laws/test_retry.py",),
    ),
    Mutant(
        "a retry after an error behind the operators has the ids of the attempt before",
        (
            Edit(
                "operators/engine/stage.py",
                "return CompositeDisposable(upstream, Disposable(attempt.break_off))",
                "return CompositeDisposable(upstream, Disposable())",
            ),
        ),
        ("tests/laws/test_retry.py error_behind",),
    ),
    Mutant(
        "a retry is seen in every second subscription",
        (
            Edit(
                "operators/engine/turn_ids.py",
                "    def complete(self) -> None:\n",
                "    def complete(self) -> None:\n        self.break_off()\n",
            ),
        ),
        ("tests/laws/test_retry.py by_themselves",),
    ),
    Mutant(
        "a retry of a pipeline loses its number where the stream says what it is",
        (Edit("pipeline/strategy_choice.py", "            self.ids.retry(before.former)\n", "            pass\n"),),
        ("tests/laws/test_retry.py turn_id_of_its_own",),
    ),
    Mutant(
        "a retry is numbered also where the wire gave another id",
        (
            Edit(
                "operators/engine/turn_ids.py", "self.former.get(turn_id, 0) + 1", "max([0, *self.former.values()]) + 1"
            ),
        ),
        ("tests/laws/test_retry.py another_id",),
    ),
    Mutant(
        "an answer of another API is none's concern",
        (
            Edit(
                "sources/recognition/checked_machine.py",
                "        if is_judged and (self._unknown.count or self._unknown.body):\n",
                "        if is_judged and self._unknown.count > 10**9:\n",
            ),
        ),
        ("tests/sources/recognition/test_checked_machine.py another_api",),
    ),
    Mutant(
        "whatever the machine makes more of than raw is understood, another API's item too",
        (
            Edit(
                "sources/recognition/checked_machine.py",
                "(not apis and any(map(has_content, responses)))",
                "any(map(has_content, responses))",
            ),
        ),
        ("tests/sources/recognition/test_checked_machine.py every_stream",),
    ),
    Mutant(
        "a keep-alive speaks against its answer",
        (Edit("sources/recognition/checked_machine.py", "elif not says_nothing(item):", "else:"),),
        ("tests/sources/recognition/test_checked_machine.py keep_alives",),
    ),
    Mutant(
        "an answer that was broken off is judged",
        (
            Edit(
                "sources/recognition/checked_machine.py",
                "is_judged = isinstance(how, Completed) and not",
                "is_judged = not",
            ),
        ),
        ("tests/sources/recognition/test_checked_machine.py not_judged",),
    ),
    Mutant(
        "a provider's failure is not the outcome of an answer that was not understood",
        (
            Edit(
                "sources/recognition/checked_machine.py",
                "and not self.is_understood and not self._machine.stopped",
                "and not self.is_understood",
            ),
        ),
        ("tests/sources/recognition/test_checked_machine.py failure",),
    ),
    Mutant(
        "an item that is understood late comes too late",
        (
            Edit(
                "sources/recognition/checked_machine.py",
                "        if self._api in apis",
                "        if (not self._unknown.count and self._api in apis)",
            ),
        ),
        ("tests/sources/recognition/test_checked_machine.py late",),
    ),
    Mutant(
        "a body without events is no error",
        (Edit("sources/from_wire.py", "            self._unread.settle()\n", "            pass\n"),),
        ("tests/sources/recognition/test_checked_machine.py without_events",),
    ),
    Mutant(
        "an event stream that is cut in its first event is text",
        (
            Edit(
                "sources/recognition/recognised_api.py",
                'return None if _is_begun_stream(body) else "text"',
                'return "text"',
            ),
        ),
        ("tests/sources/recognition/test_checked_machine.py cut_of_an_own",),
    ),
    Mutant(
        "the check stays in the way of what was understood",
        (
            Edit(
                "sources/recognition/checked_machine.py",
                "self.feed, self.lane = self._machine.feed, self._its_lane",
                "self.lane = self._its_lane",
            ),
        ),
        ("tests/sources/recognition/test_checked_machine.py costs",),
    ),
    Mutant(
        "a check that goes on elsewhere has forgotten what came",
        (Edit("sources/recognition/checked_machine.py", '("_own", "_unknown", ', '("_own", '),),
        ("tests/sources/recognition/test_checked_machine.py dumped_and_loaded",),
    ),
    Mutant(
        "what a failing end gives is lost",
        (Edit("sources/base/machine.py", "        stage.last_words = responses\n", ""),),
        ("tests/sources/recognition/test_checked_machine.py end",),
    ),
    Mutant(
        "keep-alives over the limit vanish",
        (
            Edit(
                "sources/recognition/recognised_api.py",
                "return [ChunkResponse(raw=(plain,))] if plain else []",
                "return []",
            ),
        ),
        ("tests/sources/recognition/test_recognised_api.py keep_alives",),
    ),
    Mutant(
        "rows beyond the shown ones are not counted",
        (
            Edit(
                "sinks/card.py",
                'f"… {number - ROWS:,} more"] if number > ROWS else []',
                '"…"] if number > 10**9 else []',
            ),
        ),
        ("tests/sinks/test_event_card.py beyond",),
    ),
    Mutant(
        "a token count of Infinity breaks the stream",
        (
            Edit(
                "sources/gemini/wire.py",
                'token_count(fields, "thoughts_token_count"),',
                'int(fields.get("prompt_token_count") or 0) * 0,',
            ),
        ),
        ("tests/sources/gemini/test_gemini.py count_that",),
    ),
    Mutant(
        "data that is not JSON is cut without a word",
        (Edit("sources/base/endings.py", "if len(error.doc) > _SHOWN else", "if len(error.doc) > 10**9 else"),),
        ("tests/sources/test_from_wire.py how_long",),
    ),
    Mutant(
        "a server answers every Host",
        (
            Edit(
                "sources/base/served_hosts.py",
                "        if found is None:\n            return False\n",
                "        return True\n",
            ),
        ),
        (SERVERS,),
    ),
    Mutant(
        "a server answers a Host that only begins as its own",
        (Edit("sources/base/served_hosts.py", "_HOST.fullmatch(", "_HOST.match("),),
        ("tests/sources/base/test_served_hosts.py",),
    ),
    Mutant(
        "the replay server believes what a request says of its length",
        (Edit("studio/replay/replay_app.py", "if len(body) + len(piece) > longest:", "if False:"),),
        (f"{SERVERS} counted", f"{SERVERS} behind_the_bound"),
    ),
    Mutant(
        "the replay server answers a body that is too long and closes at once",
        (
            Edit(
                "studio/replay/replay_app.py",
                "return BodyLeft(response, self._connections.close) if refusal.status == 413 else response",
                "self._connections.close(request.scope)\n            return response",
            ),
        ),
        (f"{SERVERS} too_long",),
    ),
    Mutant(
        "the replay server reads a body that says that it is too long",
        (Edit("studio/replay/replay_app.py", "declared.isdecimal() and int(declared) > longest", "False"),),
        (f"{SERVERS} too_long", f"{SERVERS} behind_the_bound"),
    ),
    Mutant(
        "the log of the replay server has halves of characters",
        (Edit("studio/replay/replay_recordings.py", "without_halves(model[:200])", "model[:200]"),),
        (f"{SERVERS} half",),
    ),
    Mutant(
        "names of recordings have halves of characters",
        (Edit("studio/replay/replay_recordings.py", "Recording(without_halves(name), found", "Recording(name, found"),),
        (f"{SERVERS} no_text",),
    ),
    Mutant(
        "a command reads whatever comes",
        (Edit("sources/streams/bounded_read.py", "file.read(longest + 1)", "file.read()"),),
        (f"{ENDS} without_an_end",),
    ),
    Mutant(
        "text is read whatever comes",
        (Edit("studio/reading/read_input.py", "if self._left < 0:", "if False:"),),
        (f"{ENDS} without_an_end",),
    ),
    Mutant(
        "the plain view escapes a long line at once",
        (Edit("sinks/plain_view.py", "_SLICE = 65536", "_SLICE = 1 << 40"),),
        (f"{ENDS} plain_view",),
    ),
    Mutant(
        "a closed output is written to",
        (Edit("studio/cli/cli.py", "if sys.stdout is None:", "if False:"),),
        (f"{ENDS} closed_output",),
    ),
    Mutant(
        "a closed input is read",
        (Edit("studio/reading/read_input.py", "if sys.stdin is None:", "if False:"),),
        (f"{ENDS} closed_input",),
    ),
    Mutant(
        "the commands are imported while Ctrl-C raises and is caught by nobody",
        (
            Edit("penstock/__main__.py", "signal.signal(signal.SIGINT, _leave)\n        from", "pass\n        from"),
            Edit("penstock/__main__.py", "except KeyboardInterrupt:", "except EOFError:"),
        ),
        ("tests/studio/cli/test_cli_ctrl_c.py imported",),
    ),
    Mutant(
        "a stream that was read before is read on by the wire",
        (Edit("sources/streams/response_bytes.py", "if not (response.is_stream_consumed or", "if True or not ("),),
        ("tests/sources/streams/test_response_bytes.py read_or_closed",),
    ),
    Mutant(
        "a connection that OpenAI's client loses is told as httpx tells it",
        (Edit("sources/streams/response_bytes.py", 'if root != "openai":', "if True:"),),
        ("tests/sources/streams/test_response_bytes.py connection_that_fails",),
    ),
    Mutant(
        "what stands behind [DONE] is left unread",
        (Edit("sources/streams/response_bytes.py", 'endswith(b"[DONE]")', 'endswith(b"[NONE]")'),),
        ("tests/sources/streams/test_response_bytes.py used_again",),
    ),
    Mutant(
        "a step waits for its reader after each event of a read",
        (Edit("sinks/acting/step.py", '"has_waiting", False)', '"has_waited", False)'),),
        ("tests/pipeline/test_async_turns.py turns",),
    ),
    Mutant(
        "Ctrl-C behind the last command raises",
        (Edit("penstock/__main__.py", "signal.signal(signal.SIGINT, _leave)\n    except", "pass\n    except"),),
        ("tests/studio/cli/test_cli_ctrl_c.py after_the_end",),
    ),
    Mutant(
        "a URL keeps its user and password",
        (
            Edit(
                "events/errors.py",
                'shown = f"{_HIDDEN}@{host}" if at and user else authority',
                "shown = authority",
            ),
        ),
        (SECRETS,),
    ),
    Mutant(
        "a URL keeps the values of its parameters",
        (Edit("events/errors.py", "if name.lower() in _OPEN else", "if name else"),),
        (SECRETS,),
    ),
    Mutant(
        "a ProviderError tells what URLs keep secret",
        (Edit("events/errors.py", "detail = without_credentials(detail)", "pass"),),
        (f"{SECRETS} error",),
    ),
    Mutant(
        "a complaint tells what URLs keep secret",
        (Edit("studio/cli/cli_parts.py", "shortened(without_credentials(message),", "shortened(message,"),),
        ("tests/studio/cli/test_cli_credentials.py argument",),
    ),
    Mutant(
        "a piece of a proxy's password is told as its port",
        (Edit("studio/run_provider.py", '== "InvalidURL"', '== ""'),),
        ("tests/studio/cli/test_cli_credentials.py proxy",),
    ),
    Mutant(
        "a body of another API is a stream",
        (
            Edit(
                "studio/reading/read_input.py",
                "    if _has_events(given, body,",
                "    if given or _has_events(given, body,",
            ),
        ),
        ("tests/studio/reading/test_checked_stream.py", f"{ENDS} another_api"),
    ),
    Mutant(
        "an error that came instead of a stream is one",
        (
            Edit(
                "studio/reading/read_input.py", "(why := why_no_stream(body)) is not None", "(why := None) is not None"
            ),
        ),
        ("tests/studio/reading/test_checked_stream.py",),
    ),
    Mutant(
        "a browser takes the terminal where there is no screen",
        (Edit("studio/cli/cli_parts.py", "if not no_browser and _has_screen():", "if not no_browser:"),),
        ("tests/studio/cli/test_cli_app.py screen",),
    ),
    Mutant(
        "what has gone on as a chunk is held back",
        (Edit("studio/tracing/traced_chain.py", "if isinstance(output, ChunkResponse) else", "if not output else"),),
        ("tests/studio/tracing/test_trace_stream.py held_back",),
    ),
    Mutant(
        "an answer that failed has no end",
        (
            Edit(
                "operators/calls/response_answers.py",
                "            if answer.has_begun:\n",
                "            if answer.has_begun and how.__class__.__name__ != 'Failed':\n",
            ),
        ),
        (f"{LAWS} every_answer_has_one_end",),
    ),
    Mutant(
        "an answer that finished has two ends",
        (
            Edit(
                "operators/calls/response_answers.py",
                "                events.append(self._end_of(answer, how, finish))\n",
                "                end = self._end_of(answer, how, finish)\n"
                "                events += [end, end] if finish else [end]\n",
            ),
        ),
        (f"{LAWS} every_answer_has_one_end",),
    ),
    Mutant(
        "only the first choice shows the usage",
        (
            Edit(
                "operators/calls/response_answers.py",
                "            self._usage,\n            self._model,\n",
                "            None if answer.number else self._usage,\n            self._model,\n",
            ),
        ),
        (f"{LAWS} every_answer_has_one_end",),
    ),
    Mutant(
        "a call in text does not begin its answer",
        (Edit("operators/text/outside_text.py", "        self._answer.begun = True\n", ""),),
        ("tests/operators/calls/test_response_answers.py",),
    ),
    Mutant(
        "a number that was cut is an output",
        (
            Edit(
                "operators/partial_output.py",
                'self._reader.close(cut=end.status not in ("complete", None))',
                "self._reader.close(cut=False)",
            ),
        ),
        (f"{OUTPUT} without_a_whole_value",),
    ),
    Mutant(
        "an output of a broken stream",
        (Edit("operators/partial_output.py", 'elif status in ("complete", "truncated"):', "elif status:"),),
        (f"{OUTPUT} broken_stream",),
    ),
    Mutant(
        "text behind the fence is dropped",
        (Edit("operators/machines/answer_text.py", "            self._closer(text[at - before :])\n", ""),),
        (f"{OUTPUT} without_a_whole_value",),
    ),
    Mutant(
        "pydantic validates the fence, too",
        (Edit("operators/partial_output.py", "self._validated(raw[reader.span])", "self._validated(raw)"),),
        (f"{OUTPUT_TYPE} any_type",),
    ),
    Mutant(
        "what comes after content overtakes it",
        (
            Edit(
                "sinks/running/coalesce.py",
                "                self._shown.discard((event.turn_id, event.segment_id))\n            return [*self.release(), event]",
                "                self._shown.discard((event.turn_id, event.segment_id))\n            return [event, *self.release()]",
            ),
        ),
        ("tests/sinks/running/test_coalescer.py",),
    ),
    Mutant(
        "what waits is lost with an error",
        (
            Edit(
                "sinks/running/coalesce.py",
                "    def close(self, _how: How) -> Iterable[Any]:\n        return self._coalescer.release()",
                "    def close(self, how: How) -> Iterable[Any]:\n"
                "        return () if isinstance(how, Failed) else self._coalescer.release()",
            ),
        ),
        (
            "tests/sinks/running/test_coalesce.py",
            "tests/sinks/running/test_coalesced_stream.py",
        ),
    ),
    Mutant(
        "a reader that comes back misses a frame",
        (
            Edit(
                "sinks/resume/stream_runs.py",
                "        self.taken = taken\n",
                "        self.taken = taken + bool(taken)\n",
            ),
        ),
        ("tests/sinks/resume/test_resuming.py",),
    ),
    Mutant(
        "a gap is not told",
        (Edit("sinks/resume/stream_runs.py", "            self._gap.extend(frames)\n", ""),),
        ("tests/sinks/resume/test_resuming.py",),
    ),
    Mutant(
        "a stream that nobody reads goes on for ever",
        (
            Edit(
                "sinks/resume/kept_stream.py",
                "            self._call_later(self._lifetime.grace, self._stop)\n",
                "            pass\n",
            ),
        ),
        ("tests/sinks/resume/test_stream_runs.py",),
    ),
    Mutant(
        "a failed call of the AI SDK may be run",
        (
            Edit(
                "sinks/web/ai_sdk_frames.py",
                "    if end.error is not None:\n        return _of_call",
                '    if end.error == "malformed":\n        return _of_call',
            ),
        ),
        ("tests/sinks/web/test_ai_sdk_frames.py",),
    ),
    Mutant(
        "a step of the AI SDK ends before its parts",
        (
            Edit(
                "sinks/web/ai_sdk_frames.py",
                "        yield from self._start()\n        for part in self._reader.close(how):",
                "        yield from self._start()\n        yield from self._finish_step()\n        for part in self._reader.close(how):",
            ),
        ),
        ("tests/sinks/web/test_ai_sdk_frames.py",),
    ),
    Mutant(
        "a failed call of AG-UI waits to be run",
        (
            Edit(
                "sinks/web/ag_ui_frames.py",
                "            if part.error is not None:\n                self._unanswered",
                '            if part.error == "malformed":\n                self._unanswered',
            ),
        ),
        ("tests/sinks/web/test_ag_ui_frames.py",),
    ),
    Mutant(
        "an error of AG-UI comes while calls are open",
        (
            Edit(
                "sinks/web/ag_ui_frames.py",
                "        yield from self._in_order(placed for part in self._reader.close(how) for placed in self._frames(part))\n",
                "",
            ),
        ),
        ("tests/sinks/web/test_ag_ui_frames.py",),
    ),
    Mutant(
        "a cut call is whole in chat",
        (
            Edit(
                "sinks/web/openai_chat_frames.py",
                '        return "length" if self._is_cut and word in _WHOLE else word\n',
                "        return word\n",
            ),
        ),
        ("tests/sinks/web/test_openai_chat_frames.py",),
    ),
    Mutant(
        "a cut call is whole in Responses",
        (
            Edit(
                "sinks/web/openai_responses_frames.py",
                'item.end("completed" if status == "complete" else "incomplete")',
                'item.end("completed")',
            ),
        ),
        ("tests/sinks/web/test_reemission.py any_answer",),
    ),
    Mutant(
        "a cut call is whole in Messages",
        (
            Edit(
                "sinks/parts/json_text.py",
                '        return "" if self.is_cut else "}"\n',
                '        return "}" if self._is_over else ""\n',
            ),
        ),
        ("tests/sinks/web/test_anthropic_frames.py told_again",),
    ),
    Mutant(
        "a repeated call may be run by a front end",
        (
            Edit(
                "sinks/parts/part_reader.py",
                '        if (first := event.metadata.get("duplicate_of")) is not None:\n',
                '        if (first := event.metadata.get("duplicate_of")) == "":\n',
            ),
        ),
        (
            "tests/sinks/parts/test_part_reader.py",
            "tests/sinks/parts/test_odd_parts.py",
        ),
    ),
    Mutant(
        "spans have content that nobody asked for",
        (
            Edit(
                "sinks/telemetry/otel_setup.py",
                "if not (self.content and span.is_recording()):",
                "if not span.is_recording():",
            ),
        ),
        ("tests/sinks/telemetry",),
    ),
    Mutant(
        "a repeated call runs twice",
        (
            Edit(
                "pipeline/call_tools.py",
                "if identity in self._known:",
                "if identity in ():",
            ),
        ),
        ("tests/pipeline/test_call_tools.py",),
    ),
    Mutant(
        "two workers start a call",
        (Edit("sinks/acting/ledger.py", 'entry.state not in ("intended", "unknown" if again else ""):', "False:"),),
        (CRASH_POINTS, LEDGERS),
    ),
    Mutant(
        "a call whose worker has died starts again",
        (
            Edit(
                "sinks/acting/ledger.py",
                'entry._replace(state="unknown", outcome=_DIED, changed=now)',
                'entry._replace(state="intended", changed=now)',
            ),
        ),
        (CRASH_POINTS, LEDGERS),
    ),
    Mutant(
        "a worker that was fenced keeps its result",
        (
            Edit(
                "sinks/acting/ledger.py",
                'entry.owner != owner or entry.state not in ("started", "unknown")',
                'entry.state not in ("started", "unknown")',
            ),
        ),
        (LEDGERS,),
    ),
    Mutant(
        "a call with other arguments runs under the same key",
        (Edit("sinks/acting/ledger.py", "entry.digest != digest or entry.state", "entry.state"),),
        (LEDGERS,),
    ),
    Mutant(
        "a call runs without its ledger",
        (
            Edit(
                "sinks/acting/ledger_call.py",
                "            return self._away(error)\n        return None\n",
                "            pass\n        return None\n",
            ),
        ),
        ("tests/pipeline/test_call_once.py without_the_ledger",),
    ),
    Mutant(
        "a tool that was broken off counts as done",
        (Edit("sinks/acting/ledger_call.py", "        if not has_answered:\n", "        if False:\n"),),
        ("tests/pipeline/test_call_once.py broken_off",),
    ),
    Mutant(
        "a call that did not begin stays started",
        (Edit("sinks/acting/ledger_call.py", "            await self._leave(release(self._owner))\n", ""),),
        ("tests/pipeline/test_call_once.py left_before",),
    ),
    Mutant(
        "results come out of order",
        (Edit("pipeline/call_tools.py", "if not self._options.ordered:", "if True:"),),
        ("tests/pipeline/test_call_tools.py",),
    ),
    Mutant(
        "calls run without a limit",
        (
            Edit(
                "pipeline/call_tools.py",
                "nullcontext() if limit is None else asyncio.Semaphore(limit)",
                "nullcontext()",
            ),
        ),
        ("tests/pipeline/test_call_tools_cases.py at_the_same_time",),
    ),
    Mutant(
        "a claimed call runs",
        (Edit("pipeline/call_tools.py", "event.claimed_by is not None or not", "not"),),
        ("tests/pipeline/test_call_tools.py",),
    ),
    Mutant(
        "anything that is true lets a call run",
        (Edit("sinks/acting/approval.py", "if answer is True:", "if answer:"),),
        ("tests/pipeline/test_call_tools_cases.py nothing_but_true",),
    ),
    Mutant(
        "a callback changes what runs",
        (Edit("sinks/acting/approval.py", "deepcopy(call.arguments)", "call.arguments"),),
        ("tests/pipeline/test_call_tools.py",),
    ),
    Mutant(
        "an event that is changed changes what runs",
        (
            Edit(
                "pipeline/call_tools.py",
                "arguments=deepcopy(event.arguments), model=None",
                "arguments=event.arguments",
            ),
        ),
        ("tests/pipeline/test_call_tools_cases.py whatever_becomes",),
    ),
    Mutant(
        "a tool begins to read before its other arguments are there",
        (Edit("sinks/acting/open_call.py", "not self._wanted.required <= self._closed.keys()", "False"),),
        (f"{READ_CALLS} comes_first", f"{READ_LAWS} is_the_argument"),
    ),
    Mutant(
        "a tool begins to read with invalid arguments",
        (
            Edit(
                "sinks/acting/read_calls.py",
                "        if errors is not None:\n            call.is",
                "        if False:\n            call.is",
            ),
        ),
        (f"{READ_CALLS} invalid_arguments",),
    ),
    Mutant(
        "a tool begins to read although its call was cut",
        (Edit("sinks/acting/read_calls.py", "        call.is_held = True\n", ""),),
        (f"{READ_CALLS} may_not_change",),
    ),
    Mutant(
        "a text that is read ends before the seal",
        (
            Edit(
                "sinks/acting/read_calls.py",
                "        call.ending = cut_reason(end)\n",
                "        call.ending = cut_reason(end)\n        call.text.end()\n",
            ),
        ),
        (f"{READ_CALLS} told_why", f"{READ_LAWS} cut_anywhere"),
    ),
    Mutant(
        "a tool has a result although its call was cut",
        (
            Edit(
                "sinks/acting/read_calls.py",
                '            self._emit(call, StatusMaker(request, is_open=True)("failed", str(call.cut)))\n            return\n',
                "            self._acting.answer(result)\n            self._work.emit(result)\n            return\n",
            ),
        ),
        (f"{READ_CALLS} told_why",),
    ),
    Mutant(
        "a call that repeats an id is read at once",
        (Edit("sinks/acting/read_calls.py", ' and "repeats" not in start.metadata', ""),),
        (f"{READ_CALLS} repeated_runs_once",),
    ),
    Mutant(
        "a text that comes first waits without a limit",
        (Edit("sinks/acting/open_call.py", "self.opening is None and self._length > most", "False"),),
        (f"{READ_CALLS} behind_a_limit",),
    ),
    Mutant(
        "an argument behind the text is ignored",
        (Edit("sinks/acting/read_calls.py", "errors is not None or not is_same", "errors is not None"),),
        (f"{READ_CALLS} may_not_change", f"{READ_LAWS} is_the_argument"),
    ),
    Mutant(
        "an invocation may be another call than the one that was read",
        (Edit("sinks/acting/open_call.py", "if not is_same or not (", "if False and not ("),),
        (f"{READ_CALLS} changes_the_call", "tests/sinks/acting/test_open_call.py"),
    ),
    Mutant(
        "a tool that goes on alone reads a clean end",
        (Edit("sinks/acting/streamed_text.py", 'cut(self._error or CallCutError("interrupted"))', "close()"),),
        ("tests/sinks/acting/test_streamed_text.py", f"{READ_CALLS} goes_on"),
    ),
    Mutant(
        "a text is lost where the stream does not wait for its tool any more",
        (Edit("sinks/acting/streamed_text.py", "                channel.release()\n", ""),),
        ("tests/sinks/acting/test_streamed_text.py", f"{READ_CALLS} slow_tool"),
    ),
    Mutant(
        "a call that an earlier step answers is read on",
        (Edit("sinks/acting/read_calls.py", "        if not is_ours:\n", "        if False:\n"),),
        (f"{READ_CALLS} earlier_step",),
    ),
    Mutant(
        "a tool waits for a verdict that never comes",
        (Edit("sinks/acting/step.py", "if work.at_end is not None:", "if False:"),),
        (f"{READ_CALLS} never_comes",),
    ),
    Mutant(
        "the span of a tool that reads its call begins with the invocation",
        (
            Edit(
                "sinks/telemetry/tool_spans.py",
                "                self._started_at[identity] = now\n",
                "                pass\n",
            ),
        ),
        ("tests/sinks/acting/test_read_elsewhere.py span",),
    ),
    Mutant(
        "a client is asked about a call that was cut",
        (Edit("sinks/web/ai_sdk_frames.py", "if part.error is None or not frame", "if True or not frame"),),
        ("tests/sinks/acting/test_read_elsewhere.py behind_the_input",),
    ),
    Mutant(
        "a broken answer leaves its tools running",
        (
            Edit(
                "sinks/acting/step.py",
                'if isinstance(event, AnswerEnd) and event.status in ("interrupted", "failed"):',
                "if False:",
            ),
        ),
        ("tests/sinks/acting/test_step_stream.py breaks_off",),
    ),
    Mutant(
        "a cancelled run leaves its tools running",
        (Edit("pipeline/async_run.py", "cancel_work(reason)", "str(reason)"),),
        ("tests/pipeline/test_call_tools_cases.py cancelling_the_run",),
    ),
    Mutant(
        "an approval is sent to a client that breaks off",
        (
            Edit(
                "sinks/web/ai_sdk_frames.py",
                'status.state == "requested" and self._version > 5:',
                'status.state == "requested":',
            ),
        ),
        ("tests/sinks/web/test_ai_sdk_approvals.py clients_that_take",),
    ),
    Mutant(
        "a file takes its place before it is on the disk",
        (Edit("sinks/files/root_folder.py", "        os.fsync(self._file)\n", "        pass\n"),),
        (f"{FILE_DRAFTS} synced",),
    ),
    Mutant(
        "a file takes its place at the END of its segment",
        (
            Edit(
                "sinks/files/write_files.py",
                "            case ToolInvocation():\n                self._invoked(event)\n",
                "            case _ if type(event).__name__ == 'SegmentEnd':\n"
                "                draft = self._drafts.take((event.turn_id, event.segment_id))\n"
                "                if draft is not None and draft.file is not None and draft.names:\n"
                "                    with self._root.walk(draft.names[:-1]) as (folder, _):\n"
                "                        draft.file.rename(folder, draft.names[-1])\n"
                "                    draft.discard()\n"
                "            case ToolInvocation():\n                self._invoked(event)\n",
            ),
        ),
        (f"{FILES} in_its_place",),
    ),
    Mutant(
        "a file is written into the old one",
        (
            Edit(
                "sinks/files/root_folder.py",
                "        os.rename(self._name, name, src_dir_fd=self._folder, dst_dir_fd=folder)\n",
                "        held = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666, dir_fd=folder)\n"
                "        for at in range(0, self._size, 512):\n"
                "            os.write(held, os.pread(self._file, 512, at))\n"
                "        os.close(held)\n"
                "        os.unlink(self._name, dir_fd=self._folder)\n",
            ),
        ),
        ("tests/sinks/files/test_killed_writer.py before_any_call",),
    ),
    Mutant(
        "a folder that is a symbolic link is entered",
        (
            Edit(
                "sinks/files/root_folder.py",
                'getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)',
                'getattr(os, "O_DIRECTORY", 0)',
            ),
        ),
        (HOSTILE_PATHS,),
    ),
    Mutant(
        "a name in other letters is another file",
        (
            Edit(
                "sinks/files/root_folder.py",
                "if others and names[-1] not in others:",
                "if not others and there is None:",
            ),
        ),
        (HOSTILE_PATHS,),
    ),
    Mutant(
        "a draft that somebody changed is taken as it is",
        (
            Edit(
                "sinks/files/root_folder.py",
                "            if memoryview(piece) != rest[at : at + len(piece)]:\n                return False\n",
                "",
            ),
        ),
        (f"{HOSTILE_CALLS} whatever_became",),
    ),
    Mutant(
        "a file that changed after the question is overwritten",
        (
            Edit(
                "sinks/files/root_folder.py",
                "is_same = now is not None and now.content == expected.content",
                "is_same = now is not None",
            ),
        ),
        (f"{HOSTILE_CALLS} neither_length",),
    ),
    Mutant(
        "the quota is off by one",
        (Edit("sinks/files/write_files.py", "if size > self.room():", "if size > self.room() + 1:"),),
        (f"{FILE_DRAFTS} quota",),
    ),
    Mutant(
        "trials share no lock",
        (
            Edit(
                "sinks/files/write_files.py",
                "        with self._one_at_a_time:\n            self._quota.check(size := _size(files))\n            if job",
                "        if True:\n            self._quota.check(size := _size(files))\n            if job",
            ),
        ),
        (f"{FILE_DRAFTS} quota",),
    ),
    Mutant(
        "the file of a call that was cut stays",
        (
            Edit(
                "sinks/files/file_drafts.py",
                "        finally:\n            draft.discard()\n",
                "        finally:\n            pass\n",
            ),
        ),
        (f"{FILES} is_cut",),
    ),
    Mutant(
        "a call that was denied is carried out",
        (
            Edit(
                "sinks/files/write_files.py",
                "if (refused := await self._asked(job, changes)) is not None:",
                "if (refused := await self._asked(job, changes)) is changes:",
            ),
        ),
        (f"{FILES} without_an_approval",),
    ),
    Mutant(
        "calls for one file do not wait for each other",
        (
            Edit(
                "sinks/files/write_files.py",
                "        if before:\n            await asyncio.wait(before)\n",
                "",
            ),
        ),
        (f"{FILES} waits_for_it",),
    ),
    Mutant(
        "a patch that fails half way stays half",
        (
            Edit(
                "sinks/files/file_drafts.py",
                "lost = [file for file in reversed(done) if not _undone(root, file)]",
                "lost = []",
            ),
        ),
        ("tests/sinks/files/test_full_disk.py half_way",),
    ),
    Mutant(
        "a copy takes the file away that it is of",
        (Edit("sinks/files/file_plan.py", 'not in ("move", "delete"):', 'not in ("move", "delete", "copy"):'),),
        ("tests/sinks/files/test_git_diffs.py copies_copy",),
    ),
    Mutant(
        "a mode is left out",
        (Edit("sinks/files/file_drafts.py", "if file.is_executable is not None:", "if file.is_executable is root:"),),
        ("tests/sinks/files/test_git_diffs.py modes_are_applied",),
    ),
    Mutant(
        "an anchor that stands there several times is the first",
        (Edit("sinks/edits/hunk.py", "len(places) - first) == 1", "len(places) - first) >= 1"),),
        ("tests/sinks/files/test_certain_places.py",),
    ),
    Mutant(
        "lines that end as those of Windows are told at once",
        (Edit("sinks/edits/patch_events.py", 'if all(line.endswith("\\r\\n") for line in lines)', "if not lines"),),
        ("tests/sinks/edits/test_patch_readers.py whole_text",),
    ),
    Mutant(
        "a hunk is told before the line that says of its last one that it has no end",
        (Edit("sinks/edits/unified_reader.py", 'self._lines.begun not in ("", "\\\\")', 'self._lines.begun != ""'),),
        ("tests/sinks/edits/test_patch_readers.py unified",),
    ),
    Mutant(
        "empty lines within a hunk are lost",
        (Edit("sinks/edits/v4a_reader.py", 'in (*[""] * self._blank, line)', "in (line,)"),),
        ("tests/sinks/edits/test_patch_readers.py v4a",),
    ),
    Mutant(
        "a run of lines has the places of its own end alone",
        (Edit("sinks/edits/line_index.py", "            self._times[end] += self._times[run]\n", ""),),
        ("tests/sinks/edits/test_line_index.py",),
    ),
    Mutant(
        "a hunk is looked for where it says, however far the one before was moved",
        (Edit("sinks/edits/live_file.py", "line + self._hunks.moved", "line"),),
        ("tests/sinks/files/test_live_edit.py looked_for",),
    ),
    Mutant(
        "blocks may change the same lines",
        (Edit("sinks/edits/live_file.py", "before.start + len(before.old) > behind.start", "before is behind"),),
        ("tests/sinks/files/test_live_edit.py same_lines",),
    ),
    Mutant(
        "an edit is compared before the calls ahead of it have their results",
        (Edit("sinks/files/edit_tracker.py", "            busy |= each.touches\n", ""),),
        ("tests/sinks/test_edits_on_screen.py behind_another",),
    ),
    Mutant(
        "an old text that occurs twice is a fault before all may be meant",
        (Edit("sinks/files/live_edit.py", "        if not edit.is_whole:\n", "        if base is None:\n"),),
        ("tests/sinks/files/test_live_edit.py occurs_twice",),
    ),
    Mutant(
        "what came of a file replaces another",
        (
            Edit(
                "sinks/files/root_folder.py",
                "os.link(self._name, name, src_dir_fd=self._folder, dst_dir_fd=folder, follow_symlinks=False)",
                "os.replace(self._name, name, src_dir_fd=self._folder, dst_dir_fd=folder)",
            ),
        ),
        ("tests/sinks/files/test_protected_paths.py a_part",),
    ),
    Mutant(
        "a file call that lacks an argument has no result",
        (
            Edit(
                "sinks/files/write_files.py",
                "if tool is None and call.name not in self._left else None",
                "if 0 else None",
            ),
        ),
        ("tests/sinks/files/test_misfits.py",),
    ),
    Mutant(
        "a set-user-id bit is kept",
        (
            Edit(
                "sinks/files/root_folder.py",
                "os.fchmod(self._file, mode & 0o777)",
                "os.fchmod(self._file, mode)",
            ),
        ),
        (f"{FILES} permissions",),
    ),
    Mutant(
        "the app needs no token",
        (
            Edit(
                "studio/app/app_routes.py",
                'return hmac.compare_digest(header.encode(), f"Bearer {self._token}".encode())',
                "return self._token is not header",
            ),
        ),
        ("tests/studio/app/test_app_endpoints.py without_the_token",),
    ),
    Mutant(
        "the app approves a call that was not shown",
        (
            Edit(
                "studio/app/app_session.py",
                "if decision.sha256 != question.request.sha256:",
                "if not question.request.sha256:",
            ),
        ),
        ("tests/studio/app/test_app_endpoints.py after_a_yes",),
    ),
    Mutant(
        "a call that waits for an approval ends its run as a success",
        (Edit("sinks/web/ag_ui_frames.py", "if self._asked and not is_cancelled:", "if False:"),),
        ("tests/sinks/web/test_ag_ui_approval.py postponed",),
    ),
    Mutant(
        "a store loses the source of calls",
        (Edit("sinks/json_lines.py", "return to_json(event, with_source=True)", "return to_json(event)"),),
        ("tests/sinks/test_stored_events.py every_stream",),
    ),
    Mutant(
        "a store does not say what ended the stream",
        (
            Edit(
                "sinks/json_lines.py", "            raise error\n\n    def _read", "            return\n\n    def _read"
            ),
        ),
        ("tests/sinks/test_stored_events.py exception_that_ended",),
    ),
    Mutant(
        "useChat: what was approved may be another call",
        (Edit("sinks/adapters/client_approvals.py", 'said.get("sha256", request.sha256)', "request.sha256"),),
        ("tests/sinks/adapters/test_client_approvals.py decides",),
    ),
    Mutant(
        "useChat: the result of a call that waited is not sent",
        (Edit("sinks/web/ai_sdk_frames.py", "self._goes_on = version > 5", "self._goes_on = False"),),
        ("tests/sinks/adapters/test_client_approvals.py before_any_turn",),
    ),
    Mutant(
        "a call whose approval is postponed runs",
        (
            Edit(
                "sinks/acting/approval.py",
                "        return answer\n    if answer is False:",
                "        return None\n    if answer is False:",
            ),
        ),
        ("tests/sinks/web/test_ag_ui_approval.py postponed",),
    ),
    Mutant(
        "a read is merged although it has more than text",
        (Edit("sources/base/machine.py", "    return like if chunk == like else None\n", "    return like\n"),),
        ("tests/sources/base/test_machine.py",),
    ),
    Mutant(
        "what is merged has the first tokens so far",
        (Edit("sources/base/machine.py", "    last = row[-1]\n", "    last = row[0]\n"),),
        ("tests/sources/base/test_machine.py tokens_so_far",),
    ),
    Mutant(
        "deltas of different calls are merged",
        (Edit("sources/base/machine.py", "delta = ToolCallDelta(call.index, ", "delta = ToolCallDelta(ANY_TEXT, "),),
        ("tests/sources/base/test_machine.py",),
    ),
    Mutant(
        "a read's text passes what ends it",
        (
            Edit(
                "sources/base/machine.py", "return chunk.usage is None and (text", "return chunk.usage is None or (text"
            ),
        ),
        ("tests/sources/base/test_machine.py",),
    ),
    Mutant(
        "the wire's lane: an event that does not fit is dropped",
        (
            Edit(
                "sources/from_wire.py",
                "(chunks := lane(data)) is not None",
                "(chunks := lane(data) or []) is not None",
            ),
        ),
        (f"{LANES} cut_at_random",),
    ),
    Mutant(
        "the wire's lane: an unknown key fits",
        (
            Edit(
                "sources/openai_chat/lane.py",
                "class _Delta(Struct, forbid_unknown_fields=True, gc=False):",
                "class _Delta(Struct, gc=False):",
            ),
        ),
        (f"{LANES} mutated",),
    ),
    Mutant(
        "the wire's lane: half a surrogate pair that is held is passed by",
        (
            Edit(
                "sources/base/call_tracker.py", "call.index < 0 or self._held or self._pending_deltas", "call.index < 0"
            ),
        ),
        (LANES,),
    ),
    Mutant(
        "a guard: a keep-alive is content",
        (
            Edit(
                "sources/streams/time_limits.py",
                "        or chunk.error\n",
                "        or chunk.error\n        or chunk.model\n",
            ),
        ),
        (f"{WATCHDOG} in_every_kind_of_loop",),
    ),
    Mutant(
        "a guard: what comes too late is seen",
        (Edit("sources/watchdog.py", "if is_woken or took >= left:", "if is_woken:"),),
        (f"{WATCHDOG} in_time_is_seen",),
    ),
    Mutant(
        "a guard: a call that goes on behind another one is young again",
        (Edit("sources/streams/time_limits.py", "= self._began[call]\n", "= self._waited\n"),),
        (f"{WATCHDOG} as_old_as_it_is",),
    ),
    Mutant(
        "a guard: a request that is answered too late stays open",
        (Edit("sources/watchdog.py", "        if is_left:\n            close_all(stream)\n", ""),),
        (f"{WATCHDOG} too_late_is_closed",),
    ),
    Mutant(
        "a guard: a cancel changes the source",
        (Edit("sources/streams/wake_stream.py", "        _leave(stream)\n", ""),),
        (f"{FAILOVER} does_not_change_the_source",),
    ),
    Mutant(
        "a guard: what another source says seals a call that was cut",
        (Edit("sources/handover.py", "            call.settle()\n", "            pass\n"),),
        (f"{FAILOVER} wherever",),
    ),
    Mutant(
        "a guard: a call that is repeated runs again",
        (Edit("sources/handover.py", "same.call_id is not None:", "same.call_id == call.call_id:"),),
        (f"{FAILOVER} wherever",),
    ),
    Mutant(
        "a guard: the usage is that of the last source",
        (Edit("sources/handover.py", "chunk = replace(chunk, usage=_sum(self._before, chunk.usage))", "pass"),),
        (f"{FAILOVER} usage",),
    ),
    Mutant(
        "a guard: a text that repeats itself is taken for a repetition",
        (Edit("sources/repeated_text.py", " and not _repeats_itself(shown)", ""),),
        (f"{FAILOVER} come_once",),
    ),
    Mutant(
        "a guard: a broken source leaves the message of its half",
        (Edit("sources/handover.py", "None if self._has_shown else chunk.message", "chunk.message"),),
        (f"{FAILOVER} message",),
    ),
    Mutant(
        "an interrupted source leaves its calls open",
        (
            Edit(
                "operators/calls/answer_segments.py",
                "        self.calls.close(*end_status(how), events, completed=False)\n",
                "",
            ),
        ),
        ("tests/laws/test_interruptions.py nothing_is_open",),
    ),
    Mutant(
        "an interrupted source leaves a block of text open",
        (
            Edit(
                "operators/calls/answer_segments.py",
                "                reader.interrupt(how, events)\n",
                "                pass\n",
            ),
        ),
        (f"{FAILOVER} call_in_text",),
    ),
)


def copied(folder: Path) -> Path:
    """Copy what the tests need."""
    for part in PARTS:
        shutil.copytree(
            ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__", "*.pyc", "*.so", "*.pyd")
        )
    shutil.copy(ROOT / "pyproject.toml", folder)
    (folder / "tests" / "support" / "mutants_profile.py").write_text(PROFILE)
    return folder


def build(source: Path) -> None:
    """Build a module in C beside its source, as setup.py does; `CFLAGS` may add to the compiler's options."""
    distribution = Distribution({"ext_modules": [Extension(source.stem, [str(source)])]})
    command: Any = distribution.get_command_obj("build_ext")
    command.build_lib, command.build_temp = str(source.parent), str(source.parent / "build")
    command.force = True
    command.ensure_finalized()
    command.run()
    shutil.rmtree(source.parent / "build")


def passes(folder: Path, tests: tuple[str, ...]) -> bool:
    """Run the tests in a copy; whether all pass. Tests that cannot run at all are nobody's success.

    A copy reads in Python, unless the tests compare that with what is built in C.
    """
    if any(each.startswith((READER, NATIVE_LANES)) for each in tests):
        build(folder / NATIVE)
    environment = {key: value for key, value in os.environ.items() if key != "SHARED"}
    environment["PYTHONPATH"] = str(folder / "tests" / "support")
    for each in tests:
        file, _, word = each.partition(" ")
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "mutants_profile", "-p", "no:cacheprovider", file]
        command += ["-k", word] if word else []
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        if done.returncode == 1:
            return False
        if done.returncode != 0:
            message = f"pytest {each} ended with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
            raise RuntimeError(message)
    return True


def wrong_edits(mutant: Mutant) -> list[str]:
    """Name the files in which a text to be replaced does not stand exactly once."""
    return [edit.file for edit in mutant.edits if (ROOT / edit.file).read_text().count(edit.old) != 1]


def verdict(mutant: Mutant) -> str:
    if files := wrong_edits(mutant):
        return f"NOT MADE: the text stands not exactly once in {', '.join(files)}"
    with tempfile.TemporaryDirectory(prefix="penstock-mutant-") as name:
        folder = copied(Path(name))
        for edit in mutant.edits:
            path = folder / edit.file
            path.write_text(path.read_text().replace(edit.old, edit.new))
        return "SURVIVED" if passes(folder, mutant.tests) else "caught"


def unbroken(mutants: Sequence[Mutant]) -> str:
    """Run each test that a mutant needs in a copy where nothing is broken."""
    words: dict[str, dict[str, None]] = {}
    for each in (each for mutant in mutants for each in mutant.tests):
        file, _, word = each.partition(" ")
        words.setdefault(file, {})[word] = None
    tests = [file if "" in some else f"{file} {' or '.join(some)}" for file, some in words.items()]
    with tempfile.TemporaryDirectory(prefix="penstock-mutant-") as name:
        folder = copied(Path(name))
        failing = [each for each in tests if not passes(folder, (each,))]
    return f"FAILS: {', '.join(failing)}" if failing else "passes"


def main(words: list[str]) -> int:
    """Run all mutants, or those whose name has one of the words."""
    chosen = [mutant for mutant in MUTANTS if not words or any(word in mutant.name for word in words)]
    names = [*(mutant.name for mutant in chosen), "(nothing broken)"]
    width = max(map(len, names))
    wrong = 0
    with ThreadPoolExecutor(max_workers=2) as pool:
        runs = [*(pool.submit(verdict, mutant) for mutant in chosen), pool.submit(unbroken, chosen)]
        for name, run in zip(names, runs, strict=True):
            said = run.result()
            wrong += said not in ("caught", "passes")
            sys.stdout.write(f"{name:{width}}  {said}\n")
            sys.stdout.flush()
    sys.stdout.write(f"{len(chosen)} mutants, {wrong} not as they should be\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
