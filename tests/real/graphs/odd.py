"""Failures, and values of all kinds. `{"big": N}` makes a text of N characters without a space; `{"fail": N}` fails
N times and succeeds when retried; `{"loop": true}` reaches the recursion limit."""

from typing import Any, TypedDict

from langgraph.config import get_stream_writer
from langgraph.graph import END, START, StateGraph
from langgraph.types import RetryPolicy

tried: dict[str, int] = {}


class State(TypedDict, total=False):
    big: int
    fail: int
    loop: bool
    text: str
    nothing: None
    anything: Any


async def values(state: State) -> dict:
    write = get_stream_writer()
    for value in (None, "a bare text", 7, [], {}, {"deep": [[[None]]]}, "\x1b[31mred\x1b[0m \u202egnihtemos"):
        write(value)
    return {"text": "x" * state.get("big", 0), "nothing": None, "anything": [None, "", {"": {}}]}


async def unsure(state: State, config) -> dict:
    run = config["metadata"]["run_id"]
    tried[run] = tried.get(run, 0) + 1
    get_stream_writer()({"attempt": tried[run]})
    if tried[run] <= state.get("fail", 0):
        raise ConnectionError(f"attempt {tried[run]} failed")
    return {"anything": f"went well at attempt {tried[run]}"}


async def again(state: State) -> dict:
    return {}


graph = (
    StateGraph(State)
    .add_node("values", values)
    .add_node("unsure", unsure, retry_policy=RetryPolicy(max_attempts=3, initial_interval=0.05, jitter=False))
    .add_node("again", again)
    .add_edge(START, "values")
    .add_edge("values", "unsure")
    .add_edge("unsure", "again")
    .add_conditional_edges("again", lambda state: "again" if state.get("loop") else END, ["again", END])
    .compile(name="odd")
)
