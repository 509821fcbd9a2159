"""What is sent and answered, as pydantic models: the checks at the door and the typed schema."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, StrictInt, StrictStr

from advmdp.service.receipts import LONGEST_KEY

MOST_AT_ONCE = 1_000  # episodes in one request
LARGEST = 2**63 - 1

Number = Annotated[StrictInt, Field(ge=1, le=LARGEST, description="Of the ticket.")]
Index = Annotated[StrictInt, Field(ge=0, le=LARGEST)]
Name = Annotated[StrictStr, Field(min_length=1, max_length=200)]
State = Annotated[Index | Name, Field(description="Its number within the layer, or its name.")]
Action = Annotated[Index | Name, Field(description="Its number, or its name in that state.")]
Stamp = Annotated[
    StrictStr | None,
    Field(
        pattern="^[0-9a-f]{16}$",
        description="Of the ticket; feedback for another policy is then noticed.",
    ),
]
Key = Annotated[
    StrictStr | None,
    Field(
        min_length=1,
        max_length=LONGEST_KEY,
        description="Chosen by the client, one for every episode: asked again with the same key, "
        "the answer is the same ticket.",
    ),
]
Context = Annotated[Index | None, Field(description="For learners that take contexts.")]
Policy = Annotated[
    list[list[list[float]]],
    Field(description="Probabilities of actions: policy[layer][state][action]."),
]


class Sent(BaseModel):
    """A body: what it does not know is an error."""

    model_config = ConfigDict(extra="forbid")


class Begin(Sent):
    """Open an episode."""

    key: Key = None
    context: Context = None


class BeginMany(Sent):
    """Open several episodes."""

    episodes: Annotated[list[Begin], Field(min_length=1, max_length=MOST_AT_ONCE)]


class Act(Sent):
    """Ask for an action."""

    number: Number
    layer: Index
    state: State
    stamp: Stamp = None


class Abandon(Sent):
    """Give an episode up: its feedback is lost, or not complete."""

    number: Number
    stamp: Stamp = None

    def feedback(self) -> None:
        """None, as ``am.Service.finish_many`` takes it."""


class Finish(Sent):
    """The feedback of an episode: with ``losses``, or ``total`` for learners that see the sum."""

    number: Number
    states: Annotated[list[State], Field(max_length=100_000)]
    actions: Annotated[list[Action], Field(max_length=100_000)]
    losses: Annotated[
        list[FiniteFloat] | list[list[list[FiniteFloat]]] | None,
        Field(description="Of the steps; of all pairs, for learners that see them."),
    ] = None
    total: FiniteFloat | None = None
    stamp: Stamp = None

    def feedback(self) -> dict[str, Any]:
        """As ``am.Service.finish`` takes it."""
        given: dict[str, Any] = {"states": self.states, "actions": self.actions}
        if self.losses is not None:
            given["losses"] = self.losses
        if self.total is not None:
            given["total"] = self.total
        return given


class Lost(Abandon):
    """Among the feedback of several episodes: this one's will not come."""

    lost: Literal[True]


class FinishMany(Sent):
    """The feedback of several episodes."""

    episodes: Annotated[list[Finish | Lost], Field(min_length=1, max_length=MOST_AT_ONCE)]


# ---------------------------------------------------------------------- answers


class Ticket(BaseModel):
    """An open episode, and the policy to play it with."""

    number: int
    stamp: str
    policy: Policy
    context: int | None = None


class Tickets(BaseModel):
    """Open episodes."""

    tickets: list[Ticket]


class Drawn(BaseModel):
    """The action to take; ``name`` is its number where it has no name."""

    action: int
    name: str


class Closed(BaseModel):
    """What became of an episode: learnt, given up, or already; otherwise why nothing changed."""

    number: int
    status: str = Field(description="learnt, given up, already, conflict, unknown or invalid")
    error: str | None = None


class ClosedMany(BaseModel):
    """One answer for each episode, in the order of the request."""

    results: list[Closed]


class PolicyNow(BaseModel):
    """The policy that the next ticket has."""

    policy: Policy


class Summary(BaseModel):
    """A service in short."""

    name: str
    learner: str
    finished: int
    abandoned: int
    open: int


class Services(BaseModel):
    """All services of the folder."""

    services: list[Summary]


class LayoutNow(BaseModel):
    """Layers, actions and their names."""

    layer_sizes: list[int]
    n_actions: int
    state_names: list[list[str]]
    action_names: list[list[list[str]]]


class LossRangeNow(BaseModel):
    """The range that follows the losses, in the unit of the losses."""

    low: float
    high: float
    doublings: int
    unlearnt: int = Field(description="Episodes that showed the range to be too small.")


class ServiceState(Summary):
    """Everything about a service that is not a table of numbers."""

    clipped: int
    losses_outside: str = Field(description="refuse, clip or adapt")
    loss_range: LossRangeNow | None = Field(description="Where losses_outside is adapt.")
    episodes: int | None
    epoch: int | None
    mean_width: float | None
    layout: LayoutNow | None


class Health(BaseModel):
    """The server answers."""

    status: str
    version: str


class Error(BaseModel):
    """Why a request was refused, in one line."""

    error: str
