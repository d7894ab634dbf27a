"""What reading a stream costs, beside other packages that read the same; writes docs/benchmarks.md and its pictures.

    make bench-peers                                        everything, some minutes
    python benchmarks/bench_peers.py --work W1 --sizes 2000 --print
    python benchmarks/bench_peers.py --peers jsonriver,jiter

    W0  a call of sixty characters
    W1  one call of write_file: Python source in its argument `content`, 2, 20 and 200 KB
    W1u the same, with text that is not ASCII and short lines
    W1e that text in JSON that is ASCII only, as many servers write it
    W2  eight such calls, whose deltas come in turns, 40 KB
    W3  prose in which calls could stand, 50 KB
    W4  the call of W1 in a model's text, as Hermes and as Qwen3-Coder write it
    W5  one call whose argument is a list of small objects, 20 KB

The bytes of the providers' APIs are read in W0, W1, W2, W3 and W5, up to 20 KB of calls and 50 KB of text.

    python benchmarks/bench_peers.py --part frames --print

    readers  the workloads above
    frames   events on their way out, beside pydantic-ai, ag-ui-protocol and the AI SDK, which `make clients` installs
    served   the CPU time of a server's process for each frame, beside a bare generator that yields the same bytes
    starts   from the imports to the end of the first answer

`make bench-peers` installs the parsers of vLLM and SGLang into build/peers; the other packages are there for the tests.
What is not installed is left out, and the page says so. Figures are CPU times of one thread.
"""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests/support"))
from load_scenarios import each_delta
from peers.contest import BUDGET, LIMIT, ROUNDS, Measured, duel, plain_call
from peers.frames import SIZE, frames_part
from peers.frames import measured as measured_frames
from peers.line_up import Group, groups
from peers.page import FRAMES, SERVED, STARTS, About, Result, page, served_part, starts_part
from peers.workloads import WORKS, Work
from start_up import PROCESSES, first_answers

DOCS = ROOT / "docs"
MOST_BYTES = 50_000
"""The largest case that is read from an API's bytes: SDKs take seconds for more."""


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def waited() -> float:
    """Return the seconds in which this process could have run and others did; 0 where the system does not say."""
    path = Path("/proc/self/schedstat")
    return int(path.read_text(encoding="ascii").split()[1]) / 1e9 if path.exists() else 0.0


def measured(work: Work, group: Group, given: argparse.Namespace) -> Result:
    """Measure a group at all sizes; who did not finish a smaller one does not begin the larger ones."""
    sizes: list[list[Measured]] = []
    out: dict[str, str] = {}
    for size in given.sizes or work.sizes:
        if "bytes" in group.title and size > MOST_BYTES:
            continue
        case = work.case(size, given.delta)
        peers = [peer for peer in group.peers if peer.name not in out]
        begin = time.monotonic()
        rows = {row.peer.name: row for row in duel(peers, case, rounds=given.rounds, budget=BUDGET, limit=LIMIT)}
        out |= {row.peer.name: row.verdict for row in rows.values() if row.verdict.startswith("not finished")}
        sizes.append([rows.get(peer.name) or Measured(peer, case, "not tried") for peer in group.peers])
        say(f"{work.name} {case.label} {group.title}: {len(peers)} readers, {time.monotonic() - begin:.0f} s")
    return Result(work, group.title, sizes)


def chosen(group: Group, wanted: str) -> Group:
    """Return the group with those readers alone whose name has one of the wanted words, and Penstock's."""
    words = [word.strip().lower() for word in wanted.split(",") if word.strip()]
    keep = [peer for peer in group.peers if peer.is_own or any(word in peer.name.lower() for word in words)]
    return group._replace(peers=keep if words else group.peers)


def frames(rounds: int, absent: list[str]) -> Iterator[str]:
    yield FRAMES.format(size=f"{SIZE:,}")
    yield "\n".join(frames_part(measured_frames(rounds, absent))) + "\n"


def served(*_: Any) -> Iterator[str]:
    yield SERVED
    yield "\n".join(served_part(each_delta().rows)) + "\n"


def starts(*_: Any) -> Iterator[str]:
    yield STARTS.format(processes=PROCESSES)
    yield "\n".join(starts_part(first_answers())) + "\n"


PARTS: dict[str, Callable[[int, list[str]], Iterator[str]]] = {"frames": frames, "served": served, "starts": starts}
"""What the page has behind the readers."""


def arguments(given: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--work", action="append", choices=[work.name for work in WORKS], help="only this one; may be repeated"
    )
    parser.add_argument(
        "--part", action="append", choices=["readers", *PARTS], help="only this one of the page; may be repeated"
    )
    parser.add_argument("--sizes", type=sizes, help="characters, in place of each workload's own: 2000,20000")
    parser.add_argument("--delta", type=positive, default=4, help="characters of a delta; 4 unless told")
    parser.add_argument("--peers", default="", help="only readers whose name has one of these words, and Penstock's")
    parser.add_argument(
        "--groups", default="", help="only tables whose title has this word, such as `bytes` or `deltas`"
    )
    parser.add_argument(
        "--rounds", type=positive, default=ROUNDS, help=f"measurements of each reader; {ROUNDS} unless told"
    )
    parser.add_argument("--print", action="store_true", help="print the page, and write nothing")
    parser.add_argument(
        "--into", type=Path, default=DOCS, help="the folder of benchmarks.md and images/; docs unless told"
    )
    return parser.parse_args(given)


def positive(text: str) -> int:
    value = int(text)
    if value < 1:
        message = f"{text} is not above 0"
        raise argparse.ArgumentTypeError(message)
    return value


def sizes(text: str) -> list[int]:
    return sorted({max(1000, positive(part)) for part in text.split(",")})


def main(words: list[str]) -> int:
    given = arguments(words)
    absent: list[str] = []
    results: list[Result] = []
    begin, before = time.monotonic(), waited()
    wanted = given.part or (["readers"] if given.work or given.groups or given.peers else ["readers", *PARTS])
    for work in WORKS if "readers" in wanted else ():
        if given.work and work.name not in given.work:
            continue
        found = [chosen(group, given.peers) for group in groups(work.name, absent) if given.groups in group.title]
        results.extend(measured(work, group, given) for group in found)
    parts = [text for name, part in PARTS.items() if name in wanted for text in part(given.rounds, absent)]
    for text in absent:
        say(f"not measured: {text}")
    spent = time.monotonic() - begin
    options = shlex.join(words) if not given.print else ""
    command = f"python benchmarks/bench_peers.py {options}" if options else "make bench-peers"
    about = About(command, plain_call(), (waited() - before) / spent, spent, given.delta, absent)
    text = page(results, about, parts)
    if given.print:
        print(text)
        return 0
    from peers.plots import plot  # noqa: PLC0415 - matplotlib is for the pictures alone

    images = given.into / "images"
    images.mkdir(parents=True, exist_ok=True)
    for result in results:
        if result.lines:
            plot(result.lines, f"{result.work.name}: {result.work.title}, {result.title}", images / result.picture)
    (given.into / "benchmarks.md").write_text(text, encoding="utf-8")
    say(f"written: {given.into / 'benchmarks.md'}, in {spent:.0f} s")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
