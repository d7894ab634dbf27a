"""The pictures of docs/benchmarks.md: cost for each delta over the size, both logarithmic."""

from __future__ import annotations

from itertools import cycle
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

from .contest import Measured

INK = "#808080"
"""Text and axes, readable on white and on black; so are the colours of the lines."""
OWN = "#e8590c"
COLOURS = ("#228be6", "#12b886", "#ae3ec9", "#f08c00", "#e64980", "#74909e", "#7c9a2f", "#7950f2", "#0ca678", "#c2255c")


def plot(rows: list[list[Measured]], title: str, path: Path) -> None:
    """Draw a line for each reader over its sizes; Penstock's are thick."""
    mpl.rcParams.update({"svg.hashsalt": "penstock", "svg.fonttype": "none", "font.size": 9})
    figure = Figure(figsize=(8, 0.9 + 0.36 * max(9, len(rows))), layout="constrained")
    axes = figure.add_subplot()
    colours = cycle(COLOURS)
    own_dashes = cycle(("-", "-.", ":"))
    for points in rows:
        peer = points[0].peer
        line = {"linewidth": 2.6, "zorder": 3} if peer.is_own else {"linewidth": 1.2}
        dashes = next(own_dashes) if peer.is_own else "--" if peer.is_floor else "-"
        colour = OWN if peer.is_own else INK if peer.is_floor else next(colours)
        xs, ys = [each.case.size / 1000 for each in points], [each.cost or 0 for each in points]
        axes.plot(xs, ys, dashes, marker="o", markersize=4, color=colour, label=peer.name, **line)
    axes.set(xscale="log", yscale="log", xlabel="size in KB", ylabel="CPU microseconds for each delta")
    axes.set_title(title, color=INK, fontsize=10, loc="left")
    axes.tick_params(which="both", colors=INK)
    axes.xaxis.label.set_color(INK)
    axes.yaxis.label.set_color(INK)
    axes.grid(which="major", color=INK, alpha=0.25)
    sizes = sorted({each.case.size / 1000 for points in rows for each in points})
    axes.set_xticks(sizes, [f"{each:g}" for each in sizes])
    axes.minorticks_off()
    for spine in axes.spines.values():
        spine.set_color(INK)
    axes.legend(loc="center left", bbox_to_anchor=(1.02, 0.5), frameon=False, labelcolor=INK)
    figure.savefig(path, format="svg", transparent=True, metadata={"Date": None})
