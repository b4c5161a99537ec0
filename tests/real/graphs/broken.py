"""Finishes one step, then fails."""

import operator
from typing import Annotated, TypedDict

from langgraph.graph import END, START, StateGraph


class State(TypedDict, total=False):
    log: Annotated[list[str], operator.add]


async def first(state: State) -> dict:
    return {"log": ["first"]}


async def boom(state: State) -> dict:
    raise ValueError("boom: the node failed — détails")


graph = (
    StateGraph(State)
    .add_node("first", first)
    .add_node("boom", boom)
    .add_edge(START, "first")
    .add_edge("first", "boom")
    .add_edge("boom", END)
    .compile(name="broken")
)
