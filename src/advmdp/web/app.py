"""The application of a server: what can be read by GET, and the gate before everything."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path as FilePath
from typing import Annotated, Any

from fastapi import FastAPI, Path, Query
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

import advmdp
from advmdp.checks.numbers import LARGEST
from advmdp.errors import AdvMDPError
from advmdp.plain_text import plain_text
from advmdp.service import Service
from advmdp.service.refusals import UnknownEpisode
from advmdp.web import models
from advmdp.web.exchange import Answer, Exchange, refused
from advmdp.web.gate import HEALTH, PREFIX, Gate, answer_of
from advmdp.web.limits import Limits
from advmdp.web.metrics import CONTENT_TYPE, Metrics
from advmdp.web.schema import openapi_of

ALL = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"]
Name = Annotated[str, Path(description="Of the service.")]


def make_app(
    services: Mapping[str, Service],
    limits: Limits = Limits(),  # noqa: B008 -- frozen
    token: str | None = None,
    hosts: Collection[str] | None = None,
    stores: Sequence[FilePath] = (),
) -> Gate:
    """An ASGI application that serves these; when it ends, all are saved and closed.

    The page shows them, and the sweeps of ``stores``.
    """
    exchanges: dict[str, Exchange] = {}
    metrics = Metrics(exchanges)
    for name, service in services.items():
        service.most_open = limits.max_open
        exchanges[name] = Exchange(name, service, metrics.group_of(name))

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        for exchange in exchanges.values():
            await exchange.groups.close()

    app = FastAPI(
        title="advmdp",
        version=advmdp.__version__,
        openapi_url="/api/v1/openapi.json",
        docs_url=None,  # their pages load scripts from other hosts
        redoc_url=None,
        lifespan=lifespan,
    )
    _add_routes(app, exchanges, metrics)
    _add_errors(app)
    document = openapi_of(app, with_token=token is not None)
    app.openapi = lambda: document  # type: ignore[method-assign]
    gate = Gate(app, exchanges, limits, token, hosts, metrics.seen)
    if find_spec("advmdp.web.page") is not None:
        page_app = import_module("advmdp.web.page.routes").page_app
        page = page_app(list(stores), services, token=token, hosts=hosts)
        app.mount("/", page)
        gate.page = page.state.page
    return gate


def _add_routes(app: FastAPI, exchanges: Mapping[str, Exchange], metrics: Metrics) -> None:
    def found(name: str) -> Exchange:
        if name not in exchanges:
            raise UnknownEpisode(f"there is no service {name[:100]!r}")
        return exchanges[name]

    @app.get(HEALTH, response_model=models.Health)
    async def health() -> Any:
        """Whether the server answers; needs no token, and says nothing else."""
        return {"status": "ok", "version": advmdp.__version__}

    @app.get("/metrics", response_class=Response)
    async def prometheus() -> Response:
        """Counters in Prometheus' text format."""
        return Response(metrics.text(), headers={"content-type": CONTENT_TYPE})

    @app.get(PREFIX.rstrip("/"), response_model=models.Services)
    async def services() -> Any:
        """All services."""
        return {"services": [await each.summary() for each in exchanges.values()]}

    @app.get(PREFIX + "{name}", response_model=models.ServiceState)
    async def state(name: Name) -> Any:
        """Counts, layout and names of a service."""
        return await found(name).state()

    @app.get(PREFIX + "{name}/policy", response_model=models.PolicyNow)
    async def policy(
        name: Name,
        context: Annotated[int | None, Query(ge=0, le=LARGEST)] = None,
    ) -> Any:
        """The policy that the next ticket has."""
        return await found(name).policy(context)

    @app.get(
        PREFIX + "{name}/open", response_model=models.Tickets, response_model_exclude_none=True
    )
    async def open_tickets(name: Name) -> Any:
        """The open tickets, oldest first."""
        return await found(name).open()

    @app.api_route("/api/{rest:path}", methods=ALL, include_in_schema=False)
    async def nothing(rest: str) -> Any:
        """So that what is mounted below is never asked for what is not there."""
        raise HTTPException(404, "there is nothing at this address; see /api/v1/openapi.json")


def _add_errors(app: FastAPI) -> None:
    """Whatever goes wrong is one line of JSON."""

    @app.exception_handler(AdvMDPError)
    async def ours(request: Request, problem: AdvMDPError) -> Response:
        return _response(answer_of(problem))

    @app.exception_handler(RequestValidationError)
    async def malformed(request: Request, problem: RequestValidationError) -> Response:
        first = problem.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        return _response(refused(422, plain_text(f"{place}: {first['msg']}")))

    @app.exception_handler(HTTPException)
    async def by_status(request: Request, problem: HTTPException) -> Response:
        return _response(refused(problem.status_code, plain_text(str(problem.detail))))

    @app.exception_handler(Exception)
    async def defect(request: Request, problem: Exception) -> Response:
        return _response(refused(500, "the server failed; its log says why"))


def _response(answer: Answer) -> Response:
    return JSONResponse(answer.body, answer.status)
