"""How far tests go, and what all of them share."""

import gc
import os
import ssl
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import checkout  # noqa: F401 - first of all
import pytest
from hypothesis import HealthCheck, settings

# The same examples are drawn each time, so that what failed once fails again; `make fuzz` draws others.
# No test may fail because the machine was busy, and `too_slow` is a time.
settings.register_profile(
    "repeatable", derandomize=True, deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("half", settings.get_profile("repeatable"), max_examples=50)
settings.register_profile("quick", settings.get_profile("repeatable"), max_examples=6)
if settings.get_current_profile_name() == "default":
    settings.load_profile("repeatable")


# Where it is installed jsonschema imports it, which takes seconds; it is for formats of IRIs, which no schema here has.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Keep the tests themselves, of which there are thousands, and all that they import, out of collections of garbage."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(scope="module", autouse=True)
def what_came_before_is_kept() -> Iterator[None]:
    """Keep what the files before have left, such as imported SDKs, out of the collections of garbage that tests ask for."""
    yield
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def certificates_loaded_once() -> Iterator[None]:
    """Load the certificates of this machine once, and not for each of the thousands of clients, none of which uses TLS."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ssl, "create_default_context", cache(ssl.create_default_context))
        if httpcore2 := sys.modules.get("httpcore2"):  # httpx2's own way, which a file that needs it has imported
            patch.setattr(httpcore2, "default_ssl_context", cache(httpcore2.default_ssl_context))
        yield


@pytest.fixture(scope="session")
def lent_chromium() -> Iterator[Any]:
    """Return what lends a browser, which is started once."""
    from browser import shared_browser  # noqa: PLC0415 - few files need it

    with shared_browser() as lent:
        yield lent


@pytest.fixture(scope="module")
def chromium(lent_chromium: Any) -> Iterator[Any]:
    """Return the browser, for the tests of a file."""
    with lent_chromium() as browser:
        yield browser


@pytest.fixture
def tab(chromium: Any) -> Iterator[Any]:
    """Return a tab of it, of the test's own."""
    from browser import browser_tab  # noqa: PLC0415 - as above

    with browser_tab(chromium) as opened:
        yield opened


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """Return the URL of a database of a server of Postgres, which is started once."""
    from postgres_server import postgres_server  # noqa: PLC0415 - as above

    with postgres_server() as url:
        yield url


@pytest.fixture(scope="session")
def shared() -> Path:
    """Return the folder of outside corpora, named by the environment variable SHARED; skip where there is none."""
    folder = os.environ.get("SHARED")
    if not folder:
        pytest.skip("needs the outside corpora: make test-shared SHARED=FOLDER")
    return Path(folder).resolve()
