"""`make scale` with a few records: it reads what it wrote, and prints its tables, whatever its bounds of time say."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.tooling
SCALE = Path(__file__).parents[2] / "benchmarks/scale.py"


def test_a_small_batch_is_read_whole_and_prints_its_tables():
    command = [sys.executable, str(SCALE), "--scenario", "batch", "--records", "16"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode in (0, 1), done.stderr
    assert re.search(r"^openai-chat, text +2 +1004 +[\d.]+ +[\d.]+ +[\d.]+ +[\d.]+$", done.stdout, re.MULTILINE)
    assert re.search(r"^a core reads \d+ records, [\d,]+ lines, \d+ MB a second$", done.stdout, re.MULTILINE)
    assert re.search(r"^its time: decoding and parsing \d+%, ", done.stdout, re.MULTILINE)
    assert (
        len(re.findall(r"^(?:PASS|FAIL) .*: at most [46] times json.loads, here [\d.]+$", done.stdout, re.MULTILINE))
        == 8
    )
    assert re.search(r"^(?:PASS|FAIL) a second core gives at least 1.6 times, here [\d.]+$", done.stdout, re.MULTILINE)
