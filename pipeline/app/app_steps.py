"""What the app does with calls: writes files below a folder, and runs commands in it, each after a yes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from ...sinks.acting.approval import Approve
from ...sinks.acting.step import Step
from ...sinks.files.write_files import write_files
from ..pipeline import Pipeline
from ..tools.call_tools import call_tools
from ..tools.file_tools import FILE_TOOL_DEFINITIONS
from ..tools.tool import tool
from .run_command import Commands

OFFERED = ("write_file", "edit_file", "run_bash")
"""The tools that models are told of."""


class AppSteps:
    """The pipeline and the steps of the app's runs.

    - `root`: the folder for files; None if nothing is written.
    - `commands`: whether commands run there.
    """

    def __init__(self, root: Path | None, *, commands: bool) -> None:
        self._root = root
        run_bash = None if root is None or not commands else tool(Commands(root).run, name="run_bash")
        self._called: list[Any] = [] if run_bash is None else [run_bash]
        known = {**FILE_TOOL_DEFINITIONS} if run_bash is None else {**FILE_TOOL_DEFINITIONS, "run_bash": run_bash}
        self._tools = [known[name] for name in OFFERED]

    def pipeline(self) -> Pipeline:
        return Pipeline(tools=self._tools, keep_answer=False)

    def steps(self, approve: Approve) -> Sequence[Step]:
        """Return the steps of one run."""
        makers: list[Callable[..., Step]] = []
        if self._root is not None:
            makers.append(partial(write_files, self._root))
        if self._called:
            makers.append(partial(call_tools, self._called))
        return [make(approve=approve) for make in makers]
