"""`explore`: look through a stream in a notebook."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Any, cast

from ...events.errors import UsageError, how_to_install
from ...pipeline.pipeline import Pipeline
from ..tracing.trace import Trace
from ..tracing.trace_stream import trace_stream
from .explored_runs import runs_of_stream, runs_of_trace
from .explored_stream import read_stream

if TYPE_CHECKING:
    from .explorer_widget import Explorer

_NOT_INSTALLED = f"explore(...) needs anywidget; {how_to_install('notebook')}"


def explore(
    source: Trace | str | PathLike[str] | Any,
    pipeline: Pipeline | None = None,
    *,
    api: str | None = None,
    interaction: int | None = None,
) -> Explorer:
    """Return a widget that shows a stream item by item: what came, what each stage did with it, and what it held back.

        explore("answer.jsonl")
        explore(stream, Pipeline("hermes"))

    - `source`: a `Trace`; or the path of a recording, of the body of a streamed answer, or of a cassette; or a stream,
      as `Pipeline.stream` takes it, which is read to its end.
    - `pipeline`: runs what is no trace; by default `Pipeline()`. `api` and `interaction`, the number of a cassette's
      response: as in `from_recording`.

    In the widget another strategy and another cutting can be chosen, if the trace has all items of a provider's stream.
    Raises `UsageError` without `pip install ".[notebook]"`, and for what cannot be read.
    """
    try:
        from .explorer_widget import Explorer  # noqa: PLC0415 - what it imports is an extra
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("anywidget", "ipywidgets", "traitlets"):
            raise
        raise UsageError(_NOT_INSTALLED) from error
    is_path = isinstance(source, str | PathLike)
    if interaction is not None and not is_path:
        message = "interaction= chooses from a cassette of VCR.py; leave it out, or pass the cassette's path"
        raise UsageError(message)
    if isinstance(source, Trace):
        if pipeline is not None:
            message = "a trace has been run already; leave pipeline= out, or pass the stream in place of the trace"
            raise UsageError(message)
        return Explorer(runs_of_trace(source))
    if is_path:
        return Explorer(runs_of_stream(read_stream(cast("str | PathLike[str]", source), api, interaction), pipeline))
    return Explorer(runs_of_trace(trace_stream(source, pipeline or Pipeline(api=api))))
