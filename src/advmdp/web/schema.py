"""The OpenAPI document: the routes that FastAPI knows, and the calls that the gate answers."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from advmdp.web import models
from advmdp.web.exchange import VERBS
from advmdp.web.gate import PREFIX

REFUSALS = {
    "401": "The token is missing or wrong.",
    "404": "No such service, or no ticket with this number.",
    "409": "At odds with what was said before; nothing was changed.",
    "413": "The body is too long.",
    "415": "The body is not JSON.",
    "422": "The body is not what the schema says, or the learner cannot take it.",
    "429": "Too many requests, or too many open tickets.",
    "503": "The disk refused; the same request may be sent again.",
}
WHERE = "#/components/schemas/"


def openapi_of(app: FastAPI, *, with_token: bool) -> dict[str, Any]:
    """The document of a server."""
    document = get_openapi(title=app.title, version=app.version, routes=app.routes)
    kinds: set[type[BaseModel]] = {models.Error}
    for verb in VERBS.values():
        kinds |= {verb.sent, verb.answered}
    wanted: list[Any] = [(kind, "validation") for kind in kinds]
    _, schemas = models_json_schema(wanted, ref_template=WHERE + "{model}")
    document.setdefault("components", {}).setdefault("schemas", {}).update(schemas["$defs"])
    for name, verb in VERBS.items():
        document["paths"][f"{PREFIX}{{name}}/{name}"] = {
            "post": {
                "operationId": name,
                "summary": (verb.call.__doc__ or "").partition("\n")[0],
                "parameters": [
                    {
                        "name": "name",
                        "in": "path",
                        "required": True,
                        "description": "Of the service.",
                        "schema": {"type": "string"},
                    }
                ],
                "requestBody": {"required": True, "content": _json(verb.sent)},
                "responses": {
                    "200": {"description": verb.answered.__doc__, "content": _json(verb.answered)},
                    **{
                        status: {"description": why, "content": _json(models.Error)}
                        for status, why in REFUSALS.items()
                    },
                },
            }
        }
    if with_token:
        bearer = {"type": "http", "scheme": "bearer"}
        document["components"]["securitySchemes"] = {"token": bearer}
        document["security"] = [{"token": []}]
    return document


def _json(model: type[Any]) -> dict[str, Any]:
    return {"application/json": {"schema": {"$ref": WHERE + model.__name__}}}
