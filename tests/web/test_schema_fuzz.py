"""Any JSON, well formed by the schema or not: no failure, and what is refused changes nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from benchmarks.serve_kills import feedback
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import advmdp as am
from advmdp.web.exchange import VERBS
from advmdp.web.gate import PREFIX
from tests.web.running import Asker, contents_of, learner, serving

ANY = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-(10**40), 10**40)
    | st.floats(allow_nan=True)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=6,
)


NEAR = {
    "number": st.integers(1, 30),
    "layer": st.integers(0, 3),
    "state": st.integers(0, 3) | st.sampled_from(["gate", "a", "nobody"]),
    "states": st.tuples(st.just(0), st.integers(0, 2), st.sampled_from([0, 2, "e"]), st.just(0)),
    "actions": st.lists(st.integers(0, 1) | st.just("left"), min_size=3, max_size=3),
    "losses": st.lists(st.floats(0, 1), min_size=3, max_size=3),
    "stamp": st.none(),
    "context": st.none(),
    "total": st.none(),
}
"""What the schema cannot say: values that fit this layout and these tickets."""


class FromSchema:
    """Values of a JSON schema, most of which fit, and some with anything in one place or more."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.schemas = document["components"]["schemas"]

    def values(self, schema: dict[str, Any], name: str = "") -> st.SearchStrategy[Any]:
        good = self.good(schema)
        near = NEAR.get(name, good)
        chance = st.integers(0, 29)
        return chance.flatmap(lambda i: ANY if i == 0 else good if i == 1 else near)

    def good(self, schema: dict[str, Any]) -> st.SearchStrategy[Any]:
        if "$ref" in schema:
            return self.good(self.schemas[schema["$ref"].rpartition("/")[2]])
        if "anyOf" in schema:
            return st.one_of(*map(self.good, schema["anyOf"]))
        if "const" in schema:
            return st.just(schema["const"])
        kind = schema["type"]
        if kind == "object":
            fields = schema["properties"]
            needed = {*schema.get("required", []), *({"losses"} & set(fields))}
            return st.fixed_dictionaries(
                {name: self.values(fields[name], name) for name in fields if name in needed},
                optional={
                    name: self.values(fields[name], name) for name in fields if name not in needed
                },
            )
        if kind == "array":
            return st.lists(self.values(schema["items"]), min_size=1, max_size=3)
        if kind == "string":
            if "pattern" in schema:
                return st.from_regex(schema["pattern"], fullmatch=True)
            return st.text(st.characters(codec="utf-8"), min_size=1, max_size=12)
        if kind == "integer":
            return st.integers(0, 8) | st.integers(schema.get("minimum", 0), 2**63)
        if kind == "number":
            return st.floats(0, 1) | st.floats()
        assert kind == "null"
        return st.none()


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[Asker, am.Service]]:
    """With open, finished and abandoned episodes among the first numbers."""
    service = am.Service(learner())
    for number in range(1, 7):
        service.begin(key=f"{number}")
        if number in (2, 3):
            service.finish(number, feedback(number))
    service.abandon(4)
    with serving({"pump": service}) as ask:
        yield ask, service


def test_every_call_is_in_the_schema(served: tuple[Asker, am.Service]) -> None:
    status, document = served[0]("GET", "/api/v1/openapi.json")
    assert status == 200
    calls = {
        path.rpartition("/")[2]
        for path, routes in document["paths"].items()
        if "post" in routes and path.startswith(PREFIX)
    }
    assert calls == set(VERBS)
    text = json.dumps(document)
    names = set(document["components"]["schemas"])
    used = {part.partition('"')[0] for part in text.split("#/components/schemas/")[1:]}
    assert used <= names
    assert "http://" not in text
    assert "https://" not in text


@settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_bad_input_never_changes_state(served: tuple[Asker, am.Service], data: Any) -> None:
    ask, service = served
    document = ask("GET", "/api/v1/openapi.json")[1]
    verb = data.draw(st.sampled_from(sorted(VERBS)))
    route = document["paths"][f"{PREFIX}{{name}}/{verb}"]["post"]
    schema = route["requestBody"]["content"]["application/json"]["schema"]
    body = data.draw(FromSchema(document).values(schema))
    sent = json.dumps(body).encode()
    if data.draw(st.integers(0, 9)) == 0:
        sent = data.draw(st.binary(max_size=40))
    before = contents_of(service)
    status, answer = ask.call(verb, sent)
    assert status in {200, 404, 409, 422, 429}, (status, answer)
    if status != 200:
        assert list(answer) == ["error"]
        assert "\n" not in answer["error"]
        assert contents_of(service) == before
    elif verb == "finish_many" and not any(one["status"] == "learnt" for one in answer["results"]):
        given_up = any(one["status"] == "given up" for one in answer["results"])
        assert given_up or contents_of(service) == before
