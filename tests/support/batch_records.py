"""Records for `read_dataset`: our own streams as bodies and recordings, whole and cut, and texts with calls in tables.

Run as a program it reads a folder, and kills itself once some parts are read: FOLDER OUT WORKERS PARTS.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import checkout  # noqa: F401 - first of all

STREAMS = Path(__file__).parents[1] / "streams"
FEW = 20
"""The records of a part where there are to be many parts."""


def own_records(folder: Path, count: int) -> Path:
    """Write so many records into a folder: two thirds of them files, a sixth each the rows of a table and of lines."""
    from dialect_texts import TEXTS  # noqa: PLC0415

    from penstock.scale.batch.arrow import pa, parquet  # noqa: PLC0415 - an extra
    from penstock.sources.recognition.recognised_api import recognised_api  # noqa: PLC0415
    from penstock.sources.recordings.recording_format import recording_of_body  # noqa: PLC0415

    folder.mkdir(parents=True)
    texts = [text for _, text, *_ in TEXTS]
    of_table = count // 6
    rows = [{"id": f"row {number}", "text": text} for number, text in enumerate(islice(cycle(texts), of_table))]
    parquet.write_table(pa.Table.from_pylist(rows), folder / "texts.parquet", row_group_size=max(1, of_table // 3))
    lines = [json.dumps({"text": text, "extra": [1]}) for text in islice(cycle(texts[::-1]), of_table)]
    (folder / "texts.jsonl").write_text("\n".join(lines))
    bodies = [path for path in sorted(STREAMS.rglob("*")) if path.suffix in (".sse", ".ndjson")]
    for number, path in enumerate(islice(cycle(bodies), count - 2 * of_table)):
        round_, body = number // len(bodies), path.read_bytes()
        kept = body[: len(body) - round_ * 37 % len(body)]
        name = f"{path.parent.name}/{path.stem}_{round_}"
        made = folder / name
        made.parent.mkdir(exist_ok=True)
        if number % 2 and b"error" not in body:
            made.with_suffix(".jsonl").write_bytes(recording_of_body(kept, recognised_api(body)))
        else:
            made.with_suffix(path.suffix).write_bytes(kept)
    return folder


def tables_in(out: Path) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of each table."""
    from penstock.scale.batch.arrow import parquet  # noqa: PLC0415 - an extra

    names = ("invocations", "failures", "segments", "usage", "records")
    return {name: parquet.read_table(out / name).to_pylist() for name in names}


def files_in(out: Path) -> dict[str, bytes]:
    """Return the content of each file of a folder, by its name there."""
    return {str(path.relative_to(out)): path.read_bytes() for path in sorted(out.rglob("*")) if path.is_file()}


def read_until_killed(folder: str, out: str, workers: str, parts: str) -> None:
    from multiprocessing import active_children  # noqa: PLC0415 - only here

    from penstock.scale.batch import input_parts, read_dataset  # noqa: PLC0415

    input_parts.PART_RECORDS = FEW  # type: ignore[misc]
    left = int(parts)

    def count(_: int, __: int) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            print(*(each.pid for each in active_children()), flush=True)  # noqa: T201
            os.kill(os.getpid(), signal.SIGKILL)

    read_dataset.read_dataset(folder, out, workers=int(workers), progress=count)


if __name__ == "__main__":
    read_until_killed(*sys.argv[1:])
