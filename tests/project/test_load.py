"""`make load` with a few clients: real processes on the loopback, without its bounds of time."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.tooling
LOAD = Path(__file__).parents[2] / "benchmarks/load.py"
NUMBERS = r" +3" + r" +[\d.]+" * 5 + r" +\d+%" * 2 + r" +[\d.]+" * 2


def test_a_small_load_loses_nothing_and_prints_its_table():
    command = [sys.executable, str(LOAD), "--scenario", "coalesced", "--clients", "3", "--seconds", "0.8"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode in (0, 1), done.stderr
    assert re.search(r"^scenario +app +clients +p50 ms +p99 ms +frames/s", done.stdout, re.MULTILINE)
    for app in ("penstock", "bare"):
        assert re.search(rf"^coalesced +{app}{NUMBERS}$", done.stdout, re.MULTILINE), done.stdout
        assert re.search(rf"^PASS coalesced: nothing lost in \d+ calls of {app}$", done.stdout, re.MULTILINE)
    assert re.search(r"^ +penstock / bare +1\.00 ", done.stdout, re.MULTILINE)


def test_a_small_load_of_the_gateway_loses_nothing():
    command = [sys.executable, str(LOAD), "--scenario", "gateway", "--clients", "3", "--seconds", "1.5"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode in (0, 1), done.stderr
    for app in ("upstream", "gateway"):
        assert re.search(rf"^gateway +{app}{NUMBERS}$", done.stdout, re.MULTILINE), done.stdout
        assert re.search(rf"^PASS gateway: nothing lost in 3 calls of {app}$", done.stdout, re.MULTILINE), done.stdout
    assert re.search(r"us of its core for a chunk$", done.stderr, re.MULTILINE)


@pytest.mark.parametrize("log", ["sqlite", "redis", "jetstream"])
def test_what_a_log_carries_is_measured_and_nothing_is_lost(log: str):
    command = [sys.executable, str(LOAD.with_name("scale.py")), "--quick", "--log", log]
    for scenario in ("appends", "lag", "readers", "replay"):
        command += ["--scenario", scenario]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(rf"^appends +{log} +appends +[\d.,]+ /s$", done.stdout, re.MULTILINE)
    for scenario in ("lag", "readers"):
        assert re.search(rf"^{scenario} +{log} +lost or doubled +0\.0 +PASS", done.stdout, re.MULTILINE), done.stdout
    assert re.search(rf"^replay +{log} +a whole stream, most +[\d.,]+ ms ", done.stdout, re.MULTILINE)
