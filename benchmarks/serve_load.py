"""Clients that keep a server busy: many connections, each with one request under way."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Any

import uvloop

STEPS, LAYERS, ACTIONS = 3, (1, 3, 3, 1), 2
Asked = tuple[str, dict[str, Any]]
Client = Generator[Asked, dict[str, Any], None]
"""Yields calls and is sent their answers; plays one episode, or a batch of them."""


def feedback(ticket: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """An episode that the client plays itself, with the policy of its ticket."""
    states = [rng.randrange(n) for n in LAYERS]
    actions = [0 if rng.random() < ticket["policy"][k][states[k]][0] else 1 for k in range(STEPS)]
    return _closed(ticket, states, actions, rng)


def _closed(ticket: Any, states: Any, actions: Any, rng: random.Random) -> dict[str, Any]:
    losses = [rng.random() for _ in range(STEPS)]
    path = {"states": states, "actions": actions, "losses": losses}
    return {"number": ticket["number"], "stamp": ticket["stamp"], **path}


def key_of(rng: random.Random) -> str:
    """Of an episode."""
    return f"{rng.getrandbits(64):016x}"


def two_requests(rng: random.Random) -> Client:
    """A ticket, and its feedback."""
    ticket = yield "begin", {"key": key_of(rng)}
    yield "finish", feedback(ticket, rng)


def five_requests(rng: random.Random) -> Client:
    """A ticket, three actions that the server draws, and the feedback."""
    ticket = yield "begin", {"key": key_of(rng)}
    states, actions = [rng.randrange(n) for n in LAYERS], []
    for k in range(STEPS):
        asked = {"number": ticket["number"], "layer": k, "state": states[k]}
        answer = yield "act", asked
        actions.append(answer["action"])
    yield "finish", _closed(ticket, states, actions, rng)


BATCH = 20


def batches(rng: random.Random) -> Client:
    """Twenty tickets with one request, and their feedback with another."""
    begun = yield "begin_many", {"episodes": [{"key": key_of(rng)} for _ in range(BATCH)]}
    yield "finish_many", {"episodes": [feedback(ticket, rng) for ticket in begun["tickets"]]}


@dataclass
class Load:
    """What was measured."""

    episodes: int = 0
    seconds: float = 0.0
    latencies: dict[str, list[float]] = field(default_factory=dict)

    @property
    def rate(self) -> float:
        """Whole episodes a second."""
        return self.episodes / self.seconds

    def quantile(self, verb: str, share: float) -> float:
        """Of the latencies of a call, in seconds."""
        found = sorted(self.latencies[verb])
        return found[min(len(found) - 1, int(share * len(found)))]


class _Connection(asyncio.Protocol):
    def __init__(self, play: Callable[[random.Random], Client], rounds: int, load: Load) -> None:
        self._play, self._left, self._load = play, rounds, load
        self._rng = random.Random()  # no key twice, in any run
        self._received = b""
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        self._begin()

    def _begin(self) -> None:
        self._client = self._play(self._rng)
        self._send(next(self._client))

    def _send(self, asked: Asked) -> None:
        self._verb, sent = asked
        body = json.dumps(sent).encode()
        head = f"POST /api/v1/services/pump/{self._verb} HTTP/1.1\r\nHost: localhost\r\n"
        head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        self._asked = time.perf_counter()
        self._transport.write(head.encode() + body)

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, found, body = self._received.partition(b"\r\n\r\n")
        length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
        if not found or len(body) < int(length):
            return
        self._received = b""
        seconds = time.perf_counter() - self._asked
        self._load.latencies.setdefault(self._verb, []).append(seconds)
        if not head.startswith(b"HTTP/1.1 200"):
            self.done.set_exception(RuntimeError(body.decode()))
            return
        try:
            self._send(self._client.send(json.loads(body)))
        except StopIteration:
            self._load.episodes += BATCH if self._play is batches else 1
            self._left -= 1
            if self._left:
                self._begin()
            else:
                self._transport.close()
                self.done.set_result(None)


def loaded(
    port: int, play: Callable[[random.Random], Client], connections: int, episodes: int
) -> Load:
    """Play about so many episodes over so many connections, and measure."""
    load = Load()
    rounds = max(1, episodes // connections // (BATCH if play is batches else 1))

    async def run() -> None:
        loop = asyncio.get_running_loop()
        begin = time.perf_counter()
        made = [_Connection(play, rounds, load) for _ in range(connections)]
        for one in made:
            await loop.create_connection(lambda one=one: one, "127.0.0.1", port)  # type: ignore[misc]
        await asyncio.gather(*(one.done for one in made))
        load.seconds = time.perf_counter() - begin

    uvloop.run(run())
    return load
