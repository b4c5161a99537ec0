"""Finishes one step, then fails as a model's provider does. The Python server masks the text of such errors.

`{"kind": "connection"}` raises a ConnectionError, any other input an error of a class of its own.
"""

import operator
from typing import Annotated, TypedDict

from langgraph.graph import END, START, StateGraph


class RateLimitError(Exception):
    """Too many requests, as a provider's client raises it."""


class State(TypedDict, total=False):
    kind: str
    log: Annotated[list[str], operator.add]


async def fine(state: State) -> dict:
    return {"log": ["fine"]}


async def call_model(state: State) -> dict:
    if state.get("kind") == "connection":
        raise ConnectionError("connect to api.example.com:443: connection refused")
    raise RateLimitError("Error code: 429 - {'type': 'rate_limit_error', 'message': 'more than 50 requests a minute'}")


graph = (
    StateGraph(State)
    .add_node("fine", fine)
    .add_node("call_model", call_model)
    .add_edge(START, "fine")
    .add_edge("fine", "call_model")
    .add_edge("call_model", END)
    .compile(name="provider")
)
