"""What is installed is what was written, under one name, and nothing else."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
from checkout import ROOT, clean_environment, copied

from penstock import ROOMS

pytestmark = pytest.mark.tooling
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
SETUPTOOLS_WITH_LICENSE_EXPRESSIONS = 77
SDKS = ("anthropic", "google", "mistralai", "ollama", "openai")
EPOCH = "SOURCE_DATE_EPOCH=1700000000"


def listed_packages() -> set[str]:
    return set(runpy.run_path(str(ROOT / "setup.py"))["packages"]())


def folders_with_code() -> set[str]:
    files = (path.relative_to(ROOT) for room in ROOMS for path in (ROOT / room).rglob("*.py"))
    return {"penstock", *(".".join(("penstock", *path.parent.parts)) for path in files)}


def folder_of(package: str) -> Path:
    rooms = package.split(".")[1:]
    return ROOT.joinpath(*rooms) if rooms else ROOT / "penstock"


def run(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a command as somebody would who knows nothing of this checkout."""
    return subprocess.run(command, cwd=cwd, env=clean_environment(), capture_output=True, text=True, check=False)


def isolation(*without: str) -> tuple[str, ...]:
    """Return the options with which no index is needed to build, where what builds is at hand; else it is fetched."""
    try:
        ready = int(metadata.version("setuptools").split(".")[0]) >= SETUPTOOLS_WITH_LICENSE_EXPRESSIONS
    except metadata.PackageNotFoundError:
        ready = False
    return without if ready else ()


def build(folder: Path, *environment: str) -> tuple[Path, Path]:
    """Build the sdist, and from it the wheel, in a copy of the checkout."""
    command: tuple[str | Path, ...] = (
        sys.executable,
        "-m",
        "build",
        *isolation("--no-isolation"),
        "--outdir",
        folder / "dist",
    )
    done = run("env", EPOCH, *environment, *command, cwd=copied(folder))
    assert done.returncode == 0, done.stdout + done.stderr
    (sdist,) = (folder / "dist").glob("*.tar.gz")
    (wheel,) = (folder / "dist").glob("*.whl")
    return sdist, wheel


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return build(tmp_path_factory.mktemp("built"))


@pytest.fixture(scope="module")
def wheel(built: tuple[Path, Path]) -> Path:
    return built[1]


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a virtual environment with the wheel in it."""
    return environment(tmp_path_factory.mktemp("installed"), "--no-index", wheel)


@pytest.fixture(scope="module")
def without_sdks(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a virtual environment with the wheel in it, and everything that it needs except the providers' SDKs."""
    folder = environment(tmp_path_factory.mktemp("without_sdks"), "--no-index", wheel)
    (site_packages,) = folder.glob("lib/python*/site-packages")
    (site_packages / "borrowed.pth").unlink()
    for path in Path(sysconfig.get_path("purelib")).iterdir():
        is_ours = path.name.startswith(("penstock", "__editable__"))
        if not (is_ours or path.suffix == ".pth" or path.name.partition("-")[0].partition(".")[0] in SDKS):
            (site_packages / path.name).symlink_to(path)
    return folder


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copied(tmp_path_factory.mktemp("clone"))


@pytest.fixture(scope="module")
def editable(clone: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a virtual environment with an editable installation of a clone in it."""
    options = isolation("--no-index", "--no-build-isolation")
    return environment(tmp_path_factory.mktemp("editable"), *options, "--editable", clone)


def environment(folder: Path, *options: str | Path, **variables: str) -> Path:
    """Make a virtual environment and install into it; the dependencies are borrowed from the running one."""
    venv.create(folder, with_pip=False, symlinks=True)
    (site_packages,) = folder.glob("lib/python*/site-packages")
    (site_packages / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    set_ = ("env", *(f"{name}={value}" for name, value in variables.items()))
    done = run(*set_, sys.executable, "-m", "pip", "--python", folder / "bin" / "python", "install", "--no-deps", "--no-compile",
               "--ignore-installed", *options, cwd=folder)  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "warning" not in (done.stdout + done.stderr).lower().replace("running pip as the 'root' user", "")
    return folder


def test_every_folder_with_code_is_listed_as_a_package():
    assert listed_packages() == folders_with_code() | {"penstock"}


def test_every_package_says_what_it_is_for():
    silent = [
        name
        for name in sorted(listed_packages())
        if not (folder_of(name) / "__init__.py").read_text(encoding="utf-8").startswith('"""')
    ]
    assert silent == []


NATIVE = f"penstock/operators/machines/_native{sysconfig.get_config_var('EXT_SUFFIX')}"


def packed_in(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if ".dist-info/" not in name}


def library_files() -> set[str]:
    """Return what a wheel has where nothing is compiled."""
    files = (path for room in ROOMS for path in (ROOT / room).rglob("*"))
    written = (path for path in files if path.is_file() and path.suffix not in (".pyc", ".c", ".so"))
    door = {"penstock/__init__.py", "penstock/__main__.py", "penstock/py.typed"}
    return door | {f"penstock/{path.relative_to(ROOT).as_posix()}" for path in written}


def test_the_wheel_has_every_library_file_and_nothing_else(wheel: Path):
    assert packed_in(wheel) == library_files() | {NATIVE}
    assert not wheel.name.endswith("-none-any.whl")


def test_a_pure_wheel_is_for_every_python_and_its_sdist_is_the_same_to_the_byte(
    built: tuple[Path, Path], tmp_path: Path
):
    sdist, wheel = build(tmp_path, "PENSTOCK_PURE=1")
    assert sdist.read_bytes() == built[0].read_bytes()
    assert packed_in(wheel) == library_files()
    assert wheel.name.endswith("-py3-none-any.whl")
    with tarfile.open(sdist) as archive:
        assert any(name.endswith("/operators/machines/_native.c") for name in archive.getnames())


def test_the_wheel_is_the_same_to_the_byte_wherever_it_is_built_from_the_sdist(
    built: tuple[Path, Path], tmp_path: Path
):
    sdist, wheel = built
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    (folder,) = tmp_path.iterdir()
    options: list[str | Path] = [*isolation("--no-isolation"), "--wheel", "--outdir", tmp_path / "again"]
    done = run("env", EPOCH, sys.executable, "-m", "build", *options, folder, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "again" / wheel.name).read_bytes() == wheel.read_bytes()


def test_without_a_compiler_it_is_installed_all_the_same(tmp_path: Path):
    clone = copied(tmp_path)
    (clone / NATIVE.removeprefix("penstock/")).unlink(missing_ok=True)
    options = isolation("--no-index", "--no-build-isolation")
    folder = environment(tmp_path / "installed", *options, clone, CC="no-such-compiler")
    done = run(folder / "bin" / "python", "-m", "penstock", "--version", cwd=tmp_path)
    assert (done.stdout, done.stderr) == (f"penstock {PROJECT['version']}, readers in Python\n", "")


def test_what_is_installed_reads_in_c_unless_that_is_forbidden(installed: Path, tmp_path: Path):
    for forbidden, twin in (("0", "C"), ("1", "Python")):
        command = ("env", f"PENSTOCK_PURE={forbidden}", installed / "bin" / "penstock", "--version")
        assert run(*command, cwd=tmp_path).stdout == f"penstock {PROJECT['version']}, readers in {twin}\n"


def test_an_index_shows_the_readme_with_links_that_lead_somewhere(wheel: Path):
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (each for each in archive.namelist() if each.endswith(".dist-info/METADATA"))
        told = archive.read(name).decode()
    links = re.findall(r"\]\(([^)\s]+)\)", told.partition("\n\n")[2])
    assert len(links) > 30
    assert [each for each in links if not re.match(r"https?://|#", each)] == []
    assert f"({PROJECT['urls']['Repository']}/raw/main/docs/images/terminal.svg)" in told
    done = run(sys.executable, "-m", "twine", "check", "--strict", wheel, cwd=wheel.parent)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_wheel_of_the_sdist_runs_the_demo_in_an_empty_folder(installed: Path, tmp_path: Path):
    done = run(installed / "bin" / "penstock", "demo", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert list(tmp_path.iterdir()) == []


def test_an_installation_puts_one_name_beside_the_others(installed: Path):
    (site_packages,) = installed.glob("lib/python*/site-packages")
    version = PROJECT["version"]
    assert {path.name for path in site_packages.iterdir()} == {
        "borrowed.pth",
        "penstock",
        f"penstock-{version}.dist-info",
    }


def test_the_installed_library_works_far_from_the_checkout(installed: Path, tmp_path: Path):
    # Folders of the user's own with our rooms' names must not matter.
    for room in ROOMS:
        (tmp_path / room).mkdir()
        (tmp_path / room / "__init__.py").write_text("raise ImportError('this is somebody else')\n", encoding="utf-8")
    script = tmp_path / "script.py"
    script.write_text(
        f"""
import importlib
for name in {sorted(listed_packages())}:
    print(importlib.import_module(name).__file__)
from penstock import Pipeline, __version__, drive, lift
print(__version__, Pipeline.__module__)
class Doubled:
    def feed(self, item): return [item, item]
    def close(self, how): return ["end"]
    def dump(self): return None
    def load(self, state): pass
print(*drive([1, 2], lift(Doubled)))
""",
        encoding="utf-8",
    )
    done = run(installed / "bin" / "python", script, cwd=tmp_path)
    *files, door, last = done.stdout.splitlines() or ["", ""]
    assert last == "1 1 2 2 end", done.stderr
    assert door == f"{PROJECT['version']} penstock.pipeline.pipeline"
    assert len(files) == len(listed_packages())
    assert [file for file in files if not Path(file).is_relative_to(installed)] == []


@pytest.mark.parametrize("inside", [True, False], ids=["in the clone", "elsewhere"])
def test_an_editable_installation_runs_the_clone(editable: Path, clone: Path, tmp_path: Path, inside: bool):
    code = f"""
import importlib
for name in {sorted(listed_packages())}:
    print(importlib.import_module(name).__file__)
from penstock import Pipeline, __version__
print(__version__, Pipeline.__module__)
"""
    done = run(editable / "bin" / "python", "-c", code, cwd=clone if inside else tmp_path)
    *files, door = done.stdout.splitlines() or [""]
    assert door == f"{PROJECT['version']} penstock.pipeline.pipeline", done.stderr
    assert len(files) == len(listed_packages())
    assert [file for file in files if not Path(file).is_relative_to(clone)] == []


def test_without_the_sdks_every_stream_is_read_and_the_next_turn_is_made(without_sdks: Path, tmp_path: Path):
    streams = sorted(str(path) for path in (ROOT / "examples/streams").glob("*.sse"))
    code = f"""
import importlib, importlib.util
print(*(name for name in {SDKS!r} if name != "google" and importlib.util.find_spec(name)))
for name in {sorted(listed_packages())}:
    importlib.import_module(name)
from penstock import Pipeline, ToolResult
from penstock.sources import from_recording
for path in {streams!r}:
    chunks = []
    from_recording(path).subscribe(chunks.append)
    run = Pipeline().stream(chunks)
    list(run)
    results = [ToolResult(call.id, value="done") for call in run.answer.invocations]
    print(run.answer.status, *(len(run.answer.to_messages(api, results)) for api in ("openai", "anthropic", "gemini")))
"""
    done = run(without_sdks / "bin" / "python", "-c", code, cwd=tmp_path)
    none, *lines = done.stdout.splitlines() or [""]
    assert none == "", "an SDK is there"
    assert len(lines) == len(streams), done.stderr
    assert {line.split()[0] for line in lines} == {"complete"}


@pytest.mark.parametrize("provider", ["openai", "anthropic", "gemini", "mistral", "ollama"])
def test_without_its_sdk_a_question_says_what_to_install(without_sdks: Path, tmp_path: Path, provider: str):
    asked = ("run", "--provider", provider, "--model", "m", "Hello?")
    command = ("env", "OPENAI_API_KEY=-", "ANTHROPIC_API_KEY=-", "GEMINI_API_KEY=-", "MISTRAL_API_KEY=-")
    done = run(*command, without_sdks / "bin" / "penstock", *asked, cwd=tmp_path)
    assert done.returncode == 2, done.stdout + done.stderr
    told = " ".join((done.stdout + done.stderr).split())
    assert "needs its SDK; pip install " in told


@pytest.mark.parametrize("folder", [".", "notebooks"])
def test_after_a_plain_install_the_first_example_runs_in_the_clone(installed: Path, clone: Path, folder: str):
    example, shown = re.findall(
        r"```(?:python|text)\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL
    )[:2]
    done = run(installed / "bin" / "python", "-c", example, cwd=clone / folder)
    assert done.stdout == shown, done.stderr


@pytest.mark.parametrize("found", ["in the clone", "installed"])
def test_the_module_is_the_command(installed: Path, clone: Path, tmp_path: Path, found: str):
    done = run(
        installed / "bin" / "python", "-m", "penstock", "--help", cwd=clone if found == "in the clone" else tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert "Usage: penstock" in done.stdout


def test_the_command_is_installed_and_explains_itself(installed: Path, tmp_path: Path):
    done = run(installed / "bin" / "penstock", "--help", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "demo" in done.stdout


def test_without_the_cli_extra_the_command_says_what_to_install(installed: Path, tmp_path: Path):
    code = """
import sys
from importlib.metadata import entry_points
sys.modules["typer"] = sys.modules["rich"] = None
(command,) = entry_points(group="console_scripts", name="penstock")
sys.argv = ["penstock", "demo"]
sys.exit(command.load()())
"""
    done = run(installed / "bin" / "python", "-c", code, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    (line,) = (done.stdout + done.stderr).splitlines()
    assert 'pip install ".[cli]"' in line


def test_the_make_targets_that_the_readme_names_exist():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    named = set(re.findall(r"(?:^    |`)make ([a-z-]+)", readme, re.MULTILINE))
    assert named >= {"demo", "test"}
    assert named <= set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))


def test_the_changelog_knows_the_version():
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"\n## [{PROJECT['version']}]" in changelog
