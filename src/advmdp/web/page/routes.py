"""The application of the page; its routes are listed in ``advmdp.web.page``."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request as HTTPRequest
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from advmdp.errors import InvalidInput
from advmdp.service import Service
from advmdp.web.page.assets import asset
from advmdp.web.page.guard import Guard, cookie_of, json_body, page_cookie, refused, same
from advmdp.web.page.playground import Job, Playground, TooManyRuns
from advmdp.web.page.playground_request import catalogue, checked_request
from advmdp.web.page.sources import Sources
from advmdp.web.page.topics import PolledTopic, Topic, Topics

MOST_STREAMS = 256  # open at once
MOST_TOPICS = 64
VISITOR = "advmdp_visitor"
WRONG_TOKEN_SECONDS = 1.0


def page_app(
    stores: Sequence[str | Path] = (),
    services: Mapping[str, Service] | None = None,
    *,
    token: str | None = None,
    hosts: Collection[str] | None = None,
    playground: bool = True,
) -> Starlette:
    """The page as an application, to be served alone or mounted at "/" of another one.

    Parameters
    ----------
    stores
        Folders of stores, which are only read.
    services
        Services of this process by name.
    token
        What visitors must know; None: everybody who can connect may look.
    hosts
        Names under which the page is reached; those of the loopback by default, or any with a
        token.
    playground
        Whether visitors may start small runs.

    ``await app.state.page.close()`` ends all streams and runs, so that a server can stop at once.
    """
    page = Page(Sources(stores, services or {}), token, playground)
    app = Starlette(routes=page.routes(), middleware=[Middleware(Guard, token=token, hosts=hosts)])
    app.state.page = page
    return app


class Page:
    """What the routes do."""

    def __init__(self, sources: Sources, token: str | None, playground: bool) -> None:
        self._sources, self._token = sources, token
        self._topics = Topics(MOST_TOPICS)
        self._playground = Playground() if playground else None

    def routes(self) -> list[Route]:
        """The table of routes."""
        return [
            Route("/", self.index),
            Route("/static/{name}", self.static),
            Route("/live/overview", self.overview),
            Route("/live/store/{number:int}/{cell}", self.store),
            Route("/live/service/{name:path}", self.service),
            Route("/live/catalogue", self.catalogue),
            Route("/live/play", self.play, methods=["POST"]),
            Route("/live/play/{job}", self.job),
            Route("/live/play/{job}/stop", self.stop, methods=["POST"]),
            Route("/live/token", self.token, methods=["POST"]),
        ]

    async def close(self) -> None:
        """End all streams and all runs of the playground."""
        self._sources.close()
        await self._topics.close()
        if self._playground is not None:
            await self._playground.close()

    # ------------------------------------------------------------------ files

    async def index(self, request: HTTPRequest) -> Response:
        """The page, which asks for everything else."""
        return _sent("index.html", request)

    async def static(self, request: HTTPRequest) -> Response:
        """A style sheet or a script."""
        return _sent(request.path_params["name"], request)

    # ------------------------------------------------------------------ events

    async def overview(self, request: HTTPRequest) -> Response:
        """Everything at a glance."""
        has_playground = self._playground is not None
        return self._polled("overview", lambda: self._sources.overview(has_playground))

    async def store(self, request: HTTPRequest) -> Response:
        """One store."""
        number, cell = request.path_params["number"], request.path_params["cell"][:64]
        if number >= self._sources.n_stores:
            return refused(404, "there is no such store")
        return self._polled(f"store {number} {cell}", lambda: self._sources.store(number, cell))

    async def service(self, request: HTTPRequest) -> Response:
        """One service."""
        name = request.path_params["name"]
        if not self._sources.has_service(name):
            return refused(404, "there is no such service")
        return self._polled(f"service {name}", lambda: self._sources.service(name))

    async def job(self, request: HTTPRequest) -> Response:
        """One run of the playground."""
        job = (
            None if self._playground is None else self._playground.find(request.path_params["job"])
        )
        if job is None:
            return refused(404, "that run is not kept any more; start another one")
        return self._stream(job)

    def _polled(self, name: str, compute: Any) -> Response:
        return self._stream(self._topics.get(name, lambda: PolledTopic(compute)))

    def _stream(self, topic: Topic) -> Response:
        playing = 0 if self._playground is None else self._playground.watchers
        if self._topics.watchers + playing >= MOST_STREAMS:
            return refused(503, "too many visitors; close a tab")
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        return StreamingResponse(topic.events(), media_type="text/event-stream", headers=headers)

    # ------------------------------------------------------------------ playground

    async def catalogue(self, request: HTTPRequest) -> Response:
        """What the playground offers."""
        if self._playground is None:
            return refused(404, "this page has no playground")
        return JSONResponse(catalogue(), headers={"Cache-Control": "no-store"})

    async def play(self, request: HTTPRequest) -> Response:
        """Start a run."""
        if self._playground is None:
            return refused(404, "this page has no playground")
        visitor = cookie_of(request.headers, VISITOR)[:64] or secrets.token_urlsafe(16)
        try:
            wanted = checked_request(await json_body(request.receive))
            job = self._playground.start(visitor, wanted)
        except TooManyRuns as problem:
            return refused(429, str(problem))
        except ValueError as problem:  # also ``InvalidInput``
            known = isinstance(problem, InvalidInput)
            return refused(400, str(problem) if known else "not a request of this page")
        answer = JSONResponse({"job": job.name})
        _set_cookie(answer, request, VISITOR, visitor)
        return answer

    async def stop(self, request: HTTPRequest) -> Response:
        """End a run of this visitor."""
        job = (
            None if self._playground is None else self._playground.find(request.path_params["job"])
        )
        if job is None or job.visitor != cookie_of(request.headers, VISITOR):
            return refused(404, "there is no such run of yours")
        job.stop()
        return JSONResponse({"stopped": True})

    def _job(self, request: HTTPRequest) -> Job | None:
        name = request.path_params["job"]
        return None if self._playground is None else self._playground.find(name)

    # ------------------------------------------------------------------ token

    async def token(self, request: HTTPRequest) -> Response:
        """A cookie for the token."""
        try:
            given = (await json_body(request.receive))["token"]
        except (ValueError, KeyError, TypeError):
            return refused(400, "not a request of this page")
        if self._token is None or not isinstance(given, str) or not same(given, self._token):
            await asyncio.sleep(WRONG_TOKEN_SECONDS)
            return refused(401, "that is not the token")
        answer = JSONResponse({"welcome": True})
        _set_cookie(answer, request, *page_cookie(self._token))
        return answer


def _sent(name: str, request: HTTPRequest) -> Response:
    found = asset(name)
    if found is None:
        return refused(404, "there is no such file")
    headers = {"Cache-Control": "no-cache", "ETag": found.tag}
    if request.headers.get("if-none-match") == found.tag:
        return Response(status_code=304, headers=headers)
    return Response(found.text, headers={**headers, "Content-Type": found.kind})


def _set_cookie(answer: Response, request: HTTPRequest, name: str, value: str) -> None:
    """A cookie that no script reads and no other site sends."""
    secure = request.url.scheme == "https"
    answer.set_cookie(name, value, httponly=True, samesite="strict", secure=secure)
