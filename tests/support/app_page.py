"""The app for tests: served by a real uvicorn, with answers of a replay server in a provider's place."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
from app_server import serving
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.types import ASGIApp

from penstock.studio.app.app_routes import app_of, new_session
from penstock.studio.app.app_session import AppSession
from penstock.studio.app.app_sources import Playable
from penstock.studio.testing import ReplayServer

TOKEN = "the-token-of-the-tests"


class Served(NamedTuple):
    """An app that serves: `address` is `http://127.0.0.1:PORT`, `page` the address with the token."""

    address: str
    session: AppSession

    @property
    def page(self) -> str:
        return f"{self.address}/#token={TOKEN}"


def _closing(app: ASGIApp, session: AppSession) -> ASGIApp:
    """Close the session when the server ends, in its own loop; `penstock app` does so before its connections end."""

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        await session.aclose()

    return Starlette(routes=[Mount("/", app)], lifespan=lifespan)


@contextmanager
def app_served(
    monkeypatch: pytest.MonkeyPatch,
    provider: ReplayServer | None = None,
    *,
    root: Path | None = None,
    commands: bool = False,
    playable: tuple[Playable, ...] = (),
) -> Iterator[Served]:
    """Serve the app; requests to OpenAI go to `provider`."""
    monkeypatch.setenv("NO_PROXY", "*")
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "MISTRAL_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    if provider is not None:
        monkeypatch.setenv("OPENAI_API_KEY", "a key")
        monkeypatch.setenv("OPENAI_BASE_URL", f"{provider.url}/v1")
    session = new_session(playable, root, commands=commands)
    with serving(_closing(app_of(session, TOKEN), session)) as host:
        yield Served(f"http://{host}", session)
