"""`read_dataset`: recordings, bodies and texts in bulk become tables of calls, failures, segments and usage."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from ...events.errors import UsageError
from ...pipeline.pipeline import Pipeline
from ...pipeline.strategy_choice import StrategyLike
from ...sources.recognition.apis import api_of
from .record_reader import UNREADABLE

if TYPE_CHECKING:
    from .batch_engines import Engine, Progress


class BatchResult(Struct, frozen=True):
    """What a batch has read into `out`.

    - `rows`: the rows of each table, by its name. `statuses`: the number of records with each status.
    """

    out: str
    rows: dict[str, int]
    statuses: dict[str, int]

    @property
    def unreadable(self) -> int:
        """The number of records that could not be read."""
        return self.statuses.get(UNREADABLE, 0)


def read_dataset(  # noqa: PLR0913 - what is read, how calls are found, and who reads
    source: str | os.PathLike[str] | Any,
    out: str | os.PathLike[str],
    *,
    strategy: StrategyLike | None = None,
    tools: Iterable[Any] | None = None,
    model: str | None = None,
    api: str | None = None,
    text: str | None = None,
    body: str | None = None,
    id: str | None = None,  # noqa: A002 - the column's usual name
    workers: int | None = None,
    engine: Engine = "processes",
    progress: Progress | None = None,
) -> BatchResult:
    """Read many records, each as `Pipeline.stream` reads one, and write tables of what is in them.

        result = read_dataset("recordings/", "answers", strategy="hermes", tools=[add])
        pyarrow.parquet.read_table("answers/invocations")

    - `source`: a folder of recordings, bodies of responses, texts (`.txt`) and tables, or one file; a table is Parquet,
      or lines of JSON objects. Or a `ray.data.Dataset` of such rows, for which the engine is Ray.
    - `out`: the folder for the tables `invocations`, `failures`, `segments`, `usage` and `records`, which has a row for
      each record. Each is a folder of Parquet files, in the order of the input.
    - `strategy`, `tools`, `model`: as with `Pipeline`. `api`: that of recordings and bodies, if it cannot be detected.
    - `text`, `body`: the column of tables that has a model's text, or a response's body; by default `body` or `text`,
      whichever is there. `id`: a column of your own that `records` repeats; by default `id`, if it is there.
    - `workers`: processes, by default one for each core that this process may use; with 1 it reads itself.
    - `engine`: "processes" or "ray", with the same result. Ray is the one that the program has started, else one on
      this machine for the time of the call.
    - `progress`: is called with the bytes of the input that were read, and with all.

    A record that cannot be read has the status "unreadable", and its error; it stops nothing. A run that was stopped
    goes on where it was when it is called again with the same arguments, and one that is finished does nothing; one
    over a `Dataset` does not go on. `UsageError` for wrong arguments, for a missing package, and for an `out` that was
    begun with other options, from other files, or by another version.
    """
    from .batch_run import BatchArguments, run_batch  # noqa: PLC0415 - what it imports is an extra
    from .input_parts import Columns  # noqa: PLC0415 - as above

    if text is not None and body is not None:
        message = "text= and body= each say what is read; leave one out"
        raise UsageError(message)
    pipeline = Pipeline(strategy, tools=tools, model=model, keep_answer=False)
    arguments = BatchArguments(pipeline, None if api is None else api_of(api).name, Columns(text, body, id))
    counts = run_batch(source, Path(out), arguments, workers=workers, engine=engine, progress=progress)
    return BatchResult(str(out), counts.rows, counts.statuses)
