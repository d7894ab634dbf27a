"""`read_dataset` in Ray: the same tables as of this process, on a Ray of its own or on that of the program.

Ray is installed in an environment of its own: `make ray`. RECORDS is how many are read, by default 200.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import psutil
import pytest
from batch_records import files_in, own_records, tables_in

from penstock.events import UsageError
from penstock.scale import read_dataset
from penstock.scale.batch import input_parts
from penstock.scale.batch.arrow import pa, parquet
from penstock.scale.batch.batch_engines import ray_module

if find_spec("ray") is None:
    pytest.skip("needs Ray: make ray", allow_module_level=True)
COUNT = int(os.environ.get("RECORDS", "200"))


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return own_records(tmp_path_factory.mktemp("batch") / "in", COUNT)


@pytest.fixture(autouse=True)
def many_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(input_parts, "PART_RECORDS", COUNT // 20)


def of_ray() -> list[psutil.Process]:
    """Return the processes of Ray that this one has started."""
    return [each for each in psutil.Process().children(recursive=True) if each.name().startswith(("ray", "gcs"))]


def test_a_ray_of_its_own_reaches_no_further_than_this_machine_ends_when_it_is_interrupted_and_gives_the_same_files(
    records: Path, tmp_path: Path
):
    hosts: set[str] = set()
    running: set[psutil.Process] = set()

    def look(_: int, __: int) -> None:
        running.update(of_ray())
        for process in running:
            for link in process.net_connections("inet"):
                hosts.update(end.ip.removeprefix("::ffff:") for end in (link.laddr, link.raddr) if end)

    def interrupt(_: int, __: int) -> None:
        look(_, __)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        read_dataset(records, tmp_path / "ray", engine="ray", workers=2, progress=interrupt)
    assert running
    assert not ray_module().is_initialized()
    assert psutil.wait_procs(running, timeout=60)[1] == []
    assert [name for name in files_in(tmp_path / "ray") if name.startswith("records/part")]
    running.clear()
    read_dataset(records, tmp_path / "ray", engine="ray", workers=2, progress=look)
    assert psutil.wait_procs(running, timeout=60)[1] == []
    assert hosts == {"127.0.0.1"}
    assert os.environ["RAY_USAGE_STATS_ENABLED"] == "0"
    read_dataset(records, tmp_path / "here", workers=1)
    assert files_in(tmp_path / "ray") == files_in(tmp_path / "here")


def test_a_ray_that_others_could_reach_is_refused(tmp_path: Path):
    (tmp_path / "a.txt").write_text("Hi")
    program = (
        "import ray\nfrom penstock.scale import read_dataset\n"
        f"read_dataset({str(tmp_path / 'a.txt')!r}, {str(tmp_path / 'out')!r}, engine='ray')\n"
    )
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        encoding="utf-8",
        env=environment,
        check=False,
        timeout=120,
    )
    assert "would start a Ray that listens on all addresses of this machine" in done.stderr
    assert not (tmp_path / "out").exists()


@pytest.fixture(scope="module")
def ray() -> Iterator[Any]:
    """Yield a Ray that the program has started."""
    started = ray_module()
    started.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield started
    started.shutdown()


@pytest.mark.parametrize("column", ["text", "body"])
def test_a_dataset_gives_the_same_rows_in_its_order(ray: Any, records: Path, tmp_path: Path, column: str):
    if column == "text":
        table = parquet.read_table(records / "texts.parquet")
    else:
        bodies = [path.read_bytes() for path in sorted(records.rglob("*.sse"))]
        table = pa.table({"body": bodies, "id": range(len(bodies))})
    path = tmp_path / "dataset"
    parquet.write_table(table, path)
    pieces = [table.slice(start, 9) for start in range(0, table.num_rows, 9)]
    dataset = ray.data.from_arrow(pieces).map_batches(lambda batch: batch, batch_format="pyarrow", batch_size=4)
    result = read_dataset(dataset, tmp_path / "ray", strategy="auto" if column == "text" else None)
    assert ray.is_initialized()
    assert result.rows["records"] == table.num_rows
    read_dataset(path, tmp_path / "here", workers=1, strategy="auto" if column == "text" else None)
    assert tables_in(tmp_path / "ray") == tables_in(tmp_path / "here")
    with pytest.raises(UsageError, match="a run over a Dataset does not go on; name another folder"):
        read_dataset(dataset, tmp_path / "ray")


def test_a_mistake_with_a_dataset_is_said_and_leaves_nothing(ray: Any, tmp_path: Path):
    dataset = ray.data.from_arrow(pa.table({"output": ["a"]}))
    with pytest.raises(UsageError, match="it has no column 'ouput'; did you mean 'output'"):
        read_dataset(dataset, tmp_path / "out", text="ouput")
    assert not (tmp_path / "out").exists()
